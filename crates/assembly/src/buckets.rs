//! Super-k-mers by bucket.

use std::path::Path;

use cuesta_core::Result;
use cuesta_core::budget::Budget;

use crate::blocks::{Blocks, Open, PADDING};
use crate::packed::{self, Record};
use crate::scan::SuperKmer;

/// Name of the scratch file.
const FILE: &str = "super-k-mers";

/// All super-k-mers of a run, by bucket. Threads add through a [`Sink`] each.
pub struct Buckets<'a> {
    k: usize,
    /// Whole records.
    pub blocks: Blocks<'a>,
}

impl<'a> Buckets<'a> {
    /// `count` empty buckets. Blocks stay in memory while `keep_free_bytes` of the budget are left.
    pub fn new(k: usize, count: usize, memory: (&'a Budget, u64), scratch: &Path) -> Self {
        let path = scratch.join(FILE);
        Self { k, blocks: Blocks::new("assembly.partition", count, memory, path) }
    }

    /// What a thread adds super-k-mers through.
    ///
    /// # Errors
    /// `Input` when a block a bucket does not fit in the budget.
    pub fn sink(&self) -> Result<Sink<'_, 'a>> {
        Ok(Sink { k: self.k, open: self.blocks.open()? })
    }

    /// Calls `take` for each super-k-mer of a bucket.
    ///
    /// # Errors
    /// `System`; those of `take`.
    pub fn each(
        &self,
        bucket: usize,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut(&Record<'_>) -> Result<()>,
    ) -> Result<()> {
        self.blocks.each(bucket, buffer, |block| {
            packed::records(block, block.len() - PADDING, self.k).try_for_each(|one| take(&one))
        })
    }
}

/// The open blocks of a thread.
pub struct Sink<'s, 'a> {
    k: usize,
    /// To be checked, and finished in the end.
    pub open: Open<'s, 'a>,
}

impl Sink<'_, '_> {
    /// Adds a super-k-mer of a read.
    #[inline]
    pub fn add(&mut self, part: &SuperKmer<'_>) {
        let k = self.k;
        let most = packed::record_bytes_max(k);
        self.open.append(part.bucket, most, |block| packed::append(part, k, block));
    }

    /// Adds a trusted one.
    pub fn add_trusted(&mut self, part: &SuperKmer<'_>, weight: u16) {
        let k = self.k;
        let most = packed::record_bytes_max(k);
        let append = |block: &mut Vec<u8>| packed::append_trusted(part, weight, k, block);
        self.open.append(part.bucket, most, append);
    }
}
