//! Names of the edge list that was read last: a run asks for them several times.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuesta_core::Result;

/// Most bytes of names that are kept.
const KEPT_BYTES: usize = 16 << 20;

/// Facts of a file by its file system; another content has other ones.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileFacts {
    file: (u64, u64),
    size_bytes: u64,
    changed: [(i64, i64); 2],
}

static RECENT: Recent = Recent(Mutex::new(None));

/// Names of a file.
struct Recent(Mutex<Option<(FileFacts, Vec<String>)>>);

/// Returns the names in a file, those of the last call if the file has not changed since.
///
/// # Errors
/// Errors of `read`.
pub fn names(path: &Path, read: impl FnOnce() -> Result<Vec<String>>) -> Result<Vec<String>> {
    RECENT.names(path, read)
}

impl Recent {
    fn names(
        &self,
        path: &Path,
        read: impl FnOnce() -> Result<Vec<String>>,
    ) -> Result<Vec<String>> {
        let Some(before) = facts(path) else { return read() };
        if let Some((of, names)) = &*self.lock()
            && *of == before
        {
            return Ok(names.clone());
        }
        let names = read()?;
        let size_bytes: usize = names.iter().map(|name| name.len() + size_of::<String>()).sum();
        // A file that changed while it was read has other facts now.
        *self.lock() = (size_bytes <= KEPT_BYTES && facts(path) == Some(before))
            .then(|| (before, names.clone()));
        Ok(names)
    }

    fn lock(&self) -> MutexGuard<'_, Option<(FileFacts, Vec<String>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `None` for what is no file of a file system.
fn facts(path: &Path) -> Option<FileFacts> {
    let facts = fs::metadata(path).ok()?;
    facts.is_file().then(|| FileFacts {
        file: (facts.dev(), facts.ino()),
        size_bytes: facts.size(),
        changed: [(facts.mtime(), facts.mtime_nsec()), (facts.ctime(), facts.ctime_nsec())],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_again_where_a_file_was_written_or_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("e.txt");
        let recent = Recent(Mutex::new(None));
        let read = || Ok(vec![fs::read_to_string(&path).unwrap()]);
        let unread = || -> Result<Vec<String>> { panic!("the file is read again") };
        fs::write(&path, "a").unwrap();
        assert_eq!(recent.names(&path, read).unwrap(), ["a"]);
        assert_eq!(recent.names(&path, unread).unwrap(), ["a"]);
        fs::write(&path, "bc").unwrap();
        assert_eq!(recent.names(&path, read).unwrap(), ["bc"]);
        let other = folder.path().join("f.txt");
        fs::write(&other, "de").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(recent.names(&path, read).unwrap(), ["de"]);
        assert!(recent.names(folder.path(), || Ok(Vec::new())).unwrap().is_empty());
    }
}
