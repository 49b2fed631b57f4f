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
    let unit = super::complete::unit_for(values);
    let mut deviations: Vec<f64> = values.iter().map(|value| value * unit).collect();
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
