//! Depth of sequence that a genome has once, though repeats make the mean of all paths larger.

use serde::{Deserialize, Serialize};

/// Classes of coverage: two for each doubling, from 1 to the largest count of a k-mer.
const CLASSES: usize = 32;
/// Part of the k-mers of long paths, as its inverse, that is at most as deep as sequence that the
/// genome has once.
const THIN_PART: u64 = 10;

/// K-mers of the paths that are too long for a single error, by the class of their coverage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageClasses {
    kmers: [u64; CLASSES],
    count_sums: [u64; CLASSES],
}

impl CoverageClasses {
    /// Adds a path of `kmers` k-mers of `k` bases, the sum of whose counts is `count_sum`. One of
    /// at most k k-mers is passed over: an error makes so many.
    pub fn add(&mut self, k: usize, (kmers, count_sum): (u64, u64)) {
        if kmers > k as u64 {
            let class = class(kmers, count_sum);
            self.kmers[class] += kmers;
            self.count_sums[class] += count_sum;
        }
    }

    /// Adds other classes.
    pub fn merge(&mut self, other: &Self) {
        self.kmers.iter_mut().zip(other.kmers).for_each(|(sum, more)| *sum += more);
        self.count_sums.iter_mut().zip(other.count_sums).for_each(|(sum, more)| *sum += more);
    }

    /// Returns the mean coverage of the class that the thinnest tenth of all k-mers ends in; `None`
    /// without paths.
    pub fn single_copy(&self) -> Option<f64> {
        let all: u64 = self.kmers.iter().sum();
        let mut below = 0;
        let class = self.kmers.iter().position(|&kmers| {
            below += kmers;
            below > 0 && THIN_PART * below >= all
        })?;
        Some(self.count_sums[class] as f64 / self.kmers[class] as f64)
    }
}

/// Returns the class of a mean coverage: 1 to 1.5, to 2, to 3, to 4, to 6 ...
fn class(kmers: u64, count_sum: u64) -> usize {
    let doublings = (count_sum / kmers).max(1).ilog2();
    let is_upper = 2 * u128::from(count_sum) >= 3 * (u128::from(kmers) << doublings);
    (2 * doublings as usize + usize::from(is_upper)).min(CLASSES - 1)
}

/// Depths of a graph by which its paths are judged: mean counts of k-mers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphDepth {
    /// Mean of all paths.
    pub mean: f64,
    /// Depth of sequence that the genome has once, or less.
    pub single: f64,
}

impl GraphDepth {
    /// Creates the depths from the k-mers of all paths, the sum of their counts, and the classes.
    pub fn new((kmers, count_sum): (u64, u64), classes: &CoverageClasses) -> Self {
        let mean = count_sum as f64 / kmers.max(1) as f64;
        Self { mean, single: classes.single_copy().unwrap_or(mean) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_double_in_two_steps() {
        let classes = [(1, 1), (2, 3), (1, 2), (1, 3), (10, 59), (10, 60), (1, u64::MAX)]
            .map(|(kmers, count_sum)| class(kmers, count_sum));
        assert_eq!(classes, [0, 1, 2, 3, 4, 5, CLASSES - 1]);
    }

    #[test]
    fn a_deep_repeat_does_not_change_the_depth_of_a_single_copy() {
        let mut classes = CoverageClasses::default();
        assert_eq!(classes.single_copy(), None);
        for (kmers, coverage) in [(2000, 60), (5000, 1200), (31, 2), (100, 7)] {
            classes.add(31, (kmers, kmers * coverage));
        }
        assert_eq!(classes.single_copy(), Some(60.0));
        let mut both = classes;
        both.merge(&classes);
        assert_eq!(both.single_copy(), Some(60.0));
        assert_eq!(GraphDepth::new((10, 50), &CoverageClasses::default()).single, 5.0);
    }
}
