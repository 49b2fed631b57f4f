//! Files of a sort. All steps that may fail pass through this module, so that tests can make any of
//! them fail.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};

use cuesta_core::{Error, Result};
use cuesta_input::records::{Record, RecordFiles};
use cuesta_input::storage::Input;
use cuesta_runtime::parallel::lock;

/// Maximum number of threads that write to a file at the same time. Most file systems admit a
/// single writer while the other threads busy-wait, so further threads had better sort; a few must
/// be ready for the next write to begin immediately.
const WRITERS_MAX: usize = 4;

/// Access to the disk; by default the real disk.
#[derive(Debug, Default)]
pub struct Disk {
    steps: AtomicU64,
    fails_at: Option<u64>,
}

/// Open file.
#[derive(Debug)]
pub struct DiskFile<'a> {
    disk: &'a Disk,
    operation: &'static str,
    path: PathBuf,
    file: Input,
    writers: Writers,
}

/// Number of threads that write.
#[derive(Debug, Default)]
struct Writers {
    count: Mutex<usize>,
    finished: Condvar,
}

impl Writers {
    /// Runs `work` when fewer than [`WRITERS_MAX`] threads run theirs.
    fn in_turn<T>(&self, work: impl FnOnce() -> T) -> T {
        let count = lock(&self.count);
        let is_full = |count: &mut usize| *count >= WRITERS_MAX;
        let waited = self.finished.wait_while(count, is_full);
        *waited.unwrap_or_else(std::sync::PoisonError::into_inner) += 1;
        let result = work();
        *lock(&self.count) -= 1;
        self.finished.notify_one();
        result
    }
}

impl Disk {
    /// Returns a disk whose step number `step`, counted from 0, and all later steps fail as if it
    /// were full.
    pub fn failing_at(step: u64) -> Self {
        Self { fails_at: Some(step), ..Self::default() }
    }

    /// Opens a file for reading; messages about it begin with `operation`.
    ///
    /// # Errors
    /// `System`.
    pub fn open(&self, operation: &'static str, path: &Path) -> Result<DiskFile<'_>> {
        self.opened(operation, path, "opening", || Input::open(path))
    }

    /// Creates an empty file for writing and reading.
    ///
    /// # Errors
    /// `System`.
    pub fn create(&self, operation: &'static str, path: &Path) -> Result<DiskFile<'_>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        self.opened(operation, path, "creating", || options.open(path).map(Input::local))
    }

    /// Opens an existing file for writing.
    ///
    /// # Errors
    /// `System`.
    pub fn open_to_write(&self, operation: &'static str, path: &Path) -> Result<DiskFile<'_>> {
        let mut options = OpenOptions::new();
        options.write(true);
        self.opened(operation, path, "opening", || options.open(path).map(Input::local))
    }

    /// Fills `records` with the records of `files` from number `first` on.
    ///
    /// # Errors
    /// `System`.
    pub fn read_records(
        &self,
        operation: &'static str,
        files: &RecordFiles,
        first: u64,
        records: &mut [Record],
    ) -> Result<()> {
        for piece in files.pieces(first, records.len()) {
            let bytes = records[piece.range].as_flattened_mut();
            self.open(operation, piece.path)?.read(bytes, piece.offset)?;
        }
        Ok(())
    }

    fn opened(
        &self,
        operation: &'static str,
        path: &Path,
        doing: &str,
        open: impl FnOnce() -> io::Result<Input>,
    ) -> Result<DiskFile<'_>> {
        let opened = self.step().and_then(|()| open());
        let file = opened.map_err(|cause| Error::system(operation, doing, path, &cause))?;
        let (path, writers) = (path.to_owned(), Writers::default());
        Ok(DiskFile { disk: self, operation, path, file, writers })
    }

    fn step(&self) -> io::Result<()> {
        let Some(fails_at) = self.fails_at else { return Ok(()) };
        if self.steps.fetch_add(1, Ordering::Relaxed) < fails_at {
            return Ok(());
        }
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }
}

impl DiskFile<'_> {
    /// Fills `bytes` with the bytes of the file from `offset` on.
    ///
    /// # Errors
    /// `System`.
    pub fn read(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        let read = self.disk.step().and_then(|()| self.file.read_exact_at(bytes, offset));
        read.map_err(|cause| self.failed("reading", &cause))
    }

    /// Writes `bytes` at `offset`.
    ///
    /// # Errors
    /// `System`.
    pub fn write(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let write = || self.local()?.write_all_at(bytes, offset);
        let written = self.disk.step().and_then(|()| self.writers.in_turn(write));
        written.map_err(|cause| self.failed("writing", &cause))
    }

    /// Sets the size of the file; new bytes are zero and take no disk space yet.
    ///
    /// # Errors
    /// `System`.
    pub fn resize(&self, size_bytes: u64) -> Result<()> {
        let resized = self.disk.step().and_then(|()| self.local()?.set_len(size_bytes));
        resized.map_err(|cause| self.failed("resizing", &cause))
    }

    fn local(&self) -> io::Result<&File> {
        self.file.as_local().ok_or_else(|| io::ErrorKind::Unsupported.into())
    }

    fn failed(&self, doing: &str, cause: &io::Error) -> Error {
        Error::system(self.operation, doing, &self.path, cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_runtime::parallel;

    #[test]
    fn a_few_threads_write_at_once_and_all_of_them_do() {
        let (writers, most) = (Writers::default(), Mutex::new((0, 0, 0)));
        let work = |_: &mut (), _: usize| {
            writers.in_turn(|| {
                let mut now = lock(&most);
                *now = (now.0 + 1, now.1.max(now.0 + 1), now.2 + 1);
                drop(now);
                std::thread::sleep(std::time::Duration::from_millis(1));
                lock(&most).0 -= 1;
            });
            Ok(())
        };
        parallel::run(12, 60, || (), work, |_| {}).unwrap();
        let (now, most, all) = *lock(&most);
        assert_eq!((now, all), (0, 60));
        assert!((2..=WRITERS_MAX).contains(&most), "{most}");
    }
}
