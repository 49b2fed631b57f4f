//! Rows of numbers in double precision, and the sums of products of every pair of some of them.
//!
//! A plain sum of products reads two numbers for each that it multiplies. Here four rows meet four
//! others at a time, in registers, and [`BLOCK`] rows meet as many, in a cache: each number read is
//! multiplied four times. Every sum is made in the same order with any vector instructions.

use cuesta_core::cpu::{fastest, has_avx512};

/// Running sums of a product, each of every eighth number.
const LANES: usize = 8;
/// Rows that meet as many others in the second-level cache.
pub const BLOCK: usize = 32;

/// Rows of equally many numbers.
pub struct Rows {
    values: Vec<f64>,
    /// Numbers of a row, with zeros after them.
    width: usize,
}

impl Rows {
    /// So many rows of zeros, each of `length` numbers.
    pub fn zeros(count: usize, length: usize) -> Self {
        let width = length.next_multiple_of(LANES).max(LANES);
        Self { values: vec![0.0; count * width], width }
    }

    /// All rows, to be filled: slices of at most `count` of them, and the numbers of each.
    pub fn parts(&mut self, count: usize) -> (impl Iterator<Item = &mut [f64]>, usize) {
        (self.values.chunks_mut(count * self.width), self.width)
    }

    /// Rows in memory.
    fn row(&self, index: usize) -> &[[f64; LANES]] {
        self.values[index * self.width..][..self.width].as_chunks().0
    }

    /// The sums of products of each of `left` with each row in `right`, both at most [`BLOCK`];
    /// that of `left[i]` and `right.start + j` is at `i * BLOCK + j`.
    pub fn products(&self, left: &[usize], right: std::ops::Range<usize>, out: &mut [f64]) {
        if has_avx512() {
            fastest(
                #[inline(always)]
                || self.tiles::<4, 4>(left, right, out),
            );
        } else {
            fastest(
                #[inline(always)]
                || self.tiles::<2, 2>(left, right, out),
            );
        }
    }

    #[inline(always)]
    fn tiles<const HIGH: usize, const WIDE: usize>(
        &self,
        left: &[usize],
        right: std::ops::Range<usize>,
        out: &mut [f64],
    ) {
        for start in (0..left.len()).step_by(HIGH) {
            let high: [_; HIGH] =
                std::array::from_fn(|i| self.row(left[(start + i).min(left.len() - 1)]));
            for first in right.clone().step_by(WIDE) {
                let wide: [_; WIDE] =
                    std::array::from_fn(|j| self.row((first + j).min(right.end - 1)));
                let found = tile(high, wide);
                for (i, found) in found.iter().enumerate().take(left.len() - start) {
                    let place = (start + i) * BLOCK + first - right.start;
                    let count = WIDE.min(right.end - first);
                    out[place..place + count].copy_from_slice(&found[..count]);
                }
            }
        }
    }
}

/// The sums of products of some rows with others.
#[inline(always)]
fn tile<const HIGH: usize, const WIDE: usize>(
    high: [&[[f64; LANES]]; HIGH],
    wide: [&[[f64; LANES]]; WIDE],
) -> [[f64; WIDE]; HIGH] {
    let count = high[0].len();
    let (high, wide) = (high.map(|row| &row[..count]), wide.map(|row| &row[..count]));
    let mut sums = [[[0.0; LANES]; WIDE]; HIGH];
    for place in 0..count {
        for i in 0..HIGH {
            for j in 0..WIDE {
                for lane in 0..LANES {
                    sums[i][j][lane] += high[i][place][lane] * wide[j][place][lane];
                }
            }
        }
    }
    sums.map(|row| row.map(|lanes| lanes.iter().sum()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_core::random::Stream;

    #[test]
    fn every_product_is_the_plain_sum_at_any_size() {
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
                for (i, &one) in left.iter().enumerate() {
                    for (j, two) in right.clone().enumerate() {
                        let exact: f64 =
                            plain[one].iter().zip(&plain[two]).map(|(a, b)| a * b).sum();
                        let found = out[i * BLOCK + j];
                        assert!((found - exact).abs() < 1e-12, "{one} {two}: {found} {exact}");
                        let mut again = vec![0.0; BLOCK * BLOCK];
                        rows.tiles::<2, 2>(&[one], two..two + 1, &mut again);
                        assert_eq!(again[0].to_bits(), found.to_bits());
                    }
                }
            }
        }
    }
}
