//! Scores as integers in millionths, so that every language compares and digests the same value.

/// A score in millionths (`0.871` is `871_000`).
pub type Micro = i32;

/// The score of a pair that has none (`nan` in text); passes no filter.
pub const NAN: Micro = i32::MIN;

/// The largest absolute score that can be held.
pub const LIMIT: Micro = 2_000_000_000;

/// Rounds a floating-point score to millionths, halves to even; `None` when it does not fit.
pub fn from_f64(score: f64) -> Option<Micro> {
    if score.is_nan() {
        return Some(NAN);
    }
    let scaled = (score * 1e6).round_ties_even();
    // The bound keeps the cast exact.
    (scaled.abs() <= f64::from(LIMIT)).then_some(scaled as Micro)
}

/// The smallest absolute score in millionths that is at least `score`.
pub fn lower_bound(score: f64) -> Micro {
    (score * 1e6 - 1e-6).ceil().clamp(0.0, f64::from(LIMIT)) as Micro
}

/// The largest absolute score in millionths that is at most `score`.
pub fn upper_bound(score: f64) -> Micro {
    (score * 1e6 + 1e-6).floor().clamp(-1.0, f64::from(LIMIT)) as Micro
}

/// Appends a score the way KINC prints it (`%f`): six decimals, or `nan`.
pub fn append_text(micro: Micro, out: &mut Vec<u8>) {
    if micro == NAN {
        out.extend_from_slice(b"nan");
        return;
    }
    append_millionths(i64::from(micro), out);
}

/// Appends a number of millionths with six decimals.
pub fn append_millionths(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    append_integer(number.unsigned_abs() / 1_000_000, out);
    out.push(b'.');
    let mut fraction = number.unsigned_abs() % 1_000_000;
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (fraction % 10) as u8;
        fraction /= 10;
    }
    out.extend_from_slice(&digits);
}

/// Appends a decimal integer.
pub fn append_integer(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_score_is_at_most_a_negative_bound() {
        assert_eq!([-0.5, 0.0, 0.25].map(upper_bound), [-1, 0, 250_000]);
    }

    #[test]
    fn text_has_six_decimals() {
        for (micro, text) in [
            (871_000, "0.871000"),
            (-1, "-0.000001"),
            (1_000_000, "1.000000"),
            (NAN, "nan"),
            (-1_234_567, "-1.234567"),
        ] {
            let mut out = Vec::new();
            append_text(micro, &mut out);
            assert_eq!(out, text.as_bytes());
        }
    }

    #[test]
    fn bounds_of_a_decimal_are_exact() {
        assert_eq!(lower_bound(0.8), 800_000);
        assert_eq!(upper_bound(0.8), 800_000);
        assert_eq!(lower_bound(0.300_000_1), 300_001);
        assert_eq!(upper_bound(0.300_000_9), 300_000);
        assert_eq!(lower_bound(0.0), 0);
    }

    #[test]
    fn a_score_beyond_the_limit_is_refused() {
        assert_eq!(from_f64(1e9), None);
        assert_eq!(from_f64(f64::INFINITY), None);
        assert_eq!(from_f64(f64::NAN), Some(NAN));
        assert_eq!(from_f64(-0.5), Some(-500_000));
    }
}
