//! Bands of rows of the triangle of gene pairs: the unit of parallel work and of memory.

use std::ops::{AddAssign, Range};

use cuesta_core::fixed::Micro;
use serde::{Deserialize, Serialize};

use super::prepare::Prepared;
use super::vector::TILE_ROWS;
use super::{dense, masked, sparse};

/// Maximum number of rows of a band.
const ROWS_MAX: usize = 32 * TILE_ROWS;

/// Gene pair whose score reaches the threshold. Gene numbers count from 1 and `gene1 > gene2`.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Match {
    /// Larger row of the matrix.
    pub gene1: u32,
    /// Smaller row of the matrix.
    pub gene2: u32,
    /// Correlation in millionths, half to even.
    pub micro: Micro,
}

/// Numbers of gene pairs by outcome.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All pairs.
    pub pairs: u64,
    /// Pairs whose score is at least the threshold.
    pub selected: u64,
    /// Pairs with a gene that does not vary over the common samples.
    pub undefined: u64,
    /// Pairs with fewer common samples than required.
    pub too_few_samples: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.selected += other.selected;
        self.undefined += other.undefined;
        self.too_few_samples += other.too_few_samples;
    }
}

/// Memory of a thread, reused for each band.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) counts: Counts,
    /// For each row of the band, the second genes (0-based) and scores of selected pairs, in
    /// ascending order within each of the two kinds of pairs.
    pub(super) selected: Vec<Vec<(u32, Micro)>>,
    pub(super) dense: dense::DenseWorkspace,
    pub(super) masked: masked::MaskedWorkspace,
    pub(super) sparse: sparse::SparseWorkspace,
}

/// Divides the triangle into at least `count` bands of about equal work, in order.
pub fn bands(genes: usize, count: usize) -> Vec<Range<usize>> {
    bands_of(genes, count, TILE_ROWS)
}

/// As [`bands`], of a multiple of `step` rows each but the last one.
pub(super) fn bands_of(genes: usize, count: usize, step: usize) -> Vec<Range<usize>> {
    let pairs = genes * genes / 2 / count.max(1);
    let mut bands = Vec::new();
    let mut start = 0;
    while start < genes {
        let rows = (pairs / (start + ROWS_MAX / 2)).next_multiple_of(step);
        let end = genes.min(start + rows.clamp(step, ROWS_MAX));
        bands.push(start..end);
        start = end;
    }
    bands
}

/// Appends the selected pairs whose first gene (0-based) is in `rows`, in ascending order of
/// triangular rank, and counts all pairs of these rows.
///
/// The result is the same for any division into bands and on any processor. `out` grows by at most
/// the number of pairs of the band.
pub fn band(
    prepared: &Prepared,
    rows: Range<usize>,
    scratch: &mut Scratch,
    out: &mut Vec<Match>,
) -> Counts {
    scratch.counts = count_complete(prepared, rows.clone());
    scratch.make_room(&rows);
    dense::band(prepared, rows.clone(), scratch);
    masked::band(prepared, rows.clone(), scratch);
    if !prepared.partial.is_empty() {
        for selected in &mut scratch.selected {
            selected.sort_unstable_by_key(|(gene2, _)| *gene2);
        }
    }
    scratch.take_selected(rows, out)
}

impl Scratch {
    /// Makes a place for the selected pairs of each row.
    pub(super) fn make_room(&mut self, rows: &Range<usize>) {
        self.selected.resize_with(rows.len().max(self.selected.len()), Vec::new);
    }

    /// Appends the selected pairs of `rows` to `out`; returns the counts with their number.
    pub(super) fn take_selected(&mut self, rows: Range<usize>, out: &mut Vec<Match>) -> Counts {
        let before = out.len();
        for (gene1, selected) in rows.zip(&mut self.selected) {
            let gene1 = gene1 as u32 + 1;
            out.extend(selected.drain(..).map(|(gene2, micro)| Match {
                gene1,
                gene2: gene2 + 1,
                micro,
            }));
        }
        self.counts.selected = (out.len() - before) as u64;
        self.counts
    }
}

/// Counts all pairs of a band, and the pairs of complete genes that have no score.
fn count_complete(prepared: &Prepared, rows: Range<usize>) -> Counts {
    let mut counts = Counts::default();
    let enough = prepared.samples() >= prepared.min_samples;
    let below = |genes: &[u32], row: u32| genes.partition_point(|gene| *gene < row);
    for row in rows.start as u32..rows.end as u32 {
        counts.pairs += u64::from(row);
        if prepared.partial.binary_search(&row).is_ok() {
            continue;
        }
        let (dense, flat) = (below(&prepared.complete.genes, row), below(&prepared.flat, row));
        let is_flat = prepared.flat.get(flat) == Some(&row);
        if !enough {
            counts.too_few_samples += (dense + flat) as u64;
        } else if is_flat {
            counts.undefined += (dense + flat) as u64;
        } else {
            counts.undefined += flat as u64;
        }
    }
    counts
}
