//! What was acknowledged to writers, for the audit: one line each, the last of a path counts.

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

/// The ledger has at most this more than twice the bytes of the lines that count.
const SLACK_BYTES: u64 = 64 << 10;

/// The lines, and the last one of each path.
///
/// Lines that do not count any more are left out when there are as many of them as of the others: a
/// new file takes the name of the ledger, in one step.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    state: Mutex<LedgerState>,
    steps: Steps,
    /// Bytes of the file, for whoever counts memory.
    size_bytes: Arc<AtomicU64>,
}

#[derive(Debug)]
struct LedgerState {
    file: File,
    /// With the bytes of its line.
    entries: BTreeMap<StorePath, (LedgerEntry, u64)>,
    live_bytes: u64,
    file_bytes: u64,
    /// After a failure the ledger is not written anew before it has so many bytes.
    retry_from: u64,
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

    /// Bytes of the file, as they change.
    pub fn size_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.size_bytes)
    }

    /// Writes down what is acknowledged next.
    ///
    /// # Errors
    /// Those of the system.
    pub fn add(&self, entry: LedgerEntry) -> io::Result<()> {
        let mut state = lock(&self.state);
        self.steps.step()?;
        let line = line(&entry)?;
        if state.file.write_all(&line).is_err() {
            // Lines that do not count any more may be what fills the memory.
            self.compact(&mut state)?;
            state.file.write_all(&line)?;
        }
        let line_bytes = line.len() as u64;
        state.file_bytes += line_bytes;
        let before = match entry.promised {
            // Of what is gone, only a store that comes later has to hear.
            Promised::Removed => state.entries.remove(&entry.path),
            _ => {
                state.live_bytes += line_bytes;
                state.entries.insert(entry.path.clone(), (entry, line_bytes))
            }
        };
        state.live_bytes -= before.map_or(0, |(_, bytes)| bytes);
        if state.file_bytes > (2 * state.live_bytes + SLACK_BYTES).max(state.retry_from) {
            // The line is there, whether or not the ledger becomes shorter.
            let is_shorter = self.compact(&mut state).is_ok();
            state.retry_from = if is_shorter { 0 } else { 2 * state.file_bytes };
        }
        self.size_bytes.store(state.file_bytes, Ordering::Relaxed);
        Ok(())
    }

    /// Writes the lines that count to a new file, which takes the place of this one.
    fn compact(&self, state: &mut LedgerState) -> io::Result<()> {
        (state.file, state.file_bytes) = written(&self.path, &state.entries, &self.steps)?;
        Ok(())
    }

    /// What holds of a path.
    pub fn entry(&self, path: &StorePath) -> Option<LedgerEntry> {
        lock(&self.state).entries.get(path).map(|(entry, _)| entry.clone())
    }

    /// What holds now, by path.
    pub fn entries(&self) -> Vec<LedgerEntry> {
        let state = lock(&self.state);
        state.entries.values().map(|(entry, _)| entry.clone()).collect()
    }
}

/// A file at `path` with the lines of entries alone, open for more, and its bytes. A file that was
/// there is replaced in one step, once the new one has all lines.
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
    // The line before may be half of one, where the memory was full.
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
        // The ledger in /dev/shm only grew, outside --memory, until commits were refused.
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
    fn a_ledger_written_anew_has_all_files() {
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
