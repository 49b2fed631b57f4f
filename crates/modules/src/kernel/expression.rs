//! Expression matrix: a row for each gene, a column for each sample, NaN where a value is missing.

use cuesta_core::scale::moderate;
use cuesta_core::{Error, Result};
use cuesta_input::matrix::enough_values;

/// Values of genes over samples.
#[derive(Clone, Copy, Debug)]
pub struct Expression<'a> {
    values: &'a [f64],
    samples: usize,
}

impl<'a> Expression<'a> {
    /// Views `values`, row after row.
    ///
    /// # Errors
    /// `Input` when rows are incomplete, or a value is infinite.
    pub fn new(values: &'a [f64], samples: usize) -> Result<Self> {
        if samples == 0 || !values.len().is_multiple_of(samples) {
            let text = format!("{} values are no rows of {samples} samples", values.len());
            return Err(Error::input("modules", text));
        }
        if let Some(place) = values.iter().position(|value| value.is_infinite()) {
            let (gene, sample) = (place / samples + 1, place % samples + 1);
            let text = format!(
                "row {gene}, sample {sample} has an infinite value; write a number, or NA for a \
                 missing one"
            );
            return Err(Error::input("modules", text));
        }
        Ok(Self { values, samples })
    }

    /// Number of genes.
    pub fn genes(&self) -> usize {
        self.values.len() / self.samples
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.samples
    }

    /// Returns the values of a gene.
    pub fn row(&self, gene: usize) -> &'a [f64] {
        &self.values[gene * self.samples..][..self.samples]
    }
}

/// Genes and samples that are good enough, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoodParts {
    /// Whether each gene is used.
    pub genes: Vec<bool>,
    /// Whether each sample is used.
    pub samples: Vec<bool>,
}

/// Returns the genes with [`enough_values`] that vary, and the samples with enough of these genes,
/// until neither changes.
///
/// # Errors
/// `Input` when no gene or no sample is left.
pub fn good_parts(expression: &Expression) -> Result<GoodParts> {
    let mut good = GoodParts {
        genes: vec![true; expression.genes()],
        samples: vec![true; expression.samples()],
    };
    loop {
        let before = good.clone();
        let samples = count(&good.samples);
        for gene in 0..expression.genes() {
            good.genes[gene] =
                good.genes[gene] && is_good_gene(expression.row(gene), &good.samples);
        }
        let genes = count(&good.genes);
        if genes == 0 || samples == 0 {
            let text = "no gene has enough values that vary; check that rows are genes";
            return Err(Error::input("modules", text));
        }
        for sample in 0..expression.samples() {
            let chosen = (0..expression.genes()).filter(|&gene| good.genes[gene]);
            let present = chosen.filter(|&gene| !expression.row(gene)[sample].is_nan()).count();
            good.samples[sample] = good.samples[sample] && present >= enough_values(genes);
        }
        if good == before {
            return Ok(good);
        }
    }
}

fn count(chosen: &[bool]) -> usize {
    chosen.iter().filter(|chosen| **chosen).count()
}

fn is_good_gene(values: &[f64], samples: &[bool]) -> bool {
    let total = count(samples);
    let chosen = values.iter().zip(samples).filter(|(_, chosen)| **chosen).map(|(value, _)| *value);
    let present: Vec<f64> = chosen.filter(|value| !value.is_nan()).collect();
    if present.len() < enough_values(total) {
        return false;
    }
    let present = moderate(&present);
    let n = present.len() as f64;
    let mean = present.iter().sum::<f64>() / n;
    let variance = present.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let largest = present.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    variance > (1e-10 * largest) * (1e-10 * largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_and_sparse_genes_are_left_out() {
        let nan = f64::NAN;
        let mut values = vec![0.1; 6];
        values.extend([1.0, 2.0, nan, 4.0, nan, nan]);
        for gene in 0..5 {
            values.extend((0..6).map(|sample| f64::from(sample * (gene + 1) % 7)));
        }
        let good = good_parts(&Expression::new(&values, 6).unwrap()).unwrap();
        assert_eq!(good.genes, [false, false, true, true, true, true, true]);
        assert_eq!(good.samples, [true; 6]);
    }

    #[test]
    fn a_matrix_without_a_good_gene_is_an_error() {
        for samples in [1, 3, 8] {
            let values = vec![f64::NAN; 5 * samples];
            let error = good_parts(&Expression::new(&values, samples).unwrap()).unwrap_err();
            assert!(error.message().contains("check that rows are genes"));
        }
        assert!(Expression::new(&[1.0, f64::INFINITY], 2).is_err());
        assert!(Expression::new(&[1.0, 2.0], 0).is_err());
    }
}
