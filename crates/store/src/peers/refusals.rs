//! Connections that were refused: counted, and written to a log that does not grow without end.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use cuesta_runtime::parallel::lock;

use super::limits::LOG_BYTES_MAX;

/// In the folder of a store.
const LOG: &str = "refused.log";

/// Those of a store.
#[derive(Debug)]
pub struct Refusals {
    path: PathBuf,
    state: Mutex<(u64, Option<String>)>,
}

impl Refusals {
    /// None yet; their log is in this folder.
    pub fn new(folder: &Path) -> Self {
        Self { path: folder.join(LOG), state: Mutex::default() }
    }

    /// One more, of an address, for this reason.
    pub fn add(&self, address: &str, reason: &str) {
        let line = format!("{address}: {reason}").replace(['\n', '\r'], " ");
        let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut state = lock(&self.state);
        let log = File::options().append(true).create(true).open(&self.path);
        if let Ok(mut log) = log
            && log.metadata().is_ok_and(|facts| facts.len() < LOG_BYTES_MAX)
        {
            // A full memory is no reason to fail.
            let _ = writeln!(log, "{seconds} {line}");
        }
        *state = (state.0 + 1, Some(line));
    }

    /// How many, and what the last one was.
    pub fn seen(&self) -> (u64, Option<String>) {
        lock(&self.state).clone()
    }
}
