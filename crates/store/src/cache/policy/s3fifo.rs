//! S3-FIFO: Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023.

use super::queue::Queue;
use super::{BlockId, Policy};

/// Reads that move a block from the small queue to the main one.
const READS_TO_MOVE: u8 = 2;
/// Most reads of a block of the main queue that are counted.
const READS_MAX: u8 = 3;

/// New blocks wait in a small queue; those that are read there move to the main queue, the others
/// are evicted and remembered: if they are loaded again soon, they go to the main queue directly. A
/// block larger than the small queue is not admitted by libCacheSim; here the queue holds one.
#[derive(Debug)]
pub struct S3Fifo {
    /// Number of reads of each block.
    small: Queue<u8>,
    main: Queue<u8>,
    /// Blocks evicted from the small queue.
    ghost: Queue<()>,
    small_max_bytes: u64,
    main_max_bytes: u64,
    ghost_max_bytes: u64,
    /// Whether the block that was missed last was remembered.
    is_back: bool,
    /// Whether the memory has been full.
    was_full: bool,
}

impl S3Fifo {
    /// Gives a tenth of the memory to the small queue; remembers as many bytes as the main queue
    /// has.
    pub fn new(capacity_bytes: u64) -> Self {
        let small_max_bytes = capacity_bytes / 10;
        Self {
            small: Queue::default(),
            main: Queue::default(),
            ghost: Queue::default(),
            small_max_bytes,
            main_max_bytes: capacity_bytes - small_max_bytes,
            ghost_max_bytes: capacity_bytes / 10 * 9 + capacity_bytes % 10 * 9 / 10,
            is_back: false,
            was_full: false,
        }
    }

    fn evict_small(&mut self, may_evict: &dyn Fn(BlockId) -> bool) -> Option<BlockId> {
        let mut place = self.small.oldest();
        while let Some(at) = place {
            place = self.small.newer(at);
            let (block, size_bytes, &mut reads) = self.small.at(at);
            if reads >= READS_TO_MOVE {
                self.small.remove(block);
                self.main.push(block, size_bytes, 0);
            } else if may_evict(block) {
                self.small.remove(block);
                self.remember(block, size_bytes);
                return Some(block);
            }
        }
        None
    }

    fn evict_main(&mut self, may_evict: &dyn Fn(BlockId) -> bool) -> Option<BlockId> {
        let mut place = self.main.oldest();
        while let Some(at) = place {
            place = self.main.newer(at);
            let (block, size_bytes, &mut reads) = self.main.at(at);
            if reads > 0 {
                self.main.remove(block);
                self.main.push(block, size_bytes, reads.min(READS_MAX) - 1);
                // It may be the only block.
                place = self.main.oldest();
            } else if may_evict(block) {
                self.main.remove(block);
                return Some(block);
            }
        }
        None
    }

    fn remember(&mut self, block: BlockId, size_bytes: u64) {
        if size_bytes > self.ghost_max_bytes || self.ghost.has(block) {
            return;
        }
        while self.ghost.size_bytes() + size_bytes > self.ghost_max_bytes {
            let Some(oldest) = self.ghost.oldest() else { return };
            let (oldest, ..) = self.ghost.at(oldest);
            self.ghost.remove(oldest);
        }
        self.ghost.push(block, size_bytes, ());
    }
}

impl Policy for S3Fifo {
    fn hit(&mut self, block: BlockId) {
        if let Some(reads) = self.small.get_mut(block) {
            *reads = reads.saturating_add(1);
        } else if let Some(reads) = self.main.get_mut(block) {
            *reads = reads.saturating_add(1);
            self.ghost.remove(block);
        }
    }

    fn missed(&mut self, block: BlockId) {
        self.is_back = self.ghost.remove(block).is_some();
    }

    fn insert(&mut self, block: BlockId, size_bytes: u64) {
        let is_small_full = !self.was_full && self.small.size_bytes() >= self.small_max_bytes;
        if std::mem::take(&mut self.is_back) || is_small_full {
            self.main.push(block, size_bytes, 0);
        } else {
            self.small.push(block, size_bytes, 0);
        }
    }

    fn evict(&mut self, may_evict: &dyn Fn(BlockId) -> bool) -> Option<BlockId> {
        self.was_full = true;
        let is_main_first =
            self.main.size_bytes() > self.main_max_bytes || self.small.size_bytes() == 0;
        let first = if is_main_first { self.evict_main(may_evict) } else { None };
        // Blocks that were read move from the small queue to the main one, and may be evicted from
        // there.
        first.or_else(|| self.evict_small(may_evict)).or_else(|| self.evict_main(may_evict))
    }

    fn remove(&mut self, block: BlockId) {
        self.small.remove(block);
        self.main.remove(block);
        self.ghost.remove(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With the main queue full of blocks in use, and a block in the small queue that was read
    /// twice, no block was evicted: that block was moved to the main queue after it had been
    /// searched, and the store took itself for full.
    #[test]
    fn a_block_that_was_moved_may_be_evicted_at_once() {
        let mut policy = S3Fifo::new(100);
        for block in 0..10 {
            policy.missed(block);
            policy.insert(block, 10);
        }
        policy.hit(0);
        policy.hit(0);
        assert_eq!(policy.main.len(), 9);
        policy.main_max_bytes = 80;
        assert_eq!(policy.evict(&|block| block == 0), Some(0));
    }
}
