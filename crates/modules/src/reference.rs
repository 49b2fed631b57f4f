//! Simplest implementation of each kernel: the oracle of the tests and of `verify`.

mod cut;
pub mod refine;
pub mod threshold;

pub use cut::cut_tree;

use std::collections::BTreeSet;

use cuesta_core::scale::moderate;

use crate::params::{Fallback, Measure, NetworkType, OverlapParams};

/// Square matrix.
pub type Square = Vec<Vec<f64>>;

/// Returns the correlation of two genes over their common samples; NaN if there is none. `fallback`
/// `All` is as `Individual`: whether another gene has mad 0 is not looked at.
pub fn correlation(x: &[f64], y: &[f64], measure: Measure) -> f64 {
    let Some(columns) = centred_both(x, y, measure) else { return f64::NAN };
    if !x.iter().chain(y).any(|value| value.is_nan()) {
        return cosine(columns);
    }
    let both = |a: f64, b: f64| if b.is_nan() { f64::NAN } else { a };
    let x_common: Vec<f64> = x.iter().zip(y).map(|(x, y)| both(*x, *y)).collect();
    let y_common: Vec<f64> = y.iter().zip(x).map(|(y, x)| both(*y, *x)).collect();
    centred_both(&x_common, &y_common, measure).map_or(f64::NAN, cosine)
}

fn centred_both(x: &[f64], y: &[f64], measure: Measure) -> Option<(Vec<f64>, Vec<f64>)> {
    Some((centred(x, measure)?, centred(y, measure)?))
}

/// Returns the product of two columns by their lengths.
fn cosine((x, y): (Vec<f64>, Vec<f64>)) -> f64 {
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    (product(&x, &y) / (product(&x, &x).sqrt() * product(&y, &y).sqrt())).clamp(-1.0, 1.0)
}

/// Returns a gene as a column of unit length, if it varies; products of two are their correlation
/// where no value is missing.
pub fn unit(values: &[f64], measure: Measure) -> Option<Vec<f64>> {
    let column = centred(values, measure)?;
    let length = column.iter().map(|value| value * value).sum::<f64>().sqrt();
    Some(column.into_iter().map(|value| value / length).collect())
}

/// Returns the weighted deviations from the centre, 0 where a value is missing, if any is not 0.
fn centred(values: &[f64], measure: Measure) -> Option<Vec<f64>> {
    let values = &*moderate(values);
    let present: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    let mean = present.iter().sum::<f64>() / present.len() as f64;
    let plain = |value: &f64| if value.is_nan() { 0.0 } else { value - mean };
    let is_constant = present.iter().all(|value| *value == present[0]);
    let pearson = (!is_constant).then(|| values.iter().map(plain).collect());
    let Measure::Bicor { max_outliers, fallback } = measure else { return pearson };
    let median = quantile(&present, 0.5)?;
    let deviations: Vec<f64> = present.iter().map(|value| (value - median).abs()).collect();
    let mad = quantile(&deviations, 0.5)?;
    if mad == 0.0 {
        return if fallback == Fallback::None { None } else { pearson };
    }
    let places: Vec<f64> = present.iter().map(|value| (value - median) / (9.0 * mad)).collect();
    let low = quantile(&places, max_outliers)?.min(-0.5);
    let high = quantile(&places, 1.0 - max_outliers)?.max(0.5);
    let weighted = |value: &f64| {
        let u = (value - median) / (9.0 * mad);
        let u = if u < 0.0 { -0.5 * u / low } else { 0.5 * u / high };
        if u.abs() <= 1.0 { (value - median) * (1.0 - u * u).powi(2) } else { 0.0 }
    };
    let column: Vec<f64> = values.iter().map(weighted).collect();
    column.iter().any(|value| *value != 0.0).then_some(column)
}

fn quantile(values: &[f64], probability: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len().checked_sub(1)?) as f64 * probability;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(low + (place - place.floor()) * (high - low))
}

/// Returns the adjacency of a correlation, 0 for a missing one.
pub fn adjacency(network: NetworkType, power: u32, correlation: f64) -> f64 {
    let similarity = match network {
        NetworkType::Unsigned => correlation.abs(),
        NetworkType::Signed => (1.0 + correlation) / 2.0,
        NetworkType::SignedHybrid => correlation.max(0.0),
    };
    if correlation.is_nan() { 0.0 } else { similarity.powi(power as i32) }
}

/// Returns the topological overlap of all pairs; the diagonal is 0 here. The sums are those of the
/// kernel, term by term.
pub fn overlap(adjacency: &Square, params: OverlapParams) -> Square {
    let count = adjacency.len();
    let entry = |i: usize, j: usize| if i == j { 1.0 } else { adjacency[i][j] };
    let sums: Vec<f64> =
        (0..count).map(|i| (0..count).fold(0.0, |sum, j| sum + entry(i, j).abs())).collect();
    let value = |i: usize, j: usize| {
        if i == j {
            return 0.0;
        }
        let shared = (0..count).fold(0.0, |sum, u| entry(i, u).mul_add(entry(j, u), sum));
        crate::kernel::overlap::pair(params, adjacency[i][j], shared, (sums[i], sums[j]))
    };
    (0..count).map(|i| (0..count).map(|j| value(i, j)).collect()).collect()
}

/// Returns the merges of average linkage as pairs of genes and height, in the order of the chain of
/// nearest neighbours; a cluster is called by its largest gene.
pub fn average_linkage(mut distances: Square) -> Vec<(usize, usize, f64)> {
    let mut sizes = vec![1.0; distances.len()];
    let mut active: BTreeSet<usize> = (0..distances.len()).collect();
    let (mut chain, mut merges) = (Vec::<usize>::new(), Vec::new());
    while active.len() > 1 {
        if chain.len() < 2 {
            chain = active.iter().copied().take(1).collect();
            chain.push(nearest(&distances, &active, chain[0], None));
        }
        let (before, tip) = (chain[chain.len() - 2], chain[chain.len() - 1]);
        let next = nearest(&distances, &active, tip, Some(before));
        if next != before {
            chain.push(next);
            continue;
        }
        // Both are merged, and the one before them is found again.
        chain.truncate(chain.len().saturating_sub(2));
        let (small, large) = (before.min(tip), before.max(tip));
        merges.push((small, large, distances[small][large]));
        active.remove(&small);
        let total: f64 = sizes[small] + sizes[large];
        for &i in active.iter().filter(|&&i| i != large) {
            let mean = sizes[small] / total * distances[small][i]
                + sizes[large] / total * distances[large][i];
            distances[large][i] = mean;
            distances[i][large] = mean;
        }
        sizes[large] = total;
    }
    merges
}

/// Returns the active cluster nearest to `from`: `first` unless another is strictly nearer, then
/// the smallest.
fn nearest(
    distances: &Square,
    active: &BTreeSet<usize>,
    from: usize,
    first: Option<usize>,
) -> usize {
    let candidates = first.into_iter().chain(active.iter().copied().filter(|&i| i != from));
    let mut best = (f64::INFINITY, from);
    for i in candidates {
        if distances[from][i] < best.0 {
            best = (distances[from][i], i);
        }
    }
    best.1
}

/// Returns eigenvalues and unit eigenvectors of a symmetric matrix, by Jacobi's rotations.
pub fn eigenvectors(mut matrix: Square) -> Vec<(f64, Vec<f64>)> {
    let size = matrix.len();
    let unit = |i: usize| (0..size).map(|j| f64::from(u8::from(i == j))).collect::<Vec<f64>>();
    let mut vectors: Square = (0..size).map(unit).collect();
    for _ in 0..50 {
        for p in 0..size {
            for q in p + 1..size {
                if matrix[p][q] == 0.0 {
                    continue;
                }
                let theta = (matrix[q][q] - matrix[p][p]) / (2.0 * matrix[p][q]);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                for row in &mut matrix {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                for k in 0..size {
                    let (a, b) = (matrix[p][k], matrix[q][k]);
                    (matrix[p][k], matrix[q][k]) = (c * a - s * b, s * a + c * b);
                    let (a, b) = (vectors[p][k], vectors[q][k]);
                    (vectors[p][k], vectors[q][k]) = (c * a - s * b, s * a + c * b);
                }
            }
        }
    }
    vectors.into_iter().enumerate().map(|(i, vector)| (matrix[i][i], vector)).collect()
}

/// Numbers modules by falling size from 1, ties by their number; 0 is left as it is.
pub fn by_size(labels: &[u32]) -> Vec<u32> {
    let size = |label: u32| labels.iter().filter(|other| **other == label).count();
    let modules: BTreeSet<u32> = labels.iter().copied().filter(|label| *label > 0).collect();
    let rank = |label: u32| {
        1 + modules
            .iter()
            .filter(|other| {
                size(**other) > size(label) || size(**other) == size(label) && **other < label
            })
            .count() as u32
    };
    labels.iter().map(|&label| if label == 0 { 0 } else { rank(label) }).collect()
}
