//! Tasks on threads: taken in order, the first error (in task order) wins, panics pass through.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Builder;

use cuesta_core::{Error, Result};

/// Runs `work(worker, task)` for each task in `0..tasks` on `threads` threads.
///
/// Each thread owns a `worker`; tasks are taken in ascending order. Where the system refuses a
/// thread, those that run do all tasks. After an error no higher task is started, and
/// `on_error(task)` notifies the tasks that wait for it. Returns the workers.
///
/// # Errors
/// The error of the lowest task that failed.
pub fn run<W: Send>(
    threads: usize,
    tasks: usize,
    make_worker: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, usize) -> Result<()> + Sync,
    on_error: impl Fn(usize) + Sync,
) -> Result<Vec<W>> {
    let next = AtomicUsize::new(0);
    let stop_at = AtomicUsize::new(usize::MAX);
    let failures: Mutex<Vec<(usize, Error)>> = Mutex::new(Vec::new());
    let run_thread = || {
        let mut worker = make_worker();
        loop {
            let task = next.fetch_add(1, Ordering::Relaxed);
            if task >= tasks || task >= stop_at.load(Ordering::Relaxed) {
                return worker;
            }
            if let Err(error) = work(&mut worker, task) {
                stop_at.fetch_min(task, Ordering::Relaxed);
                lock(&failures).push((task, error));
                on_error(task);
            }
        }
    };
    let workers = std::thread::scope(|scope| {
        let count = threads.clamp(1, tasks.max(1));
        let start = |_| Builder::new().spawn_scoped(scope, run_thread).ok();
        let threads: Vec<_> = (1..count).map_while(start).collect();
        let mut workers = vec![run_thread()];
        for thread in threads {
            workers.push(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        workers
    });
    let mut failures = failures.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    failures.sort_by_key(|(task, _)| *task);
    match failures.into_iter().next() {
        Some((_, error)) => Err(error),
        None => Ok(workers),
    }
}

/// Runs both functions, in parallel unless there is a single thread or the system refuses another;
/// panics pass through.
pub fn both<A: Send, B>(
    threads: usize,
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B,
) -> (A, B) {
    if threads == 1 {
        return (first(), second());
    }
    let waiting = Mutex::new(Some(first));
    let run_first = || lock(&waiting).take().map(|first| first());
    let (first, second) = std::thread::scope(|scope| {
        let Ok(thread) = Builder::new().spawn_scoped(scope, run_first) else {
            return (run_first(), second());
        };
        let second = second();
        (thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), second)
    });
    (first.expect("it is run once"), second)
}

/// Locks a mutex whose holder may have panicked; the panic is passed on elsewhere.
pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_is_done_once_with_any_number_of_threads() {
        for threads in [1, 2, 5] {
            let work = |sum: &mut usize, task| {
                *sum += task;
                Ok(())
            };
            let sums = run(threads, 100, || 0, work, |_| {}).unwrap();
            assert_eq!(sums.iter().sum::<usize>(), 4950);
        }
    }

    #[test]
    fn both_are_run_with_any_number_of_threads() {
        for threads in [1, 2] {
            let (mut first, mut second) = (0, 0);
            let sums = both(threads, || (first += 1, first).1, || (second += 2, second).1);
            assert_eq!((sums, first, second), ((1, 2), 1, 2));
        }
    }

    #[test]
    fn the_lowest_failing_task_is_reported() {
        let work = |_: &mut (), task: usize| {
            if task % 10 == 7 { Err(Error::input("test", task)) } else { Ok(()) }
        };
        for threads in [1, 3] {
            let error = run(threads, 100, || (), work, |_| {}).unwrap_err();
            assert_eq!(error.message(), "test: 7");
        }
    }
}
