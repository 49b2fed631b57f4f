//! State of written files and their blocks in memory: decisions without I/O.

use super::block::{BlockKey, BlockState, SealedBlock, id_of};
use super::file::{Backing, FileState, FileVersion};
use super::policy::admission::LoadReason;
use super::residency::Residency;
use crate::path::StorePath;
use crate::under::UnderVersion;

impl Residency {
    /// Returns the number of a new file that is about to be written. It has no name yet.
    pub fn begin_file(&mut self, path: &StorePath) -> u64 {
        let number = self.next_file;
        self.next_file += 1;
        let version =
            UnderVersion { device: 0, inode: number, size_bytes: 0, modified_ns: 0, changed_ns: 0 };
        let file = FileVersion { path: path.clone(), version };
        let entry = FileState { opens: 1, ..FileState::new(file, Backing::Writing, &self.rules) };
        self.files.insert(number, entry);
        number
    }

    /// Adopts a file of an earlier store whose blocks may be its only copy: they are adopted even
    /// without room.
    pub fn adopt_written(
        &mut self,
        number: u64,
        file: FileVersion,
        backing: Backing,
        blocks: &[SealedBlock],
    ) {
        self.adopt(number, file, blocks);
        self.files.entry(number).and_modify(|entry| entry.backing = backing);
    }

    /// Sets the permission bits of a memory-only file.
    pub fn permit(&mut self, number: u64, permissions: u32) {
        self.files.entry(number).and_modify(|entry| entry.permissions = permissions);
        self.changes += 1;
    }

    /// Returns the permission bits of a memory-only file.
    pub fn permissions(&self, number: u64) -> u32 {
        self.files.get(&number).map_or(0, |entry| entry.permissions)
    }

    /// Sets the lowest number for new files.
    pub fn number_from(&mut self, next: u64) {
        self.next_file = self.next_file.max(next);
    }

    /// Makes room for a block to be written; returns the blocks to be removed, and whether there is
    /// room. Its bytes are counted from now on.
    pub fn place(&mut self, key: BlockKey) -> (Vec<SealedBlock>, bool) {
        if self.blocks.contains_key(&key) {
            return (vec![], false);
        }
        let size_bytes = self.block_bytes;
        let (to_remove, has_room) = self.make_room_for(key, size_bytes, LoadReason::Wanted);
        if has_room {
            self.policy.insert(id_of(key), size_bytes);
            self.counts.used_bytes += size_bytes;
            self.blocks.insert(key, BlockState::Busy { size_bytes });
        }
        (to_remove, has_room)
    }

    /// Adds a block that was written, which may be smaller than its room.
    pub fn sealed(&mut self, block: SealedBlock) {
        self.failed(block.key);
        self.changes += 1;
        self.policy.insert(id_of(block.key), block.size_bytes);
        self.counts.used_bytes += block.size_bytes;
        self.blocks.insert(block.key, BlockState::Here { block, leases: 0, is_ahead: false });
    }

    /// Names a written file; returns the blocks to be removed of the file that had the name.
    pub fn name_file(
        &mut self,
        number: u64,
        version: UnderVersion,
        backing: Backing,
    ) -> Vec<SealedBlock> {
        let Some(entry) = self.files.get_mut(&number) else { return vec![] };
        (entry.file.version, entry.backing) = (version, backing);
        self.changes += 1;
        let path = entry.file.path.clone();
        let to_remove = match self.names.get(&path) {
            Some(&before) if before != number => self.retire(before),
            _ => vec![],
        };
        self.names.insert(path, number);
        to_remove
    }

    /// Renames a file; returns the blocks to be removed of the file that had the new name.
    pub fn rename_file(&mut self, number: u64, to: &StorePath) -> Vec<SealedBlock> {
        let Some(entry) = self.files.get_mut(&number) else { return vec![] };
        let from = std::mem::replace(&mut entry.file.path, to.clone());
        let (version, backing) = (entry.file.version, entry.backing);
        self.names.remove(&from);
        self.name_file(number, version, backing)
    }

    /// Forgets a file; returns its blocks, which are to be removed.
    pub fn forget_file(&mut self, number: u64) -> Vec<SealedBlock> {
        let busy = |(key, block): (&BlockKey, &BlockState)| match block {
            BlockState::Busy { .. } => Some(*key),
            _ => None,
        };
        if self.backing(number) == Backing::Writing {
            // Only the writer works on these.
            let busy: Vec<BlockKey> = self.blocks_of(number).filter_map(busy).collect();
            busy.into_iter().for_each(|key| self.failed(key));
        }
        if let Some(entry) = self.files.get_mut(&number) {
            entry.backing = Backing::Under;
        }
        self.retire(number)
    }

    /// Forgets a file that is written no more, and closes it; returns its blocks, which are to be
    /// removed.
    pub fn end_file(&mut self, number: u64) -> Vec<SealedBlock> {
        let to_remove = self.forget_file(number);
        self.close(number);
        to_remove
    }

    /// Marks a file in memory as dirty.
    pub fn mark_dirty(&mut self, number: u64) {
        self.files.entry(number).and_modify(|entry| entry.backing = Backing::Dirty);
        self.changes += 1;
    }

    /// Returns the blocks in memory of a file, checked or not.
    pub fn all_blocks(&self, number: u64) -> Vec<SealedBlock> {
        let of = |(_, block): (&BlockKey, &BlockState)| match block {
            BlockState::Here { block, .. } | BlockState::Unverified(block) => Some(*block),
            BlockState::Busy { .. } => None,
        };
        self.blocks_of(number).filter_map(of).collect()
    }

    /// Returns the files that are only in memory, by path.
    pub fn alone(&self) -> Vec<(StorePath, u64)> {
        let alone = |(path, number): (&StorePath, &u64)| {
            (self.backing(*number) != Backing::Under).then(|| (path.clone(), *number))
        };
        let mut files: Vec<_> = self.names.iter().filter_map(alone).collect();
        files.sort_unstable();
        files
    }
}
