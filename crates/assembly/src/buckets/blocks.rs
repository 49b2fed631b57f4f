//! Blocks of bytes by bucket: in memory while the budget lasts, then in one scratch file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::chunks::{BlockMemory, Chunks, HeldBlock};
use crate::kernel::packed::PADDING;
use crate::kernel::{codec, internal};

/// Approximate bytes of all open blocks of a thread.
pub(super) const OPEN_BYTES: usize = 16 << 20;
/// Approximate size of a write to the scratch file, in bytes.
const WRITTEN_BYTES: usize = 1 << 20;

enum Block<'a> {
    Held(HeldBlock<'a>),
    Written { offset: u64, size_bytes: usize },
}

/// All blocks, by bucket. Each thread adds blocks through its own
/// [`OpenBlocks`](super::open::OpenBlocks).
pub struct BucketBlocks<'a> {
    operation: &'static str,
    buckets: Vec<Mutex<Vec<Block<'a>>>>,
    pub(super) chunks: Chunks<'a>,
    pub(super) open_bytes: usize,
    path: PathBuf,
    /// Whether the file outlives the run.
    named: bool,
    file: Mutex<Option<File>>,
    /// Lock of the thread that moves blocks to the file: one at a time.
    writing: Mutex<()>,
    written_bytes: AtomicU64,
    held_bytes: AtomicU64,
}

impl<'a> BucketBlocks<'a> {
    /// Creates `count` empty buckets. Blocks stay in memory while there is `room`; further blocks
    /// go to the file at `path`. Errors name `operation`.
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
            open_bytes: OPEN_BYTES,
            path,
            named: false,
            file: Mutex::default(),
            writing: Mutex::default(),
            written_bytes: AtomicU64::new(0),
            held_bytes: AtomicU64::new(0),
        }
    }

    /// Limits the open blocks of a thread to about `open_bytes` in all, but not below the size of a
    /// block that is worth writing.
    pub fn opening(mut self, open_bytes: usize) -> Self {
        self.open_bytes = open_bytes.min(OPEN_BYTES);
        self
    }

    /// Uses a file that outlives the run; [`BucketBlocks::save`] completes it.
    pub fn saved_in(mut self, path: PathBuf) -> Self {
        (self.path, self.named) = (path, true);
        self
    }

    /// Writes all blocks that are not yet in the file, and returns their encoded positions in it.
    /// No blocks may be added afterwards; blocks in memory also stay there.
    ///
    /// # Errors
    /// `System`.
    pub fn save(&self) -> Result<Vec<u8>> {
        let failed = |cause| Error::system(self.operation, "writing", &self.path, &cause);
        let mut places = (self.buckets.len() as u64).to_le_bytes().to_vec();
        let mut end = self.written_bytes.load(Ordering::Relaxed);
        for (bucket, blocks) in self.buckets.iter().enumerate() {
            let blocks = lock(blocks);
            places.extend((blocks.len() as u64).to_le_bytes());
            for block in blocks.iter() {
                let (offset, size_bytes) = match block {
                    Block::Held(held) => {
                        let (bytes, offset) = (self.chunks.held(bucket, held), end);
                        self.write_at(bytes, offset)?;
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

    /// Restores the buckets, of whatever number, that another run saved in the file.
    ///
    /// # Errors
    /// `System` when the file does not exist; `Defect` when the positions are not those of buckets,
    /// or not in the file.
    pub fn restore(&mut self, places: &[u8]) -> Result<()> {
        let file = File::open(&self.path)
            .map_err(|cause| Error::system(self.operation, "reading", &self.path, &cause))?;
        let facts = file
            .metadata()
            .map_err(|cause| Error::system(self.operation, "reading", &self.path, &cause))?;
        *lock(&self.file) = Some(file);
        let mut places = codec::ByteReader(places);
        let count = places.u64()?;
        if !count.is_power_of_two() || count > places.0.len() as u64 {
            return Err(internal("blocks of no buckets"));
        }
        let mut buckets = Vec::new();
        for _ in 0..count {
            let mut blocks = Vec::new();
            for _ in 0..places.u64()? {
                let (offset, size_bytes) = (places.u64()?, places.u64()?);
                if offset.checked_add(size_bytes).is_none_or(|end| end > facts.len()) {
                    return Err(internal("a block is not in its file"));
                }
                self.written_bytes.fetch_add(size_bytes, Ordering::Relaxed);
                blocks.push(Block::Written { offset, size_bytes: size_bytes as usize });
            }
            buckets.push(Mutex::new(blocks));
        }
        self.buckets = buckets;
        self.chunks = Chunks::new(self.buckets.len(), self.chunks.room);
        if places.is_empty() { Ok(()) } else { Err(internal("blocks of other buckets")) }
    }

    /// Returns the bytes of all blocks, in memory and in the file.
    pub fn bytes(&self) -> u64 {
        self.written_bytes.load(Ordering::Relaxed) + self.held_bytes.load(Ordering::Relaxed)
    }

    /// Returns the bytes of memory that blocks take.
    pub fn taken_bytes(&self) -> u64 {
        self.chunks.taken_bytes()
    }

    /// Adds a block to a bucket. Where memory runs short, the blocks of the group of neighbouring
    /// buckets that takes most memory go to the file, each bucket's blocks together: so they are
    /// read back from few positions, in the order of buckets. Other threads may add blocks
    /// meanwhile.
    ///
    /// # Errors
    /// `System`.
    pub fn add(&self, bucket: usize, block: &[u8]) -> Result<()> {
        let hold = || self.chunks.hold(bucket, block, size_of::<Block<'_>>());
        let (mut held, mut writing) = (hold(), None);
        if held.is_none() {
            writing = Some(lock(&self.writing));
            // Another thread may have made room in the meantime.
            held = hold();
        } else if self.chunks.is_short() {
            writing = self.writing.try_lock().ok();
        }
        if writing.is_some() && (held.is_none() || self.chunks.is_short()) {
            self.make_room()?;
            held = held.or_else(hold);
        }
        let block = match held {
            Some(held) => {
                self.held_bytes.fetch_add(block.len() as u64, Ordering::Relaxed);
                Block::Held(held)
            }
            None => {
                let (offset, size_bytes) = (self.reserve(block.len()), block.len());
                self.write_at(block, offset)?;
                Block::Written { offset, size_bytes }
            }
        };
        drop(writing);
        lock(&self.buckets[bucket]).push(block);
        Ok(())
    }

    /// Reserves `size_bytes` in the file; returns their offset.
    fn reserve(&self, size_bytes: usize) -> u64 {
        self.written_bytes.fetch_add(size_bytes as u64, Ordering::Relaxed)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        self.with_file(|file| file.write_all_at(bytes, offset))
            .map_err(|cause| Error::system(self.operation, "writing", &self.path, &cause))
    }

    /// Writes the blocks of the group of buckets that takes most memory.
    fn make_room(&self) -> Result<()> {
        let (mut together, mut start) = (Vec::new(), None);
        for bucket in self.chunks.largest().unwrap_or_default() {
            let mut blocks = lock(&self.buckets[bucket]);
            let before = together.len();
            for old in blocks.extract_if(.., |block| matches!(block, Block::Held(_))) {
                if let Block::Held(held) = old {
                    together.extend_from_slice(self.chunks.held(bucket, &held));
                }
            }
            let size_bytes = together.len() - before;
            if size_bytes > 0 {
                self.held_bytes.fetch_sub(size_bytes as u64, Ordering::Relaxed);
                let offset = self.reserve(size_bytes);
                start.get_or_insert(offset);
                blocks.push(Block::Written { offset, size_bytes });
            }
            drop(blocks);
            if together.len() >= WRITTEN_BYTES
                && let Some(offset) = start.take()
            {
                self.write_at(&together, offset)?;
                together.clear();
            }
        }
        start.map_or(Ok(()), |offset| self.write_at(&together, offset))
    }

    /// Runs `work` on the file, which is created at first use. A scratch file is unlinked as soon
    /// as it is open, so that none of it remains however the run ends.
    fn with_file<T>(&self, work: impl FnOnce(&File) -> std::io::Result<T>) -> std::io::Result<T> {
        let file = {
            let mut file = lock(&self.file);
            if file.is_none() {
                let mut options = File::options();
                options.read(true).write(true);
                *file = Some(if self.named {
                    options.create(true).truncate(true).open(&self.path)?
                } else {
                    let created = options.create_new(true).open(&self.path)?;
                    std::fs::remove_file(&self.path)?;
                    created
                });
            }
            match &*file {
                Some(file) => file.try_clone()?,
                None => return Err(std::io::ErrorKind::NotFound.into()),
            }
        };
        work(&file)
    }

    /// Calls `take` for each block of a bucket, with [`PADDING`] bytes after it.
    ///
    /// # Errors
    /// `System`; errors of `take`.
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

    /// Returns the bytes of the blocks of a bucket.
    pub fn bucket_bytes(&self, bucket: usize) -> usize {
        let size_bytes = |block: &Block<'_>| match block {
            Block::Held(held) => held.bytes(),
            Block::Written { size_bytes, .. } => *size_bytes,
        };
        lock(&self.buckets[bucket]).iter().map(size_bytes).sum()
    }

    /// Returns the number of buckets.
    pub fn count(&self) -> usize {
        self.buckets.len()
    }

    /// Removes the blocks of a bucket.
    pub fn clear(&self, bucket: usize) {
        lock(&self.buckets[bucket]).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::open::BLOCK_BYTES_MAX;
    use super::*;
    use cuesta_core::budget::Budget;

    /// Short records left less room in a block than a long record after them needed: it overran
    /// into the block of the next bucket and replaced its first bytes.
    #[test]
    fn a_long_record_after_short_ones_does_not_overrun_its_bucket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blocks");
        let blocks = BucketBlocks::new("test", 2, BlockMemory::Dedicated(1 << 20), path);
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

    /// Tests blocks in memory, in scratch, and with memory that runs short in between.
    #[test]
    fn blocks_are_read_back_and_release_their_memory_when_their_buckets_are_cleared() {
        const BUCKETS: usize = 40;
        let folder = tempfile::tempdir().unwrap();
        for (index, limit_bytes) in [0, 300 << 10, 1 << 30].into_iter().enumerate() {
            let budget = Budget::new(limit_bytes);
            let path = folder.path().join(format!("blocks-{index}"));
            let room = BlockMemory::Budget(&budget, limit_bytes / 8);
            let blocks = BucketBlocks::new("test", BUCKETS, room, path);
            let mut expected = vec![Vec::new(); BUCKETS];
            for number in 0..2000usize {
                let (bucket, size) = (number * 7 % BUCKETS, number * 31 % 700 + 1);
                let block = vec![number as u8; size];
                blocks.add(bucket, &block).unwrap();
                expected[bucket].extend(block);
                if number == 1000 {
                    // Blocks may be read before further ones are added.
                    assert_eq!(content(&blocks, 3), expected[3]);
                }
            }
            assert_eq!(blocks.taken_bytes() > 0, index > 0);
            assert_eq!(blocks.written_bytes.load(Ordering::Relaxed) > 0, index < 2);
            let all: usize = expected.iter().map(Vec::len).sum();
            assert_eq!(blocks.bytes(), all as u64);
            for (bucket, expected) in expected.iter().enumerate() {
                let mut bytes = content(&blocks, bucket);
                // All blocks of a bucket in memory go to scratch together.
                let is_written = |block: &&Block<'_>| matches!(block, Block::Written { .. });
                let pieces = lock(&blocks.buckets[bucket]).iter().filter(is_written).count();
                assert!(index != 1 || pieces < 6, "{pieces} pieces of {} blocks", 2000 / BUCKETS);
                // Blocks in scratch precede later ones in memory, so the order differs.
                bytes.sort_unstable();
                let mut expected = expected.clone();
                expected.sort_unstable();
                assert_eq!(bytes, expected);
                blocks.clear(bucket);
            }
            assert_eq!(budget.free_bytes(), limit_bytes);
        }
    }
}
