//! Write-back of files in memory to the under level: complete, on the disk, then named.

pub(super) mod naming;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::{OPERATION, Store, system};
use crate::cache::{Backing, FileVersion};
use crate::memory::PIECE_BYTES;
use crate::path::StorePath;
use crate::permissions::of_parents;
use crate::sharing::FileChange;
use crate::under::UnderVersion;
use crate::writeback::{LedgerEntry, PendingFile, Promised, WriteState, WriteStep};

/// First delay before a failed file is tried again; it doubles up to [`RETRY_MAX`].
const RETRY: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(30);

impl Store {
    /// Writes dirty files back to the under level, in the order in which they were closed, until
    /// [`end_write_back`](Self::end_write_back). Runs in a thread of its own.
    pub fn write_back(&self) {
        let mut wait = Duration::ZERO;
        while let Some(number) = self.writeback.dirty.next(wait) {
            wait = match self.persist(number) {
                Ok(()) => Duration::ZERO,
                // A flush, or the status, reports the cause.
                Err(_) => {
                    self.writeback.dirty.add(number);
                    (wait * 2).clamp(RETRY, RETRY_MAX)
                }
            };
        }
    }

    /// Ends [`write_back`](Self::write_back) after the current file.
    pub fn end_write_back(&self) {
        self.writeback.dirty.end();
    }

    /// Writes a file, or all dirty files, back to the under level: when this returns, they are on
    /// its disk. A memory-only file is written back only if it is named. Returns the number of
    /// bytes that were dirty.
    /// # Errors
    /// Error of the first file that could not be written, after all were tried; those files remain
    /// dirty.
    pub fn flush(&self, path: Option<&StorePath>) -> Result<u64> {
        let Some(named) = path else { return self.flush_here(None) };
        self.looking_again(named, || {
            match self.forwarded(named, |path| FileChange::Flush { path })? {
                Some(bytes) => Ok(bytes),
                None => {
                    if self.alone_at(named).is_none() {
                        // A file that only a dead store has is not on the disk when this returns.
                        self.elsewhere(named)?;
                    }
                    self.flush_here(path)
                }
            }
        })
    }

    /// As [`flush`](Self::flush), for files in this memory.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub(crate) fn flush_here(&self, path: Option<&StorePath>) -> Result<u64> {
        let mut flushed = 0;
        let mut failed = None;
        for (name, number) in self.alone() {
            let is_named = path.is_some_and(|path| *path == name);
            let is_dirty = self.cache.lock().backing(number) == Backing::Dirty;
            if !is_named && (path.is_some() || !is_dirty) {
                continue;
            }
            let size_bytes = self.cache.lock().file(number).map_or(0, |f| f.version.size_bytes);
            match self.persist(number) {
                Ok(()) => flushed += size_bytes,
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(flushed), Err)
    }

    /// Returns the files that are only in memory, by path.
    pub fn alone(&self) -> Vec<(StorePath, u64)> {
        self.cache.lock().alone()
    }

    /// Returns the files that are to be written to the under level.
    pub fn dirty(&self) -> Vec<StorePath> {
        let state = self.cache.lock();
        let dirty = |(path, number): (StorePath, u64)| {
            (state.backing(number) == Backing::Dirty).then_some(path)
        };
        state.alone().into_iter().filter_map(dirty).collect()
    }

    /// Returns the files that remain only in memory until they are flushed, with their sizes.
    pub fn memory_only(&self) -> Vec<(StorePath, u64)> {
        let state = self.cache.lock();
        let in_memory = |(path, number): (StorePath, u64)| {
            let size_bytes = state.file(number).map_or(0, |file| file.version.size_bytes);
            (state.backing(number) == Backing::Memory).then_some((path, size_bytes))
        };
        state.alone().into_iter().filter_map(in_memory).collect()
    }

    fn persist(&self, number: u64) -> Result<()> {
        // A missing file was persisted, replaced or removed meanwhile.
        let Ok(entry) = self.writeback.pending(number) else { return Ok(()) };
        let mut written = lock(&entry);
        match written.record.state {
            WriteState::Memory => {
                let bits = of_parents(written.record.permissions);
                self.make_parents(&written.record.path, bits)?;
                let before = written.record.state;
                written.step(WriteStep::Flush)?;
                self.writeback
                    .save(&written.record)
                    .inspect_err(|_| written.record.state = before)?;
                let entry = LedgerEntry::new(&written.record, Promised::Dirty);
                self.writeback.note(entry, &written.record.path)?;
                self.cache.lock().mark_dirty(number);
            }
            WriteState::Dirty | WriteState::Synced => (),
            _ => return Ok(()),
        }
        let path = written.record.path.clone();
        let mut persisted = self.persist_locked(&mut written, None);
        if persisted.is_err() && self.persist_as_conflict(&mut written)? {
            persisted = Ok(());
        }
        drop(written);
        if persisted.is_ok() {
            self.publish_name(&path);
        }
        self.writeback.ended(&persisted);
        persisted
    }

    /// Writes the remaining bytes to the under level, and names the file; `before` is the
    /// memory-only file that it replaces.
    pub(super) fn persist_locked(
        &self,
        written: &mut PendingFile,
        before: Option<&mut PendingFile>,
    ) -> Result<()> {
        if written.record.state != WriteState::Synced {
            let synced = self.sync_bytes(written);
            if synced.is_err() {
                // After a failed sync the state of the disk is unknown: everything is written
                // again.
                written.writer = None;
                written.on_under.clear();
            }
            synced?;
        }
        let path = written.record.path.clone();
        let failed = |cause| system("writing", &path, &cause);
        if !written.has_name {
            self.remember_flushed(&written.record);
            let mut named = self.name_under(&written.record);
            if named.as_ref().is_err_and(is_taken) && self.accept_flushed(written)? {
                named = self.name_under(&written.record);
            }
            named.map_err(|cause| match is_taken(&cause) {
                true => changed_meanwhile(&path),
                false => failed(cause),
            })?;
            written.has_name = true;
        }
        self.under.sync_names(&path).map_err(failed)?;
        let version = self.under_version(&path)?;
        let mut done = written.record.clone();
        done.state = WriteState::Persisted;
        self.writeback.save(&done)?;
        if let Some(before) = before {
            self.drop_record(before)?;
        }
        self.writeback.note(LedgerEntry::new(&done, Promised::Persisted), &path)?;
        written.step(WriteStep::Name)?;
        self.settle(written, version)
    }

    /// Writes all bytes under the hidden name to the disk.
    fn sync_bytes(&self, written: &mut PendingFile) -> Result<()> {
        if written.record.state == WriteState::Dirty {
            self.check_not_replaced(written)?;
        }
        if written.writer.is_none() {
            self.begin_under(written)?;
        }
        let missing = written.record.blocks.to_vec();
        for block in missing {
            if written.on_under.insert(block.key.index) {
                self.copy_block(written, &block)?;
            }
        }
        let path = written.record.path.clone();
        let failed = |cause| system("writing", &path, &cause);
        let Some(writer) = &written.writer else { return Ok(()) };
        let mut written_bytes = writer.size_bytes().map_err(failed)?;
        let is_flush = written.record.state == WriteState::Dirty;
        if is_flush && written_bytes > written.record.size_bytes {
            // GlusterFS counts the bytes of a write twice now and then.
            writer.truncate(written.record.size_bytes).map_err(failed)?;
            written_bytes = writer.size_bytes().map_err(failed)?;
        }
        if written_bytes != written.record.size_bytes {
            let text =
                format!("{path} has {written_bytes} bytes, not {}", written.record.size_bytes);
            return Err(Error::input(OPERATION, text));
        }
        writer.permit(written.record.permissions, written.record.is_exact);
        // The modification time that readers saw while it was only in memory does not change.
        let version = writer.sync(is_flush.then_some(written.record.closed_ns)).map_err(failed)?;
        let before = written.record.clone();
        written.record.synced = Some(version);
        written.step(WriteStep::Sync)?;
        self.writeback.save(&written.record).inspect_err(|_| written.record = before)
    }

    fn copy_block(&self, written: &PendingFile, block: &crate::cache::SealedBlock) -> Result<()> {
        let path = &written.record.path;
        let Some(writer) = &written.writer else { return Ok(()) };
        let file = File::open(self.tier.path(block));
        let file = file.map_err(|_| lost(path, block.key.index))?;
        let start = block.key.index * written.record.block_bytes;
        let mut piece = vec![0; PIECE_BYTES];
        let (mut place, mut checksum) = (0, 0);
        while place < block.size_bytes {
            let count = (block.size_bytes - place).min(PIECE_BYTES as u64) as usize;
            let bytes = &mut piece[..count];
            file.read_exact_at(bytes, place).map_err(|cause| system("reading", path, &cause))?;
            checksum = crc32c::crc32c_append(checksum, bytes);
            let wrote = writer.write_all_at(bytes, start + place);
            wrote.map_err(|cause| system("writing", path, &cause))?;
            place += count as u64;
        }
        if checksum == block.checksum { Ok(()) } else { Err(lost(path, block.key.index)) }
    }

    /// Returns an error if the under level no longer has the version from when the file was closed.
    fn check_not_replaced(&self, written: &mut PendingFile) -> Result<()> {
        let now = self.under_version(&written.record.path)?;
        let is_same = match (&now, &written.record.replaced) {
            (Some(now), Some(before)) => now.has_bytes_of(before),
            (None, _) => true,
            (Some(_), None) => false,
        };
        match is_same || self.accept_flushed(written)? {
            true => Ok(()),
            false => Err(changed_meanwhile(&written.record.path)),
        }
    }

    /// Ends a pending write: its blocks belong to the version that is now on the under level, or
    /// are dropped if another program has replaced the file.
    fn settle(&self, written: &PendingFile, version: Option<UnderVersion>) -> Result<()> {
        let number = written.record.number;
        let path = &written.record.path;
        let synced = written.record.synced;
        let persisted =
            version.filter(|now| synced.is_some_and(|synced| now.has_bytes_of(&synced)));
        let to_remove = match persisted {
            Some(version) => {
                let file = FileVersion { path: path.clone(), version };
                let to_remove = self.cache.lock().name_file(number, version, Backing::Under);
                // Without it, blocks of this file are filled again after a kill.
                let _ = self.save_facts(number, &file);
                to_remove
            }
            // Another program has replaced it meanwhile.
            None => self.cache.lock().forget_file(number),
        };
        self.remove(&to_remove);
        self.cache.lock().close(number);
        self.writeback.forget(number);
        self.writeback.records.remove(number).map_err(|cause| system("recording", path, &cause))
    }
}

fn is_taken(cause: &io::Error) -> bool {
    cause.kind() == io::ErrorKind::AlreadyExists
}

/// Error of a file that cannot get its name, because another file has it.
fn changed_meanwhile(path: &StorePath) -> Error {
    let text = format!(
        "{path} was changed on the under level after it was written here; copy one of them \
         elsewhere, and remove the one there"
    );
    Error::input(OPERATION, text)
}

/// Error of a lost block that was only in memory.
pub(super) fn lost(path: &StorePath, index: u64) -> Error {
    let text = format!("block {index} of {path} was lost, and was in memory alone; write it again");
    Error::input(OPERATION, text)
}
