//! Parameters of reading and filtering an expression matrix, common to both workloads.

use cuesta_core::Result;
use cuesta_input::matrix::{GeneFilter, Options};
use cuesta_input::table::TableParams;
use serde::{Deserialize, Serialize};

/// Reading of a matrix, and the genes of it that are used.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct MatrixParams {
    /// Genes that are used, and their scale.
    #[serde(flatten)]
    pub genes: GeneFilter,
    /// Smallest number of samples in which a gene that is used has a value; more than half of
    /// them, and at least four, by default.
    pub min_samples: Option<u32>,
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
        self.genes.check()
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
