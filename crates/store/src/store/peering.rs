//! What a store has to do with the others of its job: what it tells them and gives them, and what
//! it asks of them.

mod conflicts;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::Instant;

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::ledger::LedgerEntry;
use super::state::{Backing, BlockState, FileVersion};
use super::{BlockLease, OPERATION, Store, system};
use crate::memory::{BlockKey, SealedBlock};
use crate::path::StorePath;
use crate::peers::limits::NAMED;
use crate::peers::message::{AloneFile, FileId, PeerQuestion};
use crate::peers::source::NearerFile;
use crate::peers::{Found, Holdings, Peers};
use crate::policy::admission::Wish;
use crate::under::{UnderFile, UnderVersion};

const NS_A_SECOND: i64 = 1_000_000_000;
/// Times of file systems are cut to a second or two, or to a part of a millisecond.
const COARSE_NS: i64 = 2 * NS_A_SECOND;
const FINE_NS: i64 = 1_000_000;

/// Which file others mean.
#[derive(Debug, Default)]
pub struct ServedFiles {
    ids: HashMap<u64, (UnderVersion, FileId)>,
    /// The number here, and whether the file was in memory alone when it was told.
    numbers: HashMap<FileId, (u64, bool)>,
    /// The file of another store that one here was written to replace.
    replaces: HashMap<StorePath, FileId>,
    /// Files that lost their names to those of other stores.
    conflicts: Vec<StorePath>,
}

/// A file in the memory of another store alone: whose, and which.
pub(super) type Elsewhere = Option<(String, AloneFile)>;

impl Store {
    /// Makes others of the job known, once.
    pub fn join(&self, peers: Arc<Peers>) {
        let _ = self.peers.set(peers);
    }

    /// The others, if there are any.
    pub fn peers(&self) -> Option<&Arc<Peers>> {
        self.peers.get()
    }

    /// Changes of what is in memory, so far.
    pub(crate) fn changes(&self) -> u64 {
        lock(&self.state).changes
    }

    /// What others may read here, under the name of this store.
    pub(crate) fn holdings(&self, own: &str) -> Holdings {
        let mut served = lock(&self.served);
        let state = lock(&self.state);
        let mut found = Holdings::default();
        for (&number, entry) in state.files.iter().filter(|(_, entry)| !entry.is_old) {
            let FileVersion { path, version } = &entry.file;
            let permissions = entry.permissions;
            let is_alone = match entry.backing {
                Backing::Memory | Backing::Dirty => true,
                Backing::Under if version.device != 0 && !entry.is_young => false,
                _ => continue,
            };
            let known = served.ids.get(&number).filter(|(before, _)| before == version);
            let id = match known {
                Some(&(_, id)) => id,
                None if is_alone => FileId::of_alone(own, version),
                None => FileId::of_under(path, version, self.options.block_bytes),
            };
            served.ids.insert(number, (*version, id));
            served.numbers.insert(id, (number, is_alone));
            if is_alone {
                found.names.insert(path.clone(), alone_file(path, version, id, permissions));
                continue;
            }
            let here = state.blocks_of(number);
            let here = here.filter(|(_, block)| matches!(block, BlockState::Here { .. }));
            found.blocks.extend(here.map(|(key, _)| (id, key.index)));
        }
        let ServedFiles { ids, numbers, .. } = &mut *served;
        ids.retain(|number, _| state.files.contains_key(number));
        numbers.retain(|_, (number, _)| state.files.contains_key(number));
        found
    }

    /// The file of a path that is in this memory alone.
    pub(crate) fn own_alone(&self, own: &str, path: &StorePath) -> Option<AloneFile> {
        let number = self.alone_at(path)?;
        let state = lock(&self.state);
        let (version, permissions) = (state.file(number)?.version, state.permissions(number));
        drop(state);
        let id = FileId::of_alone(own, &version);
        lock(&self.served).numbers.insert(id, (number, true));
        Some(alone_file(path, &version, id, permissions))
    }

    /// The steps after a folder of files that are in this memory alone; with the file, where it is
    /// one.
    pub(crate) fn own_inside(
        &self,
        own: &str,
        folder: &StorePath,
    ) -> HashMap<String, Option<AloneFile>> {
        let mut found = HashMap::new();
        for (path, _) in self.alone() {
            let Some(step) = path.step_inside(folder) else { continue };
            let is_file = path.parent().as_ref() == Some(folder);
            let file = is_file.then(|| self.own_alone(own, &path)).flatten();
            found.entry(step.to_owned()).or_insert(file);
        }
        found
    }

    /// Bytes of a block for another store; the checksum of the block, where it is known. `None`
    /// where the block is not here.
    pub(crate) fn peer_piece(
        &self,
        (file, index): (FileId, u64),
        into: &mut [u8],
        offset: u64,
    ) -> Result<Option<Option<u32>>> {
        let Some((number, is_alone)) = self.served_file(file) else { return Ok(None) };
        let key = BlockKey { file: number, index };
        let size_bytes = lock(&self.state).size_of(key);
        if size_bytes == 0 {
            return Ok(None);
        }
        if offset.saturating_add(into.len() as u64) > size_bytes {
            return Err(Error::input(OPERATION, format!("block {index} has {size_bytes} bytes")));
        }
        let block = match is_alone {
            false => lock(&self.state).lease_here(key),
            true => match self.lease_as(key, Wish::ReadOn)? {
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

    /// The number of a file that others mean, and whether it was in memory alone.
    fn served_file(&self, file: FileId) -> Option<(u64, bool)> {
        let known = || lock(&self.served).numbers.get(&file).copied();
        known().or_else(|| {
            // A store that was just started has told nothing yet.
            let own = self.peers()?.name();
            self.holdings(own);
            known()
        })
    }

    fn read_block(&self, block: &SealedBlock, into: &mut [u8], offset: u64) -> Result<()> {
        let path = self.tier.path(block);
        let read = File::open(&path).and_then(|file| file.read_exact_at(into, offset));
        read.map_err(|cause| Error::system(OPERATION, "reading", &path, &cause))
    }

    /// A file of the under level for one of its blocks, where another store may have that.
    pub(super) fn nearer(
        &self,
        key: BlockKey,
        file: &FileVersion,
        handle: &Arc<dyn UnderFile>,
    ) -> Option<Arc<NearerFile>> {
        let peers = self.peers().filter(|_| file.version.device != 0)?;
        // Of a file that was changed just now, the next version may look the same.
        let is_young = lock(&self.state).is_young(key.file);
        let id = FileId::of_under(&file.path, &file.version, self.options.block_bytes);
        Some(Arc::new(peers.nearer(handle, Some(id).filter(|_| !is_young), key.index)))
    }

    /// Whose is the file of a path that is in the memory of another store alone.
    ///
    /// # Errors
    /// `Input` where that store does not live, unless the under level has a later file.
    pub(super) fn elsewhere(&self, path: &StorePath) -> Result<Elsewhere> {
        let Some(peers) = self.peers() else { return Ok(None) };
        match peers.find(path) {
            Found::Nothing => Ok(None),
            Found::Alone { owner, file } => Ok(Some((owner, file))),
            Found::Lost { owner, closed_ns } => match self.under.facts(path) {
                Ok(facts) if is_as_late(facts.version.modified_ns, closed_ns) => Ok(None),
                _ => Err(peers.lost(&path.to_string(), &owner)),
            },
        }
    }

    /// Whose is the file of a path that is in the memory of another store alone, if that lives.
    pub(super) fn find_elsewhere(&self, path: &StorePath) -> Found {
        self.peers().map_or(Found::Nothing, |peers| peers.find(path))
    }

    /// Has the store that has the file of a path in its memory alone do something with it; bytes
    /// that were moved. `None` where no other store has it.
    ///
    /// # Errors
    /// Those of that store.
    pub(super) fn forwarded(
        &self,
        path: &StorePath,
        question: impl FnOnce(StorePath) -> PeerQuestion,
    ) -> Result<Option<u64>> {
        let Some(peers) = self.peers() else { return Ok(None) };
        match peers.find(path) {
            Found::Alone { owner, .. } => peers.forward(&owner, &question(path.clone())).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether the file of a path was lost with another store; that is forgotten then.
    pub(super) fn clear_lost(&self, path: &StorePath) -> bool {
        let is_lost = matches!(self.find_elsewhere(path), Found::Lost { .. });
        if is_lost && let Some(peers) = self.peers() {
            peers.clear(path);
        }
        is_lost
    }

    /// Whether files in memory alone, here or elsewhere, are in a folder.
    pub(super) fn has_alone_inside(&self, folder: &StorePath) -> bool {
        self.alone().iter().any(|(path, _)| path.is_inside(folder))
            || self.peers().is_some_and(|peers| !peers.inside(folder).is_empty())
    }

    /// A file here has a name: the one that another store has under it counts no more, and where
    /// it is in memory alone the others know it when this returns.
    pub(super) fn has_named(&self, path: &StorePath, before: Found) {
        let Some(peers) = self.peers() else { return };
        match before {
            Found::Nothing => (),
            Found::Alone { owner, file } => {
                let question = PeerQuestion::Replaced { path: path.clone(), file: file.id };
                // Where it does not hear it: of two files of a name the one closed last counts.
                let _ = peers.forward(&owner, &question);
            }
            Found::Lost { .. } => peers.clear(path),
        }
        self.tell_name(path);
    }

    /// Has the others know whether a file of a path is in this memory alone, as it is now.
    pub(crate) fn tell_name(&self, path: &StorePath) {
        let begun = Instant::now();
        while let Some(peers) = self.peers().filter(|_| begun.elapsed() < NAMED) {
            if let Some(superseded) = peers.tell_name(self, path) {
                self.forget_superseded(&superseded);
                break;
            }
            // A member is new, or dead: all is told.
            let (superseded, is_told) = peers.publish(self);
            self.forget_superseded(&superseded);
            if is_told {
                break;
            }
        }
    }

    /// Forgets a file in memory alone: another one has its name, elsewhere.
    pub(crate) fn forget_replaced(&self, path: &StorePath, file: FileId) -> Result<()> {
        let Some(own) = self.peers().map(|peers| peers.name()) else { return Ok(()) };
        self.with_alone(path, |alone| {
            let is_it = |record: &super::record::WriteRecord| {
                FileId::of_alone(own, &record.version()) == file
            };
            match alone.filter(|alone| is_it(&alone.record)) {
                None => Ok(()),
                Some(alone) => {
                    self.note(LedgerEntry::removed(path), path)?;
                    self.drop_record(alone)
                }
            }
        })
    }
}

/// The line of a member that does not live, where that is the cause.
pub(super) fn unreachable_or(doing: &str, path: &StorePath, cause: &io::Error) -> Error {
    let line = cause.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    line.cloned().unwrap_or_else(|| system(doing, path, cause))
}

/// Whether a file of the under level is the one that was closed then, or a later one: one that was
/// flushed keeps the time when it was closed, as fine as the file system has times.
pub(super) fn is_as_late(modified_ns: i64, closed_ns: i64) -> bool {
    let is_coarse = modified_ns % NS_A_SECOND == 0;
    modified_ns.saturating_add(if is_coarse { COARSE_NS } else { FINE_NS }) >= closed_ns
}

fn alone_file(path: &StorePath, version: &UnderVersion, id: FileId, permissions: u32) -> AloneFile {
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
        assert!(!is_as_late(closed_ns - 10 * FINE_NS, closed_ns));
        assert!(!is_as_late(closed_ns / NS_A_SECOND * NS_A_SECOND - COARSE_NS, closed_ns));
    }
}
