//! Super-k-mers as bytes: how many k-mers, flags, a weight where they are solid or a count for each
//! k-mer where these are known, then the bases, four a byte.

use crate::kernel::kmer::{Base, Kmer};
use crate::kernel::scan::{COUNTED, KMERS_MAX, LEFT_OUTSIDE, RIGHT_OUTSIDE, SOLID, SuperKmer};

/// Readable bytes after those of a block.
pub const PADDING: usize = 72;
/// Bytes before the bases, and before those of a solid one.
const HEADER_BYTES: usize = 2;
const SOLID_HEADER_BYTES: usize = 4;
/// Bytes of the count of a k-mer.
const COUNT_BYTES: usize = size_of::<u32>();

/// Bytes of a record of so many bases that has neither a weight nor counts.
pub fn plain_bytes(bases: usize) -> usize {
    HEADER_BYTES + bases.div_ceil(4)
}

/// Most bytes of a record while it is being written.
pub fn record_bytes_max(k: usize) -> usize {
    SOLID_HEADER_BYTES + (KMERS_MAX + k).div_ceil(4) + size_of::<u64>()
}

/// Most bytes of one with counts.
pub fn counted_bytes_max(k: usize) -> usize {
    record_bytes_max(k) + KMERS_MAX * COUNT_BYTES
}

/// The left end of a k-mer, as it stands in the record, is inside the bucket.
pub const LEFT_INSIDE: u32 = 1;
/// Its right end is.
pub const RIGHT_INSIDE: u32 = 2;

/// A super-k-mer inside a block.
pub struct PackedSuperKmer<'a> {
    /// How many k-mers.
    pub kmers: usize,
    /// The flags of [`crate::kernel::scan`].
    pub flags: u8,
    /// How often its k-mers count as seen, where it is solid.
    pub weight: u16,
    /// The counts of its k-mers, where they are known.
    pub counts: &'a [u8],
    /// Its bases, then at least [`PADDING`] bytes.
    pub bytes: &'a [u8],
}

/// Writes a super-k-mer of a read at the beginning of `room`, which has [`record_bytes_max`]; how
/// many bytes it takes.
#[inline(always)]
pub fn write(part: &SuperKmer<'_>, k: usize, room: &mut [u8]) -> usize {
    room[..HEADER_BYTES].copy_from_slice(&[part.kmers as u8, part.flags]);
    HEADER_BYTES + part.pack(k, &mut room[HEADER_BYTES..])
}

/// Appends a record of a block, one that has neither a weight nor counts, to another block.
pub fn append_record(record: &PackedSuperKmer<'_>, k: usize, block: &mut Vec<u8>) {
    block.extend_from_slice(&[record.kmers as u8, record.flags]);
    block.extend_from_slice(&record.bytes[..(record.kmers + k - 1).div_ceil(4)]);
}

/// Writes a solid super-k-mer, whose k-mers count as seen `weight` times, as [`write`].
pub fn write_solid(part: &SuperKmer<'_>, weight: u16, k: usize, room: &mut [u8]) -> usize {
    room[..HEADER_BYTES].copy_from_slice(&[part.kmers as u8, part.flags | SOLID]);
    room[HEADER_BYTES..SOLID_HEADER_BYTES].copy_from_slice(&weight.to_le_bytes());
    SOLID_HEADER_BYTES + part.pack(k, &mut room[SOLID_HEADER_BYTES..])
}

/// Writes a super-k-mer of a contig, whose k-mers were seen so often, as [`write`]; in `room` are
/// [`counted_bytes_max`].
pub fn write_counted(part: &SuperKmer<'_>, counts: &[u32], k: usize, room: &mut [u8]) -> usize {
    room[..HEADER_BYTES].copy_from_slice(&[part.kmers as u8, part.flags | COUNTED]);
    let header_bytes = HEADER_BYTES + counts.len() * COUNT_BYTES;
    let (places, _) = room[HEADER_BYTES..header_bytes].as_chunks_mut::<COUNT_BYTES>();
    for (place, count) in places.iter_mut().zip(counts) {
        *place = count.to_le_bytes();
    }
    header_bytes + part.pack(k, &mut room[header_bytes..])
}

/// Appends what `write` writes in at most `most` bytes of room.
#[inline]
pub fn append(block: &mut Vec<u8>, most: usize, write: impl FnOnce(&mut [u8]) -> usize) {
    let start = block.len();
    block.resize(start + most, 0);
    let size_bytes = write(&mut block[start..]);
    block.truncate(start + size_bytes);
}

/// The records of a block of `size_bytes`, which is followed by [`PADDING`] readable bytes.
pub fn records(block: &[u8], size_bytes: usize, k: usize) -> PackedRecords<'_> {
    PackedRecords { block, size_bytes, k, place: 0 }
}

/// See [`records`].
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
    /// The counts of its k-mers, where they are known.
    pub fn counts(&self) -> impl Iterator<Item = u32> {
        let (counts, _) = self.counts.as_chunks::<COUNT_BYTES>();
        counts.iter().map(|&bytes| u32::from_le_bytes(bytes))
    }

    /// Calls `take` for each k-mer with its reverse complement and the ends that are inside.
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
