//! Parameters of the `correlate` kernel.

use cuesta_core::fixed::{self, Micro};
use cuesta_core::{Error, Result};

/// Maximum number of samples of a matrix: sums of products of ranks are exact in double precision
/// up to this number.
pub const SAMPLES_MAX: usize = 100_000;

/// Score of a pair of genes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CorrelationMethod {
    /// Pearson's product-moment correlation.
    Pearson,
    /// Spearman's correlation of ranks; equal values share the mean of their ranks.
    Spearman,
    /// Biweight midcorrelation, with Pearson's column for a gene whose median absolute deviation is
    /// 0.
    Bicor {
        /// Largest part of the samples on either side of the median that may be outliers, 0 to 1.
        max_outliers: f64,
    },
}

/// Parameters of `correlate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Score of a pair.
    pub method: CorrelationMethod,
    /// Minimum absolute score of a selected pair, 0 to 1; compared in millionths.
    pub min_abs_score: f64,
    /// Minimum number of common samples of a scored pair, 2 to [`SAMPLES_MAX`].
    pub min_samples: usize,
}

impl Params {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the parameter, its value and its range.
    pub fn check(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.min_abs_score) {
            let value = self.min_abs_score;
            let text = format!("min-abs-score is {value}, must be between 0 and 1");
            return Err(Error::input("correlate", text));
        }
        if !(2..=SAMPLES_MAX).contains(&self.min_samples) {
            let value = self.min_samples;
            let text = format!("min-samples is {value}, must be between 2 and {SAMPLES_MAX}");
            return Err(Error::input("correlate", text));
        }
        match self.method {
            CorrelationMethod::Bicor { max_outliers } if !(0.0..=1.0).contains(&max_outliers) => {
                let text = format!("max-p-outliers is {max_outliers}, must be between 0 and 1");
                Err(Error::input("correlate", text))
            }
            _ => Ok(()),
        }
    }

    /// Returns the minimum absolute score, in millionths.
    pub fn min_abs_micro(&self) -> Micro {
        fixed::lower_bound(self.min_abs_score)
    }
}
