//! Biweight deviations: deviations from the median, weighted so that outliers count little or
//! nothing. Products of such columns at unit length are biweight midcorrelations.
//!
//! Source: Langfelder and Horvath 2012, "Fast R functions for robust correlations and hierarchical
//! clustering": the median absolute deviation is as it is, without the factor 1.4826.

/// Number of median absolute deviations from the median at which a weight becomes 0.
const REACH: f64 = 9.0;

/// Factor of values that are so large that a difference or a reach could overflow.
const SMALLER: f64 = 1.0 / 64.0;

/// Writes the deviation of each value from the median times its weight, 0 for a missing value
/// (NaN); returns whether it did: not if the median absolute deviation is 0 or no value is there.
///
/// `max_outliers`, 0 to 1, is the largest part of the values on either side of the median that may
/// be outliers, with the weight 0: the reach of a side with more is longer. 1 is no limit. Where a
/// value is at least `f64::MAX / 64`, all deviations have the factor 1/64.
#[must_use]
pub fn weighted_deviations(values: &[f64], max_outliers: f64, column: &mut [f64]) -> bool {
    let mut present: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    let is_large = present.iter().any(|value| value.abs() >= f64::MAX * SMALLER);
    let scale = if is_large { SMALLER } else { 1.0 };
    present.iter_mut().for_each(|value| *value *= scale);
    let Some((lower, upper)) = middle(&mut present) else { return false };
    // No value is between the middle ones, so both differences have one sign: their sum is right
    // to its last bits even where the mean of the middle values is not.
    let deviation = |value: f64| ((value - lower) + (value - upper)) * 0.5;
    let mut deviations = present;
    deviations.iter_mut().for_each(|value| *value = deviation(*value));
    let (low, high) = match max_outliers < 1.0 {
        true => quantiles(&mut deviations, max_outliers),
        false => (0.0, 0.0),
    };
    deviations.iter_mut().for_each(|value| *value = value.abs());
    let Some((lower_size, upper_size)) = middle(&mut deviations) else { return false };
    let reach = REACH * ((lower_size + upper_size) * 0.5);
    if reach == 0.0 {
        return false;
    }
    // Where it is longer, the deviation at the quantile has the place 0.5.
    let (below, above) = (reach.max(-2.0 * low), reach.max(2.0 * high));
    for (slot, value) in column.iter_mut().zip(values) {
        let deviation = deviation(value * scale);
        let place = deviation / if deviation < 0.0 { below } else { above };
        let weight = 1.0 - place * place;
        *slot = if place.abs() <= 1.0 { deviation * (weight * weight) } else { 0.0 };
    }
    true
}

/// Whether the median absolute deviation of the present values is 0; not if there are none.
pub fn is_flat(values: &[f64]) -> bool {
    let has_values = values.iter().any(|value| !value.is_nan());
    has_values && !weighted_deviations(values, 1.0, &mut vec![0.0; values.len()])
}

/// Returns both middle values, which are the same one for an odd number; `None` of none.
fn middle(values: &mut [f64]) -> Option<(f64, f64)> {
    let count = values.len();
    if count == 0 {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    let largest = || below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some((if count % 2 == 1 { upper } else { largest() }, upper))
}

/// Returns the quantiles of `part` and of 1 - `part`, interpolated between values (type 7 of R).
/// There must be a value.
fn quantiles(values: &mut [f64], part: f64) -> (f64, f64) {
    values.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| {
        let place = (values.len() - 1) as f64 * part;
        let below = place.floor() as usize;
        let above = values.len().min(below + 2) - 1;
        values[below] + (place - below as f64) * (values[above] - values[below])
    };
    (at(part), at(1.0 - part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: &[f64], max_outliers: f64) -> Option<Vec<f64>> {
        let mut column = vec![f64::NAN; values.len()];
        weighted_deviations(values, max_outliers, &mut column).then_some(column)
    }

    #[test]
    fn values_that_are_out_of_reach_or_missing_count_nothing() {
        // Median 3, deviations 2 1 0 1 97, their median 1.
        let deviations = column(&[1.0, 2.0, 3.0, f64::NAN, 4.0, 100.0], 1.0).unwrap();
        let weighted = |d: f64| d * (1.0 - (d / 9.0) * (d / 9.0)).powi(2);
        let expected = [-2.0, -1.0, 0.0, 0.0, 1.0, 0.0].map(weighted);
        for (value, expected) in deviations.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-15, "{deviations:?}");
        }
    }

    #[test]
    fn with_few_outliers_allowed_the_reach_is_twice_the_quantile() {
        // The quantile of 1 - 0.25 is 4's deviation, 1; that of 1 - 0 is 97.
        let values = [1.0, 2.0, 3.0, 4.0, 100.0];
        assert_eq!(column(&values, 0.25), column(&values, 1.0));
        let last = column(&values, 0.0).unwrap()[4];
        assert!((last - 97.0 * 0.75 * 0.75).abs() < 1e-12, "{last}");
    }

    #[test]
    fn more_than_half_equal_values_have_no_deviations() {
        assert_eq!(column(&[2.0, 2.0, 2.0, 5.0, 9.0], 1.0), None);
        assert!(is_flat(&[2.0, 2.0, 2.0, 5.0, 9.0, f64::NAN]));
        assert!(!is_flat(&[2.0, 2.0, 5.0, 9.0]) && !is_flat(&[f64::NAN]) && !is_flat(&[]));
    }

    #[test]
    fn neighbouring_doubles_and_the_largest_doubles_keep_their_order() {
        let next = 1.0 + f64::EPSILON;
        let deviations = column(&[1.0, next, 1.0, next], 1.0).unwrap();
        assert!(deviations[0] < 0.0 && deviations[1] == -deviations[0], "{deviations:?}");
        let deviations = column(&[f64::MAX, -f64::MAX, 1.0, 2.0, 3.0], 1.0).unwrap();
        assert_eq!(&deviations[..2], &[0.0, 0.0]);
        assert!(deviations[2] < 0.0 && deviations[2] == -deviations[4], "{deviations:?}");
        let deviations = column(&[f64::MAX, -f64::MAX, f64::MAX, -f64::MAX], 0.1).unwrap();
        assert!(deviations[0] > 0.0 && deviations[0].is_finite(), "{deviations:?}");
    }
}
