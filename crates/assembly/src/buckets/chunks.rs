//! Pieces of memory that blocks of neighbouring buckets share: the system gets back whole ones.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
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
    size_bytes: u64,
    /// What the chunks of the group take.
    taken_bytes: Arc<AtomicU64>,
    _lease: Option<Lease<'a>>,
}

impl Drop for Chunk<'_> {
    fn drop(&mut self) {
        self.taken_bytes.fetch_sub(self.size_bytes, Ordering::Relaxed);
    }
}

/// The chunk of a group that blocks are added to, its bytes so far, and those that are spoken for.
struct OpenChunk<'a> {
    chunk: Arc<Chunk<'a>>,
    bytes: Vec<u8>,
    used_bytes: usize,
}

/// Neighbouring buckets.
#[derive(Default)]
struct BucketGroup<'a> {
    open: Mutex<Option<OpenChunk<'a>>>,
    taken_bytes: Arc<AtomicU64>,
}

impl BucketGroup<'_> {
    fn taken_bytes(&self) -> u64 {
        self.taken_bytes.load(Ordering::Relaxed)
    }
}

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
    groups: Vec<BucketGroup<'a>>,
}

impl<'a> Chunks<'a> {
    /// None yet.
    pub(super) fn new(buckets: usize, room: BlockMemory<'a>) -> Self {
        Self { buckets, room, groups: (0..GROUPS).map(|_| BucketGroup::default()).collect() }
    }

    /// Bytes that all take.
    pub(super) fn taken_bytes(&self) -> u64 {
        self.groups.iter().map(BucketGroup::taken_bytes).sum()
    }

    /// The buckets of the group that takes most memory; none where no group takes any.
    pub(super) fn largest(&self) -> Option<Range<usize>> {
        let (group, most) =
            self.groups.iter().map(BucketGroup::taken_bytes).enumerate().max_by_key(|one| one.1)?;
        let first = |group: usize| (group * self.buckets).div_ceil(GROUPS);
        (most > 0).then(|| first(group)..first(group + 1))
    }

    /// Whether there is less room left than a group takes.
    pub(super) fn is_short(&self) -> bool {
        self.left_bytes() < self.taken_bytes() / GROUPS as u64
    }

    fn left_bytes(&self) -> u64 {
        match self.room {
            BlockMemory::Budget(budget, keep_free_bytes) => {
                budget.free_bytes().saturating_sub(keep_free_bytes)
            }
            BlockMemory::Own(limit_bytes) => limit_bytes.saturating_sub(self.taken_bytes()),
        }
    }

    /// Room in memory for a chunk of so many bytes; none where there is none left.
    fn take_room(&self, size_bytes: u64) -> Option<Option<Lease<'a>>> {
        match self.room {
            BlockMemory::Budget(budget, _) if self.left_bytes() > 0 => {
                budget.try_take(size_bytes).map(Some)
            }
            BlockMemory::Own(_) if self.left_bytes() >= size_bytes => Some(None),
            BlockMemory::Budget(..) | BlockMemory::Own(_) => None,
        }
    }

    /// Bytes of a chunk with room for so many.
    fn chunk_bytes(&self, size_bytes: usize) -> usize {
        let limit_bytes = match self.room {
            BlockMemory::Budget(budget, _) => budget.limit_bytes(),
            BlockMemory::Own(limit_bytes) => limit_bytes,
        };
        ((limit_bytes / CHUNK_PART).min(CHUNK_BYTES_MAX) as usize).max(size_bytes)
    }

    fn group(&self, bucket: usize) -> &BucketGroup<'a> {
        &self.groups[bucket * GROUPS / self.buckets]
    }

    /// Puts a block into memory, which takes `listed_bytes` elsewhere; none where there is no room.
    pub(super) fn hold(
        &self,
        bucket: usize,
        block: &[u8],
        listed_bytes: usize,
    ) -> Option<HeldBlock<'a>> {
        let size_bytes = block.len() + PADDING + listed_bytes;
        let group = self.group(bucket);
        let mut open = lock(&group.open);
        if open.as_ref().is_none_or(|open| open.bytes.capacity() - open.used_bytes < size_bytes) {
            close(&mut open);
            let chunk_bytes = self.chunk_bytes(size_bytes);
            let _lease = self.take_room(chunk_bytes as u64)?;
            group.taken_bytes.fetch_add(chunk_bytes as u64, Ordering::Relaxed);
            let chunk = Arc::new(Chunk {
                bytes: OnceLock::new(),
                size_bytes: chunk_bytes as u64,
                taken_bytes: group.taken_bytes.clone(),
                _lease,
            });
            *open =
                Some(OpenChunk { chunk, bytes: Vec::with_capacity(chunk_bytes), used_bytes: 0 });
        }
        let OpenChunk { chunk, bytes, used_bytes } = open.as_mut()?;
        *used_bytes += size_bytes;
        let start = bytes.len();
        bytes.extend_from_slice(block);
        bytes.resize(start + block.len() + PADDING, 0);
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
            let mut open = lock(&self.group(bucket).open);
            if open.as_ref().is_some_and(|open| Arc::ptr_eq(&open.chunk, chunk)) {
                close(&mut open);
            }
        }
        // A chunk has its bytes once it is not open.
        chunk.bytes.get().map_or(&[], |bytes| &bytes[range.start..range.end + PADDING])
    }
}

/// No more blocks are added to an open chunk.
fn close(open: &mut Option<OpenChunk<'_>>) {
    if let Some(OpenChunk { chunk, bytes, .. }) = open.take() {
        _ = chunk.bytes.set(bytes);
    }
}
