//! A block of the store as memory of this process, for clients that keep their own leases.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::mapping::{HUGE_BYTES, Mapping};

/// So many times the bytes of a block are copied by the system before it is mapped, where that
/// takes long: to bring its pages in, small pages, was measured as about four such copies.
const COPIES_BEFORE_MAPPING: u64 = 4;
/// Where mapping is quick, it takes as long as to copy this part of the bytes of a block.
const PART_BEFORE_MAPPING: u64 = 64;
/// Mapping is quick at this rate: it takes less than a quarter of a copy. In huge pages a block is
/// mapped at 700 GB/s.
const QUICK_BYTES_PER_S: f64 = 4e10;

/// Whether the last block that was mapped was so quickly.
static IS_QUICK: AtomicBool = AtomicBool::new(true);

/// A block whose file is open. It is mapped once that pays: its bytes are copied faster from a
/// mapping than by the system, but only when the pages of the mapping are there.
#[derive(Debug)]
pub struct StoredBlock {
    file: File,
    size_bytes: usize,
    /// Bytes that were copied by the system.
    copied: AtomicU64,
    /// `None` where the system does not map it.
    mapping: OnceLock<Option<Mapping>>,
}

impl StoredBlock {
    /// Opens the file of a block of so many bytes.
    ///
    /// # Errors
    /// `InvalidData` for a file of another size; those of the system.
    pub fn open(path: &Path, size_bytes: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        // Of this size it stays: it is read-only, and no store cuts a block short. So a mapping
        // has a page behind every byte, and touching it raises no SIGBUS.
        if file.metadata()?.len() != size_bytes {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let size_bytes =
            usize::try_from(size_bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Self { file, size_bytes, copied: AtomicU64::new(0), mapping: OnceLock::new() })
    }

    /// All of its bytes, mapped.
    ///
    /// # Errors
    /// Those of the system.
    pub fn mapped(&self) -> io::Result<&[u8]> {
        let mapping = self.mapping.get_or_init(|| {
            let begun = Instant::now();
            let mapping = Mapping::new(&self.file, self.size_bytes).ok();
            // Of less the call itself is what takes long.
            if self.size_bytes >= HUGE_BYTES {
                let least = QUICK_BYTES_PER_S * begun.elapsed().as_secs_f64();
                IS_QUICK.store(self.size_bytes as f64 >= least, Ordering::Relaxed);
            }
            mapping
        });
        mapping.as_deref().ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Copies the bytes from `offset` on, which all lie in the block.
    ///
    /// # Errors
    /// Those of the system.
    pub fn copy(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        let is_mapped = self.mapping.get().is_some() || {
            let count = into.len() as u64;
            let copied = self.copied.fetch_add(count, Ordering::Relaxed) + count;
            let size_bytes = self.size_bytes as u64;
            let is_quick = IS_QUICK.load(Ordering::Relaxed);
            let enough = if is_quick {
                size_bytes / PART_BEFORE_MAPPING
            } else {
                COPIES_BEFORE_MAPPING * size_bytes
            };
            copied >= enough
        };
        if is_mapped && let Ok(bytes) = self.mapped() {
            into.copy_from_slice(&bytes[offset as usize..][..into.len()]);
            return Ok(());
        }
        self.file.read_exact_at(into, offset)
    }
}
