//! Cutting of sequences into super-k-mers for the buckets of the verification: stretches of k-mers
//! whose minimizers, the m-mers of least hash on either strand, are in one bucket.
//!
//! Length and hash of minimizers differ from those of the run. Where a sample of the k-mers
//! determines the cutoff, the k-mers of the sample have separate buckets.

use cuesta_core::cpu;

use super::packed::{WORD_BASES, pack_codes, turned, window};
use crate::kernel::kmer::{Base, complement};
use crate::kernel::runs::{BucketRuns, PLACES};

/// Codes that are processed together: their arrays fit in the first-level cache.
const CHUNK_CODES: usize = 4096;
/// Most k-mers in a super-k-mer: their number is a byte.
pub const KMERS_MAX: usize = 255;
const MINIMIZER_MIN: usize = 7;
const MINIMIZER_MAX: usize = 15;
/// Ratio of other buckets to those of the sample, as a power of two.
const SAMPLE_BITS: u32 = 4;

/// Numbers of buckets.
#[derive(Clone, Copy, Debug)]
pub struct BucketLayout {
    /// There are 2^`bits` buckets without those of the sample.
    pub bits: u32,
    /// Whether there are also buckets for the k-mers of the sample, one per 16 others.
    pub with_sample: bool,
}

impl BucketLayout {
    /// Returns the number of buckets without those of the sample.
    pub fn plain(self) -> usize {
        1 << self.bits
    }

    /// Returns the number of all buckets.
    pub fn count(self) -> usize {
        self.plain() + if self.with_sample { self.plain() >> SAMPLE_BITS } else { 0 }
    }

    /// Returns whether a bucket is of the sample.
    pub fn is_sampled(self, bucket: usize) -> bool {
        bucket >= self.plain()
    }
}

/// Consecutive k-mers of a stretch in one bucket.
pub struct CutSuperKmer<'c> {
    /// Bucket of the k-mers.
    pub bucket: usize,
    /// Value with which the stretch was added.
    pub origin: u64,
    /// Its first k-mer, counted from the start of the stretch.
    pub first: usize,
    /// Number of k-mers.
    pub kmers: usize,
    words: &'c [u64],
    place: usize,
    bases: usize,
}

impl CutSuperKmer<'_> {
    /// Writes the packed bases, a word at a time; returns the number of bytes, of which the last
    /// may contain further bases.
    #[inline(always)]
    pub fn pack(&self, room: &mut [u8]) -> usize {
        let size_bytes = self.bases.div_ceil(4);
        let mut place = self.place;
        for eight in room[..size_bytes.next_multiple_of(8)].chunks_exact_mut(8) {
            eight.copy_from_slice(&window(self.words, place).to_be_bytes());
            place += WORD_BASES;
        }
        size_bytes
    }
}

/// Cutter of stretches, with its buffers.
pub struct Cutter {
    k: usize,
    buckets: BucketLayout,
    codes: Vec<Base>,
    words: Vec<u64>,
    /// First and last code of each stretch, and its origin.
    stretches: Vec<(usize, usize, u64)>,
    minima: Minima,
    sample: Option<Minima>,
    /// Bucket of the k-mer at each position.
    places: Vec<u32>,
    runs: BucketRuns,
}

impl Cutter {
    /// Creates a cutter for k-mers of `k` bases.
    pub fn new(k: usize, buckets: BucketLayout) -> Self {
        let minimizer = (k / 3 + 2).clamp(MINIMIZER_MIN, MINIMIZER_MAX);
        Self {
            k,
            buckets,
            codes: Vec::new(),
            words: Vec::new(),
            stretches: Vec::new(),
            minima: Minima::new(minimizer, k - minimizer + 1, VERIFIER_HASH),
            sample: buckets.with_sample.then(|| Minima::of_the_run(k)),
            places: Vec::new(),
            runs: BucketRuns::default(),
        }
    }

    /// Returns whether [`Cutter::cut`] must empty the buffers before a stretch of `more` bases is
    /// added.
    pub fn is_full(&self, more: usize) -> bool {
        !self.codes.is_empty() && self.codes.len() + more > CHUNK_CODES
    }

    /// Adds a stretch of at least k bases that `append` appends.
    #[inline]
    pub fn add(&mut self, origin: u64, append: impl FnOnce(&mut Vec<Base>)) {
        let start = self.codes.len();
        append(&mut self.codes);
        self.stretches.push((start, self.codes.len(), origin));
    }

    /// Emits the super-k-mers of all stretches, and empties the buffers.
    pub fn cut(&mut self, mut emit: impl FnMut(&CutSuperKmer<'_>)) {
        if self.stretches.is_empty() {
            return;
        }
        self.words.clear();
        pack_codes(&self.codes, &mut self.words);
        self.find_buckets();
        for &(start, end, origin) in &self.stretches {
            let last = end - self.k;
            let mut first = start;
            while first <= last {
                let run_end = self.runs.end(first, last);
                let kmers = KMERS_MAX.min(run_end - first);
                emit(&CutSuperKmer {
                    bucket: self.places[first] as usize,
                    origin,
                    first: first - start,
                    kmers,
                    words: &self.words,
                    place: first,
                    bases: kmers + self.k - 1,
                });
                first += kmers;
            }
        }
        self.codes.clear();
        self.stretches.clear();
    }

    /// Finds the bucket of the k-mer at each position; results at the last positions, where the
    /// k-mer is incomplete, are meaningless.
    fn find_buckets(&mut self) {
        let count = self.codes.len();
        self.minima.find(&self.words, count);
        self.places.resize(count.next_multiple_of(PLACES) + 1, 0);
        let bits = self.buckets.bits;
        let (places, least) = (&mut self.places, &self.minima.least);
        cpu::fastest(
            #[inline(always)]
            || {
                for (bucket, least) in places.iter_mut().zip(least) {
                    // The least of many hashes is small; a multiplication spreads it over all
                    // buckets.
                    *bucket = least.wrapping_mul(0xC2B2_AE35) >> (u32::BITS - bits);
                }
            },
        );
        if let Some(mut sample) = self.sample.take() {
            sample.find(&self.words, count);
            self.divert(&sample);
            self.sample = Some(sample);
        }
        let Self { places, runs, .. } = self;
        cpu::fastest(
            #[inline(always)]
            || runs.find(places),
        );
    }

    /// Moves k-mers of the sample to separate buckets: those for which the first k - 1 bases of the
    /// canonical form belong to the first sixteenth of the buckets of the run.
    fn divert(&mut self, sample: &Minima) {
        let is_in = |least: u32| least.wrapping_mul(0x85EB_CA6B) >> 28 == 0;
        let plain = self.buckets.plain() as u32;
        let count = (self.codes.len() + 1).saturating_sub(self.k);
        for place in 0..count {
            let (left, right) = (is_in(sample.least[place]), is_in(sample.least[place + 1]));
            if left && right || left != right && left == self.is_first_forward(place) {
                self.places[place] = plain + (self.places[place] >> SAMPLE_BITS);
            }
        }
    }

    /// Returns whether a k-mer is in canonical form on the strand that is read.
    fn is_first_forward(&self, place: usize) -> bool {
        let codes = &self.codes[place..place + self.k];
        codes.iter().copied().lt(codes.iter().rev().map(|&code| complement(code)))
    }
}

/// A hash of m-mers: a mask that is mixed in, two factors, and a shift in between.
#[derive(Clone, Copy)]
struct Hash {
    mask: u32,
    factor: u32,
    shift: u32,
    last_factor: u32,
}

const VERIFIER_HASH: Hash =
    Hash { mask: 0x9E37_79B9, factor: 0x846C_A68B, shift: 16, last_factor: 0x7FEB_352D };
/// Hash of the minimizers of a run.
const RUN_HASH: Hash = Hash { mask: 0x5BD1_E995, factor: 0x9E37_79B1, shift: 15, last_factor: 1 };

/// Least hashes in windows of m-mers.
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

    /// Returns the minima of (k-1)-mers, by which a run chooses buckets.
    fn of_the_run(k: usize) -> Self {
        let minimizer = (k / 3).clamp(7, 13);
        Self::new(minimizer, k - minimizer, RUN_HASH)
    }

    fn find(&mut self, words: &[u64], count: usize) {
        let places = count.next_multiple_of(PLACES);
        for values in [&mut self.least, &mut self.spare] {
            values.resize(places + self.window, u32::MAX);
        }
        let (minimizer, window, hash) = (self.minimizer, self.window, self.hash);
        let (least, spare) = (&mut self.least, &mut self.spare);
        cpu::fastest(
            #[inline(always)]
            || {
                canonical(words, minimizer, &mut least[..places]);
                for kmer in least.iter_mut() {
                    let product = (*kmer ^ hash.mask).wrapping_mul(hash.factor);
                    *kmer = (product ^ product >> hash.shift).wrapping_mul(hash.last_factor);
                }
                // Minima over windows of doubled length, until they have the final length.
                let mut span = 1;
                while span < window {
                    let away = span.min(window - span);
                    for ((smaller, value), later) in
                        spare.iter_mut().zip(&least[..]).zip(&least[away..])
                    {
                        *smaller = (*value).min(*later);
                    }
                    std::mem::swap(least, spare);
                    span += away;
                }
            },
        );
    }
}

/// Computes the canonical m-mers. No stretch needs those at the end, which are incomplete.
#[inline(always)]
fn canonical(words: &[u64], minimizer: usize, mmers: &mut [u32]) {
    let mask = u32::MAX >> (u32::BITS as usize - 2 * minimizer);
    for (index, mmers) in mmers.chunks_exact_mut(WORD_BASES / 2).enumerate() {
        // M-mers that begin in the first half of these bases end among them.
        let bases = window(words, index * WORD_BASES / 2);
        let reversed = turned(bases);
        for (place, mmer) in mmers.iter_mut().enumerate() {
            let unused = u64::BITS as usize - 2 * (minimizer + place);
            let forward = (bases >> unused) as u32 & mask;
            let backward = (reversed >> (2 * place)) as u32 & mask;
            *mmer = forward.min(backward);
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

    /// Returns each canonical k-mer with its bucket and its number of occurrences.
    fn pieces(stretches: &[Vec<Base>], k: usize, buckets: BucketLayout) -> Cut {
        let mut cutter = Cutter::new(k, buckets);
        let mut kmers = Cut::new();
        let mut emit = |piece: &CutSuperKmer<'_>| {
            let mut bytes = [0; 200];
            piece.pack(&mut bytes);
            let codes: Vec<Base> = (0..piece.kmers + k - 1)
                .map(|place| bytes[place / 4] >> (6 - 2 * (place % 4)) & 3)
                .collect();
            let stretch = &stretches[piece.origin as usize];
            assert_eq!(codes, stretch[piece.first..][..codes.len()]);
            assert!(piece.kmers <= KMERS_MAX && piece.bucket < buckets.count());
            for kmer in codes.windows(k) {
                let reverse: Vec<Base> = kmer.iter().rev().map(|&code| complement(code)).collect();
                let entry = kmers.entry(reverse.min(kmer.to_vec())).or_insert((piece.bucket, 0));
                assert_eq!(entry.0, piece.bucket);
                entry.1 += 1;
            }
        };
        let long = stretches.iter().enumerate().filter(|(_, stretch)| stretch.len() >= k);
        for (origin, stretch) in long {
            if cutter.is_full(stretch.len()) {
                cutter.cut(&mut emit);
            }
            cutter.add(origin as u64, |codes| codes.extend_from_slice(stretch));
        }
        cutter.cut(&mut emit);
        kmers
    }

    /// Returns the k-mers whose left end is in the first sixteenth of the buckets of a run.
    fn sampled<K: Kmer>(stretches: &[Vec<Base>], k: usize) -> Vec<Vec<Base>> {
        let mut scanner = Scanner::new(k, 4, false);
        let mut kmers = Vec::new();
        let mut emit = |part: &SuperKmer<'_>| {
            let mut bytes = [0; 200];
            part.pack(k, &mut bytes);
            let (count, flags) = (part.kmers, part.flags);
            let record = crate::kernel::packed::PackedSuperKmer {
                kmers: count,
                flags,
                weight: 0,
                counts: &[],
                bytes: &bytes,
            };
            record.each(k, |forward: K, backward: K, inside| {
                let left = if forward < backward { inside & 1 } else { inside >> 1 };
                if part.bucket == 0 && left == 1 {
                    let kmer = forward.min(backward);
                    kmers.push((0..k).rev().map(|index| kmer.last_but(index)).collect());
                }
            });
        };
        for stretch in stretches {
            scanner.take_codes(stretch, &mut emit);
        }
        scanner.flush(&mut emit);
        kmers.sort();
        kmers.dedup();
        kmers
    }

    proptest! {
        #[test]
        fn each_kmer_is_in_a_single_bucket_and_the_sample_is_that_of_the_run(
            stretches in prop::collection::vec(prop::collection::vec(0u8..4, 0..700), 1..12),
            k in prop_oneof![Just(15usize), Just(31), Just(41), Just(79)],
            with_sample in any::<bool>(),
        ) {
            let buckets = BucketLayout { bits: 6, with_sample };
            let cut = pieces(&stretches, k, buckets);
            let mut counts = BTreeMap::new();
            for kmer in stretches.iter().flat_map(|stretch| stretch.windows(k)) {
                let reverse: Vec<Base> = kmer.iter().rev().map(|&code| complement(code)).collect();
                *counts.entry(reverse.min(kmer.to_vec())).or_insert(0) += 1;
            }
            let cut_counts: BTreeMap<_, _> =
                cut.iter().map(|(kmer, &(_, count))| (kmer.clone(), count)).collect();
            prop_assert_eq!(cut_counts, counts);
            if with_sample {
                let of_sample = cut.iter().filter(|(_, piece)| buckets.is_sampled(piece.0));
                let of_sample: Vec<_> = of_sample.map(|(kmer, _)| kmer.clone()).collect();
                let expected = with_kmer!(k, K => sampled::<K>(&stretches, k));
                prop_assert_eq!(of_sample, expected);
            }
        }
    }
}
