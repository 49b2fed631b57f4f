//! Set that identifies some of the k-mers that occur only once: those that share their hash slot
//! with no other k-mer.

use crate::kernel::kmer::Kmer;

/// Slots per k-mer: so at most one in five k-mers shares its slot.
const SLOTS_EACH: usize = 4;

/// Hash slots: 0 without a k-mer, 1 with exactly one.
pub struct UniqueKmers {
    slots: Vec<u8>,
    slots_max: usize,
}

impl UniqueKmers {
    /// Creates a set that takes at most `most_bytes` bytes.
    pub fn new(most_bytes: usize) -> Self {
        Self { slots: Vec::new(), slots_max: most_bytes }
    }

    /// Empties the set; returns whether there is room for `kmers` k-mers.
    pub fn clear(&mut self, kmers: usize) -> bool {
        let slots = (SLOTS_EACH * kmers).next_power_of_two();
        self.slots.clear();
        if slots > self.slots_max {
            return false;
        }
        self.slots.resize(slots, 0);
        true
    }

    /// Adds a k-mer.
    #[inline(always)]
    pub fn add<K: Kmer>(&mut self, kmer: K) {
        let slot = self.slot(kmer);
        self.slots[slot] = self.slots[slot] << 1 | 1;
    }

    /// Returns whether a k-mer was added once and no other has its slot.
    #[inline(always)]
    pub fn has<K: Kmer>(&self, kmer: K) -> bool {
        self.slots[self.slot(kmer)] == 1
    }

    #[inline(always)]
    fn slot<K: Kmer>(&self, kmer: K) -> usize {
        kmer.mixed() as usize & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn unique_kmers_occur_once(kmers in prop::collection::vec(0u64..400, 1..300)) {
            let mut unique = UniqueKmers::new(1 << 12);
            for _ in 0..2 {
                prop_assert!(unique.clear(kmers.len()));
                kmers.iter().for_each(|&kmer| unique.add(kmer));
                let unique_count = kmers.iter().filter(|&&kmer| unique.has(kmer)).count();
                let times = |sought: u64| kmers.iter().filter(|&&kmer| kmer == sought).count();
                let once = kmers.iter().filter(|&&kmer| times(kmer) == 1).count();
                prop_assert!(kmers.iter().all(|&kmer| !unique.has(kmer) || times(kmer) == 1));
                prop_assert!(2 * unique_count >= once.saturating_sub(8));
            }
            prop_assert!(!unique.clear(1 << 12));
        }
    }
}
