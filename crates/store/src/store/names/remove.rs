//! Removal of names, on the under level and of memory-only files.

use std::io;

use cuesta_core::{Error, Result};

use super::super::{OPERATION, Store, system};
use super::sweep::SweepOutcome;
use crate::path::StorePath;
use crate::sharing::FileChange;
use crate::writeback::{LedgerEntry, WriteRecord};

impl Store {
    /// Removes a file, or an empty folder, wherever it is.
    ///
    /// # Errors
    /// `System` naming the path.
    pub fn remove_name(&self, path: &StorePath) -> Result<()> {
        self.looking_again(path, || {
            if self.forwarded(path, |path| FileChange::Remove { path })?.is_some() {
                return Ok(());
            }
            if self.alone_at(path).is_none()
                && self.clear_lost(path)
                && self.under_version(path)?.is_none()
            {
                return Ok(());
            }
            self.remove_here(path)
        })
    }

    /// As [`remove_name`](Self::remove_name), for a path in this memory or on the under level.
    ///
    /// # Errors
    /// `System` naming the path.
    pub(crate) fn remove_here(&self, path: &StorePath) -> Result<()> {
        // No other file of that name can be closed before this one is forgotten.
        let _claim = self.claims.claim(path);
        let is_folder = self.facts_here(path)?.is_folder;
        if is_folder && self.has_alone_inside(path) {
            return Err(system("removing", path, &io::ErrorKind::DirectoryNotEmpty.into()));
        }
        let mut entry = None;
        let removed = self.with_alone(path, |alone| {
            // The lock prevents a write-back, which would record the file as persisted.
            entry = self.writeback.ledger.entry(path);
            if !is_folder {
                self.writeback.note(LedgerEntry::removed(path), path)?;
            }
            let is_known = match &alone {
                Some(written) => {
                    self.has_version_of(&written.record, path)?
                        || self.flushed_replaced(path)?.is_some()
                }
                None => true,
            };
            if is_known {
                self.remove_under(path)?;
            }
            alone.map_or(Ok(()), |written| self.drop_record(written))
        });
        removed.inspect_err(|_| self.restore_entries(entry))?;
        let mut state = self.cache.lock();
        let cached = state.file_at(path);
        let to_remove = cached.map_or_else(Vec::new, |(number, _)| state.retire(number));
        drop(state);
        self.remove(&to_remove);
        self.publish_name(path);
        Ok(())
    }

    /// Removes a file or an empty folder of the under level, including parts of dead stores in it.
    fn remove_under(&self, path: &StorePath) -> Result<()> {
        let failed = |cause| system("removing", path, &cause);
        match self.under.remove(path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                let mut retained = self.sweep_folder(path)?;
                retained.retain(|part| part.outcome == SweepOutcome::Retained);
                let removed = self.under.remove(path).map_err(failed);
                let Some(part) = retained.first() else { return removed };
                removed.map_err(|error| {
                    let text = format!(
                        "removing {path}: {} parts of files are in it, {} the first ({}); if no \
                         store writes it, remove it by cuesta store sweep",
                        retained.len(),
                        part.path,
                        part.reason,
                    );
                    Error { errno: error.errno, ..Error::input(OPERATION, text) }
                })
            }
            removed => removed.map_err(failed),
        }
    }

    /// Returns whether the under level has, at the path of a memory-only file, that file or the one
    /// that it replaces, rather than a file of another program, which no reader here has seen.
    fn has_version_of(&self, record: &WriteRecord, path: &StorePath) -> Result<bool> {
        let versions = [record.synced, record.replaced];
        Ok(self
            .under_version(path)?
            .is_some_and(|now| versions.iter().flatten().any(|version| now.has_bytes_of(version))))
    }
}
