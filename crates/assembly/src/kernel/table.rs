//! Counts of the k-mers of one bucket: open addressing, linear probing, small enough for a cache.
//! The first slots where a k-mer may be are looked at together: which of them it is cannot be
//! foretold, and a branch would go wrong every second time.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::{Avx2, LANES, fastest, prefetch};

use crate::kernel::kmer::{Base, Kmer};

/// Most that is counted; more is the same.
pub const COUNT_MAX: u32 = (1 << 28) - 1;
const INSIDE_SHIFT: u32 = 30;
const SOLID: u32 = 1 << 28;
const SLOTS_MIN: usize = 1 << 12;
const WAITING_MAX: usize = 64;
/// Slots that are looked at together; as many follow those that hashes choose from.
pub const TOGETHER: usize = LANES;

/// Of slots that are looked at together, the first that has `key` or nothing, if one does.
#[inline(always)]
pub fn first_of<K: Kmer>(key: K, slots: [K; TOGETHER], vectors: Option<Avx2>) -> Option<usize> {
    let bits = key.is_or_none(slots, vectors);
    (bits != 0).then_some(bits.trailing_zeros() as usize)
}

/// A table from canonical k-mers to their counts and to the ends of theirs that are in the bucket.
pub struct KmerTable<'a, K> {
    keys: Vec<K>,
    /// Two bits for the ends inside, one for being solid, then the count; 0 in a free slot.
    facts: Vec<u32>,
    /// The bases that follow a k-mer in reads, a bit each, where they are wanted: of its canonical
    /// form in the lower four bits, of the other strand in the upper ones.
    after: Option<Vec<u8>>,
    used: usize,
    /// K-mers that are added together, with their facts, once memory was asked for their slots.
    waiting: [(K, u32); WAITING_MAX],
    waiting_count: usize,
    budget: &'a Budget,
    lease: Option<Lease<'a>>,
}

impl<'a, K: Kmer> KmerTable<'a, K> {
    /// An empty table.
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

    /// An empty one that knows what follows its k-mers in reads.
    pub fn with_edges(budget: &'a Budget) -> Self {
        Self { after: Some(Vec::new()), ..Self::new(budget) }
    }

    /// Forgets all k-mers.
    ///
    /// # Errors
    /// `Input` when the smallest table does not fit in the budget.
    pub fn clear(&mut self) -> Result<()> {
        let used = std::mem::take(&mut self.used);
        self.waiting_count = 0;
        if self.keys.is_empty() {
            return self.resize(SLOTS_MIN);
        }
        // Where one bucket has many, those after it need not have a table as large.
        let half = self.chosen() / 2;
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

    /// Slots that hashes choose from, a power of two.
    #[inline(always)]
    fn chosen(&self) -> usize {
        self.keys.len() - TOGETHER
    }

    /// The first slot where `key` may be.
    #[inline(always)]
    fn start(&self, key: K) -> usize {
        key.mixed() as usize & (self.chosen() - 1)
    }

    /// Where `key` is, or the empty place where it would be.
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

    /// The same, from a slot on.
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

    /// Makes room for `more` k-mers that may be new.
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
            self.resize(2 * self.chosen())?;
        }
        Ok(())
    }

    fn fits(&self, more: usize) -> bool {
        8 * (self.used + more) <= 5 * self.chosen()
    }

    /// Like [`KmerTable::add`], some k-mers later: all are there after [`KmerTable::settle`].
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

    /// Adds those that are waiting.
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

    /// Counts a canonical k-mer that was seen `count` times more; its ends `inside` are known from
    /// now on. There must be room.
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

    /// A base follows a k-mer that is there, as `forward` reads it or its other strand.
    pub fn follow(&mut self, key: K, forward: bool, base: Base) {
        let slot = self.slot(key);
        if let Some(after) = &mut self.after {
            after[slot] |= 1 << (base + if forward { 0 } else { 4 });
        }
    }

    /// How many k-mers are followed by others, and by how many altogether, on the strands that were
    /// read.
    pub fn edges(&self) -> (u64, u64) {
        let after = self.after.iter().flatten();
        let strands = after.flat_map(|&bits| [bits & 15, bits >> 4]).filter(|&bits| bits > 0);
        strands.fold((0, 0), |(followed, edges), bits| {
            (followed + 1, edges + u64::from(bits.count_ones()))
        })
    }

    /// Marks a canonical k-mer as solid, whatever its count, which is at least `weight` then. There
    /// must be room. Where weights are not 0 no k-mer may be counted by [`KmerTable::add`] too.
    pub fn mark_solid(&mut self, key: K, inside: u32, weight: u32) {
        let (slot, facts) = self.insert(key, None);
        let more = weight.saturating_sub(facts & COUNT_MAX);
        self.facts[slot] = (facts | inside << INSIDE_SHIFT | SOLID) + more;
    }

    /// Marks a canonical k-mer as solid that was seen `count` times more. There must be room.
    pub fn add_solid(&mut self, key: K, inside: u32, count: u32) {
        let (slot, facts) = self.insert(key, None);
        let more = count.min(COUNT_MAX - (facts & COUNT_MAX));
        self.facts[slot] = (facts | inside << INSIDE_SHIFT | SOLID) + more;
    }

    /// The slot that `key` has from now on, and its facts so far. Whether it is new cannot be
    /// foretold, so nothing branches on that.
    #[inline(always)]
    fn insert(&mut self, key: K, vectors: Option<Avx2>) -> (usize, u32) {
        let slot = self.slot_by(key, vectors);
        self.used += usize::from(self.keys[slot] == K::NONE);
        self.keys[slot] = key;
        (slot, self.facts[slot])
    }

    /// The slots that hold k-mers, into `found`.
    pub fn slots(&self, found: &mut Vec<usize>) {
        found.clear();
        found.resize(self.used + 1, 0);
        // Without a branch: nothing tells which slots are free.
        let mut count = 0;
        for (slot, key) in self.keys.iter().enumerate() {
            found[count] = slot;
            count += usize::from(*key != K::NONE);
        }
        found.truncate(count);
    }

    /// The k-mer of a slot.
    #[inline(always)]
    pub fn key(&self, slot: usize) -> K {
        self.keys[slot]
    }

    /// Its count.
    #[inline(always)]
    pub fn count(&self, slot: usize) -> u32 {
        self.facts[slot] & COUNT_MAX
    }

    /// Whether it is marked as solid or counted at least so often.
    #[inline(always)]
    pub fn solid(&self, slot: usize, min_count: u32) -> bool {
        self.count(slot) >= min_count || self.facts[slot] & SOLID != 0
    }

    /// The ends of its canonical form that are inside the bucket.
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
                let found: BTreeMap<_, _> = slots
                    .into_iter()
                    .map(|slot| (table.key(slot), (table.inside(slot), table.count(slot))))
                    .collect();
                prop_assert_eq!(table.used, expected.len());
                prop_assert_eq!(found, expected);
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
            sizes.push(table.chosen());
            table.clear().unwrap();
            (0..100).for_each(|key| table.add(key, 0, 1));
        }
        // The first time it was full enough.
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
        assert!(table.reserve(1 << 20).unwrap_err().message.contains("raise --memory"));
    }
}
