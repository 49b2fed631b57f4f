//! Memory that is allocated in advance, so that neither a fill nor a writer waits for the system to
//! clear it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_runtime::parallel::lock;
use rustix::fs::{CWD, RenameFlags};

use crate::allocate::allocate;
use crate::mapping::{self, HUGE_BYTES};
use crate::memory::PREPARED;

/// Files of zeros, as large as a block, that are not used for a block yet.
#[derive(Debug)]
pub struct PreparedBlocks {
    folder: PathBuf,
    files: Mutex<Vec<(PathBuf, File)>>,
    block_bytes: AtomicU64,
    serial: AtomicU64,
}

impl PreparedBlocks {
    /// Creates an empty set.
    pub fn new(folder: PathBuf) -> Self {
        let (block_bytes, serial) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
        Self { folder, files: Mutex::default(), block_bytes, serial }
    }

    /// Returns the number of files.
    pub fn count(&self) -> u64 {
        lock(&self.files).len() as u64
    }

    /// Adds a file of `block_bytes`; all files have the same size.
    ///
    /// # Errors
    /// I/O errors, such as a full memory; nothing remains of the file then.
    pub fn add(&self, block_bytes: u64) -> io::Result<()> {
        self.block_bytes.store(block_bytes, Ordering::Relaxed);
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{serial:x}.{PREPARED}"));
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        let allocated = take(&file, block_bytes);
        if allocated.is_err() {
            let _ = fs::remove_file(&path);
        }
        allocated?;
        lock(&self.files).push((path, file));
        Ok(())
    }

    /// Frees the memory of one file.
    pub fn release_last(&self) {
        if let Some((path, _)) = lock(&self.files).pop() {
            let _ = fs::remove_file(path);
        }
    }

    /// Renames one of the files to `path`, with at most `size_bytes`, for a block that is not much
    /// smaller than the files; `None` where there is none, or the path exists.
    pub fn get(&self, path: &Path, size_bytes: u64) -> Option<File> {
        let block_bytes = self.block_bytes.load(Ordering::Relaxed);
        if size_bytes <= block_bytes / 2 {
            return None;
        }
        let (before, file) = lock(&self.files).pop()?;
        let named = rustix::fs::renameat_with(CWD, &before, CWD, path, RenameFlags::NOREPLACE);
        if named.is_err() || (size_bytes < block_bytes && file.set_len(size_bytes).is_err()) {
            let _ = fs::remove_file(before);
            return None;
        }
        Some(file)
    }
}

/// Allocates all memory of a file: in huge pages, as far as the system has them.
fn take(file: &File, size_bytes: u64) -> io::Result<()> {
    let huge = size_bytes as usize / HUGE_BYTES;
    let is_reserved = huge > 0 && mapping::reserve(file, huge).is_ok();
    let done = if is_reserved { huge * HUGE_BYTES } else { 0 };
    // A page that was in use at that moment is not huge, and may be missing.
    allocate(file, done as u64)?;
    let zeros = vec![0; HUGE_BYTES];
    let mut place = done as u64;
    while place < size_bytes {
        let count = (size_bytes - place).min(HUGE_BYTES as u64);
        file.write_all_at(&zeros[..count as usize], place)?;
        place += count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prepared_file_is_used_for_a_block_of_about_its_size() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let prepared = PreparedBlocks::new(folder.path().to_owned());
        let path = folder.path().join("block");
        assert!(prepared.get(&path, 1).is_none());
        for block_bytes in [1000, HUGE_BYTES as u64, 2 * HUGE_BYTES as u64 + 77] {
            for _ in 0..3 {
                prepared.add(block_bytes).unwrap();
            }
            assert!(prepared.get(&path, block_bytes / 2).is_none());
            let file = prepared.get(&path, block_bytes - 1).unwrap();
            assert_eq!(file.metadata().unwrap().len(), block_bytes - 1);
            assert!(fs::read(&path).unwrap().iter().all(|&byte| byte == 0));
            // The path exists now, and its file is not replaced.
            assert!(prepared.get(&path, block_bytes).is_none());
            assert_eq!(fs::metadata(&path).unwrap().len(), block_bytes - 1);
            fs::remove_file(&path).unwrap();
            prepared.release_last();
            assert_eq!((prepared.count(), fs::read_dir(&folder).unwrap().count()), (0, 0));
        }
    }
}
