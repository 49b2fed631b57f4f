//! Request, response and verdict of a job, common to all workload crates.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::budget::Budget;
use crate::digest::Digest;
use crate::progress::Progress;
use crate::{Error, Result};

/// A job to run, as the command line or another language sends it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Input paths.
    pub inputs: Vec<PathBuf>,
    /// Parameters of the workload.
    #[serde(default)]
    pub parameters: Value,
    /// An existing folder for the answer files.
    pub output: PathBuf,
    /// Seed of whatever the workload draws at random.
    #[serde(default)]
    pub seed: u64,
    /// Threads, at least 1.
    pub threads: usize,
    /// Memory that the process of this request may use, of `memory_bytes`; clones share it.
    #[serde(rename = "memory_bytes", deserialize_with = "budget")]
    pub budget: Arc<Budget>,
    /// A folder for data that exceeds the memory.
    pub scratch: PathBuf,
    /// Share of the answer that a verification compares with the input.
    #[serde(default)]
    pub verify: VerificationLevel,
    /// A file that names the genes, for workloads on genes.
    #[serde(default)]
    pub names: Option<PathBuf>,
}

/// Share of an answer that a verification compares with the input.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum VerificationLevel {
    /// All of it.
    #[default]
    Full,
    /// All properties that the answer alone shows, and of those that must be computed from the
    /// input one part in [`SAMPLE_GROUP_SIZE`], chosen at random.
    Sample,
}

/// Parts of which [`VerificationLevel::Sample`] verifies one.
pub const SAMPLE_GROUP_SIZE: u64 = 16;

/// Makes the budget of a process from the limit in its request.
fn budget<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Arc<Budget>, D::Error> {
    u64::deserialize(from).map(|limit_bytes| Arc::new(Budget::new(limit_bytes)))
}

impl Request {
    /// Refuses a request without inputs, for workloads that read some.
    ///
    /// # Errors
    /// `Input`.
    pub fn require_inputs(&self) -> Result<()> {
        if self.inputs.is_empty() {
            return Err(Error::input("arguments", "no input; name a file or a folder"));
        }
        Ok(())
    }
}

/// A timed part of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Phase {
    /// Its name, e.g. `scan`.
    pub name: Cow<'static, str>,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// Bytes the phase read or wrote, whichever bounds it.
    pub bytes: u64,
    /// Rows that it processed.
    pub rows: u64,
    /// Floating-point operations of the problem, where they bound the phase; else 0.
    pub flops: u64,
}

/// Phases and counts of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Response {
    /// The timed parts, in order.
    pub phases: Vec<Phase>,
    /// Counts of the answer.
    pub counts: BTreeMap<&'static str, u64>,
}

/// Request, memory budget and progress of a run.
pub struct Context<'a> {
    /// The request.
    pub request: &'a Request,
    /// Memory that may be used.
    pub budget: &'a Budget,
    /// Progress, and the user's request to stop.
    pub progress: &'a Progress,
}

impl<'a> Context<'a> {
    /// The context of a request, with its budget.
    pub fn new(request: &'a Request, progress: &'a Progress) -> Self {
        Self { request, budget: &request.budget, progress }
    }

    /// The parameters of the workload, as [`parameters`] reads them.
    ///
    /// # Errors
    /// `Defect` naming the parameter.
    pub fn parameters<P: Default + DeserializeOwned + Serialize>(&self) -> Result<P> {
        parameters(&self.request.parameters)
    }
}

/// Reads parameters from their JSON form; their ranges are checked elsewhere. Refuses a name that
/// `P` does not have, even where serde would ignore it, so that no default replaces the value.
///
/// # Errors
/// `Defect` naming the parameter, for callers have checked them against `spec/`.
pub fn parameters<P>(value: &Value) -> Result<P>
where
    P: Default + DeserializeOwned + Serialize,
{
    let defaults = serde_json::to_value(P::default()).map_err(unreadable)?;
    let values = if value.is_null() { Value::Object(Map::new()) } else { value.clone() };
    if let (Value::Object(defaults), Value::Object(values)) = (&defaults, &values)
        && let Some(name) = values.keys().find(|name| !defaults.contains_key(*name))
    {
        let names: Vec<&str> = defaults.keys().map(String::as_str).collect();
        return Err(unreadable(format!("unknown parameter {name}, there are {names:?}")));
    }
    serde_json::from_value(values).map_err(unreadable)
}

fn unreadable(why: impl std::fmt::Display) -> Error {
    Error::defect("arguments", why)
}

/// Reads a [`Request`] from its JSON form.
///
/// # Errors
/// `Input` for no threads; `Defect` for what is no request.
pub fn request(text: &str) -> Result<Request> {
    let request: Request = serde_json::from_str(text).map_err(unreadable)?;
    if request.threads == 0 {
        return Err(Error::input("arguments", "--threads is 0, give at least 1"));
    }
    Ok(request)
}

/// Times `work` as a phase; `work` returns its result, bytes and rows.
///
/// # Errors
/// Errors of `work`.
pub fn timed<T>(
    response: &mut Response,
    name: impl Into<Cow<'static, str>>,
    work: impl FnOnce() -> Result<(T, u64, u64)>,
) -> Result<T> {
    let start = Instant::now();
    let (value, bytes, rows) = work()?;
    let seconds = start.elapsed().as_secs_f64();
    response.phases.push(Phase { name: name.into(), seconds, bytes, rows, flops: 0 });
    Ok(value)
}

/// The outcome of a verification.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// Whether the answer is right.
    pub verified: bool,
    /// Digest of the answer files.
    pub digest: String,
    /// Digest of the result of the other method; equals the digest of the answer where that method
    /// proves the answer by fingerprints and computes no digest.
    pub expected: String,
    /// The other method, in one sentence.
    pub method: &'static str,
    /// A fault beyond the digests, if there is any.
    pub remark: Option<String>,
    /// Counts of the answer files.
    pub counts: BTreeMap<&'static str, u64>,
    /// Files and folders of the answer that were verified; any other makes the answer wrong.
    pub files: Vec<&'static str>,
}

impl Verdict {
    /// A verdict on two digests.
    pub fn new(digest: Digest, expected: Digest, method: &'static str) -> Self {
        Self {
            verified: digest == expected,
            digest: digest.to_string(),
            expected: expected.to_string(),
            method,
            remark: None,
            counts: BTreeMap::new(),
            files: Vec::new(),
        }
    }

    /// A verdict on an answer that another method proved right, or wrong, without its digest.
    pub fn proven(digest: Digest, holds: bool, wrong: &str, method: &'static str) -> Self {
        let mut verdict = Self::new(digest, digest, method);
        verdict.require(holds, wrong);
        verdict
    }

    /// Names the files that were verified, each of whose bytes counts.
    pub fn covers(mut self, files: &[&'static str]) -> Self {
        self.files.extend(files);
        self
    }

    /// Adds a property of the answer; one that does not hold makes the answer wrong.
    pub fn require(&mut self, holds: bool, remark: &str) {
        if !holds {
            self.verified = false;
            self.remark = Some(remark.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::error::ErrorKind;
    use serde_json::json;

    #[test]
    fn clones_of_a_request_share_one_budget() {
        let text = r#"{"inputs": [], "output": "o", "threads": 1, "memory_bytes": 100,
                       "scratch": "s"}"#;
        let request = request(text).unwrap();
        let clone = request.clone();
        let lease = clone.budget.take(60, "a buffer").unwrap();
        assert_eq!((request.budget.limit_bytes(), request.budget.free_bytes()), (100, 40));
        drop(lease);
        let progress = Progress::default();
        assert_eq!(Context::new(&request, &progress).budget.free_bytes(), 100);
    }

    #[derive(Debug, Default, Deserialize, PartialEq, Serialize)]
    #[serde(default)]
    struct Inner {
        least: f64,
        most: Option<u32>,
    }

    #[derive(Debug, Default, Deserialize, PartialEq, Serialize)]
    struct Outer {
        #[serde(flatten)]
        inner: Inner,
        #[serde(default)]
        genes: Option<u32>,
    }

    #[test]
    fn parameters_have_the_names_of_the_struct_and_of_what_is_flattened_into_it() {
        let read: Outer = parameters(&json!({"least": 1.5, "genes": 3})).unwrap();
        assert_eq!((read.inner.least, read.inner.most, read.genes), (1.5, None, Some(3)));
        assert_eq!(parameters::<Outer>(&Value::Null).unwrap(), Outer::default());
        for values in [json!({"leest": 1}), json!({"inner": {}}), json!({"genes": "x"}), json!([])]
        {
            let error = parameters::<Outer>(&values).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Defect, "{values}: {error}");
        }
    }
}
