//! The under level: the file system that the store is in front of, and the only truth about files
//! that are on it.

pub mod fault;
pub mod posix;

use std::io;

use serde::{Deserialize, Serialize};

use crate::path::StorePath;

/// Which content a file has: while these are the same, so is every byte, but for changes within
/// the clock's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UnderVersion {
    /// The device that it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// Its size.
    pub size_bytes: u64,
    /// When its bytes were changed last, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// When anything of it was changed last.
    pub changed_ns: i64,
}

/// What is under a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Of a folder too, though its size means nothing.
    pub version: UnderVersion,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// Files and folders below a root. Paths never leave it, through symbolic links neither.
pub trait Under: Send + Sync {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// Those of the system.
    fn open(&self, path: &StorePath) -> io::Result<Box<dyn UnderFile>>;

    /// What is under a path.
    ///
    /// # Errors
    /// Those of the system.
    fn facts(&self, path: &StorePath) -> io::Result<Facts>;

    /// Names in a folder, sorted.
    ///
    /// # Errors
    /// Those of the system.
    fn list(&self, folder: &StorePath) -> io::Result<Vec<String>>;
}

/// An open file.
pub trait UnderFile: Send + Sync {
    /// The version that it has now.
    ///
    /// # Errors
    /// Those of the system.
    fn version(&self) -> io::Result<UnderVersion>;

    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// `UnexpectedEof` where the file is too short; those of the system.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}
