//! The workload as a single round, in which each task adds its share of the numbers.

use std::ops::Range;

use cuesta_core::job::{Request, Response};
use cuesta_core::{Error, Result};
use cuesta_runtime::operation::{
    Operation, OperationWorker, RoundPlan, TaskContext, TaskOutcome, TaskResult,
};
use cuesta_runtime::rounds::{self, Leader, Resources, Worker};
use cuesta_runtime::sequential;
use serde::{Deserialize, Serialize};

use crate::kernel::Total;
use crate::numbers::NUMBER_BYTES;
use crate::params::SkeletonParams;
use crate::run;

/// Least numbers of a task.
const TASK_NUMBERS_MIN: u64 = 1 << 17;

/// Creates the leader of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    run::params(request)?;
    let request = request.clone();
    Ok(sequential::leader(move |rounds| {
        let mut response = Response::default();
        let count = run::open(&request, &mut response)?.count;
        let tasks = resources.task_count(count.div_ceil(TASK_NUMBERS_MIN));
        let plan = RoundPlan {
            bytes: count * NUMBER_BYTES,
            rows: count,
            ceiling: Some("file_read_warm_bytes_per_s"),
            ..RoundPlan::new(AddNumbers, rounds::shares(count, tasks).collect())
        };
        let total = rounds.combined(plan, &mut response)?;
        let total = total.ok_or_else(|| Error::defect("skeleton", "no total"))?;
        run::write(&request, total, &mut response)?;
        Ok(response)
    }))
}

/// Creates a worker of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, _: Resources) -> Result<Box<dyn Worker>> {
    let params = run::params(request)?;
    Ok(OperationWorker::new(request, params).with::<AddNumbers>().boxed())
}

/// Adds a range of the numbers.
#[derive(Serialize, Deserialize)]
struct AddNumbers;

impl Operation for AddNumbers {
    const NAME: &'static str = "sum";
    type State = SkeletonParams;
    type Input = Range<u64>;
    type Output = Total;

    fn task(
        self,
        numbers: Range<u64>,
        context: TaskContext<'_, SkeletonParams>,
    ) -> TaskOutcome<Self> {
        let TaskContext { request, progress, state, .. } = context;
        run::sum(request, *state, numbers, progress).map(TaskResult::Output)
    }

    fn combine(mut left: Total, right: Total) -> Result<Total> {
        left.add(right);
        Ok(left)
    }
}
