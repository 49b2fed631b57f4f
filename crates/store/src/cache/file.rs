//! Files as the cache knows them: versions, and where else their bytes are.

use serde::{Deserialize, Serialize};

use super::rules::{FileRule, FolderRule, FolderUse, rule_of};
use crate::path::StorePath;
use crate::under::UnderVersion;

/// A file of the under level, in one version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    /// Its path.
    pub path: StorePath,
    /// Its version; another version counts as another file here.
    pub version: UnderVersion,
}

impl FileVersion {
    /// Returns the size of a block, which is `block_bytes` except for the last; 0 where there is
    /// none.
    pub fn block_size(&self, index: u64, block_bytes: u64) -> u64 {
        let start = index.saturating_mul(block_bytes);
        self.version.size_bytes.saturating_sub(start).min(block_bytes)
    }
}

/// Location of a file's bytes apart from its blocks in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// On the under level: an evicted block can be filled again.
    Under,
    /// None yet: the file is being written.
    Writing,
    /// None yet: it is to be written to the under level.
    Dirty,
    /// None.
    Memory,
}

/// A file whose bytes other stores may read.
#[derive(Clone, Copy, Debug)]
pub struct SharedFile<'a> {
    /// Its number.
    pub number: u64,
    /// Its path and version.
    pub file: &'a FileVersion,
    /// Its permission bits, where it is only in memory.
    pub permissions: u32,
    /// Whether it is only in memory.
    pub is_alone: bool,
}

#[derive(Debug)]
pub(super) struct FileState {
    pub(super) file: FileVersion,
    pub(super) backing: Backing,
    pub(super) opens: u64,
    pub(super) is_pinned: bool,
    pub(super) rule: FileRule,
    /// Whether a newer version has its name, or it was freed: its blocks are evicted when their
    /// leases end.
    pub(super) is_old: bool,
    /// Whether a block was filled so soon after a change that the next change may have the same
    /// time.
    pub(super) is_young: bool,
    /// The block that a reader of the file in order reads next.
    pub(super) next: u64,
    /// Permission bits of a memory-only file.
    pub(super) permissions: u32,
}

impl FileState {
    pub(super) fn new(file: FileVersion, backing: Backing, rules: &[FolderRule]) -> Self {
        let rule = rule_of(rules, &file.path);
        let is_pinned = rule.folder_use == FolderUse::Pin;
        let (is_old, is_young, next, permissions) = (false, false, 0, 0);
        Self { file, backing, opens: 0, is_pinned, rule, is_old, is_young, next, permissions }
    }
}
