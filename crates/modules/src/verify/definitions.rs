//! Figures of modules from their definitions, one by one.

use cuesta_core::scale::moderate;

use crate::kernel::impute::imputed;
use crate::params::{NetworkType, OverlapType};
use crate::stages::Pairs;

/// Steps of the power iteration with which an eigenvector is compared.
const STEPS: usize = 60;

/// Returns the adjacencies of a gene with all genes, 1 with itself.
pub fn gathered(adjacencies: &Pairs<'_>, gene: usize) -> Vec<f64> {
    let entry = |other: usize| if other == gene { 1.0 } else { adjacencies.get(gene, other) };
    (0..adjacencies.count()).map(entry).collect()
}

/// Returns the topological overlap of two genes from all their adjacencies: neighbours that both
/// have, and themselves, in the smaller neighbourhood.
pub fn overlap(kind: OverlapType, (a, i): (&[f64], usize), (b, j): (&[f64], usize)) -> f64 {
    let neighbours = || (0..a.len()).filter(|&u| u != i && u != j);
    let shared: f64 = neighbours().map(|u| a[u] * b[u]).sum();
    let size = |row: &[f64]| neighbours().map(|u| row[u].abs()).sum::<f64>() + a[j].abs();
    let (direct, least) = (a[j], size(a).min(size(b)));
    let total = shared + direct;
    let total = if kind == OverlapType::Signed { total.abs() } else { total };
    total / (least + 1.0 - direct.abs())
}

/// Returns the connectivity of each gene.
pub fn connectivity(correlations: &Pairs<'_>, network: NetworkType, power: u32) -> Vec<f64> {
    let genes = correlations.count();
    let mut sums = vec![0.0; genes];
    for i in (0..genes).rev() {
        for (j, &r) in (i + 1..).zip(correlations.row(i)) {
            let size = crate::reference::adjacency(network, power, r);
            sums[i] += size;
            sums[j] += size;
        }
    }
    sums
}

/// Mean of numbers.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns coefficient of determination and slope of the fit of connectivities to a power law, by
/// its normal equations; NaN where a connectivity is too near an edge of a bin to say.
pub fn fit(connectivity: &[f64]) -> (f64, f64) {
    const BINS: usize = 10;
    let low = connectivity.iter().copied().fold(f64::INFINITY, f64::min);
    let high = connectivity.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = (high - low) / BINS as f64;
    let mut bins = vec![Vec::new(); BINS];
    for &k in connectivity {
        let place = (k - low) / width;
        let edge = place.round();
        if (place - edge).abs() < 1e-9 && edge > 0.5 && edge < BINS as f64 - 0.5 {
            return (f64::NAN, f64::NAN);
        }
        bins[(place.ceil() as usize).clamp(1, BINS) - 1].push(k);
    }
    let points = bins.iter().enumerate().map(|(bin, values)| {
        let middle = low + width * (bin as f64 + 0.5);
        let degree = if values.iter().all(|k| *k == 0.0) { middle } else { mean(values) };
        let part = values.len() as f64 / connectivity.len() as f64;
        (degree.log10(), (part + 1e-9).log10())
    });
    let (x, y): (Vec<f64>, Vec<f64>) = points.unzip();
    let r = crate::reference::correlation(&x, &y, crate::params::Measure::Pearson);
    let (mean_x, mean_y) = (mean(&x), mean(&y));
    let xy: f64 = x.iter().zip(&y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let xx: f64 = x.iter().map(|x| (x - mean_x) * (x - mean_x)).sum();
    (r * r, xy / xx)
}

/// Returns the largest scatter of a core and the smallest gap of a sensitivity to splits: those of
/// whole numbers, and between them those on the line through the nearest one and the next.
pub fn scatter_and_gap(deep_split: f64) -> (f64, f64) {
    let table = [0.64, 0.73, 0.82, 0.91, 0.95];
    let gap = |scatter: f64| (1.0 - scatter) * 3.0 / 4.0;
    let nearest = (deep_split + 1.0).round_ties_even() as usize - 1;
    if nearest == 4 {
        return (table[4], gap(table[4]));
    }
    let part = deep_split - nearest as f64;
    let between = |low: f64, high: f64| (1.0 - part) * low + part * high;
    let (low, high) = (table[nearest], table[nearest + 1]);
    (between(low, high), between(gap(low), gap(high)))
}

/// Whether a vector is the eigengene of genes: of length 1, an eigenvector of the products of their
/// z-scores, of the largest eigenvalue, and along their mean.
pub fn is_eigengene(rows: &[&[f64]], vector: &[f64]) -> bool {
    let scores: Vec<Vec<f64>> = imputed(rows).iter().filter_map(|row| z_scores(row)).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let apply = |vector: &[f64]| {
        let mut product = vec![0.0; vector.len()];
        for row in &scores {
            let part = dot(row, vector);
            product.iter_mut().zip(row).for_each(|(sum, value)| *sum += part * value);
        }
        product
    };
    let image = apply(vector);
    let value = dot(vector, &image);
    let residual: f64 =
        image.iter().zip(vector).map(|(a, b)| (a - value * b) * (a - value * b)).sum();
    let mut other: Vec<f64> = (0..vector.len()).map(|place| ((place + 1) as f64).sin()).collect();
    let mut largest = 0.0;
    for _ in 0..STEPS {
        other = apply(&other);
        let length = dot(&other, &other).sqrt();
        other.iter_mut().for_each(|value| *value /= length);
        largest = dot(&other, &apply(&other));
    }
    let parts: Vec<f64> = scores.iter().map(|row| dot(row, vector)).collect();
    let (along, sizes): (f64, f64) = (parts.iter().sum(), parts.iter().map(|x| x.abs()).sum());
    let most = parts.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let is_forward = match along.abs() > 1e-9 * sizes {
        true => along > -1e-9 * value,
        // The mean is orthogonal to it: the first gene that is not decides.
        false => parts.iter().find(|x| x.abs() > 1e-9 * most).is_none_or(|first| *first > 0.0),
    };
    (dot(vector, vector) - 1.0).abs() < 1e-9
        && residual.sqrt() <= 1e-6 * value
        && largest <= value * (1.0 + 1e-9)
        && is_forward
}

fn z_scores(row: &[f64]) -> Option<Vec<f64>> {
    let row = &*moderate(row);
    let mean = mean(row);
    let squares: f64 = row.iter().map(|value| (value - mean) * (value - mean)).sum();
    let deviation = (squares / (row.len() - 1) as f64).sqrt();
    let is_constant = row.iter().all(|value| *value == row[0]);
    (!is_constant).then(|| row.iter().map(|value| (value - mean) / deviation).collect())
}

/// Returns the two-sided p-value of a correlation over `count` samples by the finite series of
/// Student's distribution (Abramowitz and Stegun 26.7.3 and 26.7.4).
pub fn p_value(correlation: f64, count: usize) -> f64 {
    if correlation.is_nan() || count < 3 {
        return f64::NAN;
    }
    let freedom = count - 2;
    let sine = correlation.abs();
    let square = (1.0 - sine) * (1.0 + sine);
    let is_odd = freedom % 2 == 1;
    let (mut term, mut sum) = (if is_odd { square.sqrt() } else { 1.0 }, 0.0);
    let mut degree = if is_odd { 1 } else { 0 };
    while degree + 2 <= freedom {
        sum += term;
        term *= square * (degree + 1) as f64 / (degree + 2) as f64;
        degree += 2;
    }
    let within = match is_odd {
        true => 2.0 / std::f64::consts::PI * (sine.asin() + sine * sum),
        false => sine * sum,
    };
    1.0 - within
}

/// Returns the q-value of one of some p-values: the least p m / rank of those that are as large.
pub fn q_value(p: f64, p_values: &[f64]) -> f64 {
    if p.is_nan() {
        return f64::NAN;
    }
    let present = || p_values.iter().copied().filter(|value| !value.is_nan());
    let count = present().count() as f64;
    let rank = |value: f64| present().filter(|other| *other <= value).count() as f64;
    present()
        .filter(|other| *other >= p)
        .map(|other| other * count / rank(other))
        .fold(1.0, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_core::statistics::{q_values, student_p_value};

    #[test]
    fn series_and_fraction_agree() {
        for count in 3..60 {
            for r in [0.0, 0.01, 0.3, 0.77, 0.999, 1.0] {
                let (series, fraction) = (p_value(-r, count), student_p_value(r, count));
                assert!((series - fraction).abs() < 1e-12, "{count} {r}: {series} {fraction}");
            }
        }
    }

    #[test]
    fn ranks_and_steps_give_the_same_q_values() {
        let p_values = [0.01, 0.02, f64::NAN, 0.02, 0.5, 0.04, 1.0];
        for (p, q) in p_values.iter().zip(q_values(&p_values)) {
            let other = q_value(*p, &p_values);
            assert!((q - other).abs() < 1e-15 || q.is_nan() && other.is_nan());
        }
    }
}
