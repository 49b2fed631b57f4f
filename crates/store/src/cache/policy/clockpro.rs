//! CLOCK-Pro: Jiang, Chen, Zhang, "CLOCK-Pro: an effective improvement of the CLOCK replacement",
//! USENIX ATC 2005.

use super::queue::Queue;
use super::{BlockId, Policy};

/// A clock of blocks that are hot, cold, or remembered after their eviction. A new block is cold
/// and on trial. If it is read again during its trial, it becomes hot, and the share of cold blocks
/// grows; if the trial ends without a read, the share shrinks. Three hands move around the clock:
/// one evicts cold blocks, one makes hot blocks cold that were not read for a round, one ends
/// trials.
///
/// This follows the paper, with bytes instead of pages. libCacheSim 0.3.5 differs: it admits no
/// block while cold blocks fill their share, and counts no hits of a block that was loaded again
/// during its trial. Both have the same hits as long as all blocks fit.
#[derive(Debug)]
pub struct ClockPro {
    /// The clock, cut open at the hand of the hot blocks: it points at the oldest block, which
    /// becomes the newest when the hand passes it.
    clock: Queue<ClockBlock>,
    /// The blocks at the hands of cold blocks and of trials; `None` for the oldest.
    cold_hand: Option<BlockId>,
    trial_hand: Option<BlockId>,
    capacity_bytes: u64,
    cold_bytes: u64,
    hot_bytes: u64,
    gone_bytes: u64,
    /// Share of the cold blocks.
    cold_max_bytes: u64,
    /// Whether the block that was missed last was evicted during its trial.
    is_back: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClockBlock {
    kind: BlockKind,
    /// Whether it was read since a hand passed it.
    was_read: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockKind {
    Hot,
    Cold {
        on_trial: bool,
    },
    /// It was evicted, and its trial continues.
    Gone,
}

impl ClockPro {
    /// Creates a clock for a memory of `capacity_bytes`, all of which cold blocks may have at
    /// first.
    pub fn new(capacity_bytes: u64) -> Self {
        Self {
            clock: Queue::default(),
            cold_hand: None,
            trial_hand: None,
            capacity_bytes,
            cold_bytes: 0,
            hot_bytes: 0,
            gone_bytes: 0,
            cold_max_bytes: capacity_bytes,
            is_back: false,
        }
    }

    /// Inserts a block that is not on the clock as the newest.
    fn push(&mut self, block: BlockId, size_bytes: u64, kind: BlockKind) {
        *self.bytes_of(kind) += size_bytes;
        self.clock.push(block, size_bytes, ClockBlock { kind, was_read: false });
    }

    /// Removes a block from the clock; hands that point at it move on.
    fn take(&mut self, block: BlockId) -> Option<(u64, ClockBlock)> {
        let next = self.after(block);
        for hand in [&mut self.cold_hand, &mut self.trial_hand] {
            if *hand == Some(block) {
                *hand = next;
            }
        }
        let (size_bytes, entry) = self.clock.remove(block)?;
        *self.bytes_of(entry.kind) -= size_bytes;
        Some((size_bytes, entry))
    }

    fn bytes_of(&mut self, kind: BlockKind) -> &mut u64 {
        match kind {
            BlockKind::Hot => &mut self.hot_bytes,
            BlockKind::Cold { .. } => &mut self.cold_bytes,
            BlockKind::Gone => &mut self.gone_bytes,
        }
    }

    fn set_kind(&mut self, block: BlockId, kind: BlockKind) {
        let Some(place) = self.clock.place(block) else { return };
        let (_, size_bytes, entry) = self.clock.at(place);
        let before = std::mem::replace(entry, ClockBlock { kind, was_read: false }).kind;
        *self.bytes_of(before) -= size_bytes;
        *self.bytes_of(kind) += size_bytes;
    }

    /// Returns the block after another one in the direction of the newest, if any.
    fn after(&mut self, block: BlockId) -> Option<BlockId> {
        let newer = self.clock.place(block).and_then(|place| self.clock.newer(place))?;
        Some(self.clock.at(newer).0)
    }

    /// Returns the block that a hand points at.
    fn pointed(&mut self, hand: Option<BlockId>) -> Option<(BlockId, u64, ClockBlock)> {
        let place = hand.and_then(|block| self.clock.place(block)).or(self.clock.oldest())?;
        let (block, size_bytes, entry) = self.clock.at(place);
        Some((block, size_bytes, *entry))
    }

    /// Adapts the share of cold blocks to the end of a trial.
    fn learn(&mut self, size_bytes: u64, was_read: bool) {
        self.cold_max_bytes = if was_read {
            (self.cold_max_bytes + size_bytes).min(self.capacity_bytes)
        } else {
            self.cold_max_bytes.saturating_sub(size_bytes).max(size_bytes)
        };
    }

    fn make_hot(&mut self, block: BlockId, size_bytes: u64) {
        self.take(block);
        self.push(block, size_bytes, BlockKind::Hot);
        while self.hot_bytes + self.cold_max_bytes > self.capacity_bytes && self.hot_bytes > 0 {
            self.move_hot_hand();
        }
    }

    /// Passes one block: a hot block that was not read since the hand passed it becomes cold.
    fn move_hot_hand(&mut self) {
        let Some((block, size_bytes, entry)) = self.pointed(None) else { return };
        self.end_trial(block, size_bytes, entry.kind);
        if entry.kind == BlockKind::Gone {
            return;
        }
        self.pass(block);
        match entry {
            ClockBlock { kind: BlockKind::Hot, was_read: false } => {
                self.set_kind(block, BlockKind::Cold { on_trial: false });
            }
            ClockBlock { kind: BlockKind::Hot, .. } => self.set_kind(block, BlockKind::Hot),
            _ => (),
        }
    }

    /// Makes the oldest block the newest; hands that point at it remain there.
    fn pass(&mut self, block: BlockId) {
        if let Some((size_bytes, entry)) = self.clock.remove(block) {
            self.clock.push(block, size_bytes, entry);
        }
    }

    /// Ends the trial of a block, if it is on one: an evicted block is removed from the clock.
    fn end_trial(&mut self, block: BlockId, size_bytes: u64, kind: BlockKind) {
        match kind {
            BlockKind::Gone => _ = self.take(block),
            BlockKind::Cold { on_trial: true } => {
                if let Some(place) = self.clock.place(block) {
                    self.clock.at(place).2.kind = BlockKind::Cold { on_trial: false };
                }
            }
            _ => return,
        }
        self.learn(size_bytes, false);
    }

    /// Ends trials until the remembered blocks are no more than the memory.
    fn move_trial_hand(&mut self) {
        while self.gone_bytes > self.capacity_bytes
            && let Some((block, size_bytes, entry)) = self.pointed(self.trial_hand)
        {
            self.trial_hand = self.after(block);
            self.end_trial(block, size_bytes, entry.kind);
        }
    }
}

impl Policy for ClockPro {
    fn hit(&mut self, block: BlockId) {
        if let Some(entry) = self.clock.get_mut(block) {
            entry.was_read = true;
        }
    }

    fn missed(&mut self, block: BlockId) {
        let is_gone = self.clock.get_mut(block).is_some_and(|entry| entry.kind == BlockKind::Gone);
        self.is_back = is_gone;
        if let Some((size_bytes, _)) = is_gone.then(|| self.take(block)).flatten() {
            self.learn(size_bytes, true);
        }
    }

    fn insert(&mut self, block: BlockId, size_bytes: u64) {
        // It may still be remembered if no miss was reported.
        self.take(block);
        if std::mem::take(&mut self.is_back) {
            self.make_hot(block, size_bytes);
        } else {
            self.push(block, size_bytes, BlockKind::Cold { on_trial: true });
        }
    }

    fn evict(&mut self, may_evict: &dyn Fn(BlockId) -> bool) -> Option<BlockId> {
        // One round clears the marks, the next one finds a block, unless blocks may not be evicted.
        let mut steps_left = 2 * self.clock.len() + 1;
        while steps_left > 0 && self.cold_bytes > 0 {
            steps_left -= 1;
            let (block, size_bytes, entry) = self.pointed(self.cold_hand)?;
            self.cold_hand = self.after(block);
            match entry {
                ClockBlock { kind: BlockKind::Cold { on_trial: true }, was_read: true } => {
                    self.learn(size_bytes, true);
                    self.make_hot(block, size_bytes);
                }
                ClockBlock { kind: BlockKind::Cold { .. }, was_read: true } => {
                    self.take(block);
                    self.push(block, size_bytes, BlockKind::Cold { on_trial: true });
                }
                ClockBlock { kind: BlockKind::Cold { on_trial }, .. } if may_evict(block) => {
                    if on_trial {
                        self.set_kind(block, BlockKind::Gone);
                        self.move_trial_hand();
                    } else {
                        self.take(block);
                    }
                    return Some(block);
                }
                _ => (),
            }
        }
        // All cold blocks are in use: the oldest hot block that may be evicted is.
        let mut place = self.clock.oldest();
        while let Some(at) = place {
            let (block, _, entry) = self.clock.at(at);
            if entry.kind != BlockKind::Gone && may_evict(block) {
                self.take(block);
                return Some(block);
            }
            place = self.clock.newer(at);
        }
        None
    }

    fn remove(&mut self, block: BlockId) {
        self.take(block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The rules of the paper over a plain list of blocks of one byte, from the hand of the hot
    /// blocks on: `h` hot, `c` cold on trial, `d` cold, `g` remembered.
    struct Model {
        clock: Vec<(BlockId, char, bool)>,
        cold_hand: Option<BlockId>,
        trial_hand: Option<BlockId>,
        cold_max: usize,
        capacity: usize,
    }

    impl Model {
        fn count(&self, kinds: &str) -> usize {
            self.clock.iter().filter(|entry| kinds.contains(entry.1)).count()
        }

        fn at(&self, hand: Option<BlockId>) -> usize {
            self.clock.iter().position(|entry| Some(entry.0) == hand).unwrap_or(0)
        }

        fn next(&self, at: usize) -> Option<BlockId> {
            self.clock.get(at + 1).map(|entry| entry.0)
        }

        fn cut(&mut self, at: usize) {
            let (block, next) = (Some(self.clock[at].0), self.next(at));
            self.cold_hand = if self.cold_hand == block { next } else { self.cold_hand };
            self.trial_hand = if self.trial_hand == block { next } else { self.trial_hand };
            self.clock.remove(at);
        }

        fn learn(&mut self, step: isize) {
            let wanted = self.cold_max.saturating_add_signed(step);
            self.cold_max = wanted.clamp(1, self.capacity);
        }

        fn end_trial(&mut self, at: usize) {
            match self.clock[at].1 {
                'c' => self.clock[at].1 = 'd',
                'g' => self.cut(at),
                _ => return,
            }
            self.learn(-1);
        }

        fn make_hot(&mut self, block: BlockId) {
            self.clock.push((block, 'h', false));
            while self.count("h") + self.cold_max > self.capacity && self.count("h") > 0 {
                let (block, kind, was_read) = self.clock[0];
                self.end_trial(0);
                if kind != 'g' {
                    let kind = if kind == 'h' && was_read { 'h' } else { 'd' };
                    self.clock.remove(0);
                    self.clock.push((block, kind, was_read && kind == 'd'));
                }
            }
        }

        /// Reads a block; returns whether it was a hit.
        fn read(&mut self, block: BlockId) -> bool {
            let index = self.clock.iter().position(|index| index.0 == block);
            if let Some(at) = index.filter(|&at| self.clock[at].1 != 'g') {
                self.clock[at].2 = true;
                return true;
            }
            if let Some(at) = index {
                self.cut(at);
                self.learn(1);
            }
            if self.count("hcd") == self.capacity {
                self.evict();
            }
            match index {
                Some(_) => self.make_hot(block),
                None => self.clock.push((block, 'c', false)),
            }
            false
        }

        fn evict(&mut self) {
            while self.count("cd") > 0 {
                let at = self.at(self.cold_hand);
                let (block, kind, was_read) = self.clock[at];
                self.cold_hand = self.next(at);
                match (kind, was_read) {
                    ('c', true) => {
                        self.learn(1);
                        self.cut(at);
                        self.make_hot(block);
                    }
                    ('d', true) => {
                        self.cut(at);
                        self.clock.push((block, 'c', false));
                    }
                    ('c', false) => {
                        self.clock[at].1 = 'g';
                        while self.count("g") > self.capacity {
                            let at = self.at(self.trial_hand);
                            self.trial_hand = self.next(at);
                            self.end_trial(at);
                        }
                        return;
                    }
                    ('d', false) => return self.cut(at),
                    _ => (),
                }
            }
            let oldest = self.clock.iter().position(|entry| entry.1 == 'h');
            self.cut(oldest.unwrap());
        }
    }

    fn check(reads: &[BlockId], capacity: usize) -> Result<(), TestCaseError> {
        let mut model = Model {
            clock: vec![],
            cold_hand: None,
            trial_hand: None,
            cold_max: capacity,
            capacity,
        };
        let mut policy = ClockPro::new(capacity as u64);
        let mut resident = std::collections::HashSet::new();
        for (step, &block) in reads.iter().enumerate() {
            let is_hit = resident.contains(&block);
            if is_hit {
                policy.hit(block);
            } else {
                policy.missed(block);
                if resident.len() == capacity {
                    prop_assert!(resident.remove(&policy.evict(&|_| true).unwrap()));
                }
                policy.insert(block, 1);
                resident.insert(block);
            }
            prop_assert_eq!(is_hit, model.read(block), "step {}", step);
            prop_assert_eq!(policy.hot_bytes as usize, model.count("h"), "step {}", step);
            prop_assert_eq!(policy.gone_bytes as usize, model.count("g"), "step {}", step);
            prop_assert_eq!(policy.cold_max_bytes as usize, model.cold_max, "step {}", step);
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn it_follows_the_rules_of_the_paper(
            reads in prop::collection::vec(0u64..24, 1..400),
            capacity in 1usize..16,
        ) {
            check(&reads, capacity)?;
        }
    }

    #[test]
    fn of_a_cycle_larger_than_memory_it_retains_some_and_a_scan_spares_hot_blocks() {
        let cycle: Vec<u64> = (0..20).cycle().take(2000).collect();
        check(&cycle, 12).unwrap();
        let mut policy = ClockPro::new(100);
        for block in 0..10 {
            policy.insert(block, 10);
            policy.hit(block);
        }
        for block in 100..200 {
            policy.missed(block);
            let evicted = policy.evict(&|_| true).unwrap();
            assert!(evicted >= 100 || block < 102, "block {evicted} left for {block}");
            policy.insert(block, 10);
        }
    }
}
