//! Files as the stores of a job name them to each other.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::path::StorePath;
use crate::under::{Facts, UnderVersion};

/// Id of one version of a file, equal on all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileId(u128);

impl FileId {
    /// Id of a version of a file of the under level. The device number is left out, as it differs
    /// between nodes.
    pub fn of_under(path: &StorePath, version: &UnderVersion, block_bytes: u64) -> Self {
        let UnderVersion { inode, size_bytes, modified_ns, changed_ns, .. } = *version;
        let mut hasher = blake3::Hasher::new_derive_key("cuesta store, file of the under level");
        hasher.update(path.to_string().as_bytes()).update(&[0]);
        for number in [inode, size_bytes, block_bytes] {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(&modified_ns.to_le_bytes()).update(&changed_ns.to_le_bytes());
        Self::from(hasher.finalize())
    }

    /// Id of a file that is only in the memory of a member, under that member's number for it.
    pub fn of_alone(member: &str, version: &UnderVersion) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("cuesta store, file in memory alone");
        hasher.update(member.as_bytes()).update(&[0]);
        for number in [version.inode, version.size_bytes, version.modified_ns.cast_unsigned()] {
            hasher.update(&number.to_le_bytes());
        }
        Self::from(hasher.finalize())
    }

    /// Returns the number of one of its blocks, for rendezvous hashing.
    pub fn block(self, index: u64) -> u64 {
        let folded = (self.0 >> 64) as u64 ^ self.0 as u64;
        folded.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Returns the version under which a memory-only file of another member is opened: without a
    /// device, and with an inode number that JSON of any language can represent.
    pub fn version(self, size_bytes: u64, closed_ns: i64) -> UnderVersion {
        let inode = self.0 as u64 & ((1 << 53) - 1);
        let (modified_ns, changed_ns) = (closed_ns, closed_ns);
        UnderVersion { device: 0, inode, size_bytes, modified_ns, changed_ns }
    }
}

impl From<blake3::Hash> for FileId {
    fn from(hash: blake3::Hash) -> Self {
        Self(u128::from_le_bytes(*hash.as_bytes().first_chunk().unwrap_or(&[0; 16])))
    }
}

impl fmt::Display for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl From<FileId> for String {
    fn from(id: FileId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for FileId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let number = u128::from_str_radix(&text, 16).map(Self);
        number.ok().filter(|id| id.to_string() == text).ok_or_else(|| "no file".to_owned())
    }
}

/// A file that is only in the memory of one member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AloneFile {
    /// Its name.
    pub path: StorePath,
    /// Its id.
    pub id: FileId,
    /// Its size.
    pub size_bytes: u64,
    /// Time when it was closed, in nanoseconds since 1970.
    pub closed_ns: i64,
    /// Its permission bits.
    pub permissions: u32,
}

/// A later file of the path of another one, each only in the memory of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaterFile {
    /// The later file.
    pub file: AloneFile,
    /// Whether it was written to replace the other one.
    pub is_known: bool,
}

impl AloneFile {
    /// Returns the order of the files of a path. If two were closed at one time, as clocks that are
    /// set allow, all members take the same one for the later.
    pub fn order(&self) -> (i64, FileId) {
        (self.closed_ns, self.id)
    }

    /// Returns its metadata, as for any file.
    pub fn facts(&self) -> Facts {
        Facts::of_file(self.id.version(self.size_bytes, self.closed_ns), self.permissions)
    }
}

/// Result of the lookup of a memory-only file by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameLookup {
    /// No other store has one.
    Nothing,
    /// In the memory of this live store.
    Alone {
        /// The store.
        owner: String,
        /// The file.
        file: AloneFile,
    },
    /// The store that had it is dead or has lost it.
    Lost {
        /// The store.
        owner: String,
        /// Time when the file was closed, in nanoseconds since 1970.
        closed_ns: i64,
    },
}

impl NameLookup {
    /// Returns the time when the file was closed; `None` without a file.
    pub fn closed_ns(&self) -> Option<i64> {
        match self {
            Self::Nothing => None,
            Self::Alone { file, .. } => Some(file.closed_ns),
            Self::Lost { closed_ns, .. } => Some(*closed_ns),
        }
    }
}

/// Blocks and files of a store that other stores may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Blocks in memory of files of the under level.
    pub blocks: HashSet<(FileId, u64)>,
    /// Files that are only in memory.
    pub names: HashMap<StorePath, AloneFile>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_on_all_nodes_and_another_in_another_version() {
        let version =
            UnderVersion { device: 1, inode: 2, size_bytes: 3, modified_ns: 4, changed_ns: 5 };
        let path: StorePath = "a/b".parse().unwrap();
        let id = FileId::of_under(&path, &version, 64);
        assert_eq!(FileId::of_under(&path, &UnderVersion { device: 9, ..version }, 64), id);
        for other in [
            UnderVersion { inode: 9, ..version },
            UnderVersion { size_bytes: 9, ..version },
            UnderVersion { modified_ns: 9, ..version },
            UnderVersion { changed_ns: 9, ..version },
        ] {
            assert_ne!(FileId::of_under(&path, &other, 64), id);
        }
        assert_ne!(FileId::of_under(&path, &version, 65), id);
        assert_ne!(FileId::of_under(&"a/c".parse().unwrap(), &version, 64), id);
        assert_ne!(FileId::of_alone("n1:1", &version), FileId::of_alone("n2:1", &version));
    }
}
