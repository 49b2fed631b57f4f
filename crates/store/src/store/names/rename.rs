//! Renaming of files and folders, on the under level and of memory-only files.

use std::io;

use cuesta_core::{Error, Result};

use super::super::{OPERATION, Store, system};
use crate::cache::Backing;
use crate::path::StorePath;
use crate::permissions::of_parents;
use crate::sharing::{FileChange, NameLookup};
use crate::under::{Facts, UnderVersion};
use crate::writeback::{LedgerEntry, Promised, WriteState};

impl Store {
    /// Renames a file or folder; replaces a file of the new name. Dirty files are flushed first.
    ///
    /// # Errors
    /// `Input` for a folder with memory-only files; `System`.
    pub fn rename(&self, from: &StorePath, to: &StorePath) -> Result<()> {
        self.rename_as(from, to, false)
    }

    /// As [`rename`](Self::rename); with `is_new` fails where the new name exists.
    ///
    /// # Errors
    /// As [`rename`](Self::rename).
    pub fn rename_as(&self, from: &StorePath, to: &StorePath, is_new: bool) -> Result<()> {
        let rename = |path| FileChange::Rename { path, to: to.clone(), is_new };
        self.looking_again(from, || match self.forwarded(from, rename)? {
            Some(_) => Ok(()),
            None => self.rename_here(from, to, is_new),
        })
    }

    /// As [`rename_as`](Self::rename_as), for a path in this memory or on the under level.
    ///
    /// # Errors
    /// As [`rename`](Self::rename).
    pub(crate) fn rename_here(&self, from: &StorePath, to: &StorePath, is_new: bool) -> Result<()> {
        let before = self.find_settled(to);
        self.rename_claimed(from, to, (is_new, &before))?;
        self.remember_replaced(to, &before);
        self.announce_name(to, before);
        self.publish_name(from);
        Ok(())
    }

    /// Renames a file of this store; `before` is the memory-only file of another store that has the
    /// new name.
    fn rename_claimed(
        &self,
        from: &StorePath,
        to: &StorePath,
        (is_new, before): (bool, &NameLookup),
    ) -> Result<()> {
        let _claim = self.claims.claim(to);
        // A file that another program puts there later is not replaced.
        let mut expected = if is_new { None } else { self.under_version(to)? };
        if is_new && self.facts(to).is_ok() {
            return Err(system("replacing", to, &io::ErrorKind::AlreadyExists.into()));
        }
        let Facts { is_folder, permissions, .. } = self.facts(from)?;
        let bits = of_parents(permissions);
        // Also a folder that has only memory-only files.
        if !is_folder && self.facts(to).is_ok_and(|facts| facts.is_folder) {
            return Err(system("replacing", to, &io::ErrorKind::IsADirectory.into()));
        }
        if is_folder {
            self.rename_folder(from, to, bits, is_new)
        } else if let Some(number) = self.alone_at(from)
            && self.cache.lock().backing(number) == Backing::Memory
            && self.alone_at(to).is_none()
            && self.under_version(to)?.is_none()
            // Otherwise the file that it replaced there would appear under the old name.
            && self.under_version(from)?.is_none()
            && self.rename_in_memory(from, to, before)?
        {
            Ok(())
        } else {
            // Otherwise a kill could come between the renames there and in memory.
            if self.alone_at(to).is_some() {
                self.flush_here(Some(to))?;
                expected = self.writeback.ledger.entry(to).and_then(|entry| entry.version);
            }
            let was_alone = self.alone_at(from).is_some();
            self.flush_here(Some(from))?;
            if was_alone && !self.has_flushed(from)? {
                // Another store has replaced it: the file of the under level is older than both.
                return Err(system("renaming", from, &io::ErrorKind::NotFound.into()));
            }
            self.rename_under(from, to, expected, bits)
        }
    }

    /// Returns whether the under level has the file of a path that this store flushed.
    fn has_flushed(&self, path: &StorePath) -> Result<bool> {
        let flushed = self.writeback.ledger.entry(path).and_then(|entry| entry.version);
        let now = self.under_version(path)?;
        Ok(now.zip(flushed).is_some_and(|(now, flushed)| now.has_bytes_of(&flushed)))
    }

    fn rename_folder(
        &self,
        from: &StorePath,
        to: &StorePath,
        bits: u32,
        is_new: bool,
    ) -> Result<()> {
        let inside = |(path, number): &(StorePath, u64)| {
            path.is_inside(from).then(|| (path.clone(), self.cache.lock().backing(*number)))
        };
        for (path, backing) in self.alone().iter().filter_map(inside) {
            if backing == Backing::Memory {
                let text =
                    format!("{path} is in memory alone; flush or remove it to rename {from}");
                // As between file systems: the client then moves the files one by one.
                return Err(Error { errno: Some(libc::EXDEV), ..Error::input(OPERATION, text) });
            }
            self.flush_here(Some(&path))?;
        }
        if self.peers().is_some_and(|peers| !peers.inside(from).is_empty()) {
            let text = format!("files of {from} are in the memory of other stores alone");
            return Err(Error { errno: Some(libc::EXDEV), ..Error::input(OPERATION, text) });
        }
        if self.has_alone_inside(to) {
            return Err(system("replacing", to, &io::ErrorKind::DirectoryNotEmpty.into()));
        }
        self.make_parents(to, bits)?;
        let moved: Vec<LedgerEntry> = self.writeback.ledger.entries();
        let moved: Vec<_> = moved.into_iter().filter(|entry| entry.path.is_inside(from)).collect();
        for entry in &moved {
            self.writeback.note(LedgerEntry::removed(&entry.path), from)?;
        }
        let renamed = match is_new {
            true => self.under.rename_new(from, to).and_then(|()| self.under.sync_names(to)),
            // Only an empty folder is replaced.
            false => self.under.rename(from, to),
        };
        let renamed = renamed.map_err(|cause| system("renaming", from, &cause));
        renamed.inspect_err(|_| self.restore_entries(moved.iter().cloned()))?;
        for entry in moved {
            let path = entry.path.moved(from, to)?;
            self.writeback.note(LedgerEntry { path, ..entry }, to)?;
        }
        Ok(())
    }

    fn rename_under(
        &self,
        from: &StorePath,
        to: &StorePath,
        expected: Option<UnderVersion>,
        bits: u32,
    ) -> Result<()> {
        // As for memory-only files, folders are made as needed.
        self.make_parents(to, bits)?;
        let entry = self.writeback.ledger.entry(from).filter(|e| e.promised == Promised::Persisted);
        let replaced = self.writeback.ledger.entry(to);
        self.writeback.note(LedgerEntry::removed(from), from)?;
        self.writeback.note(LedgerEntry::removed(to), to)?;
        self.move_under(from, to, expected).inspect_err(|_| {
            let version = entry.as_ref().and_then(|entry| entry.version);
            let now = self.under_version(to).unwrap_or(None);
            let has_moved = now.zip(version).is_some_and(|(now, file)| now.has_bytes_of(&file));
            let moved = entry.clone().map(|entry| LedgerEntry { path: to.clone(), ..entry });
            self.restore_entries(entry.clone().into_iter().chain(if has_moved {
                moved
            } else {
                replaced
            }));
        })?;
        if let Some(entry) = entry {
            self.writeback.note(LedgerEntry { path: to.clone(), ..entry }, to)?;
        }
        let version = self.under_version(to)?;
        let mut state = self.cache.lock();
        let cached = state.file_at(from).zip(version);
        let to_remove = match cached.filter(|((_, cached), now)| now.has_bytes_of(cached)) {
            Some(((number, _), version)) => {
                let mut to_remove = state.rename_file(number, to);
                to_remove.extend(state.name_file(number, version, Backing::Under));
                to_remove
            }
            None => vec![],
        };
        drop(state);
        self.remove(&to_remove);
        Ok(())
    }

    /// Records again the files whose rename or removal failed.
    pub(super) fn restore_entries(&self, entries: impl IntoIterator<Item = LedgerEntry>) {
        for entry in entries.into_iter().filter(|entry| self.facts(&entry.path).is_ok()) {
            let path = entry.path.clone();
            let _ = self.writeback.note(entry, &path);
        }
    }

    /// Renames a memory-only file, which counts as closed after the one that it replaces; returns
    /// false where it was flushed or removed meanwhile.
    fn rename_in_memory(
        &self,
        from: &StorePath,
        to: &StorePath,
        before: &NameLookup,
    ) -> Result<bool> {
        self.with_alone(from, |alone| {
            let Some(written) = alone.filter(|file| file.record.state == WriteState::Memory) else {
                return Ok(false);
            };
            let entry = LedgerEntry::new(&written.record, Promised::Memory);
            self.writeback.note(LedgerEntry::removed(from), from)?;
            let unnamed = written.record.clone();
            written.record.path = to.clone();
            let later = before.closed_ns().map_or(i64::MIN, |closed_ns| closed_ns + 1);
            written.record.closed_ns = written.record.closed_ns.max(later);
            let saved = self.writeback.save(&written.record);
            if saved.is_err() {
                written.record = unnamed;
                self.writeback.note(entry, from)?;
            }
            saved?;
            self.writeback.note(LedgerEntry::new(&written.record, Promised::Memory), to)?;
            let (number, version) = (written.record.number, written.record.version());
            let mut state = self.cache.lock();
            let mut leaving = state.rename_file(number, to);
            leaving.extend(state.name_file(number, version, Backing::Memory));
            drop(state);
            self.remove(&leaving);
            Ok(true)
        })
    }
}
