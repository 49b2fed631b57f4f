//! Blocks that tasks send to parts.
//!
//! A block may begin with a header of numbers, the last of which is the size of the bytes that
//! follow it. Such blocks of several tasks may be concatenated.

use cuesta_core::{Error, Result};

/// Bytes of a number in a header.
const NUMBER_BYTES: usize = size_of::<u64>();

/// Bytes of a block, in memory of any kind.
pub type Bytes = Box<dyn AsRef<[u8]> + Send + Sync>;

/// Blocks that a task sends to parts, in the order of the parts.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    /// The blocks, without gaps.
    pub bytes: Vec<u8>,
    /// End of each block in `bytes`; empty if nothing is sent.
    pub ends: Vec<u64>,
}

impl Blocks {
    /// The blocks of all parts, concatenated.
    pub fn of<B: AsRef<[u8]>>(parts: &[B]) -> Self {
        let mut blocks = Self::default();
        blocks.bytes.reserve_exact(parts.iter().map(|block| block.as_ref().len()).sum());
        for block in parts {
            blocks.bytes.extend_from_slice(block.as_ref());
            blocks.ends.push(blocks.bytes.len() as u64);
        }
        blocks
    }

    /// The block of a part.
    pub fn of_part(&self, part: usize) -> &[u8] {
        let end = |part: usize| self.ends.get(part).copied().unwrap_or_default() as usize;
        let start = part.checked_sub(1).map_or(0, end);
        &self.bytes[start..end(part).max(start)]
    }
}

/// Size of a header of `numbers` numbers, in bytes.
pub const fn header_bytes(numbers: usize) -> usize {
    numbers * NUMBER_BYTES
}

/// Writes a header: these numbers, and the size of the bytes that follow.
pub fn put_header(numbers: &[u64], size_bytes: usize, place: &mut [u8]) {
    let all = numbers.iter().copied().chain([size_bytes as u64]);
    for (place, number) in place.as_chunks_mut().0.iter_mut().zip(all) {
        *place = number.to_le_bytes();
    }
}

/// Returns the headers of a block, with the bytes that follow each. The last of the `N` numbers is
/// the size of these bytes.
///
/// # Errors
/// `Defect` for a block that no task has sent.
pub fn pieces<const N: usize>(mut block: &[u8]) -> Result<Vec<([u64; N], &[u8])>> {
    let damaged = || Error::defect("rounds", "a block ends within a header or the bytes after it");
    let mut pieces = Vec::new();
    while !block.is_empty() {
        let (header, rest) = block.split_at_checked(header_bytes(N)).ok_or_else(damaged)?;
        let places = header.as_chunks().0;
        let numbers: [u64; N] = std::array::from_fn(|index| u64::from_le_bytes(places[index]));
        let size_bytes = numbers.last().map_or(0, |&size_bytes| size_bytes as usize);
        let (bytes, rest) = rest.split_at_checked(size_bytes).ok_or_else(damaged)?;
        pieces.push((numbers, bytes));
        block = rest;
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn blocks_are_separated_by_part() {
        let blocks = Blocks { bytes: b"aabccc".to_vec(), ends: vec![2, 2, 3, 6] };
        let all: Vec<&[u8]> = (0..5).map(|part| blocks.of_part(part)).collect();
        assert_eq!(all, [&b"aa"[..], b"", b"b", b"ccc", b""]);
        let again = Blocks::of(&all[..4]);
        assert_eq!((again.bytes, again.ends), (blocks.bytes, blocks.ends));
    }

    #[test]
    fn pieces_of_several_tasks_are_separated_and_damaged_ones_refused() {
        let mut block = Vec::new();
        for (number, text) in [(7, &b"ab"[..]), (8, b""), (9, b"cde")] {
            let start = block.len();
            block.resize(start + header_bytes(2), 0);
            put_header(&[number], text.len(), &mut block[start..]);
            block.extend_from_slice(text);
        }
        let all = pieces::<2>(&block).unwrap();
        assert_eq!(all, [([7, 2], &b"ab"[..]), ([8, 0], b""), ([9, 3], b"cde")]);
        for cut in [1, 15, 17, block.len() - 1] {
            assert!(pieces::<2>(&block[..cut]).is_err(), "{cut}");
        }
    }
}
