//! The workload as a single round, in which each task adds its share of the numbers.

use std::ops::Range;

use cuesta_core::job::{Request, Response};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::rounds::{Blocks, Leader, Resources, Round, Task, Worker};
use cuesta_runtime::{rounds, wire};

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
    Ok(Box::new(SumLeader { request: request.clone(), resources, is_planned: false }))
}

/// Creates a worker of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, _: Resources) -> Result<Box<dyn Worker>> {
    Ok(Box::new(SumWorker { params: run::params(request)?, request: request.clone() }))
}

struct SumLeader {
    request: Request,
    resources: Resources,
    is_planned: bool,
}

impl Leader for SumLeader {
    fn next(
        &mut self,
        outputs: Vec<Vec<u8>>,
        response: &mut Response,
        _: &Progress,
    ) -> Result<Option<Round>> {
        if self.is_planned {
            let total = outputs.first().ok_or_else(|| Error::defect("skeleton", "no total"))?;
            run::write(&self.request, wire::from_bytes(total)?, response)?;
            return Ok(None);
        }
        self.is_planned = true;
        let count = run::open(&self.request, response)?.count;
        let tasks = self.resources.task_count(count.div_ceil(TASK_NUMBERS_MIN));
        let task = |share: Range<u64>| wire::to_bytes(&(share.start, share.end));
        Ok(Some(Round {
            phase: "sum".to_owned(),
            bytes: count * NUMBER_BYTES,
            rows: count,
            ceiling: Some("file_read_warm_bytes_per_s"),
            tasks: rounds::shares(count, tasks).map(task).collect::<Result<_>>()?,
            combines: true,
            ..Round::default()
        }))
    }
}

struct SumWorker {
    request: Request,
    params: SkeletonParams,
}

impl Worker for SumWorker {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let (first, end): (u64, u64) = wire::from_bytes(task.input)?;
        let total = run::sum(&self.request, self.params, first..end, progress)?;
        Ok((wire::to_bytes(&total)?, Blocks::default()))
    }

    fn combine(&self, _: &[u8], left: Vec<u8>, right: &[u8]) -> Result<Vec<u8>> {
        let mut total: Total = wire::from_bytes(&left)?;
        total.add(wire::from_bytes(right)?);
        wire::to_bytes(&total)
    }
}
