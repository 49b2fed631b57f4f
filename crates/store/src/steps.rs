//! Counted operations, of which a test has one fail, or all from one on: as after a kill.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Operations of one store, counted. By default none fails.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    done: Arc<AtomicU64>,
    /// From 1 on; 0 is none.
    failing: Arc<AtomicU64>,
    /// From 1 on; 0 is none.
    last: Arc<AtomicU64>,
}

impl Steps {
    /// From now on, the `number`-th operation fails; with 0 none does.
    pub fn fail(&self, number: u64) {
        self.failing.store(number, Ordering::SeqCst);
        self.last.store(0, Ordering::SeqCst);
        self.done.store(0, Ordering::SeqCst);
    }

    /// From now on, so many operations are done and none after them.
    pub fn die_after(&self, number: u64) {
        self.failing.store(0, Ordering::SeqCst);
        self.last.store(number + 1, Ordering::SeqCst);
        self.done.store(0, Ordering::SeqCst);
    }

    /// Operations since [`fail`](Self::fail) or [`die_after`](Self::die_after).
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::SeqCst)
    }

    /// Whether no operation is done any more.
    pub fn is_dead(&self) -> bool {
        let last = self.last.load(Ordering::SeqCst);
        last > 0 && self.done() + 1 >= last
    }

    /// Counts an operation that is about to be done.
    ///
    /// # Errors
    /// `Other` where it is not to be done.
    pub fn step(&self) -> io::Result<()> {
        let number = self.done.fetch_add(1, Ordering::SeqCst) + 1;
        let last = self.last.load(Ordering::SeqCst);
        if number == self.failing.load(Ordering::SeqCst) || (last > 0 && number >= last) {
            return Err(io::Error::other("a fault that a test made"));
        }
        Ok(())
    }
}
