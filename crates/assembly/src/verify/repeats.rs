//! Bloom filter of the k-mers of the first size that occur at least twice in the reads, as counted
//! by the verification, with two bits per k-mer.
//!
//! A k-mer that is not in the filter occurs once at most in the reads, and so does each longer
//! k-mer that contains it.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::cpu::prefetch;
use cuesta_core::pages::in_large_pages;
use cuesta_runtime::parallel;

use super::packed::{turned, window};
use super::text::Text;
use crate::kernel::kmer::Kmer;

/// Bytes of the input per byte of the filter.
const INPUT_BYTES: u64 = 32;
/// Largest part of the memory for the filter.
const MEMORY_PART: u64 = 16;
const WORD_BITS: u64 = u64::BITS as u64;
/// K-mers that are added together.
const TOGETHER: usize = 64;
/// Odd constant of a multiplicative hash.
const SPREAD: u64 = 0xD6E8_FEB8_6659_FD93;

/// Set of all k-mers of one size that occur twice in the reads or are trusted, and of a few others.
pub struct RepeatFilter<'a> {
    k: usize,
    words: Vec<AtomicU64>,
    _lease: Lease<'a>,
}

impl<'a> RepeatFilter<'a> {
    /// Creates an empty filter for k-mers of `k` bases and `input_bytes` bytes of input; `None`
    /// where k-mers are too long, or the filter does not fit in the budget.
    pub fn new(k: usize, input_bytes: u64, budget: &'a Budget) -> Option<Self> {
        let size_bytes = input_bytes / INPUT_BYTES;
        if k > <u64 as Kmer>::BASES_MAX || size_bytes > budget.limit_bytes() / MEMORY_PART {
            return None;
        }
        let count = (size_bytes * 8 / WORD_BITS).max(1) as usize;
        let lease = budget.try_take((count * size_of::<u64>()) as u64)?;
        let words = in_large_pages(count, AtomicU64::default);
        Some(Self { k, words, _lease: lease })
    }

    /// Adds canonical k-mers by their hashes, and empties `hashes`.
    pub fn add(&self, hashes: &mut Vec<u64>) {
        for batch in hashes.chunks(TOGETHER) {
            // Prefetched together, their cache misses overlap.
            for bit in batch.iter().flat_map(|&hash| self.bits(hash)) {
                prefetch(&self.words, word_of(bit));
            }
            for bit in batch.iter().flat_map(|&hash| self.bits(hash)) {
                self.words[word_of(bit)].fetch_or(1 << (bit % WORD_BITS), Ordering::Relaxed);
            }
        }
        hashes.clear();
    }

    /// Adds the k-mers of all sequences of a text.
    ///
    /// # Errors
    /// None at present.
    pub fn add_text(&self, text: &Text<'_>, threads: usize) -> Result<()> {
        let work = |hashes: &mut Vec<u64>, task: usize| {
            text.each_in_task((task, text.end()), |sequence, places| {
                let (_, end) = text.range(sequence);
                let last = places.end.min((end + 1).saturating_sub(self.k));
                hashes.extend((places.start..last).map(|place| self.hash(text.words(), place)));
                self.add(hashes);
                Ok(())
            })
        };
        parallel::run(threads, text.tasks(text.end()), Vec::new, work, |_| {}).map(|_| ())
    }

    /// Divides the k-mers of size `k` that begin in a range of the bases of a read: calls `take`
    /// for ranges of k-mers that may occur twice in the reads, and returns the number of single
    /// ones.
    #[inline]
    pub fn divide(
        &self,
        words: &[u64],
        (k, kmers): (usize, Range<usize>),
        mut take: impl FnMut(Range<usize>),
    ) -> u64 {
        let away = k - self.k;
        let (mut singles, mut end, mut taken_end) = (0, kmers.end, kmers.end);
        while end > kmers.start {
            // The shorter k-mers from the last of these k-mers on are in all of them.
            let first = end.saturating_sub(away + 1).max(kmers.start);
            let shared = [first + away, end - 1];
            if shared.into_iter().any(|place| !self.has(self.hash(words, place))) {
                if end < taken_end {
                    take(end..taken_end);
                }
                singles += (end - first) as u64;
                taken_end = first;
            }
            end = first;
        }
        if kmers.start < taken_end {
            take(kmers.start..taken_end);
        }
        singles
    }

    #[inline(always)]
    fn has(&self, hash: u64) -> bool {
        let is_set = |bit: u64| {
            self.words[word_of(bit)].load(Ordering::Relaxed) >> (bit % WORD_BITS) & 1 == 1
        };
        self.bits(hash).into_iter().all(is_set)
    }

    #[inline(always)]
    fn hash(&self, words: &[u64], place: usize) -> u64 {
        let unused = 64 - 2 * self.k;
        let forward = window(words, place) >> unused;
        forward.min(turned(forward) >> unused).mixed()
    }

    #[inline(always)]
    fn bits(&self, hash: u64) -> [u64; 2] {
        let all = self.words.len() as u128 * u128::from(WORD_BITS);
        [hash, hash.rotate_left(32).wrapping_mul(SPREAD)]
            .map(|hash| ((u128::from(hash) * all) >> 64) as u64)
    }
}

#[inline(always)]
fn word_of(bit: u64) -> usize {
    (bit / WORD_BITS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::kmer::{Base, KmerMap, kmers};
    use crate::verify::packed::pack_codes;
    use proptest::prelude::*;

    const SHORT: usize = 15;

    fn counted(reads: &[Vec<Base>], k: usize) -> KmerMap<u128, u32> {
        let mut counts = KmerMap::default();
        for kmer in reads.iter().flat_map(|read| kmers::<u128>(read, k)) {
            *counts.entry(kmer.canonical(k)).or_insert(0) += 1;
        }
        counts
    }

    proptest! {
        #[test]
        fn kmers_reported_as_single_occur_once(
            genome in prop::collection::vec(0u8..4, 100..300),
            cuts in prop::collection::vec((any::<u16>(), 20usize..90, any::<bool>()), 1..30),
            errors in prop::collection::vec(any::<u16>(), 30),
            k in prop::sample::select(vec![17usize, 21, 43]),
        ) {
            let mut reads = Vec::new();
            for ((start, length, is_turned), error) in cuts.into_iter().zip(errors) {
                let start = usize::from(start) % (genome.len() - 90);
                let mut read: Vec<Base> = genome[start..start + length].to_vec();
                read[usize::from(error) % length] ^= 1;
                if is_turned {
                    read = read.iter().rev().map(|&base| 3 - base).collect();
                }
                reads.push(read);
            }
            let budget = Budget::new(1 << 20);
            let filter = RepeatFilter::new(SHORT, 32 * 2000, &budget).unwrap();
            let short = counted(&reads, SHORT).into_iter().filter(|&(_, count)| count > 1);
            filter.add(&mut short.map(|(kmer, _)| (kmer as u64).mixed()).collect());
            let all = counted(&reads, k);
            let mut repeated = KmerMap::<u128, u32>::default();
            let (mut singles, mut words) = (0, Vec::new());
            for read in reads.iter().filter(|read| read.len() >= k) {
                words.clear();
                pack_codes(read, &mut words);
                singles += filter.divide(&words, (k, 0..read.len() + 1 - k), |range| {
                    for place in range {
                        let kmer = u128::of(&read[place..], k).canonical(k);
                        *repeated.entry(kmer).or_insert(0) += 1;
                    }
                });
            }
            let is_single = |entry: &(&u128, &u32)| !repeated.contains_key(entry.0);
            let single_counts: Vec<u32> =
                all.iter().filter(is_single).map(|entry| *entry.1).collect();
            prop_assert_eq!(single_counts.len() as u64, singles);
            prop_assert!(single_counts.iter().all(|&count| count == 1));
            prop_assert!(repeated.iter().all(|(kmer, &count)| all[kmer] == count));
        }
    }

    /// The k-mers with a wrong base of a single read are all identified as single.
    #[test]
    fn all_kmers_with_a_wrong_base_are_identified() {
        let stream = cuesta_core::random::Stream::new(3, 0);
        let genome: Vec<Base> = (0..500).map(|place| (stream.bits(place) & 3) as Base).collect();
        let budget = Budget::new(1 << 20);
        let filter = RepeatFilter::new(31, 32 * 4000, &budget).unwrap();
        let hash = |kmer: u64| kmer.canonical(31).mixed();
        filter.add(&mut kmers::<u64>(&genome, 31).map(hash).collect());
        for (k, place) in [(43, 60), (79, 50), (55, 54), (43, 99), (43, 0)] {
            let mut read = genome[100..200].to_vec();
            read[place] ^= 2;
            let mut words = Vec::new();
            pack_codes(&read, &mut words);
            let wrong = (place + 1).saturating_sub(k)..(place + 1).min(101 - k);
            let count = wrong.len() as u64;
            assert_eq!(filter.divide(&words, (k, wrong), |_| {}), count, "{k} {place}");
        }
    }

    #[test]
    fn it_is_not_created_where_it_does_not_fit() {
        let budget = Budget::new(1600);
        assert!(RepeatFilter::new(33, 320, &budget).is_none());
        assert!(RepeatFilter::new(31, 32 * 101, &budget).is_none());
        assert!(RepeatFilter::new(31, 0, &budget).is_some());
    }
}
