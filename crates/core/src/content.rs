//! Checksums that show whether the bytes of a file changed, independent of the order and the pieces
//! in which they are read.
//!
//! Each page of a file has a sum that is linear in its bytes, so pieces of a page may be added by
//! different threads: multilinear hashing with keys of 32 bits (Lemire and Kaser, *Strongly
//! universal string hashing is fast*, 2014). Pages are then records of a [`Digest`].
//!
//! The keys are public: this detects accidents, such as a replaced file, but not a file that was
//! made to have the sum of another.

use std::sync::LazyLock;

use crate::cpu;
use crate::digest::{Digest, Tag, mix};

/// Bytes of a page.
pub const PAGE_BYTES: usize = 8192;
const WORDS: usize = PAGE_BYTES / 8;
/// Words that are added at once, four registers of 512 bits: half as many are half as fast.
const LANES: usize = 32;
const TAG: Tag = Tag::Named(*b"content\0");
const LOW: u64 = 0xFFFF_FFFF;

/// Two odd keys for each word of a page, one for each half of it.
static KEYS: LazyLock<Box<[u64; WORDS]>> = LazyLock::new(|| {
    Box::new(std::array::from_fn(|word| mix(word as u64 + 1) | 0x0000_0001_0000_0001))
});

/// Partial sum of some bytes of a page; `offset` is their offset in the page.
pub fn part(offset: usize, bytes: &[u8]) -> u64 {
    debug_assert!(offset + bytes.len() <= PAGE_BYTES, "bytes of one page");
    let keys = &KEYS[..];
    let (head, bytes) = bytes.split_at(bytes.len().min(offset.next_multiple_of(8) - offset));
    let mut sum = short(keys, offset, head);
    let offset = offset + head.len();
    let (middle, tail) = bytes.as_chunks::<8>();
    let first = offset / 8;
    if let Some(keys) = keys.get(first..first + middle.len()) {
        sum = sum.wrapping_add(words(middle, keys));
    }
    sum.wrapping_add(short(keys, offset + 8 * middle.len(), tail))
}

/// Adds a page to the digest of its file, once the sum has all of its bytes that were read.
pub fn add_page(digest: &mut Digest, page: u64, sum: u64) {
    digest.add(TAG, &[page, sum]);
}

/// Bytes of one word.
fn short(keys: &[u64], offset: usize, bytes: &[u8]) -> u64 {
    if bytes.is_empty() {
        return 0;
    }
    let mut word = [0; 8];
    word[offset % 8..][..bytes.len()].copy_from_slice(bytes);
    product(u64::from_le_bytes(word), keys[offset / 8])
}

fn words(words: &[[u8; 8]], keys: &[u64]) -> u64 {
    cpu::fastest(
        #[inline(always)]
        || {
            let mut sums = [0u64; LANES];
            let (rows, rest) = words.as_chunks::<LANES>();
            let (row_keys, rest_keys) = keys.as_chunks::<LANES>();
            for (row, keys) in rows.iter().zip(row_keys) {
                for ((sum, word), key) in sums.iter_mut().zip(row).zip(keys) {
                    *sum = sum.wrapping_add(product(u64::from_le_bytes(*word), *key));
                }
            }
            for (word, key) in rest.iter().zip(rest_keys) {
                sums[0] = sums[0].wrapping_add(product(u64::from_le_bytes(*word), *key));
            }
            sums.iter().fold(0, |sum: u64, lane| sum.wrapping_add(*lane))
        },
    )
}

#[inline(always)]
fn product(word: u64, key: u64) -> u64 {
    ((word & LOW) * (key & LOW)).wrapping_add((word >> 32) * (key >> 32))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_of_a_page_add_up_to_the_page(
            seed in any::<u64>(),
            mut cuts in proptest::collection::vec(0..=PAGE_BYTES, 0..9),
            length in 0..=PAGE_BYTES,
        ) {
            let bytes: Vec<u8> = (0..length as u64).map(|place| mix(seed ^ place) as u8).collect();
            cuts.extend([0, length]);
            cuts.retain(|&cut| cut <= length);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|ends| part(ends[0], &bytes[ends[0]..ends[1]]));
            let sum = pieces.fold(0u64, u64::wrapping_add);
            prop_assert_eq!(sum, part(0, &bytes));
        }

        #[test]
        fn a_changed_byte_and_two_swapped_bytes_change_the_sum(
            place in 0..PAGE_BYTES,
            other in 0..PAGE_BYTES,
            by in 1..=255u8,
        ) {
            let mut bytes: Vec<u8> = (0..PAGE_BYTES).map(|place| mix(place as u64) as u8).collect();
            let before = part(0, &bytes);
            bytes[place] = bytes[place].wrapping_add(by);
            prop_assert_ne!(part(0, &bytes), before);
            bytes[place] = bytes[place].wrapping_sub(by);
            bytes.swap(place, other);
            prop_assert_eq!(part(0, &bytes) == before, bytes[place] == bytes[other]);
        }
    }

    #[test]
    fn the_golden_value_stands() {
        let mut digest = Digest::default();
        add_page(&mut digest, 3, part(5, b"Cuesta reads what is there."));
        assert_eq!(digest.to_string(), "56e0a78ac3f18bf17b8bd880ef2ebd1a");
    }
}
