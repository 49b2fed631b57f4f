//! Comparison of a table of the answer with the right one.

/// Returns the first line, from 1, that differs from the right table. A number may be written as
/// Java writes it: another text for the same double.
pub fn first_difference(actual: &[u8], right: &[u8]) -> Option<usize> {
    if actual == right {
        return None;
    }
    let lines = |text| -> Vec<&[u8]> { <[u8]>::split(text, |&byte| byte == b'\n').collect() };
    let (actual, right) = (lines(actual), lines(right));
    let fields = |line: &'_ [u8]| line.iter().filter(|&&byte| byte == b'\t').count();
    let is_right = |(actual, right): &(&&[u8], &&[u8])| {
        let mut pairs = actual.split(|&byte| byte == b'\t').zip(right.split(|&byte| byte == b'\t'));
        fields(actual) == fields(right) && pairs.all(|(actual, right)| is_same(actual, right))
    };
    let same = actual.iter().zip(&right).take_while(is_right).count();
    (same < actual.len().max(right.len())).then_some(same + 1)
}

/// Whether a field is the right one, or the same double without more digits than necessary: no more
/// than 17, none superfluous.
fn is_same(actual: &[u8], right: &[u8]) -> bool {
    if actual == right {
        return true;
    }
    let [Ok(actual), Ok(right)] = [actual, right].map(std::str::from_utf8) else { return false };
    let digits = actual.strip_prefix('-').unwrap_or(actual);
    let (mantissa, exponent) = digits.split_once('E').unwrap_or((digits, "1"));
    let exponent = exponent.strip_prefix('-').unwrap_or(exponent);
    let Some((integer, fraction)) = mantissa.split_once('.') else { return false };
    let numbers = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_tidy = [integer, fraction, exponent].into_iter().all(numbers)
        && (integer == "0" || !integer.starts_with('0'))
        && (fraction == "0" || !fraction.ends_with('0'))
        && !exponent.starts_with('0')
        && integer.len() + fraction.len() <= 18;
    let bits = |text: &str| text.parse().map(f64::to_bits).ok();
    is_tidy && right.contains('.') && bits(actual) == bits(right)
}
