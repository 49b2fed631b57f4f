//! Numbers of the tested differences as they are printed, and their errors.

use super::table::{Wrong, integer};
use crate::kernel::differential::numeral;

/// Largest relative error of a p-value of a normal score.
pub const ERROR: f64 = 1e-11;
/// p-value below which 0 is printed.
const P_MIN: f64 = 1e-300;

/// Returns the largest error of a p-value of a correlation: the logarithm of the gamma function of
/// many samples has few digits behind the point, and 1 - r^2 few of a small r.
pub fn error_of(p: f64, r: f64, samples: u32) -> f64 {
    let samples = f64::from(samples);
    p * (ERROR + samples * 1e-14 + 2e-16 * samples.sqrt() / r.abs().max(1e-6))
}

/// Whether a number with an error of at most `error` is printed with six digits as `printed`.
pub fn is_printed_as(exact: f64, printed: f64, error: f64) -> bool {
    if printed == 0.0 {
        return exact < P_MIN + error;
    }
    let unit = 10f64.powf(printed.log10().floor() - 5.0);
    (exact - printed).abs() <= 0.5 * unit + error
}

/// Parses a p-value that is printed with six digits.
///
/// # Errors
/// A sentence with the field.
pub fn p_value(field: &[u8]) -> std::result::Result<f64, Wrong> {
    let text = std::str::from_utf8(field).unwrap_or_default();
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1.0).contains(&value) && numeral(value) == text => Ok(value),
        _ => Err(format!("has the p-value {}, expected six digits", field.escape_ascii())),
    }
}

/// Parses a number with six decimals, in a single spelling.
///
/// # Errors
/// A sentence with the field.
pub fn millionths(field: &[u8]) -> std::result::Result<i64, Wrong> {
    let wrong = || format!("has the z {}, expected six decimals", field.escape_ascii());
    let (size, is_negative) = match field {
        [b'-', size @ ..] => (size, true),
        _ => (field, false),
    };
    let (units, decimals) = size.split_at_checked(size.len().wrapping_sub(7)).ok_or_else(wrong)?;
    let [b'.', digits @ ..] = decimals else { return Err(wrong()) };
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(wrong());
    }
    let fraction = digits.iter().fold(0, |sum, &digit| sum * 10 + i64::from(digit - b'0'));
    let units = i64::try_from(integer(units)?).ok().filter(|&units| units < 1 << 40);
    match units.ok_or_else(wrong)? * 1_000_000 + fraction {
        0 if is_negative => Err(wrong()),
        number => Ok(if is_negative { -number } else { number }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_z_has_a_single_spelling() {
        for (text, value) in [("0.000000", 0), ("-0.000001", -1), ("12.500000", 12_500_000)] {
            assert_eq!(millionths(text.as_bytes()), Ok(value));
        }
        for text in ["", "-0.000000", "+1.000000", "01.000000", ".000000", "1.00000", "1,000000"] {
            assert!(millionths(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_is_printed_as_its_nearest_six_digits_only() {
        for exact in [1.0, 0.05, 0.012_345_67, 1.234_567_8e-7, 3.3e-200, 0.999_999_7] {
            let printed: f64 = numeral(exact).parse().unwrap();
            assert!(is_printed_as(exact, printed, exact * ERROR), "{exact}");
            let unit = 10f64.powf(printed.log10().floor() - 5.0);
            assert!(!is_printed_as(exact, printed + unit, exact * ERROR), "{exact}");
            assert!(!is_printed_as(exact, printed - unit, exact * ERROR), "{exact}");
        }
        assert!(is_printed_as(0.0, 0.0, 0.0) && !is_printed_as(0.01, 0.0, 0.0));
    }
}
