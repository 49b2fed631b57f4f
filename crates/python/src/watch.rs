//! Fingerprints of inputs, made while kernels read them.

use std::path::PathBuf;

use cuesta_input::watch::ReadWatch;
use pyo3::prelude::*;

use cuesta_bindings::watched;
use cuesta_bindings::{python_error, to_json};

/// Hears what this process reads of some inputs until it is dropped.
#[pyclass(module = "cuesta._native")]
pub struct InputWatch {
    watch: ReadWatch,
}

#[pymethods]
impl InputWatch {
    /// Hears what is read of these inputs from now on.
    #[new]
    fn new(inputs: Vec<PathBuf>) -> Self {
        Self { watch: ReadWatch::new(inputs) }
    }

    /// `bytes`, `files` and `sum` of what was read of each input, as JSON.
    fn fingerprints(&self, py: Python<'_>) -> PyResult<String> {
        let json = py.detach(|| to_json(&self.watch.fingerprints()));
        json.map_err(|error| python_error(py, &error))
    }

    /// Reads what nothing has read yet.
    fn complete(&self, py: Python<'_>) -> PyResult<()> {
        watched(py, None, |_| self.watch.complete())
    }
}
