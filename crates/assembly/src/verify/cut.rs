//! Cuts sequences into super-k-mers for the buckets of the verification: stretches of k-mers whose
//! minimizers, the m-mers of least hash on either strand, have one bucket.
//!
//! Neither the length of a minimizer nor its hash are those of the run. Where the smallest count
//! is to be found from a sample of the k-mers, those of the sample have buckets of their own.

use cuesta_core::cpu;

use super::packed::{WORD_BASES, pack_codes, window};
use crate::kernel::kmer::{Base, complement};

/// Codes that are worked on together: their arrays stay in the first-level cache.
const CHUNK_CODES: usize = 4096;
/// Most k-mers of a super-k-mer: the number has a byte.
pub const KMERS_MAX: usize = 255;
const MINIMIZER_MIN: usize = 7;
const MINIMIZER_MAX: usize = 15;
/// Of the buckets, as a power of two, those of the sample are one in so many more.
const SAMPLE_BITS: u32 = 4;

/// Which buckets there are.
#[derive(Clone, Copy, Debug)]
pub struct BucketLayout {
    /// There are 2^`bits` of them,
    pub bits: u32,
    /// and one in 16 more for the k-mers of the sample, where there is one.
    pub with_sample: bool,
}

impl BucketLayout {
    /// How many there are without those of the sample.
    pub fn plain(self) -> usize {
        1 << self.bits
    }

    /// How many there are.
    pub fn count(self) -> usize {
        self.plain() + if self.with_sample { self.plain() >> SAMPLE_BITS } else { 0 }
    }

    /// Whether a bucket is of the sample.
    pub fn is_sampled(self, bucket: usize) -> bool {
        bucket >= self.plain()
    }
}

/// Consecutive k-mers of a stretch that go to one bucket.
pub struct CutSuperKmer<'c> {
    /// The bucket.
    pub bucket: usize,
    /// What the stretch was added with.
    pub origin: u64,
    /// Its first k-mer, counted from the beginning of the stretch.
    pub first: usize,
    /// How many k-mers.
    pub kmers: usize,
    words: &'c [u64],
    place: usize,
    bases: usize,
}

impl CutSuperKmer<'_> {
    /// Appends its bases, four a byte; the last byte may hold more.
    #[inline]
    pub fn pack(&self, bytes: &mut Vec<u8>) {
        let end = bytes.len() + self.bases.div_ceil(4);
        let mut place = self.place;
        while bytes.len() < end {
            bytes.extend(window(self.words, place).to_be_bytes());
            place += WORD_BASES;
        }
        bytes.truncate(end);
    }
}

/// What cuts, with its buffers.
pub struct Cutter {
    k: usize,
    buckets: BucketLayout,
    codes: Vec<Base>,
    words: Vec<u64>,
    /// First and last code of each stretch, and its origin.
    stretches: Vec<(usize, usize, u64)>,
    minima: Minima,
    sample: Option<Minima>,
}

impl Cutter {
    /// For k-mers of `k` bases.
    pub fn new(k: usize, buckets: BucketLayout) -> Self {
        let minimizer = (k / 3 + 2).clamp(MINIMIZER_MIN, MINIMIZER_MAX);
        Self {
            k,
            buckets,
            codes: Vec::new(),
            words: Vec::new(),
            stretches: Vec::new(),
            minima: Minima::new(minimizer, k - minimizer + 1, OWN),
            sample: buckets.with_sample.then(|| Minima::of_the_run(k)),
        }
    }

    /// Whether the next stretch should wait until [`Cutter::cut`] has emptied the buffers.
    pub fn is_full(&self, more: usize) -> bool {
        !self.codes.is_empty() && self.codes.len() + more > CHUNK_CODES
    }

    /// Adds a stretch, at least k bases, that `append` appends.
    #[inline]
    pub fn add(&mut self, origin: u64, append: impl FnOnce(&mut Vec<Base>)) {
        let start = self.codes.len();
        append(&mut self.codes);
        self.stretches.push((start, self.codes.len(), origin));
    }

    /// Gives out the pieces of all stretches, and empties the buffers.
    pub fn cut(&mut self, mut emit: impl FnMut(&CutSuperKmer<'_>)) {
        if self.stretches.is_empty() {
            return;
        }
        self.words.clear();
        pack_codes(&self.codes, &mut self.words);
        self.minima.find(&self.codes);
        if let Some(sample) = &mut self.sample {
            sample.find(&self.codes);
        }
        for index in 0..self.stretches.len() {
            let (start, end, origin) = self.stretches[index];
            let last = end + 1 - self.k;
            let mut first = start;
            let mut bucket = self.bucket(first);
            for place in first + 1..=last {
                let next = if place == last { usize::MAX } else { self.bucket(place) };
                if next == bucket && place - first < KMERS_MAX {
                    continue;
                }
                let kmers = place - first;
                emit(&CutSuperKmer {
                    bucket,
                    origin,
                    first: first - start,
                    kmers,
                    words: &self.words,
                    place: first,
                    bases: kmers + self.k - 1,
                });
                (first, bucket) = (place, next);
            }
        }
        self.codes.clear();
        self.stretches.clear();
    }

    #[inline(always)]
    fn bucket(&self, place: usize) -> usize {
        // The least of many hashes is small; multiplying spreads it again.
        let spread = self.minima.least[place].wrapping_mul(0xC2B2_AE35);
        let plain = (spread >> (u32::BITS - self.buckets.bits)) as usize;
        match &self.sample {
            Some(sample) if self.is_sampled(sample, place) => {
                self.buckets.plain() + (plain >> SAMPLE_BITS)
            }
            _ => plain,
        }
    }

    /// Whether the first k - 1 bases of the canonical form of a k-mer belong to the first
    /// sixteenth of the buckets of the run.
    #[inline(always)]
    fn is_sampled(&self, sample: &Minima, place: usize) -> bool {
        let is_in = |place: usize| sample.least[place].wrapping_mul(0x85EB_CA6B) >> 28 == 0;
        let (left, right) = (is_in(place), is_in(place + 1));
        if left == right {
            return left;
        }
        let codes = &self.codes[place..place + self.k];
        let backward = codes.iter().rev().map(|&code| complement(code));
        if codes.iter().copied().lt(backward) { left } else { right }
    }
}

/// A hash of m-mers: what is mixed in, two factors, and a shift between.
#[derive(Clone, Copy)]
struct Hash {
    mask: u32,
    factor: u32,
    shift: u32,
    last_factor: u32,
}

const OWN: Hash =
    Hash { mask: 0x9E37_79B9, factor: 0x846C_A68B, shift: 16, last_factor: 0x7FEB_352D };
/// That of the minimizers of a run.
const OF_THE_RUN: Hash = Hash { mask: 0x5BD1_E995, factor: 0x9E37_79B1, shift: 15, last_factor: 1 };

/// The least hash in each window of m-mers.
struct Minima {
    minimizer: usize,
    window: usize,
    hash: Hash,
    least: Vec<u32>,
    spare: Vec<u32>,
}

impl Minima {
    fn new(minimizer: usize, window: usize, hash: Hash) -> Self {
        Self { minimizer, window, hash, least: Vec::new(), spare: Vec::new() }
    }

    /// Those of (k-1)-mers, by which a run of k-mers chooses buckets.
    fn of_the_run(k: usize) -> Self {
        let minimizer = (k / 3).clamp(7, 13);
        Self::new(minimizer, k - minimizer, OF_THE_RUN)
    }

    fn find(&mut self, codes: &[Base]) {
        for values in [&mut self.least, &mut self.spare] {
            values.clear();
            values.resize(codes.len() + self.window, u32::MAX);
        }
        self.canonical(codes);
        let (window, hash) = (self.window, self.hash);
        let (least, spare) = (&mut self.least, &mut self.spare);
        cpu::fastest(
            #[inline(always)]
            || {
                for kmer in least.iter_mut() {
                    let product = (*kmer ^ hash.mask).wrapping_mul(hash.factor);
                    *kmer = (product ^ product >> hash.shift).wrapping_mul(hash.last_factor);
                }
                // Minima of twice as many, until there are enough.
                let mut span = 1;
                while span < window {
                    let away = span.min(window - span);
                    for ((smaller, one), two) in
                        spare.iter_mut().zip(&least[..]).zip(&least[away..])
                    {
                        *smaller = (*one).min(*two);
                    }
                    std::mem::swap(least, spare);
                    span += away;
                }
            },
        );
    }

    /// The m-mers, the same on both strands. Those that are not whole have no stretch that needs
    /// them.
    #[inline(always)]
    fn canonical(&mut self, codes: &[Base]) {
        let mask = ((1u64 << (2 * self.minimizer)) - 1) as u32;
        let top = 2 * (self.minimizer as u32 - 1);
        let (mut forward, mut backward) = (0u32, 0u32);
        for (place, &code) in codes.iter().enumerate() {
            forward = (forward << 2 | u32::from(code)) & mask;
            backward = backward >> 2 | u32::from(complement(code)) << top;
            if place + 1 >= self.minimizer {
                self.least[place + 1 - self.minimizer] = forward.min(backward);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::kmer::{Kmer, with_kmer};
    use crate::kernel::scan::{ReadCutter as _, Scanner, SuperKmer};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Cut = BTreeMap<Vec<Base>, (usize, usize)>;

    /// Each canonical k-mer with its bucket and how often it is there.
    fn pieces(stretches: &[Vec<Base>], k: usize, buckets: BucketLayout) -> Cut {
        let mut cutter = Cutter::new(k, buckets);
        let mut found = Cut::new();
        let mut emit = |piece: &CutSuperKmer<'_>| {
            let mut bytes = Vec::new();
            piece.pack(&mut bytes);
            bytes.resize(bytes.len() + 64, 0);
            let codes: Vec<Base> = (0..piece.kmers + k - 1)
                .map(|place| bytes[place / 4] >> (6 - 2 * (place % 4)) & 3)
                .collect();
            let stretch = &stretches[piece.origin as usize];
            assert_eq!(codes, stretch[piece.first..][..codes.len()]);
            assert!(piece.kmers <= KMERS_MAX && piece.bucket < buckets.count());
            for kmer in codes.windows(k) {
                let other: Vec<Base> = kmer.iter().rev().map(|&code| complement(code)).collect();
                let entry = found.entry(other.min(kmer.to_vec())).or_insert((piece.bucket, 0));
                assert_eq!(entry.0, piece.bucket);
                entry.1 += 1;
            }
        };
        for (origin, stretch) in stretches.iter().enumerate().filter(|(_, one)| one.len() >= k) {
            if cutter.is_full(stretch.len()) {
                cutter.cut(&mut emit);
            }
            cutter.add(origin as u64, |codes| codes.extend_from_slice(stretch));
        }
        cutter.cut(&mut emit);
        found
    }

    /// The k-mers whose left end is in one of the first sixteenth of the buckets of a run.
    fn sampled<K: Kmer>(stretches: &[Vec<Base>], k: usize) -> Vec<Vec<Base>> {
        let mut scanner = Scanner::new(k, 4, false);
        let mut found = Vec::new();
        let mut emit = |part: &SuperKmer<'_>| {
            let mut bytes = Vec::new();
            part.pack(k, &mut bytes);
            bytes.resize(bytes.len() + 64, 0);
            let (kmers, flags) = (part.kmers, part.flags);
            let record = crate::kernel::packed::PackedSuperKmer {
                kmers,
                flags,
                weight: 0,
                counts: &[],
                bytes: &bytes,
            };
            record.each(k, |one: K, two: K, inside| {
                let left = if one < two { inside & 1 } else { inside >> 1 };
                if part.bucket == 0 && left == 1 {
                    let kmer = one.min(two);
                    found.push((0..k).rev().map(|index| kmer.last_but(index)).collect());
                }
            });
        };
        for stretch in stretches {
            scanner.take_codes(stretch, &mut emit);
        }
        scanner.flush(&mut emit);
        found.sort();
        found.dedup();
        found
    }

    proptest! {
        #[test]
        fn every_kmer_is_in_one_bucket_and_the_sample_is_that_of_the_run(
            stretches in prop::collection::vec(prop::collection::vec(0u8..4, 0..700), 1..12),
            k in prop_oneof![Just(15usize), Just(31), Just(41), Just(79)],
            with_sample in any::<bool>(),
        ) {
            let buckets = BucketLayout { bits: 6, with_sample };
            let found = pieces(&stretches, k, buckets);
            let mut counts = BTreeMap::new();
            for kmer in stretches.iter().flat_map(|stretch| stretch.windows(k)) {
                let other: Vec<Base> = kmer.iter().rev().map(|&code| complement(code)).collect();
                *counts.entry(other.min(kmer.to_vec())).or_insert(0) += 1;
            }
            let seen: BTreeMap<_, _> =
                found.iter().map(|(kmer, &(_, count))| (kmer.clone(), count)).collect();
            prop_assert_eq!(seen, counts);
            if with_sample {
                let of_sample = found.iter().filter(|(_, one)| buckets.is_sampled(one.0));
                let of_sample: Vec<_> = of_sample.map(|(kmer, _)| kmer.clone()).collect();
                let expected = with_kmer!(k, K => sampled::<K>(&stretches, k));
                prop_assert_eq!(of_sample, expected);
            }
        }
    }
}
