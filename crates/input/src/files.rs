//! The files behind inputs that are files or folders of them.

use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use crate::storage;

/// The files behind some paths, in the order of the paths, those of a folder by name.
///
/// A path that is a file is always one of them. In a folder those are passed over whose names begin
/// with a dot or an underscore, as Hadoop does, and those that are not `wanted`.
///
/// # Errors
/// `System`.
pub fn list(
    operation: &str,
    paths: &[PathBuf],
    wanted: impl Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if is_folder(operation, path)? {
            walk(operation, path, &wanted, &mut files)?;
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// Paths for a message, separated by commas.
pub fn names(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    names.join(", ")
}

fn is_folder(operation: &str, path: &Path) -> Result<bool> {
    let failed = |cause| Error::system(operation, "reading", path, &cause);
    Ok(storage::metadata(path).map_err(failed)?.is_folder)
}

fn walk(
    operation: &str,
    folder: &Path,
    wanted: &impl Fn(&Path) -> bool,
    files: &mut Vec<PathBuf>,
) -> Result<()> {
    let failed = |cause| Error::system(operation, "reading", folder, &cause);
    for path in storage::list(folder).map_err(failed)? {
        let first = path.file_name().and_then(|name| name.as_encoded_bytes().first());
        if matches!(first, Some(b'.' | b'_')) {
            continue;
        }
        if is_folder(operation, &path)? {
            walk(operation, &path, wanted, files)?;
        } else if wanted(&path) {
            files.push(path);
        }
    }
    Ok(())
}
