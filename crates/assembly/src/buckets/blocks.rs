//! Blocks of bytes by bucket, in memory as far as the budget goes, in one scratch file beyond it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::budget::Lease;
use cuesta_core::pages::large_pages;
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::chunks::{BlockMemory, Chunks, HeldBlock};
use crate::kernel::packed::PADDING;
use crate::kernel::{codec, internal};

const BLOCK_BYTES_MAX: usize = 16 << 10;
const BLOCK_BYTES_MIN: usize = 2 << 10;
/// Open blocks of a thread together take about this.
const OPEN_BYTES: usize = 16 << 20;

enum Block<'a> {
    Held(HeldBlock<'a>),
    Written { offset: u64, size_bytes: usize },
}

/// All blocks, by bucket. Threads add through an [`Open`] each.
pub struct BucketBlocks<'a> {
    operation: &'static str,
    buckets: Vec<Mutex<Vec<Block<'a>>>>,
    chunks: Chunks<'a>,
    /// Bytes in memory, with what a block takes besides those of [`BucketBlocks::held_bytes`].
    used_bytes: AtomicU64,
    open_bytes: usize,
    path: PathBuf,
    /// The file outlives the run.
    named: bool,
    file: Mutex<Option<File>>,
    written_bytes: AtomicU64,
    held_bytes: AtomicU64,
}

impl<'a> BucketBlocks<'a> {
    /// `count` empty buckets. Blocks stay in memory while there is `room`, the others go to `path`;
    /// a failure there is told to be one of `operation`.
    pub fn new(
        operation: &'static str,
        count: usize,
        room: BlockMemory<'a>,
        path: PathBuf,
    ) -> Self {
        Self {
            operation,
            buckets: (0..count).map(|_| Mutex::default()).collect(),
            chunks: Chunks::new(count, room),
            used_bytes: AtomicU64::new(0),
            open_bytes: OPEN_BYTES,
            path,
            named: false,
            file: Mutex::default(),
            written_bytes: AtomicU64::new(0),
            held_bytes: AtomicU64::new(0),
        }
    }

    /// The open blocks of a thread together take about so many bytes, if a block that is worth
    /// writing has room in them.
    pub fn opening(mut self, open_bytes: usize) -> Self {
        self.open_bytes = open_bytes.min(OPEN_BYTES);
        self
    }

    /// The file is this one, which stays; [`BucketBlocks::keep`] puts all into it.
    pub fn kept_in(mut self, path: PathBuf) -> Self {
        (self.path, self.named) = (path, true);
        self
    }

    /// Brings the file up to all blocks, after which none may be added, and says where they lie in
    /// it; those in memory stay there too.
    ///
    /// # Errors
    /// `System`.
    pub fn keep(&self) -> Result<Vec<u8>> {
        let failed = |cause| Error::system(self.operation, "writing", &self.path, &cause);
        let mut places = Vec::new();
        let mut end = self.written_bytes.load(Ordering::Relaxed);
        for (bucket, blocks) in self.buckets.iter().enumerate() {
            let blocks = lock(blocks);
            places.extend((blocks.len() as u64).to_le_bytes());
            for block in blocks.iter() {
                let (offset, size_bytes) = match block {
                    Block::Held(held) => {
                        let (bytes, offset) = (self.chunks.held(bucket, held), end);
                        self.with_file(|file| file.write_all_at(bytes, offset)).map_err(failed)?;
                        end += bytes.len() as u64;
                        (offset, bytes.len())
                    }
                    &Block::Written { offset, size_bytes } => (offset, size_bytes),
                };
                places.extend(offset.to_le_bytes());
                places.extend((size_bytes as u64).to_le_bytes());
            }
        }
        self.with_file(File::sync_data).map_err(failed)?;
        Ok(places)
    }

    /// Takes the blocks that another run kept in the file.
    ///
    /// # Errors
    /// `System` when the file is gone; `Defect` when the places are not those of as many buckets,
    /// or not in the file.
    pub fn restore(&self, places: &[u8]) -> Result<()> {
        let found = File::open(&self.path)
            .map_err(|cause| Error::system(self.operation, "reading", &self.path, &cause))?;
        let facts = found
            .metadata()
            .map_err(|cause| Error::system(self.operation, "reading", &self.path, &cause))?;
        *lock(&self.file) = Some(found);
        let mut places = codec::ByteReader(places);
        for blocks in &self.buckets {
            let mut blocks = lock(blocks);
            for _ in 0..places.u64()? {
                let (offset, size_bytes) = (places.u64()?, places.u64()?);
                if offset.checked_add(size_bytes).is_none_or(|end| end > facts.len()) {
                    return Err(internal("a block is not in its file"));
                }
                self.written_bytes.fetch_add(size_bytes, Ordering::Relaxed);
                blocks.push(Block::Written { offset, size_bytes: size_bytes as usize });
            }
        }
        if places.is_empty() { Ok(()) } else { Err(internal("blocks of other buckets")) }
    }

    /// Bytes of an open block, of which a thread has one a bucket.
    fn open_bytes(&self) -> usize {
        (self.open_bytes / self.buckets.len()).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX)
    }

    /// Bytes that [`BucketBlocks::open`] takes.
    pub fn opened_bytes(&self) -> u64 {
        (self.open_bytes() * self.buckets.len()) as u64
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
        let used = vec![0; self.buckets.len()];
        let record = Vec::new();
        Ok(Open { to: self, room, block_bytes, used, record, failed: None, _lease: lease })
    }

    /// Bytes of all blocks, wherever they are.
    pub fn bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed) + self.held_bytes.load(Ordering::Relaxed)
    }

    /// Bytes that blocks take in memory.
    pub fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// Adds a block to a bucket. One that has no room in memory goes to scratch with all that its
    /// bucket has there, so that what is read back is in few places.
    ///
    /// # Errors
    /// `System`.
    pub fn add(&self, bucket: usize, block: &[u8]) -> Result<()> {
        let taken_bytes = |bytes: usize| (bytes + PADDING + size_of::<Block<'_>>()) as u64;
        let held = self.chunks.hold(bucket, block, self.used_bytes() + taken_bytes(block.len()));
        let mut blocks = lock(&self.buckets[bucket]);
        if let Some(held) = held {
            self.used_bytes.fetch_add(taken_bytes(block.len()), Ordering::Relaxed);
            self.held_bytes.fetch_add(block.len() as u64, Ordering::Relaxed);
            blocks.push(Block::Held(held));
        } else {
            let mut whole = Vec::new();
            for old in blocks.extract_if(.., |block| matches!(block, Block::Held(_))) {
                if let Block::Held(held) = old {
                    self.used_bytes.fetch_sub(taken_bytes(held.bytes()), Ordering::Relaxed);
                    whole.extend_from_slice(self.chunks.held(bucket, &held));
                }
            }
            self.held_bytes.fetch_sub(whole.len() as u64, Ordering::Relaxed);
            whole.extend_from_slice(block);
            let size_bytes = whole.len();
            let offset = self.written_bytes.fetch_add(size_bytes as u64, Ordering::Relaxed);
            self.with_file(|file| file.write_all_at(&whole, offset))
                .map_err(|cause| Error::system(self.operation, "writing", &self.path, &cause))?;
            blocks.push(Block::Written { offset, size_bytes });
        }
        Ok(())
    }

    /// A scratch file has no name once it is open: whatever happens, nothing of it stays.
    fn with_file<T>(&self, work: impl FnOnce(&File) -> std::io::Result<T>) -> std::io::Result<T> {
        let file = {
            let mut file = lock(&self.file);
            if file.is_none() {
                let mut options = File::options();
                options.read(true).write(true);
                *file = Some(if self.named {
                    options.create(true).truncate(true).open(&self.path)?
                } else {
                    let made = options.create_new(true).open(&self.path)?;
                    std::fs::remove_file(&self.path)?;
                    made
                });
            }
            match &*file {
                Some(file) => file.try_clone()?,
                None => return Err(std::io::ErrorKind::NotFound.into()),
            }
        };
        work(&file)
    }

    /// Calls `take` for each block of a bucket, which is followed by [`PADDING`] bytes.
    ///
    /// # Errors
    /// `System`; those of `take`.
    pub fn each(
        &self,
        bucket: usize,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        for block in lock(&self.buckets[bucket]).iter() {
            match block {
                Block::Held(held) => take(self.chunks.padded(bucket, held))?,
                &Block::Written { offset, size_bytes } => {
                    buffer.resize(size_bytes + PADDING, 0);
                    let bytes = &mut buffer[..size_bytes];
                    self.with_file(|file| file.read_exact_at(bytes, offset)).map_err(|cause| {
                        Error::system(self.operation, "reading", &self.path, &cause)
                    })?;
                    take(buffer)?;
                }
            }
        }
        Ok(())
    }

    /// Bytes of the blocks of a bucket.
    pub fn bucket_bytes(&self, bucket: usize) -> usize {
        let size_bytes = |block: &Block<'_>| match block {
            Block::Held(held) => held.bytes(),
            Block::Written { size_bytes, .. } => *size_bytes,
        };
        lock(&self.buckets[bucket]).iter().map(size_bytes).sum()
    }

    /// How many buckets there are.
    pub fn count(&self) -> usize {
        self.buckets.len()
    }

    /// Forgets a bucket.
    pub fn clear(&self, bucket: usize) {
        lock(&self.buckets[bucket]).clear();
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

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_core::budget::Budget;

    /// Short records left less room in a block than a long one after them needed: it ran over into
    /// the block of the next bucket, whose first bytes it replaced.
    #[test]
    fn a_long_record_after_short_ones_stays_in_its_bucket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blocks");
        let blocks = BucketBlocks::new("test", 2, BlockMemory::Own(1 << 20), path);
        let mut open = blocks.open().unwrap();
        let (short, long, other) = ([7; 10], [8; 1000], [9; 10]);
        open.append(1, 10, |block| block.extend(other));
        let count = BLOCK_BYTES_MAX / short.len() - 1;
        (0..count).for_each(|_| open.append(0, 10, |block| block.extend(short)));
        let write = |room: &mut [u8]| {
            room.copy_from_slice(&long);
            long.len()
        };
        open.write(0, long.len(), write);
        open.finish().unwrap();
        assert_eq!(content(&blocks, 0), [short.repeat(count), long.to_vec()].concat());
        assert_eq!(content(&blocks, 1), other);
    }

    fn content(blocks: &BucketBlocks<'_>, bucket: usize) -> Vec<u8> {
        let mut all = Vec::new();
        let take = |block: &[u8]| {
            all.extend_from_slice(&block[..block.len() - PADDING]);
            Ok(())
        };
        blocks.each(bucket, &mut Vec::new(), take).unwrap();
        assert_eq!(blocks.bucket_bytes(bucket), all.len());
        all
    }

    /// In memory, in scratch, and where the memory gets too little meanwhile.
    #[test]
    fn blocks_come_back_and_give_their_memory_back_when_their_buckets_are_forgotten() {
        const BUCKETS: usize = 40;
        let folder = tempfile::tempdir().unwrap();
        for (index, limit_bytes) in [0, 300 << 10, 1 << 30].into_iter().enumerate() {
            let budget = Budget::new(limit_bytes);
            let path = folder.path().join(format!("blocks-{index}"));
            let room = BlockMemory::Budget(&budget, limit_bytes / 8);
            let blocks = BucketBlocks::new("test", BUCKETS, room, path);
            let mut wanted = vec![Vec::new(); BUCKETS];
            for number in 0..2000usize {
                let (bucket, size) = (number * 7 % BUCKETS, number * 31 % 700 + 1);
                let block = vec![number as u8; size];
                blocks.add(bucket, &block).unwrap();
                wanted[bucket].extend(block);
                if number == 1000 {
                    // They may be read, and more added then.
                    assert_eq!(content(&blocks, 3), wanted[3]);
                }
            }
            assert_eq!(blocks.used_bytes() > 0, index > 0);
            assert_eq!(blocks.written_bytes.load(Ordering::Relaxed) > 0, index < 2);
            let all: usize = wanted.iter().map(Vec::len).sum();
            assert_eq!(blocks.bytes(), all as u64);
            for (bucket, wanted) in wanted.iter().enumerate() {
                let mut found = content(&blocks, bucket);
                // What went to scratch stands before what came later.
                found.sort_unstable();
                let mut wanted = wanted.clone();
                wanted.sort_unstable();
                assert_eq!(found, wanted);
                blocks.clear(bucket);
            }
            assert_eq!(budget.free_bytes(), limit_bytes);
        }
    }
}
