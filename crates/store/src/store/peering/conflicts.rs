//! Files in memory alone whose name another store gave to a later file: those that it knew are
//! replaced; any other, as after a partition, is kept under a name that says so (ADR 39).

use std::thread;
use std::time::Duration;

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::super::ledger::{LedgerEntry, Promised};
use super::super::promise::WriteState;
use super::super::record::WriteRecord;
use super::super::writes::{PendingFile, now_ns};
use super::super::{OPERATION, Store, system};
use crate::conflict::conflict_name;
use crate::path::StorePath;
use crate::peers::Found;
use crate::peers::limits::REMOTE_MAX;
use crate::peers::message::{AloneFile, FileId, PeerQuestion};
use crate::under::UnderVersion;

/// Names are tried so often: another process may take each of them.
const NAMES_MAX: u32 = 1000;
/// Files of one name are settled so often before it is changed.
const SETTLES_MAX: u32 = 2;
/// A name that others change meanwhile is looked at so often, and after this time again.
const LOOKS_MAX: u32 = 16;
const LOOK_AGAIN: Duration = Duration::from_millis(5);

impl Store {
    /// Remembers which file of another store a file here replaces.
    pub(in crate::store) fn remember_replaced(&self, path: &StorePath, before: &Found) {
        let mut served = lock(&self.served);
        match before {
            Found::Alone { file, .. } => _ = served.replaces.insert(path.clone(), file.id),
            _ => _ = served.replaces.remove(path),
        }
    }

    /// Whether the file of a path here was written to replace this one of another store.
    pub(crate) fn replaces(&self, path: &StorePath, file: FileId) -> bool {
        lock(&self.served).replaces.get(path) == Some(&file)
    }

    /// Files that lost their names to files of other stores, and are kept here.
    pub fn conflicts(&self) -> Vec<StorePath> {
        lock(&self.served).conflicts.clone()
    }

    /// Forgets files in memory alone that were replaced elsewhere by a writer who knew them; others
    /// have conflict names. A file stays where no other store has a later one any more.
    pub(crate) fn forget_superseded(&self, files: &[(StorePath, FileId)]) {
        let Some(peers) = self.peers() else { return };
        for (path, file) in files {
            let owner = match peers.find(path) {
                Found::Alone { owner, .. } => owner,
                _ => continue,
            };
            // Directories may not know yet that the later one was flushed, removed or renamed.
            let local = self.own_alone(peers.name(), path).filter(|local| local.id == *file);
            let is_later = local
                .zip(peers.file_of(&owner, path))
                .is_some_and(|(local, later)| later.order() > local.order());
            if !is_later {
                continue;
            }
            // It is told again the next time.
            let _ = match peers.replaces(&owner, path, *file) {
                true => self.forget_replaced(path, *file),
                false => self.keep_conflict(path, *file),
            };
        }
    }

    /// Returns whose is the file of a path in the memory of another store alone, after which it is
    /// the only one: earlier files of that path, here and elsewhere, are given up where the writer
    /// of the last one knew them, or have conflict names. `Nothing` where the last one is here.
    pub(in crate::store) fn find_settled(&self, path: &StorePath) -> Found {
        let Some(peers) = self.peers() else { return Found::Nothing };
        let mut last = Found::Nothing;
        for _ in 0..SETTLES_MAX {
            let (remote, mut older) = peers.find_all(path);
            let local = self.own_alone(peers.name(), path);
            last = match (remote, local) {
                (Found::Alone { owner, file }, Some(local)) if local.order() > file.order() => {
                    older.push((owner, file.id));
                    Found::Nothing
                }
                (remote @ Found::Alone { .. }, Some(local)) => {
                    older.push((peers.name().to_owned(), local.id));
                    remote
                }
                // The file here counts before one that is lost.
                (_, Some(_)) => Found::Nothing,
                (remote, None) => remote,
            };
            older.sort_unstable();
            older.dedup();
            if older.is_empty() {
                break;
            }
            for (owner, file) in older {
                let path = path.clone();
                if owner == peers.name() {
                    self.forget_superseded(&[(path, file)]);
                } else {
                    // It is asked again by the next change of that name.
                    let _ = peers.forward(&owner, &PeerQuestion::Superseded { path, file });
                }
            }
        }
        last
    }

    /// Whether the file of a path is in this memory alone.
    pub(crate) fn has_alone(&self, path: &StorePath) -> bool {
        self.alone_at(path).is_some()
    }

    /// Changes a name, again where it was not there because another store changed it meanwhile.
    ///
    /// # Errors
    /// As of `change`; `ENOENT` where the name is not there.
    pub(in crate::store) fn looking_again<T>(
        &self,
        path: &StorePath,
        change: impl Fn() -> Result<T>,
    ) -> Result<T> {
        for _ in 0..LOOKS_MAX {
            match change() {
                Err(error) if error.errno == Some(libc::ENOENT) && self.facts(path).is_ok() => {
                    thread::sleep(LOOK_AGAIN);
                }
                changed => return changed,
            }
        }
        change()
    }

    /// Gives a file in memory alone a conflict name.
    fn keep_conflict(&self, path: &StorePath, file: FileId) -> Result<()> {
        let Some(own) = self.peers().map(|peers| peers.name()) else { return Ok(()) };
        let to = self.free_conflict_name(path)?;
        let _claim = self.claims.claim(&to);
        let is_moved = self.with_alone(path, |alone| {
            let is_it =
                |alone: &&mut PendingFile| FileId::of_alone(own, &alone.record.version()) == file;
            match alone.filter(is_it) {
                Some(alone) => self.move_in_memory(alone, &to).map(|()| true),
                None => Ok(false),
            }
        })?;
        if is_moved {
            lock(&self.served).conflicts.push(to.clone());
            self.tell_name(path);
            self.tell_name(&to);
        }
        Ok(())
    }

    /// Whether this store wrote a version of a file of the under level, the number of whose device
    /// is each node's own; and, if given, as this file that was in its memory alone.
    pub(crate) fn wrote(
        &self,
        path: &StorePath,
        version: &UnderVersion,
        file: Option<FileId>,
    ) -> bool {
        let is_same = |written: UnderVersion| {
            UnderVersion { device: version.device, ..written }.has_bytes_of(version)
        };
        match file {
            Some(file) => lock(&self.served)
                .flushed
                .get(path)
                .is_some_and(|(id, written)| *id == file && is_same(*written)),
            None => self.ledger.entry(path).and_then(|entry| entry.version).is_some_and(is_same),
        }
    }

    /// Remembers which file of this memory alone goes to the under level: one that replaces it may
    /// be closed meanwhile.
    pub(in crate::store) fn remember_flushed(&self, record: &WriteRecord) {
        let (Some(peers), Some(version)) = (self.peers(), record.synced) else { return };
        let flushed = &mut lock(&self.served).flushed;
        if flushed.len() >= REMOTE_MAX {
            flushed.clear();
        }
        let file = FileId::of_alone(peers.name(), &record.version());
        flushed.insert(record.path.clone(), (file, version));
    }

    /// Takes the version of the under level for the one that a file replaces, where it is the file
    /// of another store that its writer replaced and that was flushed meanwhile. Whether it is.
    pub(in crate::store) fn accept_flushed(&self, written: &mut PendingFile) -> Result<bool> {
        let path = written.record.path.clone();
        let replaced = lock(&self.served).replaces.get(&path).copied();
        let Some((peers, replaced)) = self.peers().zip(replaced) else { return Ok(false) };
        let Some(now) = self.under_version(&path)? else { return Ok(false) };
        let is_dirty = matches!(written.record.state, WriteState::Dirty | WriteState::Synced);
        if !is_dirty || !peers.wrote(&path, &now, Some(replaced)) {
            return Ok(false);
        }
        let before = written.record.replaced.replace(now);
        self.save(&written.record).inspect_err(|_| written.record.replaced = before)?;
        Ok(true)
    }

    /// Brings a file to the under level under a conflict name, where another store of the job has
    /// given its own name to a file there, without knowing of it. Whether it did.
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

    /// Gives a locked file in memory alone another name, which is free.
    fn move_in_memory(&self, written: &mut PendingFile, to: &StorePath) -> Result<()> {
        let from = written.record.path.clone();
        let settled = self.settle_exchange(&written.record);
        settled.map_err(|cause| system("renaming", &from, &cause))?;
        let promised = match written.record.state {
            WriteState::Memory => Promised::Memory,
            _ => Promised::Dirty,
        };
        let before = written.record.clone();
        // A store that is killed after this finds its record under one of both names.
        self.note(LedgerEntry::removed(&from), &from)?;
        (written.record.path, written.record.replaced) = (to.clone(), None);
        self.save(&written.record).inspect_err(|_| {
            written.record = before;
            let _ = self.note(LedgerEntry::new(&written.record, promised), &from);
        })?;
        self.note(LedgerEntry::new(&written.record, promised), to)?;
        let leaving = lock(&self.state).rename_file(written.record.number, to);
        self.remove(&leaving);
        Ok(())
    }

    /// The files in this memory alone, in order from one on, at most so many.
    pub(crate) fn own_alone_from(
        &self,
        own: &str,
        first: Option<&StorePath>,
        count: usize,
    ) -> Vec<AloneFile> {
        let alone = self.alone();
        let after = alone.into_iter().filter(|(path, _)| first.is_none_or(|first| path > first));
        after.take(count).filter_map(|(path, _)| self.own_alone(own, &path)).collect()
    }
}
