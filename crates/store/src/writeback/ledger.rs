//! Ledger of acknowledgements to writers, for the audit: a line each, of which the last of a path
//! counts.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;
use serde::{Deserialize, Serialize};

use super::OPERATION;
use super::record::{PartialFile, WriteRecord};
use crate::path::StorePath;
use crate::steps::Steps;
use crate::under::UnderVersion;

/// First bytes of each line.
pub const LINE_BEGIN: &[u8] = br#"{"path":"#;

/// Acknowledgement for a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    /// The path.
    pub path: StorePath,
    /// The promise.
    pub promised: Promised,
    /// Its size.
    pub size_bytes: u64,
    /// Bytes of a block, except the last.
    pub block_bytes: u64,
    /// CRC-32C of each block whose bytes the store has read.
    pub checksums: Vec<Option<u32>>,
    /// Its version on the under level, once it is there.
    pub version: Option<UnderVersion>,
}

/// Promise for a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Promised {
    /// It is in memory.
    Memory,
    /// It is in memory, and will be on the under level.
    Dirty,
    /// It is on the under level.
    Persisted,
    /// It is being removed or renamed, or has been.
    Removed,
}

impl LedgerEntry {
    /// Creates the entry of a written file.
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

    /// Creates the entry of a path without a promise.
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

/// Most bytes of the ledger above twice the bytes of the lines that count.
const SLACK_BYTES: u64 = 64 << 10;

/// The lines, and the last one of each path.
///
/// When about half of the lines no longer count, the ledger is rewritten without them: a new file
/// atomically takes its name.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    state: Mutex<LedgerState>,
    steps: Steps,
    /// Bytes of the file, shared with the accounting of memory.
    size_bytes: Arc<AtomicU64>,
}

#[derive(Debug)]
struct LedgerState {
    file: File,
    /// Each with the bytes of its line.
    entries: BTreeMap<StorePath, (LedgerEntry, u64)>,
    live_bytes: u64,
    file_bytes: u64,
    /// After a failed rewrite, the size at which it is tried again.
    retry_from: u64,
}

impl Ledger {
    /// Opens the ledger at `path`, and removes lines that no longer count.
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
                entries.insert(entry.path.clone(), (entry, line.len() as u64 + 2));
            }
        }
        entries.retain(|_, (entry, _)| entry.promised != Promised::Removed);
        let (file, file_bytes) = written(path, &entries, &steps).map_err(failed)?;
        let mut state = LedgerState { file, entries, live_bytes: 0, file_bytes, retry_from: 0 };
        state.live_bytes = state.entries.values().map(|(_, bytes)| bytes).sum();
        let size_bytes = Arc::new(AtomicU64::new(file_bytes));
        Ok(Self { path: path.to_owned(), state: Mutex::new(state), steps, size_bytes })
    }

    /// Returns the bytes of the file, as they change.
    pub fn size_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.size_bytes)
    }

    /// Records an acknowledgement before it is sent.
    ///
    /// # Errors
    /// I/O errors.
    pub fn add(&self, entry: LedgerEntry) -> io::Result<()> {
        let mut state = lock(&self.state);
        self.steps.step()?;
        let line = line(&entry)?;
        if state.file.write_all(&line).is_err() {
            // Lines that no longer count may be what fills the memory.
            self.compact(&mut state)?;
            state.file.write_all(&line)?;
        }
        let line_bytes = line.len() as u64;
        state.file_bytes += line_bytes;
        let before = match entry.promised {
            // The line of a removed path matters only to the next store that reads the ledger.
            Promised::Removed => state.entries.remove(&entry.path),
            _ => {
                state.live_bytes += line_bytes;
                state.entries.insert(entry.path.clone(), (entry, line_bytes))
            }
        };
        state.live_bytes -= before.map_or(0, |(_, bytes)| bytes);
        if state.file_bytes > (2 * state.live_bytes + SLACK_BYTES).max(state.retry_from) {
            // The line is written, whether or not the ledger becomes shorter.
            let is_shorter = self.compact(&mut state).is_ok();
            state.retry_from = if is_shorter { 0 } else { 2 * state.file_bytes };
        }
        self.size_bytes.store(state.file_bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Writes the lines that count to a new file, which replaces this one.
    fn compact(&self, state: &mut LedgerState) -> io::Result<()> {
        (state.file, state.file_bytes) = written(&self.path, &state.entries, &self.steps)?;
        Ok(())
    }

    /// Returns the promise for a path.
    pub fn entry(&self, path: &StorePath) -> Option<LedgerEntry> {
        lock(&self.state).entries.get(path).map(|(entry, _)| entry.clone())
    }

    /// Returns all promises, by path.
    pub fn entries(&self) -> Vec<LedgerEntry> {
        let state = lock(&self.state);
        state.entries.values().map(|(entry, _)| entry.clone()).collect()
    }
}

/// Writes a file at `path` with only the lines of the entries; returns it, open for appending, and
/// its size. An existing file is replaced atomically, once the new one has all lines.
fn written(
    path: &Path,
    entries: &BTreeMap<StorePath, (LedgerEntry, u64)>,
    steps: &Steps,
) -> io::Result<(File, u64)> {
    let mut text = Vec::new();
    for (entry, _) in entries.values() {
        text.extend(line(entry)?);
    }
    steps.step()?;
    let partial = PartialFile::create(path)?;
    partial.write_all(&text)?;
    steps.step()?;
    Ok((partial.replace(path)?, text.len() as u64))
}

fn line(entry: &LedgerEntry) -> io::Result<Vec<u8>> {
    // The previous line may be incomplete, where the memory was full.
    let mut line = vec![b'\n'];
    serde_json::to_writer(&mut line, entry)?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, size_bytes: u64) -> LedgerEntry {
        LedgerEntry {
            path: path.parse().unwrap(),
            promised: Promised::Memory,
            size_bytes,
            block_bytes: 1,
            checksums: vec![Some(7); 40],
            version: None,
        }
    }

    #[test]
    fn the_ledger_of_a_few_files_does_not_grow_with_their_history() {
        // The ledger in /dev/shm only grew, in addition to --memory, until commits were refused.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        let ledger = Ledger::open(&path, Steps::default()).unwrap();
        let line_bytes = line(&entry("d/1", 1_000_000)).unwrap().len() as u64;
        let bound = 2 * (4 * line_bytes) + SLACK_BYTES;
        for commit in 0..150_000 {
            ledger.add(entry(&format!("d/{}", commit % 4), commit)).unwrap();
            if commit % 1000 == 0 {
                let size_bytes = fs::metadata(&path).unwrap().len();
                assert!(size_bytes <= bound, "{size_bytes} bytes after {commit} commits");
                assert_eq!(ledger.size_bytes().load(Ordering::Relaxed), size_bytes);
            }
        }
        let sizes: Vec<u64> = ledger.entries().iter().map(|entry| entry.size_bytes).collect();
        assert_eq!(sizes, [149_996, 149_997, 149_998, 149_999]);
        for path in ["d/0", "d/1", "d/2", "d/3"] {
            ledger.add(LedgerEntry::removed(&path.parse().unwrap())).unwrap();
        }
        drop(ledger);
        let ledger = Ledger::open(&path, Steps::default()).unwrap();
        assert!(ledger.entries().is_empty());
        assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    }

    #[test]
    fn a_rewritten_ledger_has_all_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        let ledger = Ledger::open(&path, Steps::default()).unwrap();
        for commit in 0..6000 {
            ledger.add(entry(&format!("{}", commit % 3000), commit)).unwrap();
        }
        let live_bytes = lock(&ledger.state).live_bytes;
        assert!(fs::metadata(&path).unwrap().len() <= 3 * live_bytes + SLACK_BYTES);
        let before = ledger.entries();
        drop(ledger);
        let again = Ledger::open(&path, Steps::default()).unwrap();
        assert_eq!((before.len(), &again.entries()), (3000, &before));
        assert_eq!(lock(&again.state).live_bytes, live_bytes);
    }

    #[test]
    fn a_kill_or_failure_at_any_step_of_a_compaction_loses_no_line() {
        let commits = SLACK_BYTES / line(&entry("0", 10_000)).unwrap().len() as u64 + 40;
        for fails in [false, true] {
            for step in (0..40).chain(commits - 80..commits + 8) {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("ledger");
                let steps = Steps::default();
                let ledger = Ledger::open(&path, steps.clone()).unwrap();
                if fails {
                    steps.fail(step + 1)
                } else {
                    steps.die_after(step)
                }
                let mut acknowledged = BTreeMap::new();
                for commit in 10_000..10_000 + commits {
                    let path = format!("{}", commit % 3);
                    if ledger.add(entry(&path, commit)).is_ok() {
                        acknowledged.insert(path, commit);
                    }
                }
                drop(ledger);
                let again = Ledger::open(&path, Steps::default()).unwrap();
                let sizes = again.entries();
                let entries: BTreeMap<String, u64> = sizes
                    .iter()
                    .map(|entry| (entry.path.name().to_owned(), entry.size_bytes))
                    .collect();
                assert_eq!(entries, acknowledged, "step {step}, fails: {fails}");
            }
        }
    }
}
