//! Least recently used.

use super::queue::Queue;
use super::{BlockId, Policy};

/// Evicts the block that was not read for the longest time.
#[derive(Debug, Default)]
pub struct Lru(Queue<()>);

impl Policy for Lru {
    fn hit(&mut self, block: BlockId) {
        if let Some((size_bytes, ())) = self.0.remove(block) {
            self.0.push(block, size_bytes, ());
        }
    }

    fn insert(&mut self, block: BlockId, size_bytes: u64) {
        self.0.push(block, size_bytes, ());
    }

    fn evict(&mut self, may_evict: &dyn Fn(BlockId) -> bool) -> Option<BlockId> {
        let mut place = self.0.oldest();
        while let Some(at) = place {
            let (block, ..) = self.0.at(at);
            if may_evict(block) {
                self.0.remove(block);
                return Some(block);
            }
            place = self.0.newer(at);
        }
        None
    }

    fn remove(&mut self, block: BlockId) {
        self.0.remove(block);
    }
}
