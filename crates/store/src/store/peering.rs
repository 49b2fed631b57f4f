//! A store and the other stores of its job: blocks and files that it publishes and serves, and
//! requests that it sends.

mod conflicts;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Instant;

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::{BlockLease, OPERATION, Store, system};
use crate::cache::policy::admission::LoadReason;
use crate::cache::{BlockKey, BlockSource, FileVersion, SealedBlock, SharedFile, SourceBlock};
use crate::path::StorePath;
use crate::peers::limits::NAMED_TIMEOUT;
use crate::peers::message::{AloneFile, FileId, PeerQuestion};
use crate::peers::{Holdings, NameLookup, Peers};
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
    pub fn join(&self, peers: Arc<Peers>) {
        let _ = self.source.set(Arc::clone(&peers) as Arc<dyn BlockSource>);
        let _ = self.peers.set(peers);
    }

    /// Returns the other stores, if there are any.
    pub fn peers(&self) -> Option<&Arc<Peers>> {
        self.peers.get()
    }

    /// Returns the number of changes of the memory's contents so far.
    pub(crate) fn changes(&self) -> u64 {
        self.cache.lock().changes()
    }

    /// Returns the blocks and files that other stores may read here, under the name of this store.
    pub(crate) fn holdings(&self, local_name: &str) -> Holdings {
        let mut served = lock(&self.served);
        let state = self.cache.lock();
        let mut holdings = Holdings::default();
        for SharedFile { number, file, permissions, is_alone } in state.shared() {
            let FileVersion { path, version } = file;
            let cached = served.ids.get(&number).filter(|(before, _)| before == version);
            let id = match cached {
                Some(&(_, id)) => id,
                None if is_alone => FileId::of_alone(local_name, version),
                None => FileId::of_under(path, version, self.options.block_bytes),
            };
            served.ids.insert(number, (*version, id));
            served.numbers.insert(id, (number, is_alone));
            if is_alone {
                holdings.names.insert(path.clone(), new_alone_file(path, version, id, permissions));
            } else {
                holdings.blocks.extend(state.indexes_here(number).map(|index| (id, index)));
            }
        }
        let ServedFiles { ids, numbers, .. } = &mut *served;
        ids.retain(|number, _| state.has_file(*number));
        numbers.retain(|_, (number, _)| state.has_file(*number));
        holdings
    }

    /// Returns the file of a path that is only in this memory.
    pub(crate) fn local_alone_file(&self, local_name: &str, path: &StorePath) -> Option<AloneFile> {
        let number = self.alone_at(path)?;
        let state = self.cache.lock();
        let (version, permissions) = (state.file(number)?.version, state.permissions(number));
        drop(state);
        let id = FileId::of_alone(local_name, &version);
        lock(&self.served).numbers.insert(id, (number, true));
        Some(new_alone_file(path, &version, id, permissions))
    }

    /// Returns the names in a folder of files that are only in this memory, and of their folders;
    /// with the file for a file.
    pub(crate) fn local_alone_inside(
        &self,
        local_name: &str,
        folder: &StorePath,
    ) -> HashMap<String, Option<AloneFile>> {
        let mut entries = HashMap::new();
        for (path, _) in self.alone() {
            let Some(step) = path.step_inside(folder) else { continue };
            let is_file = path.parent().as_ref() == Some(folder);
            let file = is_file.then(|| self.local_alone_file(local_name, &path)).flatten();
            entries.entry(step.to_owned()).or_insert(file);
        }
        entries
    }

    /// Reads bytes of a block for another store; returns the checksum of the block, if known.
    /// `None` where the block is not here.
    pub(crate) fn peer_piece(
        &self,
        (file, index): (FileId, u64),
        into: &mut [u8],
        offset: u64,
    ) -> Result<Option<Option<u32>>> {
        let Some((number, is_alone)) = self.served_file(file) else { return Ok(None) };
        let key = BlockKey { file: number, index };
        let size_bytes = self.cache.lock().size_of(key);
        if size_bytes == 0 {
            return Ok(None);
        }
        if offset.saturating_add(into.len() as u64) > size_bytes {
            return Err(Error::input(OPERATION, format!("block {index} has {size_bytes} bytes")));
        }
        let block = match is_alone {
            false => self.cache.lock().lease_here(key),
            true => match self.lease_as(key, LoadReason::ReadOn)? {
                BlockLease::Memory(block, _) => Some(block),
                BlockLease::Bypass => {
                    let start = index * self.options.block_bytes;
                    return self.read_under(number, into, start + offset).map(|()| Some(None));
                }
            },
        };
        let Some(block) = block else { return Ok(None) };
        let read = self.read_block(&block, into, offset);
        self.release(key);
        read.map(|()| Some(Some(block.checksum)))
    }

    /// Returns the number of a file by its id, and whether it was only in memory.
    fn served_file(&self, file: FileId) -> Option<(u64, bool)> {
        let lookup = || lock(&self.served).numbers.get(&file).copied();
        lookup().or_else(|| {
            // A store that has just started has not published anything yet.
            let local_name = self.peers()?.name();
            self.holdings(local_name);
            lookup()
        })
    }

    fn read_block(&self, block: &SealedBlock, into: &mut [u8], offset: u64) -> Result<()> {
        let path = self.tier.path(block);
        let read = File::open(&path).and_then(|file| file.read_exact_at(into, offset));
        read.map_err(|cause| Error::system(OPERATION, "reading", &path, &cause))
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
        question: impl FnOnce(StorePath) -> PeerQuestion,
    ) -> Result<Option<u64>> {
        let Some(peers) = self.peers() else { return Ok(None) };
        match self.find_settled(path) {
            NameLookup::Alone { owner, .. } => {
                peers.forward(&owner, &question(path.clone())).map(Some)
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
                let question = PeerQuestion::Replaced { path: path.clone(), file: file.id };
                // If the owner does not receive it, the file closed last still counts.
                let _ = peers.forward(&owner, &question);
            }
            NameLookup::Lost { .. } => peers.clear(path),
        }
    }

    /// Publishes whether a file of a path is only in this memory now.
    pub(crate) fn publish_name(&self, path: &StorePath) {
        let begun = Instant::now();
        while let Some(peers) = self.peers().filter(|_| begun.elapsed() < NAMED_TIMEOUT) {
            if let Some(superseded) = peers.publish_name(self, path) {
                self.forget_superseded(&superseded);
                break;
            }
            // A member is new, or dead: everything is published.
            let (superseded, is_published) = peers.publish(self);
            self.forget_superseded(&superseded);
            if is_published {
                break;
            }
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
