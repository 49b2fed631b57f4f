//! Pairs of genes most of whose values are zero, from their nonzeros.
//!
//! For a gene x let d be its centred values (for Spearman its centred ranks), b the d of its zeros,
//! and s = d - b, which is 0 for each zero. As the d of the other gene of a pair sum to 0, the sum
//! of d d' is that of d s' over the nonzeros of the second gene alone. A panel of [`PANEL`] genes
//! has its d for all samples of a block; the s of all smaller genes pass over it, so that the
//! matrix with its zeros is never in memory.
//!
//! Doubled ranks and their sums of products are integers below 2^53: Spearman's sums are exact, in
//! any order, and those of `dense`. A product of Pearson has an error of at most
//! `SparsePrepared::error`; where that leaves the last digit undecided, the pair is computed as
//! `dense` does. So scores are those of the dense matrix, to the bit.

mod blocks;
mod columns;
mod panel;

use cuesta_core::Result;
use cuesta_core::fixed::Micro;
use cuesta_input::matrix::sparse::SparseMatrix;

use super::complete::{exact_score, micro_of};
use super::prepare::check_samples;
use super::share::share;
use super::simd::Isa;
use super::{CorrelationMethod, Params, coefficient};
use blocks::SampleBlocks;
use columns::{CentredColumn, List};
pub use panel::PANEL;
pub(super) use panel::{SparseWorkspace, band};

/// Rounding errors of a product that do not grow with the samples, in units of the last place.
const ROUNDINGS: f64 = 4096.0;

/// Sparse matrix prepared for [`super::band`]. Shared by reference among threads.
#[derive(Debug)]
pub struct SparsePrepared<'a> {
    matrix: &'a SparseMatrix,
    method: CorrelationMethod,
    min_abs_micro: Micro,
    min_samples: usize,
    isa: Isa,
    columns: Vec<CentredColumn>,
    layout: Layout,
}

#[derive(Debug)]
enum Layout {
    /// Doubled ranks, integers of at most 2^18.
    Ranks(SampleBlocks<f32>),
    /// Values, scaled by a power of two.
    Values(SampleBlocks<f64>),
}

impl<'a> SparsePrepared<'a> {
    /// Prepares `matrix` on `threads` threads, for Pearson or Spearman.
    ///
    /// # Errors
    /// `Input` if a parameter is out of range or the matrix has too many samples.
    pub fn new(matrix: &'a SparseMatrix, params: &Params, threads: usize) -> Result<Self> {
        params.check()?;
        let samples = matrix.samples.len();
        check_samples(samples)?;
        let genes = matrix.genes.len();
        let (columns, layout) = match params.method {
            CorrelationMethod::Spearman => {
                let (columns, blocks) = laid_out(matrix, threads, columns::ranked);
                (columns, Layout::Ranks(blocks))
            }
            CorrelationMethod::Pearson | CorrelationMethod::Bicor { .. } => {
                let (columns, blocks) = laid_out(matrix, threads, columns::centred);
                (columns, Layout::Values(blocks))
            }
        };
        debug_assert_eq!(columns.len(), genes);
        Ok(Self {
            matrix,
            method: params.method,
            min_abs_micro: params.min_abs_micro(),
            min_samples: params.min_samples,
            isa: Isa::best(),
            columns,
            layout,
        })
    }

    /// Returns the memory of a prepared matrix while it is made, in bytes, without the matrix
    /// itself and without genes whose nonzeros are nearly equal.
    pub fn size_bytes(matrix: &SparseMatrix) -> u64 {
        let blocks = matrix.samples.len().div_ceil(blocks::BLOCK) as u64;
        // Values once more in their blocks, with the places there; the verification takes six more.
        matrix.genes.len() as u64 * (8 * blocks + 128) + 24 * matrix.nonzeros() as u64
    }

    /// Bound on the error of the product of two columns of norm 1, and of that of their dense rows.
    ///
    /// Sums over all n samples are made in eight lanes, so they err by at most n/8 units of the
    /// last place, those over the nonzeros by fewer; four of them count. The mean errs by a unit,
    /// which counts as often as the column without its mean is shorter than with it. Inside a block
    /// at most [`blocks::BLOCK`] products are added in order.
    fn error(&self, column1: &CentredColumn, column2: &CentredColumn) -> f64 {
        let sums = self.matrix.samples.len() as f64 + ROUNDINGS;
        sums * f64::EPSILON * column1.lengthening * column2.lengthening
    }

    /// Returns the score of two genes (0-based) that vary, in millionths, from their product.
    fn micro(&self, gene1: usize, gene2: usize, product: f64) -> Micro {
        let (column1, column2) = (&self.columns[gene1], &self.columns[gene2]);
        if self.method == CorrelationMethod::Spearman {
            return micro_of(coefficient(column1.squares, product, column2.squares));
        }
        let (score, error) = (product * column2.factor, self.error(column1, column2));
        let micro = micro_of((score - error).clamp(-1.0, 1.0));
        if micro == micro_of((score + error).clamp(-1.0, 1.0)) {
            return micro;
        }
        let rows = [gene1, gene2].map(|gene| self.matrix.dense_row(gene));
        exact_score(self.method, self.isa, [&rows[0], &rows[1]])
    }
}

/// Lays out the columns that `make` makes of the genes.
fn laid_out<V: blocks::Nonzero>(
    matrix: &SparseMatrix,
    threads: usize,
    make: impl Fn(&SparseMatrix, usize) -> List<V> + Sync,
) -> (Vec<CentredColumn>, SampleBlocks<V>) {
    let mut lists: Vec<Option<List<V>>> = Vec::new();
    lists.resize_with(matrix.genes.len(), || None);
    share(&mut lists, threads, |gene, list| *list = Some(make(matrix, gene)));
    let lists: Vec<List<V>> = lists.into_iter().flatten().collect();
    let blocks = SampleBlocks::new(matrix, &lists, threads);
    (lists.into_iter().map(|list| list.column).collect(), blocks)
}

#[cfg(test)]
mod tests;
