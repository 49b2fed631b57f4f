//! Runs a workload: reads through a source, calls the kernel, writes the answer files, counts.

pub mod communities;
pub mod correlate;
pub mod degrees;
pub mod join;
pub mod load;
pub mod pairs;
pub mod scan;
pub mod sorted;
pub mod split;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use cuesta_core::budget::Budget;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What to run, as it comes from the command line or another language.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Input paths.
    pub inputs: Vec<PathBuf>,
    /// Parameters of the workload.
    #[serde(default)]
    pub parameters: serde_json::Value,
    /// An existing folder for the answer files.
    pub output: PathBuf,
    /// Threads, at least 1.
    pub threads: usize,
    /// The memory limit, in bytes.
    pub memory_bytes: u64,
    /// A folder for what does not fit in memory.
    pub scratch: PathBuf,
}

/// One timed part of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// Its name, e.g. `scan`.
    pub name: &'static str,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Bytes the phase read or wrote, whichever bounds it.
    pub bytes: u64,
    /// Rows it went through.
    pub rows: u64,
    /// Floating-point operations of the problem, where they bound the phase; else 0.
    pub flops: u64,
}

/// What a run did.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Response {
    /// The timed parts, in order.
    pub phases: Vec<Phase>,
    /// Counts of the answer.
    pub counts: BTreeMap<&'static str, u64>,
}

/// What a workload is given to run with.
pub struct Context<'a> {
    /// The request.
    pub request: &'a Request,
    /// Memory that may be used.
    pub budget: &'a Budget,
    /// Progress and the wish to stop.
    pub progress: &'a Progress,
}

impl Context<'_> {
    /// The parameters of the workload, checked for unknown types but not for ranges.
    ///
    /// # Errors
    /// `Input` naming the parameter.
    pub fn parameters<P: DeserializeOwned>(&self) -> Result<P> {
        parameters(&self.request.parameters)
    }
}

/// Reads parameters from their JSON form.
///
/// # Errors
/// `Input` naming the parameter.
pub fn parameters<P: DeserializeOwned>(value: &serde_json::Value) -> Result<P> {
    let value = if value.is_null() { serde_json::json!({}) } else { value.clone() };
    serde_json::from_value(value).map_err(|error| Error::input("arguments", error))
}

/// Reads a [`Request`] from its JSON form.
///
/// # Errors
/// `Input`.
pub fn request(text: &str) -> Result<Request> {
    let request: Request =
        serde_json::from_str(text).map_err(|error| Error::input("arguments", error))?;
    if request.threads == 0 {
        return Err(Error::input("arguments", "--threads is 0, give at least 1"));
    }
    if request.inputs.is_empty() {
        return Err(Error::input("arguments", "no input; name a file or a folder"));
    }
    Ok(request)
}

/// Runs `workload`.
///
/// # Errors
/// `Input`, `System` or `Cancelled`.
pub fn run(workload: &str, request: &Request, progress: &Progress) -> Result<Response> {
    let budget = Budget::new(request.memory_bytes);
    let context = Context { request, budget: &budget, progress };
    match workload {
        "correlate" => correlate::run(&context),
        "load" => load::run(&context),
        "scan" => scan::run(&context),
        "join" => join::run(&context),
        "degrees" => degrees::run(&context),
        "communities" => communities::run(&context),
        other => Err(Error::input("arguments", format!("no workload is named {other}"))),
    }
}

/// Times `work` as a phase; `work` returns its result, bytes and rows.
///
/// # Errors
/// Those of `work`.
pub fn timed<T>(
    response: &mut Response,
    name: &'static str,
    work: impl FnOnce() -> Result<(T, u64, u64)>,
) -> Result<T> {
    let start = Instant::now();
    let (value, bytes, rows) = work()?;
    let seconds = start.elapsed().as_secs_f64();
    response.phases.push(Phase { name, seconds, bytes, rows, flops: 0 });
    Ok(value)
}
