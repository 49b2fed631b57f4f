//! What vertex programs did has no other method than doing it again: supersteps and messages are
//! counted once more, from the bytes of the reads, and all files compared.

use std::fs;
use std::path::{Path, PathBuf};

use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::removal::ScratchFolder;

use super::OPERATION;
use super::files::Compared;
use crate::stages::write::BEFORE_FOLDER;

const FOLDER: &str = "again";
const CHUNK_BYTES: usize = 1 << 18;

/// Runs the workload again, in scratch; names a file of the answer that is not the same.
///
/// # Errors
/// Those of the run; `System`.
pub fn other_file(request: &Request, progress: &Progress) -> Result<Option<PathBuf>> {
    let folder = ScratchFolder::make(&request.scratch, FOLDER)
        .map_err(|cause| failed(&request.scratch.join(FOLDER), &cause))?;
    let output = folder.path().to_owned();
    let mut parameters = request.parameters.clone();
    if let Some(parameters) = parameters.as_object_mut() {
        // Going on from what the run kept would not be doing it again.
        parameters.remove("resume");
    }
    let again = Request { output: output.clone(), parameters, ..request.clone() };
    let found = crate::run::run(&again, progress).and_then(|_| {
        let names = files(&output, Path::new(""))?;
        for name in &names {
            if !are_same(&output.join(name), &request.output.join(name))? {
                return Ok(Some(name.clone()));
            }
        }
        let before = Path::new(BEFORE_FOLDER);
        if !request.output.join(before).exists() {
            return Ok(None);
        }
        Ok(files(&request.output, before)?.into_iter().find(|name| !names.contains(name)))
    });
    folder.remove().map_err(|cause| failed(&output, &cause))?;
    found
}

fn failed(path: &Path, cause: &std::io::Error) -> Error {
    Error::system(OPERATION, "reading", path, cause)
}

/// All files below a folder, by their names inside.
fn files(folder: &Path, inside: &Path) -> Result<Vec<PathBuf>> {
    let here = folder.join(inside);
    let mut found = Vec::new();
    for entry in fs::read_dir(&here).map_err(|cause| failed(&here, &cause))? {
        let entry = entry.map_err(|cause| failed(&here, &cause))?;
        let name = inside.join(entry.file_name());
        if entry.path().is_dir() {
            found.extend(files(folder, &name)?);
        } else {
            found.push(name);
        }
    }
    Ok(found)
}

fn are_same(one: &Path, other: &Path) -> Result<bool> {
    if !other.exists() {
        return Ok(false);
    }
    let mut file = fs::File::open(one).map_err(|cause| failed(one, &cause))?;
    let mut compared = Compared::open(other)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count =
            std::io::Read::read(&mut file, &mut chunk).map_err(|cause| failed(one, &cause))?;
        if count == 0 {
            return compared.finish();
        }
        compared.put(&chunk[..count])?;
    }
}
