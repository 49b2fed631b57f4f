//! What the user chooses for `correlate`.

use cuesta_core::fixed::{self, Micro};
use cuesta_core::{Error, Result};

/// Most samples of a matrix: up to here sums of products of ranks are exact in double precision.
pub const SAMPLES_MAX: usize = 100_000;

/// How a pair of genes is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorrelationMethod {
    /// Pearson's product-moment correlation.
    Pearson,
    /// Spearman's correlation of ranks; equal values share the mean of their ranks.
    Spearman,
}

/// Parameters of `correlate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// How a pair is scored.
    pub method: CorrelationMethod,
    /// Smallest absolute score of a pair that is kept, 0 to 1; compared in millionths.
    pub min_abs_score: f64,
    /// Fewest samples that both genes must have for the pair to be scored, 2 to [`SAMPLES_MAX`].
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
        Ok(())
    }

    /// Smallest absolute score that is kept, in millionths.
    pub fn min_abs_micro(&self) -> Micro {
        fixed::lower_bound(self.min_abs_score)
    }
}
