//! A file of the under level, read without the store where that has no room for it, has ended or
//! hangs.

use std::collections::HashMap;
use std::io::{self, ErrorKind};

use crate::path::StorePath;
use crate::under::posix::{PosixFile, PosixUnder};
use crate::under::{UnderFile, UnderVersion};

/// An open file that is read in the version of its opening, or fails.
#[derive(Debug)]
pub struct BypassFile {
    file: PosixFile,
    version: UnderVersion,
}

impl BypassFile {
    /// Opens a file in its current version, or only in `version`.
    ///
    /// # Errors
    /// `InvalidData` where it is another version; I/O errors.
    pub fn open(
        under: &PosixUnder,
        path: &StorePath,
        version: Option<UnderVersion>,
    ) -> io::Result<Self> {
        let file = under.open_file(path)?;
        let now = file.version()?;
        let opened = Self { file, version: version.unwrap_or(now) };
        opened.check()?;
        Ok(opened)
    }

    /// Returns the version.
    pub fn version(&self) -> UnderVersion {
        self.version
    }

    /// Fills `into` from `offset` on, all within the file.
    ///
    /// The page cache serves repeated reads: without it, working sets of two to ten times the
    /// memory were read at half the speed of raw files, with it at 1 to 2 times.
    ///
    /// # Errors
    /// `InvalidData` where the file was changed; I/O errors.
    pub fn read(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match self.file.read_cached_at(into, offset) {
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(error),
            // The file is shorter than before: another version.
            _ => self.check(),
        }
    }

    fn check(&self) -> io::Result<()> {
        if self.file.version()? == self.version { Ok(()) } else { Err(changed()) }
    }
}

/// Blocks without room in memory: each is read from the under level once before the store is asked
/// for it again.
#[derive(Debug, Default)]
pub struct RefusedBlocks(HashMap<u64, u64>);

impl RefusedBlocks {
    /// Returns whether a block is still to be read from the under level, and subtracts the `count`
    /// bytes read now.
    pub fn take(&mut self, index: u64, count: u64) -> bool {
        let Some(remaining) = self.0.get_mut(&index) else { return false };
        *remaining = remaining.saturating_sub(count);
        if *remaining == 0 {
            self.0.remove(&index);
        }
        true
    }

    /// Adds a block without room, with the bytes that are still to be read.
    pub fn put(&mut self, index: u64, remaining: u64) {
        if remaining > 0 {
            self.0.insert(index, remaining);
        }
    }
}

pub fn changed() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "it was changed while it was read; open it again")
}
