//! Rows of a version sorted by key under the memory limit: in memory if they fit, else as sorted
//! runs in the scratch folder that are merged while they are read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cuesta_core::budget::{Budget, Lease};
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use crate::kernel::join::{Keyed, unkey};

/// Bytes of a row in memory, with the space that sorting takes.
const ROW_BYTES: u64 = 2 * size_of::<Keyed>() as u64;
/// Rows that a thread collects before it passes them on.
pub const HANDOVER_ROWS: usize = 1 << 12;
/// Bytes of a row in a run.
const RUN_ROW_BYTES: usize = 12;

/// Sorter of rows that are added by part, in any order of the parts.
pub struct VersionSorter<'a> {
    name: String,
    scratch: PathBuf,
    budget: &'a Budget,
    state: Mutex<State<'a>>,
}

#[derive(Default)]
struct State<'a> {
    /// Rows by part and place within the part.
    parts: BTreeMap<(usize, usize), Vec<Keyed>>,
    leases: Vec<Lease<'a>>,
    runs: Vec<PathBuf>,
}

/// Sorted rows of a version.
pub enum SortedVersion<'a> {
    /// Rows that fit in memory.
    InMemory {
        /// Rows in ascending order of keys, without repeated keys.
        rows: Vec<Keyed>,
        /// Leases of their memory.
        leases: Vec<Lease<'a>>,
    },
    /// Sorted runs on disk.
    Spilled(SpilledRuns),
}

/// Sorted runs in scratch files, removed when dropped.
pub struct SpilledRuns {
    name: String,
    paths: Vec<PathBuf>,
}

impl<'a> VersionSorter<'a> {
    /// Creates a sorter for the version called `name`, which is used in the names of its runs and
    /// in messages.
    pub fn new(name: &str, scratch: &Path, budget: &'a Budget) -> Self {
        Self { name: name.to_owned(), scratch: scratch.to_owned(), budget, state: Mutex::default() }
    }

    /// Adds rows of a part, in order, and clears `rows`.
    ///
    /// # Errors
    /// `System` if a run cannot be written; `Input` if the limit is below one part.
    pub fn add(&self, part: usize, rows: &mut Vec<Keyed>) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        if !rows.is_sorted_by_key(|row| row.key) {
            rows.sort_by_key(|row| row.key);
        }
        let need = ROW_BYTES * rows.len() as u64;
        let mut state = lock(&self.state);
        let lease = match self.budget.try_take(need) {
            Some(lease) => lease,
            None => {
                self.spill(&mut state)?;
                self.budget.take(need, "a join")?
            }
        };
        state.leases.push(lease);
        let place = state.parts.range((part, 0)..(part + 1, 0)).count();
        state.parts.insert((part, place), std::mem::take(rows));
        Ok(())
    }

    /// Sorts the added rows.
    ///
    /// # Errors
    /// `System`; `Input` if the version contains a row twice.
    pub fn finish(self) -> Result<SortedVersion<'a>> {
        let mut state = lock(&self.state);
        if !state.runs.is_empty() {
            self.spill(&mut state)?;
            let paths = std::mem::take(&mut state.runs);
            return Ok(SortedVersion::Spilled(SpilledRuns { name: self.name.clone(), paths }));
        }
        let leases = std::mem::take(&mut state.leases);
        SortedVersion::in_memory(&self.name, concat(std::mem::take(&mut state.parts)), leases)
    }

    fn spill(&self, state: &mut State<'a>) -> Result<()> {
        let rows = in_order(concat(std::mem::take(&mut state.parts)));
        if rows.is_empty() {
            return Ok(());
        }
        let path = self.scratch.join(format!("join-{}-{}.run", self.name, state.runs.len()));
        state.runs.push(path.clone());
        write_run(&path, &rows).map_err(|cause| Error::system("join", "writing", &path, &cause))?;
        state.leases.clear();
        Ok(())
    }
}

impl Drop for VersionSorter<'_> {
    fn drop(&mut self) {
        remove(&lock(&self.state).runs);
    }
}

impl Drop for SpilledRuns {
    fn drop(&mut self) {
        remove(&self.paths);
    }
}

impl<'a> SortedVersion<'a> {
    /// Sorts the rows of the version called `name`, whose memory is covered by `leases`.
    ///
    /// # Errors
    /// `Input` if the version contains a row twice.
    pub fn in_memory(name: &str, rows: Vec<Keyed>, leases: Vec<Lease<'a>>) -> Result<Self> {
        let rows = in_order(rows);
        match rows.windows(2).find(|pair| pair[0].key == pair[1].key) {
            Some(pair) => Err(repeated(name, pair[0].key)),
            None => Ok(Self::InMemory { rows, leases }),
        }
    }

    /// Returns the rows in order.
    ///
    /// # Errors
    /// `System`; an item is `Input` if the version contains a row twice.
    pub fn stream(&self) -> Result<Box<dyn Iterator<Item = Result<Keyed>> + '_>> {
        match self {
            Self::InMemory { rows, .. } => Ok(Box::new(rows.iter().map(|&row| Ok(row)))),
            Self::Spilled(runs) => Ok(Box::new(MergedRuns::open(runs)?)),
        }
    }
}

/// Concatenates sorted parts in part order.
fn concat(parts: BTreeMap<(usize, usize), Vec<Keyed>>) -> Vec<Keyed> {
    let mut rows = Vec::with_capacity(parts.values().map(Vec::len).sum());
    for part in parts.into_values() {
        rows.extend_from_slice(&part);
    }
    rows
}

/// Sorts rows; the stable sort detects the runs in them.
fn in_order(mut rows: Vec<Keyed>) -> Vec<Keyed> {
    if !rows.is_sorted_by_key(|row| row.key) {
        rows.sort_by_key(|row| row.key);
    }
    rows
}

fn repeated(name: &str, key: u64) -> Error {
    let (gene1, gene2, cluster) = unkey(key);
    let text = format!(
        "version {name} has gene pair {gene1} {gene2} cluster {cluster} twice; remove one of them"
    );
    Error::input("join", text)
}

fn remove(paths: &[PathBuf]) {
    for path in paths {
        // A scratch file that does not exist any more needs no removal.
        let _ = std::fs::remove_file(path);
    }
}

fn write_run(path: &Path, rows: &[Keyed]) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for row in rows {
        out.write_all(&row.key.to_le_bytes())?;
        out.write_all(&row.score.to_le_bytes())?;
    }
    out.flush()
}

struct RunReader {
    path: PathBuf,
    file: BufReader<File>,
}

impl RunReader {
    fn open(path: &Path) -> Result<Self> {
        let file =
            File::open(path).map_err(|cause| Error::system("join", "opening", path, &cause))?;
        Ok(Self { path: path.to_owned(), file: BufReader::with_capacity(1 << 18, file) })
    }

    fn next(&mut self) -> Result<Option<Keyed>> {
        let mut bytes = [0u8; RUN_ROW_BYTES];
        match self.file.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(cause) if cause.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(cause) => return Err(Error::system("join", "reading", &self.path, &cause)),
        }
        let (key, score) = bytes.split_at(8);
        let key = u64::from_le_bytes(key.try_into().unwrap_or_default());
        let score = i32::from_le_bytes(score.try_into().unwrap_or_default());
        Ok(Some(Keyed { key, score }))
    }
}

struct MergedRuns {
    name: String,
    readers: Vec<RunReader>,
    heads: BinaryHeap<Reverse<(Keyed, usize)>>,
    last: Option<u64>,
}

impl MergedRuns {
    fn open(runs: &SpilledRuns) -> Result<Self> {
        let mut readers = Vec::new();
        let mut heads = BinaryHeap::new();
        for (index, path) in runs.paths.iter().enumerate() {
            let mut reader = RunReader::open(path)?;
            if let Some(row) = reader.next()? {
                heads.push(Reverse((row, index)));
            }
            readers.push(reader);
        }
        Ok(Self { name: runs.name.clone(), readers, heads, last: None })
    }

    fn advance(&mut self) -> Result<Option<Keyed>> {
        let Some(Reverse((row, index))) = self.heads.pop() else { return Ok(None) };
        if let Some(next) = self.readers[index].next()? {
            self.heads.push(Reverse((next, index)));
        }
        if self.last.replace(row.key) == Some(row.key) {
            return Err(repeated(&self.name, row.key));
        }
        Ok(Some(row))
    }
}

impl Iterator for MergedRuns {
    type Item = Result<Keyed>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(keys: impl Iterator<Item = u64>) -> Vec<Keyed> {
        keys.map(|key| Keyed { key, score: key as i32 }).collect()
    }

    fn sorted_keys(limit_bytes: u64) -> (bool, Vec<u64>) {
        let folder = tempfile::tempdir().unwrap();
        let budget = Budget::new(limit_bytes);
        let sorter = VersionSorter::new("a", folder.path(), &budget);
        for part in 0..20u64 {
            let mut part_rows = rows((0..50).map(|i| (i * 7919 + part) % 1000 * 20 + part));
            sorter.add(part as usize, &mut part_rows).unwrap();
        }
        let sorted = sorter.finish().unwrap();
        let keys = sorted.stream().unwrap().map(|row| row.unwrap().key).collect();
        (matches!(sorted, SortedVersion::Spilled(_)), keys)
    }

    #[test]
    fn a_small_memory_limit_does_not_change_the_order() {
        let (spilled, keys) = sorted_keys(1 << 30);
        let (spilled_small, keys_small) = sorted_keys(ROW_BYTES * 120);
        assert!(!spilled && spilled_small);
        assert_eq!(keys, keys_small);
        assert!(keys.is_sorted());
    }

    #[test]
    fn a_repeated_row_is_refused_in_memory_and_in_runs() {
        for limit in [1 << 20, ROW_BYTES * 3] {
            let folder = tempfile::tempdir().unwrap();
            let budget = Budget::new(limit);
            let sorter = VersionSorter::new("b", folder.path(), &budget);
            sorter.add(0, &mut rows([65_536 * 5, 65_536 * 9].into_iter())).unwrap();
            sorter.add(1, &mut rows([65_536 * 7, 65_536 * 9].into_iter())).unwrap();
            let error = match sorter.finish() {
                Err(error) => error,
                Ok(sorted) => sorted.stream().unwrap().find_map(Result::err).unwrap(),
            };
            assert!(error.message().contains("twice"), "{}", error.message());
        }
    }

    #[test]
    fn scratch_files_are_removed_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let budget = Budget::new(ROW_BYTES * 2);
        let sorter = VersionSorter::new("a", folder.path(), &budget);
        sorter.add(0, &mut rows(0..2)).unwrap();
        sorter.add(1, &mut rows(5..7)).unwrap();
        drop(sorter.finish().unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
