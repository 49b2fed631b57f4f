//! Messages between stores (`spec/formats/store-peers.md`).

use serde::{Deserialize, Serialize};

use crate::path::StorePath;
use crate::places::BlockPlaces;
use crate::sharing::{AloneFile, ChangeOutcome, FileChange, FileId, LaterFile};
use crate::under::UnderVersion;

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

    /// Returns the change of a file that the question is; `None` for any other question.
    pub fn file_change(self) -> Option<FileChange> {
        Some(match self {
            Self::Replaced { path, file } => FileChange::Replaced { path, file },
            Self::Superseded { path, file, later } => FileChange::Superseded { path, file, later },
            Self::Remove { path } => FileChange::Remove { path },
            Self::Rename { path, to, is_new } => FileChange::Rename { path, to, is_new },
            Self::Permit { path, permissions } => FileChange::Permit { path, permissions },
            Self::Flush { path } => FileChange::Flush { path },
            _ => return None,
        })
    }
}

impl From<FileChange> for PeerQuestion {
    fn from(change: FileChange) -> Self {
        match change {
            FileChange::Replaced { path, file } => Self::Replaced { path, file },
            FileChange::Superseded { path, file, later } => Self::Superseded { path, file, later },
            FileChange::Remove { path } => Self::Remove { path },
            FileChange::Rename { path, to, is_new } => Self::Rename { path, to, is_new },
            FileChange::Permit { path, permissions } => Self::Permit { path, permissions },
            FileChange::Flush { path } => Self::Flush { path },
        }
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

impl From<ChangeOutcome> for PeerReply {
    fn from(outcome: ChangeOutcome) -> Self {
        match outcome {
            ChangeOutcome::Done => Self::Done,
            ChangeOutcome::Moved { bytes } => Self::Moved { bytes },
            ChangeOutcome::Absent => Self::Absent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_have_the_form_of_the_specification() {
        let file = format!("{}ab", "0".repeat(30));
        let id = FileId::try_from(file.clone()).unwrap();
        let read = PeerQuestion::Read { file: id, index: 1, offset: 2, bytes: 3 };
        let text = serde_json::to_string(&read).unwrap();
        assert_eq!(
            text,
            format!(r#"{{"do":"read","file":"{file}","index":1,"offset":2,"bytes":3}}"#)
        );
        assert_eq!(serde_json::from_str::<PeerQuestion>(&text).unwrap(), read);
        for wrong in [text.replace(&file, "ab"), text.replace('}', r#","more":1}"#)] {
            assert!(serde_json::from_str::<PeerQuestion>(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_change_of_a_file_is_the_same_after_its_message() {
        let (path, to): (StorePath, StorePath) = ("a".parse().unwrap(), "b".parse().unwrap());
        let file = FileId::try_from("0".repeat(32)).unwrap();
        let alone =
            AloneFile { path: to.clone(), id: file, size_bytes: 1, closed_ns: 2, permissions: 0 };
        let later = LaterFile { file: alone, is_known: true };
        for change in [
            FileChange::Replaced { path: path.clone(), file },
            FileChange::Superseded { path: path.clone(), file, later },
            FileChange::Remove { path: path.clone() },
            FileChange::Rename { path: path.clone(), to, is_new: true },
            FileChange::Permit { path: path.clone(), permissions: 0o640 },
            FileChange::Flush { path },
        ] {
            let text = serde_json::to_string(&PeerQuestion::from(change.clone())).unwrap();
            let received: PeerQuestion = serde_json::from_str(&text).unwrap();
            assert_eq!(received.file_change(), Some(change));
        }
        assert_eq!(PeerQuestion::Ping.file_change(), None);
    }
}
