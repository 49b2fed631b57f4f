//! The module `cuesta_store._native`: the daemon, simulation and blocks of the store for Python. No
//! algorithm.
//!
//! A function that holds the GIL while it works would stop Ctrl-C.

mod stored;

use cuesta_bindings::{install, watched};
use pyo3::prelude::*;

/// The store: JSON in, JSON out.
#[pymodule(gil_used = true)]
mod _native {
    use super::*;

    #[pymodule_export]
    use cuesta_bindings::buffers::Block;

    #[pymodule_export]
    use super::stored::HeldBlocks;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        install("cuesta_store.errors");
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Serves a store, or a mount, until it is told to stop; JSON in. Calls `ready` once clients
    /// can connect.
    #[pyfunction]
    fn serve(py: Python<'_>, request_json: &str, ready: Py<PyAny>) -> PyResult<()> {
        watched(py, None, move |state| {
            // What `ready` raises is told by the one who waits for it in vain.
            cuesta_store::serve(request_json, state, || {
                Python::attach(|py| _ = ready.call0(py));
            })
        })
    }

    /// Replays a trace of the store under policies; JSON in, JSON out.
    #[pyfunction]
    fn simulate(py: Python<'_>, request_json: &str) -> PyResult<String> {
        watched(py, None, |_| cuesta_store::simulate(request_json))
    }
}
