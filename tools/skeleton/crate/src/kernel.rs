//! The kernel: adds the numbers of a slice.

use serde::{Deserialize, Serialize};

/// The number of numbers, and their sum.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Total {
    /// The number of numbers.
    pub count: u64,
    /// Their sum; exact.
    pub sum: u128,
}

impl Total {
    /// Adds another total.
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.sum += other.sum;
    }
}

/// The total of those numbers that are at least `least`.
pub fn total(numbers: &[u64], least: u64) -> Total {
    // Two sums of halves, which the compiler adds in vectors.
    let (mut count, mut low, mut high) = (0, 0, 0);
    for chunk in numbers.chunks(1 << 16) {
        let (mut lows, mut highs) = (0u64, 0u64);
        for &number in chunk {
            let taken = u64::from(number >= least);
            count += taken;
            lows += (number & 0xFFFF_FFFF) * taken;
            highs += (number >> 32) * taken;
        }
        low += u128::from(lows);
        high += u128::from(highs);
    }
    Total { count, sum: low + (high << 32) }
}
