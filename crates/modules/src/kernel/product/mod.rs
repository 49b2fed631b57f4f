//! Product of a matrix with its own transpose, of which only the upper triangle is computed.
//!
//! Each entry is one chain of fused multiply-adds in the order of the terms, beginning with 0. The
//! result depends neither on the number of threads nor on the blocks nor on the processor.

mod panels;
mod simd;
mod tile;

use std::ops::Range;
use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_runtime::parallel::{self, lock};

use crate::kernel::triangle::{StoredNumber, Triangle};
use panels::Panels;
use simd::Instructions;
use tile::{ProductTile, TILE_COLUMNS, TILE_ROWS};

/// Rows and columns of a block: the work of a task. A multiple of both sides of a tile.
const BLOCK: usize = 768;

/// Terms that are added to all tiles of a block before the next ones: a panel of columns then fits
/// in the first cache.
const DEPTH: usize = 256;

/// Matrix whose rows are multiplied with each other.
pub trait MatrixRows: Sync {
    /// Number as the matrix stores it.
    type Value: StoredNumber;

    /// Number of rows.
    fn count(&self) -> usize;

    /// Number of terms of a row.
    fn depth(&self) -> usize;

    /// Calls `put(row, first, values)` until each term of `depth` of each row of `rows` was given
    /// once: `values` are terms `first..` of `row`.
    fn by_rows(
        &self,
        rows: Range<usize>,
        depth: Range<usize>,
        put: impl FnMut(usize, usize, &[Self::Value]),
    );

    /// Calls `put(term, first, values)` for those that [`Self::by_rows`] leaves out: `values` are
    /// this term of the rows `first..`.
    fn by_terms(
        &self,
        _rows: Range<usize>,
        _depth: Range<usize>,
        _put: impl FnMut(usize, usize, &[Self::Value]),
    ) {
    }
}

/// Computes `finish(i, j, sum of the products of rows i and j)` for each pair of rows, on threads.
///
/// The result is the same for any number of threads.
///
/// # Errors
/// `Input` when the budget has too little left.
pub fn pairs<'b, T: StoredNumber>(
    source: &impl MatrixRows,
    threads: usize,
    (budget, purpose): (&'b Budget, &str),
    finish: impl Fn(usize, usize, f64) -> f64 + Sync,
) -> Result<Triangle<'b, T>> {
    pairs_at(Instructions::best(), source, threads, (budget, purpose), finish)
}

fn pairs_at<'b, T: StoredNumber>(
    level: Instructions,
    source: &impl MatrixRows,
    threads: usize,
    (budget, purpose): (&'b Budget, &str),
    finish: impl Fn(usize, usize, f64) -> f64 + Sync,
) -> Result<Triangle<'b, T>> {
    let count = source.count();
    let mut triangle = Triangle::zeros(count, budget, purpose)?;
    let threads = threads.clamp(1, count.div_ceil(BLOCK).pow(2).max(1));
    let buffers = (threads * Worker::size_bytes(count.min(BLOCK), source.depth())) as u64;
    let _lease = budget.take(buffers, "the blocks of a product")?;
    let blocks = blocks(&mut triangle);
    let work = |worker: &mut Worker, task: usize| {
        let block = &blocks[task];
        worker.multiply(level, source, block.rows.clone(), block.columns.clone());
        worker.finish(block, &finish);
        Ok(())
    };
    parallel::run(threads, blocks.len(), Worker::default, work, |_| {})?;
    drop(blocks);
    Ok(triangle)
}

/// Calls `visit(state, block)` for the sums of the products of rows of each of `numbers` blocks of
/// [`grid`] once, on threads with a state each; returns the states.
///
/// # Errors
/// `Input` when the budget has too little left, or an error of `visit`.
pub fn visit<W: Send>(
    source: &impl MatrixRows,
    numbers: Range<usize>,
    (threads, budget): (usize, &Budget),
    make_state: impl Fn() -> W + Sync,
    visit: impl Fn(&mut W, &ProductBlock) -> Result<()> + Sync,
) -> Result<Vec<W>> {
    let level = Instructions::best();
    let count = source.count();
    let blocks = &grid(count)[numbers];
    let threads = threads.clamp(1, blocks.len().max(1));
    let buffers = (threads * Worker::size_bytes(count.min(BLOCK), source.depth())) as u64;
    let _lease = budget.take(buffers, "the blocks of a product")?;
    let work = |(worker, state): &mut (Worker, W), task: usize| {
        let GridBlock { side, rows, columns } = blocks[task].clone();
        worker.multiply(level, source, rows.clone(), columns.clone());
        visit(state, &ProductBlock { side, rows, columns, tiles: &worker.tiles })
    };
    let make_worker = || (Worker::default(), make_state());
    let workers = parallel::run(threads, blocks.len(), make_worker, work, |_| {})?;
    Ok(workers.into_iter().map(|(_, state)| state).collect())
}

/// Multiplies a panel of rows with a panel of columns that stay in the first cache, `repeats`
/// times; returns the number of multiplications and additions, and a sum that depends on them. This
/// is the ceiling of the rate of products.
pub fn hot_block(repeats: usize) -> (f64, f64) {
    let level = Instructions::best();
    let (rows, columns) = (vec![[1.0; TILE_ROWS]; DEPTH], vec![[1.0; TILE_COLUMNS]; DEPTH]);
    let mut tile = ProductTile::default();
    for _ in 0..repeats {
        level.add(std::hint::black_box(&rows), &columns, &mut tile);
    }
    let operations = 2 * TILE_ROWS * TILE_COLUMNS * DEPTH * repeats;
    (operations as f64, tile.0[0][0])
}

/// Returns the number of blocks of rows, and the number of blocks of pairs.
pub fn block_counts(rows: usize) -> (usize, usize) {
    let sides = rows.div_ceil(BLOCK);
    (sides, sides * (sides + 1) / 2)
}

/// Block of pairs: those of its rows with the columns behind them.
#[derive(Clone, Debug)]
pub struct GridBlock {
    /// Number of the block among those of rows, and among those of columns.
    pub side: (usize, usize),
    /// Rows.
    pub rows: Range<usize>,
    /// Columns.
    pub columns: Range<usize>,
}

/// Returns the blocks of all pairs of so many rows, in the order of [`visit`].
pub fn grid(count: usize) -> Vec<GridBlock> {
    let sides = sides(count);
    let mut blocks = Vec::new();
    for (i, rows) in sides.iter().enumerate() {
        for (j, columns) in sides.iter().enumerate().skip(i) {
            blocks.push(GridBlock { side: (i, j), rows: rows.clone(), columns: columns.clone() });
        }
    }
    blocks
}

fn sides(count: usize) -> Vec<Range<usize>> {
    (0..count).step_by(BLOCK).map(|start| start..count.min(start + BLOCK)).collect()
}

/// Sums of the products of rows of a block.
pub struct ProductBlock<'a> {
    /// Number of the block among those of rows, and among those of columns.
    pub side: (usize, usize),
    /// Rows of the block.
    pub rows: Range<usize>,
    /// Columns of the block.
    pub columns: Range<usize>,
    tiles: &'a [ProductTile],
}

impl ProductBlock<'_> {
    /// Writes the sums of row `i` with the columns after `i`; returns the first of these.
    pub fn row(&self, i: usize, sums: &mut Vec<f64>) -> usize {
        let panels = self.rows.len().div_ceil(TILE_ROWS);
        let row = i - self.rows.start;
        let first = self.columns.start.max(i + 1);
        sums.clear();
        let mut column = first - self.columns.start;
        while column < self.columns.len() {
            let tile = &self.tiles[column / TILE_COLUMNS * panels + row / TILE_ROWS];
            let lane = column % TILE_COLUMNS;
            let end = TILE_COLUMNS.min(lane + self.columns.len() - column);
            sums.extend(&tile.0[row % TILE_ROWS][lane..end]);
            column += end - lane;
        }
        first
    }
}

/// Part of the triangle that a task fills.
struct TriangleBlock<'t, T> {
    rows: Range<usize>,
    columns: Range<usize>,
    /// By row, the values of the columns of the block that are above the diagonal.
    slots: Mutex<Vec<&'t mut [T]>>,
}

fn blocks<'t, T: StoredNumber>(triangle: &'t mut Triangle<'_, T>) -> Vec<TriangleBlock<'t, T>> {
    let count = triangle.count();
    let sides = sides(count);
    let mut blocks = Vec::new();
    let mut all_rows = triangle.rows_mut().into_iter().enumerate();
    for (number, rows) in sides.iter().enumerate() {
        let mut slots: Vec<Vec<&mut [T]>> = sides[number..].iter().map(|_| Vec::new()).collect();
        for (i, mut rest) in all_rows.by_ref().take(rows.len()) {
            for (slots, columns) in slots.iter_mut().zip(&sides[number..]) {
                let (slot, next) = rest.split_at_mut(columns.end - columns.start.max(i + 1));
                slots.push(slot);
                rest = next;
            }
        }
        for (slots, columns) in slots.into_iter().zip(&sides[number..]) {
            let (rows, columns) = (rows.clone(), columns.clone());
            blocks.push(TriangleBlock { rows, columns, slots: Mutex::new(slots) });
        }
    }
    blocks
}

/// Buffers of a thread.
#[derive(Default)]
struct Worker {
    rows: Panels<TILE_ROWS>,
    columns: Panels<TILE_COLUMNS>,
    /// Tiles of the block, those of a panel of columns together.
    tiles: Vec<ProductTile>,
}

impl Worker {
    fn size_bytes(side: usize, depth: usize) -> usize {
        let padded = side.next_multiple_of(48);
        8 * padded * (padded + 2 * depth.min(DEPTH))
    }

    fn multiply(
        &mut self,
        level: Instructions,
        source: &impl MatrixRows,
        rows: Range<usize>,
        columns: Range<usize>,
    ) {
        let panels = rows.len().div_ceil(TILE_ROWS);
        self.tiles.clear();
        self.tiles.resize(panels * columns.len().div_ceil(TILE_COLUMNS), ProductTile::default());
        for start in (0..source.depth()).step_by(DEPTH) {
            let depth = start..source.depth().min(start + DEPTH);
            self.rows.fill(source, rows.clone(), depth.clone());
            self.columns.fill(source, columns.clone(), depth);
            for (column, tiles) in self.tiles.chunks_mut(panels).enumerate() {
                for (row, tile) in tiles.iter_mut().enumerate() {
                    level.add(self.rows.panel(row), self.columns.panel(column), tile);
                }
            }
        }
    }

    fn finish<T: StoredNumber>(
        &self,
        block: &TriangleBlock<'_, T>,
        finish: &impl Fn(usize, usize, f64) -> f64,
    ) {
        let panels = block.rows.len().div_ceil(TILE_ROWS);
        for (row, slot) in lock(&block.slots).iter_mut().enumerate() {
            let i = block.rows.start + row;
            let first = block.columns.end - slot.len();
            for (j, value) in (first..).zip(slot.iter_mut()) {
                let column = j - block.columns.start;
                let tile = &self.tiles[column / TILE_COLUMNS * panels + row / TILE_ROWS];
                let sum = tile.0[row % TILE_ROWS][column % TILE_COLUMNS];
                *value = T::store(finish(i, j, sum));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::triangle::Triangle;
    use cuesta_core::random::Stream;

    struct Plain(usize, Vec<f64>);

    impl MatrixRows for Plain {
        type Value = f64;

        fn count(&self) -> usize {
            self.1.len() / self.0
        }

        fn depth(&self) -> usize {
            self.0
        }

        fn by_rows(
            &self,
            rows: Range<usize>,
            depth: Range<usize>,
            mut put: impl FnMut(usize, usize, &[f64]),
        ) {
            for row in rows {
                put(row, depth.start, &self.1[row * self.0..][depth.clone()]);
            }
        }
    }

    fn chain(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).fold(0.0, |sum, (a, b)| a.mul_add(*b, sum))
    }

    #[test]
    fn products_are_chains_at_any_size_level_and_number_of_threads() {
        let budget = Budget::new(1 << 30);
        for (count, depth) in [(0, 5), (1, 5), (2, 1), (17, 300), (50, 3), (BLOCK + 30, 5)] {
            let stream = Stream::new(1, count as u64);
            let values = (0..(count * depth) as u64).map(|i| stream.normal(i)).collect();
            let plain = Plain(depth, values);
            let expected: Vec<f64> = (0..count)
                .flat_map(|i| (i + 1..count).map(move |j| (i, j)))
                .map(|(i, j)| chain(&plain.1[i * depth..][..depth], &plain.1[j * depth..][..depth]))
                .collect();
            for level in Instructions::available() {
                for threads in [1, 3] {
                    let product: Triangle<f64> =
                        pairs_at(level, &plain, threads, (&budget, "test"), |_, _, sum| sum)
                            .unwrap();
                    assert!(product.values() == expected, "{level:?}, {count}, {threads}");
                }
            }
        }
    }
}
