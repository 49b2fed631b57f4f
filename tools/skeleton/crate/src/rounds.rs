//! The workload in rounds: one of them, in which every task adds its share of the numbers.

use std::ops::Range;

use cuesta_core::job::{Request, Response};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::rounds::{Blocks, Leader, Means, Round, Task, Worker};
use cuesta_runtime::{rounds, wire};

use crate::kernel::Total;
use crate::numbers::NUMBER_BYTES;
use crate::params::SkeletonParams;
use crate::run;

/// Least numbers of a task.
const TASK_NUMBERS_MIN: u64 = 1 << 17;

/// The leader of a run in rounds.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, means: Means) -> Result<Box<dyn Leader>> {
    run::params(request)?;
    Ok(Box::new(Steps { request: request.clone(), means, is_planned: false }))
}

/// The worker that runs the tasks of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, _: Means) -> Result<Box<dyn Worker>> {
    Ok(Box::new(Work { params: run::params(request)?, request: request.clone() }))
}

struct Steps {
    request: Request,
    means: Means,
    is_planned: bool,
}

impl Leader for Steps {
    fn next(
        &mut self,
        results: Vec<Vec<u8>>,
        response: &mut Response,
        _: &Progress,
    ) -> Result<Option<Round>> {
        if self.is_planned {
            let total = results.first().ok_or_else(|| Error::defect("skeleton", "no total"))?;
            run::write(&self.request, wire::from_bytes(total)?, response)?;
            return Ok(None);
        }
        self.is_planned = true;
        let count = run::open(&self.request, response)?.count;
        let tasks = self.means.tasks(count.div_ceil(TASK_NUMBERS_MIN));
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

struct Work {
    request: Request,
    params: SkeletonParams,
}

impl Worker for Work {
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
