//! Runs the workload on threads: a chunk of the numbers is a task.

use std::ops::Range;

use cuesta_core::Result;
use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_runtime::parallel;

use crate::kernel::{self, Total};
use crate::numbers::{NUMBER_BYTES, Numbers};
use crate::params::SkeletonParams;
use crate::table;

/// Numbers that a thread reads at once.
const CHUNK: u64 = 1 << 15;

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(request: &Request, progress: &Progress) -> Result<Response> {
    let params = params(request)?;
    let mut response = Response::default();
    let numbers = open(request, &mut response)?;
    let total = timed(&mut response, "sum", || {
        let total = sum(request, params, 0..numbers.count, progress)?;
        Ok((total, numbers.count * NUMBER_BYTES, numbers.count))
    })?;
    write(request, total, &mut response)?;
    Ok(response)
}

/// The checked parameters of a request.
///
/// # Errors
/// `Input` naming the option.
pub fn params(request: &Request) -> Result<SkeletonParams> {
    request.require_inputs()?;
    let params: SkeletonParams = parameters(&request.parameters)?;
    params.check()?;
    Ok(params)
}

/// Opens the numbers.
///
/// # Errors
/// `Input`, `System`.
pub fn open(request: &Request, response: &mut Response) -> Result<Numbers> {
    timed(response, "open", || Ok((Numbers::open(&request.inputs)?, 0, 0)))
}

/// The total of some numbers.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn sum(
    request: &Request,
    params: SkeletonParams,
    range: Range<u64>,
    progress: &Progress,
) -> Result<Total> {
    let numbers = Numbers::open(&request.inputs)?;
    let room_bytes = request.threads as u64 * 2 * CHUNK * NUMBER_BYTES;
    let _lease = request.budget.take(room_bytes, "numbers that are read at once")?;
    progress.expect((range.end - range.start) * NUMBER_BYTES);
    let make = || (Total::default(), Vec::new(), Vec::new());
    let task = |worker: &mut (Total, Vec<u8>, Vec<u64>), task: usize| {
        let (total, room, words) = worker;
        let first = range.start + task as u64 * CHUNK;
        let end = range.end.min(first + CHUNK);
        numbers.read(first..end, room, |bytes| {
            words.clear();
            words.extend(bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)));
            total.add(kernel::total(words, params.least));
            Ok(())
        })?;
        progress.advance((end - first) * NUMBER_BYTES)
    };
    let tasks = (range.end - range.start).div_ceil(CHUNK) as usize;
    let mut total = Total::default();
    for (part, ..) in parallel::run(request.threads, tasks, make, task, |_| {})? {
        total.add(part);
    }
    Ok(total)
}

/// Writes the answer, and counts it.
///
/// # Errors
/// `System`.
pub fn write(request: &Request, total: Total, response: &mut Response) -> Result<()> {
    timed(response, "write", || Ok(((), table::write(&request.output, total)?, 1)))?;
    response.counts.insert("numbers", total.count);
    Ok(())
}
