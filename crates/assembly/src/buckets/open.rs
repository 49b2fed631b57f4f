//! The open blocks of threads, one a bucket, which become blocks of [`BucketBlocks`] when they are
//! full.

use cuesta_core::budget::Lease;
use cuesta_core::pages::large_pages;
use cuesta_core::{Error, Result};

use super::blocks::BucketBlocks;
use super::chunks::BlockMemory;

pub(super) const BLOCK_BYTES_MAX: usize = 16 << 10;
/// An open block has at least so many bytes: one that is worth writing.
pub const BLOCK_BYTES_MIN: usize = 2 << 10;
/// Open blocks of a thread together take about this.
pub(super) const OPEN_BYTES: usize = 16 << 20;

/// How many buckets may have an open block where all of these take at most so many bytes, as a
/// power of two.
pub fn bucket_bits_max(open_bytes: u64) -> u32 {
    (open_bytes / BLOCK_BYTES_MIN as u64).max(1).ilog2()
}

impl<'a> BucketBlocks<'a> {
    /// Bytes of an open block, of which a thread has one a bucket.
    fn open_bytes(&self) -> usize {
        (self.open_bytes / self.count()).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX)
    }

    /// Bytes that [`BucketBlocks::open`] takes.
    pub fn opened_bytes(&self) -> u64 {
        (self.open_bytes() * self.count()) as u64
    }

    /// What a thread adds through.
    ///
    /// # Errors
    /// `Input` when a block a bucket does not fit in the budget.
    pub fn open(&self) -> Result<Open<'_, 'a>> {
        let block_bytes = self.open_bytes();
        let size_bytes = self.opened_bytes();
        let lease = match self.chunks.room {
            BlockMemory::Budget(budget, _) => {
                Some(budget.take(size_bytes, "a block a bucket for each thread")?)
            }
            BlockMemory::Own(_) => None,
        };
        let mut room = vec![0; size_bytes as usize];
        // Each append is to another block: with small pages each is a miss in the table of pages.
        large_pages(&mut room);
        let used = vec![0; self.count()];
        let record = Vec::new();
        Ok(Open { to: self, room, block_bytes, used, record, failed: None, _lease: lease })
    }
}

/// The open blocks of a thread.
pub struct Open<'s, 'a> {
    to: &'s BucketBlocks<'a>,
    /// One block after the other, each of so many bytes.
    room: Vec<u8>,
    block_bytes: usize,
    /// Bytes of each that are used.
    used: Vec<u32>,
    /// What is appended next.
    record: Vec<u8>,
    failed: Option<Error>,
    _lease: Option<Lease<'a>>,
}

impl Open<'_, '_> {
    /// Appends to the block of a bucket what takes at most `most` bytes; a failure to write is told
    /// by [`Open::check`].
    #[inline]
    pub fn append(&mut self, bucket: usize, most: usize, append: impl FnOnce(&mut Vec<u8>)) {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        append(&mut record);
        self.write(bucket, most, |room| {
            room[..record.len()].copy_from_slice(&record);
            record.len()
        });
        self.record = record;
    }

    /// Appends what `write` writes at the beginning of `most` bytes of room, which says how many of
    /// them it needed; a failure is told as in [`Open::append`].
    #[inline(always)]
    pub fn write(&mut self, bucket: usize, most: usize, write: impl FnOnce(&mut [u8]) -> usize) {
        // Others may need less room than this one, so that the block may be too full for it.
        if self.used[bucket] as usize + most > self.block_bytes {
            self.close(bucket);
        }
        let start = bucket * self.block_bytes + self.used[bucket] as usize;
        self.used[bucket] += write(&mut self.room[start..start + most]) as u32;
    }

    #[cold]
    fn close(&mut self, bucket: usize) {
        let used = std::mem::take(&mut self.used[bucket]) as usize;
        let block = &self.room[bucket * self.block_bytes..][..used];
        let added = self.to.add(bucket, block);
        self.failed = self.failed.take().or(added.err());
    }

    /// Whether all was written so far.
    ///
    /// # Errors
    /// `System`.
    pub fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Gives up the open blocks.
    ///
    /// # Errors
    /// `System`.
    pub fn finish(mut self) -> Result<()> {
        for bucket in 0..self.used.len() {
            if self.used[bucket] > 0 {
                self.close(bucket);
            }
        }
        self.check()
    }
}
