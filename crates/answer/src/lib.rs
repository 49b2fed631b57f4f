//! Durability and checksums of the files of an answer, whatever engine wrote them.
//!
//! While an engine runs, [`writeback::WriteBack`] starts to write its output to the disk. When it
//! has ended, [`settle::Settling`] waits for the disk and computes checksums, while the answer is
//! verified.
//!
//! Safe to change: when and how much is written ahead. What breaks: a checksum or a name that
//! changes makes every existing `run.json` fail `cuesta verify`.

pub mod checksum;
pub mod settle;
pub mod writeback;

use std::path::{Path, PathBuf};
use std::{fs, io};

use cuesta_core::{Error, Result};

const OPERATION: &str = "answer";

/// Returns the entries of a folder, sorted by the bytes of their names.
fn sorted_entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error: &io::Error| Error::system(OPERATION, "listing", folder, error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| failed(&error))? {
        paths.push(entry.map_err(|error| failed(&error))?.path());
    }
    paths.sort_unstable_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    Ok(paths)
}

/// Calls `visit` with all files under `path`, and with all folders, innermost first.
fn walk(path: &Path, visit: &mut impl FnMut(&Path, bool) -> Result<()>) -> Result<()> {
    if path.is_dir() {
        for entry in sorted_entries(path)? {
            walk(&entry, visit)?;
        }
        return visit(path, true);
    }
    visit(path, false)
}
