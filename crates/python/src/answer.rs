//! The files of an answer: writing them to the disk in the background, and their checksums.

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use cuesta_answer::checksum;
use cuesta_answer::settle::Settling;
use cuesta_answer::writeback::WriteBack;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use pyo3::prelude::*;

use cuesta_bindings::{python_error, to_json};

/// Interval at which a call that waits for the disk checks whether it has finished.
const LOOK: Duration = Duration::from_millis(2);

/// The files of an answer folder, from the start of an engine to the end of the run.
#[pyclass(module = "cuesta._native")]
pub struct AnswerFiles {
    folder: PathBuf,
    growing: Option<WriteBack>,
    settling: Option<Settling>,
}

#[pymethods]
impl AnswerFiles {
    /// Has files in `folder` written to the disk while they grow.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        let growing = WriteBack::start(&folder).map_err(|error| python_error(py, &error))?;
        Ok(Self { folder, growing: Some(growing), settling: None })
    }

    /// Starts to write the existing files to the disk, and to compute their checksums.
    fn settle(&mut self, py: Python<'_>) -> PyResult<()> {
        self.growing = None;
        let settling = Settling::start(&self.folder).map_err(|error| python_error(py, &error))?;
        self.settling = Some(settling);
        Ok(())
    }

    /// Waits for the work that `settle` started, which may use `threads` threads from now on;
    /// `files`, `disk_seconds`, `checksum_seconds` as JSON.
    fn finish(&mut self, py: Python<'_>, threads: usize) -> PyResult<String> {
        let settling = self.settling.take().ok_or_else(|| {
            python_error(py, &Error::defect("answer", "finish without settle before it"))
        })?;
        settling.hurry(threads);
        while !settling.is_finished() {
            // Dropped by an error, which cancels it.
            py.check_signals()?;
            py.detach(|| std::thread::sleep(LOOK));
        }
        settling
            .finish()
            .and_then(|settled| to_json(&settled))
            .map_err(|error| python_error(py, &error))
    }
}

/// Name, bytes and checksum of the files in `folder`, except the names in `apart`, as JSON.
pub fn checksums(
    folder: &std::path::Path,
    apart: &[String],
    threads: usize,
    progress: &Progress,
) -> Result<String> {
    let entries = checksum::entries(folder, apart, &AtomicUsize::new(threads), progress)?;
    to_json(&entries)
}
