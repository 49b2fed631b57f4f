//! Workloads in rounds. Each task reads a share of the input, with the code of `run/`; the results
//! of the tasks are merged by a leader, or by parts that receive rows from the tasks.

pub mod blocks;
mod components;
mod correlate;
mod degrees;
mod join;
mod load;
mod parts;
mod pieces;
mod propagation;
mod sample;
mod scan;

use std::path::PathBuf;

use cuesta_core::job::{Phase, Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::Filter;
use cuesta_input::kinc::block::Counts;
use cuesta_input::pair_matrix::Need;
use cuesta_runtime::rounds::{Blocks, Leader, Resources, Round, TASKS_PER_SLOT, Task, Worker};
use cuesta_runtime::wire;

use crate::params::{CommunitiesParams, CommunityMethod};
use crate::run::pairs::Pairs;
use crate::run::share::Share;

/// Default minimum of input bytes that a task reads: less is not worth a task.
const TASK_BYTES_MIN: u64 = 16 << 20;
/// Default maximum of input bytes that a task reads, so that little is lost with a task.
const TASK_BYTES_MAX: u64 = 256 << 20;
/// Maximum number of parts: each task has a block for each part.
const PARTS_MAX: usize = 1 << 12;
const READ: &str = "file_read_warm_bytes_per_s";

/// Creates the leader of a run of `workload` in rounds.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(workload: &str, request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    request.require_inputs()?;
    match workload {
        "scan" => scan::lead(request, resources),
        "degrees" => degrees::lead(request, resources),
        "join" => join::lead(request, resources),
        "correlate" => correlate::lead(request, resources),
        "load" => load::lead(request, resources),
        "communities" => {
            let params = communities(request)?;
            match params.method {
                CommunityMethod::LabelPropagation => propagation::lead(request, &params, resources),
                _ => components::lead(request, &params, resources),
            }
        }
        other => Err(without_rounds(other)),
    }
}

/// Creates a worker, which runs the tasks of a run of `workload`.
///
/// # Errors
/// `Input` naming the option.
pub fn work(workload: &str, request: &Request, resources: Resources) -> Result<Box<dyn Worker>> {
    match workload {
        "scan" => scan::work(request),
        "degrees" => degrees::work(request),
        "join" => join::work(request),
        "correlate" => correlate::work(request),
        "load" => load::work(request),
        "communities" => {
            let params = communities(request)?;
            match params.method {
                CommunityMethod::LabelPropagation => propagation::work(request, &params, resources),
                _ => components::work(request, &params),
            }
        }
        other => Err(without_rounds(other)),
    }
}

fn communities(request: &Request) -> Result<CommunitiesParams> {
    let params: CommunitiesParams = parameters(&request.parameters)?;
    params.check()?;
    if params.method == CommunityMethod::Louvain {
        let text = "--method louvain goes through the genes one by one; run it with --engine \
                    native, or take components or label-propagation";
        return Err(Error::input("communities", text));
    }
    Ok(params)
}

fn without_rounds(workload: &str) -> Error {
    Error::defect("rounds", format!("{workload} has none"))
}

/// Inputs that are read together, and the required rows and fields.
struct Reading {
    inputs: Vec<PathBuf>,
    filter: Filter,
    need: Need,
}

/// State of open inputs.
struct Opened {
    /// Share of each task.
    tasks: Vec<Vec<u8>>,
    size_bytes: u64,
    /// Number of files or chunks without rows that pass.
    skipped: u64,
}

impl Reading {
    fn open(&self) -> Result<Pairs> {
        Pairs::open(&self.inputs, &self.filter, self.need)
    }

    fn shares(&self, resources: Resources) -> Result<Opened> {
        let pairs = self.open()?;
        let size_bytes = pairs.size_bytes();
        let shares = pairs.shares(task_bytes(resources, size_bytes));
        let tasks = shares.iter().map(wire::to_bytes).collect::<Result<_>>()?;
        Ok(Opened { tasks, size_bytes, skipped: pairs.skipped() })
    }
}

/// Returns the bytes of input that a task reads.
fn task_bytes(resources: Resources, size_bytes: u64) -> u64 {
    let slots = TASKS_PER_SLOT * resources.slots as u64;
    let even = match (resources.task_bytes, resources.tasks) {
        (Some(task_bytes), _) => return task_bytes,
        (None, Some(tasks)) => size_bytes.div_ceil(tasks as u64).max(1),
        (None, None) => size_bytes.div_ceil(slots).max(TASK_BYTES_MIN),
    };
    even.min(TASK_BYTES_MAX)
}

/// Returns the number of parts: by default one for each `part_bytes` of `size_bytes`.
fn part_count(resources: Resources, size_bytes: u64, part_bytes: u64) -> usize {
    let even = size_bytes.div_ceil(part_bytes).max(resources.slots as u64) as usize;
    let parts = resources.tasks.unwrap_or(if resources.keeps { resources.slots } else { even });
    parts.clamp(1, PARTS_MAX)
}

/// Reports the rows counted in the last phase.
fn add_rows(response: &mut Response, phase: &'static str, rows: u64) {
    let phase = Phase { name: phase.into(), seconds: 0.0, bytes: 0, rows, flops: 0 };
    response.phases.push(phase);
}

/// Leader of a run of a single round over the shares of the input.
struct SingleRound<F> {
    reading: Reading,
    resources: Resources,
    phase: &'static str,
    combines: bool,
    opened: Option<Opened>,
    /// Writes the answer from the results of the tasks, and reports its counts.
    finish: F,
}

impl<F> Leader for SingleRound<F>
where
    F: FnMut(&Opened, Vec<Vec<u8>>, &mut Response) -> Result<()> + Send,
{
    fn next(
        &mut self,
        results: Vec<Vec<u8>>,
        response: &mut Response,
        _: &Progress,
    ) -> Result<Option<Round>> {
        if let Some(opened) = &self.opened {
            (self.finish)(opened, results, response)?;
            return Ok(None);
        }
        let opened = timed(response, "open", || Ok((self.reading.shares(self.resources)?, 0, 0)))?;
        let round = Round {
            phase: self.phase.to_owned(),
            bytes: opened.size_bytes,
            ceiling: Some(READ),
            tasks: opened.tasks.clone(),
            combines: self.combines,
            ..Round::default()
        };
        self.opened = Some(opened);
        Ok(Some(round))
    }
}

/// Worker of a run of a single round.
struct SinglePass<T, C> {
    filter: Filter,
    need: Need,
    /// Computes the result of the rows of a share; its second argument is the number of the task.
    task: T,
    combine: C,
}

impl<T, C> Worker for SinglePass<T, C>
where
    T: FnMut(&Pairs, usize, &Progress) -> Result<Vec<u8>> + Send,
    C: Fn(Vec<u8>, &[u8]) -> Result<Vec<u8>> + Send,
{
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let share: Share = wire::from_bytes(task.input)?;
        let pairs = Pairs::of_share(share, &self.filter, self.need)?;
        Ok(((self.task)(&pairs, task.number, progress)?, Blocks::default()))
    }

    fn combine(&self, _: &[u8], first: Vec<u8>, second: &[u8]) -> Result<Vec<u8>> {
        (self.combine)(first, second)
    }
}

/// Rows read and selected, in the format of messages.
type Rows = (u64, u64);

fn rows(counts: Counts) -> Rows {
    (counts.rows_read, counts.rows_passed)
}

fn counts((rows_read, rows_passed): Rows) -> Counts {
    Counts { rows_read, rows_passed }
}

fn unexpected() -> Error {
    Error::defect("network", "a round found what it was not asked for")
}
