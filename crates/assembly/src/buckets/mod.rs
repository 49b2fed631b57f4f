//! Buckets of super-k-mers, or of adjacency lists of k-mers.

pub mod blocks;
pub mod chunks;
pub mod counting;
pub mod cut;
pub mod open;

use std::path::Path;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::Result;
use cuesta_core::budget::Budget;

use crate::buckets::blocks::BucketBlocks;
use crate::buckets::chunks::BlockMemory;
use crate::buckets::open::OpenBlocks;
use crate::kernel::kmer::Base;
use crate::kernel::packed::PADDING;
use crate::kernel::packed::{self, PackedSuperKmer};
use crate::kernel::scan::SuperKmer;

const OPERATION: &str = "assembly.partition";
/// Name of the scratch file.
const FILE: &str = "super-k-mers";

/// Adjacency list of a k-mer.
pub struct KmerList<'l> {
    /// Bases of the k-mer, on the strand that was read.
    pub codes: &'l [Base],
    /// Number of its occurrences.
    pub count: u32,
    /// A bit for each base that followed.
    pub followers: u8,
}

/// Reader of the adjacency lists in a block, for k-mers of this many bases.
pub type ListReader = fn(&[u8], usize, &mut dyn FnMut(&KmerList<'_>) -> Result<()>) -> Result<()>;

/// All super-k-mers of a run, by bucket. Each thread adds them through its own [`BucketWriter`].
pub struct Buckets<'a> {
    k: usize,
    /// Reader of the blocks, where they are adjacency lists.
    pub lists: Option<ListReader>,
    /// Blocks of complete records.
    pub blocks: BucketBlocks<'a>,
}

impl<'a> Buckets<'a> {
    /// Creates `count` empty buckets. Blocks stay in memory while `keep_free_bytes` of the budget
    /// are free.
    pub fn new(
        k: usize,
        count: usize,
        (budget, keep_free_bytes): (&'a Budget, u64),
        scratch: &Path,
    ) -> Self {
        let (room, path) = (BlockMemory::Budget(budget, keep_free_bytes), scratch.join(FILE));
        Self { k, lists: None, blocks: BucketBlocks::new(OPERATION, count, room, path) }
    }

    /// Creates the buckets of a part, with `memory_bytes` of memory and a scratch file of its own.
    pub fn of_part(k: usize, count: usize, memory_bytes: u64, scratch: &Path) -> Self {
        static PARTS: AtomicU64 = AtomicU64::new(0);
        let number = PARTS.fetch_add(1, Ordering::Relaxed);
        let path = scratch.join(format!("{FILE}.{}.{number}", process::id()));
        Self {
            k,
            lists: None,
            blocks: BucketBlocks::new(OPERATION, count, BlockMemory::Dedicated(memory_bytes), path),
        }
    }

    /// Returns a writer for a thread.
    ///
    /// # Errors
    /// `Input` when one block per bucket does not fit in the budget.
    pub fn sink(&self) -> Result<BucketWriter<'_, 'a>> {
        Ok(BucketWriter { k: self.k, open: self.blocks.open()? })
    }

    /// Calls `take` for each super-k-mer of a bucket.
    ///
    /// # Errors
    /// `System`; errors of `take`.
    pub fn each(
        &self,
        bucket: usize,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut(&PackedSuperKmer<'_>) -> Result<()>,
    ) -> Result<()> {
        self.blocks.each(bucket, buffer, |block| {
            packed::records(block, block.len() - PADDING, self.k)
                .try_for_each(|record| take(&record))
        })
    }
}

/// Writer of a thread, with its open blocks.
pub struct BucketWriter<'s, 'a> {
    k: usize,
    /// The open blocks; the caller checks them and finishes them at the end.
    pub open: OpenBlocks<'s, 'a>,
}

impl BucketWriter<'_, '_> {
    /// Adds a super-k-mer of a read.
    #[inline(always)]
    pub fn add(&mut self, part: &SuperKmer<'_>) {
        let k = self.k;
        let most = packed::record_bytes_max(k);
        self.open.write(part.bucket, most, |room| packed::write(part, k, room));
    }

    /// Adds a solid super-k-mer.
    pub fn add_solid(&mut self, part: &SuperKmer<'_>, weight: u16) {
        let k = self.k;
        let most = packed::record_bytes_max(k);
        self.open.write(part.bucket, most, |room| packed::write_solid(part, weight, k, room));
    }

    /// Adds a super-k-mer of a contig with the counts of its k-mers.
    pub fn add_counted(&mut self, part: &SuperKmer<'_>, counts: &[u32]) {
        let k = self.k;
        let most = packed::counted_bytes_max(k);
        self.open.write(part.bucket, most, |room| packed::write_counted(part, counts, k, room));
    }
}
