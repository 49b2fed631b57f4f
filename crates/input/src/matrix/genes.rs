//! Genes of a matrix that are used, and the scale of their values.

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::ExpressionMatrix;
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
        mut matrix: ExpressionMatrix,
        operation: &'static str,
    ) -> Result<ExpressionMatrix> {
        if let Some(least) = self.min_mean {
            let passes = |gene| moments(matrix.row(gene)).0 >= least;
            let passing: Vec<bool> = (0..matrix.genes.len()).map(passes).collect();
            matrix = matrix.restricted(&passing);
            if matrix.genes.is_empty() {
                let least = shown_number(least);
                let text = format!("no gene has a mean of {least}; give a smaller --min-mean");
                return Err(Error::input(operation, text));
            }
        }
        if self.log2 {
            take_logarithms(&mut matrix, operation)?;
        }
        if let Some(count) = self.top_variable {
            let variance = |gene| moments(matrix.row(gene)).1;
            let variances: Vec<f64> = (0..matrix.genes.len()).map(variance).collect();
            let mut ranked: Vec<usize> = (0..variances.len()).collect();
            // A stable sort: equal variances stay in the order of the genes.
            ranked.sort_by(|&a, &b| variances[b].total_cmp(&variances[a]));
            let mut passing = vec![false; variances.len()];
            ranked.iter().take(count as usize).for_each(|&gene| passing[gene] = true);
            matrix = matrix.restricted(&passing);
        }
        Ok(matrix)
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

/// Returns mean and variance of the present values; negative infinity and -1 where there is none.
fn moments(values: &[f64]) -> (f64, f64) {
    let present: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    let count = present.len() as f64;
    if present.is_empty() {
        return (f64::NEG_INFINITY, -1.0);
    }
    let mean = present.iter().sum::<f64>() / count;
    let squares: f64 = present.iter().map(|value| (value - mean) * (value - mean)).sum();
    (mean, squares / (count - 1.0).max(1.0))
}

fn take_logarithms(matrix: &mut ExpressionMatrix, operation: &'static str) -> Result<()> {
    let width = matrix.samples.len();
    if let Some(place) = matrix.values.iter().position(|value| *value < 0.0) {
        let (gene, sample) = (&matrix.genes[place / width], &matrix.samples[place % width]);
        let value = shown_number(matrix.values[place]);
        let text = format!(
            "gene {gene}, sample {sample}: {value} is negative, so the values are no counts; \
             leave --log2 out"
        );
        return Err(Error::input(operation, text));
    }
    // Of the crate `libm`, as all logarithms here: the same on each processor.
    matrix.values.iter_mut().for_each(|value| *value = libm::log2(*value + 1.0));
    Ok(())
}

#[cfg(test)]
mod tests {
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
