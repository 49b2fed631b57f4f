//! Cache of packed reads: the first size of k-mers fills it, and later sizes read from it instead
//! of the files, if memory suffices.

use std::sync::{Mutex, OnceLock};

use cuesta_core::budget::{Budget, Lease};
use cuesta_runtime::parallel::lock;

use super::align::Group;

/// Most memory for the cache, as a part of the budget.
const MEMORY_PART: u64 = 16;
/// Least bytes of text per byte of packed reads.
const TEXT_PART: u64 = 2;

/// Cache of groups of reads that are aligned to the unitigs of each size.
pub struct PackedReads<'a> {
    most_bytes: u64,
    /// Groups so far; `None` once they exceed the memory.
    pending: Mutex<Option<CachedGroups<'a>>>,
    complete: OnceLock<CachedGroups<'a>>,
}

/// Groups, their bytes, and the memory that they may take.
struct CachedGroups<'a> {
    groups: Vec<Group>,
    bytes: u64,
    _lease: Lease<'a>,
}

impl<'a> PackedReads<'a> {
    /// Creates an empty cache for about `text_bytes` bytes of text.
    pub fn new(text_bytes: u64, budget: &'a Budget) -> Self {
        let most_bytes = (text_bytes / TEXT_PART).min(budget.limit_bytes() / MEMORY_PART);
        let empty = |_lease| CachedGroups { groups: Vec::new(), bytes: 0, _lease };
        let pending = Mutex::new(budget.try_take(most_bytes).map(empty));
        Self { most_bytes, pending, complete: OnceLock::new() }
    }

    /// Adds a group; drops all where memory does not suffice.
    pub fn add(&self, group: Group) {
        let mut pending = lock(&self.pending);
        if let Some(cached) = &mut *pending {
            cached.bytes += group.bytes();
            if cached.bytes <= self.most_bytes {
                cached.groups.push(group);
            } else {
                *pending = None;
            }
        }
    }

    /// Drops all groups, as other sizes have other reads.
    pub fn refuse(&self) {
        *lock(&self.pending) = None;
    }

    /// Returns whether groups may be added.
    pub fn is_open(&self) -> bool {
        lock(&self.pending).is_some()
    }

    /// Completes the cache: all groups have been added.
    pub fn finish(&self) {
        if let Some(cached) = lock(&self.pending).take() {
            _ = self.complete.set(cached);
        }
    }

    /// Returns all groups, if the cache is complete.
    pub fn groups(&self) -> Option<&[Group]> {
        self.complete.get().map(|cached| &cached.groups[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_cached_completely_or_not_at_all() {
        let budget = Budget::new(16 << 10);
        let group = || {
            let mut group = Group::default();
            group.push(&[b'A'; 100]);
            group.push(&[b'C'; 50]);
            group
        };
        let each_bytes = group().bytes();
        let cached_bases = |count: u64, is_refused: bool, text_bytes: u64| {
            let reads = PackedReads::new(text_bytes, &budget);
            (0..count).for_each(|_| reads.add(group()));
            if is_refused {
                reads.refuse();
            }
            assert!(reads.groups().is_none());
            reads.finish();
            reads.groups().map(|groups| groups.iter().map(Group::bases).sum::<u64>())
        };
        let most = 1024 / each_bytes;
        assert_eq!(cached_bases(most, false, 1 << 20), Some(150 * most));
        assert_eq!(cached_bases(most + 1, false, 1 << 20), None);
        assert_eq!(cached_bases(1, false, each_bytes), None);
        assert_eq!(cached_bases(1, true, 1 << 20), None);
        assert_eq!(cached_bases(0, false, 0), Some(0));
        let (reads, free_bytes) = (PackedReads::new(1 << 20, &budget), budget.free_bytes());
        reads.refuse();
        assert_eq!(budget.free_bytes(), free_bytes + 1024);
        let _taken = budget.take(budget.free_bytes(), "all").unwrap();
        assert_eq!(cached_bases(1, false, 1 << 20), None);
    }
}
