//! Whether files of reads are distinct: a file that is given twice, by another name, a link or a
//! copy, counts each of its reads twice, and is no mate of itself.

use std::collections::HashMap;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use super::OPERATION;
use crate::storage::{self, Input};

/// Bytes that are compared at once.
const COMPARED_BYTES: usize = 256 << 10;

/// Refuses files of which two are one, or have the same bytes. Files of one size are compared up to
/// the first byte that differs.
///
/// # Errors
/// `Input` naming both; `System`.
pub fn require(paths: &[PathBuf]) -> Result<()> {
    let mut by_size: HashMap<u64, Vec<&PathBuf>> = HashMap::new();
    for path in paths {
        let facts = storage::metadata(path)
            .map_err(|cause| Error::system(OPERATION, "opening", path, &cause))?;
        let alike = by_size.entry(facts.size_bytes).or_default();
        for other in &*alike {
            if are_one(path, other) {
                return Err(twice(path, other, "are the same file"));
            }
            let is_compared = facts.is_file && facts.size_bytes > 0;
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
    let (one, two) = (other.display(), path.display());
    let text = format!("{one} and {two} {what}, given twice; give each file of reads once");
    Error::input(OPERATION, text)
}

/// Whether two paths lead to one file.
fn are_one(one: &Path, two: &Path) -> bool {
    if one == two {
        return true;
    }
    if storage::uri(one).is_some() || storage::uri(two).is_some() {
        return false;
    }
    let file = |path: &Path| std::fs::metadata(path).map(|facts| (facts.dev(), facts.ino())).ok();
    file(one).is_some_and(|found| file(two) == Some(found))
}

fn are_equal(one: &Path, two: &Path) -> Result<bool> {
    let open = |path: &Path| {
        Input::open(path).map_err(|cause| Error::system(OPERATION, "opening", path, &cause))
    };
    let (mut left, mut right) = (open(one)?, open(two)?);
    let (mut here, mut there) = (Vec::new(), Vec::new());
    loop {
        let read = |input: &mut Input, into: &mut Vec<u8>| -> io::Result<usize> {
            into.clear();
            input.take(COMPARED_BYTES as u64).read_to_end(into)
        };
        let failed = |cause: io::Error| Error::system(OPERATION, "reading", one, &cause);
        let count = read(&mut left, &mut here).map_err(failed)?;
        read(&mut right, &mut there).map_err(failed)?;
        if here != there {
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
    fn a_file_is_given_once_by_whatever_name() {
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
        let given =
            |names: &[&str]| require(&names.iter().map(|name| path(name)).collect::<Vec<_>>());
        assert!(given(&["one", "two", "none", "nothing"]).is_ok());
        for (names, what) in [
            (["one", "one"], "is given twice"),
            (["one", "link"], "are the same file"),
            (["one", "./one"], "is given twice"),
            (["hard", "one"], "are the same file"),
            (["one", "copy"], "have the same content"),
        ] {
            let error = given(&["two", names[0], names[1]]).unwrap_err();
            assert!(error.message.contains(what), "{names:?}: {}", error.message);
        }
    }
}
