//! Fragments of unitigs as bytes: some 18 per fragment of a random genome, plus 8 for its position.
//!
//! A genome is cut into some fragments per hundred bases, so they are most of the memory that
//! joining them needs.

use std::ops::Range;

use cuesta_core::budget::Budget;
use cuesta_core::cpu::prefetch;
use cuesta_core::{Error, Result};

use super::codec::{MERGED, PACKED, flags_of, of_flags, put_packed, unpack};
use super::internal;
use super::kmer::Base;
use super::sequences::{FragmentSummary, Meter, SequenceSource};

/// Bytes in a block, unless a single fragment is longer.
const BLOCK_BITS: u32 = 20;
const BLOCK_BYTES: usize = 1 << BLOCK_BITS;
/// Most bytes of a fragment without its bases: flags and five numbers.
const HEADER_BYTES_MAX: usize = 1 + 5 * 10;
/// Bits of a number in a byte, and the flag of a byte that is not the last of its number.
const NUMBER_BITS: u32 = 7;
const MORE: u8 = 1 << NUMBER_BITS;

/// Fragments, in any order.
pub struct Fragments<'a> {
    blocks: Vec<Vec<u8>>,
    /// Block number and offset in the block of each fragment.
    places: Vec<u64>,
    bases: usize,
    /// Buffer for the bases of the fragment that is being added.
    codes: Vec<Base>,
    meter: Meter<'a>,
}

impl<'a> Fragments<'a> {
    /// Creates an empty collection.
    pub fn none(budget: &'a Budget) -> Self {
        Self {
            blocks: Vec::new(),
            places: Vec::new(),
            bases: 0,
            codes: Vec::new(),
            meter: Meter::new(budget, "the fragments of unitigs"),
        }
    }

    /// Adds a fragment with the bases that `append` appends.
    ///
    /// # Errors
    /// `Input` when it does not fit in the budget.
    pub fn push(
        &mut self,
        piece: FragmentSummary,
        append: impl FnOnce(&mut Vec<Base>),
    ) -> Result<()> {
        let mut codes = std::mem::take(&mut self.codes);
        codes.clear();
        append(&mut codes);
        let size_bytes_max = HEADER_BYTES_MAX + codes.len().div_ceil(PACKED);
        let added = self.add(size_bytes_max, codes.len(), |block| put(&piece, &codes, block));
        self.codes = codes;
        added
    }

    /// Adds all of `other`.
    pub fn append(&mut self, other: Self) {
        let first = (self.blocks.len() as u64) << BLOCK_BITS;
        self.places.extend(other.places.iter().map(|place| first + place));
        self.blocks.extend(other.blocks);
        self.bases += other.bases;
        self.meter.absorb(other.meter);
    }

    /// Iterates over the bytes of all fragments, block by block.
    pub fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        self.blocks.iter().map(Vec::as_slice)
    }

    /// Adds the encoded fragments in `bytes`.
    ///
    /// # Errors
    /// `Defect` when bytes are missing; `Input` when they do not fit in the budget.
    pub fn append_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (_, bases, packed) = opened(rest)?;
            let (fragment, after) = rest.split_at(packed.end);
            self.add(fragment.len(), bases, |block| block.extend_from_slice(fragment))?;
            rest = after;
        }
        Ok(())
    }

    /// Returns the number of fragments.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns whether there are no fragments.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Returns the summary of a fragment, and fills `codes` so that its first `count` and its last
    /// `count` bases are those of the fragment.
    ///
    /// # Errors
    /// `Defect` where the fragment has fewer than `count` bases.
    pub fn ends(
        &self,
        index: usize,
        count: usize,
        codes: &mut Vec<Base>,
    ) -> Result<FragmentSummary> {
        let bytes = self.bytes(index);
        let (piece, bases, packed) = opened(bytes)?;
        let packed = &bytes[packed];
        let last = bases.checked_sub(count).ok_or_else(damaged)?;
        codes.clear();
        unpack(&packed[..count.div_ceil(PACKED)], codes);
        codes.truncate(count);
        unpack(&packed[last / PACKED..], codes);
        codes.truncate(count + bases - last / PACKED * PACKED);
        Ok(piece)
    }

    fn add(
        &mut self,
        size_bytes_max: usize,
        bases: usize,
        append: impl FnOnce(&mut Vec<u8>),
    ) -> Result<()> {
        let fits = |block: &Vec<u8>| block.len() + size_bytes_max <= BLOCK_BYTES;
        if !self.blocks.last().is_some_and(fits) {
            self.blocks.push(Vec::new());
        }
        let number = self.blocks.len() - 1;
        let block = &mut self.blocks[number];
        let before = block.len();
        append(block);
        self.bases += bases;
        self.places.push((number as u64) << BLOCK_BITS | before as u64);
        self.meter.take((block.len() - before + size_of::<u64>()) as u64)
    }

    fn bytes(&self, index: usize) -> &[u8] {
        let place = self.places[index];
        let block = &self.blocks[(place >> BLOCK_BITS) as usize];
        &block[place as usize % BLOCK_BYTES..]
    }
}

impl SequenceSource for Fragments<'_> {
    fn range(&self) -> Range<usize> {
        0..self.len()
    }

    fn bases(&self) -> usize {
        self.bases
    }

    fn prefetch(&self, index: usize) {
        prefetch(self.bytes(index), 0);
    }

    fn read(&self, index: usize, codes: &mut Vec<Base>) -> Result<FragmentSummary> {
        let bytes = self.bytes(index);
        let (piece, bases, packed) = opened(bytes)?;
        let end = codes.len() + bases;
        unpack(&bytes[packed], codes);
        codes.truncate(end);
        Ok(piece)
    }
}

fn put(piece: &FragmentSummary, codes: &[Base], bytes: &mut Vec<u8>) {
    bytes.push(flags_of(piece) | if piece.merges > 0 { MERGED } else { 0 });
    put_number(codes.len() as u64, bytes);
    put_number(piece.count_sum, bytes);
    put_number(u64::from(piece.first_count), bytes);
    put_number(u64::from(piece.last_count), bytes);
    if piece.merges > 0 {
        put_number(u64::from(piece.merges), bytes);
    }
    put_packed(codes, bytes);
}

/// Decodes the header of a fragment: its summary, its number of bases, and their byte range.
fn opened(bytes: &[u8]) -> Result<(FragmentSummary, usize, Range<usize>)> {
    let open = || {
        let (&flags, mut rest) = bytes.split_first()?;
        let bases = number(&mut rest)? as usize;
        let piece = FragmentSummary {
            count_sum: number(&mut rest)?,
            first_count: number(&mut rest)? as u32,
            last_count: number(&mut rest)? as u32,
            merges: if flags & MERGED != 0 { number(&mut rest)? as u32 } else { 0 },
            ..of_flags(flags)
        };
        let start = bytes.len() - rest.len();
        let end = start + bases.div_ceil(PACKED);
        (end <= bytes.len()).then_some((piece, bases, start..end))
    };
    open().ok_or_else(damaged)
}

fn damaged() -> Error {
    internal("bytes of a fragment are gone")
}

/// Appends a number with [`NUMBER_BITS`] per byte, the lowest first.
fn put_number(mut number: u64, bytes: &mut Vec<u8>) {
    while number >= u64::from(MORE) {
        bytes.push(number as u8 | MORE);
        number >>= NUMBER_BITS;
    }
    bytes.push(number as u8);
}

#[inline(always)]
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (mut number, mut shift) = (0, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & !MORE).checked_shl(shift).unwrap_or(0);
        if byte & MORE == 0 {
            return Some(number);
        }
        shift += NUMBER_BITS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drawn() -> impl Strategy<Value = (FragmentSummary, Vec<Base>)> {
        let codes = prop::collection::vec(0u8..4, 1..90);
        (codes, any::<[bool; 4]>(), any::<[u32; 3]>(), any::<u64>()).prop_map(
            |(codes, [left_open, right_open, circular, is_merged], counts, count_sum)| {
                let [first_count, last_count, merges] = counts;
                let merges = if is_merged { merges } else { 0 };
                let piece = FragmentSummary {
                    count_sum,
                    first_count,
                    last_count,
                    merges,
                    left_open,
                    right_open,
                    circular,
                };
                (piece, codes)
            },
        )
    }

    fn all(fragments: &Fragments<'_>) -> Vec<(FragmentSummary, Vec<Base>)> {
        let read = |index| {
            let mut codes = Vec::new();
            (fragments.read(index, &mut codes).unwrap(), codes)
        };
        fragments.range().map(read).collect()
    }

    proptest! {
        #[test]
        fn fragments_are_read_from_memory_and_from_bytes(
            first in prop::collection::vec(drawn(), 0..9),
            second in prop::collection::vec(drawn(), 0..9),
        ) {
            let budget = Budget::new(1 << 30);
            let make = |pieces: &[(FragmentSummary, Vec<Base>)]| {
                let mut made = Fragments::none(&budget);
                for (piece, codes) in pieces {
                    made.push(*piece, |all| all.extend_from_slice(codes)).unwrap();
                }
                made
            };
            let (mut fragments, other) = (make(&first), make(&second));
            let both = [first, second].concat();
            let mut from_bytes = Fragments::none(&budget);
            for block in fragments.blocks().chain(other.blocks()) {
                from_bytes.append_bytes(block).unwrap();
                for cut in 1..block.len() {
                    let _ = Fragments::none(&budget).append_bytes(&block[..cut]);
                }
            }
            fragments.append(other);
            prop_assert_eq!(all(&fragments), both.clone());
            prop_assert_eq!(all(&from_bytes), both.clone());
            for (index, (piece, codes)) in both.iter().enumerate() {
                for count in 0..=codes.len() {
                    let mut ends = Vec::new();
                    prop_assert_eq!(fragments.ends(index, count, &mut ends).unwrap(), *piece);
                    let last = ends.len() - count;
                    prop_assert_eq!(&ends[..count], &codes[..count]);
                    prop_assert_eq!(&ends[last..], &codes[codes.len() - count..]);
                }
                prop_assert!(fragments.ends(index, codes.len() + 1, &mut Vec::new()).is_err());
            }
        }
    }

    #[test]
    fn many_and_long_ones_are_in_several_blocks() {
        let budget = Budget::new(1 << 30);
        let mut fragments = Fragments::none(&budget);
        let lengths = [10, 9 * BLOCK_BYTES, 20, 3 * BLOCK_BYTES, 3 * BLOCK_BYTES, 30];
        for (index, &bases) in lengths.iter().enumerate() {
            let piece = FragmentSummary { count_sum: index as u64, ..FragmentSummary::default() };
            fragments.push(piece, |all| all.resize(bases, index as Base % 4)).unwrap();
        }
        assert!(fragments.blocks().count() > 2);
        for (index, (piece, codes)) in all(&fragments).iter().enumerate() {
            assert_eq!((piece.count_sum, codes.len()), (index as u64, lengths[index]));
            assert!(codes.iter().all(|&code| code == index as Base % 4));
        }
        let taken = budget.limit_bytes() - budget.free_bytes();
        assert!(taken > (fragments.bases() / PACKED) as u64);
        drop(fragments);
        assert_eq!(budget.free_bytes(), budget.limit_bytes());
    }
}
