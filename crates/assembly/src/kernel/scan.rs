//! Cutting of reads into super-k-mers: stretches whose (k-1)-mers belong to one bucket.
//!
//! The bucket of a (k-1)-mer is that of its minimizer, the m-mer of least hash on either strand.
//! All k-mers that share a (k-1)-mer are therefore in its bucket, so whether a path branches there
//! is decided inside the bucket. A k-mer whose two ends belong to different buckets is in both;
//! [`crate::kernel::table`] records which of its ends are inside.

use cuesta_core::cpu;
use cuesta_input::reads::trim::TrimCounts;
use serde::{Deserialize, Serialize};

use crate::kernel::kmer::Base;
use crate::kernel::minimizers::Minimizers;
use crate::kernel::stretch_bases::StretchBases;
use crate::kernel::words::{WORD_BASES, pack, window};

/// Code of a letter that stands for more than one base.
const AMBIGUOUS: u8 = 4;
/// Code of a byte that is not a IUPAC letter for nucleotides.
const NO_BASE: u8 = 5;
/// Codes that are processed together: their arrays fit in the first-level cache.
const CHUNK_CODES: usize = 4096;
/// Letters that are processed together.
const TOGETHER: usize = 32;
/// Most k-mers in a super-k-mer.
pub const KMERS_MAX: usize = 255;

/// Flag: the first k-mer has its left end in another bucket.
pub const LEFT_OUTSIDE: u8 = 1;
/// Flag: the last k-mer has its right end in another bucket.
pub const RIGHT_OUTSIDE: u8 = 2;
/// Flag: the super-k-mer is from a contig, not from a read.
pub const SOLID: u8 = 4;
/// Flag: the first k-mer is the last one of the super-k-mer before, which reached [`KMERS_MAX`].
pub const REPEATED: u8 = 8;
/// Flag: the super-k-mer is from a contig, with the counts of its k-mers in the aligned reads.
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

/// Returns the base that a letter stands for, or a number above 3.
pub fn code(letter: u8) -> u8 {
    CODES[usize::from(letter)]
}

/// Returns whether a byte is not a IUPAC letter for nucleotides.
pub fn is_no_base(letter: u8) -> bool {
    code(letter) == NO_BASE
}

/// Returns whether a byte is a IUPAC letter for an amino acid and not for a nucleotide.
pub fn is_amino_acid(letter: u8) -> bool {
    b"EFIJLOPQZ".contains(&letter.to_ascii_uppercase())
}

/// A stretch of consecutive k-mers in the same bucket.
pub struct SuperKmer<'a> {
    /// Bucket that it goes to.
    pub bucket: usize,
    /// Number of its k-mers.
    pub kmers: usize,
    /// [`LEFT_OUTSIDE`], [`RIGHT_OUTSIDE`], [`REPEATED`].
    pub flags: u8,
    /// First base of its first k-mer, among the bases that the scanner has received since a flush.
    pub first: usize,
    /// The packed bases of the scanner.
    words: &'a [u64],
}

impl SuperKmer<'_> {
    /// Writes the packed bases of its k-mers at the start of `room`, a word at a time; returns the
    /// number of bytes, of which the last may contain further bases.
    #[inline(always)]
    pub fn pack(&self, k: usize, room: &mut [u8]) -> usize {
        let size_bytes = (self.kmers + k - 1).div_ceil(4);
        let (eights, _) = room.as_chunks_mut::<{ size_of::<u64>() }>();
        let mut place = self.first;
        for eight in &mut eights[..size_bytes.div_ceil(size_of::<u64>())] {
            *eight = window(self.words, place).to_be_bytes();
            place += WORD_BASES;
        }
        size_bytes
    }
}

/// Counts taken while reads are cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadCounts {
    /// Bases of the reads that are not dropped: letters that stand for a single base.
    pub bases: u64,
    /// Pairs of consecutive k-mers in reads.
    pub pairs: u64,
    /// Distinct k-mers that are followed by another one in a read, on the strand that was read.
    /// Counted with edges only, like `edges`.
    pub followed: u64,
    /// Distinct pairs of consecutive k-mers in reads, on the strand that was read.
    pub edges: u64,
    /// K-mers that occur once in the reads and are in no bucket.
    pub singles: u64,
    /// Length of the longest read, in letters.
    pub longest: u64,
    /// Bases in stretches without ambiguous letters.
    pub stretches: StretchBases,
    /// Counts of the reads as they were trimmed.
    pub trimmed: TrimCounts,
}

impl ReadCounts {
    /// Returns the counts as an array, without those of trimmed reads.
    pub fn numbers(&self) -> [u64; 6] {
        [self.bases, self.pairs, self.followed, self.edges, self.singles, self.longest]
    }

    /// Creates counts from the array of [`ReadCounts::numbers`].
    pub fn of([bases, pairs, followed, edges, singles, longest]: [u64; 6]) -> Self {
        Self { bases, pairs, followed, edges, singles, longest, ..Self::default() }
    }

    /// Adds the counts of other reads.
    pub fn add(&mut self, other: &Self) {
        let longest = self.longest.max(other.longest);
        let (mut trimmed, mut stretches) = (self.trimmed, self.stretches);
        trimmed.add(&other.trimmed);
        stretches.merge(&other.stretches);
        let (numbers, added) = (self.numbers(), other.numbers());
        *self = Self::of(std::array::from_fn(|index| numbers[index].saturating_add(added[index])));
        (self.longest, self.trimmed, self.stretches) = (longest, trimmed, stretches);
    }
}

/// Cuts reads into super-k-mers.
pub trait ReadCutter {
    /// Adds a read to a buffer; emits the buffered super-k-mers when the buffer is full.
    ///
    /// # Errors
    /// Position of a byte that is not a IUPAC letter for nucleotides.
    fn take(&mut self, read: &[u8], emit: &mut impl FnMut(&SuperKmer<'_>)) -> Result<(), usize>;

    /// Emits all buffered super-k-mers.
    fn flush(&mut self, emit: &mut impl FnMut(&SuperKmer<'_>));
}

/// Cutter of reads, with its buffers.
pub struct Scanner {
    /// Counts of all reads so far.
    pub tally: ReadCounts,
    k: usize,
    drop_ambiguous: bool,
    codes: Vec<u8>,
    stretches: Vec<(usize, usize)>,
    words: Vec<u64>,
    minimizers: Minimizers,
}

impl Scanner {
    /// Creates a scanner for k-mers of `k` bases and 2^`bucket_bits` buckets. Reads are cut at
    /// ambiguous letters, or dropped if they have any.
    pub fn new(k: usize, bucket_bits: u32, drop_ambiguous: bool) -> Self {
        Self {
            tally: ReadCounts::default(),
            k,
            drop_ambiguous,
            codes: Vec::new(),
            stretches: Vec::new(),
            words: Vec::new(),
            minimizers: Minimizers::new(k, bucket_bits),
        }
    }

    /// Like [`Scanner::take`], for bases as numbers.
    pub fn take_codes(&mut self, codes: &[Base], emit: &mut impl FnMut(&SuperKmer<'_>)) {
        if self.codes.len() + codes.len() > CHUNK_CODES {
            self.flush(emit);
        }
        let start = self.codes.len();
        self.codes.extend_from_slice(codes);
        let stretch = (start, start + codes.len());
        add_stretch(stretch, self.k, (&mut self.stretches, &mut self.tally.pairs));
    }

    #[inline(always)]
    fn cut(&self, start: usize, end: usize, emit: &mut impl FnMut(&SuperKmer<'_>)) {
        // Position of the last (k-1)-mer, with which no k-mer begins.
        let last = end + 1 - self.k;
        let mut first = start;
        while first <= last {
            let next = self.minimizers.run_end(first, last);
            // The (k-1)-mers at `first..next`, and the k-mers that begin or end with one of them.
            let run = start.max(first.saturating_sub(1))..next.min(last);
            let mut flags = if first > start { LEFT_OUTSIDE } else { 0 };
            let mut from = run.start;
            while from < run.end {
                let count = (run.end - from).min(KMERS_MAX);
                let ends = from + count == run.end && next <= last;
                emit(&SuperKmer {
                    bucket: self.minimizers.bucket(first),
                    kmers: count,
                    flags: flags | if ends { RIGHT_OUTSIDE } else { 0 },
                    words: &self.words,
                    first: from,
                });
                flags = REPEATED;
                from += if from + count < run.end { count - 1 } else { count };
            }
            first = next;
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
            tally.stretches.add(end - start);
            add_stretch((start, end), *k, (&mut *stretches, &mut tally.pairs));
        })?;
        tally.bases += bases;
        tally.longest = tally.longest.max(read.len() as u64);
        Ok(())
    }

    fn flush(&mut self, emit: &mut impl FnMut(&SuperKmer<'_>)) {
        if !self.stretches.is_empty() {
            // No stretch contains an ambiguous letter, so any base may stand in for it.
            self.codes.iter_mut().for_each(|code| *code &= 3);
            pack(&self.codes, &mut self.words);
            self.minimizers.find(&self.words, self.codes.len());
            for &(start, end) in &self.stretches {
                self.cut(start, end, emit);
            }
        }
        self.codes.clear();
        self.stretches.clear();
    }
}

/// Appends the codes of a read, and calls `take` with the start and end of each stretch of bases
/// between ambiguous letters; with `drop_ambiguous`, a read with such a letter has no stretches.
/// Returns the number of bases in the stretches.
///
/// # Errors
/// Position of a byte that is not a IUPAC letter for nucleotides; nothing is appended then.
#[inline]
pub fn append_codes(
    read: &[u8],
    drop_ambiguous: bool,
    codes: &mut Vec<u8>,
    mut take: impl FnMut(usize, usize),
) -> Result<u64, usize> {
    let start = codes.len();
    if put_codes(read, codes) {
        take(start, start + read.len());
        return Ok(read.len() as u64);
    }
    let added = &codes[start..];
    if let Some(place) = added.iter().position(|&code| code == NO_BASE) {
        codes.truncate(start);
        return Err(place);
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

/// Appends the codes of a read; returns whether all of its letters stand for a single base.
#[inline]
pub fn put_codes(read: &[u8], codes: &mut Vec<u8>) -> bool {
    let start = codes.len();
    codes.resize(start + read.len(), 0);
    let added = &mut codes[start..];
    let are_bases = codes_of_bases(read, added);
    if !are_bases {
        added.iter_mut().zip(read).for_each(|(code, &letter)| *code = self::code(letter));
    }
    are_bases
}

/// Adds a stretch if it has k-mers, and counts its pairs of consecutive k-mers.
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

/// Writes the codes of letters, many at a time; returns whether all letters stand for a single
/// base. The codes are valid only then.
#[inline]
fn codes_of_bases(letters: &[u8], codes: &mut [u8]) -> bool {
    if letters.len() < TOGETHER {
        return letters.iter().zip(codes).all(|(&letter, code)| {
            *code = CODES[usize::from(letter)];
            *code < AMBIGUOUS
        });
    }
    cpu::fastest(
        #[inline(always)]
        || {
            let mut invalid = [0; TOGETHER];
            let (groups, _) = letters.as_chunks();
            for (letters, codes) in groups.iter().zip(codes.as_chunks_mut().0) {
                code_together(letters, codes, &mut invalid);
            }
            // The last chunk may overlap the one before it.
            if let (Some(letters), Some(codes)) = (letters.last_chunk(), codes.last_chunk_mut()) {
                code_together(letters, codes, &mut invalid);
            }
            invalid.iter().fold(0, |any, mark| any | mark) == 0
        },
    )
}

/// Writes the codes of letters, and marks in `invalid` the lanes with a letter that is not a base.
#[inline(always)]
fn code_together(
    letters: &[u8; TOGETHER],
    codes: &mut [u8; TOGETHER],
    invalid: &mut [u8; TOGETHER],
) {
    for ((&letter, code), mark) in letters.iter().zip(codes).zip(invalid) {
        let upper = letter & !0x20;
        let is_base = u8::from(upper == b'A')
            | u8::from(upper == b'C')
            | u8::from(upper == b'G')
            | u8::from(upper == b'T')
            | u8::from(upper == b'U');
        // Bits 1 and 2 distinguish these letters: 00, 01, 11, 10, and 10 for U too.
        *code = (letter >> 1 ^ letter >> 2) & 3;
        *mark |= is_base ^ 1;
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

    /// Counts each k-mer by the buckets of its (k-1)-mers, from the definition.
    fn expected(read: &[u8], k: usize) -> BTreeMap<(usize, u64), u32> {
        let mut kmer_counts = BTreeMap::new();
        for stretch in read.split(|byte| !b"ACGT".contains(byte)).filter(|part| part.len() >= k) {
            let codes: Vec<u8> = stretch.iter().map(|&byte| CODES[usize::from(byte)]).collect();
            let (mut words, mut minimizers) = (Vec::new(), Minimizers::new(k, BITS));
            pack(&codes, &mut words);
            minimizers.find(&words, codes.len());
            for start in 0..=codes.len() - k {
                let key = u64::of(&codes[start..], k);
                let mut both = [start, start + 1].map(|place| minimizers.bucket(place)).to_vec();
                both.dedup();
                for bucket in both {
                    *kmer_counts.entry((bucket, key)).or_insert(0) += 1;
                }
            }
        }
        kmer_counts
    }

    proptest! {
        #[test]
        fn all_kmers_are_in_the_buckets_of_their_ends(
            reads in prop::collection::vec("[ACGTN]{0,3}[ACGT]{0,700}[N]?[ACGT]{0,60}", 1..12),
            k in (7usize..=15).prop_map(|half| 2 * half + 1),
        ) {
            let mut expected_counts = BTreeMap::new();
            let mut kmer_counts = BTreeMap::new();
            let mut scanner = Scanner::new(k, BITS, false);
            let mut bytes = Vec::new();
            let mut emit = |part: &SuperKmer<'_>| {
                bytes.clear();
                bytes.resize(200, 0);
                part.pack(k, &mut bytes);
                let (kmers, flags) = (part.kmers, part.flags);
                let (counts, weight) = (&[][..], 0);
                let record = PackedSuperKmer { kmers, flags, weight, counts, bytes: &bytes };
                let mut is_repeated = flags & REPEATED != 0;
                record.each(k, |forward: u64, _, _| {
                    if std::mem::take(&mut is_repeated) {
                        return;
                    }
                    *kmer_counts.entry((part.bucket, forward)).or_insert(0) += 1;
                });
            };
            for read in &reads {
                for (key, count) in expected(read.as_bytes(), k) {
                    *expected_counts.entry(key).or_insert(0) += count;
                }
                scanner.take(read.as_bytes(), &mut emit).unwrap();
            }
            scanner.flush(&mut emit);
            prop_assert_eq!(kmer_counts, expected_counts);
        }

        #[test]
        fn codes_are_those_of_the_table(
            letters in prop::collection::vec(
                prop_oneof![40 => prop::sample::select(b"ACGTUacgtu".to_vec()), 1 => any::<u8>()],
                0..200,
            ),
            before in 0usize..40,
        ) {
            let mut codes = vec![9; before];
            let mut stretches = Vec::new();
            let take = |start, end| stretches.push((start, end));
            let bases = append_codes(&letters, false, &mut codes, take);
            let of_table: Vec<u8> = letters.iter().map(|&letter| code(letter)).collect();
            if let Some(place) = of_table.iter().position(|&code| code == NO_BASE) {
                prop_assert_eq!(bases, Err(place));
                prop_assert_eq!(codes.len(), before);
            } else {
                prop_assert_eq!(&codes[before..], &of_table[..]);
                let all = of_table.iter().filter(|&&code| code < AMBIGUOUS).count();
                prop_assert_eq!(bases, Ok(all as u64));
                let in_stretches: usize = stretches.iter().map(|(start, end)| end - start).sum();
                prop_assert_eq!(in_stretches, all);
            }
        }
    }

    #[test]
    fn letters_are_read_in_either_case_and_foreign_bytes_are_refused() {
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
