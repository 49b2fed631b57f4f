//! Super-k-mers as bytes: the number of k-mers, flags, a weight where they are solid or a count per
//! k-mer where counts are known, then the bases, four a byte.

use crate::kernel::kmer::{Base, Kmer};
use crate::kernel::scan::{COUNTED, KMERS_MAX, LEFT_OUTSIDE, RIGHT_OUTSIDE, SOLID, SuperKmer};

/// Readable bytes that must follow a block.
pub const PADDING: usize = 72;
/// Bytes before the bases of a record, and of a solid record.
const HEADER_BYTES: usize = 2;
const SOLID_HEADER_BYTES: usize = 4;
/// Bytes in the count of a k-mer.
const COUNT_BYTES: usize = size_of::<u32>();

/// Returns the bytes of a record of `bases` bases with neither weight nor counts.
pub fn plain_bytes(bases: usize) -> usize {
    HEADER_BYTES + bases.div_ceil(4)
}

/// Returns the most bytes of a record while it is being written.
pub fn record_bytes_max(k: usize) -> usize {
    SOLID_HEADER_BYTES + (KMERS_MAX + k).div_ceil(4) + size_of::<u64>()
}

/// Returns the most bytes of a record with counts.
pub fn counted_bytes_max(k: usize) -> usize {
    record_bytes_max(k) + KMERS_MAX * COUNT_BYTES
}

/// Flag: the left end of a k-mer, as stored in the record, is inside the bucket.
pub const LEFT_INSIDE: u32 = 1;
/// Flag: its right end is inside the bucket.
pub const RIGHT_INSIDE: u32 = 2;

/// A super-k-mer inside a block.
pub struct PackedSuperKmer<'a> {
    /// Number of k-mers.
    pub kmers: usize,
    /// The flags of [`crate::kernel::scan`].
    pub flags: u8,
    /// Count of each of its k-mers, where it is solid.
    pub weight: u16,
    /// Counts of its k-mers, where they are known.
    pub counts: &'a [u8],
    /// Its packed bases, then at least [`PADDING`] bytes.
    pub bytes: &'a [u8],
}

/// Writes a super-k-mer of a read at the start of `room`, which has [`record_bytes_max`] bytes;
/// returns the number of bytes written.
#[inline(always)]
pub fn write(part: &SuperKmer<'_>, k: usize, room: &mut [u8]) -> usize {
    room[..HEADER_BYTES].copy_from_slice(&[part.kmers as u8, part.flags]);
    HEADER_BYTES + part.pack(k, &mut room[HEADER_BYTES..])
}

/// Appends a record with neither weight nor counts to another block.
pub fn append_record(record: &PackedSuperKmer<'_>, k: usize, block: &mut Vec<u8>) {
    block.extend_from_slice(&[record.kmers as u8, record.flags]);
    block.extend_from_slice(&record.bytes[..(record.kmers + k - 1).div_ceil(4)]);
}

/// Writes a solid super-k-mer, whose k-mers each count `weight` times; otherwise like [`write`].
pub fn write_solid(part: &SuperKmer<'_>, weight: u16, k: usize, room: &mut [u8]) -> usize {
    room[..HEADER_BYTES].copy_from_slice(&[part.kmers as u8, part.flags | SOLID]);
    room[HEADER_BYTES..SOLID_HEADER_BYTES].copy_from_slice(&weight.to_le_bytes());
    SOLID_HEADER_BYTES + part.pack(k, &mut room[SOLID_HEADER_BYTES..])
}

/// Writes a super-k-mer of a contig with the counts of its k-mers, like [`write`]; `room` has
/// [`counted_bytes_max`] bytes.
pub fn write_counted(part: &SuperKmer<'_>, counts: &[u32], k: usize, room: &mut [u8]) -> usize {
    room[..HEADER_BYTES].copy_from_slice(&[part.kmers as u8, part.flags | COUNTED]);
    let header_bytes = HEADER_BYTES + counts.len() * COUNT_BYTES;
    let (places, _) = room[HEADER_BYTES..header_bytes].as_chunks_mut::<COUNT_BYTES>();
    for (place, count) in places.iter_mut().zip(counts) {
        *place = count.to_le_bytes();
    }
    header_bytes + part.pack(k, &mut room[header_bytes..])
}

/// Appends the bytes that `write` writes into a room of `most` bytes.
#[inline]
pub fn append(block: &mut Vec<u8>, most: usize, write: impl FnOnce(&mut [u8]) -> usize) {
    let start = block.len();
    block.resize(start + most, 0);
    let size_bytes = write(&mut block[start..]);
    block.truncate(start + size_bytes);
}

/// Iterates over the records of a block of `size_bytes`, which [`PADDING`] readable bytes follow.
pub fn records(block: &[u8], size_bytes: usize, k: usize) -> PackedRecords<'_> {
    PackedRecords { block, size_bytes, k, place: 0 }
}

/// Iterator of [`records`].
pub struct PackedRecords<'b> {
    block: &'b [u8],
    size_bytes: usize,
    k: usize,
    place: usize,
}

impl<'b> Iterator for PackedRecords<'b> {
    type Item = PackedSuperKmer<'b>;

    #[inline(always)]
    fn next(&mut self) -> Option<PackedSuperKmer<'b>> {
        let Self { block, place, .. } = *self;
        if place >= self.size_bytes {
            return None;
        }
        let kmers = usize::from(block[place]);
        let flags = block[place + 1];
        let (mut weight, mut header_bytes) = (0, HEADER_BYTES);
        let mut counts: &[u8] = &[];
        if flags & SOLID != 0 {
            weight = u16::from_le_bytes([block[place + 2], block[place + 3]]);
            header_bytes = SOLID_HEADER_BYTES;
        } else if flags & COUNTED != 0 {
            header_bytes += kmers * COUNT_BYTES;
            counts = &block[place + HEADER_BYTES..place + header_bytes];
        }
        let bytes = &block[place + header_bytes..];
        self.place += header_bytes + (kmers + self.k - 1).div_ceil(4);
        Some(PackedSuperKmer { kmers, flags, weight, counts, bytes })
    }
}

impl PackedSuperKmer<'_> {
    /// Returns the counts of its k-mers, where they are known.
    pub fn counts(&self) -> impl Iterator<Item = u32> {
        let (counts, _) = self.counts.as_chunks::<COUNT_BYTES>();
        counts.iter().map(|&bytes| u32::from_le_bytes(bytes))
    }

    /// Calls `take` for each k-mer with its reverse complement and the flags of ends that are
    /// inside.
    #[inline(always)]
    pub fn each<K: Kmer>(&self, k: usize, mut take: impl FnMut(K, K, u32)) {
        let mut forward = K::unpack(self.bytes, k);
        let mut backward = forward.reverse_complement(k);
        for index in 0..self.kmers {
            if index > 0 {
                let base = self.base(index + k - 1);
                forward = forward.append(base, k);
                backward = backward.prepend(3 - base, k);
            }
            let mut inside = LEFT_INSIDE | RIGHT_INSIDE;
            if index == 0 && self.flags & LEFT_OUTSIDE != 0 {
                inside &= !LEFT_INSIDE;
            }
            if index + 1 == self.kmers && self.flags & RIGHT_OUTSIDE != 0 {
                inside &= !RIGHT_INSIDE;
            }
            take(forward, backward, inside);
        }
    }

    #[inline(always)]
    fn base(&self, index: usize) -> Base {
        self.bytes[index / 4] >> (6 - 2 * (index % 4)) & 3
    }
}
