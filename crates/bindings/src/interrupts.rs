//! Calls that report progress and stop at Ctrl-C.

use std::sync::mpsc;
use std::time::Duration;

use cuesta_core::Result;
use cuesta_core::progress::Progress;
use pyo3::prelude::*;

use crate::convert::python_error;
use crate::panics;

/// Interval at which a waiting call checks for Ctrl-C and reports progress.
const TICK: Duration = Duration::from_millis(50);

/// Runs `work` on its own thread; meanwhile reports progress and turns Ctrl-C into a stop. A panic
/// there is an error.
pub fn watched<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&Progress) -> Result<T> + Send,
) -> PyResult<T> {
    let progress = Progress::default();
    let mut interrupt = None;
    let result = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, finished) = mpsc::channel();
            let worker = scope.spawn(|| {
                // Dropped at the end, also by a panic, which ends the wait below.
                let _sender: mpsc::Sender<()> = sender;
                work(&progress)
            });
            while finished.recv_timeout(TICK) == Err(mpsc::RecvTimeoutError::Timeout) {
                if interrupt.is_none() {
                    interrupt = Python::attach(|py| look(py, callback.as_ref(), &progress)).err();
                    if interrupt.is_some() {
                        progress.cancel();
                    }
                }
            }
            worker.join().unwrap_or_else(|panic| Err(panics::defect(&*panic)))
        })
    });
    match interrupt {
        Some(error) => Err(error),
        None => result.map_err(|error| python_error(py, &error)),
    }
}

fn look(py: Python<'_>, callback: Option<&Py<PyAny>>, progress: &Progress) -> PyResult<()> {
    py.check_signals()?;
    if let Some(callback) = callback {
        callback.call1(py, progress.state())?;
    }
    Ok(())
}
