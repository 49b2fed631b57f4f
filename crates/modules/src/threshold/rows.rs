//! Rows of the table of cut-offs.

use cuesta_core::statistics::student_p_value;

use crate::kernel::threshold::sweep::CutoffRow;

/// Network at a cut-off, and its significance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdRow {
    /// Cut-off in millionths.
    pub threshold: u32,
    /// Network of the pairs whose |r| reaches it.
    pub network: CutoffRow,
    /// Part of the edges among all pairs of the genes.
    pub density: f64,
    /// Two-sided p-value of a correlation at the cut-off over all samples.
    pub p: f64,
    /// Pairs expected by chance at the cut-off, as a part of its edges; at most 1.
    pub fdr: f64,
}

impl ThresholdRow {
    /// Completes a network of so many genes over so many samples.
    pub fn new(threshold: u32, network: CutoffRow, genes: usize, samples: usize) -> Self {
        let (all, edges) = (pairs(genes), network.edges as f64);
        let p = student_p_value(f64::from(threshold) / 1e6, samples);
        let fdr = if network.edges == 0 { f64::NAN } else { (p * all / edges).min(1.0) };
        Self { threshold, network, density: edges / all, p, fdr }
    }
}

/// Number of pairs of genes.
fn pairs(genes: usize) -> f64 {
    (genes as u64 * (genes as u64).saturating_sub(1) / 2) as f64
}

/// Returns |r| in millionths, halves to even; none where there is no correlation.
pub(super) fn millionths(r: f64) -> Option<u32> {
    (!r.is_nan()).then(|| (r.abs() * 1e6).round_ties_even() as u32)
}

/// Returns the smallest |r| that is at least so many millionths once it is rounded.
pub(super) fn smallest_size(threshold: u32) -> f64 {
    if threshold == 0 {
        return 0.0;
    }
    let reaches = |size: f64| millionths(size) >= Some(threshold);
    let mut size = (f64::from(threshold) - 0.5) / 1e6;
    while reaches(size) {
        size = size.next_down();
    }
    while !reaches(size) {
        size = size.next_up();
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_size_of_a_threshold_rounds_to_it_and_none_below_does() {
        for threshold in (1..=1_000_000).step_by(997).chain([1, 2, 3, 500_000, 1_000_000]) {
            let size = smallest_size(threshold);
            assert_eq!(millionths(size), Some(threshold));
            assert_eq!(millionths(size.next_down()), Some(threshold - 1));
        }
        assert_eq!(smallest_size(0), 0.0);
    }
}
