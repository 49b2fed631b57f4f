//! Files that tasks write next to the answer, and their concatenation by the leader.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};
use cuesta_runtime::atomic_file;
use cuesta_runtime::removal::{FolderEntry, remove_matching};

/// Writes the file of a part with `write`; the file gets its name when it is complete: any attempt
/// of a task may write it, on any node that shares the folder of the answer.
///
/// # Errors
/// Errors of `write`; `System`.
pub fn write<T>(output: &Path, part: usize, write: impl FnOnce(&Path) -> Result<T>) -> Result<T> {
    let folder = output.join(FOLDER);
    fs::create_dir_all(&folder)
        .map_err(|cause| Error::system("answer", "creating", &folder, &cause))?;
    atomic_file::write(&place(output, part), write)
}

/// Concatenates the parts 0 to `count` into one file and removes them; returns its size in bytes.
///
/// # Errors
/// `Input` for a missing part; `System`.
pub fn join(output: &Path, count: usize, target: &Path) -> Result<u64> {
    let failed = |cause| Error::system("answer", "writing", target, &cause);
    if count == 0 {
        File::create(target).map_err(failed)?;
        return Ok(0);
    }
    // The further parts are appended to the first one, which need not be copied.
    let first = place(output, 0);
    fs::rename(&first, target).map_err(|cause| missing(&first, &cause))?;
    let mut out = OpenOptions::new().write(true).open(target).map_err(failed)?;
    let mut size_bytes = out.seek(SeekFrom::End(0)).map_err(failed)?;
    for part in 1..count {
        let path = place(output, part);
        let mut file = File::open(&path).map_err(|cause| missing(&path, &cause))?;
        size_bytes += io::copy(&mut file, &mut out).map_err(failed)?;
        // The space of a part is freed before the next part is copied.
        fs::remove_file(&path)
            .map_err(|cause| Error::system("answer", "removing", &path, &cause))?;
    }
    let folder = output.join(FOLDER);
    // A file that no task wrote remains, and the folder with it.
    remove_matching(&folder, is_part)
        .map_err(|cause| Error::system("answer", "removing", &folder, &cause))?;
    Ok(size_bytes)
}

/// Name of the folder in the output.
const FOLDER: &str = "parts";

fn place(output: &Path, part: usize) -> PathBuf {
    output.join(FOLDER).join(part.to_string())
}

/// Whether a name is that of a part, or of an abandoned attempt.
fn is_part(entry: &FolderEntry) -> bool {
    let name = entry.name.to_string_lossy();
    let number = name.strip_prefix('.').and_then(|name| name.split('.').next());
    number.unwrap_or(&name).parse::<usize>().is_ok()
}

fn missing(path: &Path, cause: &io::Error) -> Error {
    if cause.kind() != ErrorKind::NotFound {
        return Error::system("answer", "opening", path, cause);
    }
    let text = format!("{} is not there; choose an output that all nodes share", path.display());
    Error::input("answer", text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn put(output: &Path, part: usize, text: &str) {
        write(output, part, |path| {
            fs::write(path, text).unwrap();
            Ok(())
        })
        .unwrap();
    }

    #[test]
    fn parts_are_joined_in_their_order_however_often_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        for (part, text) in [(2, "cc"), (0, "no"), (1, ""), (0, "a"), (3, "ddd")] {
            put(folder.path(), part, text);
        }
        let target = folder.path().join("all");
        assert_eq!(join(folder.path(), 4, &target).unwrap(), 6);
        assert_eq!(fs::read(&target).unwrap(), b"accddd");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(join(folder.path(), 0, &target).unwrap(), 0);
        assert_eq!(fs::read(&target).unwrap(), b"");
    }

    #[test]
    fn a_part_has_its_name_only_when_complete_and_a_missing_part_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let died: Result<()> = write(folder.path(), 1, |path| {
            fs::write(path, "half").unwrap();
            Err(Error::cancelled())
        });
        assert!(died.is_err());
        assert_eq!(fs::read_dir(folder.path().join(FOLDER)).unwrap().count(), 0);
        put(folder.path(), 0, "a");
        let error = join(folder.path(), 2, &folder.path().join("all")).unwrap_err();
        assert!(error.message().contains("parts/1 is not there; choose an output"), "{error}");
    }
}
