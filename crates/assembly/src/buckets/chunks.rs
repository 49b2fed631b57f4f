//! Pieces of memory that blocks of neighbouring buckets share: the system gets back whole ones.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use cuesta_core::budget::{Budget, Lease};
use cuesta_runtime::parallel::lock;

use crate::kernel::packed::PADDING;

/// Neighbouring buckets that share pieces of memory: there are so many groups of them.
const GROUPS: usize = 16;
/// A piece of memory is at most so large, and that part of the memory at most: one that is given
/// back as a whole, as an allocator does with large ones alone.
const CHUNK_BYTES_MAX: u64 = 1 << 20;
const CHUNK_PART: u64 = 512;

/// What blocks in memory take their room from.
#[derive(Clone, Copy, Debug)]
pub enum BlockMemory<'a> {
    /// A budget, while so many of its bytes are left.
    Budget(&'a Budget, u64),
    /// So many bytes that are theirs alone.
    Own(u64),
}

/// A block in memory, which [`PADDING`] bytes follow: where it is in a chunk.
pub(super) struct HeldBlock<'a> {
    chunk: Arc<Chunk<'a>>,
    range: Range<usize>,
}

/// A piece of memory with blocks of a group of buckets.
struct Chunk<'a> {
    /// There once no more are added.
    bytes: OnceLock<Vec<u8>>,
    _lease: Option<Lease<'a>>,
}

/// The chunk of a group that blocks are added to, and its bytes so far.
type OpenChunk<'a> = (Arc<Chunk<'a>>, Vec<u8>);

impl HeldBlock<'_> {
    /// Its bytes, without the padding.
    pub(super) fn bytes(&self) -> usize {
        self.range.len()
    }
}

/// Those of all buckets.
pub(super) struct Chunks<'a> {
    /// How many buckets there are.
    buckets: usize,
    /// What they take their memory from.
    pub(super) room: BlockMemory<'a>,
    /// The open one of each group.
    open: Vec<Mutex<Option<OpenChunk<'a>>>>,
}

impl<'a> Chunks<'a> {
    /// None yet.
    pub(super) fn new(buckets: usize, room: BlockMemory<'a>) -> Self {
        Self { buckets, room, open: (0..GROUPS).map(|_| Mutex::default()).collect() }
    }

    /// Room in memory for a chunk of so many bytes; none where blocks are to go to scratch.
    fn take_room(&self, size_bytes: u64) -> Option<Option<Lease<'a>>> {
        match self.room {
            BlockMemory::Budget(budget, keep_free_bytes) => (budget.free_bytes() > keep_free_bytes)
                .then(|| budget.try_take(size_bytes))
                .flatten()
                .map(Some),
            BlockMemory::Own(_) => Some(None),
        }
    }

    /// Bytes of a chunk with room for a block.
    fn chunk_bytes(&self, block_bytes: usize) -> usize {
        let limit_bytes = match self.room {
            BlockMemory::Budget(budget, _) => budget.limit_bytes(),
            BlockMemory::Own(limit_bytes) => limit_bytes,
        };
        ((limit_bytes / CHUNK_PART).min(CHUNK_BYTES_MAX) as usize).max(block_bytes)
    }

    /// The chunk that blocks of a bucket are added to.
    fn open_chunk(&self, bucket: usize) -> &Mutex<Option<OpenChunk<'a>>> {
        &self.open[bucket * GROUPS / self.buckets]
    }

    /// Puts a block into memory, where all take so many bytes with it; none where there is no room.
    pub(super) fn hold(
        &self,
        bucket: usize,
        block: &[u8],
        used_bytes: u64,
    ) -> Option<HeldBlock<'a>> {
        if let BlockMemory::Own(limit_bytes) = self.room
            && used_bytes > limit_bytes
        {
            return None;
        }
        let size_bytes = block.len() + PADDING;
        let mut open = lock(self.open_chunk(bucket));
        if open.as_ref().is_none_or(|(_, bytes)| bytes.capacity() - bytes.len() < size_bytes) {
            close(&mut open);
            let chunk_bytes = self.chunk_bytes(size_bytes);
            let _lease = self.take_room(chunk_bytes as u64)?;
            let chunk = Arc::new(Chunk { bytes: OnceLock::new(), _lease });
            *open = Some((chunk, Vec::with_capacity(chunk_bytes)));
        }
        let (chunk, bytes) = open.as_mut()?;
        let start = bytes.len();
        bytes.extend_from_slice(block);
        bytes.resize(start + size_bytes, 0);
        Some(HeldBlock { chunk: chunk.clone(), range: start..start + block.len() })
    }

    /// The bytes of a block of a bucket.
    pub(super) fn held<'h>(&self, bucket: usize, held: &'h HeldBlock<'a>) -> &'h [u8] {
        let padded = self.padded(bucket, held);
        &padded[..padded.len() - PADDING]
    }

    /// The same, with the padding.
    pub(super) fn padded<'h>(
        &self,
        bucket: usize,
        HeldBlock { chunk, range }: &'h HeldBlock<'a>,
    ) -> &'h [u8] {
        if chunk.bytes.get().is_none() {
            let mut open = lock(self.open_chunk(bucket));
            if open.as_ref().is_some_and(|(open, _)| Arc::ptr_eq(open, chunk)) {
                close(&mut open);
            }
        }
        // A chunk has its bytes once it is not open.
        chunk.bytes.get().map_or(&[], |bytes| &bytes[range.start..range.end + PADDING])
    }
}

/// No more blocks are added to an open chunk.
fn close(open: &mut Option<OpenChunk<'_>>) {
    if let Some((chunk, bytes)) = open.take() {
        _ = chunk.bytes.set(bytes);
    }
}
