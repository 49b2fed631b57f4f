//! Open blocks of threads, one per bucket, which become blocks of [`BucketBlocks`] when they are
//! full.

use cuesta_core::budget::Lease;
use cuesta_core::pages::large_pages;
use cuesta_core::{Error, Result};

use super::blocks::BucketBlocks;
use super::chunks::BlockMemory;

pub(super) const BLOCK_BYTES_MAX: usize = 16 << 10;
/// Least size of an open block: smaller ones are not worth writing.
pub const BLOCK_BYTES_MIN: usize = 2 << 10;

/// Returns the most buckets, as a power of two, that may have an open block if these take at most
/// `open_bytes`.
pub fn bucket_bits_max(open_bytes: u64) -> u32 {
    (open_bytes / BLOCK_BYTES_MIN as u64).max(1).ilog2()
}

impl<'a> BucketBlocks<'a> {
    /// Returns the bytes of an open block; a thread has one per bucket.
    fn open_bytes(&self) -> usize {
        (self.open_bytes / self.count()).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX)
    }

    /// Returns the bytes that [`BucketBlocks::open`] takes.
    pub fn opened_bytes(&self) -> u64 {
        (self.open_bytes() * self.count()) as u64
    }

    /// Returns the open blocks for a thread.
    ///
    /// # Errors
    /// `Input` when one block per bucket does not fit in the budget.
    pub fn open(&self) -> Result<OpenBlocks<'_, 'a>> {
        let block_bytes = self.open_bytes();
        let size_bytes = self.opened_bytes();
        let lease = match self.chunks.room {
            BlockMemory::Budget(budget, _) => {
                Some(budget.take(size_bytes, "a block a bucket for each thread")?)
            }
            BlockMemory::Dedicated(_) => None,
        };
        let mut room = vec![0; size_bytes as usize];
        // Each append is to another block: with small pages each would miss the TLB.
        large_pages(&mut room);
        let used = vec![0; self.count()];
        let record = Vec::new();
        Ok(OpenBlocks { to: self, room, block_bytes, used, record, failed: None, _lease: lease })
    }
}

/// Open blocks of a thread.
pub struct OpenBlocks<'s, 'a> {
    to: &'s BucketBlocks<'a>,
    /// The blocks one after another, each of `block_bytes`.
    room: Vec<u8>,
    block_bytes: usize,
    /// Used bytes of each block.
    used: Vec<u32>,
    /// Buffer of the record that is appended.
    record: Vec<u8>,
    failed: Option<Error>,
    _lease: Option<Lease<'a>>,
}

impl OpenBlocks<'_, '_> {
    /// Appends a record of at most `most` bytes to the block of a bucket; [`OpenBlocks::check`]
    /// returns a failed write.
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

    /// Appends a record that `write` writes at the start of `most` bytes of room and whose size it
    /// returns; [`OpenBlocks::check`] returns a failed write.
    #[inline(always)]
    pub fn write(&mut self, bucket: usize, most: usize, write: impl FnOnce(&mut [u8]) -> usize) {
        // Records before may have needed less room than this one, so the block may be too full for
        // it.
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

    /// Returns the first failed write so far, if any.
    ///
    /// # Errors
    /// `System`.
    pub fn check(&mut self) -> Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// Hands over all open blocks.
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
