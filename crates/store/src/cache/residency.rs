//! Residency: blocks in memory, their leases, and which may be evicted. Decisions without I/O.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::block::{BlockKey, BlockState, SealedBlock, id_of};
use super::counts::Counts;
use super::file::{Backing, FileState, FileVersion, SharedFile};
use super::policy::admission::Gated;
use super::rules::FolderRule;
use crate::path::StorePath;
use crate::under::UnderVersion;

/// State of files and blocks, and the policy.
pub struct Residency {
    pub(super) block_bytes: u64,
    pub(super) memory_bytes: u64,
    /// Bytes that blocks may have now.
    pub(super) limit_bytes: u64,
    pub(super) rules: Vec<FolderRule>,
    pub(super) policy: Gated,
    pub(super) files: HashMap<u64, FileState>,
    pub(super) names: HashMap<StorePath, u64>,
    /// By file, then block index.
    pub(super) blocks: BTreeMap<BlockKey, BlockState>,
    pub(super) next_file: u64,
    pub(super) counts: Counts,
    /// Number of changes of the memory's contents so far.
    pub(super) changes: u64,
    /// Bytes of the ledger, which also counts as memory.
    pub(super) ledger_bytes: Arc<AtomicU64>,
    /// Files that are no longer known, whose saved facts can be removed.
    forgotten: Vec<u64>,
}

impl Residency {
    /// Creates a state without blocks.
    pub fn new(memory_bytes: u64, block_bytes: u64, policy: Gated) -> Self {
        Self {
            block_bytes,
            memory_bytes,
            limit_bytes: memory_bytes,
            rules: Vec::new(),
            policy,
            files: HashMap::new(),
            names: HashMap::new(),
            blocks: BTreeMap::new(),
            next_file: 0,
            counts: Counts::default(),
            changes: 0,
            ledger_bytes: Arc::default(),
            forgotten: Vec::new(),
        }
    }

    /// Returns the counts.
    pub fn counts(&self) -> Counts {
        let here = |block: &&BlockState| matches!(block, BlockState::Here { .. });
        let pinned = |(key, block): (&BlockKey, &BlockState)| match block {
            BlockState::Here { block, .. } if self.is_pinned(*key) => block.size_bytes,
            _ => 0,
        };
        let alone = |wanted: Backing| {
            let of = |(key, block): (&BlockKey, &BlockState)| match block {
                BlockState::Here { block, .. } | BlockState::Unverified(block)
                    if self.backing(key.file) == wanted =>
                {
                    block.size_bytes
                }
                _ => 0,
            };
            self.blocks.iter().map(of).sum()
        };
        Counts {
            dirty_bytes: alone(Backing::Dirty),
            memory_only_bytes: alone(Backing::Memory),
            blocks: self.blocks.values().filter(here).count() as u64,
            pinned_bytes: self.blocks.iter().map(pinned).sum(),
            declined: self.policy.declined(),
            ..self.counts
        }
    }

    /// Adopts a file and blocks of an earlier store.
    pub fn adopt(&mut self, number: u64, file: FileVersion, blocks: &[SealedBlock]) {
        self.next_file = self.next_file.max(number + 1);
        self.names.insert(file.path.clone(), number);
        self.files.insert(number, FileState::new(file, Backing::Under, &self.rules));
        for &block in blocks {
            self.counts.used_bytes += block.size_bytes;
            self.policy.insert(id_of(block.key), block.size_bytes);
            self.blocks.insert(block.key, BlockState::Unverified(block));
        }
    }

    /// Returns the number and version of the known file at a path.
    pub fn file_at(&self, path: &StorePath) -> Option<(u64, UnderVersion)> {
        let number = *self.names.get(path)?;
        Some((number, self.files[&number].file.version))
    }

    /// Returns the file of a number.
    pub fn file(&self, number: u64) -> Option<&FileVersion> {
        self.files.get(&number).map(|entry| &entry.file)
    }

    /// Opens a file in its current version; returns its number, and the unused blocks of an older
    /// version, which are to be removed.
    pub fn open(&mut self, path: &StorePath, version: UnderVersion) -> (u64, Vec<SealedBlock>) {
        let mut to_remove = Vec::new();
        if let Some(&number) = self.names.get(path) {
            let entry = &self.files[&number];
            if entry.file.version == version && !entry.is_young {
                self.open_again(number);
                return (number, to_remove);
            }
            to_remove = self.retire(number);
        }
        let number = self.next_file;
        self.next_file += 1;
        self.names.insert(path.clone(), number);
        let file = FileVersion { path: path.clone(), version };
        let entry = FileState { opens: 1, ..FileState::new(file, Backing::Under, &self.rules) };
        self.files.insert(number, entry);
        (number, to_remove)
    }

    /// Returns whether a file is open.
    pub fn is_open(&self, number: u64) -> bool {
        self.files.get(&number).is_some_and(|entry| entry.opens > 0)
    }

    /// Opens a known file, without checking its version.
    pub fn open_again(&mut self, number: u64) {
        if let Some(entry) = self.files.get_mut(&number) {
            entry.opens += 1;
        }
    }

    /// Undoes an [`open`](Self::open); returns whether it was the last one of the file.
    pub fn close(&mut self, number: u64) -> bool {
        let Some(entry) = self.files.get_mut(&number) else { return false };
        entry.opens = entry.opens.saturating_sub(1);
        let is_last = entry.opens == 0;
        self.forget_if_old(number);
        is_last
    }

    /// Pins or unpins the blocks of a file.
    pub fn pin(&mut self, number: u64, is_pinned: bool) {
        if let Some(entry) = self.files.get_mut(&number) {
            entry.is_pinned = is_pinned;
        }
    }

    /// Removes a file from its name; returns its unused blocks, which are to be removed.
    pub fn retire(&mut self, number: u64) -> Vec<SealedBlock> {
        self.changes += 1;
        let Some(entry) = self.files.get_mut(&number) else { return vec![] };
        (entry.is_old, entry.is_pinned) = (true, false);
        if self.names.get(&entry.file.path) == Some(&number) {
            self.names.remove(&entry.file.path);
        }
        let free: Vec<BlockKey> = self
            .blocks_of(number)
            .filter(|(_, block)| match block {
                BlockState::Here { leases, .. } => *leases == 0,
                BlockState::Unverified(_) => true,
                BlockState::Busy { .. } => false,
            })
            .map(|(key, _)| *key)
            .collect();
        let to_remove = free.into_iter().filter_map(|key| self.remove(key)).collect();
        self.forget_if_old(number);
        to_remove
    }

    /// Returns the blocks in memory of a file, or of all files.
    pub fn blocks(&self, file: Option<u64>) -> Vec<SealedBlock> {
        let of = |(_, block): (&BlockKey, &BlockState)| match block {
            BlockState::Here { block, .. } => Some(*block),
            _ => None,
        };
        match file {
            Some(number) => self.blocks_of(number).filter_map(of).collect(),
            None => self.blocks.iter().filter_map(of).collect(),
        }
    }

    /// Returns the files whose bytes other stores may read here: those that are only in memory, and
    /// those of the under level in a version that no later one can be taken for.
    pub fn shared<'a>(&'a self) -> impl Iterator<Item = SharedFile<'a>> {
        let of = |(&number, entry): (&u64, &'a FileState)| {
            let FileState { file, permissions, .. } = entry;
            let is_alone = match entry.backing {
                Backing::Memory | Backing::Dirty => true,
                Backing::Under if file.version.device != 0 && !entry.is_young => false,
                _ => return None,
            };
            let permissions = *permissions;
            (!entry.is_old).then_some(SharedFile { number, file, permissions, is_alone })
        };
        self.files.iter().filter_map(of)
    }

    /// Returns the indexes of a file's blocks in memory.
    pub fn indexes_here(&self, number: u64) -> impl Iterator<Item = u64> {
        let here = |(key, block): (&BlockKey, &BlockState)| {
            matches!(block, BlockState::Here { .. }).then_some(key.index)
        };
        self.blocks_of(number).filter_map(here)
    }

    /// Returns whether a file is known.
    pub fn has_file(&self, number: u64) -> bool {
        self.files.contains_key(&number)
    }

    /// Returns the bytes of blocks in memory, and of those being filled.
    pub fn used_bytes(&self) -> u64 {
        self.counts.used_bytes
    }

    /// Returns the number of changes of the memory's contents so far.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Removes an unused block whose bytes have changed; returns whether it could.
    pub fn damage(&mut self, key: BlockKey) -> bool {
        if !matches!(self.blocks.get(&key), Some(BlockState::Here { leases: 0, .. })) {
            return false;
        }
        self.counts.damaged += 1;
        self.remove(key).is_some()
    }

    /// Returns the size of a block by the size of its file.
    pub fn size_of(&self, key: BlockKey) -> u64 {
        self.file(key.file).map_or(0, |file| file.block_size(key.index, self.block_bytes))
    }

    /// Returns the location of a file's bytes apart from its blocks.
    pub fn backing(&self, number: u64) -> Backing {
        self.files.get(&number).map_or(Backing::Under, |entry| entry.backing)
    }

    pub(super) fn is_pinned(&self, key: BlockKey) -> bool {
        self.files.get(&key.file).is_some_and(|entry| entry.is_pinned)
    }

    pub(super) fn blocks_of(&self, number: u64) -> impl Iterator<Item = (&BlockKey, &BlockState)> {
        let first = BlockKey { file: number, index: 0 };
        self.blocks.range(first..=BlockKey { index: u64::MAX, ..first })
    }

    /// Removes a block that the policy did not choose.
    pub(super) fn remove(&mut self, key: BlockKey) -> Option<SealedBlock> {
        let removed = self.take(key)?;
        self.policy.remove(id_of(key));
        Some(removed)
    }

    /// Removes a block from the list, unless a thread works on it.
    pub(super) fn take(&mut self, key: BlockKey) -> Option<SealedBlock> {
        let block = match self.blocks.remove(&key)? {
            BlockState::Here { block, .. } | BlockState::Unverified(block) => block,
            busy @ BlockState::Busy { .. } => {
                self.blocks.insert(key, busy);
                return None;
            }
        };
        self.counts.used_bytes -= block.size_bytes;
        self.changes += 1;
        Some(block)
    }

    /// Forgets a file if it is an old version that is not open and has no blocks.
    pub(super) fn forget_if_old(&mut self, number: u64) {
        let is_unused = |entry: &FileState| entry.is_old && entry.opens == 0;
        if self.files.get(&number).is_some_and(is_unused) && self.blocks_of(number).next().is_none()
        {
            self.files.remove(&number);
            self.forgotten.push(number);
        }
    }

    /// Returns the files forgotten since the last call.
    pub fn take_forgotten(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.forgotten)
    }
}
