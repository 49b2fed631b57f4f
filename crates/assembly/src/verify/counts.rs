//! How often the k-mers of a text were seen, as differences from place to place: a stretch of
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

/// Bytes for each base.
pub const EACH_BYTES: u64 = 1;
/// What a difference jumps by when it goes beyond its range.
const RANGE: i64 = 1 << i8::BITS;

/// Stretches that are counted together.
const WAITING_MAX: usize = 64;

/// Counts by place, added to by all threads.
pub struct Counts<'a> {
    differences: Vec<AtomicI8>,
    /// What does not fit in a difference, by place.
    beyond: Mutex<BTreeMap<usize, i64>>,
    _lease: Lease<'a>,
}

impl<'a> Counts<'a> {
    /// None yet, of so many places.
    ///
    /// # Errors
    /// `Input` when they do not fit in the budget.
    pub fn new(places: usize, budget: &'a Budget) -> Result<Self> {
        let lease = budget.take(places as u64 + 1, "counts of the answer's k-mers")?;
        let differences = in_large_pages(places + 1, AtomicI8::default);
        Ok(Self { differences, beyond: Mutex::default(), _lease: lease })
    }

    /// What counts stretches some at a time.
    pub fn tally(&self) -> Tally<'_, 'a> {
        Tally { counts: self, waiting: [(0, 0); WAITING_MAX], count: 0 }
    }

    /// Asks memory for the counts around a place.
    #[inline(always)]
    pub fn prefetch(&self, place: usize) {
        prefetch(&self.differences, place);
    }

    /// Counts the k-mers from `first` to `last`, both included, once more.
    #[inline(always)]
    fn add(&self, first: usize, last: usize) {
        if self.differences[first].fetch_add(1, Ordering::Relaxed) == i8::MAX {
            *lock(&self.beyond).entry(first).or_insert(0) += RANGE;
        }
        if self.differences[last + 1].fetch_sub(1, Ordering::Relaxed) == i8::MIN {
            *lock(&self.beyond).entry(last + 1).or_insert(0) -= RANGE;
        }
    }

    /// The differences at some places added up: by so much more the k-mer after them was seen than
    /// that before.
    pub fn rise(&self, places: Range<usize>) -> i64 {
        let (places, beyond) = self.within(places);
        let near = |place: usize| i64::from(self.differences[place].load(Ordering::Relaxed));
        places.map(near).sum::<i64>() + beyond.into_iter().map(|(_, more)| more).sum::<i64>()
    }

    /// Appends the counts of the k-mers at `places`, none of them more than `most`; the k-mer
    /// before them, in the same sequence, was seen `before` times.
    pub fn append(&self, places: Range<usize>, (before, most): (i64, u32), counts: &mut Vec<u32>) {
        let all = counts.len() + places.len();
        let (places, beyond) = self.within(places);
        let mut beyond = beyond.into_iter().peekable();
        let mut count = before;
        counts.extend(places.map(|place| {
            count += i64::from(self.differences[place].load(Ordering::Relaxed));
            if let Some((_, more)) = beyond.next_if(|&(other, _)| other == place) {
                count += more;
            }
            count.min(i64::from(most)) as u32
        }));
        // Those that were not to be counted were not.
        counts.resize(all, 0);
    }

    /// Those places that are counted, and what is beyond the range of differences there.
    fn within(&self, places: Range<usize>) -> (Range<usize>, Vec<(usize, i64)>) {
        let end = places.end.min(self.differences.len());
        let places = places.start.min(end)..end;
        let beyond = lock(&self.beyond);
        let found = beyond.range(places.clone()).map(|(&place, &more)| (place, more)).collect();
        (places, found)
    }
}

/// What counts stretches of k-mers some at a time, so that what their ends need of memory comes at
/// once and not one after the other. [`Tally::settle`] counts the last ones.
pub struct Tally<'c, 'a> {
    counts: &'c Counts<'a>,
    waiting: [(usize, usize); WAITING_MAX],
    count: usize,
}

impl Tally<'_, '_> {
    /// Counts the k-mers from `first` to `last`, both included, once more.
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

    /// Counts those that are waiting.
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
    fn counts_are_those_of_all_stretches_however_many_begin_at_a_place() {
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
        let mut found = Vec::new();
        counts.append(0..25, (0, u32::MAX), &mut found);
        let mut expected = vec![0; 25];
        for (stretch, times) in [(3..=9, 1000), (7..=9, 1000), (3..=4, 500)] {
            stretch.for_each(|place| expected[place] += times);
        }
        assert_eq!(found, expected);
        found.clear();
        counts.append(3..8, (0, 1200), &mut found);
        assert_eq!(found, [1200, 1200, 1000, 1000, 1200]);
        for cut in 0..25 {
            found.clear();
            let before = counts.rise(0..cut);
            counts.append(cut..25, (before, u32::MAX), &mut found);
            assert_eq!(found, expected[cut..]);
        }
    }
}
