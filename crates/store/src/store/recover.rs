//! Files that a store before this one had not brought to the under level, or was about to.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Mutex};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::ledger::{LedgerEntry, Promised};
use super::promise::WriteState;
use super::record::WriteRecord;
use super::state::{Backing, FileVersion};
use super::writes::PendingFile;
use super::{OPERATION, Store, system};
use crate::memory::SealedBlock;
use crate::path::StorePath;

impl Store {
    /// Takes up what was promised, with its blocks among those that were found, and clears away
    /// what was not.
    pub(super) fn recover(&self, found: &mut HashMap<u64, Vec<SealedBlock>>) -> Result<()> {
        let mut by_path: BTreeMap<StorePath, Vec<WriteRecord>> = BTreeMap::new();
        let last = self.records.last_number()?;
        last.into_iter().for_each(|number| lock(&self.state).number_from(number + 1));
        for record in self.records.load()? {
            lock(&self.state).number_from(record.number + 1);
            by_path.entry(record.path.clone()).or_default().push(record);
        }
        for mut records in by_path.into_values() {
            records.sort_by_key(|record| (record.closed_ns, record.number));
            self.recover_path(records, found)?;
        }
        Ok(())
    }

    /// Takes up the file of a path that was closed last; what it replaced, and what was not
    /// closed, is gone.
    fn recover_path(
        &self,
        records: Vec<WriteRecord>,
        found: &mut HashMap<u64, Vec<SealedBlock>>,
    ) -> Result<()> {
        let mut file = None;
        let mut gone = Vec::new();
        for mut record in records.into_iter().rev() {
            let settled = self.settle_exchange(&record);
            settled.map_err(|cause| system("reading", &record.path, &cause))?;
            let now = self.under_version(&record.path)?;
            let has_name =
                now.zip(record.synced).is_some_and(|(now, synced)| now.has_bytes_of(&synced));
            record.state = record.state.recovered(record.mode, record.is_in_memory(), has_name);
            match record.state {
                WriteState::Abandoned => gone.push(record),
                _ if file.is_some() => gone.push(record),
                _ => file = Some(record),
            }
        }
        let Some(record) = file else { return gone.iter().try_for_each(|one| self.clear(one)) };
        if matches!(record.state, WriteState::Synced | WriteState::Persisted) {
            let path = &record.path;
            self.under.sync_names(path).map_err(|cause| system("writing", path, &cause))?;
            self.note(LedgerEntry::new(&record, Promised::Persisted), path)?;
        }
        // Else one of these would be taken for the file, were this store killed as well.
        gone.iter().try_for_each(|one| self.clear(one))?;
        match record.state {
            WriteState::Memory => self.recover_alone(record, Backing::Memory, found),
            WriteState::Dirty => self.recover_alone(record, Backing::Dirty, found),
            _ => self.clear(&record),
        }
    }

    fn recover_alone(
        &self,
        mut record: WriteRecord,
        backing: Backing,
        found: &mut HashMap<u64, Vec<SealedBlock>>,
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
        self.save(&record)?;
        let promised = if backing == Backing::Dirty { Promised::Dirty } else { Promised::Memory };
        self.note(LedgerEntry::new(&record, promised), &record.path)?;
        let number = record.number;
        let mut blocks = found.remove(&number).unwrap_or_default();
        blocks.retain(|block| record.blocks.contains(block));
        let file = FileVersion { path: record.path.clone(), version: record.version() };
        let mut state = lock(&self.state);
        state.adopt_written(number, file, backing, &blocks);
        state.permit(number, record.permissions);
        drop(state);
        lock(&self.writes).insert(number, Arc::new(Mutex::new(PendingFile::new(record))));
        if backing == Backing::Dirty {
            self.dirty.add(number);
        }
        Ok(())
    }

    /// Removes what is left of a file that was not promised.
    pub(super) fn clear(&self, record: &WriteRecord) -> Result<()> {
        self.remove_hidden(record)?;
        self.records
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
