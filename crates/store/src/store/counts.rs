//! What a store has done.

use serde::{Deserialize, Serialize};

/// Numbers since the store began, and what is in memory now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Leases of blocks that were in memory.
    pub hits: u64,
    /// Leases of blocks that had to be read from the under level.
    pub misses: u64,
    /// Of these, those that did not come into memory.
    pub bypassed: u64,
    /// Blocks that left for others.
    pub evictions: u64,
    /// Blocks whose bytes had changed in memory, and were read again.
    pub damaged: u64,
    /// Bytes of the blocks in memory.
    pub used_bytes: u64,
    /// Blocks in memory.
    pub blocks: u64,
    /// Leases that are held.
    pub leases: u64,
    /// Bytes of blocks that are pinned.
    pub pinned_bytes: u64,
    /// Bytes of files that are still to be written to the under level.
    pub dirty_bytes: u64,
    /// Bytes of files that are in memory alone, and are to stay so.
    pub memory_only_bytes: u64,
    /// Bytes of the blocks of `hits`.
    pub hit_bytes: u64,
    /// Bytes of the blocks of `misses`.
    pub miss_bytes: u64,
    /// Of the bypassed, those whose block was not worth what would have left for it.
    pub declined: u64,
}
