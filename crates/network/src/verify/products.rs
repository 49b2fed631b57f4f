//! Rows of numbers in double precision, and the sums of products of all pairs of a block of rows.
//!
//! A plain sum of products reads two numbers for each product. Here tiles of four by four rows are
//! multiplied in registers, and blocks of [`BLOCK`] by [`BLOCK`] rows in a cache: each number read
//! is multiplied four times. All sums are made in the same order with any vector instructions.

use cuesta_core::cpu::fastest;

/// Running sums of a product, each of every eighth number.
const LANES: usize = 8;
/// Rows, and columns, of a tile.
const SIDE: usize = 4;
/// Rows of a block in the second-level cache.
pub const BLOCK: usize = 32;

/// Rows of equal length.
pub struct Rows {
    values: Vec<f64>,
    /// Numbers of a row, with padding of zeros.
    width: usize,
}

impl Rows {
    /// Creates `count` rows of zeros, each of `length` numbers.
    pub fn zeros(count: usize, length: usize) -> Self {
        let width = length.next_multiple_of(LANES).max(LANES);
        Self { values: vec![0.0; count * width], width }
    }

    /// Returns all rows for filling: slices of at most `count` rows, and the numbers of each.
    pub fn parts(&mut self, count: usize) -> (impl Iterator<Item = &mut [f64]>, usize) {
        (self.values.chunks_mut(count * self.width), self.width)
    }

    /// Returns a row in memory.
    fn row(&self, index: usize) -> &[[f64; LANES]] {
        self.values[index * self.width..][..self.width].as_chunks().0
    }

    /// Computes the sums of products of each row in `left` with each row in `right`, both at most
    /// [`BLOCK`] rows; that of `left[i]` and `right.start + j` is at `i * BLOCK + j`.
    pub fn products(&self, left: &[usize], right: std::ops::Range<usize>, out: &mut [f64]) {
        fastest(
            #[inline(always)]
            || self.tiles(left, right, out),
        );
    }

    #[inline(always)]
    fn tiles(&self, left: &[usize], right: std::ops::Range<usize>, out: &mut [f64]) {
        for start in (0..left.len()).step_by(SIDE) {
            let high: [_; SIDE] =
                std::array::from_fn(|i| self.row(left[(start + i).min(left.len() - 1)]));
            for first in right.clone().step_by(SIDE) {
                let wide: [_; SIDE] =
                    std::array::from_fn(|j| self.row((first + j).min(right.end - 1)));
                let sums = tile(high, wide);
                for (i, sums) in sums.iter().enumerate().take(left.len() - start) {
                    let place = (start + i) * BLOCK + first - right.start;
                    let count = SIDE.min(right.end - first);
                    out[place..place + count].copy_from_slice(&sums[..count]);
                }
            }
        }
    }
}

/// Computes the sums of products of a tile of rows.
///
/// The sums of each row are a variable, so that they stay in registers. They pass through memory
/// before their lanes are added: else the compiler makes vectors of four rows, not of eight lanes,
/// and shuffles all numbers. Either costs two thirds of the speed.
#[inline(always)]
fn tile(high: [&[[f64; LANES]]; SIDE], wide: [&[[f64; LANES]]; SIDE]) -> [[f64; SIDE]; SIDE] {
    let count = high[0].len();
    let (high, wide) = (high.map(|row| &row[..count]), wide.map(|row| &row[..count]));
    let [mut sums0, mut sums1, mut sums2, mut sums3] = [[[0.0; LANES]; SIDE]; SIDE];
    for place in 0..count {
        let right = wide.map(|row| &row[place]);
        add_products(&mut sums0, &high[0][place], right);
        add_products(&mut sums1, &high[1][place], right);
        add_products(&mut sums2, &high[2][place], right);
        add_products(&mut sums3, &high[3][place], right);
    }
    let sums = std::hint::black_box([sums0, sums1, sums2, sums3]);
    sums.map(|row| row.map(|lanes| lanes.iter().sum()))
}

/// Adds the products of eight numbers of a row with those of other rows to running sums.
#[inline(always)]
fn add_products(
    sums: &mut [[f64; LANES]; SIDE],
    left: &[f64; LANES],
    right: [&[f64; LANES]; SIDE],
) {
    for (sums, right) in sums.iter_mut().zip(right) {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_core::random::Stream;

    #[test]
    fn all_products_are_plain_sums_at_any_size() {
        let stream = Stream::new(5, 0);
        for length in [0, 1, 7, 8, 9, 475] {
            let mut rows = Rows::zeros(70, length);
            let plain: Vec<Vec<f64>> = (0..70)
                .map(|row| {
                    (0..length)
                        .map(|place| stream.uniform((row * length + place) as u64) - 0.5)
                        .collect()
                })
                .collect();
            let (parts, width) = rows.parts(1);
            parts.zip(&plain).for_each(|(row, from)| row[..length].copy_from_slice(from));
            assert!(width >= length);
            for (left, right) in
                [(vec![3], 0..1), (vec![69, 4, 40], 5..10), ((38..70).collect(), 33..65)]
            {
                let mut out = vec![f64::NAN; BLOCK * BLOCK];
                rows.products(&left, right.clone(), &mut out);
                for (i, &row1) in left.iter().enumerate() {
                    for (j, row2) in right.clone().enumerate() {
                        let exact: f64 =
                            plain[row1].iter().zip(&plain[row2]).map(|(a, b)| a * b).sum();
                        let product = out[i * BLOCK + j];
                        assert!(
                            (product - exact).abs() < 1e-12,
                            "{row1} {row2}: {product} {exact}"
                        );
                        let mut second_out = vec![0.0; BLOCK * BLOCK];
                        rows.tiles(&[row1], row2..row2 + 1, &mut second_out);
                        assert_eq!(second_out[0].to_bits(), product.to_bits());
                    }
                }
            }
        }
    }
}
