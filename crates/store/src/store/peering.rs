//! A store and the other stores of its job: requests that it sends, and (`local`) files and blocks
//! that it shares.

mod conflicts;
mod local;

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use cuesta_core::{Error, Result};

use super::{Store, system};
use crate::cache::{BlockKey, BlockSource, FileVersion, SourceBlock};
use crate::path::StorePath;
use crate::sharing::{AloneFile, FileChange, FileId, NameLookup, RemoteStores};
use crate::under::{UnderFile, UnderVersion};
use crate::writeback::{LedgerEntry, WriteRecord};

const NS_A_SECOND: i64 = 1_000_000_000;
/// File systems store times with a resolution of one or two seconds, or of a part of a millisecond.
const COARSE_NS: i64 = 2 * NS_A_SECOND;
const FINE_NS: i64 = 1_000_000;

/// Ids of the files that other stores may read.
#[derive(Debug, Default)]
pub struct ServedFiles {
    ids: HashMap<u64, (UnderVersion, FileId)>,
    /// The local number, and whether the file was only in memory when it was published.
    numbers: HashMap<FileId, (u64, bool)>,
    /// For files written here, the file of another store that each replaces.
    replaces: HashMap<StorePath, FileId>,
    /// Files that were only in memory, and their versions on the under level.
    flushed: HashMap<StorePath, (FileId, UnderVersion)>,
    /// Files that lost their names to files of other stores.
    conflicts: Vec<StorePath>,
}

/// A file that is only in the memory of another store: its owner, and the file.
pub(super) type Elsewhere = Option<(String, AloneFile)>;

impl Store {
    /// Connects the store to the other stores of the job. Only the first call has an effect.
    pub fn join<P: RemoteStores + BlockSource + 'static>(&self, peers: Arc<P>) {
        let _ = self.source.set(Arc::clone(&peers) as Arc<dyn BlockSource>);
        let _ = self.peers.set(peers);
    }

    /// Returns the other stores, if there are any.
    pub(super) fn peers(&self) -> Option<&Arc<dyn RemoteStores>> {
        self.peers.get()
    }

    /// Returns a reader of a block from another memory, or the under level where that is faster.
    pub(super) fn nearer(
        &self,
        key: BlockKey,
        file: &FileVersion,
        handle: &Arc<dyn UnderFile>,
    ) -> Option<Arc<dyn SourceBlock>> {
        let source = self.source.get().filter(|_| file.version.device != 0)?;
        // For a file that changed just now, the next version may look the same.
        let is_certain = !self.cache.lock().is_young(key.file);
        Some(Arc::clone(source).block(file, key.index, handle, is_certain))
    }

    /// Looks up the file of a path that is only in the memory of another store.
    ///
    /// # Errors
    /// `Input` where that store is dead, unless the under level has a later file.
    pub(super) fn elsewhere(&self, path: &StorePath) -> Result<Elsewhere> {
        let Some(peers) = self.peers() else { return Ok(None) };
        match peers.find(path) {
            NameLookup::Nothing => Ok(None),
            NameLookup::Alone { owner, file } => Ok(Some((owner, file))),
            NameLookup::Lost { owner, closed_ns } => match self.under.facts(path) {
                Ok(facts) if is_as_late(facts.version.modified_ns, closed_ns) => Ok(None),
                _ => Err(peers.lost(&path.to_string(), &owner)),
            },
        }
    }

    /// Looks up the file of a path that is only in the memory of another store, without an error if
    /// that store is dead.
    pub(super) fn find_elsewhere(&self, path: &StorePath) -> NameLookup {
        self.peers().map_or(NameLookup::Nothing, |peers| peers.find(path))
    }

    /// Forwards a change to the store that has the last file of a path, only in its memory; returns
    /// the number of bytes moved. `None` where no other store has it.
    ///
    /// # Errors
    /// The errors of that store.
    pub(super) fn forwarded(
        &self,
        path: &StorePath,
        change: impl FnOnce(StorePath) -> FileChange,
    ) -> Result<Option<u64>> {
        let Some(peers) = self.peers() else { return Ok(None) };
        match self.find_settled(path) {
            NameLookup::Alone { owner, .. } => {
                peers.forward(&owner, change(path.clone())).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Returns whether the file of a path was lost with another store, and forgets the loss.
    pub(super) fn clear_lost(&self, path: &StorePath) -> bool {
        let is_lost = matches!(self.find_elsewhere(path), NameLookup::Lost { .. });
        if is_lost && let Some(peers) = self.peers() {
            peers.clear(path);
        }
        is_lost
    }

    /// Returns whether a folder has files that are only in memory, here or on another store.
    pub(super) fn has_alone_inside(&self, folder: &StorePath) -> bool {
        self.alone().iter().any(|(path, _)| path.is_inside(folder))
            || self.peers().is_some_and(|peers| !peers.inside(folder).is_empty())
    }

    /// Announces that a file here has its name: a file of another store under that name is
    /// replaced, and a memory-only file is known to the others when this returns.
    pub(super) fn announce_name(&self, path: &StorePath, before: NameLookup) {
        let Some(peers) = self.peers() else { return };
        // Before the other one is forgotten, so that there is one of both at each moment.
        self.publish_name(path);
        match before {
            NameLookup::Nothing => (),
            NameLookup::Alone { owner, file } => {
                let change = FileChange::Replaced { path: path.clone(), file: file.id };
                // If the owner does not receive it, the file closed last still counts.
                let _ = peers.forward(&owner, change);
            }
            NameLookup::Lost { .. } => peers.clear(path),
        }
    }

    /// Publishes whether a file of a path is only in this memory now.
    pub(crate) fn publish_name(&self, path: &StorePath) {
        if let Some(peers) = self.peers() {
            peers.publish_name(self, path);
        }
    }

    /// Forgets a memory-only file that another store has replaced.
    pub(crate) fn forget_replaced(&self, path: &StorePath, file: FileId) -> Result<()> {
        let Some(local_name) = self.peers().map(|peers| peers.name()) else { return Ok(()) };
        self.with_alone(path, |alone| {
            let is_same =
                |record: &WriteRecord| FileId::of_alone(local_name, &record.version()) == file;
            match alone.filter(|alone| is_same(&alone.record)) {
                None => Ok(()),
                Some(alone) => {
                    self.writeback.note(LedgerEntry::removed(path), path)?;
                    self.drop_record(alone)
                }
            }
        })
    }
}

/// Returns the message of a dead member, where that is the cause.
pub(super) fn unreachable_or(doing: &str, path: &StorePath, cause: &io::Error) -> Error {
    let line = cause.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    line.cloned().unwrap_or_else(|| system(doing, path, cause))
}

/// Returns whether a file of the under level is the one that was closed then, or a later one: a
/// flushed file has the time when it was closed, at the resolution of the file system.
pub(super) fn is_as_late(modified_ns: i64, closed_ns: i64) -> bool {
    let is_coarse = modified_ns % NS_A_SECOND == 0;
    modified_ns.saturating_add(if is_coarse { COARSE_NS } else { FINE_NS }) >= closed_ns
}

/// Returns the first time of closing for which a version of the under level is not
/// [as late](is_as_late).
pub(super) fn later_than(version: &UnderVersion) -> i64 {
    let is_coarse = version.modified_ns % NS_A_SECOND == 0;
    version.modified_ns.saturating_add(if is_coarse { COARSE_NS } else { FINE_NS } + 1)
}

fn new_alone_file(
    path: &StorePath,
    version: &UnderVersion,
    id: FileId,
    permissions: u32,
) -> AloneFile {
    let UnderVersion { size_bytes, modified_ns, .. } = *version;
    AloneFile { path: path.clone(), id, size_bytes, closed_ns: modified_ns, permissions }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_flushed_before_its_node_died_is_not_lost() {
        let closed_ns = 1_700_000_000_123_456_789;
        for modified_ns in [
            closed_ns,
            closed_ns + 1,
            closed_ns / 1000 * 1000,
            closed_ns / NS_A_SECOND * NS_A_SECOND,
        ] {
            assert!(is_as_late(modified_ns, closed_ns), "{modified_ns}");
        }
        for modified_ns in [closed_ns, closed_ns / NS_A_SECOND * NS_A_SECOND] {
            let version = UnderVersion {
                device: 1,
                inode: 1,
                size_bytes: 1,
                modified_ns,
                changed_ns: modified_ns,
            };
            assert!(!is_as_late(modified_ns, later_than(&version)));
            assert!(is_as_late(modified_ns, later_than(&version) - 1));
        }
        assert!(!is_as_late(closed_ns - 10 * FINE_NS, closed_ns));
        assert!(!is_as_late(closed_ns / NS_A_SECOND * NS_A_SECOND - COARSE_NS, closed_ns));
    }
}
