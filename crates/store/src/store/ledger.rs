//! What was acknowledged to writers, for the audit: one line each, the last of a path counts.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;
use serde::{Deserialize, Serialize};

use super::OPERATION;
use super::record::{WriteRecord, write_whole};
use crate::path::StorePath;
use crate::steps::Steps;
use crate::under::UnderVersion;

/// What was acknowledged of one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The path.
    pub path: StorePath,
    /// What holds.
    pub promised: Promised,
    /// Its size.
    pub size_bytes: u64,
    /// Bytes of a block but for the last.
    pub block_bytes: u64,
    /// CRC-32C of each block, where the store has seen its bytes.
    pub checksums: Vec<Option<u32>>,
    /// Its version on the under level, once it is there.
    pub version: Option<UnderVersion>,
}

/// What holds of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Promised {
    /// It is in memory.
    Memory,
    /// It is in memory, and will be on the under level.
    Dirty,
    /// It is on the under level.
    Persisted,
    /// Somebody removes or renames it, or has done so.
    Removed,
}

impl LedgerEntry {
    /// What holds of a file that is written, from now on.
    pub fn new(record: &WriteRecord, promised: Promised) -> Self {
        Self {
            path: record.path.clone(),
            promised,
            size_bytes: record.size_bytes,
            block_bytes: record.block_bytes,
            checksums: record.checksums(),
            version: record.synced,
        }
    }

    /// That a path is not promised any more.
    pub fn removed(path: &StorePath) -> Self {
        Self {
            path: path.clone(),
            promised: Promised::Removed,
            size_bytes: 0,
            block_bytes: 0,
            checksums: vec![],
            version: None,
        }
    }
}

/// The lines, and the last one of each path.
#[derive(Debug)]
pub struct Ledger {
    state: Mutex<LedgerState>,
    steps: Steps,
}

#[derive(Debug)]
struct LedgerState {
    file: File,
    entries: BTreeMap<StorePath, LedgerEntry>,
}

impl Ledger {
    /// The one at `path`, without lines that do not count any more.
    ///
    /// # Errors
    /// `System`.
    pub fn open(path: &Path, steps: Steps) -> Result<Self> {
        let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
        let text = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read.map_err(failed)?,
        };
        let mut entries = BTreeMap::new();
        // A line that was not finished was not acknowledged.
        for line in text.split(|&byte| byte == b'\n') {
            if let Ok(entry) = serde_json::from_slice::<LedgerEntry>(line) {
                entries.insert(entry.path.clone(), entry);
            }
        }
        entries.retain(|_, entry| entry.promised != Promised::Removed);
        let mut text = Vec::new();
        for entry in entries.values() {
            text.extend(line(entry).map_err(failed)?);
        }
        write_whole(path, &text).map_err(failed)?;
        let file = File::options().append(true).open(path).map_err(failed)?;
        Ok(Self { state: Mutex::new(LedgerState { file, entries }), steps })
    }

    /// Writes down what is acknowledged next.
    ///
    /// # Errors
    /// Those of the system.
    pub fn add(&self, entry: LedgerEntry) -> io::Result<()> {
        let mut state = lock(&self.state);
        self.steps.step()?;
        state.file.write_all(&line(&entry)?)?;
        // Of what is gone, only a store that comes later has to hear.
        if entry.promised == Promised::Removed {
            state.entries.remove(&entry.path);
        } else {
            state.entries.insert(entry.path.clone(), entry);
        }
        Ok(())
    }

    /// What holds of a path.
    pub fn entry(&self, path: &StorePath) -> Option<LedgerEntry> {
        lock(&self.state).entries.get(path).cloned()
    }

    /// What holds now, by path.
    pub fn entries(&self) -> Vec<LedgerEntry> {
        let state = lock(&self.state);
        let holds = |entry: &&LedgerEntry| entry.promised != Promised::Removed;
        state.entries.values().filter(holds).cloned().collect()
    }
}

fn line(entry: &LedgerEntry) -> io::Result<Vec<u8>> {
    // The line before may be half of one, where the memory was full.
    let mut line = vec![b'\n'];
    serde_json::to_writer(&mut line, entry)?;
    line.push(b'\n');
    Ok(line)
}
