//! A place for inputs and answers, and requests on them.

#![allow(dead_code, clippy::unwrap_used)]

use std::path::PathBuf;

use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Verdict};
use cuesta_core::progress::Progress;
use cuesta_skeleton::table::TOTAL_FILE;
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

    /// A request on files of these numbers.
    pub fn request(&self, files: &[Vec<u64>], least: u64) -> Request {
        let file = |(number, numbers): (usize, &Vec<u64>)| {
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            self.write(&number.to_string(), bytes)
        };
        let inputs = files.iter().enumerate().map(file).collect();
        Request {
            inputs,
            parameters: json!({ "least": least }),
            output: self.0.path().join("answer"),
            seed: 1,
            threads: 2,
            budget: Budget::new(1 << 30).into(),
            scratch: self.0.path().to_owned(),
            verify: Default::default(),
            names: None,
        }
    }

    pub fn answer(&self) -> String {
        std::fs::read_to_string(self.0.path().join("answer").join(TOTAL_FILE)).unwrap()
    }
}

pub fn run(request: &Request) {
    cuesta_skeleton::run(request, &Progress::default()).unwrap();
}

pub fn verify(request: &Request) -> Verdict {
    cuesta_skeleton::verify(request, &Progress::default()).unwrap()
}
