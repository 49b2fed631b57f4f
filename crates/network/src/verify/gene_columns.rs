//! Genes of a matrix in either form as columns, for the verifier of `correlate`.

use std::ops::Range;
use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_input::matrix::{ExpressionMatrix, GeneMatrix};
use cuesta_runtime::parallel::{self, lock};

use super::columns::ColumnForm;
use super::nonzeros::SampleLists;
use super::products::{BLOCK, Rows};
use crate::params::CorrelateParams;

/// Genes that a thread prepares at a time.
const READY_GENES: usize = 64;

/// Genes as columns.
pub enum GeneColumns {
    /// Centred and scaled values of the genes that vary and have no missing values; zeros for all
    /// further genes.
    Units(Rows),
    /// Nonzeros by sample.
    Lists(SampleLists),
}

/// Memory of a thread.
pub struct Products {
    /// Products of a block of genes with a block of genes: of genes i and j at `i * BLOCK + j`.
    pub block: Vec<f64>,
    /// Products of a block of genes with all smaller genes, of a sparse matrix.
    strip: Vec<f64>,
}

impl Default for Products {
    fn default() -> Self {
        Self { block: vec![0.0; BLOCK * BLOCK], strip: Vec::new() }
    }
}

impl GeneColumns {
    /// Returns the columns of a matrix, and whether each gene varies and has no missing values.
    ///
    /// # Errors
    /// None of its own.
    pub fn of(
        matrix: &GeneMatrix,
        params: &CorrelateParams,
        threads: usize,
    ) -> Result<(Self, Vec<bool>)> {
        match matrix {
            GeneMatrix::Dense(matrix) => units_of(matrix, ColumnForm::of(params), threads),
            GeneMatrix::Sparse(matrix) => {
                let lists = SampleLists::new(matrix, params, threads)?;
                let varying = lists.varying();
                Ok((Self::Lists(lists), varying))
            }
        }
    }

    /// Begins the products of a block of genes, which are descending, with all smaller genes.
    pub fn begin(&self, genes: &[usize], products: &mut Products) {
        if let Self::Lists(lists) = self {
            lists.strip(genes, &mut products.strip);
        }
    }

    /// Computes the products of the block that has begun with the genes `right`.
    pub fn multiply(&self, genes: &[usize], right: Range<usize>, products: &mut Products) {
        match self {
            Self::Units(units) => units.products(genes, right, &mut products.block),
            Self::Lists(lists) => lists.copy(&products.strip, right, &mut products.block),
        }
    }
}

/// Returns the unit columns of the genes of a matrix, and whether each gene has them.
fn units_of(
    matrix: &ExpressionMatrix,
    form: ColumnForm,
    threads: usize,
) -> Result<(GeneColumns, Vec<bool>)> {
    let (genes, samples) = (matrix.genes.len(), matrix.samples.len());
    let mut units = Rows::zeros(genes, samples);
    let mut is_unit = vec![false; genes];
    let (parts, width) = units.parts(READY_GENES);
    let parts = parts.zip(is_unit.chunks_mut(READY_GENES)).map(Mutex::new);
    let parts: Vec<_> = parts.collect();
    let work = |_: &mut (), part: usize| {
        let (rows, are_units) = &mut *lock(&parts[part]);
        let ready = rows.chunks_mut(width).zip(are_units.iter_mut());
        for (gene, (row, is_unit)) in (part * READY_GENES..).zip(ready) {
            let values = matrix.row(gene);
            if values.iter().any(|value| value.is_nan()) {
                continue;
            }
            if let Some(column) = form.column(values) {
                row[..samples].copy_from_slice(&column);
                *is_unit = true;
            }
        }
        Ok(())
    };
    parallel::run(threads, parts.len(), || (), work, |_| {})?;
    drop(parts);
    Ok((GeneColumns::Units(units), is_unit))
}
