//! Genes of a matrix that are used, and the scale of their values.

use std::cmp::Ordering;

use cuesta_core::scale::{exponent, scaled};
use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::sparse::SparseMatrix;
use super::{ExpressionMatrix, GeneMatrix};
use crate::table::shown_number;

/// Filter of the genes of a matrix. In this order: genes by their mean, logarithms, genes by their
/// variance.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct GeneFilter {
    /// Number of genes with the largest variances that are used; all by default.
    pub top_variable: Option<u32>,
    /// Smallest mean of a gene that is used, before logarithms; any by default.
    pub min_mean: Option<f64>,
    /// Whether log2(x + 1) replaces each value x.
    pub log2: bool,
}

impl GeneFilter {
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

    /// Returns the genes that pass, in the order of the file, at their scale. Of equal variances,
    /// the first gene passes.
    ///
    /// # Errors
    /// `Input` in the name of `operation` if no gene passes, or a value has no logarithm.
    pub fn apply(
        &self,
        matrix: ExpressionMatrix,
        operation: &'static str,
    ) -> Result<ExpressionMatrix> {
        self.pass(matrix, operation)
    }

    /// As [`GeneFilter::apply`], for a matrix in either form; the same genes pass.
    ///
    /// # Errors
    /// As [`GeneFilter::apply`].
    pub fn apply_to(&self, matrix: GeneMatrix, operation: &'static str) -> Result<GeneMatrix> {
        match matrix {
            GeneMatrix::Dense(matrix) => self.pass(matrix, operation).map(GeneMatrix::Dense),
            GeneMatrix::Sparse(matrix) => self.pass(matrix, operation).map(GeneMatrix::Sparse),
        }
    }

    fn pass<M: FilteredMatrix>(&self, mut matrix: M, operation: &'static str) -> Result<M> {
        let mut row = Vec::new();
        if let Some(least) = self.min_mean {
            let passes = |gene| Moments::new(matrix.values_of(gene, &mut row)).mean >= least;
            let passing: Vec<bool> = (0..matrix.count()).map(passes).collect();
            matrix = matrix.chosen(&passing);
            if matrix.count() == 0 {
                let least = shown_number(least);
                let text = format!("no gene has a mean of {least}; give a smaller --min-mean");
                return Err(Error::input(operation, text));
            }
        }
        if self.log2 {
            if let Some((gene, sample, value)) = matrix.first_below_zero() {
                let value = shown_number(value);
                let text = format!(
                    "gene {gene}, sample {sample}: {value} is negative, so the values are no \
                     counts; leave --log2 out"
                );
                return Err(Error::input(operation, text));
            }
            // Of the crate `libm`, as all logarithms here: the same on each processor.
            matrix.change(|value| libm::log2(value + 1.0));
        }
        if let Some(count) = self.top_variable {
            let variance = |gene| Moments::new(matrix.values_of(gene, &mut row)).variance;
            let variances: Vec<Variance> = (0..matrix.count()).map(variance).collect();
            let mut ranked: Vec<usize> = (0..variances.len()).collect();
            // A stable sort: equal variances stay in the order of the genes.
            ranked.sort_by(|&a, &b| variances[b].compare(variances[a]));
            let mut passing = vec![false; variances.len()];
            ranked.iter().take(count as usize).for_each(|&gene| passing[gene] = true);
            matrix = matrix.chosen(&passing);
        }
        Ok(matrix)
    }
}

/// Matrix whose genes are filtered.
trait FilteredMatrix: Sized {
    /// Number of genes.
    fn count(&self) -> usize;
    /// The values of a gene (0-based), one a sample; `buffer` may hold them.
    fn values_of<'m>(&'m self, gene: usize, buffer: &'m mut Vec<f64>) -> &'m [f64];
    /// Gene, sample and value of the first value below zero.
    fn first_below_zero(&self) -> Option<(&str, &str, f64)>;
    /// Replaces each value by `change` of it, which leaves 0 as it is.
    fn change(&mut self, change: impl Fn(f64) -> f64);
    /// The matrix of the chosen genes.
    fn chosen(self, chosen: &[bool]) -> Self;
}

impl FilteredMatrix for ExpressionMatrix {
    fn count(&self) -> usize {
        self.genes.len()
    }

    fn values_of<'m>(&'m self, gene: usize, _: &'m mut Vec<f64>) -> &'m [f64] {
        self.row(gene)
    }

    fn first_below_zero(&self) -> Option<(&str, &str, f64)> {
        let width = self.samples.len();
        let place = self.values.iter().position(|value| *value < 0.0)?;
        Some((&self.genes[place / width], &self.samples[place % width], self.values[place]))
    }

    fn change(&mut self, change: impl Fn(f64) -> f64) {
        self.values.iter_mut().for_each(|value| *value = change(*value));
    }

    fn chosen(self, chosen: &[bool]) -> Self {
        self.restricted(chosen)
    }
}

impl FilteredMatrix for SparseMatrix {
    fn count(&self) -> usize {
        self.genes.len()
    }

    fn values_of<'m>(&'m self, gene: usize, buffer: &'m mut Vec<f64>) -> &'m [f64] {
        buffer.resize(self.samples.len(), 0.0);
        self.fill(gene, buffer);
        buffer
    }

    fn first_below_zero(&self) -> Option<(&str, &str, f64)> {
        let (gene, sample) = self.first_negative()?;
        let row = self.row(gene);
        let place = row.samples.partition_point(|&place| (place as usize) < sample);
        Some((&self.genes[gene], &self.samples[sample], row.values[place]))
    }

    fn change(&mut self, change: impl Fn(f64) -> f64) {
        self.map(change);
    }

    fn chosen(self, chosen: &[bool]) -> Self {
        self.restricted(chosen)
    }
}

impl ExpressionMatrix {
    /// Returns the matrix of the genes (0-based) that are `chosen`.
    #[must_use]
    pub fn restricted(self, chosen: &[bool]) -> Self {
        let Self { genes, samples, mut values, left_out } = self;
        let width = samples.len();
        let mut end = 0;
        for gene in (0..genes.len()).filter(|&gene| chosen[gene]) {
            values.copy_within(gene * width..(gene + 1) * width, end);
            end += width;
        }
        values.truncate(end);
        let genes = genes.into_iter().zip(chosen).filter(|(_, chosen)| **chosen);
        Self { genes: genes.map(|(name, _)| name).collect(), samples, values, left_out }
    }
}

/// Variance of any finite values: `fraction` times 2^`exponent`, whose square may be no double.
#[derive(Clone, Copy, Debug)]
struct Variance {
    exponent: i32,
    /// From 0.5 to 1; 0 for a variance of 0, and -1 for none.
    fraction: f64,
}

impl Variance {
    fn compare(self, with: Self) -> Ordering {
        let key = |variance: Self| (variance.fraction > 0.0, variance.exponent);
        key(self).cmp(&key(with)).then(self.fraction.total_cmp(&with.fraction))
    }
}

/// Mean and variance of the present values of a gene.
struct Moments {
    /// Negative infinity where there is no value.
    mean: f64,
    variance: Variance,
}

impl Moments {
    fn new(values: &[f64]) -> Self {
        // A power of two brings the largest value to 1: no sum or square is out of range, and no
        // digit changes.
        let scale = exponent(values);
        let present = values.iter().filter(|value| !value.is_nan());
        let present: Vec<f64> = present.map(|value| scaled(*value, -scale)).collect();
        let count = present.len() as f64;
        if present.is_empty() {
            let variance = Variance { exponent: 0, fraction: -1.0 };
            return Self { mean: f64::NEG_INFINITY, variance };
        }
        let mean = present.iter().sum::<f64>() / count;
        let squares: f64 = present.iter().map(|value| (value - mean) * (value - mean)).sum();
        let (fraction, exponent) = libm::frexp(squares / (count - 1.0).max(1.0));
        let exponent = if fraction > 0.0 { exponent + 2 * scale } else { 0 };
        Self { mean: scaled(mean, scale), variance: Variance { exponent, fraction } }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matrix(rows: &[&[f64]]) -> ExpressionMatrix {
        ExpressionMatrix {
            genes: (0..rows.len()).map(|gene| format!("g{gene}")).collect(),
            samples: (0..rows[0].len()).map(|sample| format!("s{sample}")).collect(),
            values: rows.concat(),
            left_out: 0,
        }
    }

    #[test]
    fn the_most_variable_genes_stay_in_the_order_of_the_file() {
        let rows: [&[f64]; 4] = [&[0.0, 1.0], &[0.0, 9.0], &[5.0, 5.0], &[3.0, 7.0]];
        let filter = GeneFilter { top_variable: Some(2), ..GeneFilter::default() };
        let passing = filter.apply(matrix(&rows), "test").unwrap();
        assert_eq!(passing.genes, ["g1", "g3"]);
        assert_eq!(passing.values, [0.0, 9.0, 3.0, 7.0]);
        let filter = GeneFilter { min_mean: Some(4.5), log2: true, ..GeneFilter::default() };
        let passing = filter.apply(matrix(&rows), "test").unwrap();
        assert_eq!(passing.genes, ["g1", "g2", "g3"]);
        assert_eq!((passing.row(2)[0], passing.row(2)[1]), (2.0, 3.0));
    }

    #[test]
    fn of_equal_variances_the_first_gene_passes_and_genes_without_values_come_last() {
        let rows: [&[f64]; 4] = [&[f64::NAN, f64::NAN], &[1.0, 3.0], &[7.0, 5.0], &[4.0, 6.0]];
        let of = |count| GeneFilter { top_variable: Some(count), ..GeneFilter::default() };
        assert_eq!(of(2).apply(matrix(&rows), "test").unwrap().genes, ["g1", "g2"]);
        assert_eq!(of(3).apply(matrix(&rows), "test").unwrap().genes, ["g1", "g2", "g3"]);
        assert_eq!(of(9).apply(matrix(&rows), "test").unwrap().genes.len(), 4);
    }

    /// Variances of values beyond 1e154 or below 1e-162 were infinite or 0, and the first genes of
    /// the file passed.
    #[test]
    fn genes_are_ranked_at_any_scale() {
        let rows: [&[f64]; 5] = [&[1.0, 2.0], &[0.0, 9.0], &[5.0, 5.0], &[3.0, 7.0], &[-4.0, 2.0]];
        let filter = GeneFilter { top_variable: Some(2), ..GeneFilter::default() };
        for factor in [5e-324, 1e-300, 1e-200, 1.0, 1e155, 1e200, 1e307] {
            let rows: Vec<Vec<f64>> =
                rows.iter().map(|row| row.iter().map(|value| value * factor).collect()).collect();
            let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
            let passing = filter.apply(matrix(&rows), "test").unwrap();
            assert_eq!(passing.genes, ["g1", "g4"], "{factor:e}");
        }
        let rows: [&[f64]; 3] = [&[1e-200, 2e-200], &[1e-200, 3e-200], &[1e200, 2e200]];
        assert_eq!(filter.apply(matrix(&rows), "test").unwrap().genes, ["g1", "g2"]);
        let filter = GeneFilter { min_mean: Some(1e308), ..GeneFilter::default() };
        let rows: [&[f64]; 2] = [&[1e308, 1.5e308], &[1.0, 2.0]];
        assert_eq!(filter.apply(matrix(&rows), "test").unwrap().genes, ["g0"]);
    }

    proptest! {
        #[test]
        fn a_power_of_two_changes_no_choice(
            values in proptest::collection::vec(-1e3_f64..1e3, 40),
            exponent in -1000_i32..1000,
        ) {
            let filter = GeneFilter { top_variable: Some(4), ..GeneFilter::default() };
            let chosen = |exponent: i32| {
                // Few digits, so that the smallest scale has them too.
                let value = |value: &f64| scaled(value.round(), exponent);
                let values: Vec<f64> = values.iter().map(value).collect();
                let rows: Vec<&[f64]> = values.chunks(4).collect();
                filter.apply(matrix(&rows), "test").unwrap().genes
            };
            prop_assert_eq!(chosen(0), chosen(exponent));
        }
    }

    #[test]
    fn values_below_zero_and_filters_that_nothing_passes_are_refused() {
        let filter = GeneFilter { log2: true, ..GeneFilter::default() };
        let error = filter.apply(matrix(&[&[1.0, 2.0], &[3.0, -4.0]]), "test").unwrap_err();
        assert!(error.message().contains("gene g1, sample s1: -4 is negative"), "{error}");
        let filter = GeneFilter { min_mean: Some(9.0), ..GeneFilter::default() };
        let error = filter.apply(matrix(&[&[1.0, 2.0]]), "test").unwrap_err();
        assert!(error.message().contains("--min-mean"), "{error}");
        for filter in [
            GeneFilter { top_variable: Some(0), ..GeneFilter::default() },
            GeneFilter { min_mean: Some(f64::NAN), ..GeneFilter::default() },
        ] {
            assert!(filter.check().unwrap_err().message().contains("give"));
        }
    }
}
