//! Files that appear under their names only when they are complete.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::{Error, Result};

use crate::removal::replace;

/// Has `write` write a file under a temporary name, and renames it to `path` when it is complete:
/// no reader ever sees a partial file, and of two attempts, on any nodes, the last one wins.
///
/// # Errors
/// Errors of `write`; `System`.
pub fn write<T>(path: &Path, write: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let partial = Partial::of(path);
    let value = write(&partial.path)?;
    partial.finish(path)?;
    Ok(value)
}

/// A file under a temporary name until [`finish`](Self::finish), as with [`write`]. If it is
/// dropped before, it is removed.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    path: PathBuf,
    partial: Partial,
}

impl AtomicFile {
    /// Creates a file that will be at `path`.
    ///
    /// # Errors
    /// `System`.
    pub fn create(path: &Path) -> Result<Self> {
        let partial = Partial::of(path);
        let opened = File::options().read(true).write(true).create_new(true).open(&partial.path);
        let file = opened.map_err(|cause| Error::system("answer", "writing", path, &cause))?;
        Ok(Self { file, path: path.to_owned(), partial })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Renames the file to its path.
    ///
    /// # Errors
    /// `System`.
    pub fn finish(self) -> Result<()> {
        self.partial.finish(&self.path)
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A path in the folder of `path` that no other attempt uses, on any node.
pub fn temporary_path(path: &Path) -> PathBuf {
    static ATTEMPTS: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let process = std::process::id();
    path.with_file_name(format!(".{name}.{host}.{process}.{attempt}"))
}

/// A [`temporary_path`]; the file at it is removed when this is dropped.
#[derive(Debug)]
struct Partial {
    path: PathBuf,
}

impl Partial {
    fn of(path: &Path) -> Self {
        Self { path: temporary_path(path) }
    }

    fn finish(self, path: &Path) -> Result<()> {
        replace(&self.path, path)
            .map_err(|cause| Error::system("answer", "renaming", &self.path, &cause))
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // No data is lost: no reader looks for this name, or the file was renamed.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_partial_file_has_no_name_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part-0");
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let (mut first, mut last) =
            (AtomicFile::create(&path).unwrap(), AtomicFile::create(&path).unwrap());
        first.write_all(b"same").unwrap();
        last.write_all(b"same").unwrap();
        first.finish().unwrap();
        last.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"same");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part-0");
        let failed: Result<()> = write(&path, |partial| {
            fs::write(partial, "half").unwrap();
            Err(Error::cancelled())
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let four = write(&path, |partial| {
            fs::write(partial, "full").unwrap();
            Ok(4)
        });
        assert_eq!((four.unwrap(), fs::read(&path).unwrap()), (4, b"full".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
