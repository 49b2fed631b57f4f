//! Buckets of (k-1)-mers. The bucket of a (k-1)-mer follows from its minimizer, the m-mer of least
//! hash on either strand. All positions of a stretch of packed bases are processed together,
//! without a branch.

use cuesta_core::cpu;

use crate::kernel::runs::{BucketRuns, PLACES};
use crate::kernel::words::{WORD_BASES, turned};

/// Longest minimizer: a hash takes 32 bits.
const MINIMIZER_MAX: usize = 13;
const MINIMIZER_MIN: usize = 7;
/// Positions whose m-mers are contained in one word of bases.
const TOGETHER: usize = 16;

/// Bucket of each position, and the positions at which the bucket changes.
pub struct Minimizers {
    minimizer: usize,
    /// M-mers of a (k-1)-mer.
    window: usize,
    bucket_bits: u32,
    buckets: Vec<u32>,
    spare: Vec<u32>,
    runs: BucketRuns,
}

impl Minimizers {
    /// Creates a finder for k-mers of `k` bases and 2^`bucket_bits` buckets.
    pub fn new(k: usize, bucket_bits: u32) -> Self {
        let minimizer = (k / 3).clamp(MINIMIZER_MIN, MINIMIZER_MAX);
        Self {
            minimizer,
            window: k - minimizer,
            bucket_bits,
            buckets: Vec::new(),
            spare: Vec::new(),
            runs: BucketRuns::default(),
        }
    }

    /// Finds the bucket of the (k-1)-mer at each of `count` positions of packed bases. The results
    /// at the last positions, where the (k-1)-mer is incomplete, are meaningless.
    pub fn find(&mut self, words: &[u64], count: usize) {
        let places = count.next_multiple_of(PLACES);
        for values in [&mut self.buckets, &mut self.spare] {
            values.resize(places + self.window, u32::MAX);
        }
        let Self { minimizer, window, bucket_bits, buckets, spare, runs } = self;
        let (minimizer, window, bucket_bits) = (*minimizer, *window, *bucket_bits);
        cpu::fastest(
            #[inline(always)]
            || {
                hashes(words, minimizer, &mut buckets[..places]);
                let mut span = 1;
                while span < window {
                    let away = span.min(window - span);
                    least(buckets, away, spare);
                    std::mem::swap(buckets, spare);
                    span += away;
                }
                for bucket in buckets.iter_mut() {
                    // The least of many hashes is small; a multiplication spreads it over all
                    // buckets.
                    *bucket = bucket.wrapping_mul(0x85EB_CA6B) >> (32 - bucket_bits);
                }
                runs.find(&buckets[..=places]);
            },
        );
    }

    /// Returns the bucket of a position.
    #[inline(always)]
    pub fn bucket(&self, place: usize) -> usize {
        self.buckets[place] as usize
    }

    /// Returns the position after the run that starts at `first` and has one bucket; positions
    /// after `last` do not count.
    #[inline(always)]
    pub fn run_end(&self, first: usize, last: usize) -> usize {
        self.runs.end(first, last)
    }
}

/// Computes the hash of the m-mer at each position, which is the same on both strands.
#[inline(always)]
fn hashes(words: &[u64], minimizer: usize, hashes: &mut [u32]) {
    let (groups, _) = hashes.as_chunks_mut::<WORD_BASES>();
    for (group, word) in groups.iter_mut().zip(words.windows(2)) {
        let (halves, _) = group.as_chunks_mut::<TOGETHER>();
        let between = word[0] << 32 | word[1] >> 32;
        for (half, bases) in halves.iter_mut().zip([word[0], between]) {
            hashes_of_word(bases, minimizer, half);
        }
    }
}

/// Computes the hashes of the m-mers that begin in the first half of a word of bases.
#[inline(always)]
fn hashes_of_word(bases: u64, minimizer: usize, hashes: &mut [u32; TOGETHER]) {
    let reversed = turned(bases);
    let unused = (u64::BITS as usize - 2 * minimizer) as u32;
    let mask = u32::MAX >> (u32::BITS as usize - 2 * minimizer);
    for (place, hash) in hashes.iter_mut().enumerate() {
        let forward = (bases << (2 * place) >> unused) as u32;
        let backward = (reversed >> (2 * place)) as u32 & mask;
        let product = (forward.min(backward) ^ 0x5BD1_E995).wrapping_mul(0x9E37_79B1);
        *hash = product ^ product >> 15;
    }
}

/// Computes for each value the smaller of it and the value `away` positions later.
#[inline(always)]
fn least(values: &[u32], away: usize, smaller: &mut [u32]) {
    for ((smaller, value), later) in smaller.iter_mut().zip(values).zip(&values[away..]) {
        *smaller = (*value).min(*later);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::kmer::Base;
    use crate::kernel::words::pack;
    use proptest::prelude::*;

    const BITS: u32 = 4;

    fn number(codes: impl Iterator<Item = Base>) -> u32 {
        codes.fold(0, |number, code| number << 2 | u32::from(code))
    }

    /// Computes the buckets from the definition, one (k-1)-mer at a time.
    fn expected(codes: &[Base], k: usize, bits: u32) -> Vec<usize> {
        let hash = |mmer: &[Base]| {
            let forward = number(mmer.iter().copied());
            let backward = number(mmer.iter().rev().map(|&code| 3 - code));
            let product = (forward.min(backward) ^ 0x5BD1_E995).wrapping_mul(0x9E37_79B1);
            product ^ product >> 15
        };
        let bucket = |overlap: &[Base]| {
            let least = overlap.windows((k / 3).clamp(7, 13)).map(hash).min().unwrap();
            (least.wrapping_mul(0x85EB_CA6B) >> (32 - bits)) as usize
        };
        codes.windows(k - 1).map(bucket).collect()
    }

    fn computed(minimizers: &mut Minimizers, codes: &[Base], k: usize) -> Vec<usize> {
        let mut words = Vec::new();
        pack(codes, &mut words);
        minimizers.find(&words, codes.len());
        (0..codes.len() + 2 - k).map(|place| minimizers.bucket(place)).collect()
    }

    proptest! {
        #[test]
        fn buckets_are_those_of_the_definition_and_runs_end_where_they_change(
            stretches in prop::collection::vec(prop::collection::vec(0u8..4, 300..700), 1..3),
            k in (7usize..=63).prop_map(|half| 2 * half + 1),
            bases in 0usize..400,
            bits in 1u32..14,
        ) {
            // One instance for all stretches: results must not depend on what it computed before.
            let mut minimizers = Minimizers::new(k, bits);
            for stretch in stretches {
                let codes = &stretch[..stretch.len().min(k + bases)];
                let expected_buckets = expected(codes, k, bits);
                let buckets = computed(&mut minimizers, codes, k);
                prop_assert_eq!(&buckets, &expected_buckets);
                let last = expected_buckets.len() - 1;
                for (first, bucket) in expected_buckets.iter().enumerate() {
                    let run = expected_buckets[first..].iter();
                    let same = run.take_while(|other| *other == bucket).count();
                    prop_assert_eq!(minimizers.run_end(first, last), first + same);
                    let sooner = first + (last - first) / 2;
                    let end = (first + same).min(sooner + 1);
                    prop_assert_eq!(minimizers.run_end(first, sooner), end);
                }
            }
        }

        #[test]
        fn a_bucket_is_the_same_on_both_strands(codes in prop::collection::vec(0u8..4, 40..200)) {
            let turned: Vec<Base> = codes.iter().rev().map(|&code| 3 - code).collect();
            let mut minimizers = Minimizers::new(31, BITS);
            let forward = computed(&mut minimizers, &codes, 31);
            let mut backward = computed(&mut minimizers, &turned, 31);
            backward.reverse();
            prop_assert_eq!(forward, backward);
        }
    }
}
