//! Sources of blocks that the cache misses, besides the under level.

use std::io;
use std::sync::Arc;

use super::file::FileVersion;
use crate::path::StorePath;
use crate::under::{UnderFile, UnderVersion};

/// Other memories that have blocks. The daemon gives a store its source: the other stores of the
/// job; without one, all blocks come from the under level.
pub trait BlockSource: Send + Sync {
    /// Returns a reader of a block of a file that is open on the under level. Without `is_certain`
    /// the next version of the file may look like this one, so that no other memory has it for
    /// sure.
    fn block(
        self: Arc<Self>,
        file: &FileVersion,
        index: u64,
        under: &Arc<dyn UnderFile>,
        is_certain: bool,
    ) -> Arc<dyn SourceBlock>;

    /// Opens a file that is only in another memory, in a version that was looked up there.
    ///
    /// # Errors
    /// `InvalidData` where the file is another version by now; `HostUnreachable` where that memory
    /// is lost, with the complete message.
    fn open(
        self: Arc<Self>,
        path: &StorePath,
        version: UnderVersion,
    ) -> io::Result<Arc<dyn UnderFile>>;
}

/// A block that is read from the nearest place that has it.
pub trait SourceBlock: UnderFile {
    /// Returns whether another memory has the block, and is faster than the under level now.
    fn is_nearer(&self) -> bool;

    /// Returns the checksum of the block, by another memory that sent a piece of it.
    fn checksum(&self) -> Option<u32>;
}
