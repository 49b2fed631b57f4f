//! Check that inputs are distinct: a file that is passed twice, by another name, a link or a copy,
//! counts twice whatever it holds, and a file of reads is not its own mate file.

use std::collections::HashMap;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use crate::files;
use crate::pair_matrix::PairMatrix;
use crate::storage::{self, FileMetadata, Input};

/// Bytes that are compared at once.
const COMPARED_BYTES: usize = 256 << 10;

/// Inputs that must be distinct.
#[derive(Clone, Copy, Debug)]
pub struct Distinct {
    /// Operation that errors name.
    pub operation: &'static str,
    /// The inputs in a message, such as "file of reads".
    pub noun: &'static str,
    /// Whether files that are inputs themselves must differ in their content, too.
    pub compares_content: bool,
}

impl Distinct {
    /// Refuses inputs of which two are the same file, in folders too. Contents of files of equal
    /// size are compared up to the first byte that differs.
    ///
    /// # Errors
    /// `Input` naming both; `System`.
    pub fn require(&self, paths: &[PathBuf]) -> Result<()> {
        let mut by_size: HashMap<u64, Vec<(&Path, bool)>> = HashMap::new();
        let files = self.files(paths)?;
        for (path, is_input) in &files {
            let metadata = self.metadata(path)?;
            let alike = by_size.entry(metadata.size_bytes).or_default();
            for (other, is_other_input) in &*alike {
                if are_same_file(path, other) {
                    return Err(self.twice(path, other, "are the same file"));
                }
                let is_compared = self.compares_content && *is_input && *is_other_input;
                let has_content = metadata.is_file && metadata.size_bytes > 0;
                if is_compared && has_content && self.are_equal(path, other)? {
                    return Err(self.twice(path, other, "have the same content"));
                }
            }
            alike.push((path, *is_input));
        }
        Ok(())
    }

    /// Files of the inputs, and whether each is an input itself; a pair matrix counts as one.
    fn files(&self, paths: &[PathBuf]) -> Result<Vec<(PathBuf, bool)>> {
        let mut all = Vec::new();
        for path in paths {
            let is_folder = storage::uri(path).is_none() && path.is_dir();
            if is_folder && !PairMatrix::is_at(path) {
                let inside = files::list(self.operation, std::slice::from_ref(path), |_| true)?;
                all.extend(inside.into_iter().map(|file| (file, false)));
            } else {
                all.push((path.clone(), !is_folder));
            }
        }
        Ok(all)
    }

    /// Size and type of a file; a URI that only an engine reads has none, and is its own.
    fn metadata(&self, path: &Path) -> Result<FileMetadata> {
        match storage::metadata(path) {
            Ok(metadata) => Ok(metadata),
            Err(_) if storage::uri(path).is_some() => {
                Ok(FileMetadata { size_bytes: 0, is_file: false, is_folder: false })
            }
            Err(cause) => Err(Error::system(self.operation, "opening", path, &cause)),
        }
    }

    fn twice(&self, path: &Path, other: &Path, what: &str) -> Error {
        let (first, second, noun) = (other.display(), path.display(), self.noun);
        let text = match path == other {
            true => format!("{second} is given twice; give each {noun} once"),
            false => format!("{first} and {second} {what}, given twice; give each {noun} once"),
        };
        Error::input(self.operation, text)
    }

    fn are_equal(&self, left: &Path, right: &Path) -> Result<bool> {
        let open = |path: &Path| {
            Input::open(path)
                .map_err(|cause| Error::system(self.operation, "opening", path, &cause))
        };
        let (mut left_input, mut right_input) = (open(left)?, open(right)?);
        let (mut left_bytes, mut right_bytes) = (Vec::new(), Vec::new());
        loop {
            let read = |input: &mut Input, into: &mut Vec<u8>| -> io::Result<usize> {
                into.clear();
                input.take(COMPARED_BYTES as u64).read_to_end(into)
            };
            let failed = |cause: io::Error| Error::system(self.operation, "reading", left, &cause);
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
        let rule = |compares_content| Distinct { operation: "t", noun: "file", compares_content };
        let check = |names: &[&str]| {
            rule(true).require(&names.iter().map(|name| path(name)).collect::<Vec<_>>())
        };
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
        assert!(rule(false).require(&[path("one"), path("copy")]).is_ok());
    }

    #[test]
    fn a_file_of_a_folder_counts_as_passed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("tree/deep")).unwrap();
        std::fs::create_dir_all(path("other")).unwrap();
        std::fs::write(path("tree/deep/one"), "1").unwrap();
        std::fs::write(path("tree/two"), "1").unwrap();
        let rule = Distinct { operation: "t", noun: "file", compares_content: true };
        // Files of a folder may be equal, as blank images are.
        assert!(rule.require(&[path("tree"), path("other")]).is_ok());
        for again in ["tree", "tree/two", "tree/deep"] {
            let error = rule.require(&[path("tree"), path(again)]).unwrap_err();
            assert!(error.message().contains("is given twice"), "{again}: {}", error.message());
        }
        std::os::unix::fs::symlink("../tree/two", path("other/link")).unwrap();
        let error = rule.require(&[path("tree"), path("other")]).unwrap_err();
        assert!(error.message().contains("are the same file"), "{}", error.message());
    }
}
