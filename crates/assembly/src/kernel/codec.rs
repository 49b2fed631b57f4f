//! Little-endian encoding of sequences, k-mer spectra and blocks of super-k-mers.

use cuesta_core::Result;
use cuesta_input::reads::trim::TrimCounts;

use super::internal;
use super::kmer::Base;
use super::scan::ReadCounts;
use super::sequences::FragmentSummary;
use super::spectrum::Spectrum;
use super::stretch_bases::{LENGTHS, StretchBases};

/// Bases in a byte.
pub(crate) const PACKED: usize = 4;
const LEFT_OPEN: u8 = 1;
const RIGHT_OPEN: u8 = 2;
const CIRCULAR: u8 = 4;
/// Flag of a fragment that has a merge count; it shares the byte with the flags above.
pub(crate) const MERGED: u8 = 8;
/// Stands in place of a bucket number before the counts of the reads.
const NO_BUCKET: u32 = u32::MAX;

/// Appends a block of a bucket.
pub fn put_block(bucket: usize, block: &[u8], bytes: &mut Vec<u8>) {
    bytes.extend((bucket as u32).to_le_bytes());
    bytes.extend((block.len() as u32).to_le_bytes());
    bytes.extend_from_slice(block);
}

/// Appends the counts of the reads from which these blocks were cut.
pub fn put_tally(tally: &ReadCounts, bytes: &mut Vec<u8>) {
    let counted = tally_bytes(tally);
    bytes.extend(NO_BUCKET.to_le_bytes());
    bytes.extend((counted.len() as u32).to_le_bytes());
    bytes.extend(counted);
}

/// Calls `take` for each block with its bucket number; returns the summed counts of the reads.
///
/// # Errors
/// `Defect` when bytes are missing; errors of `take`.
pub fn each_block(
    bytes: &[u8],
    mut take: impl FnMut(usize, &[u8]) -> Result<()>,
) -> Result<ReadCounts> {
    let mut reader = ByteReader(bytes);
    let mut all = ReadCounts::default();
    while !reader.0.is_empty() {
        let bucket = reader.u32()?;
        let size_bytes = reader.u32()? as usize;
        let content = reader.bytes(size_bytes)?;
        if bucket == NO_BUCKET {
            all.add(&tally(content)?);
        } else {
            take(bucket as usize, content)?;
        }
    }
    Ok(all)
}

/// Encodes the counts of reads.
pub fn tally_bytes(tally: &ReadCounts) -> Vec<u8> {
    let numbers = tally.numbers().into_iter().chain(tally.trimmed.numbers());
    numbers.chain(*tally.stretches.numbers()).flat_map(u64::to_le_bytes).collect()
}

/// Decodes the output of [`tally_bytes`].
///
/// # Errors
/// `Defect` when bytes are missing.
pub fn tally(bytes: &[u8]) -> Result<ReadCounts> {
    ByteReader(bytes).tally()
}

/// Encodes a k-mer spectrum.
pub fn spectrum_bytes(spectrum: &Spectrum) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_spectrum(spectrum, &mut bytes);
    bytes
}

/// Decodes a k-mer spectrum and adds it to `spectrum`.
///
/// # Errors
/// `Defect` when bytes are missing.
pub fn add_spectrum(bytes: &[u8], spectrum: &mut Spectrum) -> Result<()> {
    ByteReader(bytes).spectrum(spectrum)
}

/// Returns the flags of a fragment.
pub(crate) fn flags_of(piece: &FragmentSummary) -> u8 {
    let circular = if piece.circular { CIRCULAR } else { 0 };
    let left = if piece.left_open { LEFT_OPEN } else { 0 };
    let right = if piece.right_open { RIGHT_OPEN } else { 0 };
    left | right | circular
}

/// Returns a fragment with these flags and with zero counts.
pub(crate) fn of_flags(flags: u8) -> FragmentSummary {
    FragmentSummary {
        left_open: flags & LEFT_OPEN != 0,
        right_open: flags & RIGHT_OPEN != 0,
        circular: flags & CIRCULAR != 0,
        ..FragmentSummary::default()
    }
}

/// Appends a fragment.
pub fn put_fragment(piece: &FragmentSummary, codes: &[Base], bytes: &mut Vec<u8>) {
    bytes.push(flags_of(piece));
    bytes.extend(piece.count_sum.to_le_bytes());
    bytes.extend(piece.first_count.to_le_bytes());
    bytes.extend(piece.last_count.to_le_bytes());
    bytes.extend(piece.merges.to_le_bytes());
    put_codes(codes, bytes);
}

/// Calls `take` for each fragment.
///
/// # Errors
/// `Defect` when bytes are missing; errors of `take`.
pub fn each_fragment(
    bytes: &[u8],
    mut take: impl FnMut(FragmentSummary, &[Base]) -> Result<()>,
) -> Result<()> {
    let mut reader = ByteReader(bytes);
    let mut codes = Vec::new();
    while !reader.0.is_empty() {
        codes.clear();
        let piece = reader.fragment(&mut codes)?;
        take(piece, &codes)?;
    }
    Ok(())
}

/// Encodes bases.
pub fn put_codes(codes: &[Base], bytes: &mut Vec<u8>) {
    bytes.extend((codes.len() as u32).to_le_bytes());
    put_packed(codes, bytes);
}

/// Appends packed bases without their number.
pub(crate) fn put_packed(codes: &[Base], bytes: &mut Vec<u8>) {
    bytes.extend(
        codes.chunks(PACKED).map(|four| four.iter().rev().fold(0, |byte, &code| byte << 2 | code)),
    );
}

/// Appends the bases of packed bytes, four per byte.
pub(crate) fn unpack(bytes: &[u8], codes: &mut Vec<Base>) {
    let start = codes.len();
    codes.resize(start + PACKED * bytes.len(), 0);
    let (places, _) = codes[start..].as_chunks_mut::<PACKED>();
    for (place, &byte) in places.iter_mut().zip(bytes) {
        *place = unpacked(byte);
    }
}

/// The bases of a byte.
#[inline(always)]
fn unpacked(byte: u8) -> [Base; PACKED] {
    let bits = u32::from(byte);
    let bits = (bits | bits << 12) & 0x000F_000F;
    ((bits | bits << 6) & 0x0303_0303).to_le_bytes()
}

/// Appends a spectrum without its zero entries.
pub(crate) fn put_spectrum(spectrum: &Spectrum, bytes: &mut Vec<u8>) {
    let kmers = spectrum.kmers().iter().enumerate().filter(|(_, kmers)| **kmers > 0);
    bytes.extend((kmers.clone().count() as u32).to_le_bytes());
    for (count, kmers) in kmers {
        bytes.extend((count as u32).to_le_bytes());
        bytes.extend(kmers.to_le_bytes());
    }
}

/// Reads values from a byte slice one after another; each method fails where bytes are missing.
pub struct ByteReader<'b>(pub &'b [u8]);

impl<'b> ByteReader<'b> {
    /// Returns whether no bytes remain.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads a fragment and appends its bases to `codes`.
    ///
    /// # Errors
    /// `Defect` when bytes are missing.
    pub fn fragment(&mut self, codes: &mut Vec<Base>) -> Result<FragmentSummary> {
        let [flags] = self.array()?;
        let piece = FragmentSummary {
            count_sum: self.u64()?,
            first_count: self.u32()?,
            last_count: self.u32()?,
            merges: self.u32()?,
            ..of_flags(flags)
        };
        self.codes(codes)?;
        Ok(piece)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'b [u8]> {
        let (bytes, rest) = self
            .0
            .split_at_checked(count)
            .ok_or_else(|| internal("bytes of a message are gone"))?;
        self.0 = rest;
        Ok(bytes)
    }

    /// Reads an array.
    ///
    /// # Errors
    /// `Defect` when bytes are missing.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.bytes(N)?.try_into().map_err(|_| internal("bytes of a message are gone"))
    }

    /// Reads a number.
    ///
    /// # Errors
    /// `Defect` when bytes are missing.
    pub fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Reads bases and appends them to `codes`.
    ///
    /// # Errors
    /// `Defect` when bytes are missing.
    pub fn codes(&mut self, codes: &mut Vec<Base>) -> Result<()> {
        let count = self.u32()? as usize;
        let end = codes.len() + count;
        unpack(self.bytes(count.div_ceil(PACKED))?, codes);
        codes.truncate(end);
        Ok(())
    }

    pub(crate) fn tally(&mut self) -> Result<ReadCounts> {
        let (mut numbers, mut trimmed) = ([0; 6], [0; TrimCounts::NUMBERS]);
        let mut stretches = [0; LENGTHS];
        for number in numbers.iter_mut().chain(&mut trimmed).chain(&mut stretches) {
            *number = self.u64()?;
        }
        let stretches = StretchBases::of(stretches);
        Ok(ReadCounts { trimmed: TrimCounts::of(trimmed), stretches, ..ReadCounts::of(numbers) })
    }

    pub(crate) fn spectrum(&mut self, spectrum: &mut Spectrum) -> Result<()> {
        for _ in 0..self.u32()? {
            let count = self.u32()?;
            spectrum.add_many(count, self.u64()?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_arrive(blocks in prop::collection::vec((0usize..99, any::<Vec<u8>>()), 0..9)) {
            let mut bytes = Vec::new();
            blocks.iter().for_each(|(bucket, block)| put_block(*bucket, block, &mut bytes));
            put_tally(&ReadCounts::of([5, 1, 2, 3, 4, 9]), &mut bytes);
            put_tally(&ReadCounts::of([6, 10, 20, 30, 40, 7]), &mut bytes);
            let mut decoded = Vec::new();
            let tally = each_block(&bytes, |bucket, block| {
                decoded.push((bucket, block.to_vec()));
                Ok(())
            })
            .unwrap();
            prop_assert_eq!(decoded, blocks);
            prop_assert_eq!(tally, ReadCounts::of([11, 11, 22, 33, 44, 9]));
        }
    }

    /// Damaged numbers ended in a panic where overflow is checked, and wrapped elsewhere.
    #[test]
    fn numbers_that_are_too_large_to_add_stay_the_largest() {
        let mut bytes = Vec::new();
        (0..2).for_each(|_| put_tally(&ReadCounts::of([u64::MAX, 1, 2, 3, 4, 5]), &mut bytes));
        let tally = each_block(&bytes, |_, _| Ok(())).unwrap();
        assert_eq!(tally, ReadCounts::of([u64::MAX, 2, 4, 6, 8, 5]));
        let mut spectrum = Spectrum::default();
        for _ in 0..2 {
            let bytes = [&1u32.to_le_bytes()[..], &7u32.to_le_bytes(), &[0xFF; 8]].concat();
            add_spectrum(&bytes, &mut spectrum).unwrap();
        }
        assert_eq!(spectrum.kmers()[7], u64::MAX);
    }
}
