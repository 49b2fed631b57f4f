//! Samples that both genes of a pair have, and the row of a pair.

use cuesta_input::matrix::GeneMatrix;
use cuesta_input::row::Row;

use crate::kernel::correlate::Match;

/// Missing samples of each gene; empty for a gene without missing values.
pub struct Mask {
    missing: Vec<Vec<bool>>,
}

impl Mask {
    /// Collects the missing samples of a matrix.
    pub fn of(matrix: &GeneMatrix) -> Self {
        Self { missing: (0..matrix.genes().len()).map(|gene| matrix.missing(gene)).collect() }
    }

    /// Whether any gene has a missing sample.
    pub fn any(&self) -> bool {
        self.missing.iter().any(|flags| !flags.is_empty())
    }

    /// Whether a gene, counted from 0, has all samples.
    pub fn is_complete(&self, gene: usize) -> bool {
        self.missing[gene].is_empty()
    }

    /// Fills the mask of a pair, 1 or 9; returns the number of missing samples.
    pub fn fill(&self, pair: &Match, symbols: &mut [u8]) -> u32 {
        let genes = [pair.gene1, pair.gene2].map(|gene| &self.missing[gene as usize - 1]);
        symbols.fill(b'1');
        let mut missing = 0;
        for flags in genes.into_iter().filter(|flags| !flags.is_empty()) {
            for (symbol, _) in symbols.iter_mut().zip(flags).filter(|(_, missing)| **missing) {
                missing += u32::from(*symbol == b'1');
                *symbol = b'9';
            }
        }
        missing
    }
}

/// Samples that each gene has, as bits.
pub struct Presence {
    samples: u32,
    /// Words of each gene; none if no value is missing.
    words: Vec<u64>,
}

impl Presence {
    /// Collects the present samples of a matrix.
    pub fn of(matrix: &GeneMatrix) -> Self {
        let samples = matrix.samples().len();
        let mut words = Vec::new();
        if matrix.has_missing() {
            for gene in 0..matrix.genes().len() {
                let bit = |(place, value): (usize, &f64)| u64::from(!value.is_nan()) << place;
                let word = |values: &[f64]| values.iter().enumerate().map(bit).sum::<u64>();
                words.extend(matrix.row(gene).chunks(64).map(word));
            }
        }
        Self { samples: samples as u32, words }
    }

    /// Returns the number of samples that both genes, counted from 1, have.
    pub fn common(&self, gene1: u32, gene2: u32) -> u32 {
        if self.words.is_empty() {
            return self.samples;
        }
        let width = self.samples.div_ceil(64) as usize;
        let [a, b] = [gene1, gene2].map(|gene| &self.words[(gene as usize - 1) * width..][..width]);
        a.iter().zip(b).map(|(a, b)| (a & b).count_ones()).sum()
    }
}

/// Returns the row of a pair.
pub fn row_of<'a>(pair: &'a Match, missing: u32, mask: &'a [u8]) -> Row<'a> {
    Row {
        gene1: pair.gene1,
        gene2: pair.gene2,
        cluster: 1,
        num_clusters: 1,
        cluster_samples: mask.len() as u32 - missing,
        missing,
        outliers: 0,
        pair_outliers: 0,
        threshold: 0,
        scores: std::slice::from_ref(&pair.micro),
        mask,
    }
}
