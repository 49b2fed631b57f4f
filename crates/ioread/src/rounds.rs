//! The workload as a single round, in which each task reads its share of the requests.

use std::ops::Range;

use cuesta_core::Result;
use cuesta_core::job::{Request, Response};
use cuesta_runtime::operation::{
    Operation, OperationWorker, RoundPlan, TaskContext, TaskOutcome, TaskResult,
};
use cuesta_runtime::rounds::{self, Leader, Resources, Worker};
use cuesta_runtime::sequential;
use serde::{Deserialize, Serialize};

use crate::files::Files;
use crate::part::{self, ReadPart};
use crate::run;

/// Creates the leader of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    run::params(request)?;
    let request = request.clone();
    Ok(sequential::leader(move |rounds| {
        let mut response = Response::default();
        let files = run::open(&request, &mut response)?;
        let most = files.size_bytes.div_ceil(run::TASK_BYTES).min(files.requests);
        let shares = rounds::shares(files.requests, resources.task_count(most));
        let plan = RoundPlan {
            bytes: files.size_bytes,
            rows: files.requests,
            ceiling: Some("file_read_warm_bytes_per_s"),
            ..RoundPlan::new(ReadRequests, shares.collect())
        };
        let mut parts = Vec::new();
        for more in rounds.run(plan, &mut response)? {
            part::extend(&mut parts, &more);
        }
        run::write(&request, &part::of_all_files(&parts, files.count()), &mut response)?;
        Ok(response)
    }))
}

/// Creates a worker of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, _: Resources) -> Result<Box<dyn Worker>> {
    let files = Files::open(&request.inputs, run::params(request)?)?;
    Ok(OperationWorker::new(request, files).with::<ReadRequests>().boxed())
}

/// Performs a range of the requests.
#[derive(Serialize, Deserialize)]
struct ReadRequests;

impl Operation for ReadRequests {
    const NAME: &'static str = "read";
    type State = Files;
    type Input = Range<u64>;
    type Output = Vec<ReadPart>;

    fn task(self, requests: Range<u64>, context: TaskContext<'_, Files>) -> TaskOutcome<Self> {
        let TaskContext { request, progress, state, .. } = context;
        run::read(state, requests, request, run::at_once, progress).map(TaskResult::Output)
    }
}
