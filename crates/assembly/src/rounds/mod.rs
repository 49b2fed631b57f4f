//! The workload in rounds. The leader runs the code of a run ([`run_with`]) and delegates fragments
//! and vertex programs to rounds. Tasks cut shares of the reads into super-k-mers, which go to the
//! part of their bucket; the worker of a part counts and compacts it. A vertex program takes a
//! round for each superstep. Tasks also place reads and pairs on the paths of the leader.
//!
//! Workers that keep their parts divide the reads once, and sample what they have. For other
//! workers an additional round before takes a sample of the buckets.
//!
//! On engines whose shuffle takes text, a method may have a first stage of text.

mod compact;
mod count;
mod divide;
mod inputs;
mod part;
mod place;
mod remaining;
mod remote;
mod sample;
mod shares;
mod superstep;
mod text;
mod vertices;
mod worker;

use std::cell::{Cell, OnceCell};
use std::marker::PhantomData;

use cuesta_core::Result;
use cuesta_core::job::{Context, Request};
use cuesta_core::pages::release_freed;
use cuesta_runtime::operation::OperationWorker;
use cuesta_runtime::rounds::{Leader, Resources, Worker};
use cuesta_runtime::sequential;

use crate::method::{Method, parameters};
use crate::run::run_with;
use compact::{CompactReads, CompactStored};
use count::CountRecords;
use place::PlaceReads;
use remaining::ReturnVertices;
use remote::RemoteWorkers;
use sample::SampleReads;
use superstep::RunSuperstep;
use text::CompactText;
use worker::WorkerParts;

/// Number of a round in which parts store vertices or messages.
type Step = u64;

/// Returns the leader of a run in rounds.
///
/// # Errors
/// `Input` naming the option.
pub fn lead<M: Method>(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    request.require_inputs()?;
    parameters::<M>(&request.parameters)?;
    let mut request = request.clone();
    if resources.keeps {
        // The process that does tasks is idle while it leads.
        request.threads = resources.slots;
    }
    Ok(sequential::leader(move |rounds| {
        let context = Context::new(&request, rounds.progress());
        let steps = Cell::new(0);
        let records = OnceCell::new();
        let remote = RemoteWorkers::<M> {
            rounds,
            context: &context,
            resources,
            steps: &steps,
            records: &records,
            method: PhantomData,
        };
        let mut response = run_with::<M>(&context, &remote)?;
        response.counts.insert("parts", remote.parts(usize::MAX)? as u64);
        Ok(response)
    }))
}

/// Returns the worker for the tasks of a run; it keeps parts in memory if `resources` route a part
/// to the same worker each time.
///
/// # Errors
/// `Input` naming the option.
pub fn work<M: Method>(request: &Request, resources: Resources) -> Result<Box<dyn Worker>> {
    parameters::<M>(&request.parameters)?;
    release_freed();
    let worker = OperationWorker::new(request, WorkerParts::new(request, resources));
    let worker = worker.with::<SampleReads>().with::<CompactReads>().with::<CompactStored>();
    let worker = worker.with::<CompactText<M>>().with::<RunSuperstep<M::Program>>();
    let worker = worker.with::<ReturnVertices>();
    Ok(worker.with::<CountRecords>().with::<PlaceReads>().boxed())
}
