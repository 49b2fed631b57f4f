//! Correlations of all pairs of genes, pairwise where values are missing.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};

use crate::kernel::expression::Expression;
use crate::kernel::product;
use crate::kernel::triangle::{StoredNumber, Triangle};
use crate::kernel::unit::{Units, unit_column};
use crate::params::Measure;

/// Computes the correlations of all pairs; NaN where there is none: a gene is constant, or too few
/// samples have both.
///
/// The result is the same for any number of threads.
///
/// # Errors
/// `Input` when the budget has too little left.
pub fn correlations<'b, T: StoredNumber>(
    expression: &Expression,
    measure: Measure,
    threads: usize,
    budget: &'b Budget,
) -> Result<Triangle<'b, T>> {
    let correlator = Correlator::new(expression, measure, budget)?;
    product::pairs(correlator.units(), threads, (budget, "the correlations"), |i, j, product| {
        correlator.finish(i, j, product)
    })
}

/// Correlations from the products of columns.
pub(crate) struct Correlator<'e, 'b> {
    expression: &'e Expression<'e>,
    units: Units,
    masks: Masks,
    _lease: Lease<'b>,
}

impl<'e, 'b> Correlator<'e, 'b> {
    /// Computes the columns.
    pub fn new(
        expression: &'e Expression<'e>,
        measure: Measure,
        budget: &'b Budget,
    ) -> Result<Self> {
        let masks = Masks::new(expression);
        let copies = if masks.words > 0 { 2 } else { 1 };
        let size_bytes = copies * 8 * expression.genes() * expression.samples();
        let lease = budget.take(size_bytes as u64, "the genes at unit length")?;
        let units = Units::new(expression, measure);
        Ok(Self { expression, units, masks, _lease: lease })
    }

    /// Columns of unit length.
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// Returns the number of samples that both genes have.
    pub fn shared(&self, i: usize, j: usize) -> usize {
        self.masks.shared(i, j).unwrap_or(self.expression.samples())
    }

    /// Returns a correlation from the product of the columns; NaN if there is none.
    #[inline(always)]
    pub fn finish(&self, i: usize, j: usize, product: f64) -> f64 {
        if !self.units.is_defined(i) || !self.units.is_defined(j) {
            return f64::NAN;
        }
        let (redo_x, redo_y) = (self.masks.removes(j, i), self.masks.removes(i, j));
        if !redo_x && !redo_y {
            return product.clamp(-1.0, 1.0);
        }
        self.over_common_samples((i, j), product, (redo_x, redo_y))
    }

    #[inline(never)]
    fn over_common_samples(
        &self,
        (i, j): (usize, usize),
        product: f64,
        (redo_x, redo_y): (bool, bool),
    ) -> f64 {
        let measure = self.units.measure();
        let (Some(x), Some(y)) = (self.units.column(i), self.units.column(j)) else {
            return f64::NAN;
        };
        if measure == Measure::Pearson {
            let masks = (self.masks.weights(i), self.masks.weights(j));
            let shared = self.masks.shared(i, j).unwrap_or(0) as f64;
            if let Some(r) = by_moments((x, y), masks, (product, shared)) {
                return r;
            }
        }
        let x = GeneColumn { values: self.expression.row(i), unit: x, is_reduced: redo_x };
        let y = GeneColumn { values: self.expression.row(j), unit: y, is_reduced: redo_y };
        pair(measure, x, y)
    }
}

/// Part of the sum of squares below which a variance from moments is not exact enough.
const VARIANCE_MIN: f64 = 1e-3;

/// Returns Pearson's correlation over common samples from sums over them, of which `product` is
/// that of both columns; `None` if a variance is too small for that.
fn by_moments(
    (x, y): (&[f64], &[f64]),
    (x_mask, y_mask): (&[f64], &[f64]),
    (product, shared): (f64, f64),
) -> Option<f64> {
    let (sum_x, squares_x) = masked_sums(x, y_mask);
    let (sum_y, squares_y) = masked_sums(y, x_mask);
    let variance_x = squares_x - sum_x * sum_x / shared;
    let variance_y = squares_y - sum_y * sum_y / shared;
    let is_exact = variance_x > VARIANCE_MIN * squares_x && variance_y > VARIANCE_MIN * squares_y;
    let covariance = product - sum_x * sum_y / shared;
    is_exact.then(|| (covariance / (variance_x.sqrt() * variance_y.sqrt())).clamp(-1.0, 1.0))
}

/// Returns the sum and the sum of squares of the values whose weight is 1 and not 0.
fn masked_sums(values: &[f64], weights: &[f64]) -> (f64, f64) {
    const LANES: usize = 8;
    let (mut sums, mut squares) = ([0.0; LANES], [0.0; LANES]);
    let (chunks, rest) = values.as_chunks::<LANES>();
    let (weight_chunks, weight_rest) = weights.as_chunks::<LANES>();
    for (values, weights) in chunks.iter().zip(weight_chunks) {
        for lane in 0..LANES {
            let value = values[lane] * weights[lane];
            sums[lane] += value;
            squares[lane] += value * value;
        }
    }
    for (lane, (value, weight)) in rest.iter().zip(weight_rest).enumerate() {
        sums[lane] += value * weight;
        squares[lane] += value * weight * value;
    }
    (sums.iter().sum(), squares.iter().sum())
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
    samples: usize,
    /// Presence as 1 or 0.
    weights: Vec<f64>,
}

impl Masks {
    fn new(expression: &Expression) -> Self {
        let genes = expression.genes();
        let rows = (0..genes).map(|gene| expression.row(gene));
        if !rows.flatten().any(|value| value.is_nan()) {
            return Self { words: 0, bits: Vec::new(), samples: 0, weights: Vec::new() };
        }
        let words = expression.samples().div_ceil(64);
        let mut bits = vec![0; words * genes];
        for (gene, bits) in bits.chunks_mut(words).enumerate() {
            for (sample, value) in expression.row(gene).iter().enumerate() {
                bits[sample / 64] |= u64::from(!value.is_nan()) << (sample % 64);
            }
        }
        let rows = (0..genes).flat_map(|gene| expression.row(gene));
        let weights = rows.map(|value| if value.is_nan() { 0.0 } else { 1.0 }).collect();
        Self { words, bits, samples: expression.samples(), weights }
    }

    fn row(&self, gene: usize) -> &[u64] {
        &self.bits[gene * self.words..][..self.words]
    }

    fn weights(&self, gene: usize) -> &[f64] {
        &self.weights[gene * self.samples..][..self.samples]
    }

    /// Number of samples that both have, if a value is missing anywhere.
    fn shared(&self, i: usize, j: usize) -> Option<usize> {
        let both = self.row(i).iter().zip(self.row(j)).map(|(a, b)| (a & b).count_ones() as usize);
        (self.words > 0).then(|| both.sum())
    }

    /// Whether `partner` lacks a sample that `gene` has.
    fn removes(&self, partner: usize, gene: usize) -> bool {
        self.row(gene)
            .iter()
            .zip(self.row(partner))
            .fold(0, |removed, (gene, partner)| removed | (gene & !partner))
            != 0
    }
}
