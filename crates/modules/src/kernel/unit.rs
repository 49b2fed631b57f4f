//! Genes as columns of unit length, whose products are their correlations.

use std::ops::Range;

use crate::kernel::expression::Expression;
use crate::kernel::product::MatrixRows;
use crate::params::{Fallback, Measure};

/// Deviations below this are scaled before they are squared.
const TINY: f64 = 1e-140;

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
        if let Measure::Bicor { fallback: Fallback::All, .. } = measure {
            let genes = (0..expression.genes()).map(|gene| expression.row(gene));
            if genes.into_iter().any(|row| mad(row).is_some_and(|(_, mad)| mad == 0.0)) {
                return Self::new(expression, Measure::Pearson);
            }
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
/// the gene varies, and its mad is not 0 or may be.
pub fn unit_column(measure: Measure, values: &[f64], column: &mut [f64]) -> bool {
    let Measure::Bicor { max_outliers, fallback } = measure else {
        return pearson_column(values, column);
    };
    match mad(values) {
        Some((median, mad)) if mad > 0.0 => {
            bicor_column(values, (median, mad), max_outliers, column)
        }
        Some(_) if fallback != Fallback::None => pearson_column(values, column),
        _ => {
            column.fill(0.0);
            false
        }
    }
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

fn bicor_column(
    values: &[f64],
    (median, mad): (f64, f64),
    max_outliers: f64,
    column: &mut [f64],
) -> bool {
    let place = |value: f64| (value - median) / (9.0 * mad);
    let mut sorted: Vec<f64> =
        values.iter().filter(|value| !value.is_nan()).map(|value| place(*value)).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let (mut low, mut high) = (-0.5, 0.5);
    if max_outliers < 1.0 {
        low = quantile(&sorted, max_outliers).min(low);
        high = quantile(&sorted, 1.0 - max_outliers).max(high);
    }
    for (slot, value) in column.iter_mut().zip(values) {
        let u = place(*value);
        let u = if u < 0.0 { u * (0.5 / -low) } else { u * (0.5 / high) };
        let weight = 1.0 - u * u;
        let inside = u.abs() <= 1.0;
        *slot = if inside { (value - median) * (weight * weight) } else { 0.0 };
    }
    normalise(column)
}

/// Scales a column to unit length, unless it is zero.
fn normalise(column: &mut [f64]) -> bool {
    let largest = column.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    if largest == 0.0 {
        return false;
    }
    if largest < TINY {
        column.iter_mut().for_each(|value| *value /= largest);
    }
    let norm = column.iter().map(|value| value * value).sum::<f64>().sqrt();
    column.iter_mut().for_each(|value| *value /= norm);
    true
}

/// Returns median and raw median absolute deviation of the present values, if there are any.
pub fn mad(values: &[f64]) -> Option<(f64, f64)> {
    let mut present: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    let median = median(&mut present)?;
    present.iter_mut().for_each(|value| *value = (*value - median).abs());
    Some((median, self::median(&mut present)?))
}

fn median(values: &mut [f64]) -> Option<f64> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    if count % 2 == 1 {
        return Some(upper);
    }
    let lower = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some((lower + upper) / 2.0)
}

/// Returns a quantile of sorted values, interpolated between them (type 7 of R).
pub fn quantile(sorted: &[f64], probability: f64) -> f64 {
    let place = (sorted.len() - 1) as f64 * probability;
    let below = place.floor() as usize;
    let above = sorted.len().min(below + 2) - 1;
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}
