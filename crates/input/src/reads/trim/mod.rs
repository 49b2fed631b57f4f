//! Trimming of reads at their ends: adapters, by the overlap of mates or by their sequence, then
//! tails of G, then tails of low quality (`spec/workloads/assemble`, *Trimming*).
//!
//! The mates of a fragment shorter than a read overlap in all of it, and what follows it in either
//! is the adapter. Most pairs are rejected by a word of 32 bases at a time.

mod adapters;

use serde::{Deserialize, Serialize};

use super::cached::CODES;
pub use adapters::{
    ADAPTER_MIN, ADAPTERS, Adapter, KITS, SEED_BASES, TAIL_ADAPTER_BASES, TAIL_MISMATCH_PART,
};
use adapters::{different, kit, place_of_adapter, tail_adapter};

/// Bases of the shortest overlap of mates, which are judged first.
pub const OVERLAP_MIN: usize = 32;
/// Bases of which one may differ, between mates or from an adapter.
pub const MISMATCH_PART: usize = 8;
/// Bases in which the ends of two mates after a fragment are compared.
pub const TAIL_BASES: usize = 8;
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
            None => place_of_adapter(letters),
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
