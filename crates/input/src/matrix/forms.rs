//! A matrix in either form, for workloads that compute with both.

use std::borrow::Cow;
use std::path::Path;

use cuesta_core::Result;

use super::sparse::{self, SparseMatrix};
use super::{ExpressionMatrix, Options};

/// Expression of genes in samples, with its zeros or without.
#[derive(Clone, Debug, PartialEq)]
pub enum GeneMatrix {
    /// A value for each gene and sample.
    Dense(ExpressionMatrix),
    /// The values that are not zero.
    Sparse(SparseMatrix),
}

impl GeneMatrix {
    /// Reads a matrix from a file of text, or of a sparse matrix.
    ///
    /// # Errors
    /// As [`super::read`] and [`sparse::read`].
    pub fn read(path: &Path, options: &Options) -> Result<Self> {
        match sparse::is_sparse(path) && !options.transpose {
            true => sparse::read(path, options.memory_bytes).map(Self::Sparse),
            false => super::read(path, options).map(Self::Dense),
        }
    }

    /// Names of the genes, all different, in the order of the file.
    pub fn genes(&self) -> &[String] {
        match self {
            Self::Dense(matrix) => &matrix.genes,
            Self::Sparse(matrix) => &matrix.genes,
        }
    }

    /// Names of the samples, in the order of the file.
    pub fn samples(&self) -> &[String] {
        match self {
            Self::Dense(matrix) => &matrix.samples,
            Self::Sparse(matrix) => &matrix.samples,
        }
    }

    /// The values of a gene (0-based), one a sample.
    pub fn row(&self, gene: usize) -> Cow<'_, [f64]> {
        match self {
            Self::Dense(matrix) => Cow::Borrowed(matrix.row(gene)),
            Self::Sparse(matrix) => Cow::Owned(matrix.dense_row(gene)),
        }
    }

    /// Returns whether each value of a gene (0-based) is missing; nothing for a gene that has all.
    pub fn missing(&self, gene: usize) -> Vec<bool> {
        let Self::Dense(matrix) = self else { return Vec::new() };
        let flags: Vec<bool> = matrix.row(gene).iter().map(|value| value.is_nan()).collect();
        if flags.contains(&true) { flags } else { Vec::new() }
    }

    /// Whether any value is missing.
    pub fn has_missing(&self) -> bool {
        matches!(self, Self::Dense(matrix) if matrix.has_missing())
    }

    /// Number of rows that count reads of no gene, and are left out.
    pub fn left_out(&self) -> u64 {
        match self {
            Self::Dense(matrix) => matrix.left_out,
            Self::Sparse(matrix) => matrix.left_out,
        }
    }

    /// Number of samples that have the name of one before them.
    pub fn repeated_samples(&self) -> u64 {
        super::repeated(self.samples())
    }

    /// Memory of the values, in bytes.
    pub fn size_bytes(&self) -> u64 {
        match self {
            Self::Dense(matrix) => 8 * matrix.values.len() as u64,
            Self::Sparse(matrix) => matrix.size_bytes(),
        }
    }

    /// Returns the matrix with all its zeros.
    #[must_use]
    pub fn into_dense(self) -> ExpressionMatrix {
        match self {
            Self::Dense(matrix) => matrix,
            Self::Sparse(matrix) => matrix.into_dense(),
        }
    }
}
