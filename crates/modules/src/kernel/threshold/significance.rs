//! The smallest correlation that a false discovery rate admits.
//!
//! Source: Benjamini and Hochberg 1995.

use std::collections::BTreeMap;

use cuesta_core::statistics::student_p_value;

/// Returns the two-sided p-value of a correlation over `samples`, by Student's t; 1 for fewer than
/// three samples.
pub fn p_value(correlation: f64, samples: usize) -> f64 {
    if samples < 3 { 1.0 } else { student_p_value(correlation, samples) }
}

/// Number of pairs by samples and size of the correlation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScoreCounts {
    /// Bins of [0, 1], of equal width; the last holds 1 too.
    bins: usize,
    counts: BTreeMap<usize, Vec<u32>>,
}

/// Counts that all numbers of samples may take together, 4 bytes each.
const COUNTS_MAX: usize = 1 << 24;

impl ScoreCounts {
    /// Creates counts of 0: by millionths where all pairs have `samples`, else by larger steps if
    /// memory is to stay small.
    pub fn new(samples: usize, is_complete: bool) -> Self {
        let numbers = if is_complete { 1 } else { samples.max(1) };
        Self { bins: (COUNTS_MAX / numbers).clamp(1000, 1_000_000), counts: BTreeMap::new() }
    }

    /// Width of a bin.
    pub fn width(&self) -> f64 {
        1.0 / self.bins as f64
    }

    /// Counts pairs over `samples`.
    pub fn of_samples(&mut self, samples: usize) -> CountsOfSamples<'_> {
        let counts = self.counts.entry(samples).or_insert_with(|| vec![0; self.bins]);
        CountsOfSamples { scale: self.bins as f64, counts }
    }

    /// Adds the counts of others.
    pub fn merge(&mut self, other: &Self) {
        for (samples, counts) in &other.counts {
            let own = self.counts.entry(*samples).or_insert_with(|| vec![0; self.bins]);
            own.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    /// Number of pairs.
    pub fn pairs(&self) -> u64 {
        self.counts.values().flatten().map(|count| u64::from(*count)).sum()
    }

    /// Returns the smallest |r| that is significant at false discovery rate `rate` by number of
    /// samples, rounded up to a bin; and the number of pairs from there on. Empty if none is.
    pub fn critical(&self, rate: f64) -> Critical {
        let total = self.pairs() as f64;
        let p_of = |samples: usize, bin: usize| p_value(bin as f64 / self.bins as f64, samples);
        let mut cells: Vec<(f64, usize, usize, u32)> = Vec::new();
        for (&samples, counts) in &self.counts {
            let filled = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            cells.extend(filled.map(|(bin, &count)| (p_of(samples, bin), samples, bin, count)));
        }
        cells.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let (mut rank, mut critical) = (0, Critical::default());
        for &(p, _, _, count) in &cells {
            rank += u64::from(count);
            if p <= rate * rank as f64 / total {
                (critical.p_value, critical.pairs) = (Some(p), rank);
            }
        }
        if let Some(most) = critical.p_value {
            for (p, samples, bin, _) in cells.into_iter().take_while(|cell| cell.0 <= most) {
                debug_assert!(p <= most);
                let least = critical.correlations.entry(samples).or_insert(1.0);
                *least = least.min(bin as f64 / self.bins as f64);
            }
        }
        critical
    }
}

/// Counts for a number of samples.
pub struct CountsOfSamples<'c> {
    scale: f64,
    counts: &'c mut [u32],
}

impl CountsOfSamples<'_> {
    /// Counts a pair.
    #[inline(always)]
    pub fn add(&mut self, size: f64) {
        let bin = ((size * self.scale) as usize).min(self.counts.len() - 1);
        self.counts[bin] += 1;
    }
}

/// Pairs that a false discovery rate admits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Critical {
    /// Largest p-value, if any is admitted.
    pub p_value: Option<f64>,
    /// Number of pairs.
    pub pairs: u64,
    /// Smallest |r| by number of samples.
    pub correlations: BTreeMap<usize, f64>,
}
