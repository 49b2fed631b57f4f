//! Blocks filled before they are asked for, while a file is read in its order.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

use cuesta_runtime::parallel::lock;

use super::Store;
use super::state::LeaseStep;
use crate::memory::BlockKey;

/// More blocks than this are not waited for: whoever reads has overtaken them.
const QUEUE_MAX: usize = 64;

/// Blocks to be filled, for threads that wait for some.
#[derive(Debug, Default)]
pub struct AheadQueue {
    state: Mutex<QueueState>,
    added: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    keys: VecDeque<BlockKey>,
    /// How many threads fill ahead; without any, nothing is added.
    threads: usize,
    has_ended: bool,
}

impl AheadQueue {
    /// Adds blocks that are not in it.
    pub fn add(&self, keys: Vec<BlockKey>) {
        if keys.is_empty() {
            return;
        }
        let mut state = lock(&self.state);
        for key in keys {
            if state.threads > 0 && !state.keys.contains(&key) && state.keys.len() < QUEUE_MAX {
                state.keys.push_back(key);
                self.added.notify_one();
            }
        }
    }

    /// The next block, once there is one; `None` when all has ended.
    fn next(&self) -> Option<BlockKey> {
        let mut state = lock(&self.state);
        loop {
            if state.has_ended {
                return None;
            }
            if let Some(key) = state.keys.pop_front() {
                return Some(key);
            }
            state = self.added.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Store {
    /// Fills blocks ahead of those who read files in their order, until
    /// [`end_ahead`](Self::end_ahead). For a thread of its own, or several.
    pub fn fill_ahead(&self) {
        lock(&self.queue.state).threads += 1;
        while let Some(key) = self.queue.next() {
            let mut state = lock(&self.state);
            let Some(file) = state.file(key.file).cloned() else { continue };
            let step = state.ahead(key);
            drop(state);
            match step {
                LeaseStep::Fill { size_bytes, leaving } => {
                    self.remove(&leaving);
                    // Whoever asks for the block finds out what is wrong with it.
                    let _ = self.fill(key, &file, size_bytes, true);
                }
                LeaseStep::Bypass { leaving } => self.remove(&leaving),
                _ => (),
            }
        }
    }

    /// Ends all [`fill_ahead`](Self::fill_ahead).
    pub fn end_ahead(&self) {
        lock(&self.queue.state).has_ended = true;
        self.queue.added.notify_all();
    }
}
