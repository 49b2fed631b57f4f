//! Bloom filter of the k-mers that may occur more than once in the reads, with one word per k-mer.
//!
//! A k-mer that is not in the filter occurs once at most in the reads, and so does each longer
//! k-mer that contains it.

use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::prefetch;
use cuesta_core::pages::in_large_pages;

use crate::kernel::kmer::Kmer;
use crate::kernel::words::kmer_at;

/// Bits that a k-mer sets in a word: about the best number for 6 to 20 bits per k-mer.
const BITS: u32 = 4;
/// Hashes that are processed together, so that the cache misses of their words overlap.
const TOGETHER: usize = 64;
/// Odd constant of a multiplicative hash: the fractional part of the root of 3.
const SPREAD: u64 = 0xBB67_AE85_84CA_A73B;

/// Set of all k-mers of one size that occur more than once in the reads, and of a few others.
pub struct RepeatedKmers<'a> {
    k: usize,
    words: Vec<AtomicU64>,
    _lease: Lease<'a>,
}

impl<'a> RepeatedKmers<'a> {
    /// Creates an empty filter for k-mers of `k` bases. Returns `None` where `size_bytes` bytes are
    /// not free, or where k-mers are too long.
    pub fn new(k: usize, size_bytes: u64, budget: &'a Budget) -> Option<Self> {
        let count = (size_bytes as usize / size_of::<u64>()).max(1);
        if k > <u64 as Kmer>::BASES_MAX || count > u32::MAX as usize {
            return None;
        }
        let lease = budget.try_take((count * size_of::<u64>()) as u64)?;
        let words = in_large_pages(count, AtomicU64::default);
        Some(Self { k, words, _lease: lease })
    }

    /// Returns the number of bases in a k-mer.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Adds k-mers by the hashes of their canonical forms ([`Kmer::mixed`]).
    pub fn add(&self, hashes: impl Iterator<Item = u64>) {
        let mut batch = [0; TOGETHER];
        let mut hashes = hashes.peekable();
        while hashes.peek().is_some() {
            let mut count = 0;
            for (place, hash) in batch.iter_mut().zip(hashes.by_ref()) {
                *place = hash;
                count += 1;
            }
            let batch = &batch[..count];
            for &hash in batch {
                prefetch(&self.words, self.word(hash));
            }
            for &hash in batch {
                self.words[self.word(hash)].fetch_or(bits(hash), Ordering::Relaxed);
            }
        }
    }

    /// Returns whether the filter may contain the k-mer at a position of packed bases.
    #[inline(always)]
    pub fn may_have(&self, words: &[u64], place: usize) -> bool {
        let hash = kmer_at(words, place, self.k).canonical(self.k).mixed();
        let mask = bits(hash);
        self.words[self.word(hash)].load(Ordering::Relaxed) & mask == mask
    }

    #[inline(always)]
    fn word(&self, hash: u64) -> usize {
        (((hash >> 32) * self.words.len() as u64) >> 32) as usize
    }
}

/// Returns the mask of the bits of a hash in its word.
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
    fn it_contains_added_kmers_of_either_strand_and_little_else() {
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
    fn it_is_not_created_where_it_does_not_fit() {
        let budget = Budget::new(1000);
        assert!(RepeatedKmers::new(K, 1008, &budget).is_none());
        assert!(RepeatedKmers::new(33, 100, &budget).is_none());
        assert_eq!(RepeatedKmers::new(15, 0, &budget).map(|repeated| repeated.k()), Some(15));
    }
}
