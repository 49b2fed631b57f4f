//! Decompressed text of a file, for engines that parse blocks of text.

use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cuesta_input::storage::Input;
use cuesta_input::unpack::{self, Unpacked};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use cuesta_bindings::python_error;

const OPERATION: &str = "input.kinc";

/// Reader of a file that decompresses each format that is recognised.
#[pyclass(module = "cuesta._native")]
pub struct UnpackedFile {
    path: PathBuf,
    text: Mutex<Unpacked>,
    packed_bytes: Arc<AtomicU64>,
}

#[pymethods]
impl UnpackedFile {
    /// Opens a file, compressed or not.
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let packed_bytes = Arc::default();
        let counted = |input| Counted { input, count: Arc::clone(&packed_bytes) };
        let text = unpack::open_through(&path, counted)
            .map_err(|cause| python_error(py, &unpack::failure(OPERATION, &path, &cause)))?;
        Ok(Self { path, text: Mutex::new(text), packed_bytes })
    }

    /// The next `size` bytes of text; fewer at the end.
    fn read<'py>(&self, py: Python<'py>, size: u64) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = Vec::new();
        let read = py.detach(|| {
            let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
            (&mut *text).take(size).read_to_end(&mut bytes)
        });
        read.map_err(|cause| python_error(py, &unpack::failure(OPERATION, &self.path, &cause)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Bytes of the file that have been read.
    fn tell(&self) -> u64 {
        self.packed_bytes.load(Ordering::Relaxed)
    }
}

/// Counts the bytes of a file as they are read.
struct Counted {
    input: Input,
    count: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.count.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
