//! Messages between stores (`spec/formats/store-peers.md`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::path::StorePath;
use crate::places::BlockPlaces;
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

/// Update that a member sends to a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectoryUpdate {
    /// Whether the complete state of the member follows, until `all_by`.
    pub is_first: bool,
    /// Number of the member's start, which no other start has.
    pub start: u64,
    /// Number of the state in the member's folder, the same after a restart that lost no file; 0
    /// if a file may be lost.
    #[serde(default)]
    pub lineage: u64,
    /// Number of the update since that start: a connection that was cut may deliver an old one.
    pub number: u64,
    /// Blocks that the member has gained.
    #[serde(rename = "here")]
    pub added: Vec<(FileId, u64)>,
    /// Blocks that the member has lost.
    #[serde(rename = "gone")]
    pub removed: Vec<(FileId, u64)>,
    /// Files that are now only in its memory.
    pub names: Vec<AloneFile>,
    /// Paths whose files are no longer only in its memory.
    pub no_names: Vec<StorePath>,
    /// View of the live members by which the state is complete with this update.
    pub all_by: Option<u64>,
}

/// State of a path in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum NameState {
    /// No memory-only file.
    Nothing,
    /// A file in the memory of this member.
    Alone { owner: String, file: AloneFile },
    /// A file of this member, which is dead or has lost it, and when it was closed.
    Lost { owner: String, closed_ns: i64 },
}

impl NameState {
    /// Returns the owner of a memory-only file, and the file.
    pub fn alone(&self) -> Option<(&str, &AloneFile)> {
        match self {
            Self::Alone { owner, file } => Some((owner, file)),
            _ => None,
        }
    }

    /// Returns whether it is a file in the memory of this member.
    pub fn is_alone_at(&self, member: &str) -> bool {
        matches!(self, Self::Alone { owner, .. } if owner == member)
    }
}

/// Question of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum PeerQuestion {
    /// First question on a connection: the number of the member's start, and its block size.
    Hello { incarnation: u64, block_bytes: u64 },
    /// Asks whether the member lives.
    Ping,
    /// Updates the directory.
    Tell {
        #[serde(rename = "telling")]
        update: DirectoryUpdate,
    },
    /// Updates the directory for the file of a path that is now only in the member's memory, ahead
    /// of the next full update.
    Name { path: StorePath, file: Option<AloneFile>, start: u64, number: u64 },
    /// Asks for the holders of some blocks, at most [`WHERE_MAX`](super::limits::WHERE_MAX).
    Where { file: FileId, indexes: Vec<u64> },
    /// Asks a directory for the owner of a memory-only file.
    Find { path: StorePath },
    /// Asks the member whether it owns the memory-only file itself.
    Own { path: StorePath },
    /// Asks for the names in a folder of the files that are only in its memory, and of their
    /// folders.
    Inside { folder: StorePath },
    /// Asks for bytes of a block in its memory.
    Read { file: FileId, index: u64, offset: u64, bytes: u32 },
    /// Asks a directory which of these files of the caller lost their names.
    Later { files: Vec<AloneFile> },
    /// Asks whether the member wrote its file of a path to replace this one.
    Replaces { path: StorePath, file: FileId },
    /// Asks whether the member wrote this version of a file of the under level; with `file`,
    /// whether it is that memory-only file, flushed.
    Wrote {
        path: StorePath,
        version: UnderVersion,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<FileId>,
    },
    /// Reports that another store has closed a file under that name, which replaces this one.
    Replaced { path: StorePath, file: FileId },
    /// Reports that another member has a later file of that name: if its writer knew this one, it
    /// is forgotten, otherwise it gets a conflict name.
    Superseded { path: StorePath, file: FileId, later: LaterFile },
    /// Has a directory forget files of dead members under that name.
    Clear { path: StorePath },
    /// Removes a file that is only in its memory.
    Remove { path: StorePath },
    /// Renames such a file.
    Rename { path: StorePath, to: StorePath, is_new: bool },
    /// Sets the permission bits of such a file.
    Permit { path: StorePath, permissions: u32 },
    /// Writes such a file back to the under level.
    Flush { path: StorePath },
    /// Reports that the member ends and loses nothing.
    Bye,
}

impl PeerQuestion {
    /// Returns whether the question changes something, and so must not be sent twice.
    pub fn is_change(&self) -> bool {
        matches!(self, Self::Remove { .. } | Self::Rename { .. } | Self::Flush { .. })
    }
}

/// An entry of a folder: a memory-only file, or a folder that has some.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderStep {
    /// Its name.
    pub name: String,
    /// `None` for a folder.
    pub file: Option<AloneFile>,
}

/// Reply of a member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum PeerReply {
    /// To all other questions.
    Done,
    /// To [`PeerQuestion::Hello`].
    Welcome { incarnation: u64, block_bytes: u64 },
    /// To [`PeerQuestion::Tell`], [`PeerQuestion::Name`] and [`PeerQuestion::Later`]: files that
    /// were replaced elsewhere, and whether the directory lacks a part of the state that the member
    /// takes for published, so that it needs the complete state again.
    Heard {
        superseded: Vec<(StorePath, FileId)>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// To [`PeerQuestion::Where`].
    Places { places: BlockPlaces },
    /// To [`PeerQuestion::Find`] and [`PeerQuestion::Own`]; `all_by` is the view by which the
    /// directory is complete, if it is; `older` are earlier files of the path, of live members.
    Known {
        #[serde(rename = "known")]
        state: NameState,
        all_by: Option<u64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        older: Vec<(String, FileId)>,
    },
    /// To [`PeerQuestion::Inside`].
    Steps { steps: Vec<FolderStep> },
    /// To [`PeerQuestion::Read`]: the bytes are in the payload; the checksum is the block's.
    Piece { checksum: Option<u32> },
    /// To [`PeerQuestion::Read`] and [`PeerQuestion::Flush`]: the block or file is not here; to
    /// [`PeerQuestion::Replaces`] and [`PeerQuestion::Wrote`]: no.
    Absent,
    /// To [`PeerQuestion::Flush`].
    Moved { bytes: u64 },
    /// The question failed.
    Refused { error: String, is_input: bool, errno: Option<i32> },
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

    #[test]
    fn questions_have_the_form_of_the_specification() {
        let id = FileId(0xab);
        let read = PeerQuestion::Read { file: id, index: 1, offset: 2, bytes: 3 };
        let text = serde_json::to_string(&read).unwrap();
        let file = format!("{}ab", "0".repeat(30));
        assert_eq!(
            text,
            format!(r#"{{"do":"read","file":"{file}","index":1,"offset":2,"bytes":3}}"#)
        );
        assert_eq!(serde_json::from_str::<PeerQuestion>(&text).unwrap(), read);
        for wrong in [text.replace(&file, "ab"), text.replace('}', r#","more":1}"#)] {
            assert!(serde_json::from_str::<PeerQuestion>(&wrong).is_err(), "{wrong}");
        }
    }
}
