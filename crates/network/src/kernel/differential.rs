//! Differential correlation of a gene pair between two groups of samples: Fisher's z of the
//! difference, p-values, and the class of the change.
//!
//! Source: Fisher 1921; Fieller, Hartley and Pearson 1957 (variance of Spearman's correlation);
//! McKenzie et al. 2016 (DGCA: the z-score and the nine classes). All numbers follow from the
//! printed ones, by functions of the crate `libm`: they are the same on each processor.

use cuesta_core::fixed::Micro;
use cuesta_core::statistics::{normal_p_value, student_p_value};
use serde::{Deserialize, Serialize};

/// Largest p-value of a correlation that differs from 0, exclusive.
pub const CORRELATION_P: f64 = 0.05;
/// Minimum number of samples of a tested correlation: the variance is 1 / (n - 3).
pub const SAMPLES_MIN: u32 = 4;
/// Significant digits of a printed p-value.
const DIGITS: i32 = 6;
/// p-value below which 0 is printed: nearly the smallest number with all digits.
const P_MIN: f64 = 1e-300;
const MILLION: f64 = 1e6;

/// Correlation that the scores are.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScoreMethod {
    /// Pearson's: the variance of its transform is 1 / (n - 3).
    #[default]
    Pearson,
    /// Spearman's: the variance of its transform is 1.06 / (n - 3).
    Spearman,
}

impl ScoreMethod {
    /// Returns the variance of a transformed correlation times (n - 3).
    pub fn variance(self) -> f64 {
        match self {
            Self::Pearson => 1.0,
            Self::Spearman => 1.06,
        }
    }
}

/// Correlation of a gene pair in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupScore {
    /// Correlation in millionths.
    pub score: Micro,
    /// Number of samples that it was computed over.
    pub samples: u32,
}

impl GroupScore {
    /// Whether the correlation can be tested: it is below 1 in size, over at least
    /// [`SAMPLES_MIN`] samples.
    pub fn is_testable(self) -> bool {
        i64::from(self.score).abs() < MILLION as i64 && self.samples >= SAMPLES_MIN
    }

    fn correlation(self) -> f64 {
        f64::from(self.score) / MILLION
    }

    /// Returns the two-sided p-value of the correlation, by Student's t.
    pub fn p_value(self) -> f64 {
        student_p_value(self.correlation(), self.samples as usize)
    }
}

/// Returns z of the difference, second group less first, in millionths, halves to even; `None` if
/// a correlation cannot be tested.
pub fn z_millionths([a, b]: [GroupScore; 2], method: ScoreMethod) -> Option<i64> {
    if !a.is_testable() || !b.is_testable() {
        return None;
    }
    let variance = |group: GroupScore| method.variance() / (f64::from(group.samples) - 3.0);
    let deviation = (variance(a) + variance(b)).sqrt();
    let z = (libm::atanh(b.correlation()) - libm::atanh(a.correlation())) / deviation;
    Some((z * MILLION).round_ties_even() as i64)
}

/// Returns the two-sided p-value of a z in millionths.
pub fn z_p_value(z_millionths: i64) -> f64 {
    normal_p_value(z_millionths as f64 / MILLION)
}

/// Returns the q-values of p-values in ascending order (Benjamini and Hochberg 1995).
pub fn q_values_of_ascending(p_values: impl ExactSizeIterator<Item = f64>) -> Vec<f64> {
    let mut q_values: Vec<f64> = p_values.collect();
    let count = q_values.len() as f64;
    let mut least = 1.0_f64;
    for (index, value) in q_values.iter_mut().enumerate().rev() {
        least = least.min(*value * count / (index + 1) as f64);
        *value = least;
    }
    q_values
}

/// Formats a p-value with six significant digits, with an exponent below 0.0001; as 0 below
/// 10^-300.
pub fn numeral(value: f64) -> String {
    if value < P_MIN {
        return "0".to_owned();
    }
    let text = format!("{value:.*e}", DIGITS as usize - 1);
    let exponent = text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok());
    match exponent {
        Some(exponent @ -4..=0) => {
            let decimals: i32 = DIGITS - 1 - exponent;
            format!("{value:.*}", decimals as usize)
        }
        _ => text,
    }
}

/// Returns the number that [`numeral`] prints.
pub fn rounded(value: f64) -> f64 {
    numeral(value).parse().unwrap_or(f64::NAN)
}

/// Returns the class of a change: signs of the correlations in both groups, `0` where p is at least
/// [`CORRELATION_P`], and `none` if `q` is above `max_q`. The p-values and `q` are [`rounded`].
pub fn class(groups: [(Micro, f64); 2], q: f64, max_q: f64) -> &'static str {
    if q.is_nan() || q > max_q {
        return "none";
    }
    let sign = |(score, p): (Micro, f64)| match p < CORRELATION_P {
        true if score > 0 => 0,
        true => 2,
        false => 1,
    };
    const CLASSES: [[&str; 3]; 3] =
        [["+/+", "+/0", "+/-"], ["0/+", "0/0", "0/-"], ["-/+", "-/0", "-/-"]];
    CLASSES[sign(groups[0])][sign(groups[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(score: Micro, samples: u32) -> GroupScore {
        GroupScore { score, samples }
    }

    #[test]
    fn z_is_that_of_the_formula() {
        // (numpy.arctanh(b) - numpy.arctanh(a)) / numpy.sqrt(f / (na - 3) + f / (nb - 3))
        let groups = [group(800_000, 30), group(-200_000, 50)];
        assert_eq!(z_millionths(groups, ScoreMethod::Pearson), Some(-5_388_990));
        assert_eq!(z_millionths(groups, ScoreMethod::Spearman), Some(-5_234_249));
        let [a, b] = groups;
        assert_eq!(z_millionths([b, a], ScoreMethod::Pearson), Some(5_388_990));
    }

    #[test]
    fn a_correlation_of_1_or_over_three_samples_is_not_tested() {
        for group_a in [group(1_000_000, 9), group(-1_000_000, 9), group(1, 3), group(1, 0)] {
            assert_eq!(z_millionths([group_a, group(5, 9)], ScoreMethod::Pearson), None);
            assert_eq!(z_millionths([group(5, 9), group_a], ScoreMethod::Pearson), None);
        }
        assert!(z_millionths([group(999_999, 4), group(5, 4)], ScoreMethod::Pearson).is_some());
        assert!(!group(Micro::MIN, 9).is_testable() && !group(2_000_000_000, 9).is_testable());
    }

    #[test]
    fn a_p_value_has_six_digits_that_read_back() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1.00000"),
            (0.05, "0.0500000"),
            (0.999_999_6, "1.00000"),
            (0.000_123_456_7, "0.000123457"),
            (0.000_099_999_99, "0.000100000"),
            (0.000_012_345_67, "1.23457e-5"),
            (1.5e-300, "1.50000e-300"),
            (9.9e-301, "0"),
        ] {
            assert_eq!(numeral(value), text);
            assert_eq!(numeral(rounded(value)), text);
        }
    }

    #[test]
    fn q_values_are_those_of_the_definition() {
        let q = q_values_of_ascending([0.01, 0.03, 0.04, 0.9].into_iter());
        let q: Vec<f64> = q.iter().map(|q| (q * 1e6).round() / 1e6).collect();
        assert_eq!(q, [0.04, 0.053333, 0.053333, 0.9]);
        assert!(q_values_of_ascending(std::iter::empty()).is_empty());
    }

    #[test]
    fn the_nine_classes_are_signs_of_correlations_that_differ_from_0() {
        let class_of = |a: Micro, b: Micro| {
            let p = |score: Micro| if score.abs() > 300_000 { 0.01 } else { 0.05 };
            class([(a, p(a)), (b, p(b))], 0.05, 0.05)
        };
        let scores = [500_000, 100_000, -500_000];
        let classes = scores.map(|a| scores.map(|b| class_of(a, b)));
        assert_eq!(classes, [["+/+", "+/0", "+/-"], ["0/+", "0/0", "0/-"], ["-/+", "-/0", "-/-"]]);
        assert_eq!(class([(500_000, 0.01), (500_000, 0.01)], 0.051, 0.05), "none");
    }
}
