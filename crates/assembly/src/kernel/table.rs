//! Counts of the k-mers of one bucket: a hash table with open addressing and linear probing, small
//! enough for a cache. The first slots where a k-mer may be are compared together: which of them
//! matches cannot be predicted, so a branch would be mispredicted half of the time.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::{Avx2, LANES, fastest, prefetch};

use crate::kernel::kmer::{Base, Kmer};

/// Largest count; counts saturate.
pub const COUNT_MAX: u32 = (1 << 28) - 1;
const INSIDE_SHIFT: u32 = 30;
const SOLID: u32 = 1 << 28;
const SLOTS_MIN: usize = 1 << 12;
const WAITING_MAX: usize = 64;
/// Slots that are compared together; this many extra slots follow the hash range.
pub const TOGETHER: usize = LANES;

/// Returns the first of some slots that contains `key` or is free, if any.
#[inline(always)]
pub fn first_of<K: Kmer>(key: K, slots: [K; TOGETHER], vectors: Option<Avx2>) -> Option<usize> {
    let bits = key.is_or_none(slots, vectors);
    (bits != 0).then_some(bits.trailing_zeros() as usize)
}

/// A table from canonical k-mers to their counts and the ends of theirs that are in the bucket.
pub struct KmerTable<'a, K> {
    keys: Vec<K>,
    /// Two bits for the ends inside, one for being solid, then the count; 0 in a free slot.
    facts: Vec<u32>,
    /// Bases that follow a k-mer in reads, one bit each, if edges are counted: of its canonical
    /// form in the lower four bits, of the reverse complement in the upper four.
    after: Option<Vec<u8>>,
    used: usize,
    /// K-mers with their facts that are added together, after their slots have been prefetched.
    waiting: [(K, u32); WAITING_MAX],
    waiting_count: usize,
    budget: &'a Budget,
    lease: Option<Lease<'a>>,
}

impl<'a, K: Kmer> KmerTable<'a, K> {
    /// Creates an empty table.
    pub fn new(budget: &'a Budget) -> Self {
        Self {
            keys: Vec::new(),
            facts: Vec::new(),
            after: None,
            used: 0,
            waiting: [(K::NONE, 0); WAITING_MAX],
            waiting_count: 0,
            budget,
            lease: None,
        }
    }

    /// Creates an empty table that also records which bases follow its k-mers in reads.
    pub fn with_edges(budget: &'a Budget) -> Self {
        Self { after: Some(Vec::new()), ..Self::new(budget) }
    }

    /// Removes all k-mers.
    ///
    /// # Errors
    /// `Input` when the smallest table does not fit in the budget.
    pub fn clear(&mut self) -> Result<()> {
        let used = std::mem::take(&mut self.used);
        self.waiting_count = 0;
        if self.keys.is_empty() {
            return self.resize(SLOTS_MIN);
        }
        // If one bucket has many k-mers, those after it need not have as large a table.
        let half = self.hash_range() / 2;
        if half >= SLOTS_MIN && 8 * 2 * used < 5 * half {
            self.keys.truncate(half + TOGETHER);
            self.facts.truncate(half + TOGETHER);
            self.after.iter_mut().for_each(|after| after.truncate(half + TOGETHER));
        }
        self.keys.fill(K::NONE);
        self.facts.fill(0);
        if let Some(after) = &mut self.after {
            after.fill(0);
        }
        Ok(())
    }

    fn resize(&mut self, slots: usize) -> Result<()> {
        let count = slots + TOGETHER;
        let each = size_of::<K>() + size_of::<u32>() + usize::from(self.after.is_some());
        let purpose = "the k-mers of a bucket, which have a minimizer in common,";
        let lease = self.budget.take((count * each) as u64, purpose)?;
        let keys = std::mem::replace(&mut self.keys, vec![K::NONE; count]);
        let facts = std::mem::replace(&mut self.facts, vec![0; count]);
        let after = self.after.as_mut().map(|after| std::mem::replace(after, vec![0; count]));
        for (old, (key, facts)) in keys.into_iter().zip(facts).enumerate() {
            if key != K::NONE {
                let slot = self.slot(key);
                (self.keys[slot], self.facts[slot]) = (key, facts);
                if let (Some(new), Some(after)) = (&mut self.after, &after) {
                    new[slot] = after[old];
                }
            }
        }
        self.lease = Some(lease);
        Ok(())
    }

    /// Returns the number of slots in the range of the hash, a power of two.
    #[inline(always)]
    fn hash_range(&self) -> usize {
        self.keys.len() - TOGETHER
    }

    /// Returns the first slot in which `key` may be.
    #[inline(always)]
    fn start(&self, key: K) -> usize {
        key.mixed() as usize & (self.hash_range() - 1)
    }

    /// Returns the slot of `key`, or the free slot where it would be inserted.
    #[inline(always)]
    fn slot(&self, key: K) -> usize {
        self.slot_by(key, None)
    }

    #[inline(always)]
    fn slot_by(&self, key: K, vectors: Option<Avx2>) -> usize {
        let start = self.start(key);
        let here = &self.keys[start..start + TOGETHER];
        match first_of(key, std::array::from_fn(|place| here[place]), vectors) {
            Some(place) => start + place,
            None => self.slot_from(start + TOGETHER, key),
        }
    }

    /// Like `slot`, searching from a slot on.
    #[inline(never)]
    fn slot_from(&self, mut slot: usize, key: K) -> usize {
        loop {
            slot = if slot == self.keys.len() { 0 } else { slot };
            if self.keys[slot] == key || self.keys[slot] == K::NONE {
                return slot;
            }
            slot += 1;
        }
    }

    /// Makes room for `more` new k-mers.
    ///
    /// # Errors
    /// `Input` when that does not fit in the budget.
    #[inline]
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        if self.fits(self.waiting_count + more) {
            return Ok(());
        }
        self.settle();
        while !self.fits(more) {
            self.resize(2 * self.hash_range())?;
        }
        Ok(())
    }

    fn fits(&self, more: usize) -> bool {
        8 * (self.used + more) <= 5 * self.hash_range()
    }

    /// Like [`KmerTable::add`], but deferred: [`KmerTable::settle`] adds all deferred k-mers.
    #[inline(always)]
    pub fn add_soon(&mut self, key: K, inside: u32, count: u32) {
        let start = self.start(key);
        prefetch(&self.keys, start);
        prefetch(&self.facts, start);
        self.waiting[self.waiting_count] = (key, inside << INSIDE_SHIFT | count.min(COUNT_MAX));
        self.waiting_count += 1;
        if self.waiting_count == WAITING_MAX {
            self.settle();
        }
    }

    /// Adds the deferred k-mers.
    #[inline(never)]
    pub fn settle(&mut self) {
        let (count, vectors) = (std::mem::take(&mut self.waiting_count), Avx2::get());
        fastest(
            #[inline(always)]
            || {
                for index in 0..count {
                    let (key, facts) = self.waiting[index];
                    self.add_by(key, (facts >> INSIDE_SHIFT, facts & COUNT_MAX), vectors);
                }
            },
        );
    }

    /// Adds `count` to the count of a canonical k-mer, and marks its ends `inside`. There must be
    /// room.
    #[inline(always)]
    pub fn add(&mut self, key: K, inside: u32, count: u32) {
        self.add_by(key, (inside, count), None);
    }

    #[inline(always)]
    fn add_by(&mut self, key: K, (inside, count): (u32, u32), vectors: Option<Avx2>) {
        let (slot, facts) = self.insert(key, vectors);
        let more = count.min(COUNT_MAX - (facts & COUNT_MAX));
        self.facts[slot] = (facts | inside << INSIDE_SHIFT) + more;
    }

    /// Records that a base follows a k-mer of the table; `forward` if its canonical form was read.
    pub fn follow(&mut self, key: K, forward: bool, base: Base) {
        let slot = self.slot(key);
        if let Some(after) = &mut self.after {
            after[slot] |= 1 << (base + if forward { 0 } else { 4 });
        }
    }

    /// Returns how many k-mers are followed by others, and by how many altogether, on the strands
    /// that were read.
    pub fn edges(&self) -> (u64, u64) {
        let after = self.after.iter().flatten();
        let strands = after.flat_map(|&bits| [bits & 15, bits >> 4]).filter(|&bits| bits > 0);
        strands.fold((0, 0), |(followed, edges), bits| {
            (followed + 1, edges + u64::from(bits.count_ones()))
        })
    }

    /// Marks a canonical k-mer as solid and raises its count to at least `weight`. There must be
    /// room. Where weights are not 0, no k-mer may also be counted by [`KmerTable::add`].
    pub fn mark_solid(&mut self, key: K, inside: u32, weight: u32) {
        let (slot, facts) = self.insert(key, None);
        let more = weight.saturating_sub(facts & COUNT_MAX);
        self.facts[slot] = (facts | inside << INSIDE_SHIFT | SOLID) + more;
    }

    /// Marks a canonical k-mer as solid and adds `count` to its count. There must be room.
    pub fn add_solid(&mut self, key: K, inside: u32, count: u32) {
        let (slot, facts) = self.insert(key, None);
        let more = count.min(COUNT_MAX - (facts & COUNT_MAX));
        self.facts[slot] = (facts | inside << INSIDE_SHIFT | SOLID) + more;
    }

    /// Inserts `key` if it is new; returns its slot and its facts so far. Whether a k-mer is new
    /// cannot be predicted, so the code does not branch on it.
    #[inline(always)]
    fn insert(&mut self, key: K, vectors: Option<Avx2>) -> (usize, u32) {
        let slot = self.slot_by(key, vectors);
        self.used += usize::from(self.keys[slot] == K::NONE);
        self.keys[slot] = key;
        (slot, self.facts[slot])
    }

    /// Fills `occupied` with the slots that contain k-mers.
    pub fn slots(&self, occupied: &mut Vec<usize>) {
        occupied.clear();
        occupied.resize(self.used + 1, 0);
        // Without a branch, since free slots cannot be predicted.
        let mut count = 0;
        for (slot, key) in self.keys.iter().enumerate() {
            occupied[count] = slot;
            count += usize::from(*key != K::NONE);
        }
        occupied.truncate(count);
    }

    /// Returns the k-mer of a slot.
    #[inline(always)]
    pub fn key(&self, slot: usize) -> K {
        self.keys[slot]
    }

    /// Returns the count of a slot.
    #[inline(always)]
    pub fn count(&self, slot: usize) -> u32 {
        self.facts[slot] & COUNT_MAX
    }

    /// Returns whether a slot is marked as solid or has at least this count.
    #[inline(always)]
    pub fn solid(&self, slot: usize, min_count: u32) -> bool {
        self.count(slot) >= min_count || self.facts[slot] & SOLID != 0
    }

    /// Returns the ends of the canonical form that are inside the bucket.
    #[inline(always)]
    pub fn inside(&self, slot: usize) -> u32 {
        self.facts[slot] >> INSIDE_SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn counts_are_those_of_a_map(
            buckets in prop::collection::vec(
                prop::collection::vec((0u64..30_000, 0u32..4, 1u32..4), 0..9000),
                1..6,
            ),
            are_soon in any::<bool>(),
        ) {
            let budget = Budget::new(1 << 30);
            let mut table = KmerTable::new(&budget);
            for added in buckets {
                table.clear().unwrap();
                let mut expected = BTreeMap::new();
                for (key, inside, count) in added {
                    table.reserve(1).unwrap();
                    if are_soon {
                        table.add_soon(key, inside, count);
                    } else {
                        table.add(key, inside, count);
                    }
                    let entry = expected.entry(key).or_insert((0, 0));
                    *entry = (entry.0 | inside, entry.1 + count);
                }
                table.settle();
                let mut slots = Vec::new();
                table.slots(&mut slots);
                let table_counts: BTreeMap<_, _> = slots
                    .into_iter()
                    .map(|slot| (table.key(slot), (table.inside(slot), table.count(slot))))
                    .collect();
                prop_assert_eq!(table.used, expected.len());
                prop_assert_eq!(table_counts, expected);
            }
        }
    }

    #[test]
    fn a_table_gets_smaller_again() {
        let budget = Budget::new(1 << 30);
        let mut table = KmerTable::new(&budget);
        table.clear().unwrap();
        for key in 0..100_000u64 {
            table.reserve(1).unwrap();
            table.add_soon(key, 0, 1);
        }
        let mut sizes = Vec::new();
        for _ in 0..10 {
            sizes.push(table.hash_range());
            table.clear().unwrap();
            (0..100).for_each(|key| table.add(key, 0, 1));
        }
        // The table was full enough only the first time.
        assert_eq!(sizes[..2], [1 << 18; 2]);
        assert!(sizes[1..].windows(2).all(|two| two[1] == (two[0] / 2).max(SLOTS_MIN)));
        assert_eq!(table.used, 100);
    }

    #[test]
    fn a_kmer_can_be_trusted_and_a_table_stops_at_the_budget() {
        let budget = Budget::new(100 << 10);
        let mut table = KmerTable::new(&budget);
        table.clear().unwrap();
        table.add(7u64, 1, 1);
        table.mark_solid(9, 2, 5);
        table.mark_solid(9, 2, 3);
        let [seven, nine] = [7, 9].map(|key| table.slot(key));
        assert!(!table.solid(seven, 2) && table.solid(seven, 1));
        assert_eq!((table.solid(nine, 2), table.count(nine), table.inside(nine)), (true, 5, 2));
        table.add_solid(9, 1, 4);
        table.add(9, 1, 1);
        assert_eq!((table.count(nine), table.inside(nine)), (10, 3));
        table.add_solid(7, 0, COUNT_MAX);
        assert_eq!((table.solid(seven, u32::MAX), table.count(seven)), (true, COUNT_MAX));
        table.add(9, 0, COUNT_MAX);
        assert_eq!((table.count(nine), table.inside(nine)), (COUNT_MAX, 3));
        assert!(table.reserve(1 << 20).unwrap_err().message().contains("raise --memory"));
    }
}
