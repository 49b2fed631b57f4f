//! Memory-only files whose name another store gave to a later file: a file that the other store
//! knew is replaced; any other, as after a partition, is retained under a conflict name (ADR 39).

use std::thread;
use std::time::Duration;

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::super::writes::now_ns;
use super::super::{OPERATION, Store, system};
use crate::conflict::conflict_name;
use crate::path::StorePath;
use crate::sharing::{FileChange, FileId, LaterFile, LocalStore, NameLookup};
use crate::under::UnderVersion;
use crate::writeback::{LedgerEntry, PendingFile, Promised, WriteRecord, WriteState};

/// Most conflict names that are tried: another process may take each of them.
const NAMES_MAX: u32 = 1000;
/// Most flushed files that are remembered.
const FLUSHED_MAX: usize = 1 << 16;
/// Most times that the files of a name are settled before it is changed.
const SETTLES_MAX: u32 = 2;
/// Most times that a change looks for a name that others change meanwhile.
const LOOKS_MAX: u32 = 16;
/// Time between two of these looks.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

impl Store {
    /// Records the file of another store that a file here replaces. A file that replaces one of
    /// this store also replaces what that one replaced.
    pub(in crate::store) fn remember_replaced(&self, path: &StorePath, before: &NameLookup) {
        let is_inherited = self.has_alone(path);
        let mut served = lock(&self.served);
        match before {
            NameLookup::Alone { file, .. } => _ = served.replaces.insert(path.clone(), file.id),
            _ if is_inherited => (),
            _ => _ = served.replaces.remove(path),
        }
    }

    /// Returns files that lost their names to files of other stores, and are on this store.
    pub fn conflicts(&self) -> Vec<StorePath> {
        lock(&self.served).conflicts.clone()
    }

    /// Forgets a memory-only file if the writer of a later one knew it, otherwise renames it to a
    /// conflict name. It stays if it is not earlier.
    pub(crate) fn yield_name(&self, path: &StorePath, file: FileId, later: &LaterFile) {
        let Some(peers) = self.peers() else { return };
        let local = self.local_alone_file(peers.name(), path).filter(|local| local.id == file);
        if local.is_some_and(|local| later.file.order() > local.order()) {
            // If it fails, the file is reported again the next time.
            let _ = match later.is_known {
                true => self.forget_replaced(path, file),
                false => self.rename_conflict(path, file),
            };
        }
    }

    /// Has the store of an earlier file of a path forget or rename it. Only this store is sure to
    /// see both stores, so that it asks for the later file.
    fn settle_older(&self, path: &StorePath, last: &NameLookup, (owner, file): (String, FileId)) {
        let Some(peers) = self.peers() else { return };
        let later = match last {
            NameLookup::Alone { owner: winner, .. } => peers.later_file(winner, path, file),
            _ => self
                .local_alone_file(peers.name(), path)
                .map(|later| LaterFile { file: later, is_known: self.replaces(path, file) }),
        };
        let Some(later) = later else { return };
        if owner == peers.name() {
            self.yield_name(path, file, &later);
        } else {
            // If it fails, the next change of the name tries again.
            let change = FileChange::Superseded { path: path.clone(), file, later };
            let _ = peers.forward(&owner, change);
        }
    }

    /// Looks up the memory-only file of a path on another store, and makes it the only one: earlier
    /// files of the path, here and elsewhere, are forgotten if the writer of the last one knew
    /// them, otherwise they get conflict names. `Nothing` where the last file is here.
    pub(in crate::store) fn find_settled(&self, path: &StorePath) -> NameLookup {
        let Some(peers) = self.peers() else { return NameLookup::Nothing };
        let mut last = NameLookup::Nothing;
        for _ in 0..SETTLES_MAX {
            let (remote, mut older) = peers.find_all(path);
            let local = self.local_alone_file(peers.name(), path);
            last = match (remote, local) {
                (NameLookup::Alone { owner, file }, Some(local))
                    if local.order() > file.order() =>
                {
                    older.push((owner, file.id));
                    NameLookup::Nothing
                }
                (remote @ NameLookup::Alone { .. }, Some(local)) => {
                    older.push((peers.name().to_owned(), local.id));
                    remote
                }
                // The file here is preferred to a lost one.
                (_, Some(_)) => NameLookup::Nothing,
                (remote, None) => remote,
            };
            older.sort_unstable();
            older.dedup();
            if older.is_empty() {
                break;
            }
            for earlier in older {
                self.settle_older(path, &last, earlier);
            }
        }
        last
    }

    /// Returns whether the file of a path is only in this memory.
    pub(crate) fn has_alone(&self, path: &StorePath) -> bool {
        self.alone_at(path).is_some()
    }

    /// Changes a name; tries again where another store changed it meanwhile, so that it was
    /// missing.
    ///
    /// # Errors
    /// As `change`; `ENOENT` where the name does not exist; `System` where that cannot be
    /// said.
    pub(in crate::store) fn looking_again<T>(
        &self,
        path: &StorePath,
        change: impl Fn() -> Result<T>,
    ) -> Result<T> {
        let is_absent = |error: &Error| error.errno == Some(libc::ENOENT);
        for _ in 0..LOOKS_MAX {
            let changed = change();
            if !changed.as_ref().is_err_and(is_absent) {
                return changed;
            }
            match self.facts(path) {
                Ok(_) => thread::sleep(LOOK_AGAIN),
                Err(error) if is_absent(&error) => return changed,
                Err(error) => return Err(error),
            }
        }
        change()
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

    /// Records which memory-only file is written to the under level: another store may replace it
    /// at the same time.
    pub(in crate::store) fn remember_flushed(&self, record: &WriteRecord) {
        let (Some(peers), Some(version)) = (self.peers(), record.synced) else { return };
        let flushed = &mut lock(&self.served).flushed;
        if flushed.len() >= FLUSHED_MAX {
            flushed.clear();
        }
        let file = FileId::of_alone(peers.name(), &record.version());
        flushed.insert(record.path.clone(), (file, version));
    }

    /// Accepts the version of the under level as the one that a file replaces, if it is the file of
    /// another store that the writer replaced, flushed meanwhile; returns whether it is.
    pub(in crate::store) fn accept_flushed(&self, written: &mut PendingFile) -> Result<bool> {
        let is_dirty = matches!(written.record.state, WriteState::Dirty | WriteState::Synced);
        let Some(now) = self.flushed_replaced(&written.record.path)?.filter(|_| is_dirty) else {
            return Ok(false);
        };
        let before = written.record.replaced.replace(now);
        self.writeback.save(&written.record).inspect_err(|_| written.record.replaced = before)?;
        Ok(true)
    }

    /// Returns the version of the under level, if it is the file of another store that the file
    /// here replaced, flushed meanwhile.
    pub(in crate::store) fn flushed_replaced(
        &self,
        path: &StorePath,
    ) -> Result<Option<UnderVersion>> {
        let replaced = lock(&self.served).replaces.get(path).copied();
        let Some((peers, replaced)) = self.peers().zip(replaced) else { return Ok(None) };
        let now = self.under_version(path)?;
        Ok(now.filter(|now| peers.wrote(path, now, Some(replaced))))
    }

    /// Writes a file back under a conflict name, if another store of the job has used its name for
    /// a file there without knowing of it; returns whether it did.
    pub(in crate::store) fn persist_as_conflict(&self, written: &mut PendingFile) -> Result<bool> {
        let path = written.record.path.clone();
        let Some(peers) = self.peers() else { return Ok(false) };
        let Some(now) = self.under_version(&path)? else { return Ok(false) };
        if !matches!(written.record.state, WriteState::Dirty | WriteState::Synced)
            || self.wrote(&path, &now, None)
            || !peers.wrote(&path, &now, None)
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
        self.writeback.note(LedgerEntry::removed(&from), &from)?;
        (written.record.path, written.record.replaced) = (to.clone(), None);
        self.writeback.save(&written.record).inspect_err(|_| {
            written.record = before;
            let _ = self.writeback.note(LedgerEntry::new(&written.record, promised), &from);
        })?;
        self.writeback.note(LedgerEntry::new(&written.record, promised), to)?;
        let to_remove = self.cache.lock().rename_file(written.record.number, to);
        self.remove(&to_remove);
        Ok(())
    }
}
