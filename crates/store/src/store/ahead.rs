//! Read-ahead: blocks are filled before they are read, while a file is read in order. The threads
//! first help with blocks that are being filled already.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use cuesta_runtime::parallel::lock;

use super::Store;
use super::shared_fill::SharedFill;
use crate::cache::{BlockKey, LeaseStep};

/// Longest queue: the reader has overtaken blocks beyond this.
const QUEUE_MAX: usize = 64;
/// Blocks of memory that are not allocated in advance: blocks being filled count as used before
/// they have their memory.
const SPARE_BLOCKS: u64 = 2;
/// Interval of the check for more free memory.
const PREPARE_INTERVAL: Duration = Duration::from_millis(50);

/// Queue of blocks to fill, for threads that wait for work.
#[derive(Default)]
pub struct AheadQueue {
    state: Mutex<QueueState>,
    added: Condvar,
}

#[derive(Default)]
struct QueueState {
    keys: VecDeque<BlockKey>,
    /// Blocks that are being filled, the first one first.
    shared: Vec<Arc<SharedFill>>,
    /// Number of threads that fill ahead; without any, nothing is added.
    threads: usize,
    has_ended: bool,
}

enum Task {
    Help(Arc<SharedFill>),
    Fill(BlockKey),
}

impl AheadQueue {
    /// Adds blocks that are not in the queue.
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

    /// Returns whether the threads are to end.
    fn has_ended(&self) -> bool {
        lock(&self.state).has_ended
    }

    /// Lets other threads help with a block, until [`unshare`](Self::unshare).
    pub(super) fn share(&self, fill: &Arc<SharedFill>) {
        lock(&self.state).shared.push(Arc::clone(fill));
        self.added.notify_all();
    }

    /// Stops other threads from helping with a block.
    pub(super) fn unshare(&self, fill: &Arc<SharedFill>) {
        lock(&self.state).shared.retain(|shared| !Arc::ptr_eq(shared, fill));
    }

    /// Waits for a task; returns `None` when the threads are to end.
    fn next(&self) -> Option<Task> {
        let mut state = lock(&self.state);
        loop {
            if state.has_ended {
                return None;
            }
            if let Some(fill) = state.shared.iter().find(|fill| fill.has_pieces()) {
                return Some(Task::Help(Arc::clone(fill)));
            }
            if let Some(key) = state.keys.pop_front() {
                return Some(Task::Fill(key));
            }
            state = self.added.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Store {
    /// Fills blocks ahead of readers of files in order, until [`end_ahead`](Self::end_ahead). Runs
    /// in one or several threads of its own.
    pub fn fill_ahead(&self) {
        lock(&self.queue.state).threads += 1;
        let mut piece = Vec::new();
        while let Some(task) = self.queue.next() {
            match task {
                Task::Help(fill) => fill.work(&mut piece),
                Task::Fill(key) => self.fill_block_ahead(key),
            }
        }
    }

    fn fill_block_ahead(&self, key: BlockKey) {
        let mut state = self.cache.lock();
        let Some(file) = state.file(key.file).cloned() else { return };
        let step = state.ahead(key);
        drop(state);
        match step {
            LeaseStep::Fill { size_bytes, to_remove } => {
                self.remove(&to_remove);
                // A reader of the block gets the error.
                let _ = self.fill(key, &file, size_bytes, true);
            }
            LeaseStep::Bypass { to_remove } => self.remove(&to_remove),
            _ => (),
        }
    }

    /// Allocates free memory before it is needed, and frees it when blocks of another size, or
    /// other uses, need it, until [`end_ahead`](Self::end_ahead). Runs in a thread of its own.
    pub fn prepare_memory(&self) {
        let block_bytes = self.options.block_bytes;
        while !self.queue.has_ended() {
            let (free, count) = (self.unused_bytes() / block_bytes, self.tier.prepared().count());
            if count > free {
                self.tier.prepared().release_last();
            } else if count + SPARE_BLOCKS >= free || self.tier.prepared().add(block_bytes).is_err()
            {
                thread::sleep(PREPARE_INTERVAL);
            }
        }
    }

    /// Returns the bytes that blocks may still use; part of them may be allocated already.
    fn unused_bytes(&self) -> u64 {
        let state = self.cache.lock();
        state.limit_bytes().saturating_sub(state.used_bytes())
    }

    /// Ends all [`fill_ahead`](Self::fill_ahead) and [`prepare_memory`](Self::prepare_memory).
    pub fn end_ahead(&self) {
        lock(&self.queue.state).has_ended = true;
        self.queue.added.notify_all();
    }
}
