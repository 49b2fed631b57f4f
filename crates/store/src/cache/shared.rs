//! The cache as threads share it: one lock over all decisions, and one signal.
//!
//! `schedules.rs` compiles this file a second time, over locks by which shuttle draws the order of
//! threads; so the module around it names the locks, `super::sync`.

use std::sync::PoisonError;

use super::block::BlockKey;
use super::leases::LeaseStep;
use super::policy::admission::LoadReason;
use super::residency::Residency;
use super::sync::{Condvar, Mutex, MutexGuard};

/// A residency behind a lock.
pub struct Cache {
    state: Mutex<Residency>,
    /// Signals that the work on a block has ended, well or not.
    settled: Condvar,
}

impl Cache {
    /// Creates the cache of these blocks.
    pub fn new(state: Residency) -> Self {
        Self { state: Mutex::new(state), settled: Condvar::new() }
    }

    /// Locks the decisions. No thread does I/O while it has this lock.
    pub fn lock(&self) -> MutexGuard<'_, Residency> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Residency::lease`], without [`LeaseStep::Wait`]: waits while another thread works on
    /// the block.
    pub fn lease<'a>(
        &'a self,
        mut state: MutexGuard<'a, Residency>,
        key: BlockKey,
        reason: LoadReason,
    ) -> LeaseStep {
        loop {
            match state.lease(key, reason) {
                LeaseStep::Wait => {
                    state = self.settled.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                step => return step,
            }
        }
    }

    /// Ends the work on a block, and wakes the threads that wait for it.
    pub fn settle<T>(&self, end: impl FnOnce(&mut Residency) -> T) -> T {
        let ended = end(&mut self.lock());
        self.settled.notify_all();
        ended
    }
}
