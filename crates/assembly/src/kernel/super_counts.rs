//! Counts equal super-k-mers of a bucket, so that their k-mers go to the table of k-mers once: at a
//! place of a genome that was read 50 times, most super-k-mers are there some 30 times.
//!
//! Only whole ones are counted, both of whose ends are outside the bucket. One that the end of a
//! read cut off is hardly ever there again.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};

use crate::kernel::kmer::Kmer;
use crate::kernel::packed::{self, PADDING, PackedSuperKmer};
use crate::kernel::scan::{LEFT_OUTSIDE, RIGHT_OUTSIDE};

/// Slots of the table, half of which may be taken: most buckets need few, so that they fit in a
/// second-level cache with the k-mers.
const SLOTS_MIN: usize = 1 << 11;
const SLOTS_MAX: usize = 1 << 16;
/// The part of the free memory that a table takes at most.
const MEMORY_PART: u64 = 16;
/// The flags of whole ones.
const WHOLE: u8 = LEFT_OUTSIDE | RIGHT_OUTSIDE;

/// A super-k-mer in canonical form, how many k-mers it has, and its number, from 1 on; 0 where
/// there is none.
#[derive(Clone, Copy)]
struct Slot<S> {
    bases: S,
    kmers: u32,
    number: u32,
}

/// Whole super-k-mers of one bucket and how often each is there. `S` has room for their bases.
pub struct SuperKmerCounts<'a, S> {
    slots: Vec<Slot<S>>,
    /// By number, as records of a block.
    records: Vec<u8>,
    /// By number.
    counts: Vec<u32>,
    budget: &'a Budget,
    lease: Option<Lease<'a>>,
}

impl<'a, S: Kmer> SuperKmerCounts<'a, S> {
    /// An empty table, which takes its memory from a budget.
    pub fn new(budget: &'a Budget) -> Self {
        let (slots, records, counts) = (Vec::new(), Vec::new(), Vec::new());
        Self { slots, records, counts, budget, lease: None }
    }

    /// Counts a super-k-mer of k-mers of `k` bases; false where it is not whole, too long, or one
    /// too many, so that its k-mers are to be counted one by one.
    #[inline(always)]
    pub fn add(&mut self, record: &PackedSuperKmer<'_>, k: usize) -> bool {
        let count = record.kmers + k - 1;
        if record.flags != WHOLE || count > S::BASES_MAX || self.slots.is_empty() && !self.grow() {
            return false;
        }
        let (bases, kmers) = (S::unpack(record.bytes, count).canonical(count), record.kmers as u32);
        let number = self.slots[self.place(bases, kmers)].number as usize;
        if number == 0 {
            return self.insert(Slot { bases, kmers, number: 0 }, (record, k));
        }
        self.counts[number - 1] = self.counts[number - 1].saturating_add(1);
        true
    }

    /// Where one is, or the empty place where it would be.
    #[inline(always)]
    fn place(&self, bases: S, kmers: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = bases.mixed() as usize & mask;
        loop {
            let slot = &self.slots[place];
            if slot.bases == bases && slot.kmers == kmers || slot.number == 0 {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    /// Takes one that is new; false where it is one too many.
    fn insert(&mut self, slot: Slot<S>, (record, k): (&PackedSuperKmer<'_>, usize)) -> bool {
        if 2 * (self.counts.len() + 1) > self.slots.len() && !self.grow() {
            return false;
        }
        self.counts.push(1);
        let place = self.place(slot.bases, slot.kmers);
        self.slots[place] = Slot { number: self.counts.len() as u32, ..slot };
        packed::append_record(record, k, &mut self.records);
        true
    }

    /// Makes the table twice as large; false where that is too large.
    fn grow(&mut self) -> bool {
        let slots = SLOTS_MIN.max(2 * self.slots.len());
        let each = size_of::<u32>() + packed::plain_bytes(S::BASES_MAX);
        let size_bytes = (slots * size_of::<Slot<S>>() + slots / 2 * each + PADDING) as u64;
        if slots > SLOTS_MAX || size_bytes > self.budget.free_bytes() / MEMORY_PART {
            return false;
        }
        let Some(lease) = self.budget.try_take(size_bytes) else { return false };
        let empty = vec![Slot { bases: S::ZERO, kmers: 0, number: 0 }; slots];
        for slot in std::mem::replace(&mut self.slots, empty) {
            if slot.number > 0 {
                let place = self.place(slot.bases, slot.kmers);
                self.slots[place] = slot;
            }
        }
        self.lease = Some(lease);
        true
    }

    /// Calls `take` for each with how often it is there, and forgets them.
    ///
    /// # Errors
    /// Those of `take`.
    pub fn drain(
        &mut self,
        k: usize,
        mut take: impl FnMut(&PackedSuperKmer<'_>, u32) -> Result<()>,
    ) -> Result<()> {
        if self.counts.is_empty() {
            return Ok(());
        }
        let size_bytes = self.records.len();
        self.records.resize(size_bytes + PADDING, 0);
        let records = packed::records(&self.records, size_bytes, k);
        records.zip(&self.counts).try_for_each(|(record, &count)| take(&record, count))?;
        // Where one bucket has many, those after it need not have a table as large.
        let half = self.slots.len() / 2;
        if half >= SLOTS_MIN && 4 * self.counts.len() < half {
            self.slots.truncate(half);
        }
        self.slots.fill(Slot { bases: S::ZERO, kmers: 0, number: 0 });
        self.records.clear();
        self.counts.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::kmer::{Base, KmerMap};
    use proptest::prelude::*;

    const K: usize = 15;

    /// A record of some bases, which end in padding.
    fn record(codes: &[Base], flags: u8) -> Vec<u8> {
        let four =
            |codes: &[Base]| (0..4).fold(0, |byte, at| byte << 2 | codes.get(at).unwrap_or(&1));
        let mut bytes = vec![(codes.len() + 1 - K) as u8, flags];
        bytes.extend(codes.chunks(4).map(four));
        bytes.extend([0xFF; PADDING]);
        bytes
    }

    fn add_kmers(record: &PackedSuperKmer<'_>, count: u32, all: &mut KmerMap<u64, u32>) {
        record.each(K, |one: u64, two, inside| {
            // The ends of a whole one are outside, on either strand.
            let place = if one < two { inside } else { inside >> 1 | (inside & 1) << 1 };
            *all.entry(one.min(two) << 2 | u64::from(place)).or_insert(0) += count;
        });
    }

    proptest! {
        #[test]
        fn kmers_are_counted_as_one_by_one_on_either_strand(
            kinds in prop::collection::vec(prop::collection::vec(0u8..2, K..70), 1..9),
            added in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..60),
            has_room in any::<bool>(),
        ) {
            let budget = Budget::new(if has_room { 1 << 30 } else { 100 });
            let mut counts = SuperKmerCounts::<u128>::new(&budget);
            let (mut wanted, mut found) = (KmerMap::default(), KmerMap::default());
            for (kind, how) in added {
                let mut codes = kind.get(&kinds).clone();
                if how % 2 == 1 {
                    codes = codes.iter().rev().map(|&code| 3 - code).collect();
                }
                // One in four is not whole.
                let flags = if how < 2 { LEFT_OUTSIDE } else { WHOLE };
                let bytes = record(&codes, flags);
                let mut records = packed::records(&bytes, bytes.len() - PADDING, K);
                let record = records.next().unwrap();
                add_kmers(&record, 1, &mut wanted);
                let is_taken = counts.add(&record, K);
                prop_assert_eq!(is_taken, has_room && flags == WHOLE && codes.len() <= 63);
                if !is_taken {
                    add_kmers(&record, 1, &mut found);
                }
            }
            counts.drain(K, |record, count| {
                add_kmers(record, count, &mut found);
                Ok(())
            })
            .unwrap();
            prop_assert_eq!(found, wanted);
            counts.drain(K, |_, _| panic!("something is left")).unwrap();
        }
    }

    #[test]
    fn what_is_one_too_many_is_left_to_others() {
        const TAKEN_MAX: usize = SLOTS_MAX / 2;
        let budget = Budget::new(1 << 30);
        let mut counts = SuperKmerCounts::<u128>::new(&budget);
        let codes = |number: usize| -> Vec<Base> {
            (0..20).map(|at| if at < 8 { (number >> (2 * at)) as Base & 3 } else { 0 }).collect()
        };
        let mut add = |number: usize| {
            let bytes = record(&codes(number), WHOLE);
            let mut records = packed::records(&bytes, bytes.len() - PADDING, K);
            let record = records.next().unwrap();
            counts.add(&record, K)
        };
        assert!((0..TAKEN_MAX).all(&mut add));
        assert!(!add(TAKEN_MAX) && add(0) && add(TAKEN_MAX - 1));
        let mut all = 0;
        counts
            .drain(K, |_, count| {
                all += count as usize;
                Ok(())
            })
            .unwrap();
        assert_eq!(all, TAKEN_MAX + 2);
        // The table gets smaller, and still knows what is there.
        for slots in [SLOTS_MAX, SLOTS_MAX / 2, SLOTS_MAX / 4] {
            assert_eq!(counts.slots.len(), slots);
            for number in [7, 9, 7] {
                let bytes = record(&codes(number), WHOLE);
                let mut records = packed::records(&bytes, bytes.len() - PADDING, K);
                assert!(counts.add(&records.next().unwrap(), K));
            }
            let mut found = Vec::new();
            counts
                .drain(K, |_, count| {
                    found.push(count);
                    Ok(())
                })
                .unwrap();
            assert_eq!(found, [2, 1]);
        }
    }
}
