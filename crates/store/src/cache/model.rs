//! A model of the store around the cache: clients open, lease, write, rename and free files, and
//! fills end or fail, in any order. No file, no socket, no thread.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::policy::PolicyName;
use super::policy::admission::{Gated, LoadReason};
use super::{Backing, BlockKey, FolderRule, LeaseStep, Residency, SealedBlock};
use crate::path::StorePath;
use crate::under::UnderVersion;

const BLOCK: u64 = 10;
const MEMORY: u64 = 6 * BLOCK;
/// Three blocks and a half.
const FILE_BYTES: u64 = 35;
const QUOTA: u64 = 2 * BLOCK;
const REASONS: [LoadReason; 3] = [LoadReason::Read, LoadReason::ReadOn, LoadReason::Wanted];

struct Model {
    cache: Residency,
    /// Blocks whose bytes are in memory.
    sealed: HashSet<SealedBlock>,
    /// Blocks that are being filled, their sizes, and whether that is ahead of a reader.
    filling: Vec<(BlockKey, u64, bool)>,
    leases: Vec<SealedBlock>,
    /// Files that readers have open, once for each open.
    opens: Vec<u64>,
    pinned: HashSet<u64>,
    /// Files that are written, and the number of their blocks.
    writing: Vec<(u64, u64)>,
    /// Blocks that are being written.
    placed: Vec<BlockKey>,
    /// Files that are only in memory.
    alone: Vec<u64>,
    serial: u64,
}

fn path(number: u8) -> StorePath {
    let folder = if number.is_multiple_of(2) { "quota" } else { "free" };
    format!("/{folder}/{number}").parse().unwrap()
}

fn version(number: u8, modified_ns: i64) -> UnderVersion {
    let inode = number.into();
    UnderVersion { device: 1, inode, size_bytes: FILE_BYTES, modified_ns, changed_ns: modified_ns }
}

/// Removes an element chosen by a number.
fn pick<T>(from: &mut Vec<T>, number: u8) -> Option<T> {
    (!from.is_empty()).then(|| from.swap_remove(usize::from(number) % from.len()))
}

impl Model {
    fn new(policy: PolicyName, has_admission: bool) -> Self {
        let gated = Gated::new(policy.make(MEMORY), has_admission);
        let mut cache = Residency::new(MEMORY, BLOCK, gated);
        let folder = "/quota".parse().unwrap();
        let rule = FolderRule { folder, quota_bytes: Some(QUOTA), folder_use: None };
        cache.set_rules(vec![rule]);
        Self {
            cache,
            sealed: HashSet::new(),
            filling: vec![],
            leases: vec![],
            opens: vec![],
            pinned: HashSet::new(),
            writing: vec![],
            placed: vec![],
            alone: vec![],
            serial: 0,
        }
    }

    fn seal(&mut self, key: BlockKey, size_bytes: u64) -> SealedBlock {
        self.serial += 1;
        let block = SealedBlock { key, size_bytes, checksum: 0, serial: self.serial };
        assert!(self.sealed.insert(block));
        block
    }

    fn remove(&mut self, blocks: &[SealedBlock]) {
        for block in blocks {
            assert!(self.sealed.remove(block), "{block:?} is removed twice");
            assert!(!self.leases.contains(block), "{block:?} is leased");
        }
    }

    fn evict(&mut self, blocks: &[SealedBlock]) {
        for block in blocks {
            assert_eq!(self.cache.backing(block.key.file), Backing::Under, "the only copy");
            assert!(!self.pinned.contains(&block.key.file), "a pinned block");
        }
        self.remove(blocks);
    }

    fn fits(&self) {
        assert!(self.cache.used_bytes() <= self.cache.limit_bytes(), "memory beyond its limit");
    }

    fn lease(&mut self, key: BlockKey, step: LeaseStep, is_ahead: bool) {
        match step {
            LeaseStep::Grant(block) => {
                assert!(self.sealed.contains(&block) && block.key == key);
                self.leases.push(block);
            }
            LeaseStep::Fill { size_bytes, to_remove } => {
                self.evict(&to_remove);
                self.fits();
                self.filling.push((key, size_bytes, is_ahead));
            }
            LeaseStep::Bypass { to_remove } => self.evict(&to_remove),
            LeaseStep::Wait if is_ahead => (),
            LeaseStep::Wait => assert!(
                self.filling.iter().any(|(filling, ..)| *filling == key)
                    || self.placed.contains(&key),
                "a wait for nothing"
            ),
            LeaseStep::Lost => {
                assert_ne!(self.cache.backing(key.file), Backing::Under);
                assert!(self.sealed.iter().all(|block| block.key != key), "it is here");
            }
            LeaseStep::Check(_) => panic!("no earlier store left a block"),
        }
    }

    /// Ends a fill: well, without memory, or by an error of the under level.
    fn end_fill(&mut self, (key, size_bytes, is_ahead): (BlockKey, u64, bool), outcome: u8) {
        match outcome % 4 {
            0 => self.cache.failed(key),
            1 if !is_ahead => self.cache.refused(key),
            _ => {
                let block = self.seal(key, size_bytes);
                self.cache.filled(block, is_ahead);
                match is_ahead {
                    true => {
                        let unwanted = self.cache.remove_if_old(key);
                        self.remove(unwanted.as_slice());
                    }
                    false => self.leases.push(block),
                }
            }
        }
    }

    fn release(&mut self, block: SealedBlock) {
        let unwanted = self.cache.release(block.key);
        self.remove(unwanted.as_slice());
    }

    fn retire(&mut self, number: u64) {
        self.pinned.remove(&number);
        let to_remove = self.cache.retire(number);
        self.remove(&to_remove);
    }

    /// Opens a file; the number of an older version is retired.
    fn open(&mut self, file: u8, modified_ns: i64) {
        if let Some((number, cached)) = self.cache.file_at(&path(file)) {
            if self.cache.backing(number) != Backing::Under {
                self.cache.open_again(number);
                return self.opens.push(number);
            }
            if cached != version(file, modified_ns) {
                self.pinned.remove(&number);
            }
        }
        let (number, to_remove) = self.cache.open(&path(file), version(file, modified_ns));
        self.remove(&to_remove);
        self.opens.push(number);
    }

    fn write(&mut self, at: u8) {
        let Some((number, blocks)) = pick(&mut self.writing, at) else { return };
        let key = BlockKey { file: number, index: blocks };
        let (to_remove, has_room) = self.cache.place(key);
        self.evict(&to_remove);
        if has_room {
            self.fits();
            self.placed.push(key);
        }
        self.writing.push((number, blocks + u64::from(has_room)));
    }

    fn end_block(&mut self, key: BlockKey, size_bytes: u64) {
        let block = self.seal(key, size_bytes);
        self.cache.sealed(block);
    }

    /// Names a written file whose blocks are complete.
    fn commit(&mut self, at: u8, backing: Backing) {
        let Some((number, _)) = pick(&mut self.writing, at) else { return };
        let mut placed = std::mem::take(&mut self.placed);
        placed.retain(|key| {
            if key.file == number {
                self.end_block(*key, BLOCK);
            }
            key.file != number
        });
        self.placed = placed;
        let before = self.cache.file(number).and_then(|file| self.cache.file_at(&file.path));
        let named = version(number as u8, number as i64);
        let to_remove = self.cache.name_file(number, named, backing);
        self.remove(&to_remove);
        if let Some((before, _)) = before {
            self.pinned.remove(&before);
            if let Some(place) = self.alone.iter().position(|alone| *alone == before) {
                self.alone.swap_remove(place);
                self.end(before);
            }
        }
        self.alone.push(number);
    }

    fn end(&mut self, number: u64) {
        self.placed.retain(|key| key.file != number);
        let to_remove = self.cache.end_file(number);
        self.remove(&to_remove);
    }

    /// Reads a block of an open file, and those ahead of it where it is read in order.
    fn read(&mut self, a: u8, b: u8) {
        let Some(&file) = self.opens.get(usize::from(a) % self.opens.len().max(1)) else {
            return;
        };
        let key = BlockKey { file, index: u64::from(b % 4) };
        if self.cache.size_of(key) == 0 {
            return;
        }
        let following = self.cache.following(key, 2);
        self.cache.read(key);
        let step = self.cache.lease(key, REASONS[usize::from(a % 3)]);
        self.lease(key, step, false);
        for key in following {
            let step = self.cache.ahead(key);
            self.lease(key, step, true);
        }
    }

    fn free_or_pin(&mut self, a: u8, b: u8) {
        if let Some((number, _)) = self.cache.file_at(&path(a % 4))
            && self.cache.backing(number) == Backing::Under
        {
            match b % 3 {
                0 => self.retire(number),
                1 => {
                    self.cache.pin(number, true);
                    self.pinned.insert(number);
                }
                _ => {
                    self.cache.pin(number, false);
                    self.pinned.remove(&number);
                }
            }
        }
    }

    fn step(&mut self, action: u8, a: u8, b: u8) {
        match action % 16 {
            0 | 1 => self.open(a % 4, i64::from(b % 2)),
            2 => {
                if let Some(number) = pick(&mut self.opens, a) {
                    self.cache.close(number);
                }
            }
            3..=6 => self.read(a, b),
            7 | 8 => {
                if let Some(filling) = pick(&mut self.filling, a) {
                    self.end_fill(filling, b);
                }
            }
            9 | 10 => {
                if let Some(block) = pick(&mut self.leases, a) {
                    self.release(block);
                }
            }
            11 => self.free_or_pin(a, b),
            12 => {
                let evicted = self.cache.set_limit(MEMORY - u64::from(b % 4) * BLOCK);
                self.evict(&evicted);
            }
            13 => self.writing.push((self.cache.begin_file(&path(a % 4)), 0)),
            14 if b.is_multiple_of(2) => self.write(a),
            14 => {
                if let Some(key) = pick(&mut self.placed, a) {
                    self.end_block(key, 1 + u64::from(b) % BLOCK);
                }
            }
            _ => match b % 4 {
                0 => self.commit(a, Backing::Dirty),
                1 => self.commit(a, Backing::Memory),
                2 => {
                    if let Some((number, _)) = pick(&mut self.writing, a) {
                        self.end(number);
                    }
                }
                _ => {
                    // It is written back: an unused block may be evicted from now on.
                    if let Some(number) = pick(&mut self.alone, a) {
                        let named = version(number as u8, number as i64);
                        let to_remove = self.cache.name_file(number, named, Backing::Under);
                        self.remove(&to_remove);
                        self.cache.close(number);
                    }
                }
            },
        }
    }

    fn check(&self) {
        let sealed: u64 = self.sealed.iter().map(|block| block.size_bytes).sum();
        let filling: u64 = self.filling.iter().map(|(_, size_bytes, _)| size_bytes).sum();
        let placed = self.placed.len() as u64 * BLOCK;
        assert_eq!(self.cache.used_bytes(), sealed + filling + placed);
        assert_eq!(self.cache.counts().leases, self.leases.len() as u64);
        assert!(self.leases.iter().all(|block| self.sealed.contains(block)));
        for quota in self.cache.quotas() {
            assert!(quota.used_bytes <= quota.quota_bytes, "a folder beyond its quota");
        }
        let mut by_key = HashMap::new();
        for block in &self.sealed {
            assert!(by_key.insert(block.key, block).is_none(), "two blocks of a key");
        }
    }

    /// Ends all that clients do, and frees all files: nothing is left.
    fn end_all(mut self) {
        while let Some(filling) = self.filling.pop() {
            self.end_fill(filling, 0);
        }
        while let Some(block) = self.leases.pop() {
            self.release(block);
        }
        let written = self.writing.iter().map(|(number, _)| *number);
        for number in written.chain(self.alone.clone()).collect::<Vec<_>>() {
            self.end(number);
        }
        self.opens.drain(..).for_each(|number| _ = self.cache.close(number));
        for file in 0..4 {
            if let Some((number, _)) = self.cache.file_at(&path(file)) {
                self.retire(number);
            }
        }
        assert_eq!((self.cache.used_bytes(), self.sealed.len()), (0, 0));
        assert_eq!(self.cache.shared().count(), 0);
    }
}

proptest! {
    #[test]
    fn the_bytes_in_memory_are_those_that_the_cache_counts_and_no_block_in_use_is_removed(
        steps in prop::collection::vec((0u8..16, any::<u8>(), any::<u8>()), 1..400),
        has_admission: bool,
    ) {
        for policy in PolicyName::ALL {
            let mut model = Model::new(policy, has_admission);
            for &(action, a, b) in &steps {
                model.step(action, a, b);
                model.check();
            }
            model.end_all();
        }
    }
}
