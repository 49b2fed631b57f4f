//! Fit of the connectivities of a network to a power law.
//!
//! Source: Zhang and Horvath, "A general framework for weighted gene co-expression network
//! analysis", 2005.

/// Added to the part of the genes in a bin, so that its logarithm is finite.
const EMPTY: f64 = 1e-9;

/// Fit to a power law; NaN where the connectivities do not differ enough for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerFit {
    /// Coefficient of determination of log10 p(k) on log10 k.
    pub r_squared: f64,
    /// Slope.
    pub slope: f64,
    /// Adjusted coefficient of determination of the fit with an exponential factor.
    pub truncated_r_squared: f64,
}

/// Fits connectivities in bins of equal width; empty bins take part.
pub fn fit(connectivity: &[f64], bins: usize) -> PowerFit {
    let points = histogram(connectivity, bins);
    let x: Vec<f64> = points.iter().map(|(degree, _)| libm::log10(*degree)).collect();
    let y: Vec<f64> = points.iter().map(|(_, part)| libm::log10(part + EMPTY)).collect();
    // 10^log10(d) is d up to rounding, which no figure shows.
    let z: Vec<f64> = points.iter().map(|(degree, _)| *degree).collect();
    let (slope, r_squared) = line(&x, &y);
    PowerFit { r_squared, slope, truncated_r_squared: plane(&x, &z, &y) }
}

/// Returns mean connectivity, or the middle where that is 0, and part of the genes of each bin.
fn histogram(connectivity: &[f64], bins: usize) -> Vec<(f64, f64)> {
    let low = connectivity.iter().copied().fold(f64::INFINITY, f64::min);
    let high = connectivity.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = (high - low) / bins as f64;
    let edge = |bin: usize| if bin == bins { high } else { low + width * bin as f64 };
    let mut counts = vec![(0.0, 0.0); bins];
    for &value in connectivity {
        let bin = (1..bins).find(|&bin| value <= edge(bin)).unwrap_or(bins) - 1;
        counts[bin].0 += value;
        counts[bin].1 += 1.0;
    }
    let total = connectivity.len() as f64;
    let point = |(bin, (sum, count)): (usize, (f64, f64))| {
        let middle = (edge(bin) + edge(bin + 1)) / 2.0;
        // Genes without a neighbour have no logarithm either.
        let mean = if count > 0.0 { sum / count } else { 0.0 };
        (if mean == 0.0 { middle } else { mean }, count / total)
    };
    counts.into_iter().enumerate().map(point).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the sum of products of the deviations from the means.
fn products(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum()
}

fn line(x: &[f64], y: &[f64]) -> (f64, f64) {
    let (xx, xy, yy) = (products(x, x), products(x, y), products(y, y));
    (xy / xx, xy * xy / (xx * yy))
}

/// Returns the adjusted coefficient of determination of `y` on `x` and `z`.
fn plane(x: &[f64], z: &[f64], y: &[f64]) -> f64 {
    let (slope, _) = line(x, z);
    let rest = |values: &[f64], slope: f64| -> Vec<f64> {
        values.iter().zip(x).map(|(value, x)| value - slope * x).collect()
    };
    let z_rest = rest(z, slope);
    let y_rest = rest(y, line(x, y).0);
    let explained = products(&z_rest, &y_rest);
    let residual = products(&y_rest, &y_rest) - explained * explained / products(&z_rest, &z_rest);
    let count = y.len() as f64;
    1.0 - residual / (count - 3.0) / (products(y, y) / (count - 1.0))
}
