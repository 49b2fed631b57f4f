//! Tail probabilities of correlations and of normal scores by numerical integration: the method of
//! the verifier, which shares no code with the series and fractions of the kernels.
//!
//! Source: Takahasi and Mori 1974 (double-exponential formula). Fisher's transform y of a
//! correlation over n samples without dependence has a density in proportion to cosh(y)^(2 - n).

use std::f64::consts::PI;

/// Step of the formula, and its number of points on either side.
const STEP: f64 = 0.1;
const POINTS: i32 = 45;

/// Largest change of the logarithm of a density, about, in a step of Gauss' formula.
const CHANGE_MAX: f64 = 0.02;

/// Nodes of the integral over the positive numbers of a function that falls exponentially.
pub struct TailIntegral {
    /// Abscissa and weight of each node.
    nodes: Vec<(f64, f64)>,
}

impl TailIntegral {
    /// Computes the nodes.
    pub fn new() -> Self {
        let node = |index: i32| {
            let u = f64::from(index) * STEP;
            let t = (u - (-u).exp()).exp();
            (t, STEP * t * (1.0 + (-u).exp()))
        };
        Self { nodes: (-POINTS..=POINTS).map(node).collect() }
    }

    /// Integrates a function that falls within about `scale`.
    fn of(&self, scale: f64, f: impl Fn(f64) -> f64) -> f64 {
        let terms = self.nodes.iter().map(|&(t, weight)| weight * f(t * scale));
        scale * terms.filter(|term| term.is_finite()).sum::<f64>()
    }

    /// Returns the two-sided p-value of a correlation below 1 in size over at least three samples.
    pub fn of_correlation(&self, correlation: f64, samples: u32) -> f64 {
        let r = correlation.abs();
        let outside = ((1.0 - r) * (1.0 + r)).powf((f64::from(samples) - 2.0) / 2.0);
        outside * self.beyond(r, samples) / self.beyond(0.0, samples)
    }

    /// Returns the integral of the density of correlations over `samples` from `r` on, in units of
    /// the transformed density at `r`. From y on, cosh(y + t) is cosh(y) times cosh(t) + r sinh(t).
    fn beyond(&self, r: f64, samples: u32) -> f64 {
        let freedom = f64::from(samples) - 2.0;
        let scale = 1.0 / (freedom * r).max(freedom.sqrt());
        let ratio = |t: f64| 2.0 * (t / 2.0).sinh().powi(2) + r * t.sinh();
        self.of(scale, |t| (-freedom * ratio(t).ln_1p()).exp())
    }

    /// Returns the two-sided p-values of correlations over `samples`, at least three, each of which
    /// is below 1 in size and at most the one before it: from one to the next by Gauss' formula of
    /// three points where the density hardly changes, else by a tail.
    pub fn of_descending(&self, correlations: impl Iterator<Item = f64>, samples: u32) -> Vec<f64> {
        let exponent = (f64::from(samples) - 4.0) / 2.0;
        let half = self.beyond(0.0, samples);
        let density = |r: f64| (exponent * ((1.0 - r) * (1.0 + r)).ln()).exp() / half;
        let mut last: Option<(f64, f64)> = None;
        let p_values = correlations.map(|r| {
            let near = last.filter(|(before, _)| {
                let change = exponent.abs() * (before - r) / ((1.0 - before) * (1.0 + before));
                change < CHANGE_MAX
            });
            let p = near.map_or_else(
                || self.of_correlation(r, samples),
                |(before, p)| {
                    let (middle, width) = ((before + r) / 2.0, (before - r) / 2.0);
                    let at = width * 0.6_f64.sqrt();
                    let ends = density(middle - at) + density(middle + at);
                    p + width / 9.0 * (5.0 * ends + 8.0 * density(middle))
                },
            );
            last = Some((r, p));
            p
        });
        p_values.collect()
    }

    /// Returns the two-sided p-value of a standard normal score.
    pub fn of_normal(&self, z: f64) -> f64 {
        let z = z.abs();
        let integral = self.of(1.0 / z.max(1.0), |t| (-t * z - t * t / 2.0).exp());
        (2.0 / PI).sqrt() * (-z * z / 2.0).exp() * integral
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_core::statistics::{normal_p_value, student_p_value};

    fn is_near(a: f64, b: f64, tolerance: f64) -> bool {
        (a - b).abs() <= tolerance * a.abs()
    }

    #[test]
    fn steps_and_tails_agree() {
        let tails = TailIntegral::new();
        for samples in [3, 4, 5, 8, 30, 100, 1000] {
            for step in [1, 7, 500] {
                let sizes = (0..1_000_000).rev().step_by(step);
                let sizes: Vec<f64> = sizes.map(|size| f64::from(size) / 1e6).collect();
                let p_values = tails.of_descending(sizes.iter().copied(), samples);
                for (&r, p) in sizes.iter().zip(p_values).step_by(1 + 997 / step) {
                    let expected = tails.of_correlation(r, samples);
                    assert!(
                        is_near(p, expected, 1e-10) || expected < 1e-290,
                        "{samples} {r}: {p} {expected}"
                    );
                }
            }
        }
    }

    #[test]
    fn integrals_and_fractions_agree() {
        let tails = TailIntegral::new();
        for samples in [4, 5, 6, 10, 31, 100, 1000, 20_000] {
            for r in [0.0, 1e-6, 0.001, 0.05, 0.3, -0.5, 0.77, 0.9, 0.99, -0.999_999] {
                let (integral, fraction) =
                    (tails.of_correlation(r, samples), student_p_value(r, samples as usize));
                let tolerance = 1e-10;
                assert!(
                    is_near(fraction, integral, tolerance) || fraction < 1e-290,
                    "{samples} {r}: {integral} {fraction}"
                );
            }
        }
        for z in [0.0, 1e-6, 0.1, -0.5, 1.0, 2.0, 5.0, -10.0, 37.0] {
            assert!(is_near(normal_p_value(z), tails.of_normal(z), 1e-11), "{z}");
        }
    }
}
