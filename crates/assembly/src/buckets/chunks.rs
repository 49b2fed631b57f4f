//! Chunks of memory that blocks of neighbouring buckets share, which are returned to the system as
//! a unit.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use cuesta_core::budget::{Budget, Lease};
use cuesta_runtime::parallel::lock;

use crate::kernel::packed::PADDING;

/// Number of groups of neighbouring buckets that share chunks.
const GROUPS: usize = 16;
/// Largest chunk, in bytes and as a part of the memory: large enough that the allocator returns a
/// freed one to the system.
const CHUNK_BYTES_MAX: u64 = 1 << 20;
const CHUNK_PART: u64 = 512;

/// Source of the memory of blocks.
#[derive(Clone, Copy, Debug)]
pub enum BlockMemory<'a> {
    /// A budget, of which at least this many bytes stay free.
    Budget(&'a Budget, u64),
    /// A fixed number of bytes for these blocks alone.
    Dedicated(u64),
}

/// A block in memory as a range of a chunk; [`PADDING`] bytes follow it.
pub(super) struct HeldBlock<'a> {
    chunk: Arc<Chunk<'a>>,
    range: Range<usize>,
}

/// A chunk of memory with blocks of a group of buckets.
struct Chunk<'a> {
    /// Set once no more blocks are added.
    bytes: OnceLock<Vec<u8>>,
    size_bytes: u64,
    /// Bytes that all chunks of the group take.
    taken_bytes: Arc<AtomicU64>,
    _lease: Option<Lease<'a>>,
}

impl Drop for Chunk<'_> {
    fn drop(&mut self) {
        self.taken_bytes.fetch_sub(self.size_bytes, Ordering::Relaxed);
    }
}

/// The chunk of a group to which blocks are added, its bytes so far, and its reserved bytes.
struct OpenChunk<'a> {
    chunk: Arc<Chunk<'a>>,
    bytes: Vec<u8>,
    used_bytes: usize,
}

/// A group of neighbouring buckets.
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
    /// Returns the number of its bytes, without the padding.
    pub(super) fn bytes(&self) -> usize {
        self.range.len()
    }
}

/// Chunks of all buckets.
pub(super) struct Chunks<'a> {
    /// Number of buckets.
    buckets: usize,
    /// Source of their memory.
    pub(super) room: BlockMemory<'a>,
    groups: Vec<BucketGroup<'a>>,
}

impl<'a> Chunks<'a> {
    /// Creates an empty collection.
    pub(super) fn new(buckets: usize, room: BlockMemory<'a>) -> Self {
        Self { buckets, room, groups: (0..GROUPS).map(|_| BucketGroup::default()).collect() }
    }

    /// Returns the bytes of all chunks.
    pub(super) fn taken_bytes(&self) -> u64 {
        self.groups.iter().map(BucketGroup::taken_bytes).sum()
    }

    /// Returns the buckets of the group that takes most memory; `None` where no group takes any.
    pub(super) fn largest(&self) -> Option<Range<usize>> {
        let (group, most) = self
            .groups
            .iter()
            .map(BucketGroup::taken_bytes)
            .enumerate()
            .max_by_key(|group| group.1)?;
        let first = |group: usize| (group * self.buckets).div_ceil(GROUPS);
        (most > 0).then(|| first(group)..first(group + 1))
    }

    /// Returns whether less room is left than a group takes on average.
    pub(super) fn is_short(&self) -> bool {
        self.left_bytes() < self.taken_bytes() / GROUPS as u64
    }

    fn left_bytes(&self) -> u64 {
        match self.room {
            BlockMemory::Budget(budget, keep_free_bytes) => {
                budget.free_bytes().saturating_sub(keep_free_bytes)
            }
            BlockMemory::Dedicated(limit_bytes) => limit_bytes.saturating_sub(self.taken_bytes()),
        }
    }

    /// Reserves memory for a chunk of `size_bytes`, with a lease if it is from a budget; `None`
    /// where there is no room.
    fn take_room(&self, size_bytes: u64) -> Option<Option<Lease<'a>>> {
        match self.room {
            BlockMemory::Budget(budget, _) if self.left_bytes() > 0 => {
                budget.try_take(size_bytes).map(Some)
            }
            BlockMemory::Dedicated(_) if self.left_bytes() >= size_bytes => Some(None),
            BlockMemory::Budget(..) | BlockMemory::Dedicated(_) => None,
        }
    }

    /// Returns the size of a new chunk that has room for `size_bytes`.
    fn chunk_bytes(&self, size_bytes: usize) -> usize {
        let limit_bytes = match self.room {
            BlockMemory::Budget(budget, _) => budget.limit_bytes(),
            BlockMemory::Dedicated(limit_bytes) => limit_bytes,
        };
        ((limit_bytes / CHUNK_PART).min(CHUNK_BYTES_MAX) as usize).max(size_bytes)
    }

    fn group(&self, bucket: usize) -> &BucketGroup<'a> {
        &self.groups[bucket * GROUPS / self.buckets]
    }

    /// Copies a block to memory; its entry takes `listed_bytes` elsewhere. `None` where there is no
    /// room.
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

    /// Returns the bytes of a block of a bucket.
    pub(super) fn held<'h>(&self, bucket: usize, held: &'h HeldBlock<'a>) -> &'h [u8] {
        let padded = self.padded(bucket, held);
        &padded[..padded.len() - PADDING]
    }

    /// Returns the bytes of a block with the padding.
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
        // A chunk that is not open has its bytes.
        chunk.bytes.get().map_or(&[], |bytes| &bytes[range.start..range.end + PADDING])
    }
}

/// Closes an open chunk to further blocks.
fn close(open: &mut Option<OpenChunk<'_>>) {
    if let Some(OpenChunk { chunk, bytes, .. }) = open.take() {
        _ = chunk.bytes.set(bytes);
    }
}
