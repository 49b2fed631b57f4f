//! Bases of the reads by the length of the stretch that they are in: as many k-mers as reads have.

use serde::{Deserialize, Serialize};

/// Length of stretches from which on they are not told apart: all sizes of k-mers fit.
pub const STRETCH_MAX: usize = 128;
/// Number of lengths, from 0 on.
pub const LENGTHS: usize = STRETCH_MAX + 1;

/// Bases in stretches of reads without ambiguous letters, by the length of the stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<u64>", try_from = "Vec<u64>")]
pub struct StretchBases([u64; LENGTHS]);

impl Default for StretchBases {
    fn default() -> Self {
        Self([0; LENGTHS])
    }
}

impl From<StretchBases> for Vec<u64> {
    fn from(stretches: StretchBases) -> Self {
        stretches.0.to_vec()
    }
}

impl TryFrom<Vec<u64>> for StretchBases {
    type Error = &'static str;

    fn try_from(numbers: Vec<u64>) -> Result<Self, Self::Error> {
        numbers.try_into().map(Self).map_err(|_| "not a number for each length of stretches")
    }
}

impl StretchBases {
    /// Adds a stretch of so many bases.
    #[inline(always)]
    pub fn add(&mut self, bases: usize) {
        self.0[bases.min(STRETCH_MAX)] += bases as u64;
    }

    /// Adds other stretches.
    pub fn merge(&mut self, other: &Self) {
        let sums = self.0.iter_mut().zip(&other.0);
        sums.for_each(|(sum, more)| *sum = sum.saturating_add(*more));
    }

    /// Returns the bases by length.
    pub fn numbers(&self) -> &[u64; LENGTHS] {
        &self.0
    }

    /// Creates the stretches from the array of [`StretchBases::numbers`].
    pub fn of(numbers: [u64; LENGTHS]) -> Self {
        Self(numbers)
    }

    /// Returns the greatest length such that half of all bases are in stretches so long, at most
    /// [`STRETCH_MAX`]; 0 without bases.
    pub fn half(&self) -> usize {
        let all = self.0.iter().fold(0u128, |sum, &bases| sum + u128::from(bases));
        let mut longer = 0;
        let half = (0..LENGTHS).rev().find(|&length| {
            longer += u128::from(self.0[length]);
            longer > 0 && 2 * longer >= all
        });
        half.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_all_bases_are_in_stretches_of_a_length() {
        let half = |stretches: &[(usize, usize)]| {
            let mut all = StretchBases::default();
            for &(bases, times) in stretches {
                (0..times).for_each(|_| all.add(bases));
            }
            all.half()
        };
        assert_eq!(half(&[]), 0);
        assert_eq!(half(&[(0, 9)]), 0);
        assert_eq!(half(&[(36, 9), (100, 3)]), 36);
        assert_eq!(half(&[(36, 9), (100, 4)]), 100);
        assert_eq!(half(&[(49, 10), (50, 10)]), 50);
        assert_eq!(half(&[(5000, 1), (100, 10)]), STRETCH_MAX);
    }
}
