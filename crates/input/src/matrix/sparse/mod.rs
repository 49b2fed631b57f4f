//! Sparse expression matrices: the values that are not zero, gene after gene, and the file in which
//! they reach the workloads (`spec/formats/sparse-matrix.md`).

mod bytes;
mod file;

pub use bytes::{NonzeroOrder, to_bytes, with_checksum};
pub use file::{describe, is_sparse, read};

use super::ExpressionMatrix;

/// Expression of genes in samples, most of which is zero. No value is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseMatrix {
    /// Names of the genes, all different, in the order of the file.
    pub genes: Vec<String>,
    /// Names of the samples, in the order of the file.
    pub samples: Vec<String>,
    /// Number of rows that count reads of no gene, such as `__no_feature`, and are left out.
    pub left_out: u64,
    /// Place of the first nonzero of each gene, and the number of all.
    starts: Vec<usize>,
    /// Sample (0-based) of each nonzero, ascending for each gene.
    places: Vec<u32>,
    /// Nonzeros, finite.
    values: Vec<f64>,
}

/// Nonzeros of a gene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparseRow<'a> {
    /// Samples (0-based), ascending.
    pub samples: &'a [u32],
    /// Value in each of these samples: finite, not zero.
    pub values: &'a [f64],
}

impl SparseMatrix {
    /// Returns a matrix without missing values without its zeros.
    pub fn of(matrix: &ExpressionMatrix) -> Self {
        let (genes, samples) = (matrix.genes.clone(), matrix.samples.clone());
        let mut sparse = Self { genes, samples, starts: vec![0], ..Self::default() };
        for gene in 0..matrix.genes.len() {
            let values = (0..).zip(matrix.row(gene)).filter(|(_, value)| **value != 0.0);
            for (sample, &value) in values {
                sparse.places.push(sample);
                sparse.values.push(value);
            }
            sparse.starts.push(sparse.values.len());
        }
        sparse
    }

    /// The nonzeros of a gene (0-based).
    pub fn row(&self, gene: usize) -> SparseRow<'_> {
        let range = self.starts[gene]..self.starts[gene + 1];
        SparseRow { samples: &self.places[range.clone()], values: &self.values[range] }
    }

    /// The nonzeros of all genes.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Number of nonzeros.
    pub fn nonzeros(&self) -> usize {
        self.values.len()
    }

    /// Fills `row` with the values of a gene (0-based), one a sample.
    ///
    /// # Panics
    /// When `row` has another length than the samples.
    pub fn fill(&self, gene: usize, row: &mut [f64]) {
        assert_eq!(row.len(), self.samples.len(), "a row has a value a sample");
        row.fill(0.0);
        let SparseRow { samples, values } = self.row(gene);
        for (&sample, &value) in samples.iter().zip(values) {
            row[sample as usize] = value;
        }
    }

    /// Returns the values of a gene (0-based), one a sample.
    pub fn dense_row(&self, gene: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.samples.len()];
        self.fill(gene, &mut row);
        row
    }

    /// Returns the matrix with all its zeros: 8 bytes for each gene and sample.
    #[must_use]
    pub fn into_dense(self) -> ExpressionMatrix {
        let width = self.samples.len();
        let mut values = vec![0.0; self.genes.len() * width];
        for (gene, row) in values.chunks_mut(width.max(1)).enumerate() {
            self.fill(gene, row);
        }
        let Self { genes, samples, left_out, .. } = self;
        ExpressionMatrix { genes, samples, values, left_out }
    }

    /// Memory of the nonzeros, in bytes.
    pub fn size_bytes(&self) -> u64 {
        size_bytes_of(self.genes.len(), self.values.len())
    }

    /// Returns the matrix of the genes (0-based) that are `chosen`.
    #[must_use]
    pub fn restricted(self, chosen: &[bool]) -> Self {
        let Self { genes, samples, left_out, starts, mut places, mut values } = self;
        let mut new_starts = vec![0];
        let mut end = 0;
        for gene in (0..genes.len()).filter(|&gene| chosen[gene]) {
            let range = starts[gene]..starts[gene + 1];
            places.copy_within(range.clone(), end);
            values.copy_within(range.clone(), end);
            end += range.len();
            new_starts.push(end);
        }
        places.truncate(end);
        values.truncate(end);
        let genes = genes.into_iter().zip(chosen).filter(|(_, chosen)| **chosen);
        let genes = genes.map(|(name, _)| name).collect();
        Self { genes, samples, left_out, starts: new_starts, places, values }
    }

    /// Returns a copy of the genes (0-based) that are `chosen`.
    #[must_use]
    pub fn clone_of(&self, chosen: &[bool]) -> Self {
        let mut copy = Self { samples: self.samples.clone(), starts: vec![0], ..Self::default() };
        for gene in (0..self.genes.len()).filter(|&gene| chosen[gene]) {
            let row = self.row(gene);
            copy.genes.push(self.genes[gene].clone());
            copy.places.extend(row.samples);
            copy.values.extend(row.values);
            copy.starts.push(copy.values.len());
        }
        copy
    }

    /// Replaces each nonzero by `change` of it, where `change(0)` is 0.
    pub fn map(&mut self, change: impl Fn(f64) -> f64) {
        self.values.iter_mut().for_each(|value| *value = change(*value));
        if !self.values.contains(&0.0) {
            return;
        }
        let mut end = 0;
        for gene in 0..self.genes.len() {
            let range = self.starts[gene]..self.starts[gene + 1];
            self.starts[gene] = end;
            for place in range {
                if self.values[place] != 0.0 {
                    self.places[end] = self.places[place];
                    self.values[end] = self.values[place];
                    end += 1;
                }
            }
        }
        if let Some(last) = self.starts.last_mut() {
            *last = end;
        }
        self.places.truncate(end);
        self.values.truncate(end);
    }

    /// Returns gene and sample (0-based) of the first value below zero, in the order of the genes.
    pub fn first_negative(&self) -> Option<(usize, usize)> {
        let place = self.values.iter().position(|value| *value < 0.0)?;
        let gene = self.starts.partition_point(|start| *start <= place) - 1;
        Some((gene, self.places[place] as usize))
    }
}

/// Memory of the nonzeros of a matrix, in bytes.
fn size_bytes_of(genes: usize, nonzeros: usize) -> u64 {
    8 * (genes as u64 + 1) + 12 * nonzeros as u64
}

#[cfg(test)]
mod tests;
