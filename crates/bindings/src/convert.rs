//! JSON and errors on their way between Python and Rust.

use std::sync::OnceLock;

use cuesta_core::error::ErrorKind;
use cuesta_core::{Error, Result};
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError};
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Python module with the exceptions `InputError` and `Defect`.
pub(crate) static ERRORS: OnceLock<&str> = OnceLock::new();

/// Reads JSON that the package wrote in Python.
///
/// # Errors
/// `Defect` for other text.
pub fn from_json<T: DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| Error::defect("arguments", error))
}

/// Writes JSON for Python.
///
/// # Errors
/// `Defect` for a value that JSON cannot hold.
pub fn to_json<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::defect("arguments", error))
}

/// The exception for an error.
pub fn python_error(py: Python<'_>, error: &Error) -> PyErr {
    if error.kind == ErrorKind::Cancelled {
        return PyKeyboardInterrupt::new_err(error.message());
    }
    let name = if error.kind == ErrorKind::Defect { "Defect" } else { "InputError" };
    let module = ERRORS.get().copied().unwrap_or_default();
    let class = py.import(module).and_then(|module| module.getattr(name));
    match class.and_then(|class| class.call1((error.message(),))) {
        Ok(value) => PyErr::from_value(value),
        Err(_) => PyRuntimeError::new_err(error.message()),
    }
}
