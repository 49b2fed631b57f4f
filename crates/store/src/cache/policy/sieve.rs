//! SIEVE: Zhang et al., "SIEVE is simpler than LRU", NSDI 2024.

use super::queue::{Queue, QueuePlace};
use super::{BlockId, Policy};

/// A hand moves from the oldest block to the newest, and spares blocks once that were read since
/// its last pass; blocks never move.
#[derive(Debug, Default)]
pub struct Sieve {
    /// Blocks, and whether each was read since it was inserted or last spared.
    queue: Queue<bool>,
    /// The block that the hand examines next; `None` for the oldest.
    hand: Option<BlockId>,
}

impl Policy for Sieve {
    fn hit(&mut self, block: BlockId) {
        if let Some(was_read) = self.queue.get_mut(block) {
            *was_read = true;
        }
    }

    fn insert(&mut self, block: BlockId, size_bytes: u64) {
        self.queue.push(block, size_bytes, false);
    }

    fn evict(&mut self, may_evict: &dyn Fn(BlockId) -> bool) -> Option<BlockId> {
        let oldest = self.queue.oldest()?;
        let start = self.hand.and_then(|block| self.queue.place(block)).unwrap_or(oldest);
        let (mut place, mut rounds) = (start, 0);
        // After one round no block is spared any more.
        while rounds < 2 {
            let (block, _, was_read) = self.queue.at(place);
            if !std::mem::take(was_read) && may_evict(block) {
                self.take(block, place);
                return Some(block);
            }
            place = self.queue.newer(place).unwrap_or(oldest);
            rounds += usize::from(place == start);
        }
        None
    }

    fn remove(&mut self, block: BlockId) {
        match self.queue.place(block) {
            Some(place) if self.hand == Some(block) => self.take(block, place),
            _ => _ = self.queue.remove(block),
        }
    }
}

impl Sieve {
    /// Removes a block; moves the hand to the one after it.
    fn take(&mut self, block: BlockId, place: QueuePlace) {
        self.hand = self.queue.newer(place).map(|newer| self.queue.at(newer).0);
        self.queue.remove(block);
    }
}
