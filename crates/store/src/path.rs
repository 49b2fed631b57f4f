//! Paths in the store: `cuesta:///folder/file`, below the root of the under level.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::name_text::{canonical, name_of, shown, text_of};

const SCHEME: &str = "cuesta://";

/// A path below the root, without `.`, `..` or empty components; the root itself is empty. Names
/// may contain any bytes; their text form is that of [`crate::name_text`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StorePath(String);

impl StorePath {
    /// Returns a path relative to the root; `.` for the root.
    pub fn relative(&self) -> PathBuf {
        name_of(if self.0.is_empty() { "." } else { &self.0 }).into()
    }

    /// Creates a path from a system path relative to the root.
    ///
    /// # Errors
    /// `Input` for an invalid path.
    pub fn of_system(path: &Path) -> Result<Self> {
        text_of(path.as_os_str()).parse()
    }

    /// Returns the parent folder; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.0.is_empty() {
            return None;
        }
        Some(Self(self.0.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned())))
    }

    /// Returns its last component; empty for the root.
    pub fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// Returns its last component as a system name.
    pub fn system_name(&self) -> OsString {
        name_of(self.name())
    }

    /// Returns the path of a system name in this folder.
    ///
    /// # Errors
    /// `Input` for an invalid name.
    pub fn join_system(&self, name: &OsStr) -> Result<Self> {
        self.join(&text_of(name))
    }

    /// Returns the path of a name in this folder.
    ///
    /// # Errors
    /// `Input` for an invalid name.
    pub fn join(&self, name: &str) -> Result<Self> {
        format!("{}/{name}", self.0).parse()
    }

    /// Returns whether it is in a folder, at any depth.
    pub fn is_inside(&self, folder: &Self) -> bool {
        self.step_inside(folder).is_some()
    }

    /// Returns the component after a folder that it is in.
    pub fn step_inside(&self, folder: &Self) -> Option<&str> {
        let rest = match folder.0.as_str() {
            "" => &self.0,
            folder => self.0.strip_prefix(folder)?.strip_prefix('/')?,
        };
        rest.split('/').next().filter(|step| !step.is_empty())
    }

    /// Returns its new path after a rename of a folder that it is in.
    ///
    /// # Errors
    /// `Input` for an invalid path.
    pub fn moved(&self, from: &Self, to: &Self) -> Result<Self> {
        let rest = self.0.strip_prefix(&from.0).unwrap_or(&self.0);
        format!("{}/{rest}", to.0).parse()
    }

    /// Returns the path below a root of the file system.
    pub fn below(&self, root: &Path) -> PathBuf {
        if self.0.is_empty() { root.to_owned() } else { root.join(name_of(&self.0)) }
    }
}

impl FromStr for StorePath {
    type Err = Error;

    /// Parses `cuesta:///a/b`, `/a/b` or `a/b`; trailing and doubled slashes are ignored.
    fn from_str(text: &str) -> Result<Self> {
        let path = match text.strip_prefix(SCHEME) {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => rest,
            Some(rest) => {
                let host = rest.split('/').next().unwrap_or(rest);
                let text = format!("{text} names a host, {host}; give cuesta:///path");
                return Err(Error::input("store", text));
            }
            None => text,
        };
        let steps: Vec<&str> = path.split('/').filter(|step| !step.is_empty()).collect();
        if steps.iter().any(|step| matches!(*step, "." | "..") || step.contains('\0')) {
            let text = format!("{text:?} leaves its root or has a step that is no name");
            return Err(Error::input("store", text));
        }
        Ok(Self(canonical(&steps.join("/")).into_owned()))
    }
}

impl fmt::Display for StorePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}/{}", shown(&self.0))
    }
}

impl TryFrom<String> for StorePath {
    /// The sentence of the error: that of a message names the operation.
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        text.parse().map_err(|error: Error| error.sentence())
    }
}

impl From<StorePath> for String {
    fn from(path: StorePath) -> Self {
        path.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_several_spellings() {
        for text in ["cuesta:///a/b", "/a/b", "a/b", "//a//b/", "cuesta:///a/b/"] {
            let path: StorePath = text.parse().unwrap();
            assert_eq!(path.to_string(), "cuesta:///a/b");
            assert_eq!((path.name(), path.parent().unwrap().name()), ("b", "a"));
        }
        for text in ["", "/", "cuesta://", "cuesta:///"] {
            let root: StorePath = text.parse().unwrap();
            assert_eq!((root.relative(), root.parent()), (PathBuf::from("."), None));
            assert_eq!(root.join("a").unwrap().to_string(), "cuesta:///a");
        }
    }

    #[test]
    fn the_files_of_a_folder_move_with_it() {
        let path = |text: &str| text.parse::<StorePath>().unwrap();
        assert_eq!(path("a/b/c").step_inside(&path("a")), Some("b"));
        assert_eq!(path("a/b/c").step_inside(&path("")), Some("a"));
        for (inner, folder) in [("a", "a"), ("ab/c", "a"), ("", ""), ("b/a", "a")] {
            assert!(!path(inner).is_inside(&path(folder)), "{inner} {folder}");
        }
        let moved = path("a/b/c").moved(&path("a/b"), &path("d")).unwrap();
        assert_eq!(moved, path("d/c"));
    }

    #[test]
    fn a_path_out_of_the_root_is_refused() {
        for text in ["..", "a/../b", "/./a", "a\0b", "cuesta://host/a"] {
            assert!(text.parse::<StorePath>().is_err(), "{text:?}");
        }
        assert!(StorePath::default().join("..").is_err());
    }
}
