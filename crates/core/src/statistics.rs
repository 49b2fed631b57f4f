//! Significance: Student's p-values of correlations, p-values of the normal distribution, and the
//! q-values of Benjamini and Hochberg.
//!
//! Logarithms, the gamma and the error function are those of the crate `libm`, so that figures are
//! the same on each processor.

/// Terms of a continued fraction that is given up, far more than any one needs.
const TERMS_MAX: usize = 10_000;

/// Returns the two-sided p-value of a correlation over `count` samples by Student's t; NaN for a
/// missing one, and below three samples.
pub fn student_p_value(correlation: f64, count: usize) -> f64 {
    if correlation.is_nan() || count < 3 {
        return f64::NAN;
    }
    let explained = (correlation * correlation).min(1.0);
    let rest = ((1.0 - correlation.abs()) * (1.0 + correlation.abs())).clamp(0.0, 1.0);
    incomplete_beta((count - 2) as f64 / 2.0, 0.5, (rest, explained))
}

/// Returns the two-sided p-value of a standard normal score; NaN for a missing one.
pub fn normal_p_value(z: f64) -> f64 {
    libm::erfc(z.abs() * std::f64::consts::FRAC_1_SQRT_2)
}

/// Returns the regularised incomplete beta function I_x(a, b) of x and 1 - x.
fn incomplete_beta(a: f64, b: f64, (x, y): (f64, f64)) -> f64 {
    if x <= 0.0 || y <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    // Of a small y, the difference 1 - x has lost its digits.
    let log_y = if y < 0.25 { libm::log(y) } else { libm::log1p(-x) };
    let front = libm::exp(a * libm::log(x) + b * log_y - log_beta);
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, y) / b
    }
}

/// Evaluates the continued fraction of the incomplete beta function by Lentz' method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let away_from_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for term in 1..TERMS_MAX {
        let m = term as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away_from_zero(1.0 + even * d);
        c = away_from_zero(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away_from_zero(1.0 + odd * d);
        c = away_from_zero(1.0 + odd / c);
        value *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// Returns the q-values of p-values (Benjamini and Hochberg 1995); NaN where a p-value is missing.
pub fn q_values(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> =
        (0..p_values.len()).filter(|&place| !p_values[place].is_nan()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let count = order.len() as f64;
    let mut q_values = vec![f64::NAN; p_values.len()];
    let mut least = 1.0_f64;
    for (rank, &place) in order.iter().enumerate().rev() {
        least = least.min(p_values[place] * count / (rank + 1) as f64);
        q_values[place] = least;
    }
    q_values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_those_of_student() {
        // With one degree of freedom, t is Cauchy's: p = 1 - 2 atan(t) / pi; with two, a root.
        let r: f64 = 0.5;
        let t = r / (1.0 - r * r).sqrt();
        let cauchy = 1.0 - 2.0 * t.atan() / std::f64::consts::PI;
        assert!((student_p_value(r, 3) - cauchy).abs() < 1e-14);
        let two = 2.0_f64.sqrt() * t;
        let root = 1.0 - two / (2.0 + two * two).sqrt();
        assert!((student_p_value(-r, 4) - root).abs() < 1e-14);
        assert_eq!((student_p_value(0.0, 20), student_p_value(1.0, 20)), (1.0, 0.0));
        assert!(student_p_value(f64::NAN, 20).is_nan() && student_p_value(0.3, 2).is_nan());
    }

    #[test]
    fn p_values_of_a_normal_score_are_those_of_tables() {
        // 2 * scipy.stats.norm.sf(z)
        for (z, p) in [
            (0.0, 1.0),
            (-1.0, 0.317_310_507_862_914_1),
            (1.959_963_984_540_054, 0.05),
            (10.0, 1.523_970_604_832_094_2e-23),
        ] {
            assert!((normal_p_value(z) / p - 1.0).abs() < 1e-13, "{z}");
        }
        assert!(normal_p_value(f64::NAN).is_nan() && normal_p_value(50.0) == 0.0);
    }

    #[test]
    fn q_values_are_those_of_benjamini_and_hochberg() {
        let q = q_values(&[0.01, f64::NAN, 0.04, 0.03, 0.9]);
        assert!(q[1].is_nan());
        let rounded: Vec<f64> =
            [0, 2, 3, 4].iter().map(|&place| (q[place] * 1e6).round() / 1e6).collect();
        assert_eq!(rounded, [0.04, 0.053333, 0.053333, 0.9]);
    }
}
