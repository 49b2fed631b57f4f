//! Counts of the k-mers of contigs, as differences: a stretch of k-mers is counted at its two ends.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::prefetch;
use cuesta_core::pages::in_large_pages;

use crate::kernel::table::COUNT_MAX;

/// Bytes per base.
pub const EACH_BYTES: u64 = size_of::<AtomicU32>() as u64;

/// Counts by position, to which all threads add.
pub struct StretchCounts<'a> {
    /// Count of the k-mer at each position minus that of the k-mer before, modulo 2^32.
    differences: Vec<AtomicU32>,
    _lease: Lease<'a>,
}

impl<'a> StretchCounts<'a> {
    /// Creates zero counts for `places` positions; `None` where they do not fit in the budget.
    pub fn new(places: usize, budget: &'a Budget) -> Option<Self> {
        let lease = budget.try_take(places as u64 * EACH_BYTES)?;
        let differences = in_large_pages(places, AtomicU32::default);
        Some(Self { differences, _lease: lease })
    }

    /// Counts the k-mers of each stretch once more; the end of a stretch must be a position too.
    /// Several stretches at a time are faster, since their cache misses overlap.
    pub fn add(&self, stretches: &[Range<usize>]) {
        for stretch in stretches {
            prefetch(&self.differences, stretch.start);
            prefetch(&self.differences, stretch.end);
        }
        for stretch in stretches {
            self.differences[stretch.start].fetch_add(1, Ordering::Relaxed);
            self.differences[stretch.end].fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns in `counts` the counts of the k-mers of a contig, which starts at `places.start`.
    pub fn of(&self, places: Range<usize>, counts: &mut Vec<u32>) {
        counts.clear();
        let mut count = 0u32;
        counts.extend(self.differences[places].iter().map(|difference| {
            count = count.wrapping_add(difference.load(Ordering::Relaxed));
            count.min(COUNT_MAX)
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_all_stretches() {
        let budget = Budget::new(100);
        let counts = StretchCounts::new(20, &budget).unwrap();
        (0..1000).for_each(|_| counts.add(&[3..10, 7..10, 3..4]));
        counts.add(&[10..19, 10..12]);
        let mut contig_counts = Vec::new();
        counts.of(3..12, &mut contig_counts);
        assert_eq!(contig_counts, [2000, 1000, 1000, 1000, 2000, 2000, 2000, 2, 2]);
        assert!(StretchCounts::new(26, &budget).is_none());
    }
}
