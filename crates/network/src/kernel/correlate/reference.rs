//! Simplest correlation: one pair after the other on one thread. The oracle of the kernel, and the
//! baseline of parallel versions.

use cuesta_core::fixed;
use cuesta_input::matrix::ExpressionMatrix;

use super::complete::CENTRING_ROUNDS;
use super::{CorrelationMethod, Counts, Match, Params};

/// Returns all selected pairs, in the order of triangular rank.
pub fn reference(matrix: &ExpressionMatrix, params: &Params) -> (Vec<Match>, Counts) {
    let (mut matches, mut counts) = (Vec::new(), Counts::default());
    for row1 in 0..matrix.genes.len() {
        for row2 in 0..row1 {
            counts.pairs += 1;
            let Some(score) = score(matrix.row(row1), matrix.row(row2), params) else {
                counts.too_few_samples += 1;
                continue;
            };
            let Some(micro) = score.and_then(fixed::from_f64) else {
                counts.undefined += 1;
                continue;
            };
            if micro.abs() >= params.min_abs_micro() {
                counts.selected += 1;
                let (gene1, gene2) = (row1 as u32 + 1, row2 as u32 + 1);
                matches.push(Match { gene1, gene2, micro });
            }
        }
    }
    (matches, counts)
}

/// Returns the score of two genes; `Some(None)` if either does not vary, `None` if they have too
/// few common samples.
pub fn score(row1: &[f64], row2: &[f64], params: &Params) -> Option<Option<f64>> {
    let common = row1.iter().zip(row2).filter(|(x, y)| !x.is_nan() && !y.is_nan());
    let (x, y): (Vec<f64>, Vec<f64>) = common.unzip();
    (x.len() >= params.min_samples).then(|| match params.method {
        CorrelationMethod::Pearson => pearson(&x, &y),
        CorrelationMethod::Spearman => pearson(&ranks(&x), &ranks(&y)),
        CorrelationMethod::Bicor { max_outliers } => bicor((&x, &y), max_outliers),
    })
}

/// Returns Pearson's correlation; `None` if either side does not vary.
pub fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let (x, y) = (centred(x)?, centred(y)?);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    Some(super::coefficient(dot(&x, &x), dot(&x, &y), dot(&y, &y)))
}

/// Returns deviations from the mean in a unit of about the largest value; `None` if all values are
/// equal.
fn centred(values: &[f64]) -> Option<Vec<f64>> {
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        return None;
    }
    let scale = super::complete::choose_scale(values);
    let mut deviations: Vec<f64> = values.iter().map(|value| value * scale).collect();
    for _ in 0..CENTRING_ROUNDS {
        let mean = deviations.iter().sum::<f64>() / values.len() as f64;
        deviations.iter_mut().for_each(|value| *value -= mean);
    }
    Some(deviations)
}

/// Returns doubled ranks; equal values share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let count = |holds: &dyn Fn(f64) -> bool| values.iter().filter(|&&v| holds(v)).count() as f64;
    let rank = |value: f64| 2.0 * count(&|v| v < value) + count(&|v| v == value) + 1.0;
    values.iter().map(|&value| rank(value)).collect()
}

/// Returns the biweight midcorrelation; `None` if either side does not vary.
fn bicor((x, y): (&[f64], &[f64]), max_outliers: f64) -> Option<f64> {
    let (x, y) = (biweight(x, max_outliers)?, biweight(y, max_outliers)?);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    Some(super::coefficient(dot(&x, &x), dot(&x, &y), dot(&y, &y)))
}

/// Returns deviations from the median times their weights, or from the mean if more than half of
/// the values are the median; `None` if all values are equal.
fn biweight(values: &[f64], max_outliers: f64) -> Option<Vec<f64>> {
    let from_mean = centred(values)?;
    let scale = super::complete::choose_scale(values);
    let scaled: Vec<f64> = values.iter().map(|value| value * scale).collect();
    let (low, high) = middle(&scaled);
    let deviations: Vec<f64> = scaled.iter().map(|x| (x - low) / 2.0 + (x - high) / 2.0).collect();
    let sizes: Vec<f64> = deviations.iter().map(|deviation| deviation.abs()).collect();
    let (low, high) = middle(&sizes);
    let mad = (low + high) / 2.0;
    if mad == 0.0 {
        return Some(from_mean);
    }
    let places: Vec<f64> = deviations.iter().map(|deviation| deviation / (9.0 * mad)).collect();
    let (mut below, mut above) = (0.5f64, 0.5f64);
    if max_outliers < 1.0 {
        below = below.max(-quantile(&places, max_outliers));
        above = above.max(quantile(&places, 1.0 - max_outliers));
    }
    let weight = |place: f64| {
        let u = place.abs() * 0.5 / if place < 0.0 { below } else { above };
        if u < 1.0 { (1.0 - u * u).powi(2) } else { 0.0 }
    };
    Some(deviations.iter().zip(&places).map(|(deviation, u)| deviation * weight(*u)).collect())
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Returns both middle values, or the middle one twice.
fn middle(values: &[f64]) -> (f64, f64) {
    let sorted = sorted(values);
    (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

/// Returns the quantile, interpolated between values.
fn quantile(values: &[f64], part: f64) -> f64 {
    let sorted = sorted(values);
    let place = (sorted.len() - 1) as f64 * part;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (place - place.floor()) * (high - low)
}
