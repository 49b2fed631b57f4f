//! Counts of a store's operations.

use serde::{Deserialize, Serialize};

/// Counts since the start of the store, and the current use of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Leases of blocks that were in memory.
    pub hits: u64,
    /// Leases of blocks that had to be read from the under level.
    pub misses: u64,
    /// Misses whose block was not loaded into memory.
    pub bypassed: u64,
    /// Evicted blocks.
    pub evictions: u64,
    /// Blocks whose bytes had changed in memory, and were read again.
    pub damaged: u64,
    /// Bytes of the blocks in memory.
    pub used_bytes: u64,
    /// Blocks in memory.
    pub blocks: u64,
    /// Current leases.
    pub leases: u64,
    /// Bytes of blocks that are pinned.
    pub pinned_bytes: u64,
    /// Bytes of files to be written back to the under level.
    pub dirty_bytes: u64,
    /// Bytes of files that are to remain only in memory.
    pub memory_only_bytes: u64,
    /// Bytes of the blocks of `hits`.
    pub hit_bytes: u64,
    /// Bytes of the blocks of `misses`.
    pub miss_bytes: u64,
    /// Bypassed misses whose block was not worth an eviction.
    pub declined: u64,
}
