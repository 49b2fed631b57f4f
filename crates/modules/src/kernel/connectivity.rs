//! Connectivities of soft networks at several powers, summed by blocks of pairs.
//!
//! The sum of a gene is the sum, in the order of blocks, of its sums in the blocks. A sum of a row
//! of a block has eight lanes, one of a column is a chain. So a result depends neither on threads
//! nor on where correlations come from.

use std::sync::{Mutex, PoisonError};

use cuesta_core::cpu;
use cuesta_runtime::parallel::lock;

use crate::kernel::adjacency::{integer_power, similarity};
use crate::params::NetworkType;

/// Soft networks that differ in their power.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PowerGrid<'p> {
    /// Similarity that is raised to the powers.
    pub network: NetworkType,
    /// Powers, ascending.
    pub powers: &'p [u32],
}

/// Sums of a block of pairs, by power.
#[derive(Debug, Default)]
pub(crate) struct ConnectivitySums {
    of_rows: Vec<f64>,
    of_columns: Vec<f64>,
    widths: (usize, usize),
    similarities: Vec<f64>,
    adjacencies: Vec<f64>,
}

impl ConnectivitySums {
    /// Begins a block of so many rows and columns.
    pub fn begin(&mut self, powers: usize, rows: usize, columns: usize) {
        self.widths = (rows, columns);
        for (sums, width) in [(&mut self.of_rows, rows), (&mut self.of_columns, columns)] {
            sums.clear();
            sums.resize(powers * width, 0.0);
        }
    }

    /// Adds a row of the block: its correlations with the columns from `first` on.
    pub fn add(&mut self, grid: PowerGrid<'_>, row: usize, first: usize, correlations: &[f64]) {
        cpu::fastest(
            #[inline(always)]
            || self.add_row(grid, row, first, correlations),
        );
    }

    #[inline(always)]
    fn add_row(&mut self, grid: PowerGrid<'_>, row: usize, first: usize, correlations: &[f64]) {
        let (rows, columns) = self.widths;
        self.similarities.clear();
        self.similarities.extend(correlations.iter().map(|&r| similarity(grid.network, r)));
        self.adjacencies.clear();
        self.adjacencies.resize(correlations.len(), 1.0);
        let mut last = 0;
        for (number, &power) in grid.powers.iter().enumerate() {
            let both = self.adjacencies.iter_mut().zip(&self.similarities);
            // A loop of its own for each usual step, which the compiler vectorises.
            match power - last {
                1 => both.for_each(|(adjacency, base)| *adjacency *= base),
                2 => both.for_each(|(adjacency, base)| *adjacency *= base * base),
                step => both.for_each(|(value, &base)| *value *= integer_power(base, step)),
            }
            last = power;
            let of_columns = &mut self.of_columns[number * columns + first..];
            of_columns.iter_mut().zip(&self.adjacencies).for_each(|(sum, value)| *sum += value);
            self.of_rows[number * rows + row] += lane_sum(&self.adjacencies);
        }
    }
}

/// Returns the sum of values in eight lanes, then of these.
#[inline(always)]
fn lane_sum(values: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += chunk[lane];
        }
    }
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

/// Sums of all blocks.
#[derive(Debug)]
pub(crate) struct GeneSums {
    sides: usize,
    powers: usize,
    /// Sums of the genes of a side in the blocks with each other side.
    blocks: Vec<Mutex<Vec<f64>>>,
}

/// Sums of some blocks: the number of a pair of sides, and the sums of the genes of the first.
pub(crate) type SumsOfBlocks = Vec<(u32, Vec<f64>)>;

impl GeneSums {
    /// Creates the sums of a square of `sides` times `sides` blocks.
    pub fn new(sides: usize, powers: usize) -> Self {
        Self { sides, powers, blocks: (0..sides * sides).map(|_| Mutex::default()).collect() }
    }

    /// Bytes of the sums of so many genes.
    pub fn size_bytes(genes: usize, sides: usize, powers: usize) -> usize {
        8 * genes * sides * powers
    }

    /// Adds the sums of the block of rows `i` and columns `j`, once.
    pub fn add(&self, (i, j): (usize, usize), block: &ConnectivitySums) {
        let mut of_rows = block.of_rows.clone();
        if i == j {
            of_rows.iter_mut().zip(&block.of_columns).for_each(|(sum, value)| *sum += value);
        } else {
            *lock(&self.blocks[j * self.sides + i]) = block.of_columns.clone();
        }
        *lock(&self.blocks[i * self.sides + j]) = of_rows;
    }

    /// Returns the sums of the blocks that were added.
    pub fn into_blocks(self) -> SumsOfBlocks {
        let sums = self.blocks.into_iter().map(|block| block.into_inner());
        let sums = sums.map(|sums| sums.unwrap_or_else(PoisonError::into_inner));
        (0..).zip(sums).filter(|(_, sums)| !sums.is_empty()).collect()
    }

    /// Adds the sums of blocks that were added to others.
    pub fn take(&mut self, blocks: SumsOfBlocks) {
        for (number, sums) in blocks {
            *lock(&self.blocks[number as usize]) = sums;
        }
    }

    /// Returns the connectivity of each gene by power.
    pub fn connectivities(self) -> Vec<Vec<f64>> {
        let mut connectivities = vec![Vec::new(); self.powers];
        for blocks in self.blocks.chunks(self.sides.max(1)) {
            let mut total = std::mem::take(&mut *lock(&blocks[0]));
            for block in &blocks[1..] {
                total.iter_mut().zip(lock(block).iter()).for_each(|(sum, value)| *sum += value);
            }
            let width = total.len() / self.powers.max(1);
            for (all, values) in connectivities.iter_mut().zip(total.chunks(width.max(1))) {
                all.extend_from_slice(values);
            }
        }
        connectivities
    }
}
