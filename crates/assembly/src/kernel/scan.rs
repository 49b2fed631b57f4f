//! Cuts reads into super-k-mers: stretches whose (k-1)-mers belong to one bucket.
//!
//! The bucket of a (k-1)-mer is that of its minimizer, the m-mer of least hash on either strand.
//! Where two k-mers meet in a (k-1)-mer, all k-mers that could meet there are in its bucket, so
//! whether a path branches is decided inside the bucket. A k-mer whose two ends belong to different
//! buckets is in both; [`crate::kernel::table`] knows which of its ends are inside.

use cuesta_core::cpu;
use serde::{Deserialize, Serialize};

use crate::kernel::kmer::Base;
use crate::kernel::minimizers::Minimizers;
use crate::kernel::words::{WORD_BASES, pack, window};

/// Code of a letter that stands for more than one base.
const AMBIGUOUS: u8 = 4;
/// Code of a byte that is no letter of a nucleotide.
const NO_BASE: u8 = 5;
/// Codes that are worked on together: their arrays stay in the first-level cache.
const CHUNK_CODES: usize = 4096;
/// Letters that are worked on together.
const TOGETHER: usize = 32;
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
    /// Writes the bases of its k-mers, four a byte, at the beginning of `room`, a word of them at a
    /// time; how many bytes they take, the last of which may hold more.
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
    /// Letters of the longest read.
    pub longest: u64,
}

impl ReadCounts {
    /// As numbers.
    pub fn numbers(&self) -> [u64; 6] {
        [self.bases, self.pairs, self.followed, self.edges, self.singles, self.longest]
    }

    /// From numbers.
    pub fn of([bases, pairs, followed, edges, singles, longest]: [u64; 6]) -> Self {
        Self { bases, pairs, followed, edges, singles, longest }
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        let longest = self.longest.max(other.longest);
        let (mine, others) = (self.numbers(), other.numbers());
        *self = Self::of(std::array::from_fn(|index| mine[index].saturating_add(others[index])));
        self.longest = longest;
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
    drop_ambiguous: bool,
    codes: Vec<u8>,
    stretches: Vec<(usize, usize)>,
    words: Vec<u64>,
    minimizers: Minimizers,
}

impl Scanner {
    /// For k-mers of `k` bases and 2^`bucket_bits` buckets. Reads with ambiguous letters are cut
    /// there, or left out whole.
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

    #[inline(always)]
    fn cut(&self, start: usize, end: usize, emit: &mut impl FnMut(&SuperKmer<'_>)) {
        // The place of the last (k-1)-mer, which no k-mer begins with.
        let last = end + 1 - self.k;
        let mut first = start;
        while first <= last {
            let next = self.minimizers.run_end(first, last);
            // The (k-1)-mers at `first..next`, and the k-mers that end or begin with one of them.
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
            add_stretch((start, end), *k, (&mut *stretches, &mut tally.pairs));
        })?;
        tally.bases += bases;
        tally.longest = tally.longest.max(read.len() as u64);
        Ok(())
    }

    fn flush(&mut self, emit: &mut impl FnMut(&SuperKmer<'_>)) {
        if !self.stretches.is_empty() {
            // An ambiguous letter belongs to no stretch; any base may stand in for it.
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

/// Appends the codes of a read; whether all of its letters stand for one base.
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

/// Writes the codes of letters, some at a time, where all of these stand for one base; whether they
/// do.
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
            let mut others = [0; TOGETHER];
            let (groups, _) = letters.as_chunks();
            for (letters, codes) in groups.iter().zip(codes.as_chunks_mut().0) {
                code_together(letters, codes, &mut others);
            }
            // The last ones may be among those before them, too.
            if let (Some(letters), Some(codes)) = (letters.last_chunk(), codes.last_chunk_mut()) {
                code_together(letters, codes, &mut others);
            }
            others.iter().fold(0, |any, other| any | other) == 0
        },
    )
}

/// The codes of letters; each of `others` is no longer 0 where one stands for no base.
#[inline(always)]
fn code_together(
    letters: &[u8; TOGETHER],
    codes: &mut [u8; TOGETHER],
    others: &mut [u8; TOGETHER],
) {
    for ((&letter, code), other) in letters.iter().zip(codes).zip(others) {
        let upper = letter & !0x20;
        let is_base = u8::from(upper == b'A')
            | u8::from(upper == b'C')
            | u8::from(upper == b'G')
            | u8::from(upper == b'T')
            | u8::from(upper == b'U');
        // Bits 1 and 2 of these letters tell them apart: 00, 01, 11, 10, and 10 for U too.
        *code = (letter >> 1 ^ letter >> 2) & 3;
        *other |= is_base ^ 1;
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
            let (mut words, mut minimizers) = (Vec::new(), Minimizers::new(k, BITS));
            pack(&codes, &mut words);
            minimizers.find(&words, codes.len());
            for start in 0..=codes.len() - k {
                let key = u64::of(&codes[start..], k);
                let mut both = [start, start + 1].map(|place| minimizers.bucket(place)).to_vec();
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
