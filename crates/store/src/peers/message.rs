//! What stores ask each other (`spec/formats/store-peers.md`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::path::StorePath;
use crate::places::BlockPlaces;
use crate::under::{Facts, UnderVersion};

/// A file in one version, the same on all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileId(u128);

impl FileId {
    /// Of a version of a file of the under level. The number of its device is each node's own.
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

    /// Of a file that is in the memory of a member alone, where it has a number.
    pub fn of_alone(member: &str, version: &UnderVersion) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("cuesta store, file in memory alone");
        hasher.update(member.as_bytes()).update(&[0]);
        for number in [version.inode, version.size_bytes, version.modified_ns.cast_unsigned()] {
            hasher.update(&number.to_le_bytes());
        }
        Self::from(hasher.finalize())
    }

    /// The number of one of its blocks, for rendezvous hashing.
    pub fn block(self, index: u64) -> u64 {
        let folded = (self.0 >> 64) as u64 ^ self.0 as u64;
        folded.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The version under which a file in the memory of another member is opened: no device, and a
    /// number that JSON of any language holds.
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

/// A file that is in the memory of one member alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AloneFile {
    /// Its name.
    pub path: StorePath,
    /// Which it is.
    pub id: FileId,
    /// Its size.
    pub size_bytes: u64,
    /// When it was closed, in nanoseconds since 1970.
    pub closed_ns: i64,
    /// Its permission bits.
    pub permissions: u32,
}

impl AloneFile {
    /// Its facts, as they are told of any file.
    pub fn facts(&self) -> Facts {
        Facts::of_file(self.id.version(self.size_bytes, self.closed_ns), self.permissions)
    }
}

/// What a member has to tell a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telling {
    /// Everything that it has follows, until `all_by`.
    pub is_first: bool,
    /// The start of the member, a number that no other start has.
    pub start: u64,
    /// Blocks that it has now.
    pub here: Vec<(FileId, u64)>,
    /// Blocks that it has no more.
    pub gone: Vec<(FileId, u64)>,
    /// Files that are in its memory alone now.
    pub names: Vec<AloneFile>,
    /// Those that are not, any more.
    pub no_names: Vec<StorePath>,
    /// With this it has told all, by this view of who lives.
    pub all_by: Option<u64>,
}

/// What a directory knows of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Known {
    /// No file in memory alone.
    Nothing,
    /// One of this member.
    Alone { owner: String, file: AloneFile },
    /// One of this member, which is dead or has lost it; closed then.
    Lost { owner: String, closed_ns: i64 },
}

impl Known {
    /// Whether it is a file in the memory of this member.
    pub fn is_alone_at(&self, member: &str) -> bool {
        matches!(self, Self::Alone { owner, .. } if owner == member)
    }
}

/// What a member asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum PeerQuestion {
    /// The first on a connection: which start of the member this is, and its blocks' size.
    Hello { incarnation: u64, block_bytes: u64 },
    /// Nothing.
    Ping,
    /// Keep where these are.
    Tell { telling: Telling },
    /// The file of a path that is in the member's memory alone now, told before it is told all.
    Name { path: StorePath, file: Option<AloneFile> },
    /// Who has each of some blocks, at most [`WHERE_MAX`](super::limits::WHERE_MAX).
    Where { file: FileId, indexes: Vec<u64> },
    /// Whose is a file in memory alone, by the directory.
    Find { path: StorePath },
    /// The same by the member's own memory.
    Own { path: StorePath },
    /// The steps after a folder of the files in its memory alone.
    Inside { folder: StorePath },
    /// Bytes of a block in its memory.
    Read { file: FileId, index: u64, offset: u64, bytes: u32 },
    /// Asks a directory for the files, of these of the one that asks, that lost their names.
    Later { files: Vec<AloneFile> },
    /// Whether the file of a path in its memory was written to replace this one.
    Replaces { path: StorePath, file: FileId },
    /// Whether the member wrote this version of a file of the under level.
    Wrote { path: StorePath, version: UnderVersion },
    /// Another file was closed elsewhere under that name: this one counts no more.
    Replaced { path: StorePath, file: FileId },
    /// Forget files of dead members under that name.
    Clear { path: StorePath },
    /// Remove a file that is in its memory alone.
    Remove { path: StorePath },
    /// Rename it.
    Rename { path: StorePath, to: StorePath, is_new: bool },
    /// Give it these permission bits.
    Permit { path: StorePath, permissions: u32 },
    /// Bring it to the under level.
    Flush { path: StorePath },
    /// The member ends, and nothing of it is lost.
    Bye,
}

impl PeerQuestion {
    /// Whether it does something that is not to be done twice.
    pub fn is_change(&self) -> bool {
        matches!(self, Self::Remove { .. } | Self::Rename { .. } | Self::Flush { .. })
    }
}

/// A step after a folder: a file in memory alone, or a folder of some.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderStep {
    /// Its name.
    pub name: String,
    /// `None` for a folder.
    pub file: Option<AloneFile>,
}

/// What it is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case", deny_unknown_fields)]
pub enum PeerReply {
    /// To everything else.
    Done,
    /// To [`PeerQuestion::Hello`].
    Welcome { incarnation: u64, block_bytes: u64 },
    /// To [`PeerQuestion::Tell`], [`PeerQuestion::Name`] and [`PeerQuestion::Later`]: files that
    /// were replaced elsewhere.
    Heard { superseded: Vec<(StorePath, FileId)> },
    /// To [`PeerQuestion::Where`].
    Places { places: BlockPlaces },
    /// To [`PeerQuestion::Find`] and [`PeerQuestion::Own`]; `all_by` is the view by which all live
    /// members have told all, if they have.
    Known { known: Known, all_by: Option<u64> },
    /// To [`PeerQuestion::Inside`].
    Steps { steps: Vec<FolderStep> },
    /// To [`PeerQuestion::Read`]: the bytes are in the payload; the checksum is the block's.
    Piece { checksum: Option<u32> },
    /// To [`PeerQuestion::Read`]: it is not there; to [`PeerQuestion::Replaces`] and
    /// [`PeerQuestion::Wrote`]: it was not.
    Absent,
    /// To [`PeerQuestion::Flush`].
    Moved { bytes: u64 },
    /// It could not.
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
