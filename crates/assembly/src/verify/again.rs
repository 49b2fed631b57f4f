//! Repetition of a run, since no other method verifies what vertex programs did: supersteps and
//! messages are counted again from the reads, and all files are compared.

use std::fs;
use std::path::{Path, PathBuf};

use cuesta_core::job::{Request, Response};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::removal::ScratchFolder;

use super::OPERATION;
use super::files::Compared;
use crate::stages::write::BEFORE_FOLDER;

const FOLDER: &str = "again";
const CHUNK_BYTES: usize = 1 << 18;

/// Runs the workload again in scratch, by `run`; returns the name of a file of the answer that
/// differs.
///
/// # Errors
/// Errors of the run; `System`.
pub fn differing_file(
    request: &Request,
    progress: &Progress,
    run: fn(&Request, &Progress) -> Result<Response>,
) -> Result<Option<PathBuf>> {
    let folder = ScratchFolder::make(&request.scratch, FOLDER)
        .map_err(|cause| failed(&request.scratch.join(FOLDER), &cause))?;
    let output = folder.path().to_owned();
    let mut parameters = request.parameters.clone();
    if let Some(parameters) = parameters.as_object_mut() {
        // A run that resumed from a checkpoint would not repeat the work.
        parameters.remove("resume");
    }
    let again = Request { output: output.clone(), parameters, ..request.clone() };
    let difference = run(&again, progress).and_then(|_| {
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
    difference
}

fn failed(path: &Path, cause: &std::io::Error) -> Error {
    Error::system(OPERATION, "reading", path, cause)
}

/// Returns the relative names of all files below a folder.
fn files(folder: &Path, inside: &Path) -> Result<Vec<PathBuf>> {
    let here = folder.join(inside);
    let mut names = Vec::new();
    for entry in fs::read_dir(&here).map_err(|cause| failed(&here, &cause))? {
        let entry = entry.map_err(|cause| failed(&here, &cause))?;
        let name = inside.join(entry.file_name());
        if entry.path().is_dir() {
            names.extend(files(folder, &name)?);
        } else {
            names.push(name);
        }
    }
    Ok(names)
}

fn are_same(first: &Path, second: &Path) -> Result<bool> {
    if !second.exists() {
        return Ok(false);
    }
    let mut file = fs::File::open(first).map_err(|cause| failed(first, &cause))?;
    let mut compared = Compared::open(second)?;
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let count =
            std::io::Read::read(&mut file, &mut chunk).map_err(|cause| failed(first, &cause))?;
        if count == 0 {
            return compared.finish();
        }
        compared.put(&chunk[..count])?;
    }
}
