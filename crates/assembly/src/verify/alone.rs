//! Tells which of some k-mers are there once for certain: those whose hash none of the others has.

use crate::kernel::kmer::Kmer;

/// Slots for a k-mer: so one in five or fewer has to share its own.
const SLOTS_EACH: usize = 4;

/// Slots by hash: 0 where there is no k-mer, 1 where one is alone.
pub struct Alone {
    slots: Vec<u8>,
    slots_max: usize,
}

impl Alone {
    /// What takes at most so many bytes.
    pub fn new(most_bytes: usize) -> Self {
        Self { slots: Vec::new(), slots_max: most_bytes }
    }

    /// Forgets all; whether there is room for `kmers`.
    pub fn clear(&mut self, kmers: usize) -> bool {
        let slots = (SLOTS_EACH * kmers).next_power_of_two();
        self.slots.clear();
        if slots > self.slots_max {
            return false;
        }
        self.slots.resize(slots, 0);
        true
    }

    /// Notes a k-mer.
    #[inline(always)]
    pub fn add<K: Kmer>(&mut self, kmer: K) {
        let slot = self.slot(kmer);
        self.slots[slot] = self.slots[slot] << 1 | 1;
    }

    /// Whether a k-mer was noted once and no other has its slot.
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
        fn what_is_alone_is_there_once(kmers in prop::collection::vec(0u64..400, 1..300)) {
            let mut alone = Alone::new(1 << 12);
            for _ in 0..2 {
                prop_assert!(alone.clear(kmers.len()));
                kmers.iter().for_each(|&kmer| alone.add(kmer));
                let found = kmers.iter().filter(|&&kmer| alone.has(kmer)).count();
                let times = |wanted: u64| kmers.iter().filter(|&&kmer| kmer == wanted).count();
                let once = kmers.iter().filter(|&&kmer| times(kmer) == 1).count();
                prop_assert!(kmers.iter().all(|&kmer| !alone.has(kmer) || times(kmer) == 1));
                prop_assert!(2 * found >= once.saturating_sub(8));
            }
            prop_assert!(!alone.clear(1 << 12));
        }
    }
}
