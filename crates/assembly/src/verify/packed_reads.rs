//! Packed reads of the first size of k-mers, which later sizes take from memory as far as there is
//! room, and not from the files once more.

use std::sync::{Mutex, OnceLock};

use cuesta_core::budget::{Budget, Lease};
use cuesta_runtime::parallel::lock;

use super::align::Group;

/// The part of the memory that they take at most.
const MEMORY_PART: u64 = 16;
/// Bytes of text for a byte of packed reads, or more.
const TEXT_PART: u64 = 2;

/// Groups of reads that are laid along the unitigs of each size.
pub struct PackedReads<'a> {
    most_bytes: u64,
    /// Those so far; none once there are more than there is room for.
    so_far: Mutex<Option<KeptGroups<'a>>>,
    whole: OnceLock<KeptGroups<'a>>,
}

/// Groups, their bytes, and the memory that they may take.
struct KeptGroups<'a> {
    groups: Vec<Group>,
    bytes: u64,
    _lease: Lease<'a>,
}

impl<'a> PackedReads<'a> {
    /// None yet, of about so many bytes of text.
    pub fn new(text_bytes: u64, budget: &'a Budget) -> Self {
        let most_bytes = (text_bytes / TEXT_PART).min(budget.limit_bytes() / MEMORY_PART);
        let kept = |_lease| KeptGroups { groups: Vec::new(), bytes: 0, _lease };
        let so_far = Mutex::new(budget.try_take(most_bytes).map(kept));
        Self { most_bytes, so_far, whole: OnceLock::new() }
    }

    /// Keeps a group, or forgets all where there is no room for it.
    pub fn keep(&self, group: Group) {
        let mut so_far = lock(&self.so_far);
        if let Some(kept) = &mut *so_far {
            kept.bytes += group.bytes();
            if kept.bytes <= self.most_bytes {
                kept.groups.push(group);
            } else {
                *so_far = None;
            }
        }
    }

    /// Forgets all: they are not those that another size has.
    pub fn refuse(&self) {
        *lock(&self.so_far) = None;
    }

    /// Whether some may be added.
    pub fn is_open(&self) -> bool {
        lock(&self.so_far).is_some()
    }

    /// There are no others.
    pub fn finish(&self) {
        if let Some(kept) = lock(&self.so_far).take() {
            _ = self.whole.set(kept);
        }
    }

    /// All, if they are there.
    pub fn groups(&self) -> Option<&[Group]> {
        self.whole.get().map(|kept| &kept.groups[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_are_kept_whole_or_not_at_all() {
        let budget = Budget::new(16 << 10);
        let group = || {
            let mut group = Group::default();
            group.push(&[b'A'; 100]);
            group.push(&[b'C'; 50]);
            group
        };
        let each_bytes = group().bytes();
        let found = |count: u64, is_refused: bool, text_bytes: u64| {
            let reads = PackedReads::new(text_bytes, &budget);
            (0..count).for_each(|_| reads.keep(group()));
            if is_refused {
                reads.refuse();
            }
            assert!(reads.groups().is_none());
            reads.finish();
            reads.groups().map(|groups| groups.iter().map(Group::bases).sum::<u64>())
        };
        let most = 1024 / each_bytes;
        assert_eq!(found(most, false, 1 << 20), Some(150 * most));
        assert_eq!(found(most + 1, false, 1 << 20), None);
        assert_eq!(found(1, false, each_bytes), None);
        assert_eq!(found(1, true, 1 << 20), None);
        assert_eq!(found(0, false, 0), Some(0));
        let (reads, free_bytes) = (PackedReads::new(1 << 20, &budget), budget.free_bytes());
        reads.refuse();
        assert_eq!(budget.free_bytes(), free_bytes + 1024);
        let _taken = budget.take(budget.free_bytes(), "all").unwrap();
        assert_eq!(found(1, false, 1 << 20), None);
    }
}
