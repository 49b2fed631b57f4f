//! The queue of files to write back.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cuesta_runtime::parallel::lock;

/// Queue of files to write back, for a thread that does so.
#[derive(Debug, Default)]
pub struct DirtyQueue {
    state: Mutex<DirtyState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct DirtyState {
    numbers: VecDeque<u64>,
    has_ended: bool,
}

impl DirtyQueue {
    /// Adds a file at the end.
    pub fn add(&self, number: u64) {
        lock(&self.state).numbers.push_back(number);
        self.changed.notify_one();
    }

    /// Returns the next file, once there is one and `wait` is over; `None` when the thread is to
    /// end.
    pub fn next(&self, wait: Duration) -> Option<u64> {
        let begun = Instant::now();
        let mut state = lock(&self.state);
        loop {
            if state.has_ended {
                return None;
            }
            let remaining = wait.saturating_sub(begun.elapsed());
            if remaining.is_zero() {
                if let Some(number) = state.numbers.pop_front() {
                    return Some(number);
                }
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            } else {
                let waited = self.changed.wait_timeout(state, remaining);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// Ends the thread after its current file.
    pub fn end(&self) {
        lock(&self.state).has_ended = true;
        self.changed.notify_all();
    }
}
