//! Reads numbers in plain decimal notation, which nearly all values of a matrix have.

/// The number at the beginning of `text` up to a delimiter or the end, with the decimal sign
/// `sign`, and the length of the field;
/// `None` unless it is in plain decimal notation with so few digits that one division of integers
/// gives the nearest double.
#[inline]
pub fn decimal(text: &[u8], delimiter: u8, sign: u8) -> Option<(f64, usize)> {
    let negative = text.first() == Some(&b'-');
    let start = usize::from(negative);
    let (mut mantissa, mut point, mut end) = (0u64, None, text.len());
    for (index, &byte) in text.iter().enumerate().skip(start) {
        match byte {
            // Beyond twenty characters the mantissa may have wrapped round: see below.
            b'0'..=b'9' => {
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'))
            }
            _ if byte == sign && point.is_none() => point = Some(index),
            _ if byte == delimiter => {
                end = index;
                break;
            }
            _ => return None,
        }
    }
    let digits = end - start - usize::from(point.is_some());
    if digits == 0 || digits > 19 || mantissa > 1 << 53 {
        return None;
    }
    let fraction = point.map_or(0, |point| end - point - 1);
    if sign == b',' && point.is_some() && fraction == 0 {
        return None;
    }
    let value = mantissa as f64 / POWERS_OF_TEN[fraction];
    Some((if negative { -value } else { value }, end))
}

/// 10^0 to 10^19, all exact.
const POWERS_OF_TEN: [f64; 20] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19,
];
