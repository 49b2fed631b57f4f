//! The rounds of every workload that has some: what leads a run, and what does its tasks.

use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::job::{self, Request, Response};
use cuesta_runtime::parallel::lock;
use cuesta_runtime::rounds::{self, Resources, Task};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use serde_json::json;

use crate::buffers::{Block, Held, slice};
use crate::convert::{python_error, to_json};
use crate::panics::caught;
use crate::watched;
use crate::workloads::RegisteredWorkload;

/// What leads a run: plans its rounds from what the last one found.
#[pyclass(module = "cuesta._native", frozen)]
pub struct Leader(Mutex<Leads>);

struct Leads {
    leader: Box<dyn rounds::Leader>,
    response: Response,
}

/// Facts as JSON, the bytes of all tasks, and those of each.
type PyRound<'py> = (String, Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>);

#[pymethods]
impl Leader {
    #[new]
    fn new(py: Python<'_>, workload: &str, request: &str, means: &str) -> PyResult<Self> {
        let leader = opened(workload, request, means, RegisteredWorkload::lead);
        let leader = leader.map_err(|error| python_error(py, &error))?;
        Ok(Self(Mutex::new(Leads { leader, response: Response::default() })))
    }

    /// The next round, from what was found in the last one, which is taken out of the list; None
    /// when the answer is written.
    fn next<'py>(
        &self,
        py: Python<'py>,
        found: Bound<'py, PyList>,
    ) -> PyResult<Option<PyRound<'py>>> {
        let taken = (0..found.len()).map(|index| {
            // One is there twice at a time, not all.
            let bytes = slice(&PyBuffer::get(&found.get_item(index)?)?)?.to_vec();
            found.set_item(index, py.None())?;
            Ok(bytes)
        });
        let taken = taken.collect::<PyResult<_>>()?;
        let round = watched(py, None, |progress| {
            let Leads { leader, response } = &mut *lock(&self.0);
            leader.next(taken, response, progress)
        })?;
        let Some(round) = round else { return Ok(None) };
        let facts = to_json(&json!({
            "phase": round.phase, "size_bytes": round.bytes, "rows": round.rows,
            "flops": round.flops, "ceiling": round.ceiling, "parts": round.parts,
            "combines": round.combines, "is_text": round.is_text,
        }));
        let facts = facts.map_err(|error| python_error(py, &error))?;
        let tasks = round.tasks.iter().map(|own| PyBytes::new(py, own)).collect();
        Ok(Some((facts, PyBytes::new(py, &round.shared), tasks)))
    }

    /// The phases of what it has done itself since the last call, and the counts; JSON.
    fn told(&self, py: Python<'_>) -> PyResult<String> {
        let response = &mut lock(&self.0).response;
        let told = to_json(response).map_err(|error| python_error(py, &error));
        response.phases.clear();
        told
    }
}

/// What does the tasks of a run, and the parts.
#[pyclass(module = "cuesta._native", frozen)]
pub struct Worker(Mutex<Box<dyn rounds::Worker>>);

/// What a task found, its blocks, and where that of each part ends.
type PyDone<'py> = (Bound<'py, PyBytes>, Block, Vec<u64>);

#[pymethods]
impl Worker {
    #[new]
    fn new(py: Python<'_>, workload: &str, request: &str, means: &str) -> PyResult<Self> {
        let worker = opened(workload, request, means, RegisteredWorkload::work);
        Ok(Self(Mutex::new(worker.map_err(|error| python_error(py, &error))?)))
    }

    /// Does a task.
    fn task<'py>(
        &self,
        py: Python<'py>,
        number: usize,
        shared: &[u8],
        own: &[u8],
    ) -> PyResult<PyDone<'py>> {
        let task = Task { number, shared, input: own };
        let (found, blocks) = watched(py, None, |progress| lock(&self.0).task(task, progress))?;
        Ok((PyBytes::new(py, &found), Block::new(blocks.bytes), blocks.ends))
    }

    /// Takes blocks; `place` is the part, and the first of the tasks that they are from.
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

    /// Does a part; returns what it found.
    fn part<'py>(
        &self,
        py: Python<'py>,
        part: usize,
        shared: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let task = Task { number: part, shared, input: &[] };
        let found = watched(py, None, |progress| lock(&self.0).part(task, progress))?;
        Ok(PyBytes::new(py, &found))
    }

    /// What two tasks found, as if one had.
    fn combine<'py>(
        &self,
        py: Python<'py>,
        shared: &[u8],
        one: &[u8],
        other: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let both = caught(|| lock(&self.0).combine(shared, one.to_vec(), other));
        Ok(PyBytes::new(py, &both.map_err(|error| python_error(py, &error))?))
    }
}

fn opened<T>(
    workload: &str,
    request: &str,
    means: &str,
    open: impl FnOnce(&RegisteredWorkload, &Request, Resources) -> Result<T>,
) -> Result<T> {
    let means = Resources::from_json(means)?;
    caught(|| open(RegisteredWorkload::named(workload)?, &job::request(request)?, means))
}
