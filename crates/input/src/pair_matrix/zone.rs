//! Zones: number of rows and range of each score of a chunk, known without reading it.

use cuesta_core::fixed::{Micro, NAN};
use serde::{Deserialize, Serialize};

use super::ABSENT;
use crate::filter::Filter;

/// Smallest and largest of the scores of a chunk that are not NaN, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// Smallest score.
    pub min: Micro,
    /// Largest score.
    pub max: Micro,
    /// Smallest absolute score.
    pub min_abs: Micro,
    /// Largest absolute score; below `min_abs` when there is no score.
    pub max_abs: Micro,
}

impl Range {
    /// The range of no scores.
    pub const EMPTY: Self =
        Self { min: Micro::MAX, max: -Micro::MAX, min_abs: Micro::MAX, max_abs: -1 };

    /// Includes a score.
    #[inline]
    pub fn add(&mut self, score: Micro) {
        if score != NAN {
            self.min = self.min.min(score);
            self.max = self.max.max(score);
            self.min_abs = self.min_abs.min(score.abs());
            self.max_abs = self.max_abs.max(score.abs());
        }
    }

    /// Includes many scores, some of which may be absent; returns the number of present scores and
    /// whether any is NaN.
    pub fn add_all(&mut self, scores: &[Micro]) -> (u32, bool) {
        let (mut present, mut nan, mut range) = (0, 0, *self);
        for &score in scores {
            let number = score > ABSENT;
            present += u32::from(score != ABSENT);
            nan |= u32::from(score == NAN);
            range.min = range.min.min(if number { score } else { Micro::MAX });
            range.max = range.max.max(if number { score } else { -Micro::MAX });
            let size = if number { score.wrapping_abs() } else { Micro::MAX };
            range.min_abs = range.min_abs.min(size);
            range.max_abs = range.max_abs.max(if number { size } else { -1 });
        }
        *self = range;
        (present, nan != 0)
    }

    /// Whether a score in this range may pass the filter.
    pub fn may_pass(&self, filter: &Filter) -> bool {
        self.max_abs >= filter.min_abs && self.min_abs <= filter.max_abs
    }
}

/// Number of rows, stored columns and ranges of a chunk of a slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zone {
    /// Rows.
    pub rows: u32,
    /// Bit c: column c is stored, i.e. not all its values are the fill value.
    pub columns: u8,
    /// A range for each score of a row.
    pub ranges: Vec<Range>,
}

impl Zone {
    /// A chunk without rows.
    pub fn empty(scores: usize) -> Self {
        Self { rows: 0, columns: 0, ranges: vec![Range::EMPTY; scores] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FilterParams;
    use proptest::prelude::*;

    fn score() -> impl Strategy<Value = Micro> {
        prop_oneof![Just(NAN), Just(ABSENT), -1_000_000..=1_000_000]
    }

    proptest! {
        #[test]
        fn scores_at_once_equal_single_scores(scores in proptest::collection::vec(score(), 0..50)) {
            let (mut single, mut all) = (Range::EMPTY, Range::EMPTY);
            let present: Vec<Micro> = scores.iter().copied().filter(|&s| s != ABSENT).collect();
            present.iter().for_each(|&score| single.add(score));
            let (count, nan) = all.add_all(&scores);
            prop_assert_eq!(all, single);
            prop_assert_eq!(count as usize, present.len());
            prop_assert_eq!(nan, present.contains(&NAN));
        }
    }

    #[test]
    fn an_empty_range_passes_no_filter() {
        let filter = FilterParams::default().check().unwrap();
        assert!(!Range::EMPTY.may_pass(&filter));
        let mut range = Range::EMPTY;
        range.add(-5);
        assert!(range.may_pass(&filter));
    }
}
