//! Genes as columns of length 1, whose products are their correlations: for the verifier of
//! `correlate`, by other means than the kernel.

use cuesta_core::cpu::fastest;

use crate::params::{CorrelateParams, Correlation};

/// Form of the columns.
#[derive(Clone, Copy)]
pub struct ColumnForm {
    method: Correlation,
    max_outliers: f64,
}

impl ColumnForm {
    /// Form of the columns of a method.
    pub fn of(params: &CorrelateParams) -> Self {
        Self { method: params.method, max_outliers: params.max_p_outliers }
    }

    /// Returns the column of values, none of which is missing; `None` if all are equal.
    pub fn column(self, values: &[f64]) -> Option<Vec<f64>> {
        if values.windows(2).all(|pair| pair[0] == pair[1]) {
            return None;
        }
        Some(match self.method {
            Correlation::Pearson => unit(values.to_vec()),
            Correlation::Spearman => unit(ranks(values)),
            Correlation::Bicor => biweight(values, self.max_outliers),
        })
    }
}

/// Subtracts the mean of values that are not all equal, and scales them to length 1.
fn unit(mut values: Vec<f64>) -> Vec<f64> {
    // By a power of two, so that no value is rounded.
    let most = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    let scale = 2f64.powi(-(most.log2().floor().clamp(-1000.0, 1000.0) as i32));
    values.iter_mut().for_each(|value| *value *= scale);
    // Three times: the mean of large values is itself rounded.
    for _ in 0..3 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter_mut().for_each(|value| *value -= mean);
    }
    let length = dot(&values, &values).sqrt();
    values.iter_mut().for_each(|value| *value /= length);
    values
}

/// Returns the biweight deviations at length 1, or the column of Pearson if more than half of the
/// values are equal. Outliers are judged in units of the median absolute deviation, in the order of
/// the values.
fn biweight(values: &[f64], max_outliers: f64) -> Vec<f64> {
    let count = values.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    // An eighth: no difference overflows.
    let sorted: Vec<f64> = order.iter().map(|&place| values[place] / 8.0).collect();
    let (low, high) = (sorted[(count - 1) / 2], sorted[count / 2]);
    let deviations: Vec<f64> =
        sorted.iter().map(|value| (value - low) / 2.0 + (value - high) / 2.0).collect();
    let mut sizes: Vec<f64> = deviations.iter().map(|deviation| deviation.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let mad = sizes[(count - 1) / 2] / 2.0 + sizes[count / 2] / 2.0;
    if mad == 0.0 {
        return unit(values.to_vec());
    }
    let places: Vec<f64> = deviations.iter().map(|deviation| deviation / mad).collect();
    let at = |part: f64| {
        let place = (count - 1) as f64 * part;
        let (before, after) = (places[place.floor() as usize], places[place.ceil() as usize]);
        before + (after - before) * place.fract()
    };
    // The place in units of the deviation whose weight is 0.
    let (mut below, mut above) = (9.0f64, 9.0f64);
    if max_outliers < 1.0 {
        below = below.max(-2.0 * at(max_outliers));
        above = above.max(2.0 * at(1.0 - max_outliers));
    }
    let mut column = vec![0.0; count];
    for (&sample, place) in order.iter().zip(&places) {
        let distance = (place.abs() / if *place < 0.0 { below } else { above }).min(1.0);
        let weight = (1.0 - distance) * (1.0 + distance);
        // Without weight, a place may be infinite.
        column[sample] = if weight > 0.0 { place * weight * weight } else { 0.0 };
    }
    let most = column.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    column.iter_mut().for_each(|value| *value /= most);
    let length = dot(&column, &column).sqrt();
    column.iter_mut().for_each(|value| *value /= length);
    column
}

/// Returns ranks from 1; equal values share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for same in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let mean = before as f64 + (same.len() as f64 + 1.0) / 2.0;
        same.iter().for_each(|&place| ranks[place] = mean);
        before += same.len();
    }
    ranks
}

/// Returns the sum of products in sixteen running sums.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    fastest(
        #[inline(always)]
        || dot_here(a, b),
    )
}

#[inline(always)]
fn dot_here(a: &[f64], b: &[f64]) -> f64 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let (a, b) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let rest: f64 = a.1.iter().zip(b.1).map(|(a, b)| a * b).sum();
    for (a, b) in a.0.iter().zip(b.0) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}
