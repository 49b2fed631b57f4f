//! Memory that is taken before it is needed, so that neither a fill nor a writer waits until the
//! system has cleared it.

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

/// Files of zeros, as large as a block, that are nobody's block yet.
#[derive(Debug)]
pub struct PreparedBlocks {
    folder: PathBuf,
    files: Mutex<Vec<(PathBuf, File)>>,
    block_bytes: AtomicU64,
    serial: AtomicU64,
}

impl PreparedBlocks {
    /// None yet.
    pub fn new(folder: PathBuf) -> Self {
        let (block_bytes, serial) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
        Self { folder, files: Mutex::default(), block_bytes, serial }
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        lock(&self.files).len() as u64
    }

    /// One more, of so many bytes; all have as many.
    ///
    /// # Errors
    /// Those of the system, as where the memory is full; nothing is left of it then.
    pub fn add(&self, block_bytes: u64) -> io::Result<()> {
        self.block_bytes.store(block_bytes, Ordering::Relaxed);
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{serial:x}.{PREPARED}"));
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        let taken = take(&file, block_bytes);
        if taken.is_err() {
            let _ = fs::remove_file(&path);
        }
        taken?;
        lock(&self.files).push((path, file));
        Ok(())
    }

    /// Gives the memory of one back to the system.
    pub fn drop_one(&self) {
        if let Some((path, _)) = lock(&self.files).pop() {
            let _ = fs::remove_file(path);
        }
    }

    /// One of them under this path, with `size_bytes` at most, for a block that is not much smaller
    /// than they are; `None` where there is none, or the path is somebody's.
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

/// Has the system give all memory of a file of so many bytes: in huge pages, as far as it has them.
fn take(file: &File, size_bytes: u64) -> io::Result<()> {
    let huge = size_bytes as usize / HUGE_BYTES;
    let is_reserved = huge > 0 && mapping::reserve(file, huge).is_ok();
    let done = if is_reserved { huge * HUGE_BYTES } else { 0 };
    // A page that something held at that moment is not a huge one, and may not be there.
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
    fn a_prepared_file_serves_one_block_of_about_its_size() {
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
            // The path is somebody's now, who keeps it.
            assert!(prepared.get(&path, block_bytes).is_none());
            assert_eq!(fs::metadata(&path).unwrap().len(), block_bytes - 1);
            fs::remove_file(&path).unwrap();
            prepared.drop_one();
            assert_eq!((prepared.count(), fs::read_dir(&folder).unwrap().count()), (0, 0));
        }
    }
}
