//! Bases packed 32 to a word, the first base in the highest bits, and word-wise comparison of
//! packed sequences.

use cuesta_core::cpu;

use crate::kernel::kmer::Base;

/// Bases in a word.
pub const WORD_BASES: usize = 32;
/// Words that must follow a packed sequence, which are read together with its last ones.
pub const PADDING_WORDS: usize = 2;

/// Returns the 32 bases from `place` on; those beyond the sequence are meaningless.
#[inline(always)]
pub fn window(words: &[u64], place: usize) -> u64 {
    let (word, shift) = (place / WORD_BASES, 2 * (place % WORD_BASES));
    let both = u128::from(words[word]) << 64 | u128::from(words[word + 1]);
    (both << shift >> 64) as u64
}

/// Returns the 32 bases before `place`, which is not 0; if there are fewer, they are in the lowest
/// bits.
#[inline(always)]
fn window_before(words: &[u64], place: usize) -> u64 {
    if place >= WORD_BASES {
        window(words, place - WORD_BASES)
    } else {
        words[0] >> (64 - 2 * place)
    }
}

/// Returns the reverse complement of 32 bases.
#[inline(always)]
pub fn turned(word: u64) -> u64 {
    // Bytes, then the halves of each, then the bases of each half.
    let (low, lowest) = (u64::MAX / 0x11, u64::MAX / 0x5);
    let bytes = word.swap_bytes();
    let halves = (bytes >> 4) & low | (bytes & low) << 4;
    !((halves >> 2) & lowest | (halves & lowest) << 2)
}

/// Returns the base at a position.
#[inline(always)]
pub fn base(words: &[u64], place: usize) -> Base {
    (words[place / WORD_BASES] >> (62 - 2 * (place % WORD_BASES))) as Base & 3
}

/// Appends the bases `start..end` of a packed sequence to `codes`, one per byte.
pub fn unpack(words: &[u64], (start, end): (usize, usize), codes: &mut Vec<Base>) {
    codes.reserve(end - start);
    let mut place = start;
    while place < end {
        let word = window(words, place);
        let count = WORD_BASES.min(end - place);
        let mut all = [0; WORD_BASES];
        for (index, eight) in all.chunks_exact_mut(8).enumerate() {
            // 16 bits are eight bases, the first in the highest bits.
            let bits = word >> (48 - 16 * index) & 0xFFFF;
            eight.copy_from_slice(&unpacked_eight(bits).to_be_bytes());
        }
        codes.extend_from_slice(&all[..count]);
        place += count;
    }
}

/// Packs the lowest two bits of eight bytes into 16 bits.
#[inline(always)]
fn packed_eight(eight: u64) -> u64 {
    let fours = (eight | eight >> 6) & 0x000F_000F_000F_000F;
    let pairs = (fours | fours >> 12) & 0x0000_00FF_0000_00FF;
    (pairs | pairs >> 24) & 0xFFFF
}

/// Unpacks 16 bits into eight bytes of two bits each.
#[inline(always)]
fn unpacked_eight(eight: u64) -> u64 {
    let pairs = (eight | eight << 24) & 0x0000_00FF_0000_00FF;
    let fours = (pairs | pairs << 12) & 0x000F_000F_000F_000F;
    (fours | fours << 6) & 0x0303_0303_0303_0303
}

/// Appends packed `items`, eight of which `eight` converts to codes of bases at a time, then
/// padding.
#[inline(always)]
fn pack(items: &[u8], eight: impl Fn(u64) -> u64, words: &mut Vec<u64>) {
    let mut chunks = items.chunks_exact(WORD_BASES);
    for chunk in chunks.by_ref() {
        let mut word = 0;
        for part in chunk.chunks_exact(8) {
            let part = part.try_into().map_or(0, u64::from_be_bytes);
            word = word << 16 | packed_eight(eight(part));
        }
        words.push(word);
    }
    let mut last = [0; WORD_BASES];
    last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
    let mut word = 0;
    for part in last.chunks_exact(8) {
        let part = part.try_into().map_or(0, u64::from_be_bytes);
        word = word << 16 | packed_eight(eight(part));
    }
    words.push(word);
    words.extend([0; PADDING_WORDS]);
}

/// Appends packed codes of bases, then padding.
pub fn pack_codes(codes: &[Base], words: &mut Vec<u64>) {
    pack(codes, |eight| eight, words);
}

/// Appends packed letters A, C, G, T and U of either case, then padding.
pub fn pack_letters(letters: &[u8], words: &mut Vec<u64>) {
    // Bits 1 and 2 distinguish these letters: 00, 01, 11, 10, and 10 for U too.
    pack(letters, |eight| (eight >> 1 ^ eight >> 2) & 0x0303_0303_0303_0303, words);
}

/// Returns whether all letters are A, C, G, T or U, in either case.
pub fn are_bases(letters: &[u8]) -> bool {
    let Some(last) = letters.last_chunk::<WORD_BASES>() else {
        return letters.iter().fold(0, |invalid, &letter| invalid | is_invalid(letter)) == 0;
    };
    cpu::fastest(
        #[inline(always)]
        || {
            let mut invalid = [0; WORD_BASES];
            for letters in letters.as_chunks().0 {
                mark_invalid(letters, &mut invalid);
            }
            // The last chunk may overlap the one before it.
            mark_invalid(last, &mut invalid);
            invalid.iter().fold(0, |any, mark| any | mark) == 0
        },
    )
}

/// Marks the lanes with a letter that is not a base.
#[inline(always)]
fn mark_invalid(letters: &[u8; WORD_BASES], invalid: &mut [u8; WORD_BASES]) {
    for (mark, &letter) in invalid.iter_mut().zip(letters) {
        *mark |= is_invalid(letter);
    }
}

/// Returns 1 for a letter that is not a base.
#[inline(always)]
fn is_invalid(letter: u8) -> u8 {
    let upper = letter & 0xDF;
    let is_base = u8::from(upper == b'A')
        | u8::from(upper == b'C')
        | u8::from(upper == b'G')
        | u8::from(upper == b'T')
        | u8::from(upper == b'U');
    is_base ^ 1
}

/// Alignment of a read with a text, without gaps: base `i` of the read is at `origin + i`, or, on
/// the reverse strand, its complement is at `origin - i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Position of base 0 of the read, which may be outside the text.
    pub origin: i64,
    /// Whether the read is on the reverse strand.
    pub is_turned: bool,
}

impl Alignment {
    /// Returns the position in the text of a base of the read.
    #[inline(always)]
    pub fn place(self, base: usize) -> i64 {
        if self.is_turned { self.origin - base as i64 } else { self.origin + base as i64 }
    }

    /// Returns the number of bases from `from` on that match the text, at most `most`, all of which
    /// must be within both.
    #[inline]
    pub fn same_ahead(self, read: &[u64], text: &[u64], from: usize, most: usize) -> usize {
        let place = self.place(from) as usize;
        let mut same = 0;
        while same < most {
            let text_bases = if self.is_turned {
                turned(window_before(text, place + 1 - same))
            } else {
                window(text, place + same)
            };
            let differences = window(read, from + same) ^ text_bases;
            if differences != 0 {
                return most.min(same + differences.leading_zeros() as usize / 2);
            }
            same += WORD_BASES;
        }
        most
    }

    /// Returns the number of bases before `from` that match the text, at most `most`, all of which
    /// must be within both.
    #[inline]
    pub fn same_behind(self, read: &[u64], text: &[u64], from: usize, most: usize) -> usize {
        let place = self.place(from);
        let mut same = 0;
        while same < most {
            let text_bases = if self.is_turned {
                turned(window(text, (place + 1) as usize + same))
            } else {
                window_before(text, place as usize - same)
            };
            let differences = window_before(read, from - same) ^ text_bases;
            if differences != 0 {
                return most.min(same + differences.trailing_zeros() as usize / 2);
            }
            same += WORD_BASES;
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::kmer::complement;
    use proptest::prelude::*;

    fn packed(codes: &[Base]) -> Vec<u64> {
        let mut words = Vec::new();
        pack_codes(codes, &mut words);
        words
    }

    proptest! {
        #[test]
        fn packed_bases_are_unpacked_unchanged(
            codes in prop::collection::vec(0u8..4, 0..200),
            cut in 0usize..200,
        ) {
            let words = packed(&codes);
            let letters: Vec<u8> =
                codes.iter().map(|&code| b"ACGTacgu"[usize::from(code) + (cut % 2) * 4]).collect();
            prop_assert!(are_bases(&letters));
            let mut of_letters = Vec::new();
            pack_letters(&letters, &mut of_letters);
            prop_assert_eq!(&words, &of_letters);
            let start = cut.min(codes.len());
            let mut back = Vec::new();
            unpack(&words, (start, codes.len()), &mut back);
            prop_assert_eq!(&back, &codes[start..]);
            for (place, &code) in codes.iter().enumerate() {
                prop_assert_eq!(base(&words, place), code);
            }
        }

        #[test]
        fn a_read_is_compared_with_a_text_base_by_base(
            text in prop::collection::vec(0u8..4, 1..150),
            [start, length, from] in [0usize..150, 1usize..150, 0usize..150],
            errors in prop::collection::vec(0usize..150, 0..4),
            is_turned in any::<bool>(),
        ) {
            let start = start % text.len();
            let end = (start + length).min(text.len());
            let mut read = text[start..end].to_vec();
            if is_turned {
                read = read.iter().rev().map(|&code| complement(code)).collect();
            }
            for error in errors {
                let place = error % read.len();
                read[place] = (read[place] + 1) & 3;
            }
            let origin = if is_turned { end as i64 - 1 } else { start as i64 };
            let alignment = Alignment { origin, is_turned };
            let is_same = |base: usize| {
                let text_base = text[alignment.place(base) as usize];
                read[base] == if is_turned { complement(text_base) } else { text_base }
            };
            let from = from % read.len();
            let ahead = (from..read.len()).take_while(|&base| is_same(base)).count();
            let behind = (0..from).rev().take_while(|&base| is_same(base)).count();
            let (words, texts) = (packed(&read), packed(&text));
            prop_assert_eq!(alignment.same_ahead(&words, &texts, from, read.len() - from), ahead);
            prop_assert_eq!(alignment.same_behind(&words, &texts, from, from), behind);
        }
    }

    #[test]
    fn all_letters_but_those_of_bases_are_refused() {
        for letter in 0..=255u8 {
            let expected = b"ACGTUacgtu".contains(&letter);
            for (count, place) in [(3, 1), (32, 31), (70, 0), (70, 40), (70, 69)] {
                let mut letters = vec![b'A'; count];
                letters[place] = letter;
                assert_eq!(are_bases(&letters), expected, "{letter} at {place} of {count}");
            }
        }
    }
}
