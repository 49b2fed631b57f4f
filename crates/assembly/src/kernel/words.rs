//! Bases packed 32 to a word, the first base in the highest bits.

use crate::kernel::kmer::{Base, Kmer};

/// Bases in a word.
pub const WORD_BASES: usize = 32;
/// Words that must follow packed bases, which are read together with the last ones.
pub const PADDING_WORDS: usize = 2;

/// Replaces `words` by the packed bases and [`PADDING_WORDS`].
pub fn pack(codes: &[Base], words: &mut Vec<u64>) {
    words.clear();
    let mut eights = codes.chunks_exact(8);
    let mut parts = eights.by_ref().map(|eight| {
        let bytes = eight.try_into().map_or(0, u64::from_be_bytes);
        let fours = (bytes | bytes >> 6) & 0x000F_000F_000F_000F;
        let pairs = (fours | fours >> 12) & 0x0000_00FF_0000_00FF;
        (pairs | pairs >> 24) & 0xFFFF
    });
    while let Some(first) = parts.next() {
        let mut word = first << 48;
        for shift in [32, 16, 0] {
            word |= parts.next().unwrap_or(0) << shift;
        }
        words.push(word);
    }
    let done = codes.len() / 8 * 8;
    for (place, &code) in codes.iter().enumerate().skip(done) {
        if place / WORD_BASES == words.len() {
            words.push(0);
        }
        words[place / WORD_BASES] |= u64::from(code) << (62 - 2 * (place % WORD_BASES));
    }
    words.extend([0; PADDING_WORDS]);
}

/// Returns the 32 bases from `place` on; those beyond the last base are meaningless.
#[inline(always)]
pub fn window(words: &[u64], place: usize) -> u64 {
    let (word, shift) = (place / WORD_BASES, 2 * (place % WORD_BASES));
    let both = u128::from(words[word]) << 64 | u128::from(words[word + 1]);
    (both << shift >> 64) as u64
}

/// Returns the k-mer at a position; `k` is less than 32.
#[inline(always)]
pub fn kmer_at(words: &[u64], place: usize, k: usize) -> u64 {
    window(words, place) >> (2 * (WORD_BASES - k))
}

/// Returns the base at a position.
#[inline(always)]
pub fn base_at(words: &[u64], place: usize) -> Base {
    (words[place / WORD_BASES] >> (62 - 2 * (place % WORD_BASES))) as Base & 3
}

/// Returns the reverse complement of 32 bases.
#[inline(always)]
pub fn turned(word: u64) -> u64 {
    word.reverse_complement(WORD_BASES)
}

/// Returns a mask of the positions where two stretches of 32 bases differ: the lower bit of each
/// base, the first base highest.
#[inline(always)]
pub fn differences(first: u64, second: u64) -> u64 {
    let bits = first ^ second;
    (bits | bits >> 1) & (u64::MAX / 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn windows_have_the_bases_that_were_packed(
            codes in prop::collection::vec(0u8..4, 1..200),
            place in 0usize..200,
        ) {
            let mut words = vec![7];
            pack(&codes, &mut words);
            let place = place % codes.len();
            let bases: Vec<Base> =
                codes[place..].iter().copied().chain([0; WORD_BASES]).take(WORD_BASES).collect();
            let expected = bases.iter().fold(0u64, |word, &base| word << 2 | u64::from(base));
            prop_assert_eq!(window(&words, place), expected);
            prop_assert_eq!(base_at(&words, place), codes[place]);
            prop_assert_eq!(kmer_at(&words, place, 21), u64::of(&bases, 21));
            let back = bases.iter().rev().fold(0u64, |word, &base| word << 2 | u64::from(3 - base));
            prop_assert_eq!(turned(expected), back);
            let mut changed = bases.clone();
            changed[5] ^= 2;
            changed[31] ^= 1;
            let changed = changed.iter().fold(0u64, |word, &base| word << 2 | u64::from(base));
            prop_assert_eq!(differences(expected, changed), 1 << (62 - 10) | 1);
        }
    }
}
