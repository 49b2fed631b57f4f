//! Tail probabilities of correlations and of normal scores by numerical integration: the method of
//! the verifier, which shares no code with the series and fractions of the kernels.
//!
//! Source: Takahasi and Mori 1974 (double-exponential formula). Fisher's transform y of a
//! correlation over n samples without dependence has a density in proportion to cosh(y)^(2 - n).

use std::f64::consts::PI;

/// Step of the formula, and its number of points on either side.
const STEP: f64 = 0.1;
const POINTS: i32 = 45;

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
        let freedom = f64::from(samples) - 2.0;
        // From y on, cosh(y + t) is cosh(y) times cosh(t) + r sinh(t).
        let from = |r: f64| {
            let scale = 1.0 / (freedom * r).max(freedom.sqrt());
            let ratio = |t: f64| 2.0 * (t / 2.0).sinh().powi(2) + r * t.sinh();
            self.of(scale, |t| (-freedom * ratio(t).ln_1p()).exp())
        };
        let outside = ((1.0 - r) * (1.0 + r)).powf(freedom / 2.0);
        outside * from(r) / from(0.0)
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
