//! Helpers of the integration tests: small datasets, running and verifying.
#![allow(missing_docs, dead_code, clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Response, Verdict};
use cuesta_core::progress::Progress;
use cuesta_input::generate::clusters;
use cuesta_network::run;
use cuesta_network::verify;
use serde_json::Value;

/// Temporary folder with inputs and answers.
pub struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Makes a synthetic dataset; `change` adjusts its parameters.
    pub fn make(&self, name: &str, change: impl FnOnce(&mut clusters::Params)) -> PathBuf {
        let mut params: clusters::Params = serde_json::from_value(serde_json::json!({
            "output": self.path(name), "genes": 120, "samples": 21, "clusters": 3, "seed": 7
        }))
        .unwrap();
        change(&mut params);
        clusters::write(&params, &Progress::default()).unwrap();
        self.path(name)
    }

    pub fn request(&self, inputs: &[&Path], parameters: Value) -> Request {
        let output = self.path(&format!("answer-{}", parameters_name(&parameters)));
        let _ = fs::remove_dir_all(&output);
        fs::create_dir_all(&output).unwrap();
        Request {
            inputs: inputs.iter().map(|path| path.to_path_buf()).collect(),
            parameters,
            output,
            seed: 0,
            threads: 2,
            budget: Budget::new(1 << 30).into(),
            scratch: self.folder.path().to_owned(),
            verify: Default::default(),
            names: None,
        }
    }

    /// Writes a file with the names of `genes` genes; some names need escapes in XML.
    pub fn names(&self, genes: usize) -> PathBuf {
        let name =
            |gene| format!("{gene}\t{}{gene}\n", ["AT", "a <b> & \"c\" ", "\u{3b2}-"][gene % 3]);
        let table: String = (1..=genes).map(name).collect();
        self.write("names.tsv", format!("gene\tname\n{table}"))
    }

    /// Returns the number of files and folders, except the files shared by workers, which the
    /// engine removes.
    pub fn entries(&self) -> usize {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        entries.filter(|entry| entry.as_ref().unwrap().file_name() != "state").count()
    }
}

fn parameters_name(parameters: &Value) -> String {
    parameters.to_string().chars().filter(char::is_ascii_alphanumeric).collect()
}

pub fn run_only(workload: &str, request: &Request) -> Result<Response> {
    run::run(workload, request, &Progress::default())
}

/// Runs, annotates and verifies; returns the counts with the verdict.
pub fn run_and_verify(workload: &str, request: &Request) -> (Response, Verdict) {
    let response = run_only(workload, request).unwrap();
    run::annotate(workload, request, &Progress::default()).unwrap();
    let verdict = verify::verify(workload, request, &Progress::default()).unwrap();
    assert!(verdict.verified, "{workload}: {verdict:?}");
    (response, verdict)
}

/// Returns all files of an answer, by name.
pub fn files(request: &Request) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![request.output.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&request.output).unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
