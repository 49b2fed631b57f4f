//! Leaders written as sequential code: a function that runs rounds one after the other, as if it
//! called them.
//!
//! The function runs on its own thread, which waits while an engine runs a round; the leader waits
//! while the function works.

use std::mem;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use cuesta_core::job::{Phase, Response};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

use crate::rounds::{Leader, Round};

/// Interval at which a leader that waits for its function checks whether the run was stopped.
const TICK: Duration = Duration::from_millis(20);

/// Results of the tasks or parts of a round.
type RoundResults = Vec<Vec<u8>>;

/// Handle by which the function of a leader runs rounds.
#[derive(Debug)]
pub struct Rounds {
    planned: Sender<(Round, Vec<Phase>)>,
    results: Receiver<RoundResults>,
    progress: Arc<Progress>,
}

impl Rounds {
    /// Progress of the function, which is cancelled when the run is stopped.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Runs a round; returns its results. The phases of `response` precede that of the round.
    ///
    /// # Errors
    /// `Cancelled` when the run has ended.
    pub(crate) fn round(&self, round: Round, response: &mut Response) -> Result<RoundResults> {
        let phases = mem::take(&mut response.phases);
        self.planned.send((round, phases)).map_err(|_| Error::cancelled())?;
        self.results.recv().map_err(|_| Error::cancelled())
    }
}

/// A leader that executes `run`, which returns its last phases and the counts. The thread ends with
/// the leader at the latest.
pub fn leader<F>(run: F) -> Box<dyn Leader>
where
    F: FnOnce(&Rounds) -> Result<Response> + Send + 'static,
{
    Box::new(Sequential { run: Some(run), running: None })
}

struct Sequential<F> {
    /// The function, before the first round.
    run: Option<F>,
    running: Option<Running>,
}

impl<F: FnOnce(&Rounds) -> Result<Response> + Send + 'static> Leader for Sequential<F> {
    fn next(
        &mut self,
        results: RoundResults,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Option<Round>> {
        if let Some(run) = self.run.take() {
            self.running = Some(Running::start(run)?);
        } else if let Some(running) = &self.running {
            // A function that does not wait has ended, which is reported below.
            let _ = running.results.as_ref().map(|sender| sender.send(results));
        }
        let ended = || Error::defect("rounds", "a run that has ended has no more rounds");
        let running = self.running.as_mut().ok_or_else(ended)?;
        if let Some((round, phases)) = running.planned(progress) {
            response.phases.extend(phases);
            progress.advance(0)?;
            return Ok(Some(round));
        }
        let thread = self.running.take().and_then(|mut running| running.thread.take());
        let outcome = thread.ok_or_else(ended)?.join();
        let last = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        response.phases.extend(last.phases);
        response.counts.extend(last.counts);
        Ok(None)
    }
}

/// A function under way.
struct Running {
    planned: Receiver<(Round, Vec<Phase>)>,
    /// `None` once the function must end.
    results: Option<Sender<RoundResults>>,
    progress: Arc<Progress>,
    thread: Option<JoinHandle<Result<Response>>>,
}

impl Running {
    fn start(run: impl FnOnce(&Rounds) -> Result<Response> + Send + 'static) -> Result<Self> {
        let ((plan_sender, plan_receiver), (result_sender, result_receiver)) =
            (channel(), channel());
        let progress = Arc::new(Progress::default());
        let progress_of_function = Arc::clone(&progress);
        let rounds = Rounds {
            planned: plan_sender,
            results: result_receiver,
            progress: progress_of_function,
        };
        let thread = thread::Builder::new().name("leader".to_owned()).spawn(move || run(&rounds));
        let thread = thread.map_err(|cause| {
            Error::input("rounds", format!("no thread for the leader: {cause}"))
        })?;
        Ok(Self {
            planned: plan_receiver,
            results: Some(result_sender),
            progress,
            thread: Some(thread),
        })
    }

    /// The next round and the phases before it; `None` if the function has ended.
    fn planned(&self, progress: &Progress) -> Option<(Round, Vec<Phase>)> {
        loop {
            match self.planned.recv_timeout(TICK) {
                Ok(planned) => return Some(planned),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    if progress.advance(0).is_err() {
                        self.progress.cancel();
                    }
                }
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.progress.cancel();
        self.results = None;
        if let Some(thread) = self.thread.take() {
            // No caller waits for its result.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::operation::{
        self, Operation, OperationWorker, RoundPlan, TaskContext, TaskOutcome, TaskResult,
    };
    use crate::rounds::RandomEngine;
    use cuesta_core::job::{self, timed};
    use cuesta_core::random::Stream;
    use serde::{Deserialize, Serialize};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// Doubles the number of its task.
    #[derive(Serialize, Deserialize)]
    struct Double;

    impl Operation for Double {
        const NAME: &'static str = "double";
        type State = ();
        type Input = u8;
        type Output = u8;

        fn task(self, input: u8, _: TaskContext<'_, ()>) -> TaskOutcome<Self> {
            Ok(TaskResult::Output(2 * input))
        }
    }

    fn round(numbers: &[u8]) -> RoundPlan<Double> {
        RoundPlan::new(Double, numbers.to_vec())
    }

    /// Doubles numbers until one is above 100; counts the rounds.
    fn doubled(rounds: &Rounds) -> Result<Response> {
        let mut response = Response::default();
        let (mut numbers, mut count) = (vec![1, 2, 3], 0);
        while numbers.iter().all(|&number| number <= 100) {
            timed(&mut response, "before", || Ok(((), 0, count)))?;
            numbers = rounds.run(round(&numbers), &mut response)?;
            count += 1;
        }
        timed(&mut response, "end", || Ok(((), 0, 0)))?;
        response.counts.insert("rounds", count);
        Ok(response)
    }

    #[test]
    fn a_function_has_its_rounds_done_and_its_phases_are_in_order() {
        let request = job::request(operation::tests::REQUEST).unwrap();
        let worker = || Ok(OperationWorker::new(&request, ()).with::<Double>().boxed());
        let engine = RandomEngine { worker: &worker, chance: Stream::new(1, 2) };
        let response = engine.run(leader(doubled).as_mut(), &Progress::default()).unwrap();
        assert_eq!(response.counts["rounds"], 6);
        let names: Vec<_> = response.phases.iter().map(|phase| &phase.name[..]).collect();
        assert_eq!(names, [&["before"; 6][..], &["end"]].concat());
        let before: Vec<u64> = response.phases.iter().map(|phase| phase.rows).collect();
        assert_eq!(before, [0, 1, 2, 3, 4, 5, 0]);
    }

    #[test]
    fn phases_come_with_the_round_that_follows_them() {
        let (mut leader, progress) = (leader(doubled), Progress::default());
        let mut response = Response::default();
        leader.next(Vec::new(), &mut response, &progress).unwrap().unwrap();
        assert_eq!(response.phases.len(), 1);
        leader.next(vec![vec![101]], &mut response, &progress).unwrap();
        assert_eq!(response.phases.len(), 2);
        let error = leader.next(Vec::new(), &mut response, &progress).unwrap_err();
        assert!(error.message().contains("has no more rounds"), "{}", error.message());
    }

    #[test]
    fn an_error_ends_the_run_once() {
        let mut leader = leader(|rounds: &Rounds| {
            rounds.run(round(&[1]), &mut Response::default())?;
            Err(Error::input("test", "bad reads"))
        });
        let (mut response, progress) = (Response::default(), Progress::default());
        leader.next(Vec::new(), &mut response, &progress).unwrap().unwrap();
        let error = leader.next(vec![vec![2]], &mut response, &progress).unwrap_err();
        assert_eq!(error.message(), "test: bad reads");
        assert!(leader.next(Vec::new(), &mut response, &progress).is_err());
    }

    #[test]
    #[should_panic(expected = "a bug of the leader")]
    fn a_panic_passes_through() {
        let mut leader = leader(|_: &Rounds| panic!("a bug of the leader"));
        let _ = leader.next(Vec::new(), &mut Response::default(), &Progress::default());
    }

    /// Sets a flag when it is dropped, which is when its thread has ended.
    struct Ended(Arc<AtomicBool>);

    impl Drop for Ended {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_dropped_leader_ends_its_thread() {
        let ended = Arc::new(AtomicBool::new(false));
        let guard = Ended(Arc::clone(&ended));
        let mut leader = leader(move |rounds: &Rounds| {
            let _guard = guard;
            rounds.run(round(&[1]), &mut Response::default())?;
            Ok(Response::default())
        });
        let mut response = Response::default();
        leader.next(Vec::new(), &mut response, &Progress::default()).unwrap().unwrap();
        assert!(!ended.load(Ordering::SeqCst));
        drop(leader);
        assert!(ended.load(Ordering::SeqCst));
    }

    #[test]
    fn a_run_that_is_stopped_stops_its_function() {
        let mut leader = leader(|rounds: &Rounds| {
            loop {
                rounds.progress().advance(1)?;
                thread::sleep(Duration::from_millis(1));
            }
        });
        let progress = Progress::default();
        progress.cancel();
        let next = leader.next(Vec::new(), &mut Response::default(), &progress);
        assert_eq!(next.unwrap_err(), Error::cancelled());
    }
}
