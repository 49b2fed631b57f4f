//! The workload in rounds. The leader runs the code of a run ([`run_with`]) and delegates fragments
//! and vertex programs to rounds. Tasks cut shares of the reads into super-k-mers, which go to the
//! part of their bucket; the worker of a part counts and compacts it. A vertex program takes a
//! round for each superstep. Tasks also place reads and pairs on the paths of the leader.
//!
//! Workers that keep their parts divide the reads once, and sample what they have. For other
//! workers an additional round before takes a sample of the buckets.
//!
//! With the profile of the paper, engines whose shuffle takes text run its first stage as in the
//! paper.

mod divide;
mod pairs;
mod part;
mod place;
mod remote;
mod vertices;
mod worker;

use std::cell::{Cell, OnceCell};

use cuesta_core::Result;
use cuesta_core::job::{Context, Request, parameters};
use cuesta_core::pages::release_freed;
use cuesta_runtime::rounds::{Leader, Resources, Worker};
use cuesta_runtime::sequential;
use serde::{Deserialize, Serialize};

use crate::kernel::supersteps::control::SuperstepOrder;
use crate::params::AssembleParams;
use crate::run::run_with;
use crate::stages::workers::LevelParams;
use cuesta_input::reads::shares::Share;
use divide::BucketPartitioner;
use place::PlaceShare;
use remote::RemoteWorkers;

/// Instructions to all tasks and parts of a round.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum RoundOrder {
    /// Tasks send super-k-mers to the parts, which carry out the action.
    Divide(LevelParams, BucketPartitioner, PartAction),
    /// Tasks send pairs of k-mers as text to this many parts, which make vertices of them.
    Pairs(LevelParams, usize, Step),
    /// Parts count and compact the super-k-mers that they have stored.
    Compact(LevelParams, BucketPartitioner, Step),
    /// Tasks send stored messages, or vertices, to the parts, which run a superstep.
    Superstep(Vertices, SuperstepOrder),
    /// Tasks return the remaining vertices.
    Remaining(Vertices),
    /// Tasks count the records of a share.
    Count,
    /// Tasks place reads on paths of k-mers of this size, which follow these instructions.
    Place(usize),
}

/// Action of parts on their super-k-mers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum PartAction {
    /// Count a sample of the k-mers, and drop them.
    Sample,
    /// Keep them, and count a sample where the cutoff is unknown.
    Keep,
    /// Count and compact them.
    Compact(Step),
}

/// Number of a round in which parts store vertices or messages.
type Step = u64;

/// Vertices of a graph that is distributed over parts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Vertices {
    k: usize,
    parts: usize,
    /// Number of this round; values of the last round are stored under the number before.
    step: Step,
}

/// Input of a single task.
#[derive(Debug, Serialize, Deserialize)]
enum TaskInput {
    /// Reads to divide.
    Reads(Share),
    /// Solid sequences to divide.
    Solid(Vec<u8>),
    /// Vertices for the part with the number of the task.
    Vertices(Vec<u8>),
    /// Stored data of the part with the number of the task.
    Stored,
    /// Reads to place.
    Place(PlaceShare),
}

/// Returns the leader of a run in rounds.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    request.require_inputs()?;
    let _: AssembleParams = parameters(&request.parameters)?;
    let mut request = request.clone();
    if resources.keeps {
        // The process that does tasks is idle while it leads.
        request.threads = resources.slots;
    }
    Ok(sequential::leader(move |rounds| {
        let context = Context::new(&request, rounds.progress());
        let steps = Cell::new(0);
        let records = OnceCell::new();
        let remote = RemoteWorkers {
            rounds,
            context: &context,
            resources,
            steps: &steps,
            records: &records,
        };
        let mut response = run_with(&context, &remote)?;
        response.counts.insert("parts", remote.parts(usize::MAX)? as u64);
        Ok(response)
    }))
}

/// Returns the worker for the tasks of a run; it keeps parts in memory if `resources` route a part
/// to the same worker each time.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, resources: Resources) -> Result<Box<dyn Worker>> {
    let _: AssembleParams = parameters(&request.parameters)?;
    release_freed();
    Ok(Box::new(worker::Work::new(request.clone(), resources)))
}
