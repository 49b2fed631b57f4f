//! Files that get their names when they are whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::{Error, Result};

use crate::removal::replace;

/// Has `write` write a file under a name of its own, which becomes `path` when it is whole: nobody
/// ever sees half of it, and of two attempts, wherever they are, the last one wins.
///
/// # Errors
/// Those of `write`; `System`.
pub fn write<T>(path: &Path, write: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let partial = Partial::of(path);
    let value = write(&partial.path)?;
    partial.finish(path)?;
    Ok(value)
}

/// A file under a name of its own until [`finish`](Self::finish), as [`write`] has it. Dropped
/// before, it is removed.
#[derive(Debug)]
pub struct AtomicFile {
    file: File,
    path: PathBuf,
    partial: Partial,
}

impl AtomicFile {
    /// A file that will be at `path`.
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

    /// Gives the file its name.
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

/// A path beside `path` that no other attempt has, on any node.
pub fn temporary_path(path: &Path) -> PathBuf {
    static ATTEMPTS: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    let process = std::process::id();
    path.with_file_name(format!(".{name}.{host}.{process}.{attempt}"))
}

/// An [`temporary_path`]; what has it is removed when this is dropped.
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
        // Nothing is lost with it: it has no name that anybody looks for, or got its own.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn half_a_file_has_no_name_and_leaves_nothing() {
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
    fn what_fails_to_write_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part-0");
        let died: Result<()> = write(&path, |partial| {
            fs::write(partial, "half").unwrap();
            Err(Error::cancelled())
        });
        assert!(died.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let four = write(&path, |partial| {
            fs::write(partial, "full").unwrap();
            Ok(4)
        });
        assert_eq!((four.unwrap(), fs::read(&path).unwrap()), (4, b"full".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
