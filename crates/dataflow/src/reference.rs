//! Simplest computation of the answer: integers, one vector after the other.

use cuesta_core::random::Stream;

/// Units in a coordinate of 1, [`crate::kernel::UNITS`] as an integer.
const UNITS: i64 = 65_536;

/// Returns the sum of `vectors` drawn vectors from number `first` on, each with `shift` added, in
/// units.
pub fn sum(stream: &Stream, first: u64, vectors: u64, shift: [i64; 3]) -> [i64; 3] {
    let mut sums = [0; 3];
    for index in first..first + vectors {
        let word = stream.bits(index);
        for (axis, sum) in sums.iter_mut().enumerate() {
            let bits = (word >> (20 * axis)) & 0xF_FFFF;
            *sum += bits as i64 * 125 - 1000 * UNITS + shift[axis];
        }
    }
    sums
}

/// Returns the sum of stored vectors, each number rounded to the nearest unit, each vector with
/// `shift` added, in units.
pub fn sum_of(values: &[f64], shift: [i64; 3]) -> [i64; 3] {
    let mut sums = [0; 3];
    for (index, &value) in values.iter().enumerate() {
        sums[index % 3] += (value * UNITS as f64).round_ties_even() as i64 + shift[index % 3];
    }
    sums
}
