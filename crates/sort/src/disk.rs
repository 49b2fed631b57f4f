//! The files of a sort. Every step that may fail passes through here, so that tests can make any
//! of them fail.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::{Error, Result};
use cuesta_input::records::{Record, RecordFiles};
use cuesta_input::storage::Input;

/// The disk; by default the real one.
#[derive(Debug, Default)]
pub struct Disk {
    steps: AtomicU64,
    fails_at: Option<u64>,
}

/// An open file.
#[derive(Debug)]
pub struct DiskFile<'a> {
    disk: &'a Disk,
    operation: &'static str,
    path: PathBuf,
    file: Input,
}

impl Disk {
    /// A disk whose step number `step`, counted from 0, and all after it fail as if it were full.
    pub fn failing_at(step: u64) -> Self {
        Self { fails_at: Some(step), ..Self::default() }
    }

    /// Opens a file to read; `operation` begins the messages about it.
    ///
    /// # Errors
    /// `System`.
    pub fn open(&self, operation: &'static str, path: &Path) -> Result<DiskFile<'_>> {
        self.opened(operation, path, "opening", || Input::open(path))
    }

    /// Makes an empty file to write and read.
    ///
    /// # Errors
    /// `System`.
    pub fn create(&self, operation: &'static str, path: &Path) -> Result<DiskFile<'_>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        self.opened(operation, path, "creating", || options.open(path).map(Input::Local))
    }

    /// Opens a file that is there to write.
    ///
    /// # Errors
    /// `System`.
    pub fn open_to_write(&self, operation: &'static str, path: &Path) -> Result<DiskFile<'_>> {
        let mut options = OpenOptions::new();
        options.write(true);
        self.opened(operation, path, "opening", || options.open(path).map(Input::Local))
    }

    /// Fills `records` with those of `files` from number `first` on.
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
        Ok(DiskFile { disk: self, operation, path: path.to_owned(), file })
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
    /// Fills `bytes` from `offset`.
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
        let written = self.disk.step().and_then(|()| self.local()?.write_all_at(bytes, offset));
        written.map_err(|cause| self.failed("writing", &cause))
    }

    /// Makes the file as long as this; what is new is zero and takes no room yet.
    ///
    /// # Errors
    /// `System`.
    pub fn resize(&self, size_bytes: u64) -> Result<()> {
        let resized = self.disk.step().and_then(|()| self.local()?.set_len(size_bytes));
        resized.map_err(|cause| self.failed("resizing", &cause))
    }

    fn local(&self) -> io::Result<&File> {
        match &self.file {
            Input::Local(file) => Ok(file),
            Input::Stored(_) | Input::Remote(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn failed(&self, doing: &str, cause: &io::Error) -> Error {
        Error::system(self.operation, doing, &self.path, cause)
    }
}
