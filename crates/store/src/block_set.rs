//! Set of block indexes, stored as ranges: a hole of a file takes as much memory as a single block.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of block indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockSet {
    /// End of each range by its start; ranges neither overlap nor touch.
    ranges: BTreeMap<u64, u64>,
}

impl BlockSet {
    /// Returns the end of the range that contains an index.
    pub fn end_of(&self, index: u64) -> Option<u64> {
        let (_, &end) = self.ranges.range(..=index).next_back()?;
        (index < end).then_some(end)
    }

    /// Returns whether the set contains an index.
    pub fn contains(&self, index: &u64) -> bool {
        self.end_of(*index).is_some()
    }

    /// Adds an index; returns whether it is new.
    pub fn insert(&mut self, index: u64) -> bool {
        let is_new = !self.contains(&index);
        self.insert_range(index..index.saturating_add(1));
        is_new
    }

    /// Adds all indexes of a range.
    pub fn insert_range(&mut self, added: Range<u64>) {
        if added.is_empty() {
            return;
        }
        let Range { mut start, mut end } = added;
        if let Some((&before, &its_end)) = self.ranges.range(..=start).next_back()
            && its_end >= start
        {
            (start, end) = (before, end.max(its_end));
        }
        while let Some((&next, &its_end)) = self.ranges.range(start..=end).next() {
            self.ranges.remove(&next);
            end = end.max(its_end);
        }
        self.ranges.insert(start, end);
    }

    /// Removes all indexes.
    pub fn clear(&mut self) {
        self.ranges.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_contains_what_was_added_and_its_ranges_do_not_touch(
            added in prop::collection::vec((0..60_u64, 0..9_u64), 0..40),
        ) {
            let (mut set, mut expected) = (BlockSet::default(), BTreeSet::new());
            for (start, count) in added {
                match count {
                    1 => prop_assert_eq!(set.insert(start), expected.insert(start)),
                    _ => set.insert_range(start..start + count),
                }
                expected.extend(start..start + count);
            }
            for index in 0..80 {
                prop_assert_eq!(set.contains(&index), expected.contains(&index));
                let end = (index..).find(|next| !expected.contains(next));
                prop_assert_eq!(set.end_of(index), end.filter(|&end| end > index));
            }
            let ranges: Vec<_> = set.ranges.iter().collect();
            prop_assert!(ranges.windows(2).all(|two| two[0].1 < two[1].0));
        }
    }
}
