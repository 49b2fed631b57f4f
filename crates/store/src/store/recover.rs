//! Recovery of files that an earlier store had not written back to the under level, or was writing.

use std::collections::{BTreeMap, HashMap};
use std::io;

use cuesta_core::{Error, Result};

use super::{OPERATION, Store, system};
use crate::cache::{Backing, FileVersion, SealedBlock};
use crate::path::StorePath;
use crate::writeback::{LedgerEntry, PendingFile, Promised, WriteRecord, WriteState};

impl Store {
    /// Recovers promised files, with their blocks out of `blocks_by_file`, and discards the others.
    pub(super) fn recover(
        &self,
        blocks_by_file: &mut HashMap<u64, Vec<SealedBlock>>,
    ) -> Result<()> {
        let mut by_path: BTreeMap<StorePath, Vec<WriteRecord>> = BTreeMap::new();
        let last = self.writeback.records.last_number()?;
        last.into_iter().for_each(|number| self.cache.lock().number_from(number + 1));
        for record in self.writeback.records.load()? {
            self.cache.lock().number_from(record.number + 1);
            by_path.entry(record.path.clone()).or_default().push(record);
        }
        for mut records in by_path.into_values() {
            records.sort_by_key(|record| (record.closed_ns, record.number));
            self.recover_path(records, blocks_by_file)?;
        }
        Ok(())
    }

    /// Recovers the file of a path that was closed last; discards the files that it replaced, and
    /// those that were not closed.
    fn recover_path(
        &self,
        records: Vec<WriteRecord>,
        blocks_by_file: &mut HashMap<u64, Vec<SealedBlock>>,
    ) -> Result<()> {
        let mut file = None;
        let mut discarded = Vec::new();
        for mut record in records.into_iter().rev() {
            let settled = self.settle_exchange(&record);
            settled.map_err(|cause| system("reading", &record.path, &cause))?;
            let now = self.under_version(&record.path)?;
            let has_name =
                now.zip(record.synced).is_some_and(|(now, synced)| now.has_bytes_of(&synced));
            record.state = record.state.recovered(record.mode, record.is_in_memory(), has_name);
            match record.state {
                WriteState::Abandoned => discarded.push(record),
                _ if file.is_some() => discarded.push(record),
                _ => file = Some(record),
            }
        }
        let Some(record) = file else {
            return discarded.iter().try_for_each(|record| self.clear(record));
        };
        if matches!(record.state, WriteState::Synced | WriteState::Persisted) {
            let path = &record.path;
            self.under.sync_names(path).map_err(|cause| system("writing", path, &cause))?;
            self.writeback.note(LedgerEntry::new(&record, Promised::Persisted), path)?;
        }
        // Otherwise one of these would be taken for the file if this store were killed as well.
        discarded.iter().try_for_each(|record| self.clear(record))?;
        match record.state {
            WriteState::Memory => self.recover_alone(record, Backing::Memory, blocks_by_file),
            WriteState::Dirty => self.recover_alone(record, Backing::Dirty, blocks_by_file),
            _ => self.clear(&record),
        }
    }

    fn recover_alone(
        &self,
        mut record: WriteRecord,
        backing: Backing,
        blocks_by_file: &mut HashMap<u64, Vec<SealedBlock>>,
    ) -> Result<()> {
        if record.block_bytes != self.options.block_bytes {
            let text = format!(
                "{} is in memory alone, in blocks of {} bytes; start with --block {} and flush it",
                record.path, record.block_bytes, record.block_bytes
            );
            return Err(Error::input(OPERATION, text));
        }
        self.remove_hidden(&record)?;
        (record.hidden, record.synced) = (None, None);
        self.writeback.save(&record)?;
        let promised = if backing == Backing::Dirty { Promised::Dirty } else { Promised::Memory };
        self.writeback.note(LedgerEntry::new(&record, promised), &record.path)?;
        let number = record.number;
        let mut blocks = blocks_by_file.remove(&number).unwrap_or_default();
        blocks.retain(|block| record.blocks.contains(block));
        let file = FileVersion { path: record.path.clone(), version: record.version() };
        let mut state = self.cache.lock();
        state.adopt_written(number, file, backing, &blocks);
        state.permit(number, record.permissions);
        drop(state);
        self.writeback.add(PendingFile::new(record));
        if backing == Backing::Dirty {
            self.writeback.dirty.add(number);
        }
        Ok(())
    }

    /// Removes the remains of a file that was not promised.
    pub(super) fn clear(&self, record: &WriteRecord) -> Result<()> {
        self.remove_hidden(record)?;
        self.writeback
            .records
            .remove(record.number)
            .map_err(|cause| system("recording", &record.path, &cause))
    }

    fn remove_hidden(&self, record: &WriteRecord) -> Result<()> {
        let folder = record.path.parent().unwrap_or_default();
        let settled = self.settle_exchange(record);
        settled.map_err(|cause| system("removing", &record.path, &cause))?;
        let Some(hidden) = &record.hidden else { return Ok(()) };
        let hidden = folder.join(hidden)?;
        match self.under.remove(&hidden) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(system("removing", &hidden, &error))
            }
            _ => Ok(()),
        }
    }
}
