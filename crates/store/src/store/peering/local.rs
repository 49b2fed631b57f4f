//! A store as the other stores of its job see it: files and blocks that it shares, and changes that
//! it makes for them.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::super::{BlockLease, OPERATION, Store};
use super::{ServedFiles, new_alone_file};
use crate::cache::policy::admission::LoadReason;
use crate::cache::{BlockKey, FileVersion, SealedBlock, SharedFile};
use crate::path::StorePath;
use crate::sharing::{
    AloneFile, ChangeOutcome, FileChange, FileId, Holdings, LocalStore, NameLookup,
};
use crate::under::UnderVersion;

impl LocalStore for Store {
    fn changes(&self) -> u64 {
        self.cache.lock().changes()
    }

    fn holdings(&self, local_name: &str) -> Holdings {
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

    fn local_alone_file(&self, local_name: &str, path: &StorePath) -> Option<AloneFile> {
        let number = self.alone_at(path)?;
        let state = self.cache.lock();
        let (version, permissions) = (state.file(number)?.version, state.permissions(number));
        drop(state);
        let id = FileId::of_alone(local_name, &version);
        lock(&self.served).numbers.insert(id, (number, true));
        Some(new_alone_file(path, &version, id, permissions))
    }

    fn local_alone_inside(
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

    fn local_alone_files_after(
        &self,
        local_name: &str,
        first: Option<&StorePath>,
        count: usize,
    ) -> Vec<AloneFile> {
        let alone = self.alone();
        let after = alone.into_iter().filter(|(path, _)| first.is_none_or(|first| path > first));
        after.take(count).filter_map(|(path, _)| self.local_alone_file(local_name, &path)).collect()
    }

    fn peer_piece(
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

    fn replaces(&self, path: &StorePath, file: FileId) -> bool {
        lock(&self.served).replaces.get(path) == Some(&file)
    }

    fn wrote(&self, path: &StorePath, version: &UnderVersion, file: Option<FileId>) -> bool {
        let is_same = |written: UnderVersion| {
            UnderVersion { device: version.device, ..written }.has_bytes_of(version)
        };
        match file {
            Some(file) => lock(&self.served)
                .flushed
                .get(path)
                .is_some_and(|(id, written)| *id == file && is_same(*written)),
            None => self
                .writeback
                .ledger
                .entry(path)
                .and_then(|entry| entry.version)
                .is_some_and(is_same),
        }
    }

    fn forget_superseded(&self, files: &[(StorePath, FileId)]) {
        let Some(peers) = self.peers() else { return };
        for (path, file) in files {
            // Directories may not know yet that the later file was flushed, removed or renamed.
            if let NameLookup::Alone { owner, .. } = peers.find(path)
                && let Some(later) = peers.later_file(&owner, path, *file)
            {
                self.yield_name(path, *file, &later);
            }
        }
    }

    fn change(&self, change: FileChange) -> Result<ChangeOutcome> {
        match change {
            FileChange::Replaced { path, file } => {
                self.forget_replaced(&path, file)?;
                self.publish_name(&path);
            }
            FileChange::Superseded { path, file, later } => {
                self.yield_name(&path, file, &later);
                self.publish_name(&path);
            }
            // If the file is gone, directories know it before the caller looks again.
            FileChange::Remove { path } => {
                self.remove_here(&path).inspect_err(|_| self.publish_name(&path))?;
            }
            FileChange::Rename { path, to, is_new } => {
                self.rename_here(&path, &to, is_new).inspect_err(|_| self.publish_name(&path))?;
            }
            FileChange::Permit { path, permissions } => self.permit_here(&path, permissions)?,
            FileChange::Flush { path } => {
                if !self.has_alone(&path) {
                    self.publish_name(&path);
                    return Ok(ChangeOutcome::Absent);
                }
                return self.flush_here(Some(&path)).map(|bytes| ChangeOutcome::Moved { bytes });
            }
        }
        Ok(ChangeOutcome::Done)
    }
}

impl Store {
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
}
