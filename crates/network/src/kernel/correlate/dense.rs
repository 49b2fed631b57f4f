//! Pairs of genes without missing values: the blocked matrix product.
//!
//! A single-precision product of unit rows x and y over S samples, rounded inputs included, differs
//! from the exact one by at most ((S + 2) u + O(S^2 u^2)) sum |x y|, u = 2^-24, and the sum is at
//! most 1 by Cauchy and Schwarz. A pair whose single-precision score is below the threshold by more
//! than `margin` can therefore not be kept; all others are computed in double precision.

use std::ops::Range;

use cuesta_core::fixed::{self, Micro};

use super::band::Scratch;
use super::prepare::Prepared;
use super::vector::{Lane, TILE_COLUMNS, TILE_ROWS, Tile};

/// Samples of a block of the product: a row panel of so many stays in the L1 cache.
const DEPTH: usize = 640;

/// Bytes of a block of columns: with its double-precision rows it stays in the L2 cache.
const BLOCK_BYTES: usize = 512 << 10;

/// Memory of one worker.
#[derive(Debug, Default)]
pub(super) struct Workspace {
    /// The rows of the band, `TILE_ROWS` to a panel, sample-major.
    panels: Vec<[f32; TILE_ROWS]>,
    tiles: Vec<Tile>,
    /// For every row of the band the columns (places in `dense`) to compute again.
    candidates: Vec<Vec<u32>>,
}

/// Scores the pairs of complete genes whose first gene is in `rows`.
pub(super) fn band(prepared: &Prepared, rows: Range<usize>, scratch: &mut Scratch) {
    if prepared.samples() < prepared.min_samples {
        return;
    }
    let place = |row: usize| prepared.dense.partition_point(|gene| (*gene as usize) < row);
    let band = Band { prepared, first: rows.start, rows: place(rows.start)..place(rows.end) };
    let samples = prepared.samples();
    let block = (BLOCK_BYTES / (4 * samples)).next_multiple_of(TILE_COLUMNS);
    if prepared.min_abs_micro == 0 {
        for start in (0..band.rows.end).step_by(block) {
            band.all_pairs(start..band.rows.end.min(start + block), scratch);
        }
        return;
    }
    band.pack(&mut scratch.dense);
    let panels = band.rows.end.div_ceil(TILE_COLUMNS);
    for start in (0..panels).step_by(block / TILE_COLUMNS) {
        let block = start..panels.min(start + block / TILE_COLUMNS);
        band.find_candidates(block, &mut scratch.dense);
        band.compute_candidates(scratch);
    }
}

/// A band in terms of places in `dense`.
struct Band<'a> {
    prepared: &'a Prepared<'a>,
    /// First gene of the band.
    first: usize,
    /// Places of its complete genes.
    rows: Range<usize>,
}

impl Band<'_> {
    fn gene(&self, place: usize) -> u32 {
        self.prepared.dense[place]
    }

    fn row(&self, place: usize) -> &[Lane] {
        self.prepared.row(self.gene(place))
    }

    /// Lays the rows of the band out in panels.
    fn pack(&self, workspace: &mut Workspace) {
        let samples = self.prepared.samples();
        let panels = self.rows.len().div_ceil(TILE_ROWS);
        workspace.panels.clear();
        workspace.panels.resize(panels * samples, [0.0; TILE_ROWS]);
        workspace.candidates.resize_with(self.rows.len(), Vec::new);
        for (index, place) in self.rows.clone().enumerate() {
            let panel = &mut workspace.panels[index / TILE_ROWS * samples..][..samples];
            let strips = self.prepared.panel(place / TILE_COLUMNS);
            for (values, strip) in panel.iter_mut().zip(strips) {
                values[index % TILE_ROWS] = strip.0[place % TILE_COLUMNS];
            }
        }
    }

    /// Multiplies the band with the column panels `columns` and collects the candidates.
    fn find_candidates(&self, columns: Range<usize>, workspace: &mut Workspace) {
        let samples = self.prepared.samples();
        let isa = self.prepared.isa;
        let limit = limit(self.prepared.min_abs_micro, samples);
        let blocks = samples.div_ceil(DEPTH);
        let depth = samples.div_ceil(blocks);
        let row_panels = self.rows.len().div_ceil(TILE_ROWS);
        let Workspace { panels, tiles, candidates } = workspace;
        tiles.resize(if blocks == 1 { 1 } else { row_panels * columns.len() }, Tile::default());
        for block in 0..blocks {
            let part = block * depth..samples.min((block + 1) * depth);
            for row_panel in 0..row_panels {
                let a = &panels[row_panel * samples..][part.clone()];
                let first_row = self.rows.start + row_panel * TILE_ROWS;
                let past_row = self.rows.end.min(first_row + TILE_ROWS);
                for (index, panel) in columns.clone().enumerate() {
                    let first_column = panel * TILE_COLUMNS;
                    if first_column + 1 >= past_row {
                        break;
                    }
                    let slot = if blocks == 1 { 0 } else { row_panel * columns.len() + index };
                    let tile = &mut tiles[slot];
                    if block == 0 {
                        *tile = Tile::default();
                    }
                    isa.product(a, &self.prepared.panel(panel)[part.clone()], tile);
                    if block + 1 < blocks {
                        continue;
                    }
                    let bits = isa.exceeding(tile, limit);
                    for (row, bits) in (first_row..past_row).zip(bits) {
                        let found = &mut candidates[row - self.rows.start];
                        collect(bits & lower(row, first_column), first_column, found);
                    }
                }
            }
        }
    }

    /// Computes the candidates in double precision and keeps those that reach the threshold.
    fn compute_candidates(&self, scratch: &mut Scratch) {
        let isa = self.prepared.isa;
        for (row, candidates) in self.rows.clone().zip(&mut scratch.dense.candidates) {
            let gene1 = self.gene(row);
            let found = &mut scratch.found[gene1 as usize - self.first];
            for columns in candidates.chunks(4) {
                let four: [usize; 4] =
                    std::array::from_fn(|i| columns[i.min(columns.len() - 1)] as usize);
                let products = isa.dots(self.row(row), four.map(|column| self.row(column)));
                for (column, product) in four.into_iter().zip(products).take(columns.len()) {
                    self.keep((gene1, self.gene(column)), product, found);
                }
            }
            candidates.clear();
        }
    }

    /// Computes all pairs of the band with the genes at `columns` in double precision.
    fn all_pairs(&self, columns: Range<usize>, scratch: &mut Scratch) {
        let four = |start: usize, end: usize| -> [usize; 4] {
            std::array::from_fn(|i| (start + i).min(end - 1))
        };
        for start in self.rows.clone().step_by(4) {
            let rows = four(start, self.rows.end);
            let xs = rows.map(|row| self.row(row));
            for column in columns.clone().step_by(4).take_while(|column| *column < rows[3]) {
                let others = four(column, columns.end);
                let products = self.prepared.isa.grid(xs, others.map(|other| self.row(other)));
                for (i, products) in products.iter().enumerate().take(self.rows.end - start) {
                    let gene1 = self.gene(rows[i]);
                    let found = &mut scratch.found[gene1 as usize - self.first];
                    for (j, product) in products.iter().enumerate().take(columns.end - column) {
                        if others[j] < rows[i] {
                            self.keep((gene1, self.gene(others[j])), *product, found);
                        }
                    }
                }
            }
        }
    }

    fn keep(&self, (gene1, gene2): (u32, u32), product: f64, found: &mut Vec<(u32, Micro)>) {
        let score = self.prepared.score(gene1, gene2, product);
        // The score is within one: it always fits.
        let micro = fixed::from_f64(score).unwrap_or(fixed::NAN);
        if micro.abs() >= self.prepared.min_abs_micro {
            found.push((gene2, micro));
        }
    }
}

/// The single-precision score below which no pair can be kept.
fn limit(min_abs_micro: Micro, samples: usize) -> f32 {
    let margin = (samples + 4) as f64 * f64::from(f32::EPSILON) / 2.0 * 1.01;
    // Half a millionth: a score just below the threshold may be rounded up to it.
    (((f64::from(min_abs_micro) - 0.5) * 1e-6 - margin) as f32).next_down()
}

/// Bits of the columns, from `first_column`, that are left of `row`.
fn lower(row: usize, first_column: usize) -> u32 {
    match row.saturating_sub(first_column) {
        columns @ 0..TILE_COLUMNS => (1 << columns) - 1,
        _ => u32::MAX,
    }
}

fn collect(mut bits: u32, first_column: usize, found: &mut Vec<u32>) {
    while bits != 0 {
        found.push(first_column as u32 + bits.trailing_zeros());
        bits &= bits - 1;
    }
}
