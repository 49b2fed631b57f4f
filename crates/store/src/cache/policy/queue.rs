//! A linked list of blocks from the newest to the oldest, from which any block can be removed.

use std::collections::HashMap;

use super::BlockId;

const NONE: usize = usize::MAX;

/// Blocks in the order in which they were pushed, each with its size and a value. All operations
/// take constant time.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    nodes: Vec<Node<T>>,
    free: Vec<usize>,
    places: HashMap<BlockId, usize>,
    newest: usize,
    oldest: usize,
    size_bytes: u64,
}

#[derive(Clone, Debug)]
struct Node<T> {
    block: BlockId,
    size_bytes: u64,
    value: T,
    newer: usize,
    older: usize,
}

/// Position of a block in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePlace(usize);

impl<T> Default for Queue<T> {
    fn default() -> Self {
        let (nodes, free, places) = (Vec::new(), Vec::new(), HashMap::new());
        Self { nodes, free, places, newest: NONE, oldest: NONE, size_bytes: 0 }
    }
}

impl<T: Copy> Queue<T> {
    /// Returns the bytes of all blocks.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns whether it contains a block.
    pub fn has(&self, block: BlockId) -> bool {
        self.places.contains_key(&block)
    }

    /// Returns the value of a block.
    pub fn get_mut(&mut self, block: BlockId) -> Option<&mut T> {
        self.places.get(&block).map(|&place| &mut self.nodes[place].value)
    }

    /// Inserts a block that is not in the queue as the newest.
    pub fn push(&mut self, block: BlockId, size_bytes: u64, value: T) {
        let node = Node { block, size_bytes, value, newer: NONE, older: self.newest };
        let place = if let Some(place) = self.free.pop() {
            self.nodes[place] = node;
            place
        } else {
            self.nodes.push(node);
            self.nodes.len() - 1
        };
        match self.newest {
            NONE => self.oldest = place,
            newest => self.nodes[newest].newer = place,
        }
        self.newest = place;
        let before = self.places.insert(block, place);
        assert!(before.is_none(), "block {block} is in the queue");
        self.size_bytes += size_bytes;
    }

    /// Removes a block; returns its size and value.
    pub fn remove(&mut self, block: BlockId) -> Option<(u64, T)> {
        let place = self.places.remove(&block)?;
        let Node { newer, older, size_bytes, value, .. } = self.nodes[place];
        match newer {
            NONE => self.newest = older,
            newer => self.nodes[newer].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.nodes[older].newer = newer,
        }
        self.free.push(place);
        self.size_bytes -= size_bytes;
        Some((size_bytes, value))
    }

    /// Returns the position of the oldest block.
    pub fn oldest(&self) -> Option<QueuePlace> {
        (self.oldest != NONE).then_some(QueuePlace(self.oldest))
    }

    /// Returns the position of the block that was pushed after the one at `place`.
    pub fn newer(&self, place: QueuePlace) -> Option<QueuePlace> {
        let newer = self.nodes[place.0].newer;
        (newer != NONE).then_some(QueuePlace(newer))
    }

    /// Returns the block at a position, its size and its value.
    pub fn at(&mut self, place: QueuePlace) -> (BlockId, u64, &mut T) {
        let node = &mut self.nodes[place.0];
        (node.block, node.size_bytes, &mut node.value)
    }

    /// Returns the position of a block.
    pub fn place(&self, block: BlockId) -> Option<QueuePlace> {
        self.places.get(&block).copied().map(QueuePlace)
    }
}
