//! Factors that are powers of two: they change no digit of a number, and bring numbers of any size
//! to one whose squares and sums neither overflow nor underflow.

use std::borrow::Cow;

/// Binary exponent up to which values, in size, are left as they are: squares of their differences,
/// and sums of these, are then exact to the last digits.
const EXPONENT_MAX: i32 = 400;

/// Returns the least `e` such that all finite values are below 2^`e` in size; 0 if all are zero or
/// missing (NaN).
#[must_use]
pub fn exponent(values: &[f64]) -> i32 {
    let largest = values.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    libm::frexp(largest).1
}

/// Returns `value` times 2^`exponent`.
#[must_use]
pub fn scaled(value: f64, exponent: i32) -> f64 {
    libm::scalbn(value, exponent)
}

/// Returns values times the power of two that brings the largest of them, in size, to 0.5 or more
/// and below 1, if it is so large or small that squares could overflow or underflow; else the
/// values. Figures that no factor changes, such as correlations, are the same.
#[must_use]
pub fn moderate(values: &[f64]) -> Cow<'_, [f64]> {
    let exponent = exponent(values);
    if exponent.abs() <= EXPONENT_MAX {
        return Cow::Borrowed(values);
    }
    Cow::Owned(values.iter().map(|value| scaled(*value, -exponent)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_any_size_are_scaled_and_back() {
        for value in [5e-324, 1e-310, 1e-200, 0.3, -1.0, 1e155, f64::MAX] {
            let exponent = exponent(&[0.0, f64::NAN, value]);
            let unit = scaled(value, -exponent);
            assert!((0.5..1.0).contains(&unit.abs()), "{value:e}: {unit}");
            assert_eq!(scaled(unit, exponent), value);
        }
        assert_eq!((exponent(&[]), exponent(&[0.0, f64::NAN])), (0, 0));
    }

    #[test]
    fn only_values_out_of_range_are_scaled() {
        assert!(matches!(moderate(&[1e100, f64::NAN]), Cow::Borrowed(_)));
        let large = moderate(&[f64::MAX, f64::NAN, -f64::MAX / 2.0]);
        assert!(large[0] < 1.0 && large[1].is_nan() && large[2] == -large[0] / 2.0);
        assert_eq!(moderate(&[5e-324, 1e-323])[..], [0.25, 0.5]);
    }
}
