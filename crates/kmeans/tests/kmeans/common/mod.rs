//! Test folder with inputs and answers, and requests on them.

#![allow(dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Response, Verdict};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_input::npy;
use serde_json::Value;

pub struct Workspace {
    pub folder: tempfile::TempDir,
}

impl Workspace {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("answer")).unwrap();
        Self { folder }
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Writes points in double precision.
    pub fn doubles(&self, name: &str, rows: &[Vec<f64>]) -> PathBuf {
        let columns = rows.first().map_or(1, Vec::len);
        let mut bytes = npy::header("<f8", &format!("({}, {columns})", rows.len()));
        bytes.extend(rows.iter().flatten().flat_map(|x| x.to_le_bytes()));
        self.write(name, bytes)
    }

    /// Writes points in single precision.
    pub fn singles(&self, name: &str, rows: &[Vec<f64>]) -> PathBuf {
        let columns = rows.first().map_or(1, Vec::len);
        let mut bytes = npy::header("<f4", &format!("({}, {columns})", rows.len()));
        bytes.extend(rows.iter().flatten().flat_map(|&x| (x as f32).to_le_bytes()));
        self.write(name, bytes)
    }

    pub fn request(&self, inputs: &[&Path], parameters: Value) -> Request {
        Request {
            inputs: inputs.iter().map(|path| path.to_path_buf()).collect(),
            parameters,
            output: self.folder.path().join("answer"),
            seed: 1,
            threads: 2,
            budget: Budget::new(1 << 30).into(),
            scratch: self.folder.path().to_owned(),
            verify: Default::default(),
            names: None,
        }
    }

    /// Returns the contents of the answer files by name.
    pub fn answer(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(self.folder.path().join("answer")).unwrap();
        let read = |path: PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(path).unwrap())
        };
        entries.map(|entry| read(entry.unwrap().path())).collect()
    }

    pub fn centres(&self) -> Vec<Vec<f64>> {
        let text = String::from_utf8(self.answer()["centres.tsv"].clone()).unwrap();
        let line = |line: &str| line.split('\t').map(|x| x.parse().unwrap()).collect();
        text.lines().skip(1).map(line).collect()
    }

    pub fn clusters(&self) -> Vec<u32> {
        let bytes = &self.answer()["assignments.npy"][npy::HEADER_BYTES..];
        bytes.chunks_exact(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect()
    }
}

pub fn run(request: &Request) -> Response {
    cuesta_kmeans::run(request, &Progress::default()).unwrap()
}

pub fn refused(request: &Request) -> String {
    cuesta_kmeans::run(request, &Progress::default()).unwrap_err().message()
}

pub fn verify(request: &Request) -> Verdict {
    cuesta_kmeans::verify(request, &Progress::default()).unwrap()
}

/// Runs and verifies a request; the answer must pass.
pub fn run_verified(request: &Request) -> Verdict {
    run(request);
    let verdict = verify(request);
    assert!(verdict.verified, "{verdict:?}");
    verdict
}

/// Returns normal clouds around a few centres.
pub fn clouds(points: usize, dimensions: usize, clusters: u64, seed: u64) -> Vec<Vec<f64>> {
    let [choices, centre, offsets] = [1, 2, 3].map(|stream| Stream::new(seed, stream));
    let dims = dimensions as u64;
    let row = |point: u64| {
        let cluster = choices.below(point, clusters);
        let at = |j| {
            100.0 * centre.uniform(cluster * dims + j) + 20.0 * offsets.normal(point * dims + j)
        };
        (0..dims).map(at).collect()
    };
    (0..points as u64).map(row).collect()
}
