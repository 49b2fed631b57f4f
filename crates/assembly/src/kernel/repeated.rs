//! Which k-mers the reads may have more than once: a Bloom filter of one word for each k-mer.
//!
//! A k-mer that the filter does not have is in the reads once at most, and so is every longer k-mer
//! that it is a part of.

use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::prefetch;
use cuesta_core::pages::in_large_pages;

use crate::kernel::kmer::Kmer;
use crate::kernel::words::kmer_at;

/// Bits of a word that a k-mer sets: the best number for 6 to 20 bits a k-mer, about.
const BITS: u32 = 4;
/// Hashes that are worked on together, so that their words come from memory at once.
const TOGETHER: usize = 64;
/// Odd constant of a multiplicative hash: the fractional part of the root of 3.
const SPREAD: u64 = 0xBB67_AE85_84CA_A73B;

/// All k-mers of one size that the reads have more than once, and few others.
pub struct RepeatedKmers<'a> {
    k: usize,
    words: Vec<AtomicU64>,
    _lease: Lease<'a>,
}

impl<'a> RepeatedKmers<'a> {
    /// None yet, of k-mers of `k` bases; nothing where so many bytes are not free, or where k-mers
    /// are too long.
    pub fn new(k: usize, size_bytes: u64, budget: &'a Budget) -> Option<Self> {
        let count = (size_bytes as usize / size_of::<u64>()).max(1);
        if k > <u64 as Kmer>::BASES_MAX || count > u32::MAX as usize {
            return None;
        }
        let lease = budget.try_take((count * size_of::<u64>()) as u64)?;
        let words = in_large_pages(count, AtomicU64::default);
        Some(Self { k, words, _lease: lease })
    }

    /// Bases of its k-mers.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Adds k-mers by the hashes of their canonical forms ([`Kmer::mixed`]).
    pub fn add(&self, hashes: impl Iterator<Item = u64>) {
        let mut some = [0; TOGETHER];
        let mut hashes = hashes.peekable();
        while hashes.peek().is_some() {
            let mut count = 0;
            for (place, hash) in some.iter_mut().zip(hashes.by_ref()) {
                *place = hash;
                count += 1;
            }
            let some = &some[..count];
            for &hash in some {
                prefetch(&self.words, self.word(hash));
            }
            for &hash in some {
                self.words[self.word(hash)].fetch_or(bits(hash), Ordering::Relaxed);
            }
        }
    }

    /// Whether it may have the k-mer at a place of packed bases.
    #[inline(always)]
    pub fn may_have(&self, words: &[u64], place: usize) -> bool {
        let hash = kmer_at(words, place, self.k).canonical(self.k).mixed();
        let wanted = bits(hash);
        self.words[self.word(hash)].load(Ordering::Relaxed) & wanted == wanted
    }

    #[inline(always)]
    fn word(&self, hash: u64) -> usize {
        (((hash >> 32) * self.words.len() as u64) >> 32) as usize
    }
}

/// The bits of a hash in its word.
#[inline(always)]
fn bits(hash: u64) -> u64 {
    let spread = hash.wrapping_mul(SPREAD);
    (0..BITS).fold(0, |bits, index| bits | 1 << (spread >> (58 - 6 * index) & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::kmer::{Base, kmers};
    use crate::kernel::words::pack;
    use cuesta_core::random::Stream;

    const K: usize = 31;

    fn drawn(seed: u64) -> Vec<Base> {
        let stream = Stream::new(seed, 0);
        (0..10_000).map(|place| (stream.bits(place) & 3) as Base).collect()
    }

    #[test]
    fn it_has_what_was_added_on_either_strand_and_little_else() {
        let budget = Budget::new(1 << 20);
        let repeated = RepeatedKmers::new(K, 15_000, &budget).unwrap();
        let codes = drawn(1);
        repeated.add(kmers::<u64>(&codes, K).map(|kmer| kmer.canonical(K).mixed()));
        let turned: Vec<Base> = codes.iter().rev().map(|&base| 3 - base).collect();
        let mut words = Vec::new();
        for codes in [&codes, &turned] {
            pack(codes, &mut words);
            assert!((0..=codes.len() - K).all(|place| repeated.may_have(&words, place)));
        }
        pack(&drawn(2), &mut words);
        let wrong = (0..=10_000 - K).filter(|&place| repeated.may_have(&words, place)).count();
        assert!(wrong < 500, "{wrong}");
    }

    #[test]
    fn there_is_none_where_it_does_not_fit() {
        let budget = Budget::new(1000);
        assert!(RepeatedKmers::new(K, 1008, &budget).is_none());
        assert!(RepeatedKmers::new(33, 100, &budget).is_none());
        assert_eq!(RepeatedKmers::new(15, 0, &budget).map(|one| one.k()), Some(15));
    }
}
