//! Helpers of the integration tests: small datasets, running and verifying.
#![allow(missing_docs, dead_code, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use cuesta_core::Result;
use cuesta_core::job::{self, Request, Response, Verdict};
use cuesta_core::progress::Progress;
use cuesta_input::generate::tera;
use cuesta_input::records::{RECORD_BYTES, Record};
use cuesta_sort::{Disk, reference};

pub const KINDS: [tera::KeyDistribution; 6] = [
    tera::KeyDistribution::Tera,
    tera::KeyDistribution::Random,
    tera::KeyDistribution::Skewed,
    tera::KeyDistribution::Sorted,
    tera::KeyDistribution::Reverse,
    tera::KeyDistribution::Equal,
];

/// Temporary folder with inputs, scratch and answers.
pub struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("scratch")).unwrap();
        fs::create_dir(folder.path().join("answer")).unwrap();
        Self { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, records: &[Record]) -> PathBuf {
        fs::write(self.path(name), records.as_flattened()).unwrap();
        self.path(name)
    }

    pub fn request(&self, inputs: &[&Path], threads: usize, memory_bytes: u64) -> Request {
        let text = serde_json::json!({
            "inputs": inputs, "output": self.path("answer"), "scratch": self.path("scratch"),
            "threads": threads, "memory_bytes": memory_bytes
        });
        job::request(&text.to_string()).unwrap()
    }

    pub fn answer(&self) -> Vec<Record> {
        records_of(&self.path("answer/sorted.dat"))
    }

    /// Returns the number of files in the scratch folder.
    pub fn scratch(&self) -> usize {
        fs::read_dir(self.path("scratch")).unwrap().count()
    }
}

pub fn records_of(path: &Path) -> Vec<Record> {
    fs::read(path).unwrap().as_chunks::<RECORD_BYTES>().0.to_vec()
}

pub fn made(kind: tera::KeyDistribution, rows: usize, seed: u64) -> Vec<Record> {
    let params = tera::Params {
        output: PathBuf::new(),
        rows: rows as u64,
        first: 0,
        kind,
        seed,
        threads: 1,
    };
    let mut records = vec![[0; RECORD_BYTES]; rows];
    tera::fill(&params, 0, &mut records);
    records
}

pub fn sorted(records: &[Record]) -> Vec<Record> {
    let mut sorted = records.to_vec();
    reference::sort(&mut sorted);
    sorted
}

/// Runs as if the process had no memory yet, so that the limit is the same in all tests.
pub fn run(request: &Request) -> Result<Response> {
    cuesta_sort::run_on(&Disk::default(), 0, request, &Progress::default())
}

pub fn verify(request: &Request) -> Verdict {
    cuesta_sort::verify(request, &Progress::default()).unwrap()
}
