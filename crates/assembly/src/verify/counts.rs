//! Counts of the k-mers of a text, as differences between neighbouring positions: a stretch of
//! k-mers is counted at its two ends.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI8, Ordering};

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::prefetch;
use cuesta_core::pages::in_large_pages;
use cuesta_runtime::parallel::lock;

/// Bytes per base.
pub const EACH_BYTES: u64 = 1;
/// Change of a difference that overflows or underflows.
const RANGE: i64 = 1 << i8::BITS;

/// Stretches that are counted together.
const WAITING_MAX: usize = 64;

/// Counts by position, to which all threads add.
pub struct Counts<'a> {
    differences: Vec<AtomicI8>,
    /// Parts of differences that exceed their range, by position.
    beyond: Mutex<BTreeMap<usize, i64>>,
    _lease: Lease<'a>,
}

impl<'a> Counts<'a> {
    /// Creates zero counts for `places` positions.
    ///
    /// # Errors
    /// `Input` when they do not fit in the budget.
    pub fn new(places: usize, budget: &'a Budget) -> Result<Self> {
        let lease = budget.take(places as u64 + 1, "counts of the answer's k-mers")?;
        let differences = in_large_pages(places + 1, AtomicI8::default);
        Ok(Self { differences, beyond: Mutex::default(), _lease: lease })
    }

    /// Returns a batched counter of stretches.
    pub fn tally(&self) -> Tally<'_, 'a> {
        Tally { counts: self, waiting: [(0, 0); WAITING_MAX], count: 0 }
    }

    /// Prefetches the counts around a position.
    #[inline(always)]
    pub fn prefetch(&self, place: usize) {
        prefetch(&self.differences, place);
    }

    /// Adds one to the counts of the k-mers from `first` to `last`, both included.
    #[inline(always)]
    fn add(&self, first: usize, last: usize) {
        if self.differences[first].fetch_add(1, Ordering::Relaxed) == i8::MAX {
            *lock(&self.beyond).entry(first).or_insert(0) += RANGE;
        }
        if self.differences[last + 1].fetch_sub(1, Ordering::Relaxed) == i8::MIN {
            *lock(&self.beyond).entry(last + 1).or_insert(0) -= RANGE;
        }
    }

    /// Returns the sum of the differences in a range: the count of the last k-mer in it minus that
    /// of the k-mer before it.
    pub fn rise(&self, places: Range<usize>) -> i64 {
        let (places, beyond) = self.within(places);
        let near = |place: usize| i64::from(self.differences[place].load(Ordering::Relaxed));
        places.map(near).sum::<i64>() + beyond.into_iter().map(|(_, more)| more).sum::<i64>()
    }

    /// Appends the counts of the k-mers at `places`, limited to `most`; `before` is the count of
    /// the k-mer before them in the same sequence.
    pub fn append(&self, places: Range<usize>, (before, most): (i64, u32), counts: &mut Vec<u32>) {
        let all = counts.len() + places.len();
        let (places, beyond) = self.within(places);
        let mut beyond = beyond.into_iter().peekable();
        let mut count = before;
        counts.extend(places.map(|place| {
            count += i64::from(self.differences[place].load(Ordering::Relaxed));
            if let Some((_, more)) = beyond.next_if(|&(at, _)| at == place) {
                count += more;
            }
            count.min(i64::from(most)) as u32
        }));
        // K-mers beyond the counted positions have count zero.
        counts.resize(all, 0);
    }

    /// Limits a range to the counted positions; returns it with the excess of differences in it.
    fn within(&self, places: Range<usize>) -> (Range<usize>, Vec<(usize, i64)>) {
        let end = places.end.min(self.differences.len());
        let places = places.start.min(end)..end;
        let beyond = lock(&self.beyond);
        let excess = beyond.range(places.clone()).map(|(&place, &more)| (place, more)).collect();
        (places, excess)
    }
}

/// Batched counter of stretches of k-mers: the cache misses of a batch overlap. [`Tally::settle`]
/// counts the last batch.
pub struct Tally<'c, 'a> {
    counts: &'c Counts<'a>,
    waiting: [(usize, usize); WAITING_MAX],
    count: usize,
}

impl Tally<'_, '_> {
    /// Adds one to the counts of the k-mers from `first` to `last`, both included.
    #[inline(always)]
    pub fn add(&mut self, first: usize, last: usize) {
        prefetch(&self.counts.differences, first);
        prefetch(&self.counts.differences, last + 1);
        self.waiting[self.count] = (first, last);
        self.count += 1;
        if self.count == WAITING_MAX {
            self.settle();
        }
    }

    /// Counts the waiting stretches.
    pub fn settle(&mut self) {
        for &(first, last) in &self.waiting[..std::mem::take(&mut self.count)] {
            self.counts.add(first, last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_all_stretches_however_many_begin_at_a_position() {
        let budget = Budget::new(1 << 20);
        let counts = Counts::new(20, &budget).unwrap();
        let mut tally = counts.tally();
        for round in 0..1000 {
            tally.add(3, 9);
            tally.add(7, 9);
            if round % 2 == 0 {
                tally.add(3, 4);
            }
        }
        tally.settle();
        let mut appended = Vec::new();
        counts.append(0..25, (0, u32::MAX), &mut appended);
        let mut expected = vec![0; 25];
        for (stretch, times) in [(3..=9, 1000), (7..=9, 1000), (3..=4, 500)] {
            stretch.for_each(|place| expected[place] += times);
        }
        assert_eq!(appended, expected);
        appended.clear();
        counts.append(3..8, (0, 1200), &mut appended);
        assert_eq!(appended, [1200, 1200, 1000, 1000, 1200]);
        for cut in 0..25 {
            appended.clear();
            let before = counts.rise(0..cut);
            counts.append(cut..25, (before, u32::MAX), &mut appended);
            assert_eq!(appended, expected[cut..]);
        }
    }
}
