//! Selection of the rows of a pair file that an analysis uses.

use cuesta_core::fixed::{self, Micro};
use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::limits::{SAMPLES_MAX, SCORES_MAX};

/// Filter as set by the user; scores in their natural unit.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct FilterParams {
    /// Keep rows with |score| of at least this, 0 to 1.
    pub min_abs_score: f64,
    /// Keep rows with |score| of at most this; none by default.
    pub max_abs_score: Option<f64>,
    /// Index of the score in the row's list that is checked, 0-based.
    pub score_index: usize,
    /// Keep rows whose cluster has at least this many samples.
    pub min_cluster_samples: u32,
    /// Keep rows with at most this many missing samples; none by default.
    pub max_missing: Option<u32>,
}

impl Default for FilterParams {
    fn default() -> Self {
        Self {
            min_abs_score: 0.0,
            max_abs_score: None,
            score_index: 0,
            min_cluster_samples: 0,
            max_missing: None,
        }
    }
}

/// Filter in the units of the file: scores in millionths.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Filter {
    /// Smallest |score| that passes.
    pub min_abs: Micro,
    /// Largest |score| that passes; negative to pass all rows, with or without a score.
    pub max_abs: Micro,
    /// Index of the score in the list that is checked, 0-based.
    pub score_index: usize,
    /// Smallest cluster that passes, in samples.
    pub min_cluster_samples: u32,
    /// Maximum of missing samples that passes.
    pub max_missing: u32,
}

impl FilterParams {
    /// Checks the ranges and converts to the units of the file.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<Filter> {
        let refuse = |text: String| Err(Error::input("arguments", text));
        if !(0.0..=1.0).contains(&self.min_abs_score) {
            return refuse(format!(
                "--min-abs-score is {}, give a number from 0 to 1",
                self.min_abs_score
            ));
        }
        if let Some(max) = self.max_abs_score
            && !(max >= self.min_abs_score && max.is_finite())
        {
            return refuse(format!(
                "--max-abs-score is {max}, give a number of at least --min-abs-score ({})",
                self.min_abs_score
            ));
        }
        if self.score_index >= SCORES_MAX {
            return refuse(format!(
                "--score-index is {}, give a number below {}",
                self.score_index, SCORES_MAX
            ));
        }
        let samples = [
            ("--min-cluster-samples", self.min_cluster_samples),
            ("--max-missing", self.max_missing.unwrap_or(0)),
        ];
        for (option, given) in samples {
            if given as usize > SAMPLES_MAX {
                return refuse(format!("{option} is {given}, give up to {SAMPLES_MAX}"));
            }
        }
        Ok(Filter {
            min_abs: fixed::lower_bound(self.min_abs_score),
            max_abs: self.max_abs_score.map_or(fixed::LIMIT, fixed::upper_bound),
            score_index: self.score_index,
            min_cluster_samples: self.min_cluster_samples,
            max_missing: self.max_missing.unwrap_or(u32::MAX),
        })
    }
}

impl Filter {
    /// Keeps every row of a text, also those whose score is missing.
    pub const EVERYTHING: Self = Self {
        min_abs: 0,
        max_abs: -1,
        score_index: 0,
        min_cluster_samples: 0,
        max_missing: u32::MAX,
    };

    /// Whether a score passes; a missing one does only where everything does.
    #[inline(always)]
    pub fn keeps_score(&self, micro: Micro) -> bool {
        let size = micro.unsigned_abs();
        // A negative limit is the largest unsigned one, above the size of a missing score.
        size >= self.min_abs as u32 && size <= self.max_abs as u32
    }

    /// Whether every row passes.
    pub fn keeps_everything(&self) -> bool {
        *self == Self::EVERYTHING
    }

    /// Whether the sample counts of a row pass.
    #[inline(always)]
    pub fn keeps_samples(&self, cluster_samples: u32, missing: u32) -> bool {
        cluster_samples >= self.min_cluster_samples && missing <= self.max_missing
    }

    /// Whether every sample count passes, so that the counts need not be read.
    pub fn ignores_samples(&self) -> bool {
        self.min_cluster_samples == 0 && self.max_missing == u32::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_score_never_passes() {
        let filter = FilterParams::default().check().unwrap();
        assert!(!filter.keeps_score(fixed::NAN));
        assert!(filter.keeps_score(0) && filter.keeps_score(-1_000_000));
        assert!(Filter::EVERYTHING.keeps_score(fixed::NAN));
    }

    #[test]
    fn a_threshold_is_inclusive() {
        let params = FilterParams { min_abs_score: 0.8, ..FilterParams::default() };
        let filter = params.check().unwrap();
        assert!(filter.keeps_score(800_000) && filter.keeps_score(-800_000));
        assert!(!filter.keeps_score(799_999));
    }

    #[test]
    fn a_range_upside_down_is_refused() {
        let params = FilterParams {
            min_abs_score: 0.8,
            max_abs_score: Some(0.5),
            ..FilterParams::default()
        };
        assert!(params.check().unwrap_err().message().contains("--max-abs-score"));
        let params = FilterParams { min_abs_score: 1.5, ..FilterParams::default() };
        assert!(params.check().unwrap_err().message().contains("from 0 to 1"));
    }
}
