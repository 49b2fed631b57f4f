//! Opening and creation of a store's folders: real folders of this user that no other user may
//! enter.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};
use cuesta_runtime::removal::{FolderHandle, rename_exclusive, replace};

use super::marker::{FolderMarker, MARKER, MARKER_BYTES_MAX};
use super::{OPERATION, REMEDY, names};

/// Makes a folder that only its owner may enter; returns whether it was missing.
pub(super) fn made(path: &Path) -> Result<bool> {
    let make = || DirBuilder::new().mode(0o700).create(path);
    let made = make().or_else(|cause| match (cause.kind(), path.parent()) {
        (io::ErrorKind::NotFound, Some(parent)) => {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
            make()
        }
        _ => Err(cause),
    });
    match made {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        made => made.map(|()| true).map_err(|cause| failed("making", path, &cause)),
    }
}

/// Opens an existing folder: not a link, owned by this user, and closed to other users.
///
/// # Errors
/// `Input` for any other; `System`.
pub fn opened(path: &Path) -> Result<FolderHandle> {
    let folder = FolderHandle::open(path).map_err(|cause| match cause.kind() {
        io::ErrorKind::NotADirectory => {
            let text = format!("{} is a link or a file, and no folder; {REMEDY}", path.display());
            Error::input(OPERATION, text)
        }
        _ => failed("opening", path, &cause),
    })?;
    check_private(&folder)?;
    Ok(folder)
}

/// Opens a folder in a store's folder, as [`opened`] does, or makes it.
///
/// # Errors
/// Errors of [`opened`].
pub fn open_or_create_folder(folder: &FolderHandle, name: &str) -> Result<PathBuf> {
    let path = folder.path().join(name);
    let inner =
        folder.open_or_create_folder(OsStr::new(name)).map_err(|cause| match cause.kind() {
            io::ErrorKind::NotADirectory => is_foreign(&path),
            _ => failed("making", &path, &cause),
        })?;
    // Older versions left it open to all users, who are kept out by the folder above.
    if inner.stat().st_uid != rustix::process::geteuid().as_raw() {
        return Err(is_foreign(&path));
    }
    Ok(path)
}

/// Opens the folder of a store, and makes it where it is missing, without claiming it.
///
/// # Errors
/// As [`opened`].
pub fn open_or_make(path: &Path) -> Result<FolderHandle> {
    made(path)?;
    opened(path)
}

fn check_private(folder: &FolderHandle) -> Result<()> {
    let facts = folder.stat();
    let uid = rustix::process::geteuid().as_raw();
    if facts.st_uid == uid && facts.st_mode & 0o077 == 0 {
        return Ok(());
    }
    let text = format!(
        "{} is not a folder that its owner alone may enter; {REMEDY}",
        folder.path().display()
    );
    Err(Error::input(OPERATION, text))
}

/// Error of a name that a store uses, and that a file of another program has.
pub(super) fn is_foreign(path: &Path) -> Error {
    let text = format!(
        "{} has a name that a store uses, and no store made it; move it away, or {REMEDY}",
        path.display()
    );
    Error::input(OPERATION, text)
}

/// Reads the marker of a folder, if it has one.
pub(super) fn read_marker(folder: &FolderHandle) -> Result<Option<FolderMarker>> {
    let path = folder.path().join(MARKER);
    let file = match folder.open_file(OsStr::new(MARKER)) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        // A link, or anything else that is no regular file.
        Err(_) => return Err(is_foreign(&path)),
        Ok(file) => file,
    };
    let mut text = Vec::new();
    let read = file.take(MARKER_BYTES_MAX).read_to_end(&mut text);
    read.map_err(|cause| failed("reading", &path, &cause))?;
    let marker = FolderMarker::parse(&text, folder.path())?;
    marker.map(Some).ok_or_else(|| is_foreign(&path))
}

/// Writes the marker atomically; unless it `replaces` one, an existing marker is an error.
pub(super) fn write_marker(
    folder: &FolderHandle,
    marker: &FolderMarker,
    replaces: bool,
) -> io::Result<()> {
    let mut serial = std::process::id();
    let (partial, mut file) = loop {
        let partial = format!("store.{serial:x}.{}", names::PARTIAL);
        match folder.create_file(OsStr::new(&partial)) {
            // The name is left from a process that was killed.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => serial += 1,
            made => break (partial, made?),
        }
    };
    let name = OsStr::new(&partial);
    let (from, to) = (folder.path().join(&partial), folder.path().join(MARKER));
    let named = file
        .write_all(&serde_json::to_vec(marker)?)
        .and_then(|()| if replaces { replace(&from, &to) } else { rename_exclusive(&from, &to) });
    if named.is_err() {
        folder.remove_file(name)?;
    }
    named
}

pub(super) fn failed(doing: &str, path: &Path, cause: &io::Error) -> Error {
    Error::system(OPERATION, doing, path, cause)
}
