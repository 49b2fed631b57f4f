//! A file of the under level, read past a store that has no room for it, has ended or hangs.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::sync::{Mutex, TryLockError};

use super::limits::PAST_BYTES;
use crate::path::StorePath;
use crate::under::posix::PosixUnder;
use crate::under::{Under, UnderFile, UnderVersion};

/// An open file, which stays the version that it was when it was opened, or fails.
pub struct PastFile {
    file: Box<dyn UnderFile>,
    version: UnderVersion,
    ahead: Mutex<Ahead>,
}

/// Bytes that were read together with those before them.
#[derive(Default)]
struct Ahead {
    start: u64,
    bytes: Vec<u8>,
    /// Where the last read ended.
    next: u64,
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
        let file = under.open(path)?;
        let now = file.version()?;
        let opened = Self { file, version: version.unwrap_or(now), ahead: Mutex::default() };
        opened.check()?;
        Ok(opened)
    }

    /// The version.
    pub fn version(&self) -> UnderVersion {
        self.version
    }

    /// Fills `into` from `offset` on; all of it lies in the file. Small reads that follow each
    /// other become large ones.
    ///
    /// # Errors
    /// `InvalidData` where the file was changed; those of the system.
    pub fn read(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        if into.len() >= PAST_BYTES {
            return self.read_version(into, offset);
        }
        let mut ahead = match self.ahead.try_lock() {
            Ok(ahead) => ahead,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return self.read_version(into, offset),
        };
        let end = offset + into.len() as u64;
        let is_next = std::mem::replace(&mut ahead.next, end) == offset;
        let holds =
            |ahead: &Ahead| ahead.start <= offset && end <= ahead.start + ahead.bytes.len() as u64;
        if !holds(&ahead) {
            if !is_next {
                return self.read_version(into, offset);
            }
            let count = (self.version.size_bytes - offset).min(PAST_BYTES as u64);
            let mut bytes = std::mem::take(&mut ahead.bytes);
            bytes.resize(count as usize, 0);
            self.read_version(&mut bytes, offset)?;
            (ahead.start, ahead.bytes) = (offset, bytes);
        }
        into.copy_from_slice(&ahead.bytes[(offset - ahead.start) as usize..][..into.len()]);
        Ok(())
    }

    fn read_version(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match self.file.read_exact_at(into, offset) {
            Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(error),
            // Shorter than it was: another version.
            _ => self.check(),
        }
    }

    fn check(&self) -> io::Result<()> {
        if self.file.version()? == self.version { Ok(()) } else { Err(changed()) }
    }
}

impl std::fmt::Debug for PastFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PastFile").field("version", &self.version).finish_non_exhaustive()
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
