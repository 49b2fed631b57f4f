//! A block of the store as memory of this process, for clients that keep their own leases.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;

use crate::mapping::Mapping;

/// So many times the bytes of a block are copied by the system before it is mapped, where that
/// takes long: to bring its pages in, small pages, was measured as about four such copies.
const COPIES_BEFORE_MAPPING: u64 = 4;
/// Where mapping is quick, it takes as long as to copy this part of the bytes of a block.
const PART_BEFORE_MAPPING: u64 = 64;

/// A block whose file is open. It is mapped once that pays: its bytes are copied faster from a
/// mapping than by the system, but only when the pages of the mapping are there.
#[derive(Debug)]
pub struct StoredBlock {
    file: File,
    size_bytes: usize,
    /// Bytes that were copied by the system.
    copied: AtomicU64,
    /// Whether it lies in huge pages; one block may, and the next one not.
    is_quick: OnceLock<bool>,
    /// `None` where the system does not map it.
    mapping: OnceLock<Option<Mapping>>,
}

/// Opens a file of a store's memory, no link, pipe or file of another account in its place.
pub(super) fn open_checked(path: &Path, access: OFlags) -> io::Result<File> {
    // Else opening a pipe would wait for its writer.
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let facts = file.metadata()?;
    let is_checked = facts.is_file() && facts.uid() == geteuid().as_raw();
    if is_checked { Ok(file) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

impl StoredBlock {
    /// Opens the file of a block of so many bytes: a regular file of this account.
    ///
    /// # Errors
    /// `InvalidData` for a file of another size; `PermissionDenied` for another sort of file, or
    /// one that another account has put there; those of the system.
    pub fn open(path: &Path, size_bytes: u64) -> io::Result<Self> {
        let file = open_checked(path, OFlags::RDONLY)?;
        // Of this size it stays: it is read-only, and no store cuts a block short. So a mapping
        // has a page behind every byte, and touching it raises no SIGBUS.
        if file.metadata()?.len() != size_bytes {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let size_bytes =
            usize::try_from(size_bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        let (is_quick, mapping) = (OnceLock::new(), OnceLock::new());
        Ok(Self { file, size_bytes, copied: AtomicU64::new(0), is_quick, mapping })
    }

    /// All of its bytes, mapped.
    ///
    /// # Errors
    /// Those of the system.
    pub fn mapped(&self) -> io::Result<&[u8]> {
        let mapped = || Mapping::new(&self.file, self.size_bytes).ok();
        let mapping = self.mapping.get_or_init(mapped);
        mapping.as_deref().ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Copies the bytes from `offset` on, which all lie in the block.
    ///
    /// # Errors
    /// Those of the system.
    pub fn copy(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        if (self.mapping.get().is_some() || self.pays_to_map(into.len()))
            && let Ok(bytes) = self.mapped()
        {
            into.copy_from_slice(&bytes[offset as usize..][..into.len()]);
            return Ok(());
        }
        self.file.read_exact_at(into, offset)
    }

    /// Whether so many bytes more, copied by the system, make as many as mapping would take long.
    fn pays_to_map(&self, count: usize) -> bool {
        let copied = self.copied.fetch_add(count as u64, Ordering::Relaxed) + count as u64;
        let size_bytes = self.size_bytes as u64;
        copied >= COPIES_BEFORE_MAPPING * size_bytes
            || copied >= size_bytes / PART_BEFORE_MAPPING
                && *self.is_quick.get_or_init(|| Mapping::is_quick(&self.file, self.size_bytes))
    }
}
