//! Bands of rows of the triangle of pairs: the unit of parallel work and of memory.

use std::ops::{AddAssign, Range};

use cuesta_core::fixed::Micro;

use super::prepare::Prepared;
use super::vector::TILE_ROWS;
use super::{dense, masked};

/// Most rows of a band.
const ROWS_MAX: usize = 32 * TILE_ROWS;

/// A pair that is kept. Gene numbers count from 1 and `gene1 > gene2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Row of the matrix, the larger.
    pub gene1: u32,
    /// Row of the matrix, the smaller.
    pub gene2: u32,
    /// Correlation in millionths, half to even.
    pub micro: Micro,
}

/// What became of the pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All pairs.
    pub pairs: u64,
    /// Pairs whose score is at least the threshold.
    pub kept: u64,
    /// Pairs of which one gene does not vary over the common samples.
    pub undefined: u64,
    /// Pairs with fewer common samples than required.
    pub too_few_samples: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.pairs += other.pairs;
        self.kept += other.kept;
        self.undefined += other.undefined;
        self.too_few_samples += other.too_few_samples;
    }
}

/// Memory of one worker, used again for every band.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) counts: Counts,
    /// For every row of the band the second genes (0-based) and scores found, in ascending order
    /// within each of the two kinds of pairs.
    pub(super) found: Vec<Vec<(u32, Micro)>>,
    pub(super) dense: dense::DenseWorkspace,
    pub(super) masked: masked::MaskedWorkspace,
}

/// Divides the triangle into bands of about equal work, in order; `count` is how many at least.
pub fn bands(genes: usize, count: usize) -> Vec<Range<usize>> {
    let pairs = genes * genes / 2 / count.max(1);
    let mut bands = Vec::new();
    let mut start = 0;
    while start < genes {
        let rows = (pairs / (start + ROWS_MAX / 2)).next_multiple_of(TILE_ROWS);
        let end = genes.min(start + rows.clamp(TILE_ROWS, ROWS_MAX));
        bands.push(start..end);
        start = end;
    }
    bands
}

/// Appends the kept pairs whose first gene (0-based) is in `rows`, in ascending order of triangular
/// rank, and counts all pairs there.
///
/// The same for any division into bands, on any processor. `out` grows by at most the number of
/// pairs of the band.
pub fn band(
    prepared: &Prepared,
    rows: Range<usize>,
    scratch: &mut Scratch,
    out: &mut Vec<Match>,
) -> Counts {
    scratch.counts = count_complete(prepared, rows.clone());
    scratch.found.resize_with(rows.len().max(scratch.found.len()), Vec::new);
    dense::band(prepared, rows.clone(), scratch);
    masked::band(prepared, rows.clone(), scratch);
    let before = out.len();
    for (gene1, found) in rows.zip(&mut scratch.found) {
        if !prepared.partial.is_empty() {
            found.sort_unstable_by_key(|(gene2, _)| *gene2);
        }
        let gene1 = gene1 as u32 + 1;
        out.extend(found.drain(..).map(|(gene2, micro)| Match { gene1, gene2: gene2 + 1, micro }));
    }
    scratch.counts.kept = (out.len() - before) as u64;
    scratch.counts
}

/// Counts all pairs of a band, and those of complete genes that have no score.
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
