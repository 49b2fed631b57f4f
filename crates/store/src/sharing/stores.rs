//! Traits between a store and the other stores of its job.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use cuesta_core::{Error, Result};

use super::files::{AloneFile, FileId, Holdings, LaterFile, NameLookup};
use crate::path::StorePath;
use crate::under::UnderVersion;

/// Change of a file that is only in the memory of another store, which makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileChange {
    /// Another store has closed a file under this name, which replaces this one.
    Replaced {
        /// Name of the file.
        path: StorePath,
        /// The replaced file.
        file: FileId,
    },
    /// Another store has a later file of this name: if its writer knew this one, it is forgotten,
    /// otherwise it gets a conflict name.
    Superseded {
        /// Name of the file.
        path: StorePath,
        /// The earlier file.
        file: FileId,
        /// The later file.
        later: LaterFile,
    },
    /// The file is removed.
    Remove {
        /// Name of the file.
        path: StorePath,
    },
    /// The file is renamed.
    Rename {
        /// Name of the file.
        path: StorePath,
        /// New name.
        to: StorePath,
        /// Whether a file of the new name is an error.
        is_new: bool,
    },
    /// The file gets other permission bits.
    Permit {
        /// Name of the file.
        path: StorePath,
        /// Permission bits.
        permissions: u32,
    },
    /// The file is written back to the under level.
    Flush {
        /// Name of the file.
        path: StorePath,
    },
}

/// Outcome of a [`FileChange`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// The file is changed, or was another one already.
    Done,
    /// The file was written back.
    Moved {
        /// Number of bytes moved.
        bytes: u64,
    },
    /// The file to write back is not in this memory.
    Absent,
}

/// Other stores of a job, as the local store calls them.
pub trait RemoteStores: Send + Sync {
    /// Returns the name of the local store among them.
    fn name(&self) -> &str;

    /// Looks up a memory-only file of another store.
    fn find(&self, path: &StorePath) -> NameLookup;

    /// As [`find`](Self::find), with the earlier files of the path and their owners.
    fn find_all(&self, path: &StorePath) -> (NameLookup, Vec<(String, FileId)>);

    /// As [`find`](Self::find), for a hint: among the stores that answer within about a second.
    fn find_soon(&self, path: &StorePath) -> NameLookup;

    /// Returns the names in a folder of memory-only files of other stores, and of their folders;
    /// with the file for a file.
    fn inside(&self, folder: &StorePath) -> BTreeMap<String, Option<AloneFile>>;

    /// Returns the other live stores that have each of some blocks. Blocks whose directory does
    /// not answer in time are left out.
    fn holders(&self, file: FileId, blocks: Range<u64>) -> HashMap<u64, Vec<String>>;

    /// Returns the memory-only file of a path of another store, as that store knows it, and whether
    /// it was written to replace `file` of the local store.
    fn later_file(&self, owner: &str, path: &StorePath, file: FileId) -> Option<LaterFile>;

    /// Returns whether another live store wrote this version of a file of the under level; with
    /// `file`, whether it is that memory-only file, flushed.
    fn wrote(&self, path: &StorePath, version: &UnderVersion, file: Option<FileId>) -> bool;

    /// Has another store change one of its files; returns the number of bytes moved.
    ///
    /// # Errors
    /// The other store's errors; `Input` where it is dead.
    fn forward(&self, owner: &str, change: FileChange) -> Result<u64>;

    /// Has directories forget the files of dead stores at a path.
    fn clear(&self, path: &StorePath);

    /// Publishes whether a file of a path is only in the memory of the local store now, and has
    /// that store forget files that have been replaced elsewhere.
    fn publish_name(&self, store: &dyn LocalStore, path: &StorePath);

    /// Counts a lost file or block, which only the memory of `owner` had, and returns its error.
    fn lost(&self, what: &str, owner: &str) -> Error;
}

/// A store, for the other stores of its job.
pub trait LocalStore {
    /// Returns the number of changes of the memory's contents so far.
    fn changes(&self) -> u64;

    /// Returns the blocks and files that other stores may read here, under the name of this store.
    fn holdings(&self, local_name: &str) -> Holdings;

    /// Returns the file of a path that is only in this memory.
    fn local_alone_file(&self, local_name: &str, path: &StorePath) -> Option<AloneFile>;

    /// Returns the names in a folder of files that are only in this memory, and of their folders;
    /// with the file for a file.
    fn local_alone_inside(
        &self,
        local_name: &str,
        folder: &StorePath,
    ) -> HashMap<String, Option<AloneFile>>;

    /// Returns memory-only files of this store after the path `first`, in order, at most `count`.
    fn local_alone_files_after(
        &self,
        local_name: &str,
        first: Option<&StorePath>,
        count: usize,
    ) -> Vec<AloneFile>;

    /// Reads bytes of a block for another store; returns the checksum of the block, if known.
    /// `None` where the block is not here.
    ///
    /// # Errors
    /// `Input` for bytes beyond the block; `System`.
    fn peer_piece(
        &self,
        block: (FileId, u64),
        into: &mut [u8],
        offset: u64,
    ) -> Result<Option<Option<u32>>>;

    /// Returns whether the file of a path here was written to replace this one of another store.
    fn replaces(&self, path: &StorePath, file: FileId) -> bool;

    /// Returns whether this store wrote a version of a file of the under level; with `file`,
    /// whether it is that memory-only file, flushed. The device number is ignored, as it differs
    /// between nodes.
    fn wrote(&self, path: &StorePath, version: &UnderVersion, file: Option<FileId>) -> bool;

    /// Forgets memory-only files that were replaced elsewhere by stores that knew them; renames the
    /// others to conflict names. A file stays if no other store has a later one any more.
    fn forget_superseded(&self, files: &[(StorePath, FileId)]);

    /// Changes a file that is only in this memory, for another store.
    ///
    /// # Errors
    /// As the change by a user.
    fn change(&self, change: FileChange) -> Result<ChangeOutcome>;
}
