//! An engine whose workers retain their state, like MPI's ranks: tasks and parts of a number are
//! always run by the same worker.

use cuesta_core::Result;
use cuesta_core::job::Response;
use cuesta_core::progress::Progress;
use cuesta_runtime::blocks::Blocks;
use cuesta_runtime::rounds::{Leader, Round, Task, Worker};

/// Runs all rounds on these workers; returns the response of the leader.
///
/// # Errors
/// Errors of the leader and of the workers.
pub fn run(leader: &mut dyn Leader, workers: &mut [Box<dyn Worker>]) -> Result<Response> {
    let progress = Progress::default();
    let (mut response, mut outputs) = (Response::default(), Vec::new());
    while let Some(round) = leader.next(outputs, &mut response, &progress)? {
        outputs = done(&round, workers, &progress)?;
    }
    Ok(response)
}

fn done(
    round: &Round,
    workers: &mut [Box<dyn Worker>],
    progress: &Progress,
) -> Result<Vec<Vec<u8>>> {
    let ranks = workers.len();
    let of = |number, input| Task { number, shared: &round.shared, input };
    let (mut outputs, mut sent): (Vec<Vec<u8>>, Vec<Blocks>) = (Vec::new(), Vec::new());
    for (number, input) in round.tasks.iter().enumerate() {
        let (output, blocks) = workers[number % ranks].task(of(number, input), progress)?;
        outputs.push(output);
        sent.push(blocks);
    }
    if round.parts > 0 {
        assert!(round.parts <= ranks, "{} parts for {ranks} workers", round.parts);
        outputs.clear();
        for (part, worker) in workers.iter_mut().enumerate().take(round.parts) {
            // The blocks of as many tasks as there are ranks arrive together.
            for (wave, some) in sent.chunks(ranks).enumerate() {
                let blocks =
                    some.iter().map(|blocks| blocks.of_part(part)).collect::<Vec<_>>().concat();
                if !blocks.is_empty() {
                    worker.take(of(part, &[]), wave * ranks, Box::new(blocks))?;
                }
            }
            outputs.push(worker.part(of(part, &[]), progress)?);
        }
    }
    if !round.combines {
        return Ok(outputs);
    }
    let mut all = outputs.into_iter();
    let first = all.next().into_iter();
    first
        .map(|combined| {
            all.try_fold(combined, |combined, next| {
                workers[0].combine(&round.shared, combined, &next)
            })
        })
        .collect()
}
