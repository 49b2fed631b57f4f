//! Cuts reads into super-k-mers: stretches whose (k-1)-mers belong to one bucket.
//!
//! The bucket of a (k-1)-mer is that of its minimizer, the m-mer of least hash on either strand.
//! Where two k-mers meet in a (k-1)-mer, all k-mers that could meet there are in its bucket, so
//! whether a path branches is decided inside the bucket. A k-mer whose two ends belong to different
//! buckets is in both; [`crate::kernel::table`] knows which of its ends are inside.

use cuesta_core::cpu;
use serde::{Deserialize, Serialize};

use crate::kernel::kmer::Base;
use crate::kernel::words::{WORD_BASES, pack, window};

/// Code of a letter that stands for more than one base.
const AMBIGUOUS: u8 = 4;
/// Code of a byte that is no letter of a nucleotide.
const NO_BASE: u8 = 5;
/// Codes that are worked on together: their arrays stay in the first-level cache.
const CHUNK_CODES: usize = 4096;
/// Longest minimizer: a hash takes 32 bits.
const MINIMIZER_MAX: usize = 13;
const MINIMIZER_MIN: usize = 7;
/// Most k-mers of a super-k-mer.
pub const KMERS_MAX: usize = 255;

/// The first k-mer has its left end in another bucket.
pub const LEFT_OUTSIDE: u8 = 1;
/// The last k-mer has its right end in another bucket.
pub const RIGHT_OUTSIDE: u8 = 2;
/// From a contig, not from a read.
pub const SOLID: u8 = 4;
/// The first k-mer is the last one of the super-k-mer before, which was too long.
pub const REPEATED: u8 = 8;
/// From a contig, with the counts of its k-mers in the reads that were laid along it.
pub const COUNTED: u8 = 16;

const CODES: [u8; 256] = {
    let mut codes = [NO_BASE; 256];
    let (letters, mut place) = (b"ACGTUNRYSWKMBDHV.-", 0);
    while place < letters.len() {
        let code = match place {
            0..4 => place as u8,
            4 => 3,
            _ => AMBIGUOUS,
        };
        codes[letters[place] as usize] = code;
        codes[letters[place].to_ascii_lowercase() as usize] = code;
        place += 1;
    }
    codes
};

/// The base that a letter stands for, or a number above 3.
pub fn code(letter: u8) -> u8 {
    CODES[usize::from(letter)]
}

/// Whether a byte is no letter of IUPAC's for nucleotides.
pub fn is_no_base(letter: u8) -> bool {
    code(letter) == NO_BASE
}

/// Whether a byte is a letter of IUPAC's that stands for an amino acid and for no nucleotide.
pub fn is_amino_acid(letter: u8) -> bool {
    b"EFIJLOPQZ".contains(&letter.to_ascii_uppercase())
}

/// A stretch of bases for one bucket.
pub struct SuperKmer<'a> {
    /// Where it goes.
    pub bucket: usize,
    /// How many k-mers it has.
    pub kmers: usize,
    /// [`LEFT_OUTSIDE`], [`RIGHT_OUTSIDE`], [`REPEATED`].
    pub flags: u8,
    /// The first base of its first k-mer, of what the scanner was given since it was flushed.
    pub first: usize,
    /// These bases.
    words: &'a [u64],
}

impl SuperKmer<'_> {
    /// Appends the bases of its k-mers, four a byte; the last byte may hold more.
    #[inline]
    pub fn pack(&self, k: usize, bytes: &mut Vec<u8>) {
        let size_bytes = (self.kmers + k - 1).div_ceil(4);
        let end = bytes.len() + size_bytes;
        let mut place = self.first;
        while bytes.len() < end {
            bytes.extend_from_slice(&window(self.words, place).to_be_bytes());
            place += WORD_BASES;
        }
        bytes.truncate(end);
    }
}

/// What is counted while reads are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadCounts {
    /// Bases of the reads: letters that stand for one base, of reads that are not left out.
    pub bases: u64,
    /// K-mers that follow one another in a read.
    pub pairs: u64,
    /// Distinct k-mers that another one follows in a read, on the strand that was read. Only
    /// counted for the program of the paper, as the next.
    pub followed: u64,
    /// Distinct pairs of k-mers that follow one another in a read, on the strand that was read.
    pub edges: u64,
    /// K-mers that are in the reads once and in no bucket.
    pub singles: u64,
}

impl ReadCounts {
    /// As numbers.
    pub fn numbers(&self) -> [u64; 5] {
        [self.bases, self.pairs, self.followed, self.edges, self.singles]
    }

    /// From numbers.
    pub fn of([bases, pairs, followed, edges, singles]: [u64; 5]) -> Self {
        Self { bases, pairs, followed, edges, singles }
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        let (mine, others) = (self.numbers(), other.numbers());
        *self = Self::of(std::array::from_fn(|index| mine[index].saturating_add(others[index])));
    }
}

/// What makes super-k-mers of reads.
pub trait ReadCutter {
    /// Takes a read; gives out the super-k-mers of what has come together, now and then.
    ///
    /// # Errors
    /// The place of a byte that is no letter of a nucleotide.
    fn take(&mut self, read: &[u8], emit: &mut impl FnMut(&SuperKmer<'_>)) -> Result<(), usize>;

    /// Gives out the super-k-mers of what was taken since the last time.
    fn flush(&mut self, emit: &mut impl FnMut(&SuperKmer<'_>));
}

/// What cuts reads, with its buffers.
pub struct Scanner {
    /// Of all reads taken so far.
    pub tally: ReadCounts,
    k: usize,
    minimizer: usize,
    bucket_bits: u32,
    drop_ambiguous: bool,
    codes: Vec<u8>,
    stretches: Vec<(usize, usize)>,
    buckets: Vec<u32>,
    spare: Vec<u32>,
    words: Vec<u64>,
}

impl Scanner {
    /// For k-mers of `k` bases and 2^`bucket_bits` buckets. Reads with ambiguous letters are cut
    /// there, or left out whole.
    pub fn new(k: usize, bucket_bits: u32, drop_ambiguous: bool) -> Self {
        Self {
            tally: ReadCounts::default(),
            k,
            minimizer: (k / 3).clamp(MINIMIZER_MIN, MINIMIZER_MAX),
            bucket_bits,
            drop_ambiguous,
            codes: Vec::new(),
            stretches: Vec::new(),
            buckets: Vec::new(),
            spare: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Like [`Scanner::take`] for bases as numbers.
    pub fn take_codes(&mut self, codes: &[Base], emit: &mut impl FnMut(&SuperKmer<'_>)) {
        if self.codes.len() + codes.len() > CHUNK_CODES {
            self.flush(emit);
        }
        let start = self.codes.len();
        self.codes.extend_from_slice(codes);
        let stretch = (start, start + codes.len());
        add_stretch(stretch, self.k, (&mut self.stretches, &mut self.tally.pairs));
    }

    #[inline]
    fn cut(&self, start: usize, end: usize, emit: &mut impl FnMut(&SuperKmer<'_>)) {
        let kmers = end - start + 1 - self.k;
        let buckets = &self.buckets[start..=start + kmers];
        let mut first = 0;
        while first <= kmers {
            let bucket = buckets[first];
            let mut last = first;
            while last < kmers && buckets[last + 1] == bucket {
                last += 1;
            }
            // The (k-1)-mers `first..=last`, and the k-mers that end or begin with one of them.
            let run = first.saturating_sub(1)..(last + 1).min(kmers);
            let mut flags = if first > 0 { LEFT_OUTSIDE } else { 0 };
            let mut from = run.start;
            while from < run.end {
                let count = (run.end - from).min(KMERS_MAX);
                let ends = from + count == run.end && last < kmers;
                emit(&SuperKmer {
                    bucket: bucket as usize,
                    kmers: count,
                    flags: flags | if ends { RIGHT_OUTSIDE } else { 0 },
                    words: &self.words,
                    first: start + from,
                });
                flags = REPEATED;
                from += if from + count < run.end { count - 1 } else { count };
            }
            first = last + 1;
        }
    }
}

impl ReadCutter for Scanner {
    fn take(&mut self, read: &[u8], emit: &mut impl FnMut(&SuperKmer<'_>)) -> Result<(), usize> {
        if self.codes.len() + read.len() > CHUNK_CODES {
            self.flush(emit);
        }
        let Self { codes, stretches, tally, k, drop_ambiguous, .. } = self;
        let bases = append_codes(read, *drop_ambiguous, codes, |start, end| {
            add_stretch((start, end), *k, (&mut *stretches, &mut tally.pairs));
        })?;
        tally.bases += bases;
        Ok(())
    }

    fn flush(&mut self, emit: &mut impl FnMut(&SuperKmer<'_>)) {
        if !self.stretches.is_empty() {
            // An ambiguous letter belongs to no stretch; any base may stand in for it.
            self.codes.iter_mut().for_each(|code| *code &= 3);
            let shape = (self.k, self.minimizer, self.bucket_bits);
            assign(&self.codes, shape, [&mut self.buckets, &mut self.spare]);
            pack(&self.codes, &mut self.words);
            for &(start, end) in &self.stretches {
                self.cut(start, end, emit);
            }
        }
        self.codes.clear();
        self.stretches.clear();
    }
}

/// Appends the codes of a read; calls `take` for where each stretch of bases between ambiguous
/// letters begins and ends, or for none where there is such a letter and `drop_ambiguous`. The
/// bases of the stretches.
///
/// # Errors
/// The place of a byte that is no letter of a nucleotide; nothing is appended then.
#[inline]
pub fn append_codes(
    read: &[u8],
    drop_ambiguous: bool,
    codes: &mut Vec<u8>,
    mut take: impl FnMut(usize, usize),
) -> Result<u64, usize> {
    let start = codes.len();
    codes.extend(read.iter().map(|&byte| CODES[usize::from(byte)]));
    let added = &codes[start..];
    let most = added.iter().fold(0, |most, &code| most.max(code));
    if most < AMBIGUOUS {
        take(start, start + read.len());
        return Ok(read.len() as u64);
    }
    if most == NO_BASE {
        let place = added.iter().position(|&code| code == NO_BASE);
        codes.truncate(start);
        return Err(place.unwrap_or(0));
    }
    if drop_ambiguous {
        return Ok(0);
    }
    let (mut from, mut bases) = (start, 0);
    let cuts = (start..codes.len()).filter(|&place| codes[place] == AMBIGUOUS);
    for cut in cuts.chain([codes.len()]) {
        take(from, cut);
        bases += (cut - from) as u64;
        from = cut + 1;
    }
    Ok(bases)
}

/// Adds a stretch of bases that has k-mers, and how many of these follow another one.
#[inline(always)]
fn add_stretch(
    (start, end): (usize, usize),
    k: usize,
    (stretches, pairs): (&mut Vec<(usize, usize)>, &mut u64),
) {
    if end - start >= k {
        *pairs += (end - start - k) as u64;
        stretches.push((start, end));
    }
}

/// The bucket of the (k-1)-mer at each place; the last ones, which are not whole, mean nothing.
fn assign(
    codes: &[u8],
    (k, minimizer, bucket_bits): (usize, usize, u32),
    [buckets, spare]: [&mut Vec<u32>; 2],
) {
    let window = k - minimizer;
    for values in [&mut *buckets, &mut *spare] {
        values.clear();
        values.resize(codes.len() + window, u32::MAX);
    }
    hashes(codes, minimizer, buckets);
    cpu::fastest(
        #[inline(always)]
        || {
            let mut span = 1;
            while span < window {
                let away = span.min(window - span);
                least(buckets, away, spare);
                std::mem::swap(buckets, spare);
                span += away;
            }
            for bucket in buckets.iter_mut() {
                // The least of many hashes is small; multiplying spreads it again.
                *bucket = bucket.wrapping_mul(0x85EB_CA6B) >> (32 - bucket_bits);
            }
        },
    );
}

/// Of each value and the one `away` places on, the smaller.
#[inline(always)]
fn least(values: &[u32], away: usize, smaller: &mut [u32]) {
    for ((smaller, one), two) in smaller.iter_mut().zip(values).zip(&values[away..]) {
        *smaller = (*one).min(*two);
    }
}

/// The hash of the m-mer at each place, the same on both strands.
fn hashes(codes: &[u8], minimizer: usize, hashes: &mut [u32]) {
    let mask = (1u32 << (2 * minimizer)) - 1;
    let top = 2 * (minimizer as u32 - 1);
    let (mut forward, mut backward) = (0u32, 0u32);
    for (place, &code) in codes.iter().enumerate() {
        forward = (forward << 2 | u32::from(code)) & mask;
        backward = backward >> 2 | u32::from(3 - code) << top;
        if place + 1 >= minimizer {
            let canonical = forward.min(backward);
            let product = (canonical ^ 0x5BD1_E995).wrapping_mul(0x9E37_79B1);
            hashes[place + 1 - minimizer] = product ^ product >> 15;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::kmer::Kmer;
    use crate::kernel::packed::PackedSuperKmer;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const BITS: u32 = 4;

    /// Every k-mer with the (k-1)-mers by which it is in a bucket, from the definition.
    fn expected(read: &[u8], k: usize) -> BTreeMap<(usize, u64), u32> {
        let mut found = BTreeMap::new();
        for stretch in read.split(|byte| !b"ACGT".contains(byte)).filter(|part| part.len() >= k) {
            let codes: Vec<u8> = stretch.iter().map(|&byte| CODES[usize::from(byte)]).collect();
            let (mut buckets, mut spare) = (Vec::new(), Vec::new());
            assign(&codes, (k, (k / 3).clamp(7, 13), BITS), [&mut buckets, &mut spare]);
            for start in 0..=codes.len() - k {
                let key = u64::of(&codes[start..], k);
                let mut both = vec![buckets[start] as usize, buckets[start + 1] as usize];
                both.dedup();
                for bucket in both {
                    *found.entry((bucket, key)).or_insert(0) += 1;
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn every_kmer_is_in_the_buckets_of_its_ends(
            reads in prop::collection::vec("[ACGTN]{0,3}[ACGT]{0,700}[N]?[ACGT]{0,60}", 1..12),
            k in (7usize..=15).prop_map(|half| 2 * half + 1),
        ) {
            let mut wanted = BTreeMap::new();
            let mut found = BTreeMap::new();
            let mut scanner = Scanner::new(k, BITS, false);
            let mut bytes = Vec::new();
            let mut emit = |part: &SuperKmer<'_>| {
                bytes.clear();
                part.pack(k, &mut bytes);
                bytes.extend([0; 72]);
                let (kmers, flags) = (part.kmers, part.flags);
                let (counts, weight) = (&[][..], 0);
                let record = PackedSuperKmer { kmers, flags, weight, counts, bytes: &bytes };
                let mut is_repeated = flags & REPEATED != 0;
                record.each(k, |forward: u64, _, _| {
                    if std::mem::take(&mut is_repeated) {
                        return;
                    }
                    *found.entry((part.bucket, forward)).or_insert(0) += 1;
                });
            };
            for read in &reads {
                for (key, count) in expected(read.as_bytes(), k) {
                    *wanted.entry(key).or_insert(0) += count;
                }
                scanner.take(read.as_bytes(), &mut emit).unwrap();
            }
            scanner.flush(&mut emit);
            prop_assert_eq!(found, wanted);
        }

        #[test]
        fn a_bucket_is_the_same_on_both_strands(codes in prop::collection::vec(0u8..4, 40..200)) {
            let turned: Vec<u8> = codes.iter().rev().map(|&base| 3 - base).collect();
            let (mut forward, mut backward, mut spare) = (Vec::new(), Vec::new(), Vec::new());
            assign(&codes, (31, 10, BITS), [&mut forward, &mut spare]);
            assign(&turned, (31, 10, BITS), [&mut backward, &mut spare]);
            let count = codes.len() - 29;
            let mut mirrored = backward[..count].to_vec();
            mirrored.reverse();
            prop_assert_eq!(&forward[..count], &mirrored[..]);
        }
    }

    #[test]
    fn letters_are_read_in_either_case_and_others_are_refused() {
        let mut scanner = Scanner::new(15, BITS, true);
        let mut kmers = 0;
        let mut emit = |part: &SuperKmer<'_>| kmers += part.kmers;
        scanner.take(b"acgtacgtacgtacgtu", &mut emit).unwrap();
        scanner.take(b"acgtacgtacgtacgtNacgtacgtacgtacgtac", &mut emit).unwrap();
        assert_eq!(scanner.take(b"ACGTELVIS", &mut emit), Err(4));
        scanner.flush(&mut emit);
        assert!(kmers >= 3);
    }
}
