//! A block of the store as memory of this process, for clients that manage their leases themselves.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;

use crate::mapping::Mapping;

/// Times that all bytes of a block are copied by the system before it is mapped, where mapping is
/// slow: loading its small pages was measured as about four such copies.
const COPIES_BEFORE_MAPPING: u64 = 4;
/// Divisor of a block's size: where mapping is fast, it takes as long as copying this part.
const PART_BEFORE_MAPPING: u64 = 64;

/// A block whose file is open. It is mapped once that pays off: copying from a mapping is faster
/// than by system calls, but only once the pages of the mapping are loaded.
#[derive(Debug)]
pub struct StoredBlock {
    file: File,
    size_bytes: usize,
    /// Bytes copied by system calls so far.
    copied: AtomicU64,
    /// Whether it is in huge pages, which differs between blocks.
    is_quick: OnceLock<bool>,
    /// `None` where mapping failed.
    mapping: OnceLock<Option<Mapping>>,
}

/// Opens a file of a store's memory; refuses a link, pipe or file of another account in its place.
pub(super) fn open_checked(path: &Path, access: OFlags) -> io::Result<File> {
    // Without `NONBLOCK`, opening a pipe would wait for its writer.
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let facts = file.metadata()?;
    let is_checked = facts.is_file() && facts.uid() == geteuid().as_raw();
    if is_checked { Ok(file) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

impl StoredBlock {
    /// Opens the file of a block of `size_bytes`: a regular file of this account.
    ///
    /// # Errors
    /// `InvalidData` for a file of another size; `PermissionDenied` for another kind of file, or
    /// one of another account; I/O errors.
    pub fn open(path: &Path, size_bytes: u64) -> io::Result<Self> {
        let file = open_checked(path, OFlags::RDONLY)?;
        // Its size cannot change: it is read-only, and no store truncates a block. So a mapping has
        // a page behind every byte, and touching it raises no SIGBUS.
        if file.metadata()?.len() != size_bytes {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let size_bytes =
            usize::try_from(size_bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let (is_quick, mapping) = (OnceLock::new(), OnceLock::new());
        Ok(Self { file, size_bytes, copied: AtomicU64::new(0), is_quick, mapping })
    }

    /// Returns all of its bytes, mapped.
    ///
    /// # Errors
    /// I/O errors.
    pub fn mapped(&self) -> io::Result<&[u8]> {
        let mapped = || Mapping::new(&self.file, self.size_bytes).ok();
        let mapping = self.mapping.get_or_init(mapped);
        mapping.as_deref().ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Copies the bytes from `offset` on, all within the block.
    ///
    /// # Errors
    /// I/O errors.
    pub fn copy(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        if (self.mapping.get().is_some() || self.pays_to_map(into.len()))
            && let Ok(bytes) = self.mapped()
        {
            into.copy_from_slice(&bytes[offset as usize..][..into.len()]);
            return Ok(());
        }
        self.file.read_exact_at(into, offset)
    }

    /// Returns whether the block has been copied so often, with `count` more bytes, that mapping
    /// pays.
    fn pays_to_map(&self, count: usize) -> bool {
        let copied = self.copied.fetch_add(count as u64, Ordering::Relaxed) + count as u64;
        let size_bytes = self.size_bytes as u64;
        copied >= COPIES_BEFORE_MAPPING * size_bytes
            || copied >= size_bytes / PART_BEFORE_MAPPING
                && *self.is_quick.get_or_init(|| Mapping::is_quick(&self.file, self.size_bytes))
    }
}
