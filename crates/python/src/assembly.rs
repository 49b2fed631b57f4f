//! `assemble` in parts, for engines of many processes: what leads a run asks Python for fragments,
//! and what has a share of the reads or a part of the buckets gives them. Python calls and is
//! called with bytes and JSON.

use std::path::PathBuf;
use std::sync::Mutex;

use cuesta_assembly::bridge::Trusted;
use cuesta_assembly::kept::Kept;
use cuesta_assembly::sequences::{Fragments, Paths, Piece};
use cuesta_assembly::shares::{self, Divided, Feed, Parts, Share};
use cuesta_assembly::spectrum::Spectrum;
use cuesta_assembly::stage::{Ask, Found, Workers};
use cuesta_assembly::supersteps::control::{Control, Order, Told};
use cuesta_assembly::supersteps::messages::Outbox;
use cuesta_assembly::supersteps::part::{Part, spread};
use cuesta_assembly::supersteps::{self, Exchange};
use cuesta_assembly::{run_with, wire};
use cuesta_core::budget::Budget;
use cuesta_core::job::{self, Context, Response};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use crate::convert::{from_json, python_error, to_json};
use crate::watched;

/// Functions of Python that a run calls, and what the first of them to fail raised.
struct Calls {
    failed: Mutex<Option<PyErr>>,
}

impl Calls {
    fn new() -> Self {
        Self { failed: Mutex::default() }
    }

    /// Calls into Python; what is raised there ends the run, and is raised again at its end.
    fn call<T>(&self, work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
        Python::attach(work).map_err(|error| {
            *lock(&self.failed) = Some(error);
            Error::cancelled()
        })
    }

    /// The result of a run for Python.
    fn result<T>(self, py: Python<'_>, result: Result<T>) -> PyResult<T> {
        match lock(&self.failed).take() {
            Some(error) => Err(error),
            None => result.map_err(|error| python_error(py, &error)),
        }
    }
}

/// Runs a request; JSON in, JSON out. Its fragments come from `workers.fragments(ask, trusted)`:
/// JSON and bytes (None where nothing is trusted), returning what the parts have found. Programs of
/// supersteps go to `workers.supersteps(control, vertices)`: JSON and bytes for each of
/// `workers.parts` parts, returning how it ended and what the parts have left.
#[pyfunction]
pub fn assembly_lead(py: Python<'_>, request: &str, workers: Py<PyAny>) -> PyResult<String> {
    let request = job::request(request).map_err(|error| python_error(py, &error))?;
    let calls = Calls::new();
    let result = Python::detach(py, || {
        let (budget, progress) = (Budget::new(request.memory_bytes), Progress::default());
        let context = Context { request: &request, budget: &budget, progress: &progress };
        to_json(&run_with(&context, &Remote { calls: &calls, workers: &workers, budget: &budget })?)
    });
    calls.result(py, result)
}

/// Workers in other processes.
struct Remote<'p, 'c> {
    calls: &'p Calls,
    workers: &'p Py<PyAny>,
    budget: &'c Budget,
}

impl<'c> Workers<'c> for Remote<'_, 'c> {
    fn fragments(
        &self,
        ask: &Ask,
        trusted: Option<Trusted<'c>>,
        _: Option<&Kept<'_>>,
        _: &mut Response,
    ) -> Result<Found<'c>> {
        let (ask, trusted) = (to_json(ask)?, trusted.as_ref().map(wire::trusted_bytes));
        let parts: Vec<PyBackedBytes> = self.calls.call(|py| {
            let trusted = trusted.map(|bytes| PyBytes::new(py, &bytes));
            self.workers.call_method1(py, "fragments", (ask, trusted))?.extract(py)
        })?;
        let mut found = wire::nothing(self.budget);
        parts.iter().try_for_each(|part| wire::add_found(part, &mut found))?;
        Ok(found)
    }

    fn supersteps(
        &self,
        control: &mut Control,
        paths: Paths<'c>,
        _: &mut Response,
    ) -> Result<Fragments<'c>> {
        let parts = self.calls.call(|py| self.workers.getattr(py, "parts")?.extract(py))?;
        let given = spread(&paths, parts, Piece::of);
        drop(paths);
        let asked = to_json(control)?;
        let (ended, parts): (String, Vec<PyBackedBytes>) = self.calls.call(|py| {
            let given = (asked, py_parts(py, &given));
            self.workers.call_method1(py, "supersteps", given)?.extract(py)
        })?;
        *control = from_json(&ended)?;
        let mut found = wire::nothing(self.budget);
        parts.iter().try_for_each(|part| wire::add_found(part, &mut found))?;
        Ok(found.fragments)
    }
}

/// Cuts reads into shares of about so many bytes; JSON in, JSON out.
#[pyfunction]
pub fn assembly_split(py: Python<'_>, inputs_json: &str, share_bytes: u64) -> PyResult<String> {
    watched(py, None, |_| {
        let inputs: Vec<PathBuf> = from_json(inputs_json)?;
        to_json(&shares::split(&inputs, share_bytes)?)
    })
}

/// What Python gets of what was divided: blocks, where those of each part end, reads.
type PyDivided<'py> = (Bound<'py, PyBytes>, Vec<u64>, u64);

/// Divides the super-k-mers of a share of the reads (JSON) among parts.
#[pyfunction]
pub fn assembly_divide<'py>(
    py: Python<'py>,
    ask: &str,
    share: &str,
    parts: usize,
    only_sampled: bool,
) -> PyResult<PyDivided<'py>> {
    let divided = watched(py, None, |progress| {
        let (ask, share): (Ask, Share) = (from_json(ask)?, from_json(share)?);
        shares::divide(&ask, &share, Parts { parts, only_sampled }, progress)
    })?;
    Ok(given(py, &divided))
}

/// Divides the super-k-mers of what is trusted among parts.
#[pyfunction]
pub fn assembly_divide_trusted<'py>(
    py: Python<'py>,
    ask: &str,
    trusted: &[u8],
    parts: usize,
    only_sampled: bool,
) -> PyResult<PyDivided<'py>> {
    let divided = watched(py, None, |_| {
        shares::divide_trusted(&from_json(ask)?, trusted, Parts { parts, only_sampled })
    })?;
    Ok(given(py, &divided))
}

fn given<'py>(py: Python<'py>, divided: &Divided) -> PyDivided<'py> {
    (PyBytes::new(py, &divided.bytes), divided.ends.clone(), divided.reads)
}

/// What was found in a part. `feed.blocks()` returns blocks until it returns None;
/// `feed.min_count(sample)` the smallest count for all, or None where only the sample is wanted;
/// `feed.together()` how many parts compress chains by `feed.exchange(parts)`, which gives bytes
/// out and returns those for this part, and `feed.totals(numbers)`, or None where that is done
/// elsewhere.
#[pyfunction]
pub fn assembly_part<'py>(
    py: Python<'py>,
    request: &str,
    ask: &str,
    feed: Py<PyAny>,
) -> PyResult<Bound<'py, PyBytes>> {
    let request = job::request(request).map_err(|error| python_error(py, &error))?;
    let ask: Ask = from_json(ask).map_err(|error| python_error(py, &error))?;
    let together = feed.call_method0(py, "together")?.extract(py)?;
    let calls = Calls::new();
    let result = Python::detach(py, || {
        shares::part(&ask, &request, &mut Fed { calls: &calls, feed: &feed, together })
    });
    Ok(PyBytes::new(py, &calls.result(py, result)?))
}

struct Fed<'p> {
    calls: &'p Calls,
    feed: &'p Py<PyAny>,
    together: Option<usize>,
}

impl Feed for Fed<'_> {
    fn next(&mut self) -> Result<Option<Vec<u8>>> {
        self.calls.call(|py| {
            let given = self.feed.call_method0(py, "blocks")?;
            let bytes = given.bind(py).cast::<PyBytes>().ok();
            Ok(bytes.map(|bytes| bytes.as_bytes().to_vec()))
        })
    }

    fn min_count(&mut self, sample: &Spectrum) -> Result<Option<u32>> {
        let bytes = wire::spectrum_bytes(sample);
        self.calls.call(|py| {
            let given = (PyBytes::new(py, &bytes),);
            self.feed.call_method1(py, "min_count", given)?.extract(py)
        })
    }

    fn together(&self) -> Option<usize> {
        self.together
    }
}

impl Exchange for Fed<'_> {
    fn exchange(&mut self, parts: &[Vec<u8>]) -> Result<Vec<u8>> {
        self.calls.call(|py| {
            let given = self.feed.call_method1(py, "exchange", (py_parts(py, parts),))?;
            Ok(given.bind(py).cast::<PyBytes>()?.as_bytes().to_vec())
        })
    }

    fn sum(&mut self, numbers: [u64; Told::NUMBERS]) -> Result<[u64; Told::NUMBERS]> {
        self.calls.call(|py| self.feed.call_method1(py, "totals", (numbers,))?.extract(py))
    }
}

fn py_parts<'py>(py: Python<'py>, parts: &[Vec<u8>]) -> Vec<Bound<'py, PyBytes>> {
    parts.iter().map(|part| PyBytes::new(py, part)).collect()
}

/// What was found, without its fragments, and the fragments for each of `parts`.
#[pyfunction]
pub fn assembly_spread<'py>(
    py: Python<'py>,
    found: &[u8],
    parts: usize,
) -> PyResult<(Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>)> {
    let budget = Budget::new(u64::MAX);
    let apart = || -> Result<(Vec<u8>, Vec<Vec<u8>>)> {
        let mut all = wire::nothing(&budget);
        wire::add_found(found, &mut all)?;
        let given = spread(&all.fragments, parts, |piece| *piece);
        all.fragments = all.fragments.none_yet();
        Ok((wire::found_bytes(&all), given))
    };
    let (found, given) = py.detach(apart).map_err(|error| python_error(py, &error))?;
    Ok((PyBytes::new(py, &found), py_parts(py, &given)))
}

/// Runs a program (JSON) on the `vertices` that are given out for each of `parts`; `feed` as for
/// [`assembly_part`]. How it ended, and what this part has left.
#[pyfunction]
pub fn assembly_program<'py>(
    py: Python<'py>,
    control: &str,
    parts: usize,
    vertices: Vec<PyBackedBytes>,
    feed: Py<PyAny>,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let calls = Calls::new();
    let run = || -> Result<(String, Vec<u8>)> {
        let mut control: Control = from_json(control)?;
        let budget = Budget::new(u64::MAX);
        let mut left = wire::nothing(&budget);
        let given: Vec<Vec<u8>> = vertices.iter().map(|bytes| bytes.to_vec()).collect();
        let mut others = Fed { calls: &calls, feed: &feed, together: None };
        supersteps::part(&mut control, parts, &given, (&mut left.fragments, &mut others))?;
        Ok((to_json(&control)?, wire::found_bytes(&left)))
    };
    let result = py.detach(run);
    let (control, left) = calls.result(py, result)?;
    Ok((control, PyBytes::new(py, &left)))
}

/// The program that an ask (JSON) has, before its first superstep; None where it has none.
#[pyfunction]
pub fn assembly_control(py: Python<'_>, ask: &str) -> PyResult<Option<String>> {
    let made = || -> Result<Option<String>> {
        let ask: Ask = from_json(ask)?;
        ask.program.map(|program| to_json(&Control::new(ask.k, program))).transpose()
    };
    made().map_err(|error| python_error(py, &error))
}

/// The next superstep of a program, or None at its end; JSON in, JSON out.
#[pyfunction]
pub fn assembly_order(py: Python<'_>, control: &str) -> PyResult<Option<String>> {
    let found = || from_json::<Control>(control)?.order().map(|order| to_json(&order)).transpose();
    found().map_err(|error| python_error(py, &error))
}

/// A program after a superstep of which the parts have told these numbers, added up.
#[pyfunction]
pub fn assembly_goes_on(
    py: Python<'_>,
    control: &str,
    told: [u64; Told::NUMBERS],
) -> PyResult<String> {
    let next = || {
        let mut control: Control = from_json(control)?;
        control.goes_on(&Told::of(told))?;
        to_json(&control)
    };
    next().map_err(|error| python_error(py, &error))
}

/// A part after a superstep, what it sends to each part, and the numbers that it tells.
type PyStep<'py> = (Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>, [u64; Told::NUMBERS]);

/// A superstep (JSON) of a part at `place`, (k, parts). The first one begins with vertices in place
/// of messages and no state.
#[pyfunction]
pub fn assembly_step<'py>(
    py: Python<'py>,
    place: (usize, usize),
    order: &str,
    state: &[u8],
    messages: Vec<PyBackedBytes>,
) -> PyResult<PyStep<'py>> {
    let (k, parts) = place;
    let messages: Vec<&[u8]> = messages.iter().map(|message| &message[..]).collect();
    let step = || -> Result<(Vec<u8>, Outbox, Told)> {
        let order: Order = from_json(order)?;
        let messages = messages.concat();
        let is_first = order.superstep == 0;
        let mut part = if is_first {
            Part::begin(k, parts, &messages)?
        } else {
            Part::from_bytes(k, parts, state)?
        };
        let (out, told) = part.step(&order, if is_first { &[] } else { &messages })?;
        Ok((part.to_bytes(), out, told))
    };
    let (state, out, told) = py.detach(step).map_err(|error| python_error(py, &error))?;
    Ok((PyBytes::new(py, &state), py_parts(py, &out.parts), told.numbers()))
}

/// What a part at `place`, (k, parts), has left at the end of a program; `min_count` as asked.
#[pyfunction]
pub fn assembly_left<'py>(
    py: Python<'py>,
    place: (usize, usize),
    state: &[u8],
    min_count: u32,
    control: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let (k, parts) = place;
    let budget = Budget::new(u64::MAX);
    let left = || -> Result<Vec<u8>> {
        let mut found = wire::nothing(&budget);
        found.min_count = min_count;
        found.traffic = Some(from_json::<Control>(control)?.traffic);
        Part::from_bytes(k, parts, state)?.finish(&mut found.fragments)?;
        Ok(wire::found_bytes(&found))
    };
    let found = py.detach(left).map_err(|error| python_error(py, &error))?;
    Ok(PyBytes::new(py, &found))
}

/// The smallest count that the samples of all parts say together, for k-mers of size `k`.
#[pyfunction]
pub fn assembly_min_count(py: Python<'_>, samples: Vec<PyBackedBytes>, k: usize) -> PyResult<u32> {
    let mut all = Spectrum::default();
    for sample in &samples {
        wire::add_spectrum(sample, &mut all).map_err(|error| python_error(py, &error))?;
    }
    Ok(all.fit(k).min_count)
}
