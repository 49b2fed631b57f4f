//! What a run keeps to go on from after it was ended: what is trusted at the next size of k-mers.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::bridge::{Mates, Trusted};
use crate::run::Level;
use crate::wire;
use crate::write::{self, SPECTRUM_FILE};

const OPERATION: &str = "assembly.resume";
const STATE_FILE: &str = "state.json";
/// Parameters that may differ: they change nothing that is kept.
const FREE: [&str; 2] = ["resume", "min_contig"];

/// A size of k-mers that is to come.
pub struct Next<'c> {
    /// The size.
    pub k: usize,
    /// What is solid there.
    pub trusted: Option<Trusted<'c>>,
    /// Where k-mers come from contigs and bridges alone, what mates said.
    pub mates: Option<Mates>,
}

/// The state of a run between two sizes.
#[derive(Serialize, Deserialize)]
struct State {
    /// Inputs and parameters.
    run: Value,
    /// Sizes with a file, the last of which comes next.
    sizes: Vec<usize>,
    mates: Option<Mates>,
    levels: Vec<Level>,
}

/// A folder with states.
pub struct Checkpoint {
    folder: PathBuf,
    run: Value,
}

impl Checkpoint {
    /// The folder, made where it is missing.
    ///
    /// # Errors
    /// `System`.
    pub fn open(folder: &Path, request: &Request) -> Result<Self> {
        let failed = |cause| Error::system(OPERATION, "creating", folder, &cause);
        fs::create_dir_all(folder).map_err(failed)?;
        Ok(Self { folder: folder.to_owned(), run: described(request)? })
    }

    /// What comes next, and what was found so far; nothing in a new folder. Brings the files of the
    /// answer that were written before into `output`.
    ///
    /// # Errors
    /// `Input` when the folder is of another run; `System`.
    pub fn load<'c>(
        &self,
        output: &Path,
        budget: &'c Budget,
    ) -> Result<Option<(Next<'c>, Vec<Level>)>> {
        let path = self.folder.join(STATE_FILE);
        if !path.exists() {
            return Ok(None);
        }
        let text = self.read(STATE_FILE)?;
        let refuse = |what: &str| {
            let name = self.folder.display();
            Error::input(OPERATION, format!("{name} {what}; give another --resume, or delete it"))
        };
        let state: State = serde_json::from_slice(&text).map_err(|_| refuse("holds no run"))?;
        if state.run != self.run {
            return Err(refuse("is of other reads or parameters"));
        }
        let copied = output.join(SPECTRUM_FILE);
        fs::copy(self.folder.join(SPECTRUM_FILE), &copied)
            .map_err(|cause| Error::system(OPERATION, "writing", &copied, &cause))?;
        let Some((&k, before)) = state.sizes.split_last() else {
            return Err(refuse("holds no run"));
        };
        for &k in before {
            write::before(output, k, &self.trusted(k, budget)?)?;
        }
        let next = Next { k, trusted: Some(self.trusted(k, budget)?), mates: state.mates };
        Ok(Some((next, state.levels)))
    }

    /// Keeps what comes next; the state before is good until this one is whole.
    ///
    /// # Errors
    /// `System`.
    pub fn save(&self, next: &Next<'_>, levels: &[Level], output: &Path) -> Result<()> {
        let Some(trusted) = &next.trusted else { return Ok(()) };
        let sizes = levels.iter().skip(1).map(|level| level.k).chain([next.k]).collect();
        let state =
            State { run: self.run.clone(), sizes, mates: next.mates, levels: levels.to_vec() };
        let text = serde_json::to_vec(&state).map_err(|error| Error::input(OPERATION, error))?;
        self.write(&trusted_file(next.k), &wire::trusted_bytes(trusted))?;
        let spectrum = output.join(SPECTRUM_FILE);
        let spectrum = fs::read(&spectrum)
            .map_err(|cause| Error::system(OPERATION, "reading", &spectrum, &cause))?;
        self.write(SPECTRUM_FILE, &spectrum)?;
        self.write(STATE_FILE, &text)
    }

    fn trusted<'c>(&self, k: usize, budget: &'c Budget) -> Result<Trusted<'c>> {
        let mut trusted = Trusted::new(budget, "contigs and bridges");
        let bytes = self.read(&trusted_file(k))?;
        let mut failed = Ok(());
        wire::each_trusted(&bytes, |facts, codes| {
            if failed.is_ok() {
                failed = trusted.push(facts, |all| all.extend_from_slice(codes));
            }
        })?;
        failed.map(|()| trusted)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.folder.join(name);
        fs::read(&path).map_err(|cause| Error::system(OPERATION, "reading", &path, &cause))
    }

    /// Writes a file whole or not at all.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let (path, partial) = (self.folder.join(name), self.folder.join(format!("{name}.partial")));
        let written = fs::File::create(&partial).and_then(|mut file| {
            std::io::Write::write_all(&mut file, bytes)?;
            file.sync_all()
        });
        written
            .and_then(|()| fs::rename(&partial, &path))
            .map_err(|cause| Error::system(OPERATION, "writing", &path, &cause))
    }
}

fn trusted_file(k: usize) -> String {
    format!("{k}.trusted")
}

/// What must be the same for a run to go on: sizes and times of the inputs, and the parameters.
fn described(request: &Request) -> Result<Value> {
    let mut inputs = Vec::new();
    for path in &request.inputs {
        let failed = |cause| Error::system(OPERATION, "opening", path, &cause);
        let found = fs::metadata(path).map_err(failed)?;
        let changed = found.modified().map_err(failed)?.duration_since(UNIX_EPOCH);
        let changed = changed.map_or(0, |since| since.as_nanos()).to_string();
        inputs.push(json!([path, found.len(), changed]));
    }
    let mut parameters = request.parameters.clone();
    if let Some(parameters) = parameters.as_object_mut() {
        FREE.iter().for_each(|name| _ = parameters.remove(*name));
    }
    Ok(json!({ "inputs": inputs, "parameters": parameters }))
}
