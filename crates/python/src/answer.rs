//! The files of an answer: what starts to write them to the disk, waits for it, and hashes them.

use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use cuesta_answer::checksum;
use cuesta_answer::settle::Settling;
use cuesta_answer::writeback::WriteBack;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use pyo3::prelude::*;

use crate::convert::{python_error, to_json};

/// How often a call that waits for the disk looks whether it may go on.
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

    /// Starts to bring the files that are there now to the disk, and to compute their checksums.
    fn settle(&mut self, py: Python<'_>) -> PyResult<()> {
        self.growing = None;
        let settling = Settling::start(&self.folder).map_err(|error| python_error(py, &error))?;
        self.settling = Some(settling);
        Ok(())
    }

    /// Waits for what `settle` has started, which has so many threads for itself now; `files`,
    /// `disk_seconds`, `checksum_seconds` as JSON.
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

/// Name, bytes and checksum of what is in `folder`, apart from some names, as JSON.
pub fn checksums(
    folder: &std::path::Path,
    apart: &[String],
    threads: usize,
    progress: &Progress,
) -> Result<String> {
    let found = checksum::entries(folder, apart, &AtomicUsize::new(threads), progress)?;
    to_json(&found)
}
