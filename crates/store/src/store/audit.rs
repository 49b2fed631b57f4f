//! Audit: a check that all acknowledged files exist.

use serde::{Deserialize, Serialize};

use super::Store;
use crate::cache::{Backing, BlockKey};
use crate::conflict::is_conflict;
use crate::path::StorePath;
use crate::writeback::{LedgerEntry, Promised};

const CONFLICT: &str = "another store, which did not know of it, gave its name to a later file";

/// Result of an audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// Files that were acknowledged and not removed.
    pub files: u64,
    /// Their bytes.
    pub size_bytes: u64,
    /// Number of these files that are only in memory.
    pub memory_files: u64,
    /// Files that are missing, or whose bytes have changed where no one may change them.
    pub lost: Vec<AuditedFile>,
    /// Files that another program has changed on the under level since: not a fault of the store.
    pub changed: Vec<AuditedFile>,
    /// Files that lost their names to later files of other stores, and are on this store.
    #[serde(default)]
    pub conflicts: Vec<AuditedFile>,
}

/// A file that differs from its acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditedFile {
    /// Its path.
    pub path: StorePath,
    /// Its difference.
    pub reason: String,
}

impl Store {
    /// Compares acknowledgements with existing files: blocks of memory-only files by their bytes,
    /// files of the under level by their version, and with `reads_bytes` by their bytes too.
    pub fn audit(&self, reads_bytes: bool) -> Audit {
        let mut audit = Audit::default();
        for entry in self.writeback.ledger.entries() {
            audit.files += 1;
            audit.size_bytes += entry.size_bytes;
            if is_conflict(&entry.path) {
                let (path, reason) = (entry.path.clone(), CONFLICT.to_owned());
                audit.conflicts.push(AuditedFile { path, reason });
            }
            match entry.promised {
                Promised::Memory | Promised::Dirty => {
                    audit.memory_files += 1;
                    self.audit_memory(&entry, &mut audit);
                }
                Promised::Persisted => self.audit_under(&entry, reads_bytes, &mut audit),
                Promised::Removed => (),
            }
        }
        audit
    }

    /// Returns whether each file that is promised in memory is there.
    pub(crate) fn has_promised_files(&self) -> bool {
        let is_promised =
            |entry: &&LedgerEntry| matches!(entry.promised, Promised::Memory | Promised::Dirty);
        let entries = self.writeback.ledger.entries();
        entries.iter().filter(is_promised).all(|entry| self.alone_at(&entry.path).is_some())
    }

    fn audit_memory(&self, entry: &LedgerEntry, audit: &mut Audit) {
        let state = self.cache.lock();
        let number = state.file_at(&entry.path).map(|(number, _)| number);
        let backing = number.map(|number| state.backing(number));
        let blocks = number.map_or_else(Vec::new, |number| state.all_blocks(number));
        drop(state);
        // It may have been written to the under level since the entry was read.
        let now = self.writeback.ledger.entry(&entry.path);
        if now.as_ref().map(|now| now.promised) != Some(entry.promised) {
            return;
        }
        let Some(number) = number.filter(|_| backing != Some(Backing::Under)) else {
            audit.lose(entry, "it is not in memory");
            return;
        };
        for (index, checksum) in (0..).zip(&entry.checksums) {
            let key = BlockKey { file: number, index };
            let block = blocks.iter().find(|block| block.key == key);
            let is_intact = block.is_some_and(|block| {
                Some(block.checksum) == *checksum && self.tier.is_intact(block).unwrap_or(false)
            });
            if !is_intact {
                audit.lose(entry, &format!("block {index} is not in memory, or has changed"));
                return;
            }
        }
    }

    fn audit_under(&self, entry: &LedgerEntry, reads_bytes: bool, audit: &mut Audit) {
        let Ok(file) = self.under.open(&entry.path) else {
            audit.lose(entry, "it is not on the under level");
            return;
        };
        let is_same = file
            .version()
            .is_ok_and(|now| entry.version.is_some_and(|version| now.has_bytes_of(&version)));
        if !is_same {
            audit.change(entry, "it was changed on the under level");
            return;
        }
        if !reads_bytes {
            return;
        }
        for (index, checksum) in (0..).zip(&entry.checksums) {
            let start: u64 = index * entry.block_bytes;
            let size_bytes = (entry.size_bytes - start).min(entry.block_bytes);
            let mut bytes = vec![0; size_bytes as usize];
            let read = file.read_exact_at(&mut bytes, start);
            let is_intact = checksum.is_none_or(|checksum| crc32c::crc32c(&bytes) == checksum);
            if read.is_err() || !is_intact {
                audit.lose(entry, &format!("block {index} has other bytes on the under level"));
                return;
            }
        }
    }
}

impl Audit {
    fn lose(&mut self, entry: &LedgerEntry, reason: &str) {
        self.lost.push(AuditedFile { path: entry.path.clone(), reason: reason.to_owned() });
    }

    fn change(&mut self, entry: &LedgerEntry, reason: &str) {
        self.changed.push(AuditedFile { path: entry.path.clone(), reason: reason.to_owned() });
    }
}
