//! Fault injection: operations are counted, and a test makes one fail, or all from one on, as after
//! a kill.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cuesta_runtime::parallel::lock;

/// Counter of the operations of a store. By default none fails.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    done: Arc<AtomicU64>,
    /// Number of the operation that fails, from 1; 0 for none.
    failing: Arc<AtomicU64>,
    /// Number of the first operation that is not performed, from 1; 0 for none.
    last: Arc<AtomicU64>,
    interruption: Arc<Mutex<Option<Interruption>>>,
}

/// Work of another process between two operations.
struct Interruption {
    before: u64,
    work: Box<dyn FnOnce() + Send>,
}

impl fmt::Debug for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "before operation {}", self.before)
    }
}

impl Steps {
    /// Makes the `number`-th operation from now on fail; none with 0.
    pub fn fail(&self, number: u64) {
        self.failing.store(number, Ordering::SeqCst);
        self.last.store(0, Ordering::SeqCst);
        self.done.store(0, Ordering::SeqCst);
    }

    /// Lets `number` operations succeed from now on, and none after them.
    pub fn die_after(&self, number: u64) {
        self.failing.store(0, Ordering::SeqCst);
        self.last.store(number + 1, Ordering::SeqCst);
        self.done.store(0, Ordering::SeqCst);
    }

    /// Runs `work` right before the `number`-th operation from now on. It must not perform counted
    /// operations itself.
    pub fn interrupt(&self, number: u64, work: impl FnOnce() + Send + 'static) {
        self.done.store(0, Ordering::SeqCst);
        let work = Box::new(work);
        *lock(&self.interruption) = Some(Interruption { before: number, work });
    }

    /// Returns the number of operations since [`fail`](Self::fail) or
    /// [`die_after`](Self::die_after).
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::SeqCst)
    }

    /// Returns whether no operation is performed any more.
    pub fn is_dead(&self) -> bool {
        let last = self.last.load(Ordering::SeqCst);
        last > 0 && self.done() + 1 >= last
    }

    /// Counts an operation that is about to be performed.
    ///
    /// # Errors
    /// `Other` where it must not be performed.
    pub fn step(&self) -> io::Result<()> {
        let number = self.done.fetch_add(1, Ordering::SeqCst) + 1;
        let due = lock(&self.interruption).take_if(|work| work.before == number);
        if let Some(interruption) = due {
            (interruption.work)();
        }
        let last = self.last.load(Ordering::SeqCst);
        if number == self.failing.load(Ordering::SeqCst) || (last > 0 && number >= last) {
            return Err(io::Error::other("a fault that a test made"));
        }
        Ok(())
    }
}
