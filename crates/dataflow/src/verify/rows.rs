//! Strict reader of the lines of an answer: each number has a single spelling, and each mean is
//! checked against its sum by multiplication.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use crate::kernel::AXES;
use crate::table::{ALL, AVERAGES_FILE};

/// Bytes of the answer that are in memory at once; no valid line is longer.
const WINDOW_BYTES: usize = 1 << 20;
/// Decimals of a mean, and their scale.
const DECIMALS: usize = 6;
const MILLION: u128 = 1_000_000;
/// Digits of a number that always fits in 64 bits.
const DIGITS_OF_WORD: usize = 19;

/// Reader of the answer file in windows of complete lines.
pub struct AnswerLines {
    path: PathBuf,
    file: File,
    window: Vec<u8>,
    returned_bytes: usize,
}

impl AnswerLines {
    /// Opens the table of an answer.
    ///
    /// # Errors
    /// `System`.
    pub fn open(answer: &Path) -> Result<Self> {
        let path = answer.join(AVERAGES_FILE);
        let file =
            File::open(&path).map_err(|cause| Error::system("verify", "reading", &path, &cause))?;
        Ok(Self { path, file, window: Vec::new(), returned_bytes: 0 })
    }

    /// Returns the next lines, none at the end; only a wrong line lacks its line feed.
    ///
    /// # Errors
    /// `System`.
    pub fn next(&mut self) -> Result<&[u8]> {
        self.window.drain(..self.returned_bytes);
        let space = (WINDOW_BYTES - self.window.len()) as u64;
        (&self.file)
            .take(space)
            .read_to_end(&mut self.window)
            .map_err(|cause| Error::system("verify", "reading", &self.path, &cause))?;
        let last = self.window.iter().rposition(|&byte| byte == b'\n');
        self.returned_bytes = last.map_or(self.window.len(), |last| last + 1);
        Ok(&self.window[..self.returned_bytes])
    }
}

/// Fields of a line, without its means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Number of the block; `None` for all blocks together.
    pub block: Option<u64>,
    /// Vectors of the block.
    pub vectors: u64,
    /// Sums of the coordinates, in units.
    pub sums: [i128; AXES],
}

impl Row {
    /// Parses a line with its line feed; `None` if the line is not spelled as the kernel writes it,
    /// or if a mean does not match its sum.
    pub fn read(line: &[u8]) -> Option<Self> {
        let mut fields = line.strip_suffix(b"\n")?.split(|&byte| byte == b'\t');
        let block = match fields.next()? {
            name if name == ALL.as_bytes() => None,
            number => Some(u64::try_from(natural(number)?).ok()?),
        };
        let vectors = u64::try_from(natural(fields.next()?)?).ok().filter(|&count| count > 0)?;
        let mut sums = [0; AXES];
        for sum in &mut sums {
            let (negative, digits) = sign(fields.next()?);
            let size = i128::try_from(natural(digits)?).ok()?;
            *sum = if negative { -size } else { size };
            (size > 0 || !negative).then_some(())?;
        }
        for sum in sums {
            let (negative, digits) = sign(fields.next()?);
            let millionths = decimals(digits)?;
            (negative == (sum < 0 && millionths > 0)).then_some(())?;
            is_mean(millionths, sum.unsigned_abs(), vectors)?.then_some(())?;
        }
        fields.next().is_none().then_some(Self { block, vectors, sums })
    }
}

/// Whether `millionths` is the mean of `vectors` coordinates that add up to `sum` units, rounded,
/// halves up; `None` if numbers are too large for any answer.
fn is_mean(millionths: u128, sum: u128, vectors: u64) -> Option<bool> {
    let divisor = u128::from(vectors) << 16;
    let twice = sum.checked_mul(2 * MILLION)?.checked_add(divisor)?;
    let low = millionths.checked_mul(2)?.checked_mul(divisor)?;
    Some(low <= twice && twice < low.checked_add(2 * divisor)?)
}

fn sign(field: &[u8]) -> (bool, &[u8]) {
    field.strip_prefix(b"-").map_or((false, field), |digits| (true, digits))
}

/// Parses a number with the decimals of a mean; returns millionths.
fn decimals(field: &[u8]) -> Option<u128> {
    let (integer, fraction) = field.split_at_checked(field.len().checked_sub(DECIMALS + 1)?)?;
    let fraction = number(fraction.strip_prefix(b".")?)?;
    natural(integer)?.checked_mul(MILLION)?.checked_add(fraction)
}

/// Parses an integer without leading zeros.
fn natural(digits: &[u8]) -> Option<u128> {
    let plain = digits.first().is_some_and(|&first| first != b'0' || digits.len() == 1);
    if plain { number(digits) } else { None }
}

fn number(digits: &[u8]) -> Option<u128> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = |digit: &u8| digit - b'0';
    if digits.len() <= DIGITS_OF_WORD {
        let add = |number: u64, digit: &u8| 10 * number + u64::from(value(digit));
        return Some(u128::from(digits.iter().fold(0, add)));
    }
    let add =
        |number: u128, digit: &u8| number.checked_mul(10)?.checked_add(u128::from(value(digit)));
    digits.iter().try_fold(0, add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_row_as_it_is_written_is_read_and_no_other_mean_is(
            block in prop::option::of(any::<u64>()),
            vectors in prop_oneof![1u64..5, 1u64..1 << 50],
            sums in prop::array::uniform3(prop_oneof![
                -10i128..10,
                -1i128 << 53..1 << 53,
                -1i128 << 77..1 << 77,
            ]),
            column in 0usize..3,
            off in prop_oneof![Just(-1i64), Just(1), -1_000_000i64..1_000_000],
        ) {
            let name = block.map_or(table::ALL.to_owned(), |block| block.to_string());
            let mut text = String::new();
            table::append(&mut text, &name, vectors, sums);
            prop_assert_eq!(Row::read(text.as_bytes()), Some(Row { block, vectors, sums }));
            let mut fields: Vec<String> = text.trim_end().split('\t').map(str::to_owned).collect();
            let digits = fields[5 + column].replace(['.', '-'], "").parse::<i128>().unwrap();
            let other = (digits + i128::from(off)).abs();
            if other != digits {
                let minus = if sums[column] < 0 && other > 0 { "-" } else { "" };
                fields[5 + column] =
                    format!("{minus}{}.{:06}", other / 1_000_000, other % 1_000_000);
                let line = fields.join("\t") + "\n";
                prop_assert_eq!(Row::read(line.as_bytes()), None, "{}", line);
            }
        }
    }

    #[test]
    fn a_number_has_a_single_spelling() {
        let good = "1\t2\t65536\t-65536\t-1\t0.500000\t-0.500000\t-0.000008\n";
        assert!(Row::read(good.as_bytes()).is_some());
        for (from, to) in [
            ("1\t2", "01\t2"),
            ("1\t2", "+1\t2"),
            ("1\t2", "\t2"),
            ("1\t2", "1\t 2"),
            ("1\t2", "1\t0"),
            ("65536\t-", "65536.0\t-"),
            ("65536\t-6", "-0\t-6"),
            ("0.500000\t", "00.500000\t"),
            ("0.500000\t", ".500000\t"),
            ("0.500000\t", "0.5000000\t"),
            ("0.500000\t", "0,500000\t"),
            ("-0.000008", "-0.000007"),
            ("-0.000008", "0.000008"),
            ("8\n", "8"),
            ("8\n", "8\r\n"),
            ("8\n", "8\t\n"),
            ("\t-0.000008", ""),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good, "{from}");
            assert_eq!(Row::read(bad.as_bytes()), None, "{bad}");
        }
        let huge = format!("1\t1\t{0}\t{0}\t{0}\t0.000000\t0.000000\t0.000000\n", "9".repeat(40));
        assert_eq!(Row::read(huge.as_bytes()), None);
        assert_eq!(Row::read(b"all\t1\t0\t0\t0\t0.000000\t0.000000\t-0.000000\n"), None);
    }

    #[test]
    fn windows_hold_complete_lines_and_the_remainder_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let lines: String = (0..200_000).map(|number| format!("line {number}\n")).collect();
        for text in [lines.clone(), lines + "cut", "x".repeat(3 * WINDOW_BYTES / 2), String::new()]
        {
            std::fs::write(folder.path().join(AVERAGES_FILE), &text).unwrap();
            let mut table = AnswerLines::open(folder.path()).unwrap();
            let mut joined = Vec::new();
            loop {
                let window = table.next().unwrap();
                if window.is_empty() {
                    break;
                }
                assert!(window.ends_with(b"\n") || !window.contains(&b'\n'));
                joined.extend_from_slice(window);
            }
            assert!(joined == text.as_bytes());
        }
    }
}
