//! Choice of reads by a counter: every so many of the reads of each source, evenly, with their
//! mates (`spec/workloads/assemble`, *Depth*).

use serde::{Deserialize, Serialize};

/// A part of the groups of each source: the reads of a pair, or a read without a mate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// The part, as two numbers of bases: those that are wanted, of those that there are. All, if
    /// there are none.
    wanted: u64,
    all: u64,
    /// Index of the first group within its source.
    first: u64,
}

impl Sampling {
    /// All reads.
    pub const ALL: Self = Self { wanted: 0, all: 0, first: 0 };

    /// The part `wanted` of `all` of the groups of each source; all of them if that is more.
    pub fn new(wanted: u64, all: u64) -> Self {
        if wanted < all { Self { wanted, all, first: 0 } } else { Self::ALL }
    }

    /// This part of a source whose first `first` groups are not read.
    #[must_use]
    pub fn from_group(self, first: u64) -> Self {
        Self { first, ..self }
    }

    /// Whether all reads are taken.
    pub fn is_all(self) -> bool {
        self.all == 0
    }

    /// Returns the number of groups that are taken of the first `groups` of a source.
    pub fn count(self, groups: u64) -> u64 {
        if self.is_all() {
            return groups;
        }
        (u128::from(groups) * u128::from(self.wanted) / u128::from(self.all)) as u64
    }

    /// Whether a group is taken, by its index among those that are read.
    pub fn takes(self, group: u64) -> bool {
        let index = self.first + group;
        self.is_all() || self.count(index + 1) > self.count(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn groups_are_taken_evenly_wherever_reading_begins(
            [wanted, all] in [0u64..1 << 40, 1u64..1 << 40],
            first in 0u64..1000,
        ) {
            let sampling = Sampling::new(wanted, all);
            let part = if wanted < all { wanted as f64 / all as f64 } else { 1.0 };
            let mut taken = 0;
            for group in 0..400_u64 {
                taken += u64::from(sampling.takes(group));
                prop_assert_eq!(sampling.count(group + 1), taken);
                prop_assert!((taken as f64 - part * (group + 1) as f64).abs() <= 1.0);
                let later = sampling.from_group(first);
                prop_assert_eq!(later.takes(group), sampling.takes(first + group));
            }
        }
    }
}
