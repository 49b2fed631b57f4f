//! Leases of blocks, and the states of blocks that are filled for them.

use super::block::{BlockKey, BlockState, SealedBlock, id_of};
use super::file::{Backing, FileState};
use super::policy::admission::LoadReason;
use super::residency::Residency;

/// Next step of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseStep {
    /// The lease is granted.
    Grant(SealedBlock),
    /// Another thread fills or checks the block: try again later.
    Wait,
    /// The block is left from an earlier store: check its bytes, then call [`Residency::checked`].
    Check(SealedBlock),
    /// There is room once the `to_remove` blocks are removed: fill it, then call
    /// [`Residency::filled`] or [`Residency::failed`].
    Fill {
        /// Size of the block.
        size_bytes: u64,
        /// Blocks to remove.
        to_remove: Vec<SealedBlock>,
    },
    /// There is no room, as all blocks in memory are in use; the `to_remove` blocks were evicted in
    /// vain.
    Bypass {
        /// Blocks to remove.
        to_remove: Vec<SealedBlock>,
    },
    /// The block is missing, and was the only copy.
    Lost,
}

impl Residency {
    /// Returns the next step towards a lease of a block, whose file is open.
    pub fn lease(&mut self, key: BlockKey, reason: LoadReason) -> LeaseStep {
        match self.blocks.get_mut(&key) {
            Some(BlockState::Here { block, leases, is_ahead }) => {
                *leases += 1;
                self.counts.leases += 1;
                if std::mem::take(is_ahead) {
                    self.counts.misses += 1;
                    self.counts.miss_bytes += block.size_bytes;
                } else {
                    self.policy.hit(id_of(key));
                    self.counts.hits += 1;
                    self.counts.hit_bytes += block.size_bytes;
                }
                return LeaseStep::Grant(*block);
            }
            Some(BlockState::Busy { .. }) => return LeaseStep::Wait,
            Some(&mut BlockState::Unverified(block)) => {
                let size_bytes = block.size_bytes;
                self.blocks.insert(key, BlockState::Busy { size_bytes });
                return LeaseStep::Check(block);
            }
            None => (),
        }
        if self.backing(key.file) != Backing::Under {
            return LeaseStep::Lost;
        }
        self.counts.misses += 1;
        self.counts.miss_bytes += self.size_of(key);
        let step = self.begin(key, reason);
        self.counts.bypassed += u64::from(matches!(step, LeaseStep::Bypass { .. }));
        step
    }

    /// Counts a read of a block, before its lease.
    pub fn read(&mut self, key: BlockKey) {
        self.policy.read(id_of(key));
    }

    /// Makes room for a missing block, if there is any, and counts its bytes.
    fn begin(&mut self, key: BlockKey, reason: LoadReason) -> LeaseStep {
        if reason != LoadReason::Wanted && self.bypasses_memory(key.file) {
            return LeaseStep::Bypass { to_remove: vec![] };
        }
        let size_bytes = self.size_of(key);
        self.policy.missed(id_of(key));
        let (to_remove, has_room) = self.make_room_for(key, size_bytes, reason);
        if !has_room {
            return LeaseStep::Bypass { to_remove };
        }
        self.policy.insert(id_of(key), size_bytes);
        self.counts.used_bytes += size_bytes;
        self.blocks.insert(key, BlockState::Busy { size_bytes });
        LeaseStep::Fill { size_bytes, to_remove }
    }

    /// Returns up to `depth` missing blocks after a leased one, if that follows the last lease in
    /// its file.
    pub fn following(&mut self, key: BlockKey, depth: u64) -> Vec<BlockKey> {
        let Some(entry) = self.files.get_mut(&key.file) else { return vec![] };
        let follows = key.index == entry.next;
        entry.next = key.index + 1;
        let ahead = (1..=depth).map(|step| BlockKey { index: key.index + step, ..key });
        let is_absent = |key: &BlockKey| self.size_of(*key) > 0 && !self.blocks.contains_key(key);
        if follows { ahead.filter(is_absent).collect() } else { vec![] }
    }

    /// Returns the step for a block to be filled ahead: [`LeaseStep::Fill`], or any other where
    /// there is nothing to do. The caller then calls [`filled`](Self::filled) with `is_ahead`.
    pub fn ahead(&mut self, key: BlockKey) -> LeaseStep {
        let is_open = |entry: &FileState| entry.opens > 0 && entry.backing == Backing::Under;
        if !self.files.get(&key.file).is_some_and(is_open) || self.blocks.contains_key(&key) {
            return LeaseStep::Wait;
        }
        self.begin(key, LoadReason::Ahead)
    }

    /// Adds a block that was filled, leased to the thread that filled it, unless that was ahead.
    pub fn filled(&mut self, block: SealedBlock, is_ahead: bool) {
        let leases = u64::from(!is_ahead);
        self.changes += 1;
        self.blocks.insert(block.key, BlockState::Here { block, leases, is_ahead });
        self.counts.leases += leases;
    }

    /// Records the check of a block: an intact one is leased, a damaged one is to be removed.
    pub fn checked(&mut self, block: SealedBlock, is_intact: bool) {
        if is_intact {
            self.policy.hit(id_of(block.key));
            self.counts.hits += 1;
            self.counts.hit_bytes += block.size_bytes;
            self.filled(block, false);
        } else {
            self.counts.damaged += 1;
            self.failed(block.key);
        }
    }

    /// Records that a block of an earlier store could not be checked: another thread may try.
    pub fn unchecked(&mut self, block: SealedBlock) {
        if let Some(busy @ BlockState::Busy { .. }) = self.blocks.get_mut(&block.key) {
            *busy = BlockState::Unverified(block);
        }
    }

    /// Removes a busy block that could not be filled, or was damaged.
    pub fn failed(&mut self, key: BlockKey) {
        if let Some(BlockState::Busy { size_bytes }) = self.blocks.remove(&key) {
            self.policy.remove(id_of(key));
            self.counts.used_bytes -= size_bytes;
        }
        self.forget_if_old(key.file);
    }

    /// Marks a file whose block is filled just after a change, so that the next change may have the
    /// same time: the block is used only by those that have the file open now.
    pub fn mark_young(&mut self, number: u64) {
        if let Some(entry) = self.files.get_mut(&number) {
            entry.is_young = true;
            self.changes += 1;
        }
    }

    /// Returns whether [`mark_young`](Self::mark_young) was called for a file.
    pub fn is_young(&self, number: u64) -> bool {
        self.files.get(&number).is_some_and(|entry| entry.is_young)
    }

    /// Leases a block in memory for another store, which does not count as a read here.
    pub fn lease_here(&mut self, key: BlockKey) -> Option<SealedBlock> {
        let Some(BlockState::Here { block, leases, .. }) = self.blocks.get_mut(&key) else {
            return None;
        };
        *leases += 1;
        self.counts.leases += 1;
        Some(*block)
    }

    /// Counts a block that had room, but for which the system had no memory.
    pub fn refused(&mut self, key: BlockKey) {
        self.failed(key);
        self.counts.bypassed += 1;
    }

    /// Ends a lease; returns a block to be removed, if it was the last lease of an old version.
    pub fn release(&mut self, key: BlockKey) -> Option<SealedBlock> {
        let Some(BlockState::Here { leases, .. }) = self.blocks.get_mut(&key) else { return None };
        *leases = leases.checked_sub(1)?;
        self.counts.leases -= 1;
        self.remove_if_old(key)
    }

    /// Removes an unused block whose file is an old version.
    pub fn remove_if_old(&mut self, key: BlockKey) -> Option<SealedBlock> {
        let is_old = self.files.get(&key.file).is_none_or(|entry| entry.is_old);
        let is_free = matches!(self.blocks.get(&key), Some(BlockState::Here { leases: 0, .. }));
        let removed = if is_free && is_old { self.remove(key) } else { None };
        self.forget_if_old(key.file);
        removed
    }
}
