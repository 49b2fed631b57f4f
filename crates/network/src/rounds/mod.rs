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
use cuesta_core::{Error, Result};
use cuesta_input::pair_matrix::Need;
use cuesta_input::{Filter, FilterParams};
use cuesta_runtime::operation::{Operation, RoundPlan};
use cuesta_runtime::rounds::{Leader, Resources, TASKS_PER_SLOT, Worker};
use serde::{Deserialize, Serialize};

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
        "communities" => match communities(request)?.method {
            CommunityMethod::LabelPropagation => Ok(propagation::work(request, resources)),
            _ => Ok(components::work(request)),
        },
        other => Err(without_rounds(other)),
    }
}

fn communities(request: &Request) -> Result<CommunitiesParams> {
    let params: CommunitiesParams = parameters(&request.parameters)?;
    params.check()?;
    params.filter.check()?;
    let name = match params.method {
        CommunityMethod::Louvain => "louvain",
        CommunityMethod::Leiden => "leiden",
        CommunityMethod::Components | CommunityMethod::LabelPropagation => return Ok(params),
    };
    let text = format!(
        "--method {name} goes through the genes one by one; run it with --engine native, or take \
         components or label-propagation"
    );
    Err(Error::input("communities", text))
}

fn without_rounds(workload: &str) -> Error {
    Error::defect("rounds", format!("{workload} has none"))
}

/// Rows of the inputs, and their fields, that an operation reads.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct RowSelection {
    filter: Filter,
    need: Need,
}

impl RowSelection {
    /// All rows with all fields.
    const EVERYTHING: Self = Self { filter: Filter::EVERYTHING, need: Need::Row };

    /// The edges that pass a filter.
    fn edges(filter: &FilterParams) -> Result<Self> {
        Ok(Self { filter: filter.check()?, need: Need::Edge })
    }

    fn open(&self, inputs: &[PathBuf]) -> Result<Pairs> {
        Pairs::open(inputs, &self.filter, self.need)
    }

    fn of_share(&self, share: Share) -> Result<Pairs> {
        Pairs::of_share(share, &self.filter, self.need)
    }

    /// Opens the inputs and cuts them into shares.
    fn shares(
        &self,
        inputs: &[PathBuf],
        resources: Resources,
        response: &mut Response,
    ) -> Result<Opened> {
        timed(response, "open", || {
            let pairs = self.open(inputs)?;
            let size_bytes = pairs.size_bytes();
            let shares = pairs.shares(task_bytes(resources, size_bytes));
            Ok((Opened { shares, size_bytes, skipped: pairs.skipped() }, 0, 0))
        })
    }
}

/// State of open inputs.
struct Opened {
    /// Share of each task.
    shares: Vec<Share>,
    size_bytes: u64,
    /// Number of files or chunks without rows that pass.
    skipped: u64,
}

impl Opened {
    /// Plans a round in which each task reads its share.
    fn plan<O: Operation<Input = Share>>(&self, operation: O) -> RoundPlan<O> {
        let plan = RoundPlan::new(operation, self.shares.clone());
        RoundPlan { bytes: self.size_bytes, ceiling: Some(READ), ..plan }
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
