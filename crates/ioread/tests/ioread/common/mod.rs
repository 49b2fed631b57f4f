//! A place for inputs and answers, and requests on them.

#![allow(dead_code, clippy::unwrap_used)]

use std::path::PathBuf;

use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Verdict};
use cuesta_core::progress::Progress;
use cuesta_ioread::table::READ_FILE;
use serde_json::json;

pub struct Place(tempfile::TempDir);

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("answer")).unwrap();
        Self(folder)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// A request on files of these bytes.
    pub fn request(&self, files: &[Vec<u8>], request_bytes: u64, skip_bytes: u64) -> Request {
        let file = |(number, bytes): (usize, &Vec<u8>)| self.write(&number.to_string(), bytes);
        Request {
            inputs: files.iter().enumerate().map(file).collect(),
            parameters: json!({ "request_bytes": request_bytes, "skip_bytes": skip_bytes }),
            output: self.0.path().join("answer"),
            seed: 1,
            threads: 2,
            budget: Budget::new(1 << 30).into(),
            scratch: self.0.path().to_owned(),
            verify: Default::default(),
            names: None,
        }
    }

    pub fn answer(&self) -> PathBuf {
        self.0.path().join("answer").join(READ_FILE)
    }

    pub fn text(&self) -> String {
        std::fs::read_to_string(self.answer()).unwrap()
    }
}

pub fn run(request: &Request) {
    cuesta_ioread::run(request, &Progress::default()).unwrap();
}

pub fn verify(request: &Request) -> Verdict {
    cuesta_ioread::verify(request, &Progress::default()).unwrap()
}
