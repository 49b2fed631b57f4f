//! Genes as columns of unit length, whose products are their correlations.

use std::ops::Range;

use cuesta_core::biweight::{is_flat, weighted_deviations};
use cuesta_core::scale::moderate;

use crate::kernel::expression::Expression;
use crate::kernel::product::MatrixRows;
use crate::params::{Fallback, Measure};

/// All genes as columns of unit length; a missing value is 0.
#[derive(Debug)]
pub struct Units {
    samples: usize,
    columns: Vec<f64>,
    /// Whether each gene has a column: it varies.
    defined: Vec<bool>,
    /// Measure of all columns, after the fallback to Pearson's for all.
    measure: Measure,
}

impl Units {
    /// Computes the columns.
    pub fn new(expression: &Expression, measure: Measure) -> Self {
        if let Measure::Bicor { fallback: Fallback::All, .. } = measure
            && (0..expression.genes()).any(|gene| is_flat(expression.row(gene)))
        {
            return Self::new(expression, Measure::Pearson);
        }
        let (genes, samples) = (expression.genes(), expression.samples());
        let mut columns = vec![0.0; genes * samples];
        let defined = columns
            .chunks_mut(samples)
            .enumerate()
            .map(|(gene, column)| unit_column(measure, expression.row(gene), column))
            .collect();
        Self { samples, columns, defined, measure }
    }

    /// Measure of the columns.
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Whether a gene has a column.
    #[inline(always)]
    pub fn is_defined(&self, gene: usize) -> bool {
        self.defined[gene]
    }

    /// Returns the column of a gene, if it varies.
    pub fn column(&self, gene: usize) -> Option<&[f64]> {
        self.defined[gene].then(|| &self.columns[gene * self.samples..][..self.samples])
    }
}

impl MatrixRows for Units {
    type Value = f64;

    fn count(&self) -> usize {
        self.defined.len()
    }

    fn depth(&self) -> usize {
        self.samples
    }

    fn by_rows(
        &self,
        rows: Range<usize>,
        depth: Range<usize>,
        mut put: impl FnMut(usize, usize, &[f64]),
    ) {
        for row in rows {
            put(row, depth.start, &self.columns[row * self.samples..][depth.clone()]);
        }
    }
}

/// Writes the unit column of a gene, 0 for a missing value. Returns whether there is one: whether
/// the gene varies, and its mad is not 0 or may be. Values may be any finite ones.
pub fn unit_column(measure: Measure, values: &[f64], column: &mut [f64]) -> bool {
    let values = &*moderate(values);
    let Measure::Bicor { max_outliers, fallback } = measure else {
        return pearson_column(values, column);
    };
    if weighted_deviations(values, max_outliers, column) {
        return normalise(column);
    }
    if fallback != Fallback::None {
        return pearson_column(values, column);
    }
    column.fill(0.0);
    false
}

fn pearson_column(values: &[f64], column: &mut [f64]) -> bool {
    let present = || values.iter().filter(|value| !value.is_nan());
    let count = present().count();
    let first = present().next().copied().unwrap_or(0.0);
    if present().all(|value| *value == first) {
        column.fill(0.0);
        return false;
    }
    let mean = present().sum::<f64>() / count as f64;
    for (slot, value) in column.iter_mut().zip(values) {
        *slot = if value.is_nan() { 0.0 } else { value - mean };
    }
    normalise(column)
}

/// Scales a column to unit length, unless it is zero.
fn normalise(column: &mut [f64]) -> bool {
    let largest = column.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    if largest == 0.0 {
        return false;
    }
    let norm = column.iter().map(|value| value * value).sum::<f64>().sqrt();
    column.iter_mut().for_each(|value| *value /= norm);
    true
}
