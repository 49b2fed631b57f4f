//! Parameters of reading and filtering an expression matrix, common to both workloads.

use cuesta_core::{Error, Result};
use cuesta_input::matrix::Options;
use cuesta_input::table::TableParams;
use serde::{Deserialize, Serialize};

/// Reading of a matrix, and the genes of it that are used.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct MatrixParams {
    /// Number of genes with the largest variances that are used; all by default.
    pub top_variable: Option<u32>,
    /// Smallest mean of a gene that is used, before logarithms; any by default.
    pub min_mean: Option<f64>,
    /// Smallest number of samples in which a gene that is used has a value; half of them, and at
    /// least four, by default.
    pub min_samples: Option<u32>,
    /// Whether log2(x + 1) replaces each value x.
    pub log2: bool,
    /// Words for a missing value, separated by commas, besides NA, NaN, nan and an empty field.
    pub missing: Option<String>,
    /// Whether rows are samples, and columns genes.
    pub transpose: bool,
    /// Layer of an annotated matrix, before it was converted to text.
    pub layer: Option<String>,
    /// Layout of the text, if it is not to be recognised.
    #[serde(flatten)]
    pub table: TableParams,
}

impl MatrixParams {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        if self.top_variable == Some(0) {
            return Err(Error::input("arguments", "--top-variable is 0, give at least 1"));
        }
        if let Some(mean) = self.min_mean.filter(|mean| !mean.is_finite()) {
            return Err(Error::input("arguments", format!("--min-mean is {mean}, give a number")));
        }
        Ok(())
    }

    /// Words for a missing value, besides those that all readers know.
    pub fn missing_words(&self) -> Vec<String> {
        let words = self.missing.as_deref().unwrap_or_default().split(',');
        words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    /// Returns the options of the reader of the matrix.
    pub fn reading(&self, threads: usize, memory_bytes: u64) -> Options {
        Options {
            table: self.table.clone(),
            missing: self.missing_words(),
            transpose: self.transpose,
            threads,
            memory_bytes,
        }
    }
}
