//! A prepared matrix in either form: with its zeros, or without.

use std::ops::Range;

use cuesta_core::Result;
use cuesta_input::matrix::GeneMatrix;

use super::band::{self, Counts, Match, Scratch};
use super::sparse::{self, PANEL};
use super::vector::TILE_ROWS;
use super::{Params, Prepared, SparsePrepared};

/// Matrix prepared for scoring. Shared by reference among threads.
#[derive(Debug)]
pub enum PreparedGenes<'a> {
    /// Matrix with all its zeros.
    Dense(Prepared<'a>),
    /// Matrix without its zeros.
    Sparse(SparsePrepared<'a>),
}

impl<'a> PreparedGenes<'a> {
    /// Prepares `matrix` on `threads` threads. The scores do not depend on its form; a sparse
    /// matrix has those of Pearson and Spearman alone.
    ///
    /// # Errors
    /// `Input` if a parameter is out of range or the matrix has too many samples.
    pub fn new(matrix: &'a GeneMatrix, params: &Params, threads: usize) -> Result<Self> {
        match matrix {
            GeneMatrix::Dense(matrix) => Prepared::new(matrix, params, threads).map(Self::Dense),
            GeneMatrix::Sparse(matrix) => {
                SparsePrepared::new(matrix, params, threads).map(Self::Sparse)
            }
        }
    }

    /// Returns the maximum memory of a prepared matrix, in bytes, without the matrix itself.
    pub fn size_bytes(matrix: &GeneMatrix) -> u64 {
        match matrix {
            GeneMatrix::Dense(matrix) => {
                Prepared::size_bytes(matrix.genes.len(), matrix.samples.len())
            }
            GeneMatrix::Sparse(matrix) => SparsePrepared::size_bytes(matrix),
        }
    }

    /// Divides the triangle of all pairs of `matrix` into at least `count` bands of about equal
    /// work, in order.
    pub fn bands(matrix: &GeneMatrix, count: usize) -> Vec<Range<usize>> {
        let step = match matrix {
            GeneMatrix::Dense(_) => TILE_ROWS,
            GeneMatrix::Sparse(_) => PANEL,
        };
        band::bands_of(matrix.genes().len(), count, step)
    }

    /// Appends the selected pairs whose first gene (0-based) is in `rows`, in ascending order of
    /// triangular rank, and counts all pairs of these rows.
    ///
    /// The result is the same for any division into bands and on any processor. `out` grows by at
    /// most the number of pairs of the band.
    pub fn band(&self, rows: Range<usize>, scratch: &mut Scratch, out: &mut Vec<Match>) -> Counts {
        match self {
            Self::Dense(prepared) => band::band(prepared, rows, scratch, out),
            Self::Sparse(prepared) => {
                scratch.make_room(&rows);
                scratch.counts = sparse::band(prepared, rows.clone(), scratch);
                scratch.take_selected(rows, out)
            }
        }
    }
}
