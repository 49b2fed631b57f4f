//! What is in memory, who has it, and what may leave: decisions without I/O.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use serde::{Deserialize, Serialize};

use super::counts::Counts;
use super::rules::{FileRule, FolderRule, FolderUse, rule_of};
use crate::memory::{BlockKey, SealedBlock};
use crate::path::StorePath;
use crate::policy::BlockId;
use crate::policy::admission::Gated;
use crate::under::UnderVersion;

/// A file of the under level, in one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    /// Where it is.
    pub path: StorePath,
    /// Its version; another one is another file here.
    pub version: UnderVersion,
}

impl FileVersion {
    /// Bytes of a block, of so many but for the last; 0 where there is none.
    pub fn block_size(&self, index: u64, block_bytes: u64) -> u64 {
        let start = index.saturating_mul(block_bytes);
        self.version.size_bytes.saturating_sub(start).min(block_bytes)
    }
}

/// What is to be done for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseStep {
    /// It is granted.
    Grant(SealedBlock),
    /// Somebody fills or checks the block: ask again later.
    Wait,
    /// The block was found, check its bytes, then say [`Residency::checked`].
    Check(SealedBlock),
    /// There is room once these blocks are removed: fill it, then say [`Residency::filled`] or
    /// [`Residency::failed`].
    Fill {
        /// Of the block.
        size_bytes: u64,
        /// To be removed.
        leaving: Vec<SealedBlock>,
    },
    /// There is no room, for all that is in memory is held; these blocks left in vain.
    Bypass {
        /// To be removed.
        leaving: Vec<SealedBlock>,
    },
}

/// Where the bytes of a file are beside its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// On the under level: a block that leaves can be filled again.
    Under,
    /// Nowhere yet: somebody writes it.
    Writing,
    /// Nowhere yet: it is to be written to the under level.
    Dirty,
    /// Nowhere.
    Memory,
}

#[derive(Debug)]
pub(super) struct FileState {
    pub(super) file: FileVersion,
    pub(super) backing: Backing,
    pub(super) opens: u64,
    pub(super) is_pinned: bool,
    pub(super) rule: FileRule,
    /// A newer version has its name, or it was freed: its blocks leave when nobody has them.
    pub(super) is_old: bool,
    /// A block was filled so soon after a change that the next one may bear the same time.
    pub(super) is_young: bool,
    /// The block that whoever reads the file in its order asks for next.
    pub(super) next: u64,
    /// Permission bits of a file in memory alone.
    pub(super) permissions: u32,
}

#[derive(Debug)]
pub(super) enum BlockState {
    /// Somebody works on it, and its bytes are counted.
    Busy { size_bytes: u64 },
    /// Found when the store began; not checked yet.
    NameLookup(SealedBlock),
    /// In memory; `is_ahead` until it is leased for the first time, where it was filled for that.
    Here { block: SealedBlock, leases: u64, is_ahead: bool },
}

/// Files, blocks and the policy.
pub struct Residency {
    pub(super) block_bytes: u64,
    pub(super) memory_bytes: u64,
    /// What blocks may have of it now.
    pub(super) limit_bytes: u64,
    pub(super) rules: Vec<FolderRule>,
    pub(super) policy: Gated,
    pub(super) files: HashMap<u64, FileState>,
    pub(super) names: HashMap<StorePath, u64>,
    /// By file, then block.
    pub(super) blocks: BTreeMap<BlockKey, BlockState>,
    pub(super) next_file: u64,
    pub(super) counts: Counts,
    /// Changes of what is in memory, so far.
    pub(super) changes: u64,
    /// Bytes of the ledger, which memory is for as well.
    pub(super) ledger_bytes: Arc<AtomicU64>,
    /// Files that are known no more, of which something else may be kept.
    forgotten: Vec<u64>,
}

impl Residency {
    /// Nothing in memory yet.
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

    /// The numbers.
    pub fn counts(&self) -> Counts {
        let here = |block: &&BlockState| matches!(block, BlockState::Here { .. });
        let pinned = |(key, block): (&BlockKey, &BlockState)| match block {
            BlockState::Here { block, .. } if self.is_pinned(*key) => block.size_bytes,
            _ => 0,
        };
        let alone = |wanted: Backing| {
            let of = |(key, block): (&BlockKey, &BlockState)| match block {
                BlockState::Here { block, .. } | BlockState::NameLookup(block)
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

    /// Takes in what an earlier store left, unless there is no room.
    pub fn adopt(&mut self, number: u64, file: FileVersion, blocks: &[SealedBlock]) {
        self.next_file = self.next_file.max(number + 1);
        self.names.insert(file.path.clone(), number);
        self.files.insert(number, FileState::new(file, Backing::Under, &self.rules));
        for &block in blocks {
            self.counts.used_bytes += block.size_bytes;
            self.policy.insert(id_of(block.key), block.size_bytes);
            self.blocks.insert(block.key, BlockState::NameLookup(block));
        }
    }

    /// The file that is known under a path.
    pub fn known(&self, path: &StorePath) -> Option<(u64, UnderVersion)> {
        let number = *self.names.get(path)?;
        Some((number, self.files[&number].file.version))
    }

    /// What a number stands for.
    pub fn file(&self, number: u64) -> Option<&FileVersion> {
        self.files.get(&number).map(|entry| &entry.file)
    }

    /// Opens a file in the version that it has now: its number, and the blocks of an older version
    /// that nobody has, which are to be removed.
    pub fn open(&mut self, path: &StorePath, version: UnderVersion) -> (u64, Vec<SealedBlock>) {
        let mut leaving = Vec::new();
        if let Some(&number) = self.names.get(path) {
            let entry = &self.files[&number];
            if entry.file.version == version && !entry.is_young {
                self.open_again(number);
                return (number, leaving);
            }
            leaving = self.retire(number);
        }
        let number = self.next_file;
        self.next_file += 1;
        self.names.insert(path.clone(), number);
        let file = FileVersion { path: path.clone(), version };
        let entry = FileState { opens: 1, ..FileState::new(file, Backing::Under, &self.rules) };
        self.files.insert(number, entry);
        (number, leaving)
    }

    /// Whether somebody has a file open.
    pub(super) fn is_open(&self, number: u64) -> bool {
        self.files.get(&number).is_some_and(|entry| entry.opens > 0)
    }

    /// Opens a file that is known, without looking at its version.
    pub fn open_again(&mut self, number: u64) {
        if let Some(entry) = self.files.get_mut(&number) {
            entry.opens += 1;
        }
    }

    /// Ends an [`open`](Self::open); whether it was the last one of the file.
    pub fn close(&mut self, number: u64) -> bool {
        let Some(entry) = self.files.get_mut(&number) else { return false };
        entry.opens = entry.opens.saturating_sub(1);
        let is_last = entry.opens == 0;
        self.forget_if_old(number);
        is_last
    }

    /// Keeps the blocks of a file in memory, or lets them leave again.
    pub fn pin(&mut self, number: u64, is_pinned: bool) {
        if let Some(entry) = self.files.get_mut(&number) {
            entry.is_pinned = is_pinned;
        }
    }

    /// Forgets a file under its name; its blocks that nobody has, which are to be removed.
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
                BlockState::NameLookup(_) => true,
                BlockState::Busy { .. } => false,
            })
            .map(|(key, _)| *key)
            .collect();
        let leaving = free.into_iter().filter_map(|key| self.remove(key)).collect();
        self.forget_if_old(number);
        leaving
    }

    /// Blocks in memory of a file, or of all.
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

    /// Takes a block out that nobody has, because its bytes have changed; whether it could.
    pub fn damage(&mut self, key: BlockKey) -> bool {
        if !matches!(self.blocks.get(&key), Some(BlockState::Here { leases: 0, .. })) {
            return false;
        }
        self.counts.damaged += 1;
        self.remove(key).is_some()
    }

    /// Bytes of a block by the size of its file.
    pub fn size_of(&self, key: BlockKey) -> u64 {
        self.file(key.file).map_or(0, |file| file.block_size(key.index, self.block_bytes))
    }

    /// Where the bytes of a file are beside its blocks.
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

    /// Takes a block out that does not leave by the policy's choice.
    pub(super) fn remove(&mut self, key: BlockKey) -> Option<SealedBlock> {
        let removed = self.take(key)?;
        self.policy.remove(id_of(key));
        Some(removed)
    }

    /// Takes a block that nobody works on out of the list.
    pub(super) fn take(&mut self, key: BlockKey) -> Option<SealedBlock> {
        let block = match self.blocks.remove(&key)? {
            BlockState::Here { block, .. } | BlockState::NameLookup(block) => block,
            busy @ BlockState::Busy { .. } => {
                self.blocks.insert(key, busy);
                return None;
            }
        };
        self.counts.used_bytes -= block.size_bytes;
        self.changes += 1;
        Some(block)
    }

    pub(super) fn forget_if_old(&mut self, number: u64) {
        let is_unused = |entry: &FileState| entry.is_old && entry.opens == 0;
        if self.files.get(&number).is_some_and(is_unused) && self.blocks_of(number).next().is_none()
        {
            self.files.remove(&number);
            self.forgotten.push(number);
        }
    }

    /// The files that were forgotten since this was asked the last time.
    pub(super) fn take_forgotten(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.forgotten)
    }
}

/// The number of a block for the policy: the same when it comes back.
pub(super) fn id_of(key: BlockKey) -> BlockId {
    (key.file << 32) | key.index
}

pub(super) fn key_of(id: BlockId) -> BlockKey {
    BlockKey { file: id >> 32, index: id & u64::from(u32::MAX) }
}

impl FileState {
    pub(super) fn new(file: FileVersion, backing: Backing, rules: &[FolderRule]) -> Self {
        let rule = rule_of(rules, &file.path);
        let is_pinned = rule.folder_use == FolderUse::Pin;
        let (is_old, is_young, next, permissions) = (false, false, 0, 0);
        Self { file, backing, opens: 0, is_pinned, rule, is_old, is_young, next, permissions }
    }
}

impl BlockState {
    /// Bytes of it that are counted.
    pub(super) fn size_bytes(&self) -> u64 {
        match self {
            Self::Busy { size_bytes } => *size_bytes,
            Self::NameLookup(block) | Self::Here { block, .. } => block.size_bytes,
        }
    }
}
