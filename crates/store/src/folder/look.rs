//! Inspection of a folder that a store is to claim: its owner follows from everything in it.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use cuesta_core::{Error, Result};
use cuesta_runtime::removal::{FolderEntry, FolderHandle};
use rustix::fs::FileType;

use super::marker::FolderMarker;
use super::names::{self, BLOCKS, FILES, LOCK, ROOT_NAMES, WRITES};
use super::open::{failed, is_foreign, read_marker};
use super::{OPERATION, REMEDY};

/// State of a folder before it is claimed.
pub(super) enum FolderState {
    /// Empty, or only with files that a store writes first.
    New,
    /// Has a marker.
    Marked(FolderMarker),
    /// Written by a version without markers.
    Unmarked,
}

/// Returns the state of a folder, by everything in it.
pub(super) fn state_of(folder: &FolderHandle) -> Result<FolderState> {
    if let Some(marker) = read_marker(folder)? {
        for name in ROOT_NAMES.map(OsStr::new) {
            if let Ok(stat) = folder.stat_of(name) {
                let entry = FolderEntry { name: name.to_owned(), stat };
                if !names::is_ours(folder, &entry) {
                    return Err(is_foreign(&folder.path().join(name)));
                }
            }
        }
        return Ok(FolderState::Marked(marker));
    }
    let failed = |cause| failed("reading", folder.path(), &cause);
    let refused = |name: &Path| {
        let text = format!(
            "{} is no folder of a store, for {} is in it; {REMEDY} that is new or empty",
            folder.path().display(),
            name.display()
        );
        Error::input(OPERATION, text)
    };
    let mut first = None;
    // Only a file with contents of a store proves that the folder is one.
    let mut has_proof = false;
    let mut is_new = true;
    for entry in folder.entries().map_err(failed)? {
        let name = Path::new(&entry.name);
        if !names::is_ours(folder, &entry) {
            return Err(refused(name));
        }
        first = first.or(Some(name.to_owned()));
        let is_first_of_a_store = entry.stat.st_size > 0 && entry.name == LOCK
            || name.extension() == Some(OsStr::new(names::PARTIAL));
        is_new &= is_first_of_a_store;
        has_proof |= entry.name == names::LEDGER && names::has_line(folder);
        if entry.kind() == FileType::Directory {
            let inner = folder.open_folder(&entry.name).map_err(failed)?;
            for file in inner.entries().map_err(failed)? {
                if !is_inner_before(&inner, &entry.name, &file) {
                    return Err(refused(&name.join(&file.name)));
                }
                let is_complete = Path::new(&file.name).extension() == Some(OsStr::new("json"));
                has_proof |= entry.name != BLOCKS && is_complete;
            }
        }
    }
    match first {
        None => Ok(FolderState::New),
        Some(_) if is_new => Ok(FolderState::New),
        Some(_) if has_proof => {
            sweep_before(folder).map_err(failed)?;
            Ok(FolderState::Unmarked)
        }
        Some(name) => Err(refused(&name)),
    }
}

/// Removes partial files that a killed store of an older version left.
fn sweep_before(folder: &FolderHandle) -> io::Result<()> {
    if let Ok(inner) = folder.open_folder(OsStr::new(BLOCKS)) {
        inner.sweep(names::is_block_before)?;
    }
    Ok(())
}

/// Returns whether a store created an entry of one of the folders in its folder.
pub(super) fn is_inner(inner: &FolderHandle, name: &OsStr, entry: &FolderEntry) -> bool {
    match name.as_bytes() {
        name if name == BLOCKS.as_bytes() => names::is_block(entry),
        name if name == FILES.as_bytes() => names::is_fact(inner, entry),
        name if name == WRITES.as_bytes() => names::is_record(inner, entry),
        _ => false,
    }
}

fn is_inner_before(inner: &FolderHandle, name: &OsStr, entry: &FolderEntry) -> bool {
    is_inner(inner, name, entry) || name == BLOCKS && names::is_block_before(entry)
}
