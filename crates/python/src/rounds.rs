//! Python classes of the rounds of a workload: the leader of a run, and the worker of its tasks.

use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::job::{self, Request, Response};
use cuesta_runtime::parallel::lock;
use cuesta_runtime::rounds::{self, OfferedResources, Task};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use serde_json::json;

use crate::workloads::RegisteredWorkload;
use cuesta_bindings::buffers::{Block, Held, slice};
use cuesta_bindings::caught;
use cuesta_bindings::watched;
use cuesta_bindings::{python_error, to_json};

/// The leader of a run: plans its rounds from the results of the last one.
#[pyclass(module = "cuesta._native", frozen)]
pub struct Leader(Mutex<LeaderState>);

struct LeaderState {
    leader: Box<dyn rounds::Leader>,
    response: Response,
}

/// Facts as JSON, the bytes that all tasks share, and the bytes of each task.
type PyRound<'py> = (String, Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>);

#[pymethods]
impl Leader {
    #[new]
    fn new(py: Python<'_>, workload: &str, request: &str, resources: &str) -> PyResult<Self> {
        let leader = opened(workload, request, resources, RegisteredWorkload::lead);
        let leader = leader.map_err(|error| python_error(py, &error))?;
        Ok(Self(Mutex::new(LeaderState { leader, response: Response::default() })))
    }

    /// The next round, from the results of the last one, which are taken out of the list; None when
    /// the answer is written.
    fn next<'py>(
        &self,
        py: Python<'py>,
        results: Bound<'py, PyList>,
    ) -> PyResult<Option<PyRound<'py>>> {
        let taken = (0..results.len()).map(|index| {
            // Only a single result is in memory twice at a time.
            let bytes = slice(&PyBuffer::get(&results.get_item(index)?)?)?.to_vec();
            results.set_item(index, py.None())?;
            Ok(bytes)
        });
        let taken = taken.collect::<PyResult<_>>()?;
        let round = watched(py, None, |progress| {
            let LeaderState { leader, response } = &mut *lock(&self.0);
            leader.next(taken, response, progress)
        })?;
        let Some(round) = round else { return Ok(None) };
        let facts = to_json(&json!({
            "phase": round.phase, "size_bytes": round.bytes, "rows": round.rows,
            "flops": round.flops, "ceiling": round.ceiling, "parts": round.parts,
            "combines": round.combines, "is_text": round.is_text,
        }));
        let facts = facts.map_err(|error| python_error(py, &error))?;
        let tasks = round.tasks.iter().map(|input| PyBytes::new(py, input)).collect();
        Ok(Some((facts, PyBytes::new(py, &round.shared), tasks)))
    }

    /// The leader's own phases since the last call, and the counts, as JSON.
    #[pyo3(name = "told")]
    fn take_response(&self, py: Python<'_>) -> PyResult<String> {
        let response = &mut lock(&self.0).response;
        let json = to_json(response).map_err(|error| python_error(py, &error));
        response.phases.clear();
        json
    }
}

/// The worker of the tasks and parts of a run.
#[pyclass(module = "cuesta._native", frozen)]
pub struct Worker(Mutex<Box<dyn rounds::Worker>>);

/// Result of a task, its blocks, and the end of the block of each part.
type PyDone<'py> = (Bound<'py, PyBytes>, Block, Vec<u64>);

#[pymethods]
impl Worker {
    #[new]
    fn new(py: Python<'_>, workload: &str, request: &str, resources: &str) -> PyResult<Self> {
        let worker = opened(workload, request, resources, RegisteredWorkload::work);
        Ok(Self(Mutex::new(worker.map_err(|error| python_error(py, &error))?)))
    }

    /// Does a task.
    fn task<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        shared: &[u8],
        data: &[u8],
    ) -> PyResult<PyDone<'py>> {
        let task = Task { number, shared, input: data };
        let (result, blocks) = watched(py, None, |progress| lock(&self.0).task(task, progress))?;
        Ok((PyBytes::new(py, &result), Block::new(blocks.bytes), blocks.ends))
    }

    /// Receives blocks; `place` is the part, and the first of the tasks that sent them.
    fn take(
        &self,
        py: Python<'_>,
        place: (usize, usize),
        shared: &[u8],
        block: PyBuffer<u8>,
    ) -> PyResult<()> {
        let (part, first) = place;
        let (task, block) = (Task { number: part, shared, input: &[] }, Held::new(block)?);
        let taken = caught(|| lock(&self.0).take(task, first, Box::new(block)));
        taken.map_err(|error| python_error(py, &error))
    }

    /// Does a part; returns its result.
    fn part<'py>(
        &self,
        py: Python<'py>,
        part: usize,
        shared: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let task = Task { number: part, shared, input: &[] };
        let result = watched(py, None, |progress| lock(&self.0).part(task, progress))?;
        Ok(PyBytes::new(py, &result))
    }

    /// Combines the results of two tasks into one.
    fn combine<'py>(
        &self,
        py: Python<'py>,
        shared: &[u8],
        left: &[u8],
        right: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let both = caught(|| lock(&self.0).combine(shared, left.to_vec(), right));
        Ok(PyBytes::new(py, &both.map_err(|error| python_error(py, &error))?))
    }
}

fn opened<T>(
    workload: &str,
    request: &str,
    resources: &str,
    open: impl FnOnce(&RegisteredWorkload, Request, OfferedResources) -> Result<T>,
) -> Result<T> {
    let offered = OfferedResources::from_json(resources)?;
    caught(|| open(RegisteredWorkload::named(workload)?, job::request(request)?, offered))
}
