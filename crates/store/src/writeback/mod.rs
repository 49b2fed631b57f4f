//! Write-back: files that are written, what is promised for each, and what a later store needs to
//! keep the promises after a kill.
//!
//! | part | holds |
//! |---|---|
//! | `promise` | states of a written file and their durability; all are explored by its tests |
//! | `pending` | a file between its first block and its name on the under level |
//! | `record` | the same on the memory file system, for the store that runs there next |
//! | `ledger` | acknowledgements, for the audit |
//! | `queue` | dirty files, in the order in which they were closed |
//!
//! The store does the I/O on the under level (`store/commit.rs`, `persist.rs`, `recover.rs`). What
//! breaks by a change here: `tests/crash.rs`, `tests/power.rs`.

mod ledger;
mod pending;
mod promise;
mod queue;
mod record;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use crate::errno::system;
use crate::path::StorePath;
use crate::steps::Steps;
pub use ledger::{LINE_BEGIN, Ledger, LedgerEntry, Promised};
pub use pending::PendingFile;
pub use promise::{Promise, WriteMode, WriteState, WriteStep};
pub use queue::DirtyQueue;
pub(crate) use record::write_atomically;
pub use record::{RECORD_BEGIN, Records, WriteRecord, clear_hidden, is_alone, unflushed};

const OPERATION: &str = "store";

/// Files that are being written or are only in memory, and the promises made for them.
pub struct Writeback {
    pending: Mutex<HashMap<u64, Arc<Mutex<PendingFile>>>>,
    /// Their records.
    pub records: Records,
    /// Acknowledgements.
    pub ledger: Ledger,
    /// Files to write back.
    pub dirty: DirtyQueue,
    last_failure: Mutex<Option<String>>,
}

impl Writeback {
    /// Opens the ledger and the folder of the records that an earlier store left.
    ///
    /// # Errors
    /// `System`.
    pub fn open(ledger: &Path, records: PathBuf, steps: &Steps) -> Result<Self> {
        Ok(Self {
            pending: Mutex::default(),
            records: Records::new(records, steps.clone()),
            ledger: Ledger::open(ledger, steps.clone())?,
            dirty: DirtyQueue::default(),
            last_failure: Mutex::default(),
        })
    }

    /// Adds a file.
    pub fn add(&self, file: PendingFile) {
        let (number, file) = (file.record.number, Arc::new(Mutex::new(file)));
        lock(&self.pending).insert(number, file);
    }

    /// Returns a file, to be locked.
    ///
    /// # Errors
    /// `Input` for a file that is neither written nor only in memory.
    pub fn pending(&self, number: u64) -> Result<Arc<Mutex<PendingFile>>> {
        let file = lock(&self.pending).get(&number).cloned();
        file.ok_or_else(|| Error::input(OPERATION, format!("file {number} is not being written")))
    }

    /// Returns the numbers of all files.
    pub fn numbers(&self) -> Vec<u64> {
        lock(&self.pending).keys().copied().collect()
    }

    /// Forgets a file.
    pub fn forget(&self, number: u64) {
        lock(&self.pending).remove(&number);
    }

    /// Saves the record of a file.
    ///
    /// # Errors
    /// `System` naming the file.
    pub fn save(&self, record: &WriteRecord) -> Result<()> {
        self.records.save(record).map_err(|cause| system("recording", &record.path, &cause))
    }

    /// Records an acknowledgement before it is sent, for a change of `path`.
    ///
    /// # Errors
    /// `System` naming the path.
    pub fn note(&self, entry: LedgerEntry, path: &StorePath) -> Result<()> {
        self.ledger.add(entry).map_err(|cause| system("recording", path, &cause))
    }

    /// Returns the cause of the last failed write-back; `None` after a successful one.
    pub fn last_failure(&self) -> Option<String> {
        lock(&self.last_failure).clone()
    }

    /// Records the outcome of a write-back.
    pub fn ended(&self, persisted: &Result<()>) {
        *lock(&self.last_failure) = persisted.as_ref().err().map(Error::message);
    }
}
