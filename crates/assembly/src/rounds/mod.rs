//! The workload in rounds. The leader is the code of a run ([`run_with`]), which has fragments and
//! vertex programs done in rounds: tasks cut shares of the reads into super-k-mers, which go to the
//! part of their bucket; whoever has all of a part counts and compacts it. A vertex program goes
//! in a round for each superstep. Tasks place reads and pairs on the paths that the leader has.
//!
//! Workers that keep their parts divide the reads once, and sample what they have. For others a
//! sample of the buckets goes through a round of its own before.
//!
//! With the profile of the paper, engines whose shuffle takes text have its first stage as it was.

mod divide;
mod pairs;
mod part;
mod place;
mod remote;
mod vertices;
mod worker;

use std::cell::{Cell, OnceCell};

use cuesta_core::Result;
use cuesta_core::budget::Budget;
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

/// What all of a round are told.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum RoundOrder {
    /// Send super-k-mers to the parts, which do something with them.
    Divide(LevelParams, BucketPartitioner, PartAction),
    /// Send pairs of k-mers as text to so many parts, which make vertices of them.
    Pairs(LevelParams, usize, Step),
    /// Count and compact a part that was kept.
    Compact(LevelParams, BucketPartitioner, Step),
    /// Send what was sent in the step before, or vertices, to the parts, which do a superstep.
    Superstep(Vertices, SuperstepOrder),
    /// Tell what is left of the vertices.
    Remaining(Vertices),
    /// Count the records of a share.
    Count,
    /// Place reads on paths of k-mers of this size, which come after this.
    Place(usize),
}

/// What parts do with their super-k-mers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum PartAction {
    /// Count a sample of the k-mers, and forget them.
    Sample,
    /// Keep them, and count a sample where the smallest count is not known.
    Keep,
    /// Count and compact them.
    Compact(Step),
}

/// The number of a round in which parts keep vertices or messages.
type Step = u64;

/// The vertices of a graph that is spread over parts.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Vertices {
    k: usize,
    parts: usize,
    /// The number of this round; what the last one kept has the number before.
    step: Step,
}

/// What a task has for itself.
#[derive(Debug, Serialize, Deserialize)]
enum TaskInput {
    /// Reads to divide.
    Reads(Share),
    /// Solid sequences to divide.
    Solid(Vec<u8>),
    /// Vertices for the part of the number of the task.
    Vertices(Vec<u8>),
    /// What the part of the number of the task has kept.
    Stored,
    /// Reads to place.
    Place(PlaceShare),
}

/// What leads a run in rounds.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    request.require_inputs()?;
    let _: AssembleParams = parameters(&request.parameters)?;
    let mut request = request.clone();
    if resources.keeps {
        // Whoever does tasks is idle while it leads.
        request.threads = resources.slots;
    }
    Ok(sequential::leader(move |rounds| {
        let budget = Budget::new(request.memory_bytes);
        let context = Context { request: &request, budget: &budget, progress: rounds.progress() };
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

/// What does the tasks of a run; it keeps parts in memory where `resources` let it find them again.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, resources: Resources) -> Result<Box<dyn Worker>> {
    let _: AssembleParams = parameters(&request.parameters)?;
    release_freed();
    Ok(Box::new(worker::Work::new(request.clone(), resources)))
}
