//! Parser of a line, field by field with all checks: the careful version of [`super::block`].

use cuesta_core::fixed::{self, Micro};

use super::{LineShape, Version};
use crate::limits::{CLUSTERS_MAX, GENES_MAX, SCORES_MAX};
use crate::row::{self, Row};

/// A line that was read in full; borrow a [`Row`] from it.
#[derive(Clone, Debug)]
pub struct Parsed<'a> {
    numbers: [u32; 9],
    scores: [Micro; SCORES_MAX],
    score_count: usize,
    mask: &'a [u8],
}

impl Parsed<'_> {
    /// The row.
    pub fn row(&self) -> Row<'_> {
        let n = &self.numbers;
        Row {
            gene1: n[0],
            gene2: n[1],
            cluster: n[2],
            num_clusters: n[3],
            cluster_samples: n[4],
            missing: n[5],
            outliers: n[6],
            pair_outliers: n[7],
            threshold: n[8],
            scores: &self.scores[..self.score_count],
            mask: self.mask,
        }
    }
}

/// Whether a line carries no data: empty, or a comment such as `#Done`, `#Restarted`.
pub fn is_blank(line: &[u8]) -> bool {
    matches!(line, [] | [b'\r'] | [b'#', ..])
}

/// Reads one line (without its line end) in full.
///
/// # Errors
/// A sentence continuing "line N of FILE ...".
pub fn parse<'a>(line: &'a [u8], shape: &LineShape) -> Result<Parsed<'a>, String> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let mut fields: [&[u8]; 11] = [&[]; 11];
    let (mut count, mut start) = (0, 0);
    for end in memchr::memchr_iter(b'\t', line).chain([line.len()]) {
        if count < fields.len() {
            fields[count] = &line[start..end];
        }
        (count, start) = (count + 1, end + 1);
    }
    if count != shape.version.fields() {
        return Err(wrong_field_count_for(count, shape.version));
    }
    let mask = fields[count - 1];
    if mask.len() != shape.samples {
        return Err(format!(
            "has a sample mask of {} symbols, the lines before have {}",
            mask.len(),
            shape.samples
        ));
    }
    row::check_mask(mask).map_err(|what| format!("is damaged: {what}"))?;
    let mut scores = [0; SCORES_MAX];
    let score_count = parse_scores(fields[count - 2], &mut scores)?;
    let numbers = match shape.version {
        Version::V1 => numbers_of_v1(&fields)?,
        Version::V3 => numbers_of_v3(&fields, mask)?,
    };
    check_numbers(&numbers)?;
    Ok(Parsed { numbers, scores, score_count, mask })
}

/// Reads a version-1 line whose numbers are plain digits, with every check of [`parse`] but that
/// of the symbols of the mask. `None` for any other line, good or bad.
pub fn parse_plain<'a>(line: &'a [u8], shape: &LineShape) -> Option<Parsed<'a>> {
    if shape.version != Version::V1 {
        return None;
    }
    let (head, mask) = line.split_at_checked(line.len().checked_sub(shape.samples)?)?;
    let mut numbers = [0; 9];
    let mut rest = head.strip_suffix(b"\t")?;
    for number in &mut numbers {
        (*number, rest) = leading_integer(rest)?;
    }
    let mut scores = [0; SCORES_MAX];
    let score_count = parse_scores(rest, &mut scores).ok()?;
    check_numbers(&numbers).ok()?;
    Some(Parsed { numbers, scores, score_count, mask })
}

/// Splits one to nine digits and the tab behind them from what follows.
#[inline]
pub fn leading_integer(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        match byte {
            b'0'..=b'9' if index < 9 => value = value * 10 + u32::from(byte - b'0'),
            b'\t' if index > 0 => return Some((value, &bytes[index + 1..])),
            _ => return None,
        }
    }
    None
}

fn numbers_of_v1(fields: &[&[u8]; 11]) -> Result<[u32; 9], String> {
    let mut numbers = [0; 9];
    for (index, number) in numbers.iter_mut().enumerate() {
        *number = parse_integer(fields[index], index + 1)?;
    }
    Ok(numbers)
}

fn numbers_of_v3(fields: &[&[u8]; 11], mask: &[u8]) -> Result<[u32; 9], String> {
    let next = |index: usize| parse_integer(fields[index], index + 1).map(|n| n.saturating_add(1));
    let count = |symbol: u8| mask.iter().filter(|&&byte| byte == symbol).count() as u32;
    Ok([
        next(0)?,
        next(1)?,
        next(2)?,
        parse_integer(fields[3], 4)?,
        parse_integer(fields[4], 5)?,
        count(b'9'),
        count(b'8'),
        count(b'7'),
        count(b'6'),
    ])
}

/// Checks the gene and cluster numbers of a line.
///
/// # Errors
/// A sentence continuing "line N of FILE ...".
pub fn check_numbers(numbers: &[u32; 9]) -> Result<(), String> {
    check_pair(numbers[0], numbers[1], numbers[2])
}

/// Checks that a pair lies in the lower triangle and its cluster is counted from 1.
///
/// # Errors
/// A sentence continuing "line N of FILE ...".
#[inline]
pub fn check_pair(gene1: u32, gene2: u32, cluster: u32) -> Result<(), String> {
    if gene2 >= 1 && gene1 > gene2 && gene1 <= GENES_MAX && (1..=CLUSTERS_MAX).contains(&cluster) {
        return Ok(());
    }
    Err(if gene1 == 0 || gene2 == 0 {
        "has gene number 0, but KINC version 1 counts from 1 (an older version-3 export?)".into()
    } else if gene1 > GENES_MAX {
        format!("has gene number {gene1}, the largest allowed is {GENES_MAX}")
    } else if gene1 <= gene2 {
        format!("has gene1 {gene1} not above gene2 {gene2}; KINC writes the lower triangle")
    } else {
        format!("has cluster number {cluster}, expected 1 to {CLUSTERS_MAX}")
    })
}

/// Reads a non-negative decimal integer of at most nine digits; `field` is counted from 1.
///
/// # Errors
/// A sentence continuing "line N of FILE ...".
pub fn parse_integer(bytes: &[u8], field: usize) -> Result<u32, String> {
    let is_number = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    if !is_number || bytes.len() > 9 {
        let text = show(bytes);
        return Err(match is_number {
            _ if bytes.starts_with(b"\xEF\xBB\xBF") => "begins with a byte order mark, which KINC \
                does not write; remove it, such as by tail -c +4 FILE"
                .to_owned(),
            true if field <= 2 => format!(
                "has gene number {text} in field {field}, the largest allowed is {GENES_MAX}; \
                 number the genes from 1"
            ),
            true => format!("has {text} in field {field}, expected at most nine digits"),
            false => format!("has {text} in field {field}, expected a whole number"),
        });
    }
    Ok(bytes.iter().fold(0, |value, &byte| value * 10 + u32::from(byte - b'0')))
}

/// Reads a comma list of scores; returns how many there are.
///
/// # Errors
/// A sentence continuing "line N of FILE ...".
pub fn parse_scores(bytes: &[u8], scores: &mut [Micro; SCORES_MAX]) -> Result<usize, String> {
    let mut count = 0;
    for text in bytes.split(|&byte| byte == b',') {
        if count == SCORES_MAX {
            return Err(format!("has more than {SCORES_MAX} scores"));
        }
        scores[count] = parse_score(text).ok_or_else(|| {
            format!("has {} for a score, expected -2000 to 2000 or nan", show(text))
        })?;
        count += 1;
    }
    Ok(count)
}

/// Reads one score: decimals exactly, anything beyond six decimals rounded to millionths.
pub fn parse_score(text: &[u8]) -> Option<Micro> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if let Ok(eight) = digits.try_into()
        && let Some(micro) = eight_bytes(u64::from_le_bytes(eight))
    {
        return Some(if negative { -micro } else { micro });
    }
    parse_fixed(text).or_else(|| match text {
        b"nan" | b"-nan" | b"NaN" | b"NAN" => Some(fixed::NAN),
        [b'0'..=b'9' | b'-' | b'.', ..] => {
            let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
            fixed::from_f64(number).filter(|_| number.is_finite())
        }
        _ => None,
    })
}

/// Reads `D.DDDDDD`, first character in the lowest byte: the form that KINC writes.
#[inline(always)]
pub fn eight_bytes(word: u64) -> Option<Micro> {
    // Byte 1 must be the point; with a zero digit in its place all eight must be digits.
    let point = (word >> 8) & 0xFF == u64::from(b'.');
    let digits = (word & !0xFF00) | 0x3000;
    let high = digits & 0xF0F0_F0F0_F0F0_F0F0 == 0x3030_3030_3030_3030;
    let low =
        digits.wrapping_add(0x0606_0606_0606_0606) & 0xF0F0_F0F0_F0F0_F0F0 == 0x3030_3030_3030_3030;
    if !(point && high && low) {
        return None;
    }
    // "D0dddddd" is D * 10^7 + dddddd.
    let value = eight_digits(digits);
    Some((value / 10_000_000 * 1_000_000 + value % 10_000_000) as Micro)
}

/// The number written by eight ASCII digits, first digit in the lowest byte.
#[inline(always)]
fn eight_digits(word: u64) -> u32 {
    let pairs = (word & 0x0F0F_0F0F_0F0F_0F0F).wrapping_mul(2561) >> 8;
    let fours = (pairs & 0x00FF_00FF_00FF_00FF).wrapping_mul(6_553_601) >> 16;
    ((fours & 0x0000_FFFF_0000_FFFF).wrapping_mul(42_949_672_960_001) >> 32) as u32
}

/// Reads `[-]digits[.up to six digits]`.
fn parse_fixed(text: &[u8]) -> Option<Micro> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let point = digits.iter().position(|&byte| byte == b'.').unwrap_or(digits.len());
    let (whole, fraction) = (&digits[..point], digits.get(point + 1..).unwrap_or(&[]));
    let plain = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    if whole.is_empty()
        || whole.len() > 3
        || fraction.len() > 6
        || !plain(whole)
        || !plain(fraction)
    {
        return None;
    }
    let value = |part: &[u8]| part.iter().fold(0i32, |v, &b| v * 10 + i32::from(b - b'0'));
    let scale = 10i32.pow(6 - fraction.len() as u32);
    let micro = value(whole) * 1_000_000 + value(fraction) * scale;
    Some(if negative { -micro } else { micro })
}

/// Says that a line of unknown layout has `count` fields.
pub fn wrong_field_count(count: usize) -> String {
    format!(
        "has {count} field{}, expected 11 (KINC version 1) or 7 (KINC version 3), tab-separated; \
         an edge list of names, separated by tabs, commas, semicolons or blanks, needs a header \
         with source, target and score, and an expression matrix becomes pairs by `cuesta run \
         correlate`",
        if count == 1 { "" } else { "s" }
    )
}

fn wrong_field_count_for(count: usize, version: Version) -> String {
    format!(
        "has {count} fields, expected {} separated by tabs; complete the line, or obtain the file \
         again",
        version.fields()
    )
}

/// Bytes as they may stand in a message: quoted, escaped, short.
pub fn show(bytes: &[u8]) -> String {
    let short = &bytes[..bytes.len().min(24)];
    let dots = if bytes.len() > short.len() { "..." } else { "" };
    format!("\"{}{dots}\"", short.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE: &[u8] = b"7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871000,0.902000\t11910711";
    const SHAPE: LineShape = LineShape { version: Version::V1, samples: 8, scores: 1 };

    #[test]
    fn the_documented_line_is_read() {
        let parsed = parse(LINE, &SHAPE).unwrap();
        let row = parsed.row();
        assert_eq!((row.gene1, row.gene2, row.cluster, row.cluster_samples), (7, 3, 1, 5));
        assert_eq!(row.scores, [871_000, 902_000]);
        assert_eq!(row.mask, b"11910711");
        let mut text = Vec::new();
        row.append_kinc_v1(&mut text);
        assert_eq!(text, [LINE, b"\n"].concat());
    }

    #[test]
    fn a_version_3_line_becomes_the_same_row() {
        let shape = super::super::shape_of(b"6\t2\t0\t2\t5\t0.871\t11910711").unwrap();
        assert_eq!(shape, LineShape { version: Version::V3, samples: 8, scores: 1 });
        let parsed = parse(b"6\t2\t0\t2\t5\t0.871\t11910711", &shape).unwrap();
        let row = parsed.row();
        assert_eq!((row.gene1, row.gene2, row.cluster, row.missing), (7, 3, 1, 1));
        assert_eq!((row.pair_outliers, row.scores), (1, &[871_000][..]));
    }

    #[test]
    fn scores_in_all_notations_are_read() {
        for (text, micro) in [
            (&b"0.871000"[..], Some(871_000)),
            (b"-0.5", Some(-500_000)),
            (b"1", Some(1_000_000)),
            (b"1.2e-05", Some(12)),
            (b"0.1234567", Some(123_457)),
            (b"nan", Some(fixed::NAN)),
            (b"", None),
            (b"-", None),
            (b"0.8x", None),
            (b"inf", None),
            (b"1e99", None),
            (b"--1", None),
        ] {
            assert_eq!(parse_score(text), micro, "{}", show(text));
        }
    }

    #[test]
    fn each_defect_is_named() {
        let defect = |from: &str, to: &str| {
            let text = String::from_utf8(LINE.to_vec()).unwrap().replacen(from, to, 1);
            parse(text.as_bytes(), &SHAPE).unwrap_err()
        };
        assert!(defect("7\t3", "7").contains("10 fields, expected 11"));
        assert!(defect("11910711", "1191071").contains("7 symbols"));
        assert!(defect("11910711", "11910712").contains("sample 8 of the mask is '2'"));
        assert!(defect("0.871000", "").contains("\"\" for a score"));
        assert!(defect("7\t3", "3\t7").contains("lower triangle"));
        assert!(defect("7\t3", "7\t0").contains("counts from 1"));
        assert!(defect("7\t3", "99999999\t3").contains("largest allowed"));
        assert!(defect("7\t3", "99999999999\t3").contains("largest allowed is 16777215; number"));
        assert!(defect("\t5\t", "\t5555555555\t").contains("in field 5, expected at most nine"));
        assert!(defect("7\t3", "\u{feff}7\t3").contains("begins with a byte order mark, which"));
        assert!(defect("7\t3", "7\t3x").contains("\"3x\" in field 2"));
        assert!(defect("7\t3", "\u{e9}\t3").contains("\\xc3\\xa9"));
        assert!(defect("\t1\t2\t", "\t0\t2\t").contains("cluster number 0"));
    }

    proptest! {
        #[test]
        fn the_plain_parser_agrees_with_the_careful_parser_and_refuses_bad_lines(
            place in 0..LINE.len(), byte in any::<u8>(),
        ) {
            let mut line = LINE.to_vec();
            line[place] = byte;
            let plain = parse_plain(&line, &SHAPE);
            let good_mask = row::check_mask(&line[line.len() - 8..]).is_ok();
            match parse(&line, &SHAPE) {
                Ok(parsed) => {
                    let plain = plain.unwrap();
                    prop_assert_eq!(plain.row(), parsed.row());
                }
                Err(_) => prop_assert!(plain.is_none() || !good_mask),
            }
        }
    }
}
