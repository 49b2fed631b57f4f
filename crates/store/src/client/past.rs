//! A file of the under level, read past a store that has no room for it, has ended or hangs.

use std::collections::HashMap;
use std::io::{self, ErrorKind};

use crate::path::StorePath;
use crate::under::posix::{PosixFile, PosixUnder};
use crate::under::{UnderFile, UnderVersion};

/// An open file, which stays the version that it was when it was opened, or fails.
#[derive(Debug)]
pub struct PastFile {
    file: PosixFile,
    version: UnderVersion,
}

impl PastFile {
    /// Opens a file in the version that it has, or in `version` alone.
    ///
    /// # Errors
    /// `InvalidData` where it is another one; those of the system.
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

    /// The version.
    pub fn version(&self) -> UnderVersion {
        self.version
    }

    /// Fills `into` from `offset` on; all of it lies in the file.
    ///
    /// The page cache serves what is read again: past it, working sets of twice to ten times the
    /// memory were read at half the speed of raw files, by way of it at 1 to 2 times.
    ///
    /// # Errors
    /// `InvalidData` where the file was changed; those of the system.
    pub fn read(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match self.file.read_cached_at(into, offset) {
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(error),
            // Shorter than it was: another version.
            _ => self.check(),
        }
    }

    fn check(&self) -> io::Result<()> {
        if self.file.version()? == self.version { Ok(()) } else { Err(changed()) }
    }
}

/// Blocks that had no room: they are read past the store once, before it is asked for them again.
#[derive(Debug, Default)]
pub struct RefusedBlocks(HashMap<u64, u64>);

impl RefusedBlocks {
    /// Whether a block is still to be read past the store, of which `count` bytes are read now.
    pub fn take(&mut self, index: u64, count: u64) -> bool {
        let Some(left) = self.0.get_mut(&index) else { return false };
        *left = left.saturating_sub(count);
        if *left == 0 {
            self.0.remove(&index);
        }
        true
    }

    /// A block has no room, of which so many bytes are still to be read.
    pub fn put(&mut self, index: u64, left: u64) {
        if left > 0 {
            self.0.insert(index, left);
        }
    }
}

pub fn changed() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "it was changed while it was read; open it again")
}
