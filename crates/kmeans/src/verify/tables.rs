//! Tables of the answer beside what they should be.

/// The first line, from 1, in which a table is not the right one. A number may be written as Java
/// writes it: another text for the same double.
pub fn first_difference(given: &[u8], right: &[u8]) -> Option<usize> {
    if given == right {
        return None;
    }
    let lines = |text| -> Vec<&[u8]> { <[u8]>::split(text, |&byte| byte == b'\n').collect() };
    let (given, right) = (lines(given), lines(right));
    let fields = |line: &'_ [u8]| line.iter().filter(|&&byte| byte == b'\t').count();
    let is_right = |(given, right): &(&&[u8], &&[u8])| {
        let mut pairs = given.split(|&byte| byte == b'\t').zip(right.split(|&byte| byte == b'\t'));
        fields(given) == fields(right) && pairs.all(|(given, right)| is_same(given, right))
    };
    let same = given.iter().zip(&right).take_while(is_right).count();
    (same < given.len().max(right.len())).then_some(same + 1)
}

/// Whether a field is the right one, or the same double in as few words: no more than 17 digits,
/// none superfluous.
fn is_same(given: &[u8], right: &[u8]) -> bool {
    if given == right {
        return true;
    }
    let [Ok(given), Ok(right)] = [given, right].map(std::str::from_utf8) else { return false };
    let digits = given.strip_prefix('-').unwrap_or(given);
    let (mantissa, exponent) = digits.split_once('E').unwrap_or((digits, "1"));
    let exponent = exponent.strip_prefix('-').unwrap_or(exponent);
    let Some((whole, fraction)) = mantissa.split_once('.') else { return false };
    let numbers = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_tidy = [whole, fraction, exponent].into_iter().all(numbers)
        && (whole == "0" || !whole.starts_with('0'))
        && (fraction == "0" || !fraction.ends_with('0'))
        && !exponent.starts_with('0')
        && whole.len() + fraction.len() <= 18;
    let bits = |text: &str| text.parse().map(f64::to_bits).ok();
    is_tidy && right.contains('.') && bits(given) == bits(right)
}
