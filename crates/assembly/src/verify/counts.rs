//! How often the k-mers of a text were seen, as differences from place to place: a stretch of
//! k-mers is counted at its two ends.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI8, Ordering};

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::pages::large_pages;
use cuesta_runtime::parallel::lock;

/// Bytes for each base.
pub const EACH_BYTES: u64 = 1;
/// What a difference jumps by when it goes beyond its range.
const RANGE: i64 = 1 << i8::BITS;

/// Counts by place, added to by all threads.
pub struct Counts<'a> {
    differences: Vec<AtomicI8>,
    /// What does not fit in a difference, by place.
    beyond: Mutex<HashMap<usize, i64>>,
    _lease: Lease<'a>,
}

impl<'a> Counts<'a> {
    /// None yet, of so many places.
    ///
    /// # Errors
    /// `Input` when they do not fit in the budget.
    pub fn new(places: usize, budget: &'a Budget) -> Result<Self> {
        let lease = budget.take(places as u64 + 1, "counts of the answer's k-mers")?;
        let mut differences = Vec::with_capacity(places + 1);
        large_pages(differences.spare_capacity_mut());
        differences.resize_with(places + 1, AtomicI8::default);
        Ok(Self { differences, beyond: Mutex::default(), _lease: lease })
    }

    /// Counts the k-mers from `first` to `last`, both included, once more.
    #[inline(always)]
    pub fn add(&self, first: usize, last: usize) {
        if self.differences[first].fetch_add(1, Ordering::Relaxed) == i8::MAX {
            *lock(&self.beyond).entry(first).or_insert(0) += RANGE;
        }
        if self.differences[last + 1].fetch_sub(1, Ordering::Relaxed) == i8::MIN {
            *lock(&self.beyond).entry(last + 1).or_insert(0) -= RANGE;
        }
    }

    /// Reads the memory of a place, so that what is needed for several reads comes at once and not
    /// one after the other.
    #[inline(always)]
    pub fn touch(&self, place: usize) -> i8 {
        self.differences[place].load(Ordering::Relaxed)
    }

    /// Appends the counts of the k-mers from `start` on, where a sequence begins, to before `end`,
    /// none of them more than `most`.
    pub fn append(&self, (start, end): (usize, usize), most: u32, counts: &mut Vec<u32>) {
        let beyond = lock(&self.beyond);
        let mut count = 0i64;
        let places = start..end.min(self.differences.len());
        counts.extend(places.map(|place| {
            count += i64::from(self.differences[place].load(Ordering::Relaxed));
            if !beyond.is_empty() {
                count += beyond.get(&place).copied().unwrap_or(0);
            }
            count.min(i64::from(most)) as u32
        }));
        // Those that were not to be counted were not.
        counts.resize(counts.len() + end - start.max(end.min(self.differences.len())), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_all_stretches_however_many_begin_at_a_place() {
        let budget = Budget::new(1 << 20);
        let counts = Counts::new(20, &budget).unwrap();
        for round in 0..1000 {
            counts.add(3, 9);
            counts.add(7, 9);
            if round % 2 == 0 {
                counts.add(3, 4);
            }
        }
        let mut found = Vec::new();
        counts.append((0, 25), u32::MAX, &mut found);
        let mut expected = vec![0; 25];
        for (stretch, times) in [(3..=9, 1000), (7..=9, 1000), (3..=4, 500)] {
            stretch.for_each(|place| expected[place] += times);
        }
        assert_eq!(found, expected);
        found.clear();
        counts.append((3, 8), 1200, &mut found);
        assert_eq!(found, [1200, 1200, 1000, 1000, 1200]);
    }
}
