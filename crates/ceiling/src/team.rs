//! Threads that start together, and the timing of their work.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use cuesta_core::{Error, Result};

use crate::Request;

/// Returns the units a second of each repeat, over all threads.
///
/// `make` prepares the worker of a thread, on that thread, so that its memory is local. A worker
/// does the requested number of passes and returns the units it moved. The number of passes is
/// chosen so that a repeat lasts `seconds_min`; the repeats that determine it also warm up.
pub fn rates<W, M>(request: &Request, make: M) -> Result<Vec<f64>>
where
    M: Fn(usize) -> Result<W> + Sync,
    W: FnMut(usize) -> Result<u64>,
{
    let team = Team::new(request.threads);
    thread::scope(|scope| {
        for index in 0..request.threads {
            let (team, make) = (&team, &make);
            scope.spawn(move || team.work(index, make));
        }
        let rates = team.lead(request);
        team.passes.store(STOP, Ordering::SeqCst);
        team.gate.wait();
        rates
    })
}

/// Number of passes that tells a thread to end.
const STOP: usize = usize::MAX;
/// Most passes of a repeat.
const PASSES_MAX: usize = 1 << 30;

struct Team {
    gate: Barrier,
    passes: AtomicUsize,
    /// Units of the last repeat, or the first error.
    units: Mutex<Result<u64>>,
}

impl Team {
    fn new(threads: usize) -> Self {
        Self {
            gate: Barrier::new(threads + 1),
            passes: AtomicUsize::new(0),
            units: Mutex::new(Ok(0)),
        }
    }

    fn lead(&self, request: &Request) -> Result<Vec<f64>> {
        let mut passes = 1;
        self.gate.wait();
        loop {
            let (seconds, _) = self.repeat(passes)?;
            if seconds >= request.seconds_min || passes == PASSES_MAX {
                break;
            }
            let factor = (1.2 * request.seconds_min / seconds.max(1e-9)).min(16.0);
            passes = ((passes as f64 * factor).ceil() as usize).clamp(passes + 1, PASSES_MAX);
        }
        let mut rates = Vec::with_capacity(request.repeats);
        for _ in 0..request.repeats {
            let (seconds, units) = self.repeat(passes)?;
            rates.push(units as f64 / seconds.max(1e-9));
        }
        Ok(rates)
    }

    fn repeat(&self, passes: usize) -> Result<(f64, u64)> {
        self.passes.store(passes, Ordering::SeqCst);
        // The clock starts before the gate: behind it, on a busy machine, this thread may be the
        // last to continue.
        let start = Instant::now();
        self.gate.wait();
        self.gate.wait();
        let seconds = start.elapsed().as_secs_f64();
        let mut units = self.units.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((seconds, std::mem::replace(&mut *units, Ok(0))?))
    }

    fn work<W, M>(&self, index: usize, make: &M)
    where
        M: Fn(usize) -> Result<W>,
        W: FnMut(usize) -> Result<u64>,
    {
        let mut worker = make(index);
        self.gate.wait();
        loop {
            self.gate.wait();
            let passes = self.passes.load(Ordering::SeqCst);
            if passes == STOP {
                return;
            }
            let moved = match &mut worker {
                Ok(worker) => worker(passes),
                Err(error) => Err(error.clone()),
            };
            self.add(moved);
            self.gate.wait();
        }
    }

    fn add(&self, moved: Result<u64>) {
        let mut units = self.units.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(sum) = &mut *units {
            match moved {
                Ok(more) => *sum += more,
                Err(error) => *units = Err(error),
            }
        }
    }
}

/// Returns an even share of `total` for a thread, rounded down to a multiple of `grain`.
pub fn share(total: u64, threads: usize, grain: u64) -> Result<u64> {
    let part = total / threads as u64 / grain * grain;
    if part == 0 {
        return Err(Error::input(
            "ceiling",
            format!("bytes is {total}, {threads} threads need at least {}", grain * threads as u64),
        ));
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(threads: usize) -> Request {
        Request { threads, repeats: 4, seconds_min: 0.001, bytes: 0, path: Default::default() }
    }

    #[test]
    fn units_of_all_threads_add_up() {
        let rates = rates(&request(3), |_| {
            Ok(|passes: usize| {
                thread::sleep(std::time::Duration::from_millis(2));
                Ok(passes as u64 * 1000)
            })
        })
        .unwrap();
        assert_eq!(rates.len(), 4);
        for rate in rates {
            assert!(rate <= 3000.0 / 0.002, "{rate}");
            assert!(rate > 3000.0 / 2.0, "{rate}");
        }
    }

    #[test]
    fn a_failing_thread_fails_the_measurement_and_ends_all_threads() {
        let failed = rates(&request(3), |index| {
            Ok(
                move |_: usize| {
                    if index == 1 { Err(Error::input("ceiling", "broken")) } else { Ok(1) }
                },
            )
        });
        assert_eq!(failed.unwrap_err().message(), "ceiling: broken");
    }

    #[test]
    fn a_thread_that_cannot_prepare_fails_the_measurement() {
        let failed = rates(&request(2), |index| {
            if index == 0 { Ok(|_: usize| Ok(1)) } else { Err(Error::cancelled()) }
        });
        assert_eq!(failed.unwrap_err(), Error::cancelled());
    }
}
