//! The under level: the backing file system below the store, which is authoritative for the files
//! on it.

pub mod fault;
pub mod layout;
pub mod model;
pub mod posix;
mod posix_name;
mod posix_open;
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

/// Version of a file: while it is equal, so is every byte, except for changes within one tick of
/// the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UnderVersion {
    /// Number of its device.
    pub device: u64,
    /// Its inode number.
    pub inode: u64,
    /// Its size.
    pub size_bytes: u64,
    /// Time of the last change of its bytes, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Time of the last change of its bytes or metadata, in nanoseconds since 1970.
    pub changed_ns: i64,
}

impl UnderVersion {
    /// Returns whether both versions have the same bytes: a rename changes `changed_ns`, but no
    /// byte.
    pub fn has_bytes_of(&self, other: &Self) -> bool {
        Self { changed_ns: other.changed_ns, ..*self } == *other
    }
}

/// Metadata of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Its version. A folder has one too, though its size means nothing.
    pub version: UnderVersion,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Its permission bits, including the special ones.
    pub permissions: u32,
}

impl Facts {
    /// Creates the metadata of a file.
    pub fn of_file(version: UnderVersion, permissions: u32) -> Self {
        Self { version, is_folder: false, permissions }
    }
}

/// Files and folders below a root. No path leads out of it, not even through symbolic links.
pub trait Under: Send + Sync {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// I/O errors.
    fn open(&self, path: &StorePath) -> io::Result<Box<dyn UnderFile>>;

    /// Returns the metadata of a path.
    ///
    /// # Errors
    /// I/O errors.
    fn facts(&self, path: &StorePath) -> io::Result<Facts>;

    /// Returns the layout on servers of a file, or of new files in a folder.
    ///
    /// # Errors
    /// I/O errors.
    fn layout(&self, path: &StorePath) -> io::Result<Layout> {
        self.facts(path).map(|_| Layout::PLAIN)
    }

    /// Returns the target of a symbolic link to a folder; `None` for any other path.
    ///
    /// # Errors
    /// I/O errors; `InvalidData` for a target that is no path of the store.
    fn link(&self, path: &StorePath) -> io::Result<Option<StorePath>> {
        self.facts(path).map(|_| None)
    }

    /// Returns the names in a folder, sorted, as in [`crate::name_text`].
    ///
    /// # Errors
    /// I/O errors.
    fn list(&self, folder: &StorePath) -> io::Result<Vec<String>>;

    /// Returns the free space in bytes; `u64::MAX` where it is not known.
    ///
    /// # Errors
    /// I/O errors.
    fn free_bytes(&self) -> io::Result<u64> {
        Ok(u64::MAX)
    }

    /// Creates a file under a hidden name in the folder of its final name. That folder exists.
    ///
    /// # Errors
    /// I/O errors.
    fn create(&self, path: &StorePath, hidden: &str) -> io::Result<Box<dyn UnderWriter>>;

    /// Syncs the folder of a path to the disk.
    ///
    /// # Errors
    /// I/O errors.
    fn sync_names(&self, path: &StorePath) -> io::Result<()>;

    /// Makes a folder, durably; does nothing if it exists.
    ///
    /// # Errors
    /// I/O errors.
    fn make_folder(&self, folder: &StorePath) -> io::Result<()>;

    /// As [`make_folder`](Self::make_folder), with these permission bits.
    ///
    /// # Errors
    /// I/O errors.
    fn make_folder_as(&self, folder: &StorePath, permissions: u32) -> io::Result<()> {
        let _ = permissions;
        self.make_folder(folder)
    }

    /// Sets the permission bits of a file or folder; special bits only where it already has them.
    ///
    /// # Errors
    /// I/O errors.
    fn permit(&self, path: &StorePath, permissions: u32) -> io::Result<()> {
        let _ = (path, permissions);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Removes a file, or an empty folder, durably.
    ///
    /// # Errors
    /// I/O errors.
    fn remove(&self, path: &StorePath) -> io::Result<()>;

    /// Renames a file or folder, durably; replaces a file of the new name.
    ///
    /// # Errors
    /// I/O errors.
    fn rename(&self, from: &StorePath, to: &StorePath) -> io::Result<()>;

    /// Renames a file or folder if the new name is free. Durable after
    /// [`sync_names`](Self::sync_names).
    ///
    /// # Errors
    /// `AlreadyExists` where the new name exists; I/O errors.
    fn rename_new(&self, from: &StorePath, to: &StorePath) -> io::Result<()>;

    /// Exchanges the files of two names atomically. Durable after
    /// [`sync_names`](Self::sync_names).
    ///
    /// # Errors
    /// `Unsupported` where the file system cannot; I/O errors.
    fn exchange(&self, first: &StorePath, second: &StorePath) -> io::Result<()>;

    /// Gives a file a second name, if that is free.
    ///
    /// # Errors
    /// `Unsupported` where the file system cannot; I/O errors.
    fn link_new(&self, file: &StorePath, to: &StorePath) -> io::Result<()>;
}

/// A file that is being written under a hidden name. If it still has that name when dropped, it is
/// removed.
pub trait UnderWriter: Send + Sync {
    /// Returns a path by which another process of this user can open it; `None` where it cannot.
    fn place(&self) -> Option<PathBuf>;

    /// Writes bytes at an offset.
    ///
    /// # Errors
    /// I/O errors.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Returns the number of bytes written so far, by all processes.
    ///
    /// # Errors
    /// I/O errors.
    fn size_bytes(&self) -> io::Result<u64>;

    /// Drops all bytes from offset `size_bytes` on.
    ///
    /// # Errors
    /// I/O errors.
    fn truncate(&self, size_bytes: u64) -> io::Result<()>;

    /// Sets the permission bits that the file has under its final name; until then, only its owner
    /// can read it. Where it replaces a file, it gets only bits that the old file has too, unless
    /// they are `exact`.
    fn permit(&self, permissions: u32, exact: bool) {
        let _ = (permissions, exact);
    }

    /// Syncs all bytes to the disk, with the modification time in nanoseconds since 1970, or the
    /// current time; returns the file's version after that.
    ///
    /// # Errors
    /// I/O errors.
    fn sync(&self, modified_ns: Option<i64>) -> io::Result<UnderVersion>;
}

/// An open file.
pub trait UnderFile: Send + Sync {
    /// Returns its layout on servers.
    fn layout(&self) -> Layout {
        Layout::PLAIN
    }

    /// Returns its current version.
    ///
    /// # Errors
    /// I/O errors.
    fn version(&self) -> io::Result<UnderVersion>;

    /// Fills `buffer` from `offset` on.
    ///
    /// # Errors
    /// `UnexpectedEof` where the file is too short; I/O errors.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
}
