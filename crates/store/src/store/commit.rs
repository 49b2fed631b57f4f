//! Commit of a file: it is closed, and the promise of its write mode holds from then on.

use std::io;
use std::sync::Mutex;

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::peering::later_than;
use super::writes::now_ns;
use super::{OPERATION, Store, system};
use crate::cache::Backing;
use crate::path::StorePath;
use crate::under::UnderVersion;
use crate::writeback::{LedgerEntry, PendingFile, Promised, WriteRecord, WriteState, WriteStep};

/// Upper limit of the tick of the system's clock for files. A file is closed a tick earlier, so
/// that it can have that time on the under level, where a later change, even within this tick, is
/// visible.
const CLOCK_STEP_NS: i64 = 10_000_000;

impl Store {
    /// Closes a file at this size, and gives it its name, with the promise of its write mode.
    ///
    /// # Errors
    /// `Input` where bytes are missing; `System`. The file is discarded then.
    pub fn commit(&self, number: u64, size_bytes: u64) -> Result<()> {
        self.commit_as(number, size_bytes, false)
    }

    /// As [`commit`](Self::commit); with `is_new` fails where the name exists.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    pub fn commit_as(&self, number: u64, size_bytes: u64, is_new: bool) -> Result<()> {
        let entry = self.writeback.pending(number)?;
        let path = lock(&entry).record.path.clone();
        let before = self.find_settled(&path);
        // By the clock of another node it may have been closed in the future.
        lock(&entry).record.closed_ns = before.closed_ns().map_or(0, |closed_ns| closed_ns + 1);
        self.remember_replaced(&path, &before);
        self.commit_claimed(&entry, size_bytes, is_new)?;
        self.announce_name(&path, before);
        Ok(())
    }

    fn commit_claimed(
        &self,
        entry: &Mutex<PendingFile>,
        size_bytes: u64,
        is_new: bool,
    ) -> Result<()> {
        let path = lock(entry).record.path.clone();
        let _claim = self.claims.claim(&path);
        let mut written = lock(entry);
        let existing = self.facts(&path).ok();
        let refusal = match existing {
            Some(facts) if facts.is_folder => Some(io::ErrorKind::IsADirectory),
            Some(_) if is_new => Some(io::ErrorKind::AlreadyExists),
            _ => None,
        };
        if let Some(kind) = refusal {
            self.discard(&mut written);
            return Err(system("writing", &path, &kind.into()));
        }
        self.with_alone(&path, |mut before| {
            self.inherit_permissions(&mut written, before.as_deref(), existing);
            let replaced = match &before {
                _ if is_new => Ok(None),
                Some(before) => Ok(before.record.replaced),
                None => self.under_version(&path),
            };
            let committed = replaced.and_then(|replaced| {
                written.record.replaced = replaced;
                self.commit_locked(&mut written, size_bytes, before.as_deref_mut())
            });
            if committed.is_err() && written.record.state != WriteState::Persisted {
                self.restore_replaced(&written, before);
                self.discard(&mut written);
                // Another writer was faster.
                if is_new && self.facts(&path).is_ok() {
                    return Err(system("writing", &path, &io::ErrorKind::AlreadyExists.into()));
                }
            }
            committed
        })
    }

    /// Restores the file that a discarded file was to replace, and whose name that may have by now.
    fn restore_replaced(&self, written: &PendingFile, before: Option<&mut PendingFile>) {
        let WriteRecord { ref path, synced, .. } = written.record;
        let now = self.under_version(path).unwrap_or(None);
        let has_name = now.zip(synced).is_some_and(|(now, synced)| now.has_bytes_of(&synced));
        // If this cannot be recorded now, the next store detects it.
        match before.filter(|before| before.record.state != WriteState::Abandoned) {
            // It still is the file of the path, and may replace the other one.
            Some(before) => {
                let promised = match before.record.state {
                    WriteState::Memory => Promised::Memory,
                    _ => Promised::Dirty,
                };
                let _ = self.writeback.ledger.add(LedgerEntry::new(&before.record, promised));
                if has_name {
                    before.record.replaced = now;
                    let _ = self.writeback.records.save(&before.record);
                }
            }
            None if has_name => {
                let _ = self
                    .writeback
                    .ledger
                    .add(LedgerEntry::new(&written.record, Promised::Persisted));
            }
            None => (),
        }
    }

    fn commit_locked(
        &self,
        written: &mut PendingFile,
        size_bytes: u64,
        before: Option<&mut PendingFile>,
    ) -> Result<()> {
        self.check_complete(written, size_bytes)?;
        written.record.size_bytes = size_bytes;
        // The clock may have been set back since the replaced file was closed.
        let later = before.as_ref().map_or(0, |before| before.record.closed_ns + 1);
        // Otherwise, once this node is lost, the older file would be taken for this one, flushed.
        let later = later.max(written.record.replaced.map_or(0, |under| later_than(&under)));
        written.record.closed_ns =
            written.record.closed_ns.max(now_ns() - CLOCK_STEP_NS).max(later);
        let path = written.record.path.clone();
        let (promised, backing) = match written.step(WriteStep::Commit)? {
            WriteState::Memory => (Promised::Memory, Backing::Memory),
            WriteState::Dirty => (Promised::Dirty, Backing::Dirty),
            _ => return self.persist_locked(written, before),
        };
        self.writeback.save(&written.record)?;
        self.writeback.note(LedgerEntry::new(&written.record, promised), &path)?;
        let dropped = before.map(|before| self.drop_alone(before).map(|()| before.record.number));
        let dropped = dropped.transpose()?;
        let version = written.record.version();
        let mut state = self.cache.lock();
        // In one step: nobody finds the name without a file.
        let mut to_remove = state.name_file(written.record.number, version, backing);
        if let Some(dropped) = dropped {
            to_remove.extend(state.end_file(dropped));
        }
        drop(state);
        self.remove(&to_remove);
        if backing == Backing::Dirty {
            self.writeback.dirty.add(written.record.number);
        }
        Ok(())
    }

    /// Returns the version of a path on the under level, if it exists.
    pub(super) fn under_version(&self, path: &StorePath) -> Result<Option<UnderVersion>> {
        match self.under.facts(path) {
            Ok(facts) => Ok(Some(facts.version)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(system("reading", path, &error)),
        }
    }

    /// Calls `work` with the locked memory-only file of a path, which is neither changed nor
    /// written back meanwhile.
    pub(super) fn with_alone<T>(
        &self,
        path: &StorePath,
        work: impl FnOnce(Option<&mut PendingFile>) -> Result<T>,
    ) -> Result<T> {
        loop {
            let Some(number) = self.alone_at(path) else { return work(None) };
            // By the time it is locked, it may have been written back or replaced.
            let Ok(entry) = self.writeback.pending(number) else { continue };
            let mut before = lock(&entry);
            if self.alone_at(path) == Some(number) {
                return work(Some(&mut before));
            }
        }
    }

    /// Forgets a memory-only file that was replaced or removed.
    pub(super) fn drop_record(&self, written: &mut PendingFile) -> Result<()> {
        self.drop_alone(written)?;
        let to_remove = self.cache.lock().end_file(written.record.number);
        self.remove(&to_remove);
        Ok(())
    }

    /// Removes the record of a memory-only file, whose state still has its name.
    fn drop_alone(&self, written: &mut PendingFile) -> Result<()> {
        let WriteRecord { number, ref path, .. } = written.record;
        let settled = self.settle_exchange(&written.record);
        let removed = settled.and_then(|()| self.writeback.records.remove(number));
        removed.map_err(|cause| system("replacing", path, &cause))?;
        written.record.state = WriteState::Abandoned;
        written.writer = None;
        self.writeback.forget(number);
        Ok(())
    }

    /// Returns an error unless all bytes of a file of this size were written.
    fn check_complete(&self, written: &PendingFile, size_bytes: u64) -> Result<()> {
        let block_bytes = self.options.block_bytes;
        let count = size_bytes.div_ceil(block_bytes);
        let is_written = |index: u64| {
            let wanted = (size_bytes - index * block_bytes).min(block_bytes);
            let here = written.record.block(index).is_some_and(|block| block.size_bytes == wanted);
            here || written.on_under.contains(&index)
        };
        let mut index = 0;
        while index < count && is_written(index) {
            index = written.on_under.end_of(index).unwrap_or(index + 1);
        }
        let missing = (index < count).then_some(index);
        let more = written.record.blocks.iter().any(|block| block.key.index >= count)
            || !written.partial.is_empty();
        match missing {
            None if !more => Ok(()),
            _ => {
                let index = missing.unwrap_or(count);
                let path = &written.record.path;
                let text = format!("{path} is said to have {size_bytes} bytes, block {index} not");
                Err(Error::input(OPERATION, text))
            }
        }
    }
}
