//! Correlations of all pairs of genes, pairwise where values are missing.

use cuesta_core::Result;
use cuesta_core::budget::Budget;

use crate::kernel::expression::Expression;
use crate::kernel::product;
use crate::kernel::triangle::{Stored, Triangle};
use crate::kernel::unit::{Units, unit_column};
use crate::params::Measure;

/// Computes the correlations of all pairs; NaN where there is none: a gene is constant, or too few
/// samples have both.
///
/// The result is the same for any number of threads.
///
/// # Errors
/// `Input` when the budget has too little left.
pub fn correlations<'b, T: Stored>(
    expression: &Expression,
    measure: Measure,
    threads: usize,
    budget: &'b Budget,
) -> Result<Triangle<'b, T>> {
    let units_bytes = 8 * expression.genes() * expression.samples();
    let _lease = budget.take(units_bytes as u64, "the genes at unit length")?;
    let units = Units::new(expression, measure);
    let masks = Masks::new(expression);
    product::pairs(&units, threads, (budget, "the correlations"), |i, j, product| {
        let (Some(x), Some(y)) = (units.column(i), units.column(j)) else {
            return f64::NAN;
        };
        let (redo_x, redo_y) = (masks.removes(j, i), masks.removes(i, j));
        if !redo_x && !redo_y {
            return product.clamp(-1.0, 1.0);
        }
        let measure = units.measure();
        let x = GeneColumn { values: expression.row(i), unit: x, is_reduced: redo_x };
        let y = GeneColumn { values: expression.row(j), unit: y, is_reduced: redo_y };
        pair(measure, x, y)
    })
}

/// Gene of a pair.
#[derive(Clone, Copy)]
pub(crate) struct GeneColumn<'a> {
    /// Values; NaN where one is missing.
    pub values: &'a [f64],
    /// Column of unit length over all samples.
    pub unit: &'a [f64],
    /// Whether the partner lacks a sample.
    pub is_reduced: bool,
}

/// Returns the correlation of two genes over their common samples, NaN if there is none.
pub(crate) fn pair(measure: Measure, x: GeneColumn, y: GeneColumn) -> f64 {
    let (mut x_buffer, mut y_buffer) = (Vec::new(), Vec::new());
    match (common(measure, x, y, &mut x_buffer), common(measure, y, x, &mut y_buffer)) {
        (Some(x), Some(y)) => dot(x, y).clamp(-1.0, 1.0),
        _ => f64::NAN,
    }
}

/// Returns the unit column of a gene over the samples that its partner has too.
fn common<'v>(
    measure: Measure,
    gene: GeneColumn<'v>,
    partner: GeneColumn,
    buffer: &'v mut Vec<f64>,
) -> Option<&'v [f64]> {
    if !gene.is_reduced {
        return Some(gene.unit);
    }
    let samples = gene.values.iter().zip(partner.values);
    let shared: Vec<f64> =
        samples.map(|(value, partner)| if partner.is_nan() { f64::NAN } else { *value }).collect();
    buffer.resize(shared.len(), 0.0);
    unit_column(measure, &shared, buffer).then_some(&buffer[..])
}

/// Returns the product of two columns, a chain in the order of the samples.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).fold(0.0, |sum, (x, y)| sum + x * y)
}

/// Presence of the values of each gene, a bit for each sample; none if no value is missing.
struct Masks {
    words: usize,
    bits: Vec<u64>,
}

impl Masks {
    fn new(expression: &Expression) -> Self {
        let genes = expression.genes();
        let rows = (0..genes).map(|gene| expression.row(gene));
        if !rows.flatten().any(|value| value.is_nan()) {
            return Self { words: 0, bits: Vec::new() };
        }
        let words = expression.samples().div_ceil(64);
        let mut bits = vec![0; words * genes];
        for (gene, bits) in bits.chunks_mut(words).enumerate() {
            for (sample, value) in expression.row(gene).iter().enumerate() {
                bits[sample / 64] |= u64::from(!value.is_nan()) << (sample % 64);
            }
        }
        Self { words, bits }
    }

    /// Whether `partner` lacks a sample that `gene` has.
    fn removes(&self, partner: usize, gene: usize) -> bool {
        let row = |gene: usize| &self.bits[gene * self.words..][..self.words];
        row(gene).iter().zip(row(partner)).any(|(gene, partner)| gene & !partner != 0)
    }
}
