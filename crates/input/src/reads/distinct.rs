//! Check that files of reads are distinct: a file that is passed twice, by another name, a link or
//! a copy, would count each of its reads twice, and is not its own mate file.

use std::collections::HashMap;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use super::OPERATION;
use crate::storage::{self, Input};

/// Bytes that are compared at once.
const COMPARED_BYTES: usize = 256 << 10;

/// Refuses files of which two are the same or have equal bytes. Files of equal size are compared up
/// to the first byte that differs.
///
/// # Errors
/// `Input` naming both; `System`.
pub fn require(paths: &[PathBuf]) -> Result<()> {
    let mut by_size: HashMap<u64, Vec<&PathBuf>> = HashMap::new();
    for path in paths {
        let metadata = storage::metadata(path)
            .map_err(|cause| Error::system(OPERATION, "opening", path, &cause))?;
        let alike = by_size.entry(metadata.size_bytes).or_default();
        for other in &*alike {
            if are_same_file(path, other) {
                return Err(twice(path, other, "are the same file"));
            }
            let is_compared = metadata.is_file && metadata.size_bytes > 0;
            if is_compared && are_equal(path, other)? {
                return Err(twice(path, other, "have the same content"));
            }
        }
        alike.push(path);
    }
    Ok(())
}

fn twice(path: &Path, other: &Path, what: &str) -> Error {
    if path == other {
        let text = format!("{} is given twice; give each file of reads once", path.display());
        return Error::input(OPERATION, text);
    }
    let (first, second) = (other.display(), path.display());
    let text = format!("{first} and {second} {what}, given twice; give each file of reads once");
    Error::input(OPERATION, text)
}

/// Whether two paths lead to the same file.
fn are_same_file(left: &Path, right: &Path) -> bool {
    if left == right {
        return true;
    }
    if storage::uri(left).is_some() || storage::uri(right).is_some() {
        return false;
    }
    let identity =
        |path: &Path| std::fs::metadata(path).map(|metadata| (metadata.dev(), metadata.ino())).ok();
    identity(left).is_some_and(|file| identity(right) == Some(file))
}

fn are_equal(left: &Path, right: &Path) -> Result<bool> {
    let open = |path: &Path| {
        Input::open(path).map_err(|cause| Error::system(OPERATION, "opening", path, &cause))
    };
    let (mut left_input, mut right_input) = (open(left)?, open(right)?);
    let (mut left_bytes, mut right_bytes) = (Vec::new(), Vec::new());
    loop {
        let read = |input: &mut Input, into: &mut Vec<u8>| -> io::Result<usize> {
            into.clear();
            input.take(COMPARED_BYTES as u64).read_to_end(into)
        };
        let failed = |cause: io::Error| Error::system(OPERATION, "reading", left, &cause);
        let count = read(&mut left_input, &mut left_bytes).map_err(failed)?;
        read(&mut right_input, &mut right_bytes).map_err(failed)?;
        if left_bytes != right_bytes {
            return Ok(false);
        }
        if count == 0 {
            return Ok(true);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_passed_only_once_under_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(path(name), text).unwrap();
        write("one", "@a\nAC\n+\nII\n");
        write("two", "@a\nAG\n+\nII\n");
        write("copy", "@a\nAC\n+\nII\n");
        write("none", "");
        write("nothing", "");
        std::os::unix::fs::symlink("one", path("link")).unwrap();
        std::fs::hard_link(path("one"), path("hard")).unwrap();
        let check =
            |names: &[&str]| require(&names.iter().map(|name| path(name)).collect::<Vec<_>>());
        assert!(check(&["one", "two", "none", "nothing"]).is_ok());
        for (names, what) in [
            (["one", "one"], "is given twice"),
            (["one", "link"], "are the same file"),
            (["one", "./one"], "is given twice"),
            (["hard", "one"], "are the same file"),
            (["one", "copy"], "have the same content"),
        ] {
            let error = check(&["two", names[0], names[1]]).unwrap_err();
            assert!(error.message().contains(what), "{names:?}: {}", error.message());
        }
    }
}
