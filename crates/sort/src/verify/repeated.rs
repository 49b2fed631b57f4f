//! Repeated keys, with the number of records counted for each.

use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::digest::mix;

/// Bytes of a key in [`Repeated`] while it is made: two slots of 16 bytes, and the key in lists
/// that grow by doubling.
pub const KEY_ROOM_BYTES: u64 = 80;
/// Slots for each key.
const SLOTS: usize = 2;
/// Bits of the second word of a slot that hold the count; the others hold the end of the key.
const COUNT_BITS: u32 = 48;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

/// Open-addressed hash table of keys: a slot is the first 64 bits of a key, then its last 16
/// together with its count plus one. An empty slot has the count 0.
pub struct Repeated {
    slots: Vec<(u64, AtomicU64)>,
    salt: u64,
}

impl Repeated {
    /// Makes a table of these keys with zero counts. `salt` is secret, so that no input can make
    /// all keys collide.
    pub fn new(keys: impl Iterator<Item = u128> + Clone, salt: u64) -> Self {
        let slots = SLOTS * keys.clone().count();
        let mut table = Self { slots: Vec::new(), salt };
        table.slots.resize_with(slots, || (0, AtomicU64::new(0)));
        for key in keys {
            let (place, found) = table.look(key);
            if !found {
                table.slots[place] = ((key >> 16) as u64, AtomicU64::new(end(key) | 1));
            }
        }
        table
    }

    /// Returns the place of a key, if it is in the table.
    #[inline]
    pub fn find(&self, key: u128) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let (place, found) = self.look(key);
        found.then_some(place)
    }

    /// Returns the number of records of the key at `place` counted before this one. Callers take
    /// turns.
    #[inline]
    pub fn count(&self, place: usize) -> u64 {
        let slot = &self.slots[place].1;
        let held = slot.load(Ordering::Relaxed);
        slot.store(held + 1, Ordering::Relaxed);
        (held & COUNT_MASK) - 1
    }

    /// Returns the slot of a key, or the empty slot where it would be, and whether the key is in
    /// it.
    #[inline]
    fn look(&self, key: u128) -> (usize, bool) {
        let start = (key >> 16) as u64;
        let hash = mix(start ^ self.salt).wrapping_add(end(key)) ^ self.salt;
        let slots = self.slots.len() as u128;
        let mut place = ((u128::from(mix(hash)) * slots) >> 64) as usize;
        loop {
            let (first, second) = &self.slots[place];
            let second = second.load(Ordering::Relaxed);
            if second & COUNT_MASK == 0 {
                return (place, false);
            }
            if *first == start && second & !COUNT_MASK == end(key) {
                return (place, true);
            }
            place = if place + 1 == self.slots.len() { 0 } else { place + 1 };
        }
    }
}

/// Returns the last 16 bits of a key, shifted above the count.
fn end(key: u128) -> u64 {
    (key as u64 & 0xFFFF) << COUNT_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_core::random::Stream;
    use std::collections::HashMap;

    #[test]
    fn counts_are_those_of_a_map() {
        let stream = Stream::new(4, 0);
        for most in [1, 2, 50, 3000] {
            // Keys that differ only in their first or last bits.
            let key = |index: u64| {
                let number = u128::from(stream.below(index, most));
                if number % 2 == 0 { number } else { number << 60 }
            };
            let held: Vec<u128> = (0..most).map(key).collect();
            let table = Repeated::new(held.iter().copied(), 9);
            let mut expected: HashMap<u128, u64> = held.iter().map(|&key| (key, 0)).collect();
            for index in 0..10_000 {
                let key = key(index);
                match expected.get_mut(&key) {
                    Some(count) => {
                        assert_eq!(table.count(table.find(key).unwrap()), *count);
                        *count += 1;
                    }
                    None => assert_eq!(table.find(key), None),
                }
                assert_eq!(table.find(key | 1 << 79), None);
            }
        }
    }

    #[test]
    fn an_empty_table_holds_no_key() {
        assert_eq!(Repeated::new([].into_iter(), 1).find(0), None);
    }
}
