//! The under level: the file system that the store is in front of, and the only truth about files
//! that are on it.

pub mod fault;
pub mod layout;
pub mod model;
pub mod posix;
mod posix_name;
mod posix_write;
pub mod throttle;
pub mod trace;
mod uncached;
pub mod watch;

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::path::StorePath;
use layout::Layout;

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

impl UnderVersion {
    /// Whether it has the same bytes: a new name changes the time of change, but no byte.
    pub fn has_bytes_of(&self, other: &Self) -> bool {
        Self { changed_ns: other.changed_ns, ..*self } == *other
    }
}

/// What is under a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Of a folder too, though its size means nothing.
    pub version: UnderVersion,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Its permission bits, the special ones too.
    pub permissions: u32,
}

impl Facts {
    /// The facts of a file.
    pub fn of_file(version: UnderVersion, permissions: u32) -> Self {
        Self { version, is_folder: false, permissions }
    }
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

    /// How a file, or what is made in a folder, lies on servers.
    ///
    /// # Errors
    /// Those of the system.
    fn layout(&self, path: &StorePath) -> io::Result<Layout> {
        self.facts(path).map(|_| Layout::PLAIN)
    }

    /// Where a symbolic link to a folder leads; `None` for what is no link.
    ///
    /// # Errors
    /// Those of the system; `InvalidData` for a place that is no path of the store.
    fn link(&self, path: &StorePath) -> io::Result<Option<StorePath>> {
        self.facts(path).map(|_| None)
    }

    /// Names in a folder, sorted, as in [`crate::name_text`].
    ///
    /// # Errors
    /// Those of the system.
    fn list(&self, folder: &StorePath) -> io::Result<Vec<String>>;

    /// Bytes that files can still get; as many as there are numbers where it is not known.
    ///
    /// # Errors
    /// Those of the system.
    fn free_bytes(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    /// Begins a file beside its final name, under a hidden one. Its folder exists.
    ///
    /// # Errors
    /// Those of the system.
    fn create(&self, path: &StorePath, hidden: &str) -> io::Result<Box<dyn UnderWriter>>;

    /// Brings the names in the folder of a path to the disk.
    ///
    /// # Errors
    /// Those of the system.
    fn sync_names(&self, path: &StorePath) -> io::Result<()>;

    /// Makes a folder, durably; one that exists already is left as it is.
    ///
    /// # Errors
    /// Those of the system.
    fn make_folder(&self, folder: &StorePath) -> io::Result<()>;

    /// As [`make_folder`](Self::make_folder), with these permission bits.
    ///
    /// # Errors
    /// Those of the system.
    fn make_folder_as(&self, folder: &StorePath, permissions: u32) -> io::Result<()> {
        let _ = permissions;
        self.make_folder(folder)
    }

    /// Gives a file or folder these permission bits; special ones only where it has them.
    ///
    /// # Errors
    /// Those of the system.
    fn permit(&self, path: &StorePath, permissions: u32) -> io::Result<()> {
        let _ = (path, permissions);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Removes a file, or an empty folder, durably.
    ///
    /// # Errors
    /// Those of the system.
    fn remove(&self, path: &StorePath) -> io::Result<()>;

    /// Renames a file or folder, durably; a file of the new name is replaced.
    ///
    /// # Errors
    /// Those of the system.
    fn rename(&self, from: &StorePath, to: &StorePath) -> io::Result<()>;

    /// Renames a file or folder where nothing has the new name. Durable after
    /// [`sync_names`](Self::sync_names).
    ///
    /// # Errors
    /// `AlreadyExists` where something has the new name; those of the system.
    fn rename_new(&self, from: &StorePath, to: &StorePath) -> io::Result<()>;

    /// Exchanges the files of two names in one step. Durable after
    /// [`sync_names`](Self::sync_names).
    ///
    /// # Errors
    /// `Unsupported` where the file system cannot; those of the system.
    fn exchange(&self, first: &StorePath, second: &StorePath) -> io::Result<()>;

    /// Gives a file a second name, where nothing has it.
    ///
    /// # Errors
    /// `Unsupported` where the file system cannot; those of the system.
    fn link_new(&self, file: &StorePath, to: &StorePath) -> io::Result<()>;
}

/// A file that is being written under a hidden name. Dropped while it has that name, it is removed.
pub trait UnderWriter: Send + Sync {
    /// Where another process of this user can open it; `None` where it cannot.
    fn place(&self) -> Option<PathBuf>;

    /// Writes bytes at an offset.
    ///
    /// # Errors
    /// Those of the system.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Bytes that were written so far, by whomever.
    ///
    /// # Errors
    /// Those of the system.
    fn size_bytes(&self) -> io::Result<u64>;

    /// Sets the permission bits that the file has under its name; until then, its owner alone
    /// reads it. Where it replaces a file, it has no more than that, unless they are `exact`.
    fn permit(&self, permissions: u32, exact: bool) {
        let _ = (permissions, exact);
    }

    /// Brings all bytes to the disk, as changed at a time in nanoseconds since 1970, or just now;
    /// the version that the file has then.
    ///
    /// # Errors
    /// Those of the system.
    fn sync(&self, modified_ns: Option<i64>) -> io::Result<UnderVersion>;
}

/// An open file.
pub trait UnderFile: Send + Sync {
    /// How it lies on servers.
    fn layout(&self) -> Layout {
        Layout::PLAIN
    }

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
