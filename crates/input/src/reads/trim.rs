//! Trimming of reads at their ends: adapters, by the overlap of mates or by their sequence, then
//! tails of G, then tails of low quality (`spec/workloads/assemble`, *Trimming*).
//!
//! The mates of a fragment shorter than a read overlap in all of it, and what follows it in either
//! is the adapter. Most pairs are rejected by a word of 32 bases at a time.

use serde::{Deserialize, Serialize};

use super::cached::CODES;

/// Bases of the shortest overlap of mates, which are judged first.
pub const OVERLAP_MIN: usize = 32;
/// Bases of which one may differ, between mates or from an adapter.
pub const MISMATCH_PART: usize = 8;
/// Bases in which the ends of two mates after a fragment are compared, and the part of them that
/// may differ.
pub const TAIL_BASES: usize = 8;
/// Bases of which one may differ between two tails, or between a tail and an adapter.
pub const TAIL_MISMATCH_PART: usize = 4;
/// Bases of a tail that are compared with an adapter.
pub const TAIL_ADAPTER_BASES: usize = 16;
/// Fewest bases of an adapter that are found by its sequence.
pub const ADAPTER_MIN: usize = 12;
/// Bases at the start of an adapter, of which one may differ.
pub const SEED_BASES: usize = 8;
/// Fewest bases of a tail of G.
pub const POLY_G_MIN: usize = 12;
/// Most other letters in a tail of G.
pub const POLY_G_OTHERS_MAX: usize = 5;
/// Bases at the end of a read whose mean quality is compared.
pub const QUALITY_BASES: usize = 4;
/// Least mean quality of the end of a read.
pub const QUALITY_MIN: u32 = 5;
/// Quality 0 in FASTQ.
pub const QUALITY_ZERO: u8 = 33;
/// Longest reads that are trimmed: sequencers that use these adapters read no longer ones.
pub const TRIMMED_BASES_MAX: usize = 1000;

/// An adapter: the kit that it is of, and its first bases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// Index of its kit in [`KITS`].
    pub kit: usize,
    /// Its first bases.
    pub letters: &'static [u8],
}

/// Kits whose adapters are known.
pub const KITS: [&str; 3] = ["TruSeq", "Nextera", "MGI"];
/// Known adapters, of first and second reads.
pub const ADAPTERS: [Adapter; 6] = [
    Adapter { kit: 0, letters: b"AGATCGGAAGAGCACACGTCTGAACTCCAGTCA" },
    Adapter { kit: 0, letters: b"AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT" },
    Adapter { kit: 1, letters: b"CTGTCTCTTATACACATCTCCGAGCCCACGAGAC" },
    Adapter { kit: 1, letters: b"CTGTCTCTTATACACATCTGACGCTGCCGACGA" },
    Adapter { kit: 2, letters: b"AAGTCGGAGGCCAAGCGGTCTTAGGAAGACAA" },
    Adapter { kit: 2, letters: b"AAGTCGGATCGTAGCCATGTCGTTCTGTGAGCCAAGGAGTTG" },
];

/// Stretches of [`SEED_BASES`] bases that differ from the start of an adapter in one at most, a bit
/// each.
static SEEDS: [u64; 1 << (2 * SEED_BASES - 6)] = seeds();

const fn seeds() -> [u64; 1 << (2 * SEED_BASES - 6)] {
    let mut seeds = [0; 1 << (2 * SEED_BASES - 6)];
    let mut index = 0;
    while index < ADAPTERS.len() {
        let (mut seed, mut place) = (0, 0);
        while place < SEED_BASES {
            seed = seed << 2 | CODES[ADAPTERS[index].letters[place] as usize] as usize;
            place += 1;
        }
        let mut change = 0;
        while change < 4 * SEED_BASES {
            let other = seed ^ (change & 3) << (2 * (change / 4));
            seeds[other / 64] |= 1 << (other % 64);
            change += 1;
        }
        index += 1;
    }
    seeds
}

/// Counts of trimmed reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimCounts {
    /// Reads, trimmed or not.
    pub reads: u64,
    /// Their letters before.
    pub letters: u64,
    /// Adapters.
    pub adapters: CutCounts,
    /// Reads whose cut part begins as the adapters of each of [`KITS`].
    pub kits: [u64; KITS.len()],
    /// Tails of G.
    pub poly_g: CutCounts,
    /// Tails of low quality.
    pub quality: CutCounts,
    /// Reads of which nothing remains.
    pub emptied: u64,
}

/// Counts of reads that were cut for a reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutCounts {
    /// Reads.
    pub reads: u64,
    /// Letters cut off.
    pub letters: u64,
}

impl CutCounts {
    fn add(&mut self, letters: usize) {
        self.reads += u64::from(letters > 0);
        self.letters += letters as u64;
    }
}

impl TrimCounts {
    /// Number of counts.
    pub const NUMBERS: usize = 12;

    /// Returns the counts as an array.
    pub fn numbers(&self) -> [u64; Self::NUMBERS] {
        let Self { reads, letters, adapters, kits, poly_g, quality, emptied } = *self;
        let [first, second, third] = kits;
        let cuts = |cut: CutCounts| (cut.reads, cut.letters);
        let ((a, b), (c, d), (e, f)) = (cuts(adapters), cuts(poly_g), cuts(quality));
        [reads, letters, a, b, first, second, third, c, d, e, f, emptied]
    }

    /// Creates counts from the array of [`TrimCounts::numbers`].
    pub fn of(numbers: [u64; Self::NUMBERS]) -> Self {
        let [reads, letters, a, b, first, second, third, c, d, e, f, emptied] = numbers;
        let cuts = |reads, letters| CutCounts { reads, letters };
        let (adapters, poly_g, quality) = (cuts(a, b), cuts(c, d), cuts(e, f));
        let kits = [first, second, third];
        Self { reads, letters, adapters, kits, poly_g, quality, emptied }
    }

    /// Adds the counts of other reads.
    pub fn add(&mut self, other: &Self) {
        let (numbers, added) = (self.numbers(), other.numbers());
        *self = Self::of(std::array::from_fn(|index| numbers[index].saturating_add(added[index])));
    }

    /// Returns the letters that were cut off.
    pub fn cut_letters(&self) -> u64 {
        self.adapters.letters + self.poly_g.letters + self.quality.letters
    }

    /// Adds a read of `letters` letters that was cut to these lengths in turn: before its adapter,
    /// its tail of G, its tail of low quality.
    pub fn add_read(&mut self, letters: usize, lengths: [usize; 3], kit: Option<usize>) {
        self.reads += 1;
        self.letters += letters as u64;
        self.adapters.add(letters - lengths[0]);
        self.poly_g.add(lengths[0] - lengths[1]);
        self.quality.add(lengths[1] - lengths[2]);
        self.emptied += u64::from(letters > 0 && lengths[2] == 0);
        if let Some(kit) = kit {
            self.kits[kit] += 1;
        }
    }
}

/// A read: its letters, and its qualities as in FASTQ; none in FASTA.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadRecord<'t> {
    /// Letters.
    pub letters: &'t [u8],
    /// A byte for each letter, or none at all.
    pub qualities: &'t [u8],
}

/// Whether a byte is a sign from `!` to `~`.
#[inline]
pub(super) fn is_quality(byte: u8) -> bool {
    (b'!'..=b'~').contains(&byte)
}

/// Whether all bytes are qualities.
#[inline]
pub(super) fn are_qualities(bytes: &[u8]) -> bool {
    // Without an early end, so that many bytes are compared at a time.
    !bytes.iter().fold(false, |is_other, byte| is_other | !is_quality(*byte))
}

/// Returns the numbers of letters that remain of the one or two reads of a group.
pub(super) fn of_group(reads: &[ReadRecord<'_>], counts: &mut TrimCounts) -> [usize; 2] {
    match *reads {
        [first, second] => trimmed([first, second], counts),
        [read] => [trimmed([read], counts)[0], 0],
        _ => [0; 2],
    }
}

/// Returns the numbers of letters that remain of a read and its mate, if it has one.
pub fn trimmed<const N: usize>(reads: [ReadRecord<'_>; N], counts: &mut TrimCounts) -> [usize; N] {
    let mut fragment = None;
    if let [first, second] = reads[..]
        && first.letters.len().max(second.letters.len()) <= TRIMMED_BASES_MAX
    {
        fragment = fragment_bases(first.letters, second.letters);
    }
    reads.map(|read| {
        let letters = read.letters;
        if letters.len() > TRIMMED_BASES_MAX {
            counts.add_read(letters.len(), [letters.len(); 3], None);
            return letters.len();
        }
        let end = match fragment {
            Some(bases) => bases.min(letters.len()),
            None => adapter(letters),
        };
        let before_g = before_poly_g(&letters[..end]);
        let good = match read.qualities.get(..before_g) {
            Some(qualities) if !read.qualities.is_empty() => before_bad(qualities),
            _ => before_g,
        };
        counts.add_read(letters.len(), [end, before_g, good], kit(&letters[end..]));
        good
    })
}

/// Returns the length of the fragment of two mates, if it is less than that of either: that in
/// which they differ least, the longest of those.
fn fragment_bases(first: &[u8], second: &[u8]) -> Option<usize> {
    let (bases1, bases2) = (first.len(), second.len());
    if bases1.min(bases2) < OVERLAP_MIN {
        return None;
    }
    let mut best: Option<(usize, usize)> = None;
    let mut judge = |bases: usize| {
        if let Some(count) = mismatches(first, second, bases)
            && best.is_none_or(|(least, _)| count <= least)
            && have_tails(&first[bases.min(bases1)..], &second[bases.min(bases2)..])
        {
            best = Some((count, bases));
        }
    };
    // The first word of the first read, against all of the other strand of the second.
    let start = first[..OVERLAP_MIN].iter().fold(0, |word, &letter| word << 2 | base(letter));
    let mut passing = [0_u64; TRIMMED_BASES_MAX / 64 + 1];
    let mut word = 0;
    for (place, &letter) in second.iter().rev().enumerate() {
        word = word << 2 | (3 - base(letter));
        let offset = (place + 1).wrapping_sub(OVERLAP_MIN);
        if differing(start, word) <= OVERLAP_MIN / MISMATCH_PART && offset <= bases2 {
            let bases = bases2 - offset;
            passing[bases / 64] |= 1 << (bases % 64);
        }
    }
    for (index, mut bits) in passing.into_iter().enumerate() {
        while bits != 0 {
            let bases = 64 * index + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if bases < bases1.max(bases2) {
                judge(bases);
            }
        }
    }
    (bases2 + 1..bases1).for_each(judge);
    best.map(|(_, bases)| bases)
}

/// Returns the mismatches of two mates of a fragment of `bases` bases, if they are few.
fn mismatches(first: &[u8], second: &[u8], bases: usize) -> Option<usize> {
    let (from, to) = (bases.saturating_sub(second.len()), bases.min(first.len()));
    let (left, right) = (&first[from..to], &second[bases - to..bases - from]);
    let mut turned = right.iter().rev();
    let (start, rest) = left.split_at(OVERLAP_MIN);
    let in_start = unpaired(start, turned.by_ref().take(OVERLAP_MIN));
    if in_start > OVERLAP_MIN / MISMATCH_PART {
        return None;
    }
    let count = in_start + unpaired(rest, turned);
    (count <= left.len() / MISMATCH_PART).then_some(count)
}

/// Returns how many letters are not bases that pair with the other ones.
fn unpaired<'t>(left: &[u8], right: impl Iterator<Item = &'t u8>) -> usize {
    left.iter().zip(right).filter(|(left, right)| !are_paired(**left, **right)).count()
}

/// Whether two letters are bases that pair.
fn are_paired(left: u8, right: u8) -> bool {
    let (left, right) = (CODES[usize::from(left)], CODES[usize::from(right)]);
    left < 4 && left + right == 3
}

/// Whether what follows the fragment in two mates may be adapters: both begin alike, as those of a
/// kit do, or each as a known one.
fn have_tails(first: &[u8], second: &[u8]) -> bool {
    let count = first.len().min(second.len()).min(TAIL_BASES);
    count > 0 && different(first, second, count) <= count / TAIL_MISMATCH_PART
        || [first, second].iter().all(|tail| tail.is_empty() || tail_adapter(tail).is_some())
}

/// Returns the index of the first known adapter that a tail begins as.
fn tail_adapter(tail: &[u8]) -> Option<usize> {
    ADAPTERS.iter().position(|adapter| {
        let count = tail.len().min(TAIL_ADAPTER_BASES);
        different(tail, adapter.letters, count) <= count / TAIL_MISMATCH_PART
    })
}

/// Returns the kit of what was cut off, if that is long enough to tell.
fn kit(tail: &[u8]) -> Option<usize> {
    let adapter = if tail.len() < SEED_BASES { None } else { tail_adapter(tail) };
    adapter.map(|index| ADAPTERS[index].kit)
}

/// Returns in how many of their first `count` letters two texts differ. An ambiguous letter differs
/// from all.
fn different(first: &[u8], second: &[u8], count: usize) -> usize {
    let is_same = |(first, second): &(&u8, &u8)| {
        let code = CODES[usize::from(**first)];
        code < 4 && code == CODES[usize::from(**second)]
    };
    count - first[..count].iter().zip(&second[..count]).filter(is_same).count()
}

/// Returns the place of the first known adapter in a read, or the end of the read.
fn adapter(letters: &[u8]) -> usize {
    let mut seed = 0;
    for (place, &letter) in letters.iter().enumerate() {
        seed = (seed << 2 | base(letter) as usize) & ((1 << (2 * SEED_BASES)) - 1);
        if SEEDS[seed / 64] >> (seed % 64) & 1 == 1
            && let Some(start) = (place + 1).checked_sub(SEED_BASES)
            && is_adapter(&letters[start..])
        {
            return start;
        }
    }
    letters.len()
}

/// Whether a text begins as a known adapter.
fn is_adapter(text: &[u8]) -> bool {
    ADAPTERS.iter().any(|adapter| {
        let count = text.len().min(adapter.letters.len());
        count >= ADAPTER_MIN
            && different(text, adapter.letters, SEED_BASES) <= 1
            && different(text, adapter.letters, count) <= count / MISMATCH_PART
    })
}

/// Returns the letters before the longest tail of G.
fn before_poly_g(letters: &[u8]) -> usize {
    let (mut others, mut end) = (0, letters.len());
    for (index, letter) in letters.iter().rev().enumerate() {
        let count = index + 1;
        if letter.eq_ignore_ascii_case(&b'G') {
            if count >= POLY_G_MIN && others <= count / MISMATCH_PART {
                end = letters.len() - count;
            }
        } else {
            others += 1;
            if others > POLY_G_OTHERS_MAX {
                break;
            }
        }
    }
    end
}

/// Returns the number of letters before the tail of low quality.
fn before_bad(qualities: &[u8]) -> usize {
    let mut end = qualities.len();
    while end > 0 {
        let window = &qualities[end.saturating_sub(QUALITY_BASES)..end];
        let sum: u32 =
            window.iter().map(|&byte| u32::from(byte.saturating_sub(QUALITY_ZERO))).sum();
        if sum >= QUALITY_MIN * window.len() as u32 {
            break;
        }
        end -= 1;
    }
    end
}

/// Returns the code of a base; that of A for an ambiguous letter, which only adds candidates.
#[inline(always)]
fn base(letter: u8) -> u64 {
    u64::from(CODES[usize::from(letter)] & 3)
}

/// Returns in how many bases two words differ.
#[inline(always)]
fn differing(first: u64, second: u64) -> usize {
    let bits = first ^ second;
    ((bits | bits >> 1) & (u64::MAX / 3)).count_ones() as usize
}
