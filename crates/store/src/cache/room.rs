//! Room in memory: the choice of blocks to evict, within limits and quotas.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::block::{BlockKey, BlockState, SealedBlock, id_of, key_of};
use super::file::{Backing, FileState};
use super::policy::BlockId;
use super::policy::admission::LoadReason;
use super::residency::Residency;
use super::rules::{FolderRule, FolderUse, QuotaUse};

/// Unit in which the bytes of the ledger are counted: a small ledger costs no block its place.
const CHARGED_BYTES: u64 = 1 << 20;

impl Residency {
    /// Subtracts the bytes of the ledger from those that blocks may have.
    pub fn charge(&mut self, ledger_bytes: Arc<AtomicU64>) {
        self.ledger_bytes = ledger_bytes;
    }

    /// Sets the rules for files that become known from now on.
    pub fn set_rules(&mut self, rules: Vec<FolderRule>) {
        self.rules = rules;
    }

    /// Returns the most bytes that blocks may have now.
    pub fn limit_bytes(&self) -> u64 {
        self.limit_bytes
    }

    /// Changes the most bytes that blocks may have, up to the total memory; returns the blocks to
    /// be removed. Leased and pinned blocks are retained.
    pub fn set_limit(&mut self, limit_bytes: u64) -> Vec<SealedBlock> {
        self.limit_bytes = limit_bytes.min(self.memory_bytes);
        self.make_room(0).0
    }

    /// Returns the quotas and their use.
    pub fn quotas(&self) -> Vec<QuotaUse> {
        let of = |(index, rule): (usize, &FolderRule)| {
            let used_bytes = self.quota_used(index);
            let quota_bytes = rule.quota_bytes?;
            Some(QuotaUse { folder: rule.folder.clone(), quota_bytes, used_bytes })
        };
        self.rules.iter().enumerate().filter_map(of).collect()
    }

    /// Returns whether reads of a file do not load its blocks.
    pub(super) fn bypasses_memory(&self, number: u64) -> bool {
        let passes = |entry: &FileState| entry.rule.folder_use == FolderUse::Bypass;
        self.files.get(&number).is_some_and(|entry| passes(entry) && !entry.is_pinned)
    }

    /// Evicts blocks until `size_bytes` are free; returns them, and whether there is room.
    pub(super) fn make_room(&mut self, size_bytes: u64) -> (Vec<SealedBlock>, bool) {
        let mut to_remove = Vec::new();
        let has_room = self.make_room_below(None, None, size_bytes, &mut to_remove);
        (to_remove, has_room)
    }

    /// As [`make_room`](Self::make_room) for a block, within the quotas of its file, and only if it
    /// is worth the evictions.
    pub(super) fn make_room_for(
        &mut self,
        key: BlockKey,
        size_bytes: u64,
        reason: LoadReason,
    ) -> (Vec<SealedBlock>, bool) {
        let reason = if self.is_pinned(key) { LoadReason::Wanted } else { reason };
        let missed = Some((id_of(key), reason));
        let quotas = self.files.get(&key.file).map(|entry| entry.rule.quotas.clone());
        let mut to_remove = Vec::new();
        let quotas = quotas.unwrap_or_default().into_iter().map(Some);
        let has_room = quotas
            .chain([None])
            .all(|quota| self.make_room_below(quota, missed, size_bytes, &mut to_remove));
        (to_remove, has_room)
    }

    /// Evicts blocks until a quota, or the total memory, has `size_bytes` free; returns whether it
    /// has.
    fn make_room_below(
        &mut self,
        quota: Option<usize>,
        missed: Option<(BlockId, LoadReason)>,
        size_bytes: u64,
        to_remove: &mut Vec<SealedBlock>,
    ) -> bool {
        let limit_bytes = match quota {
            Some(index) => self.rules[index].quota_bytes.unwrap_or(u64::MAX),
            None => self.limit_bytes.saturating_sub(self.charged_bytes()),
        };
        let mut used_bytes = match quota {
            Some(index) => self.quota_used(index),
            None => self.counts.used_bytes,
        };
        while used_bytes + size_bytes > limit_bytes {
            let evicted = if size_bytes > limit_bytes { None } else { self.evict(quota, missed) };
            let Some(evicted) = evicted else { return false };
            used_bytes -= evicted.size_bytes;
            to_remove.push(evicted);
            self.counts.evictions += 1;
        }
        true
    }

    /// Returns the bytes of memory that are not for blocks, in multiples of the unit.
    fn charged_bytes(&self) -> u64 {
        self.ledger_bytes.load(Ordering::Relaxed) / CHARGED_BYTES * CHARGED_BYTES
    }

    fn quota_used(&self, quota: usize) -> u64 {
        let below = self.files.iter().filter(|(_, entry)| entry.rule.quotas.contains(&quota));
        let blocks = below.flat_map(|(&number, _)| self.blocks_of(number));
        blocks.map(|(_, block)| block.size_bytes()).sum()
    }

    fn evict(
        &mut self,
        quota: Option<usize>,
        missed: Option<(BlockId, LoadReason)>,
    ) -> Option<SealedBlock> {
        let Self { policy, blocks, files, .. } = self;
        let may_evict = |id: BlockId| {
            let key = key_of(id);
            let entry = files.get(&key.file);
            let is_retained =
                entry.is_some_and(|entry| entry.is_pinned || entry.backing != Backing::Under);
            let is_below = |quota| entry.is_some_and(|entry| entry.rule.quotas.contains(&quota));
            let is_free = matches!(
                blocks[&key],
                BlockState::Here { leases: 0, .. } | BlockState::Unverified(_)
            );
            is_free && !is_retained && quota.is_none_or(is_below)
        };
        let chosen = match missed {
            Some((block, reason)) => policy.displace(block, reason, &may_evict),
            None => policy.evict(&may_evict),
        };
        let key = key_of(chosen?);
        let evicted = self.take(key);
        self.forget_if_old(key.file);
        evicted
    }
}
