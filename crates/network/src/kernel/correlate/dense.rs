//! Pairs of genes without missing values, by a blocked matrix product.
//!
//! A single-precision product of unit rows x and y over S samples, rounded inputs included, differs
//! from the exact product by at most ((S + 2) u + O(S^2 u^2)) sum |x y|, u = 2^-24, and the sum is
//! at most 1 by Cauchy and Schwarz. A pair whose single-precision score is more than `margin` below
//! the threshold can therefore not reach it. The remaining candidates are computed from the rows as
//! 32-bit integers, again with a bounded error, and in double precision if that leaves the last
//! digit undecided.

use std::ops::Range;

use cuesta_core::fixed::Micro;

use super::band::Scratch;
use super::complete::{Complete, micro_of};
use super::prepare::Prepared;
use super::simd::Isa;
use super::vector::{Slice, TILE_COLUMNS, TILE_ROWS, Tile};

/// Samples of a block of the product: a row panel of this depth stays in the L1 cache.
const DEPTH: usize = 640;

/// Bytes of a block of column panels of `DEPTH` samples: it stays in the L2 cache.
const BLOCK_BYTES: usize = 512 << 10;

/// Average number of candidates of a row that are worth computing before more are collected.
const CANDIDATES: usize = 16;

/// Memory of a thread.
#[derive(Debug, Default)]
pub(super) struct DenseWorkspace {
    /// Rows of the band, `TILE_ROWS` in a panel, sample-major.
    panels: Vec<Slice>,
    tiles: Vec<Tile>,
    /// For each row of the band, the candidate columns.
    candidates: Vec<Vec<u32>>,
    /// Total number of candidates.
    count: usize,
}

/// Scores the pairs of complete genes whose first gene is in `rows`.
pub(super) fn band(prepared: &Prepared, rows: Range<usize>, scratch: &mut Scratch) {
    let samples = prepared.samples();
    if samples < prepared.min_samples {
        return;
    }
    let complete = &prepared.complete;
    let place = |row: usize| complete.genes.partition_point(|gene| (*gene as usize) < row);
    let band = Band {
        complete,
        isa: prepared.isa,
        samples,
        min_abs_micro: prepared.min_abs_micro,
        limit: limit(prepared.min_abs_micro, samples),
        first: rows.start,
        rows: place(rows.start)..place(rows.end),
    };
    let panels = band.rows.end.div_ceil(TILE_COLUMNS);
    let block = (BLOCK_BYTES / (4 * samples.min(DEPTH) * TILE_COLUMNS)).max(1);
    if complete.is_for_all_pairs() {
        for start in (0..panels).step_by(block) {
            let end = band.rows.end.min((start + block) * TILE_COLUMNS);
            band.all_pairs(start * TILE_COLUMNS..end, scratch);
        }
        return;
    }
    band.pack(&mut scratch.dense);
    for start in (0..panels).step_by(block) {
        band.find_candidates(start..panels.min(start + block), &mut scratch.dense);
        // Few candidates of a row are more efficient together with later candidates.
        if scratch.dense.count >= CANDIDATES * band.rows.len() || start + block >= panels {
            band.compute_candidates(scratch);
        }
    }
}

/// Band in terms of places: rows of the complete genes.
struct Band<'a> {
    complete: &'a Complete<'a>,
    isa: Isa,
    samples: usize,
    min_abs_micro: Micro,
    /// Single-precision score below which no pair can reach the threshold.
    limit: f32,
    /// First gene of the band.
    first: usize,
    rows: Range<usize>,
}

impl Band<'_> {
    /// Lays out the rows of the band in panels.
    fn pack(&self, workspace: &mut DenseWorkspace) {
        let panels = self.rows.len().div_ceil(TILE_ROWS);
        workspace.panels.clear();
        workspace.panels.resize(panels * self.samples, [0.0; TILE_ROWS]);
        workspace.candidates.resize_with(self.rows.len(), Vec::new);
        for (index, place) in self.rows.clone().enumerate() {
            let panel = &mut workspace.panels[index / TILE_ROWS * self.samples..][..self.samples];
            let strips = self.complete.panel(place / TILE_COLUMNS);
            for (slice, strip) in panel.iter_mut().zip(strips) {
                slice[index % TILE_ROWS] = strip[place % TILE_COLUMNS];
            }
        }
    }

    /// Multiplies the rows of the band with the column panels `columns`; collects the candidates.
    fn find_candidates(&self, columns: Range<usize>, workspace: &mut DenseWorkspace) {
        if self.samples <= DEPTH {
            let DenseWorkspace { panels, candidates, count, .. } = workspace;
            self.each_tile(columns, |rows, column, _| {
                let panel = (rows.start - self.rows.start) / TILE_ROWS;
                let a = &panels[panel * self.samples..][..self.samples];
                let bits = self.isa.candidates(a, self.complete.panel(column), self.limit);
                *count += self.collect(rows, column, bits, candidates);
            });
            return;
        }
        let DenseWorkspace { panels, tiles, candidates, count } = workspace;
        tiles.clear();
        tiles.resize(self.rows.len().div_ceil(TILE_ROWS) * columns.len(), Tile::default());
        let depth = self.samples.div_ceil(self.samples.div_ceil(DEPTH));
        for start in (0..self.samples).step_by(depth) {
            let part = start..self.samples.min(start + depth);
            self.each_tile(columns.clone(), |rows, column, index| {
                let panel = (rows.start - self.rows.start) / TILE_ROWS;
                let a = &panels[panel * self.samples..][part.clone()];
                let b = &self.complete.panel(column)[part.clone()];
                self.isa.product(a, b, &mut tiles[index]);
            });
        }
        self.each_tile(columns, |rows, column, index| {
            let bits = self.isa.exceeding(&tiles[index], self.limit);
            *count += self.collect(rows, column, bits, candidates);
        });
    }

    /// Calls `visit(rows, column panel, number)` for each tile that contains a pair.
    fn each_tile(&self, columns: Range<usize>, mut visit: impl FnMut(Range<usize>, usize, usize)) {
        for (panel, start) in self.rows.clone().step_by(TILE_ROWS).enumerate() {
            let rows = start..self.rows.end.min(start + TILE_ROWS);
            for (index, column) in columns.clone().enumerate() {
                if column * TILE_COLUMNS + 1 >= rows.end {
                    break;
                }
                visit(rows.clone(), column, panel * columns.len() + index);
            }
        }
    }

    fn collect(
        &self,
        rows: Range<usize>,
        column: usize,
        bits: [u32; TILE_ROWS],
        candidates: &mut [Vec<u32>],
    ) -> usize {
        let mut count = 0;
        let first = column * TILE_COLUMNS;
        let is_square = first + TILE_COLUMNS <= rows.start;
        for (row, mut bits) in rows.zip(bits) {
            if !is_square {
                bits &= lower(row, first);
            }
            if bits == 0 {
                continue;
            }
            let row_candidates = &mut candidates[row - self.rows.start];
            while bits != 0 {
                row_candidates.push(first as u32 + bits.trailing_zeros());
                bits &= bits - 1;
                count += 1;
            }
        }
        count
    }

    /// Computes the scores of the candidates and selects those that reach the threshold.
    fn compute_candidates(&self, scratch: &mut Scratch) {
        let complete = self.complete;
        for (row, candidates) in self.rows.clone().zip(&mut scratch.dense.candidates) {
            let selected = &mut scratch.selected[complete.genes[row] as usize - self.first];
            let (codes, scale) = complete.codes(row);
            for columns in candidates.chunks(4) {
                let four: [usize; 4] =
                    std::array::from_fn(|i| columns[i.min(columns.len() - 1)] as usize);
                let code_rows = four.map(|column| complete.codes(column));
                let products = self.isa.code_dots(codes, code_rows.map(|code_row| code_row.0));
                for (i, product) in products.into_iter().enumerate().take(columns.len()) {
                    let column = (four[i], code_rows[i].1);
                    let micro = complete
                        .rounded_score((row, scale), column, product)
                        .unwrap_or_else(|| complete.exact_score(row, four[i]));
                    self.select(four[i], micro, selected);
                }
            }
            candidates.clear();
        }
        scratch.dense.count = 0;
    }

    /// Computes all pairs of the band with the places `columns` in double precision.
    fn all_pairs(&self, columns: Range<usize>, scratch: &mut Scratch) {
        let complete = self.complete;
        let four = |start: usize, end: usize| -> [usize; 4] {
            std::array::from_fn(|i| (start + i).min(end - 1))
        };
        for start in self.rows.clone().step_by(4) {
            let rows = four(start, self.rows.end);
            let xs = rows.map(|row| complete.row(row));
            for column in columns.clone().step_by(4).take_while(|column| *column < rows[3]) {
                let column_places = four(column, columns.end);
                let products = self.isa.grid(xs, column_places.map(|place| complete.row(place)));
                for (i, products) in products.iter().enumerate().take(self.rows.end - start) {
                    let gene1 = complete.genes[rows[i]] as usize;
                    let selected = &mut scratch.selected[gene1 - self.first];
                    for (j, product) in products.iter().enumerate().take(columns.end - column) {
                        if column_places[j] < rows[i] {
                            let score = complete.score(rows[i], column_places[j], *product);
                            self.select(column_places[j], micro_of(score), selected);
                        }
                    }
                }
            }
        }
    }

    fn select(&self, column: usize, micro: Micro, selected: &mut Vec<(u32, Micro)>) {
        if micro.abs() >= self.min_abs_micro {
            selected.push((self.complete.genes[column], micro));
        }
    }
}

fn limit(min_abs_micro: Micro, samples: usize) -> f32 {
    let margin = (samples + 4) as f64 * f64::from(f32::EPSILON) / 2.0 * 1.01;
    // Half a millionth less: a score just below the threshold may be rounded up to it.
    (((f64::from(min_abs_micro) - 0.5) * 1e-6 - margin) as f32).next_down()
}

/// Returns the bits of the columns, from `first_column` on, that are left of `row`.
fn lower(row: usize, first_column: usize) -> u32 {
    match row.saturating_sub(first_column) {
        columns @ 0..TILE_COLUMNS => (1 << columns) - 1,
        _ => u32::MAX,
    }
}
