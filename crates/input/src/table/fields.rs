//! Fields of a line, and the numbers in them.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter};

/// Spaces, however many, separate fields.
pub const SPACES: u8 = b' ';

/// Words that programs write for a missing value.
const MISSING_WORDS: [&[u8]; 14] = [
    b"na", b"nan", b"n/a", b"#n/a", b"null", b"none", b"nd", b"missing", b"<na>", b"#na", b"#nan",
    b"n.a.", b"-", b".",
];

/// The first field of a line, quotes included, and what follows its separator.
pub fn split(line: &[u8], delimiter: u8) -> (&[u8], Option<&[u8]>) {
    let mut start = 0;
    if matches!(line.first(), Some(b'"' | b' ')) {
        // Blanks may be in front of a quote, as in `a, "b, c"`.
        start = line.len() - trim_start(line).len();
        // A doubled quote ends one quoted stretch and begins the next.
        while line.get(start) == Some(&b'"') {
            start += 1 + memchr(b'"', &line[start + 1..]).map_or(0, |length| length + 1);
        }
    }
    match memchr(delimiter, &line[start.min(line.len())..]) {
        Some(length) => {
            let rest = &line[start + length + 1..];
            let rest = if delimiter == SPACES { trim_start(rest) } else { rest };
            (&line[..start + length], Some(rest))
        }
        None => (line, None),
    }
}

/// The fields of a line.
pub fn fields(line: &[u8], delimiter: u8) -> Vec<&[u8]> {
    let mut fields = Vec::new();
    append_fields(line, delimiter, &mut fields);
    fields
}

/// Appends the fields of a line to others.
pub fn append_fields<'t>(line: &'t [u8], delimiter: u8, fields: &mut Vec<&'t [u8]>) {
    let mut line = prepared(line, delimiter);
    loop {
        let (field, rest) = split(line, delimiter);
        fields.push(field);
        match rest {
            Some(rest) => line = rest,
            None => return,
        }
    }
}

/// The number of fields of a line.
pub fn count(line: &[u8], delimiter: u8) -> usize {
    let mut line = prepared(line, delimiter);
    if delimiter != SPACES && memchr(b'"', line).is_none() {
        return memchr_iter(delimiter, line).count() + 1;
    }
    let mut count = 1;
    while let (_, Some(rest)) = split(line, delimiter) {
        (line, count) = (rest, count + 1);
    }
    count
}

/// A line without spaces at its ends, where spaces separate fields.
pub fn prepared(line: &[u8], delimiter: u8) -> &[u8] {
    if delimiter != SPACES {
        return line;
    }
    let line = trim_start(line);
    let end = line.iter().rposition(|&byte| byte != b' ').map_or(0, |place| place + 1);
    &line[..end]
}

fn trim_start(line: &[u8]) -> &[u8] {
    let start = line.iter().position(|&byte| byte != b' ').unwrap_or(line.len());
    &line[start..]
}

/// A field without spaces and quotes around it.
pub fn bare(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    match field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")) {
        Some(inside) if memchr(b'"', inside).is_none() => inside.trim_ascii(),
        _ => field,
    }
}

/// Whether a field stands in quotes.
pub fn is_quoted(field: &[u8]) -> bool {
    let field = field.trim_ascii();
    field.len() >= 2 && field.starts_with(b"\"") && field.ends_with(b"\"")
}

/// Whether a field holds text, not a word for a missing value.
pub fn is_text(field: &[u8]) -> bool {
    bare(field).iter().any(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80)
        && !is_missing_word(field)
}

/// Whether a field holds a word that programs write for a missing value, in any case.
pub fn is_missing_word(field: &[u8]) -> bool {
    let lower = bare(field).to_ascii_lowercase();
    let unsigned = lower.strip_prefix(b"-").or_else(|| lower.strip_prefix(b"+")).unwrap_or(&lower);
    MISSING_WORDS.contains(&lower.as_slice()) || unsigned == b"nan"
}

/// Whether a field is a number with the decimal sign `sign`, which it has.
pub fn has_sign(field: &[u8], sign: u8) -> bool {
    memchr(sign, field).is_some() && number(field, sign).is_some()
}

/// Whether a field is empty, but for spaces and quotes.
pub fn is_blank(field: &[u8]) -> bool {
    bare(field).is_empty()
}

/// Text of a name: UTF-8, blanks around it and quotes removed.
pub fn unquoted(field: &[u8]) -> Option<String> {
    let text = str::from_utf8(field.trim_ascii()).ok()?;
    Some(match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(quoted) => quoted.trim_ascii().replace("\"\"", "\""),
        None => text.to_owned(),
    })
}

/// The number in a field, quotes and spaces around it left out. With a decimal comma, a point is
/// no part of a number, and a digit follows the comma.
pub fn number(field: &[u8], decimal: u8) -> Option<f64> {
    let field = bare(field);
    let mut text = Cow::Borrowed(field);
    if decimal == b',' {
        if memchr(b'.', field).is_some() {
            return None;
        }
        if let Some(place) = memchr(b',', field) {
            field.get(place + 1).filter(|byte| byte.is_ascii_digit())?;
            text.to_mut()[place] = b'.';
        }
    }
    str::from_utf8(&text).ok()?.parse().ok()
}

/// Whether a number could be one with the sign `between` thousands.
pub fn may_be_thousands(field: &[u8], between: u8) -> bool {
    let digits = bare(field);
    let digits = digits.strip_prefix(b"-").unwrap_or(digits);
    let mut groups = digits.split(|&byte| byte == between);
    let first = groups.next().unwrap_or_default();
    let is_digits = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
    (1..=3).contains(&first.len())
        && first[0] != b'0'
        && is_digits(first)
        && groups.all(|group| group.len() == 3 && is_digits(group))
}

/// Whether a field has a decimal sign that may stand between thousands.
pub fn is_doubtful(field: &[u8], sign: u8) -> bool {
    memchr(sign, field).is_some() && may_be_thousands(field, sign)
}

/// A number that has signs between thousands and the decimal sign `decimal`, without them; `None`
/// for another field.
pub fn without_thousands(field: &[u8], decimal: u8) -> Option<String> {
    let text = str::from_utf8(bare(field)).ok()?;
    let between = if decimal == b'.' { ',' } else { '.' };
    let (whole, fraction) = match text.split_once(char::from(decimal)) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let has_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let grouped = whole.replace(between, ",");
    let is_grouped = grouped.contains(',') && may_be_thousands(grouped.as_bytes(), b',');
    (is_grouped && fraction.is_none_or(has_digits)).then(|| text.replace(between, ""))
}

/// The fault of a field that would be a number if it was written otherwise: it has spaces or
/// apostrophes between thousands or around it, or is a formula that protects it in Excel. `None`
/// for another field.
pub fn disguised(field: &[u8]) -> Option<String> {
    let content = str::from_utf8(bare(field)).ok()?;
    if let Some(written) = formula_text(field) {
        return Some(format!("a formula that Excel keeps as text; write it as {written}"));
    }
    let is_space = |letter: char| letter.is_whitespace();
    let text = content.trim_matches(is_space);
    if text.len() < content.len() && (number(text.as_bytes(), b'.').is_some()) {
        return Some(format!("with no-break spaces around it; write it as {text}"));
    }
    let is_apostrophe = |letter: char| matches!(letter, '\'' | '\u{2019}');
    let kind = if text.contains(is_space) { "spaces" } else { "apostrophes" };
    let place = text.rfind(['.', ',']).unwrap_or(text.len());
    let (digits, fraction) = text.split_at(place);
    let is_between = |letter: char| is_space(letter) || is_apostrophe(letter);
    let grouped = digits.replace(is_between, ",");
    let is_grouped = grouped.len() > digits.replace(is_between, "").len()
        && may_be_thousands(grouped.as_bytes(), b',')
        && fraction.bytes().skip(1).all(|byte| byte.is_ascii_digit());
    is_grouped.then(|| {
        format!("with {kind} between thousands; write it as {}", text.replace(is_between, ""))
    })
}

/// The text in a formula such as `="A1"`, by which Excel keeps it as text.
pub fn formula_text(field: &[u8]) -> Option<String> {
    let text = unquoted(field)?;
    Some(text.strip_prefix("=\"")?.strip_suffix('"')?.to_owned())
}

/// `--missing` with known words and that of a field, as a shell takes it.
pub fn missing_option(known: &[String], field: &[u8]) -> String {
    let words: Vec<_> = known.iter().map(|word| word.as_bytes()).chain([bare(field)]).collect();
    let word = String::from_utf8_lossy(&words.join(&b","[..])).into_owned();
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "./_-+,".contains(letter);
    let equals = if word.starts_with('-') { "=" } else { " " };
    match word.chars().all(is_plain) {
        true => format!("--missing{equals}{word}"),
        false => format!("--missing{equals}'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_single_decimal_sign() {
        for (text, decimal, expected) in [
            (&b"1.5"[..], b'.', Some(1.5)),
            (b"1,5", b'.', None),
            (b"1,5", b',', Some(1.5)),
            (b"1.5", b',', None),
            (b"1,", b',', None),
            (b" \"-2,5e3\" ", b',', Some(-2500.0)),
            (b"1,234,5", b',', None),
            (b"", b'.', None),
        ] {
            assert_eq!(number(text, decimal), expected, "{text:?}");
        }
    }

    #[test]
    fn spaces_however_many_separate_fields() {
        let line: &[u8] = b"  a  \"b c\" 1 ";
        assert_eq!(fields(line, SPACES), [&b"a"[..], b"\"b c\"", b"1"]);
        assert_eq!(count(line, SPACES), 3);
        assert_eq!(fields(b"1,,3,", b','), [&b"1"[..], b"", b"3", b""]);
        assert_eq!(fields(b"a, \"b, c\",  d ", b','), [&b"a"[..], b" \"b, c\"", b"  d "]);
    }

    /// Numbers with spaces or apostrophes between thousands were offered as words for a missing
    /// value, with an apostrophe that ended the shell's quotes.
    #[test]
    fn disguised_numbers_are_shown_as_numbers() {
        for (text, expected) in [
            ("1\u{a0}023", Some("spaces between thousands; write it as 1023")),
            ("-12\u{202f}345.5", Some("write it as -12345.5")),
            ("1\u{2009}023,25", Some("write it as 1023,25")),
            ("8'189", Some("apostrophes between thousands; write it as 8189")),
            ("1.5\u{a0}", Some("no-break spaces around it; write it as 1.5")),
            ("=\"8.1\"", Some("a formula that Excel keeps as text; write it as 8.1")),
            ("\"=\"\"8.1\"\"\"", Some("write it as 8.1")),
            ("a b", None),
            ("1 02", None),
            ("8.1", None),
            ("1023", None),
        ] {
            let what = disguised(text.as_bytes());
            match expected {
                Some(end) => assert!(what.as_ref().is_some_and(|w| w.ends_with(end)), "{what:?}"),
                None => assert_eq!(what, None, "{text:?}"),
            }
        }
        assert_eq!(missing_option(&[], b"8'x"), r"--missing '8'\''x'");
    }

    #[test]
    fn thousands_are_groups_of_three() {
        assert!(may_be_thousands(b"1,234", b',') && may_be_thousands(b"12,345,678", b','));
        assert!(!may_be_thousands(b"0,123", b',') && !may_be_thousands(b"1,23", b','));
        for (text, decimal, expected) in [
            (&b"7,063.6"[..], b'.', Some("7063.6")),
            (b" \"-1,234,567\" ", b'.', Some("-1234567")),
            (b"7.063,6", b',', Some("7063,6")),
            (b"7063.6", b'.', None),
            (b"7,06.6", b'.', None),
            (b"7,063.6.1", b'.', None),
            (b"a,063.6", b'.', None),
        ] {
            assert_eq!(without_thousands(text, decimal).as_deref(), expected, "{text:?}");
        }
    }
}
