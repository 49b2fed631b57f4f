//! Stages as pure functions on blocks, and all stages fused into one loop.
//!
//! A block is `3 * vectors` doubles, with the coordinates of a vector adjacent. Every coordinate is
//! an integer multiple of 2^-16, and the absolute values of a block add up to at most 2^37, so a
//! sum needs no more than the 53 bits of a double: adding in any order, with any vector width,
//! gives the same bits.

use cuesta_core::cpu;
use cuesta_core::random::Stream;

/// Numbers of a vector.
pub const AXES: usize = 3;
/// A point or a displacement.
pub type Vector = [f64; 3];

/// Units in a coordinate of 1.0.
pub const UNITS: f64 = 65_536.0;
/// Number of the random stream from which vectors are drawn.
pub const STREAM: u64 = 5;
/// Bits of a random word that form a coordinate.
const BITS: u32 = 20;
/// A coordinate is its bits times this, minus [`CENTRE`].
const STEP: f64 = 125.0 / UNITS;
const CENTRE: f64 = 1000.0;
/// 2^52: doubles from here to 2^53 have a unit in the last place of 1, so their low bits are an
/// integer.
const TWO_TO_52: f64 = 4_503_599_627_370_496.0;
/// Vectors that a loop handles together.
const LANES: usize = 8;

/// Returns coordinate `axis` of the vector drawn from a random word: uniform in [-1000, 1000).
#[inline(always)]
pub fn coordinate(word: u64, axis: u32) -> f64 {
    let bits = (word >> (BITS * axis)) & ((1 << BITS) - 1);
    (f64::from_bits(bits | TWO_TO_52.to_bits()) - TWO_TO_52) * STEP - CENTRE
}

/// Fills a block with the vectors that start at number `first` of the stream.
pub fn generate(stream: &Stream, first: u64, block: &mut [f64]) {
    cpu::fastest(
        #[inline(always)]
        || {
            let mut index = first;
            for chunk in block.chunks_mut(3 * LANES) {
                let words: [u64; LANES] =
                    std::array::from_fn(|lane| stream.bits(index.wrapping_add(lane as u64)));
                let mut values = [0.0; 3 * LANES];
                for (lane, &word) in words.iter().enumerate() {
                    for axis in 0..3 {
                        values[3 * lane + axis] = coordinate(word, axis as u32);
                    }
                }
                chunk.copy_from_slice(&values[..chunk.len()]);
                index = index.wrapping_add(LANES as u64);
            }
        },
    );
}

/// Rounds numbers to the nearest unit, halves to even; returns whether all were at most `limit` in
/// absolute value.
pub fn round(values: &mut [f64], limit: f64) -> bool {
    let mut fit = true;
    cpu::fastest(
        #[inline(always)]
        || {
            for value in values.iter_mut() {
                fit &= fits(*value, limit);
                *value = (*value * UNITS).round_ties_even() / UNITS;
            }
        },
    );
    fit
}

/// Whether the absolute value of a number is at most `limit`; false for NaN.
#[inline(always)]
pub fn fits(value: f64, limit: f64) -> bool {
    value.abs() <= limit
}

/// Adds `by` to each vector of a block.
pub fn shift(block: &mut [f64], by: Vector) {
    let pattern: [f64; 3 * LANES] = std::array::from_fn(|place| by[place % 3]);
    cpu::fastest(
        #[inline(always)]
        || {
            for chunk in block.chunks_mut(3 * LANES) {
                for (value, add) in chunk.iter_mut().zip(&pattern) {
                    *value += add;
                }
            }
        },
    );
}

/// Returns the sum of the vectors of a block.
pub fn sum(block: &[f64]) -> Vector {
    let mut sums = [0.0; 6 * LANES];
    cpu::fastest(
        #[inline(always)]
        || {
            let mut chunks = block.chunks_exact(6 * LANES);
            for chunk in &mut chunks {
                for (sum, value) in sums.iter_mut().zip(chunk) {
                    *sum += value;
                }
            }
            for (sum, value) in sums.iter_mut().zip(chunks.remainder()) {
                *sum += value;
            }
        },
    );
    std::array::from_fn(|axis| sums.iter().skip(axis).step_by(3).sum())
}

/// Returns the sum of `vectors` generated and shifted vectors without storing any.
pub fn fused(stream: &Stream, first: u64, vectors: u64, by: Vector) -> Vector {
    let mut sums = [[0.0; LANES]; 3];
    let lanes_end = vectors / LANES as u64 * LANES as u64;
    cpu::fastest(
        #[inline(always)]
        || {
            for index in (0..lanes_end).step_by(LANES) {
                let start = first.wrapping_add(index);
                let words: [u64; LANES] =
                    std::array::from_fn(|lane| stream.bits(start.wrapping_add(lane as u64)));
                for (axis, sums) in sums.iter_mut().enumerate() {
                    for (sum, word) in sums.iter_mut().zip(words) {
                        *sum += coordinate(word, axis as u32) + by[axis];
                    }
                }
            }
        },
    );
    let mut total: Vector = std::array::from_fn(|axis| sums[axis].iter().sum());
    for index in lanes_end..vectors {
        let word = stream.bits(first.wrapping_add(index));
        for (axis, sum) in total.iter_mut().enumerate() {
            *sum += coordinate(word, axis as u32) + by[axis];
        }
    }
    total
}

/// Converts a sum of coordinates to an integer number of units. Exact for the sums of this module.
pub fn units(sum: Vector) -> [i64; 3] {
    sum.map(|value| (value * UNITS) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_stages_the_fused_loop_and_integers_agree(
            seed in any::<u64>(),
            first in 0u64..1 << 40,
            vectors in 0u64..200,
            by in prop::array::uniform3(-65_536_000i64..=65_536_000),
        ) {
            let stream = Stream::new(seed, STREAM);
            let shift_by = by.map(|units| units as f64 / UNITS);
            let expected = reference::sum(&stream, first, vectors, by);
            let mut block = vec![0.0; 3 * vectors as usize];
            generate(&stream, first, &mut block);
            prop_assert!(block.iter().all(|value| (-1000.0..1000.0).contains(value)));
            shift(&mut block, shift_by);
            prop_assert_eq!(units(sum(&block)), expected);
            prop_assert_eq!(units(fused(&stream, first, vectors, shift_by)), expected);
        }
    }
}
