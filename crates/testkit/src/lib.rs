//! Test support shared by all workloads: the golden cases of `spec/workloads/<w>/cases`, run
//! natively and in rounds by an engine that runs tasks in random order.
//!
//! Safe to change: anything that makes engines of tests more adverse. Release code must not depend
//! on this crate.
#![allow(clippy::unwrap_used)]

pub mod ranks;
pub mod reads;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Response, Verdict};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_runtime::rounds::{Leader, RandomEngine, Resources, Worker};
use serde::Deserialize;
use tempfile::TempDir;

/// The functions of a workload.
#[derive(Clone, Copy)]
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// Computes an answer.
    pub run: fn(&Request, &Progress) -> Result<Response>,
    /// Verifies it.
    pub verify: fn(&Request, &Progress) -> Result<Verdict>,
    /// Creates its leader for runs in rounds.
    pub lead: fn(&Request, Resources) -> Result<Box<dyn Leader>>,
    /// Creates a worker for its tasks.
    pub work: fn(&Request, Resources) -> Result<Box<dyn Worker>>,
}

/// A golden case: a request with its expected answer.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Files of `spec/cases`.
    inputs: Vec<PathBuf>,
    parameters: serde_json::Value,
    seed: u64,
    digest: String,
    counts: BTreeMap<String, u64>,
    /// Whether only the native engine supports it.
    #[serde(default)]
    native_only: bool,
}

/// Checks a workload against all of its golden cases: natively on several numbers of threads, in
/// rounds by [`RandomEngine`] with several numbers of slots and tasks, and by [`ranks`].
///
/// # Panics
/// If an answer differs from the case, or there is no case.
pub fn golden(workload: &Workload) {
    let cases = cases(workload.name);
    assert!(!cases.is_empty(), "{} has no golden case", workload.name);
    for (name, case) in &cases {
        for threads in [1, 3] {
            let place = Place::new(case, threads);
            (workload.run)(&place.request, &Progress::default()).unwrap();
            place.judge(workload, case, &format!("{name} on {threads} threads"));
        }
        if case.native_only {
            continue;
        }
        for seed in 0..6 {
            in_rounds(workload, (name, case), seed);
        }
        for ranks in [1, 3] {
            on_ranks(workload, (name, case), ranks);
        }
    }
}

fn in_rounds(workload: &Workload, (name, case): (&str, &Case), seed: u64) {
    let place = Place::new(case, 1);
    let resources = Resources {
        slots: 1 + seed as usize % 3,
        memory_bytes: place.request.budget.limit_bytes(),
        tasks: [None, Some(1), Some(5)][seed as usize / 2],
        ..Resources::default()
    };
    let work = || (workload.work)(&place.request, resources);
    let engine = RandomEngine { worker: &work, chance: Stream::new(seed, 0) };
    let mut leader = (workload.lead)(&place.request, resources).unwrap();
    engine.run(leader.as_mut(), &Progress::default()).unwrap();
    place.judge(workload, case, &format!("{name} in rounds, {resources:?}, seed {seed}"));
}

fn on_ranks(workload: &Workload, (name, case): (&str, &Case), ranks: usize) {
    let place = Place::new(case, 1);
    let memory_bytes = place.request.budget.limit_bytes();
    let resources = Resources {
        slots: ranks,
        memory_bytes,
        tasks: Some(ranks),
        keeps: true,
        ..Resources::default()
    };
    let work = || (workload.work)(&place.request, resources).unwrap();
    let mut workers: Vec<_> = (0..ranks).map(|_| work()).collect();
    let mut leader = (workload.lead)(&place.request, resources).unwrap();
    ranks::run(leader.as_mut(), &mut workers).unwrap();
    place.judge(workload, case, &format!("{name} on {ranks} ranks"));
}

/// Folders for an answer.
struct Place {
    request: Request,
    _folder: TempDir,
}

impl Place {
    fn new(case: &Case, threads: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["answer", "scratch"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let request = Request {
            inputs: case.inputs.iter().map(|input| spec().join("cases").join(input)).collect(),
            parameters: case.parameters.clone(),
            output: folder.path().join("answer"),
            seed: case.seed,
            threads,
            budget: Budget::new(1 << 30).into(),
            scratch: folder.path().join("scratch"),
            verify: Default::default(),
            names: None,
        };
        Self { request, _folder: folder }
    }

    fn judge(&self, workload: &Workload, case: &Case, how: &str) {
        let verdict = (workload.verify)(&self.request, &Progress::default()).unwrap();
        let how = format!("{}: {how}", workload.name);
        assert!(verdict.verified, "{how}: {:?}", verdict.remark);
        assert_eq!(verdict.digest, case.digest, "{how}");
        let counts: BTreeMap<String, u64> =
            verdict.counts.iter().map(|(&name, &count)| (name.to_owned(), count)).collect();
        assert_eq!(counts, case.counts, "{how}");
    }
}

fn spec() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../spec"))
}

fn cases(workload: &str) -> BTreeMap<String, Case> {
    let folder = spec().join("workloads").join(workload).join("cases");
    let mut cases = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            cases.insert(name, serde_json::from_slice(&fs::read(&path).unwrap()).unwrap());
        }
    }
    cases
}
