//! An engine whose workers keep what they have, as MPI's ranks do: tasks and parts of one number
//! are always done by the same one.

use cuesta_core::Result;
use cuesta_core::job::Response;
use cuesta_core::progress::Progress;
use cuesta_runtime::rounds::{Blocks, Leader, Round, Task, Worker};

/// Goes through all rounds with as many workers as there are; the response of the leader.
///
/// # Errors
/// Those of the leader and of the workers.
pub fn run(leader: &mut dyn Leader, workers: &mut [Box<dyn Worker>]) -> Result<Response> {
    let progress = Progress::default();
    let (mut response, mut found) = (Response::default(), Vec::new());
    while let Some(round) = leader.next(found, &mut response, &progress)? {
        found = done(&round, workers, &progress)?;
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
    let (mut found, mut sent): (Vec<Vec<u8>>, Vec<Blocks>) = (Vec::new(), Vec::new());
    for (number, own) in round.tasks.iter().enumerate() {
        let (one, blocks) = workers[number % ranks].task(of(number, own), progress)?;
        found.push(one);
        sent.push(blocks);
    }
    if round.parts > 0 {
        assert!(round.parts <= ranks, "{} parts for {ranks} workers", round.parts);
        found.clear();
        for (part, worker) in workers.iter_mut().enumerate().take(round.parts) {
            // The blocks of as many tasks as there are ranks come as one.
            for (wave, some) in sent.chunks(ranks).enumerate() {
                let blocks =
                    some.iter().map(|blocks| blocks.of_part(part)).collect::<Vec<_>>().concat();
                if !blocks.is_empty() {
                    worker.take(of(part, &[]), wave * ranks, Box::new(blocks))?;
                }
            }
            found.push(worker.part(of(part, &[]), progress)?);
        }
    }
    if !round.combines {
        return Ok(found);
    }
    let mut all = found.into_iter();
    let first = all.next().into_iter();
    first
        .map(|one| all.try_fold(one, |one, other| workers[0].combine(&round.shared, one, &other)))
        .collect()
}
