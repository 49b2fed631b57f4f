//! Counting of equal super-k-mers of a bucket, so that their k-mers enter the k-mer table once: at
//! a position of a genome that was read 50 times, most super-k-mers occur some 30 times.
//!
//! Only complete super-k-mers are counted, both of whose ends are outside the bucket. One that the
//! end of a read cuts off hardly ever recurs.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};

use crate::kernel::kmer::Kmer;
use crate::kernel::packed::{self, PADDING, PackedSuperKmer};
use crate::kernel::scan::{LEFT_OUTSIDE, RIGHT_OUTSIDE};

/// Slots of the table, half of which may be used: most buckets need few, so that they fit in a
/// second-level cache together with the k-mers.
const SLOTS_MIN: usize = 1 << 11;
const SLOTS_MAX: usize = 1 << 16;
/// A table takes at most 1 of this many parts of the free memory.
const MEMORY_PART: u64 = 16;
/// Flags of complete super-k-mers.
const COMPLETE: u8 = LEFT_OUTSIDE | RIGHT_OUTSIDE;

/// A super-k-mer in canonical form, its number of k-mers, and its index plus 1; 0 in a free slot.
#[derive(Clone, Copy)]
struct Slot<S> {
    bases: S,
    kmers: u32,
    number: u32,
}

/// Complete super-k-mers of one bucket, with counts. `S` has room for their bases.
pub struct SuperKmerCounts<'a, S> {
    slots: Vec<Slot<S>>,
    /// Super-k-mers by index, as records of a block.
    records: Vec<u8>,
    /// Counts by index.
    counts: Vec<u32>,
    budget: &'a Budget,
    lease: Option<Lease<'a>>,
}

impl<'a, S: Kmer> SuperKmerCounts<'a, S> {
    /// Creates an empty table that leases memory from `budget`.
    pub fn new(budget: &'a Budget) -> Self {
        let (slots, records, counts) = (Vec::new(), Vec::new(), Vec::new());
        Self { slots, records, counts, budget, lease: None }
    }

    /// Counts a super-k-mer of k-mers of `k` bases. Returns false where it is incomplete or too
    /// long, or the table is full; its k-mers are then to be counted one by one.
    #[inline(always)]
    pub fn add(&mut self, record: &PackedSuperKmer<'_>, k: usize) -> bool {
        let count = record.kmers + k - 1;
        if record.flags != COMPLETE || count > S::BASES_MAX || self.slots.is_empty() && !self.grow()
        {
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

    /// Returns the slot of a super-k-mer, or the free slot where it would be inserted.
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

    /// Inserts a new super-k-mer; returns false where the table is full.
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

    /// Doubles the table; returns false where that would be too large.
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

    /// Calls `take` for each super-k-mer with its count, and empties the table.
    ///
    /// # Errors
    /// Errors of `take`.
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
        // If one bucket has many super-k-mers, those after it need not have as large a table.
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

    /// Returns a record of these bases, which are followed by padding.
    fn record(codes: &[Base], flags: u8) -> Vec<u8> {
        let four =
            |codes: &[Base]| (0..4).fold(0, |byte, at| byte << 2 | codes.get(at).unwrap_or(&1));
        let mut bytes = vec![(codes.len() + 1 - K) as u8, flags];
        bytes.extend(codes.chunks(4).map(four));
        bytes.extend([0xFF; PADDING]);
        bytes
    }

    fn add_kmers(record: &PackedSuperKmer<'_>, count: u32, all: &mut KmerMap<u64, u32>) {
        record.each(K, |forward: u64, backward, inside| {
            // The ends of a complete super-k-mer are outside, on either strand.
            let place = if forward < backward { inside } else { inside >> 1 | (inside & 1) << 1 };
            *all.entry(forward.min(backward) << 2 | u64::from(place)).or_insert(0) += count;
        });
    }

    proptest! {
        #[test]
        fn kmers_are_counted_like_single_kmers_on_either_strand(
            kinds in prop::collection::vec(prop::collection::vec(0u8..2, K..70), 1..9),
            added in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..60),
            has_room in any::<bool>(),
        ) {
            let budget = Budget::new(if has_room { 1 << 30 } else { 100 });
            let mut counts = SuperKmerCounts::<u128>::new(&budget);
            let (mut expected, mut kmer_counts) = (KmerMap::default(), KmerMap::default());
            for (kind, variant) in added {
                let mut codes = kind.get(&kinds).clone();
                if variant % 2 == 1 {
                    codes = codes.iter().rev().map(|&code| 3 - code).collect();
                }
                // One in four is incomplete.
                let flags = if variant < 2 { LEFT_OUTSIDE } else { COMPLETE };
                let bytes = record(&codes, flags);
                let mut records = packed::records(&bytes, bytes.len() - PADDING, K);
                let record = records.next().unwrap();
                add_kmers(&record, 1, &mut expected);
                let is_taken = counts.add(&record, K);
                prop_assert_eq!(is_taken, has_room && flags == COMPLETE && codes.len() <= 63);
                if !is_taken {
                    add_kmers(&record, 1, &mut kmer_counts);
                }
            }
            counts.drain(K, |record, count| {
                add_kmers(record, count, &mut kmer_counts);
                Ok(())
            })
            .unwrap();
            prop_assert_eq!(kmer_counts, expected);
            counts.drain(K, |_, _| panic!("a super-k-mer remains")).unwrap();
        }
    }

    #[test]
    fn super_kmers_beyond_the_largest_table_are_refused() {
        const TAKEN_MAX: usize = SLOTS_MAX / 2;
        let budget = Budget::new(1 << 30);
        let mut counts = SuperKmerCounts::<u128>::new(&budget);
        let codes = |number: usize| -> Vec<Base> {
            (0..20).map(|at| if at < 8 { (number >> (2 * at)) as Base & 3 } else { 0 }).collect()
        };
        let mut add = |number: usize| {
            let bytes = record(&codes(number), COMPLETE);
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
        // The table gets smaller, and still counts correctly.
        for slots in [SLOTS_MAX, SLOTS_MAX / 2, SLOTS_MAX / 4] {
            assert_eq!(counts.slots.len(), slots);
            for number in [7, 9, 7] {
                let bytes = record(&codes(number), COMPLETE);
                let mut records = packed::records(&bytes, bytes.len() - PADDING, K);
                assert!(counts.add(&records.next().unwrap(), K));
            }
            let mut drained = Vec::new();
            counts
                .drain(K, |_, count| {
                    drained.push(count);
                    Ok(())
                })
                .unwrap();
            assert_eq!(drained, [2, 1]);
        }
    }
}
