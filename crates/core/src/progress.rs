//! Progress of a long operation, and the user's request to stop it. Shared by reference.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{Error, Result};

/// A counter of work done, which also signals workers to stop.
#[derive(Debug, Default)]
pub struct Progress {
    done: AtomicU64,
    total: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// Announces more work, in the unit the operation chooses (mostly bytes).
    pub fn expect(&self, amount: u64) {
        self.total.fetch_add(amount, Ordering::Relaxed);
    }

    /// Records work done.
    ///
    /// # Errors
    /// `Cancelled` once [`Progress::cancel`] was called.
    pub fn advance(&self, amount: u64) -> Result<()> {
        self.done.fetch_add(amount, Ordering::Relaxed);
        if self.cancelled.load(Ordering::Relaxed) { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// Raises the recorded work to `done`, where less was recorded.
    pub fn reach(&self, done: u64) {
        self.done.fetch_max(done, Ordering::Relaxed);
    }

    /// Requests all workers to stop at their next step.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Work done and work expected.
    pub fn state(&self) -> (u64, u64) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_counted_and_stops_when_cancelled() {
        let progress = Progress::default();
        progress.expect(10);
        progress.expect(5);
        assert!(progress.advance(3).is_ok());
        progress.reach(7);
        progress.reach(6);
        assert_eq!(progress.state(), (7, 15));
        progress.cancel();
        assert!(progress.advance(2).is_err());
        assert_eq!(progress.state(), (9, 15));
    }
}
