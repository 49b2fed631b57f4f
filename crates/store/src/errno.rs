//! Errors of the operating system.

use std::io;
use std::path::Path;

use cuesta_core::Error;

use crate::path::StorePath;

/// Returns the number of an error: of its system call, or of its kind where there was none.
pub fn errno_of(error: &io::Error) -> Option<i32> {
    error.raw_os_error().or(match error.kind() {
        io::ErrorKind::NotFound => Some(libc::ENOENT),
        io::ErrorKind::IsADirectory => Some(libc::EISDIR),
        io::ErrorKind::NotADirectory => Some(libc::ENOTDIR),
        io::ErrorKind::AlreadyExists => Some(libc::EEXIST),
        io::ErrorKind::DirectoryNotEmpty => Some(libc::ENOTEMPTY),
        io::ErrorKind::PermissionDenied => Some(libc::EACCES),
        io::ErrorKind::StorageFull => Some(libc::ENOSPC),
        _ => None,
    })
}

/// Returns the error of an operation on a path of the store.
pub fn system(doing: &str, path: &StorePath, cause: &io::Error) -> Error {
    let error = Error::system("store", doing, Path::new(&path.to_string()), cause);
    Error { errno: errno_of(cause), ..error }
}
