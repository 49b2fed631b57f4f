//! Checkpoint from which a run resumes: solid sequences for the next size of k-mers, and the
//! complete stages of that size ([`StageCheckpoint`]).

pub mod stage;

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::pairs::{PairFacts, SolidSequences};
use crate::stages::checkpoint::stage::{StageCheckpoint, damaged, write_atomically};
use crate::stages::level::Level;
use crate::stages::wire;
use crate::stages::write::{self, SPECTRUM_FILE};

const OPERATION: &str = "assembly.resume";
const STATE_FILE: &str = "state.json";
const PARTIAL_STATE_FILE: &str = "state.json.partial";
const LOCK_FILE: &str = "lock";
/// Number of the format of the files, and of the rules by which they were made; 1 was not written.
const FORMAT: u32 = 3;
/// Parameters that may differ between runs: nothing in a checkpoint depends on them.
const FREE: [&str; 2] = ["resume", "min_contig"];

/// A size of k-mers that comes next.
pub struct NextLevel<'c> {
    /// Bases in a k-mer.
    pub k: usize,
    /// Solid sequences of that size.
    pub solid: Option<SolidSequences<'c>>,
    /// Results of read pairs, where all k-mers come from contigs and bridges.
    pub pair_facts: Option<PairFacts>,
}

/// State of a run between two sizes of k-mers.
#[derive(Serialize, Deserialize)]
struct State {
    /// Identity of the run: inputs and parameters.
    run: Value,
    /// Sizes with a file, the last of which comes next; empty where the first size does.
    sizes: Vec<usize>,
    #[serde(rename = "mates")]
    pair_facts: Option<PairFacts>,
    levels: Vec<Level>,
}

/// A folder with states, locked by one run.
pub struct Checkpoint {
    folder: PathBuf,
    run: Value,
    run_bytes: Vec<u8>,
    _lock: File,
}

impl Checkpoint {
    /// Opens and locks the folder, which is created if it does not exist.
    ///
    /// # Errors
    /// `Input` when another run has locked it, or it contains a link, or files but no state of a
    /// run; `System`.
    pub fn open(folder: &Path, request: &Request) -> Result<Self> {
        let failed = |cause| Error::system(OPERATION, "creating", folder, &cause);
        fs::create_dir_all(folder).map_err(failed)?;
        refuse_links(folder)?;
        refuse_foreign_files(folder)?;
        let path = folder.join(LOCK_FILE);
        let failed = |cause| Error::system(OPERATION, "locking", &path, &cause);
        let lock = File::create(&path).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(refused(folder, "is in use by another run; wait for it, or"));
            }
            // Some parallel file systems have no locks.
            Err(TryLockError::Error(cause)) if cause.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(cause)) => return Err(failed(cause)),
        }
        let run = described(request)?;
        let run_bytes = run.to_string().into_bytes();
        Ok(Self { folder: folder.to_owned(), run, run_bytes, _lock: lock })
    }

    /// Returns the checkpoint of a size of k-mers, by the number of sizes before it.
    pub fn stage(&self, number: usize) -> StageCheckpoint<'_> {
        StageCheckpoint { folder: &self.folder, run: &self.run_bytes, number }
    }

    /// Loads the next size and the results so far; `None` where the first size comes next. Copies
    /// files of the answer that were written before to `output`.
    ///
    /// # Errors
    /// `Input` when the folder is of another run; `System`.
    pub fn load<'c>(
        &self,
        output: &Path,
        budget: &'c Budget,
    ) -> Result<Option<(NextLevel<'c>, Vec<Level>)>> {
        if !self.folder.join(STATE_FILE).exists() {
            self.write_state(&State {
                run: self.run.clone(),
                sizes: Vec::new(),
                pair_facts: None,
                levels: Vec::new(),
            })?;
            return Ok(None);
        }
        let text = self.read(STATE_FILE)?;
        let state: State = serde_json::from_slice(&text)
            .map_err(|_| refused(&self.folder, "holds no run, but another state.json;"))?;
        if state.run != self.run {
            let made_by = |run: &Value| [run["cuesta"].clone(), run["format"].clone()];
            let what = if made_by(&state.run) == made_by(&self.run) {
                "is of other reads or parameters; delete it, or"
            } else {
                "is of another version of Cuesta; delete it, or"
            };
            return Err(refused(&self.folder, what));
        }
        let Some((&k, before)) = state.sizes.split_last() else { return Ok(None) };
        let copied = output.join(SPECTRUM_FILE);
        fs::copy(self.folder.join(SPECTRUM_FILE), &copied)
            .map_err(|cause| Error::system(OPERATION, "writing", &copied, &cause))?;
        for &k in before {
            write::solid(output, k, &self.solid(k, budget)?)?;
        }
        for level in &state.levels {
            let name = write::unitigs_before_file(level.k);
            write::restore_unitigs(output, level.k, &self.read(&name)?)?;
        }
        let next =
            NextLevel { k, solid: Some(self.solid(k, budget)?), pair_facts: state.pair_facts };
        Ok(Some((next, state.levels)))
    }

    /// Saves the next size; the state before remains valid until this one is complete.
    ///
    /// # Errors
    /// `System`.
    pub fn save(&self, next: &NextLevel<'_>, levels: &[Level], output: &Path) -> Result<()> {
        let Some(solid) = &next.solid else { return Ok(()) };
        let sizes = levels.iter().skip(1).map(|level| level.k).chain([next.k]).collect();
        let state = State {
            run: self.run.clone(),
            sizes,
            pair_facts: next.pair_facts,
            levels: levels.to_vec(),
        };
        self.write(&solid_file(next.k), &wire::solid_bytes(solid))?;
        let spectrum = output.join(SPECTRUM_FILE);
        let spectrum = fs::read(&spectrum)
            .map_err(|cause| Error::system(OPERATION, "reading", &spectrum, &cause))?;
        self.write(SPECTRUM_FILE, &spectrum)?;
        if let Some(level) = levels.last() {
            let name = write::unitigs_before_file(level.k);
            let path = output.join(write::BEFORE_FOLDER).join(&name);
            let unitigs = fs::read(&path)
                .map_err(|cause| Error::system(OPERATION, "reading", &path, &cause))?;
            self.write(&name, &unitigs)?;
        }
        self.write_state(&state)?;
        self.stage(levels.len() - 1).clear()
    }

    fn write_state(&self, state: &State) -> Result<()> {
        let text = serde_json::to_vec(state).map_err(|error| Error::defect(OPERATION, error))?;
        self.write(STATE_FILE, &text)
    }

    fn solid<'c>(&self, k: usize, budget: &'c Budget) -> Result<SolidSequences<'c>> {
        let mut solid = SolidSequences::new(budget, "contigs and bridges");
        let name = solid_file(k);
        let bytes = self.read(&name)?;
        let mut failed = Ok(());
        wire::each_solid(&bytes, |facts, codes| {
            if failed.is_ok() {
                failed = solid.push(facts, |all| all.extend_from_slice(codes));
            }
        })
        .map_err(|error| damaged(&self.folder.join(name), error))?;
        failed.map(|()| solid)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.folder.join(name);
        fs::read(&path).map_err(|cause| Error::system(OPERATION, "reading", &path, &cause))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        write_atomically(&self.folder.join(name), |file| file.write_all(bytes))
    }
}

/// Refuses folders with links: a checkpoint may be from a third party, and a link could have any
/// file read or replaced.
fn refuse_links(folder: &Path) -> Result<()> {
    let failed = |cause| Error::system(OPERATION, "reading", folder, &cause);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_symlink() {
            let name = entry.file_name();
            let text = format!("holds a link, {}; remove it, or", name.to_string_lossy());
            return Err(refused(folder, &text));
        }
    }
    Ok(())
}

/// Refuses a folder with files, of which none is the state of a run.
fn refuse_foreign_files(folder: &Path) -> Result<()> {
    let failed = |cause| Error::system(OPERATION, "listing", folder, &cause);
    let mut other = None;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        if name == STATE_FILE {
            return Ok(());
        }
        // A run that was killed at its beginning leaves these.
        if name != LOCK_FILE && name != PARTIAL_STATE_FILE {
            other = Some(name);
        }
    }
    let Some(name) = other else { return Ok(()) };
    let what = format!("holds {}, but no run that can go on;", Path::new(&name).display());
    Err(refused(folder, &what))
}

/// Returns the error for a folder from which this run may not resume.
fn refused(folder: &Path, what: &str) -> Error {
    Error::input(OPERATION, format!("{} {what} give another --resume", folder.display()))
}

fn solid_file(k: usize) -> String {
    format!("{k}.trusted")
}

/// Returns the identity of a run, which a resumed run must share: the version of Cuesta, the format
/// of checkpoints, sizes and times of the inputs, and the parameters.
fn described(request: &Request) -> Result<Value> {
    let mut inputs = Vec::new();
    for path in &request.inputs {
        let failed = |cause| Error::system(OPERATION, "opening", path, &cause);
        let metadata = fs::metadata(path).map_err(failed)?;
        let changed = metadata.modified().map_err(failed)?.duration_since(UNIX_EPOCH);
        let changed = changed.map_or(0, |since| since.as_nanos()).to_string();
        inputs.push(json!([path, metadata.len(), changed]));
    }
    let mut parameters = request.parameters.clone();
    if let Some(parameters) = parameters.as_object_mut() {
        FREE.iter().for_each(|name| _ = parameters.remove(*name));
    }
    Ok(json!({
        "cuesta": env!("CARGO_PKG_VERSION"),
        "format": FORMAT,
        "inputs": inputs,
        "parameters": parameters,
    }))
}
