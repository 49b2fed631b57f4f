//! Memory-only files whose name another store gave to a later file: a file that the other store
//! knew is replaced; any other, as after a partition, is retained under a conflict name (ADR 39).

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::super::ledger::{LedgerEntry, Promised};
use super::super::promise::WriteState;
use super::super::writes::{PendingFile, now_ns};
use super::super::{OPERATION, Store, system};
use crate::conflict::conflict_name;
use crate::path::StorePath;
use crate::peers::NameLookup;
use crate::peers::message::{AloneFile, FileId};
use crate::under::UnderVersion;

/// Most conflict names that are tried: another process may take each of them.
const NAMES_MAX: u32 = 1000;

impl Store {
    /// Records the file of another store that a file here replaces.
    pub(in crate::store) fn remember_replaced(&self, path: &StorePath, before: &NameLookup) {
        let mut served = lock(&self.served);
        match before {
            NameLookup::Alone { file, .. } => _ = served.replaces.insert(path.clone(), file.id),
            _ => _ = served.replaces.remove(path),
        }
    }

    /// Returns whether the file of a path here was written to replace this one of another store.
    pub(crate) fn replaces(&self, path: &StorePath, file: FileId) -> bool {
        lock(&self.served).replaces.get(path) == Some(&file)
    }

    /// Returns files that lost their names to files of other stores, and are on this store.
    pub fn conflicts(&self) -> Vec<StorePath> {
        lock(&self.served).conflicts.clone()
    }

    /// Forgets memory-only files that were replaced elsewhere by stores that knew them; renames the
    /// others to conflict names.
    pub(crate) fn forget_superseded(&self, files: &[(StorePath, FileId)]) {
        for (path, file) in files {
            // If it fails, the file is reported again the next time.
            let _ = match self.is_known_to_winner(path, *file) {
                true => self.forget_replaced(path, *file),
                false => self.rename_conflict(path, *file),
            };
        }
    }

    /// Returns whether the store with the later file of a path knew the one here.
    fn is_known_to_winner(&self, path: &StorePath, file: FileId) -> bool {
        let Some(peers) = self.peers() else { return false };
        match peers.find(path) {
            NameLookup::Alone { owner, .. } => peers.replaces(&owner, path, file),
            _ => false,
        }
    }

    /// Renames a memory-only file to a conflict name.
    fn rename_conflict(&self, path: &StorePath, file: FileId) -> Result<()> {
        let Some(local_name) = self.peers().map(|peers| peers.name()) else { return Ok(()) };
        let to = self.free_conflict_name(path)?;
        let _claim = self.claims.claim(&to);
        let is_moved = self.with_alone(path, |alone| {
            let is_same = |alone: &&mut PendingFile| {
                FileId::of_alone(local_name, &alone.record.version()) == file
            };
            match alone.filter(is_same) {
                Some(alone) => self.move_in_memory(alone, &to).map(|()| true),
                None => Ok(false),
            }
        })?;
        if is_moved {
            lock(&self.served).conflicts.push(to.clone());
            self.publish_name(path);
            self.publish_name(&to);
        }
        Ok(())
    }

    /// Returns whether this store wrote a version of a file of the under level. The device number
    /// is ignored, as it differs between nodes.
    pub(crate) fn wrote(&self, path: &StorePath, version: &UnderVersion) -> bool {
        let written = self.ledger.entry(path).and_then(|entry| entry.version);
        written.is_some_and(|written| {
            UnderVersion { device: version.device, ..written }.has_bytes_of(version)
        })
    }

    /// Writes a file back under a conflict name, if another store of the job has used its name for
    /// a file there without knowing of it; returns whether it did.
    pub(in crate::store) fn persist_as_conflict(&self, written: &mut PendingFile) -> Result<bool> {
        let path = written.record.path.clone();
        let Some(peers) = self.peers() else { return Ok(false) };
        let Some(now) = self.under_version(&path)? else { return Ok(false) };
        if !matches!(written.record.state, WriteState::Dirty | WriteState::Synced)
            || self.wrote(&path, &now)
            || !peers.wrote(&path, &now)
        {
            return Ok(false);
        }
        let to = self.free_conflict_name(&path)?;
        self.move_in_memory(written, &to)?;
        lock(&self.served).conflicts.push(to);
        self.persist_locked(written, None).map(|()| true)
    }

    fn free_conflict_name(&self, path: &StorePath) -> Result<StorePath> {
        let now = now_ns();
        let mut names = (0..NAMES_MAX).map(|tries| conflict_name(path, now, tries));
        names
            .find(|to| self.facts(to).is_err())
            .ok_or_else(|| Error::input(OPERATION, format!("{path} has no free conflict name")))
    }

    /// Renames a locked memory-only file to a free name.
    fn move_in_memory(&self, written: &mut PendingFile, to: &StorePath) -> Result<()> {
        let from = written.record.path.clone();
        let settled = self.settle_exchange(&written.record);
        settled.map_err(|cause| system("renaming", &from, &cause))?;
        let promised = match written.record.state {
            WriteState::Memory => Promised::Memory,
            _ => Promised::Dirty,
        };
        let before = written.record.clone();
        // If the store is killed after this, the record is under one of both names.
        self.note(LedgerEntry::removed(&from), &from)?;
        (written.record.path, written.record.replaced) = (to.clone(), None);
        self.save(&written.record).inspect_err(|_| {
            written.record = before;
            let _ = self.note(LedgerEntry::new(&written.record, promised), &from);
        })?;
        self.note(LedgerEntry::new(&written.record, promised), to)?;
        let to_remove = lock(&self.state).rename_file(written.record.number, to);
        self.remove(&to_remove);
        Ok(())
    }

    /// Returns memory-only files of this store after the path `first`, in order, at most `count`.
    pub(crate) fn local_alone_files_after(
        &self,
        local_name: &str,
        first: Option<&StorePath>,
        count: usize,
    ) -> Vec<AloneFile> {
        let alone = self.alone();
        let after = alone.into_iter().filter(|(path, _)| first.is_none_or(|first| path > first));
        after.take(count).filter_map(|(path, _)| self.local_alone_file(local_name, &path)).collect()
    }
}
