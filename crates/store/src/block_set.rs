//! Numbers of blocks, in ranges: a hole of a file takes as much of it as one block does.

use std::collections::BTreeMap;
use std::ops::Range;

/// A set of numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockSet {
    /// The end of each range by its start; they neither overlap nor touch.
    ranges: BTreeMap<u64, u64>,
}

impl BlockSet {
    /// The end of the range that a number is in.
    pub fn end_of(&self, index: u64) -> Option<u64> {
        let (_, &end) = self.ranges.range(..=index).next_back()?;
        (index < end).then_some(end)
    }

    /// Whether it has a number.
    pub fn contains(&self, index: &u64) -> bool {
        self.end_of(*index).is_some()
    }

    /// Takes a number in; whether it had it not.
    pub fn insert(&mut self, index: u64) -> bool {
        let is_new = !self.contains(&index);
        self.insert_range(index..index.saturating_add(1));
        is_new
    }

    /// Takes all numbers of a range in.
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

    /// Takes all numbers out.
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
        fn it_has_what_was_taken_in_and_its_ranges_do_not_touch(
            added in prop::collection::vec((0..60_u64, 0..9_u64), 0..40),
        ) {
            let (mut found, mut expected) = (BlockSet::default(), BTreeSet::new());
            for (start, count) in added {
                match count {
                    1 => prop_assert_eq!(found.insert(start), expected.insert(start)),
                    _ => found.insert_range(start..start + count),
                }
                expected.extend(start..start + count);
            }
            for index in 0..80 {
                prop_assert_eq!(found.contains(&index), expected.contains(&index));
                let end = (index..).find(|next| !expected.contains(next));
                prop_assert_eq!(found.end_of(index), end.filter(|&end| end > index));
            }
            let ranges: Vec<_> = found.ranges.iter().collect();
            prop_assert!(ranges.windows(2).all(|two| two[0].1 < two[1].0));
        }
    }
}
