//! K-mers by bucket: those of reads that were not found in the answer, those that the answer
//! claims, and solid ones. They are in memory while the budget lasts, then in scratch.

use std::ops::Range;
use std::path::Path;

use cuesta_core::Result;
use cuesta_core::budget::Budget;

use super::OPERATION;
use super::cut::{BucketLayout, CutSuperKmer, Cutter, KMERS_MAX};
use super::packed::unpack;
use super::text::Text;
use crate::buckets::blocks::BucketBlocks;
use crate::buckets::chunks::BlockMemory;
use crate::buckets::open::OpenBlocks;
use crate::kernel::kmer::{Kmer, complement};
use crate::kernel::packed::PADDING;

/// Bases of a long sequence that are cut at a time.
const PART_BASES: usize = 2048;
/// Least count that takes four more bytes.
const COUNT_LONG: u32 = 255;
const NUMBER_BYTES: usize = size_of::<u32>();
const COUNTED_BYTES_MAX: usize = NUMBER_BYTES + (1 + size_of::<u32>()) * KMERS_MAX;

/// Choice of the buckets that are verified: all, or one in `of`.
#[derive(Clone, Copy, Debug)]
pub struct Chosen {
    /// Number of buckets per chosen one.
    pub of: usize,
    /// Remainder of the chosen bucket numbers modulo `of`.
    pub which: usize,
}

impl Chosen {
    /// All buckets.
    pub const ALL: Self = Self { of: 1, which: 0 };

    /// Returns whether a bucket is chosen.
    #[inline(always)]
    pub fn has(self, bucket: usize) -> bool {
        self.of == 1 || bucket % self.of == self.which
    }
}

/// Super-k-mers of one kind, by bucket.
pub struct SuperKmerStore<'a> {
    k: usize,
    buckets: BucketLayout,
    chosen: Chosen,
    blocks: BucketBlocks<'a>,
}

/// Settings that all stores of a verification share.
#[derive(Clone, Copy)]
pub struct EvidenceSettings<'a, 's> {
    /// Bases in a k-mer.
    pub k: usize,
    /// Numbers of buckets.
    pub buckets: BucketLayout,
    /// Buckets that are verified.
    pub chosen: Chosen,
    /// Budget, and the bytes of it that are to stay free.
    pub memory: (&'a Budget, u64),
    /// Most bytes of the open blocks of a thread.
    pub open_bytes: usize,
    /// Folder for blocks that do not fit in memory.
    pub scratch: &'s Path,
}

impl<'a> SuperKmerStore<'a> {
    /// Creates an empty store; `name` is that of its scratch file.
    pub fn new(shape: &EvidenceSettings<'a, '_>, name: &str) -> Self {
        let EvidenceSettings { k, buckets, chosen, memory, open_bytes, scratch } = *shape;
        let (room, path) = (BlockMemory::Budget(memory.0, memory.1), scratch.join(name));
        let blocks = BucketBlocks::new(OPERATION, buckets.count(), room, path).opening(open_bytes);
        Self { k, buckets, chosen, blocks }
    }

    /// Returns an adder for a thread.
    ///
    /// # Errors
    /// `Input` when its open blocks do not fit in the budget.
    pub fn open(&self) -> Result<Adder<'_, 'a>> {
        Ok(Adder {
            k: self.k,
            chosen: self.chosen,
            open: self.blocks.open()?,
            cutter: Cutter::new(self.k, self.buckets),
            counts: Vec::new(),
        })
    }

    /// Returns the number of bases in a k-mer.
    pub fn k(&self) -> usize {
        self.k
    }

    /// Returns the numbers of its buckets.
    pub fn buckets(&self) -> BucketLayout {
        self.buckets
    }

    /// Removes the k-mers of a bucket.
    pub fn clear(&self, bucket: usize) {
        self.blocks.clear(bucket);
    }

    /// Calls `take` with the records of a bucket, block by block.
    fn each_block(
        &self,
        bucket: usize,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut(&[u8], usize) -> Result<()>,
    ) -> Result<()> {
        self.blocks.each(bucket, buffer, |block| take(block, block.len() - PADDING))
    }

    /// Calls `take` with each k-mer of a bucket, as added by [`Adder::add`].
    ///
    /// # Errors
    /// `System`; errors of `take`.
    pub fn each_kmer<K: Kmer>(
        &self,
        bucket: usize,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut(K) -> Result<()>,
    ) -> Result<()> {
        let k = self.k;
        self.each_block(bucket, buffer, |block, end| {
            let mut place = 0;
            while place < end {
                let kmers = usize::from(block[place]);
                each_kmer(&block[place + 1..], (kmers, k), |_, kmer| take(kmer))?;
                place += 1 + (kmers + k - 1).div_ceil(4);
            }
            Ok(())
        })
    }

    /// Calls `take` with each k-mer of a bucket and its number.
    ///
    /// # Errors
    /// `System`; errors of `take`.
    pub fn each_numbered<K: Kmer>(
        &self,
        bucket: usize,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut(K, u32) -> Result<()>,
    ) -> Result<()> {
        let k = self.k;
        self.each_block(bucket, buffer, |block, end| {
            let mut place = 0;
            while place < end {
                let kmers = usize::from(block[place]);
                let number = u32_at(block, place + 1);
                each_kmer(&block[place + 5..], (kmers, k), |_, kmer| take(kmer, number))?;
                place += 5 + (kmers + k - 1).div_ceil(4);
            }
            Ok(())
        })
    }

    /// Calls `take` with each k-mer of a bucket, its number, and its count.
    ///
    /// # Errors
    /// `System`; errors of `take`.
    pub fn each_counted<K: Kmer>(
        &self,
        bucket: usize,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut(K, u32, u32) -> Result<()>,
    ) -> Result<()> {
        let (k, mut counts) = (self.k, Vec::new());
        self.each_block(bucket, buffer, |block, end| {
            let mut place = 0;
            while place < end {
                let kmers = usize::from(block[place]);
                let number = u32_at(block, place + 1);
                place += 5;
                counts.clear();
                for _ in 0..kmers {
                    let mut count = u32::from(block[place]);
                    place += 1;
                    if count == COUNT_LONG {
                        count = u32_at(block, place);
                        place += 4;
                    }
                    counts.push(count);
                }
                each_kmer(&block[place..], (kmers, k), |index, kmer| {
                    take(kmer, number, counts[index])
                })?;
                place += (kmers + k - 1).div_ceil(4);
            }
            Ok(())
        })
    }
}

fn u32_at(bytes: &[u8], place: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[place..place + 4]);
    u32::from_le_bytes(four)
}

/// Calls `take` with the index and the canonical form of each k-mer of packed bases.
#[inline(always)]
fn each_kmer<K: Kmer>(
    bytes: &[u8],
    (kmers, k): (usize, usize),
    mut take: impl FnMut(usize, K) -> Result<()>,
) -> Result<()> {
    let mut forward = K::unpack(bytes, k);
    let mut backward = forward.reverse_complement(k);
    for index in 0..kmers {
        if index > 0 {
            let place = index + k - 1;
            let base = bytes[place / 4] >> (6 - 2 * (place % 4)) & 3;
            forward = forward.append(base, k);
            backward = backward.prepend(complement(base), k);
        }
        take(index, forward.min(backward))?;
    }
    Ok(())
}

/// Open blocks and cutter of a thread; [`Adder::finish`] must be called in the end.
pub struct Adder<'s, 'a> {
    k: usize,
    chosen: Chosen,
    open: OpenBlocks<'s, 'a>,
    cutter: Cutter,
    counts: Vec<u32>,
}

impl Adder<'_, '_> {
    /// Adds the k-mers from `first` to before `last` of packed bases, for
    /// [`SuperKmerStore::each_kmer`].
    #[inline]
    pub fn add(&mut self, words: &[u64], (mut first, last): (usize, usize)) {
        while first < last {
            let part = last.min(first + PART_BASES);
            let end = part + self.k - 1;
            if self.cutter.is_full(end - first) {
                self.cut_plain();
            }
            self.cutter.add(0, |codes| unpack(words, (first, end), codes));
            first = part;
        }
    }

    fn cut_plain(&mut self) {
        let (chosen, open, k) = (self.chosen, &mut self.open, self.k);
        self.cutter.cut(|piece| put(piece, (chosen, k), (open, 0), |_| 0));
    }

    /// Adds the k-mers at some positions of a text with a number, for
    /// [`SuperKmerStore::each_numbered`].
    pub fn add_numbered(&mut self, number: u32, text: &Text<'_>, places: Range<usize>) {
        let (mut first, last) = (places.start, places.end);
        let (chosen, k) = (self.chosen, self.k);
        while first < last {
            let part = last.min(first + PART_BASES);
            self.cutter.add(0, |codes| unpack(text.words(), (first, part + k - 1), codes));
            let open = &mut self.open;
            self.cutter.cut(|piece| {
                put(piece, (chosen, k), (open, NUMBER_BYTES), |room| {
                    put_bytes(room, 0, &number.to_le_bytes())
                });
            });
            first = part;
        }
    }

    /// Adds the k-mers at some positions of a sequence with its number and the counts that `count`
    /// appends, for [`SuperKmerStore::each_counted`]; returns the sum of the counts.
    pub fn add_counted(
        &mut self,
        (text, sequence): (&Text<'_>, usize),
        places: Range<usize>,
        count: impl FnOnce(&mut Vec<u32>),
    ) -> u64 {
        self.counts.clear();
        count(&mut self.counts);
        let Range { start, end: last } = places;
        let mut first = start;
        let (chosen, k, number) = (self.chosen, self.k, sequence as u32);
        while first < last {
            let part = last.min(first + PART_BASES);
            let origin = (first - start) as u64;
            self.cutter.add(origin, |codes| unpack(text.words(), (first, part + k - 1), codes));
            let (open, counts) = (&mut self.open, &self.counts);
            self.cutter.cut(|piece| {
                put(piece, (chosen, k), (open, COUNTED_BYTES_MAX), |room| {
                    let mut end = put_bytes(room, 0, &number.to_le_bytes());
                    let from = piece.origin as usize + piece.first;
                    for &count in &counts[from..from + piece.kmers] {
                        end = put_bytes(room, end, &[count.min(COUNT_LONG) as u8]);
                        if count >= COUNT_LONG {
                            end = put_bytes(room, end, &count.to_le_bytes());
                        }
                    }
                    end
                });
            });
            first = part;
        }
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// Returns the first failed write so far, if any.
    ///
    /// # Errors
    /// `System`.
    pub fn check(&mut self) -> Result<()> {
        self.open.check()
    }

    /// Hands over the open blocks.
    ///
    /// # Errors
    /// `System`.
    pub fn finish(mut self) -> Result<()> {
        self.cut_plain();
        self.open.finish()
    }
}

/// Appends a record: the number of k-mers, a head of at most `head_bytes_max` bytes that `head`
/// writes and whose size it returns, and the bases.
#[inline(always)]
fn put(
    piece: &CutSuperKmer<'_>,
    (chosen, k): (Chosen, usize),
    (open, head_bytes_max): (&mut OpenBlocks<'_, '_>, usize),
    head: impl FnOnce(&mut [u8]) -> usize,
) {
    if chosen.has(piece.bucket) {
        let most = 1 + head_bytes_max + (KMERS_MAX + k).div_ceil(4) + size_of::<u64>();
        open.write(piece.bucket, most, |room| {
            room[0] = piece.kmers as u8;
            let bases = 1 + head(&mut room[1..]);
            bases + piece.pack(&mut room[bases..])
        });
    }
}

/// Writes bytes at an offset; returns the offset after them.
#[inline(always)]
fn put_bytes(room: &mut [u8], place: usize, bytes: &[u8]) -> usize {
    let end = place + bytes.len();
    room[place..end].copy_from_slice(bytes);
    end
}
