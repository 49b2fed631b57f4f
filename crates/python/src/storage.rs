//! Storage of URIs, which calls the Python module `cuesta.uris` in the process of each task.

use std::io::{self, ErrorKind};

use cuesta_input::storage::{FileMetadata, Storage};
use pyo3::exceptions::{PyFileNotFoundError, PyOSError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;

/// The functions of `cuesta.uris`.
pub struct Uris;

/// Calls `work` with the Python module; an exception becomes an error of the system.
fn with_module<T>(work: impl FnOnce(&Bound<'_, PyModule>) -> PyResult<T>) -> io::Result<T> {
    Python::attach(|py| {
        let done = py.import("cuesta.uris").and_then(|module| work(&module));
        done.map_err(|error| system_error(py, &error))
    })
}

/// Converts a Python exception to an error of the system.
fn system_error(py: Python<'_>, error: &PyErr) -> io::Error {
    if error.is_instance_of::<PyFileNotFoundError>(py) {
        return ErrorKind::NotFound.into();
    }
    let value = error.value(py);
    let number = value.getattr("errno").and_then(|number| number.extract::<i32>());
    match number {
        Ok(number) if error.is_instance_of::<PyOSError>(py) => io::Error::from_raw_os_error(number),
        _ => io::Error::other(value.to_string()),
    }
}

impl Storage for Uris {
    fn metadata(&self, uri: &str) -> io::Result<FileMetadata> {
        let (size_bytes, is_folder): (u64, bool) =
            with_module(|module| module.call_method1("facts", (uri,))?.extract())?;
        Ok(FileMetadata { size_bytes, is_file: !is_folder, is_folder })
    }

    fn list(&self, uri: &str) -> io::Result<Vec<String>> {
        with_module(|module| module.call_method1("entries", (uri,))?.extract())
    }

    fn read(&self, uri: &str, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let bytes: PyBackedBytes = with_module(|module| {
            Ok(module.call_method1("read", (uri, offset, into.len()))?.extract()?)
        })?;
        if bytes.len() != into.len() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        into.copy_from_slice(&bytes);
        Ok(())
    }
}
