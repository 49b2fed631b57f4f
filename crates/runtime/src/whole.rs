//! Files that get their names when they are whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::{Error, Result};

/// A file under a name of its own until [`finish`](Self::finish); nobody ever sees half of it, and
/// of two that write the same, the last one wins. Dropped before, it is removed.
#[derive(Debug)]
pub struct WholeFile {
    file: File,
    path: PathBuf,
    partial: Option<PathBuf>,
}

impl WholeFile {
    /// A file that will be at `path`.
    ///
    /// # Errors
    /// `System`.
    pub fn create(path: &Path) -> Result<Self> {
        static ATTEMPTS: AtomicU64 = AtomicU64::new(0);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        let partial =
            path.with_file_name(format!(".{name}.{host}.{}.{attempt}", std::process::id()));
        let opened = File::options().read(true).write(true).create_new(true).open(&partial);
        let file = opened.map_err(|cause| Error::system("answer", "writing", path, &cause))?;
        Ok(Self { file, path: path.to_owned(), partial: Some(partial) })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// `System`.
    pub fn finish(mut self) -> Result<()> {
        let Some(partial) = self.partial.take() else { return Ok(()) };
        fs::rename(&partial, &self.path)
            .map_err(|cause| Error::system("answer", "renaming", &partial, &cause))
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // Nothing is lost with it: it has no name that anybody looks for.
            let _ = fs::remove_file(partial);
        }
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
        let mut file = WholeFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let (mut first, mut last) =
            (WholeFile::create(&path).unwrap(), WholeFile::create(&path).unwrap());
        first.write_all(b"same").unwrap();
        last.write_all(b"same").unwrap();
        first.finish().unwrap();
        last.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"same");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
