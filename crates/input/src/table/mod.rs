//! The front of all readers of tables: recognises how a text is laid out before it is read.
//!
//! Delimiter, decimal sign, header, row names, index columns and forms such as GCT come from the
//! first lines; options override each. A text that can be read in two ways is refused, with both
//! named, and so are files of another kind. Every later line must be laid out alike.

pub mod columns;
pub mod counters;
pub mod fields;
pub mod fit;
pub mod forms;
pub mod kinds;
pub mod matrix;
pub mod points;
pub mod titles;
pub mod wording;

use serde::{Deserialize, Serialize};

/// Bytes of text that are looked at to recognise a table, apart from the lines above it.
pub const HEAD_BYTES: usize = 64 << 10;
/// Lines of a table that are looked at.
pub const HEAD_LINES: usize = 200;

/// Separator of the fields of a line.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DelimiterChoice {
    /// Recognised.
    #[default]
    Auto,
    /// A tab.
    Tab,
    /// A comma.
    Comma,
    /// A semicolon.
    Semicolon,
    /// Spaces, however many.
    Space,
}

impl DelimiterChoice {
    /// The byte, if one was chosen.
    pub fn byte(self) -> Option<u8> {
        match self {
            Self::Auto => None,
            Self::Tab => Some(b'\t'),
            Self::Comma => Some(b','),
            Self::Semicolon => Some(b';'),
            Self::Space => Some(b' '),
        }
    }
}

/// Returns the delimiter that a first line such as Excel's `sep=;` declares; `None` for another
/// line.
///
/// # Errors
/// A sentence continuing "line N of FILE" for a delimiter that is not read.
pub fn declared_delimiter(line: &[u8]) -> Option<Result<DelimiterChoice, String>> {
    let line = &line[line.iter().position(|&byte| byte != b' ').unwrap_or(0)..];
    let inside = line.strip_prefix(b"\"").and_then(|line| line.strip_suffix(b"\""));
    let (label, delimiter) = inside.unwrap_or(line).split_at_checked(4)?;
    if !label.eq_ignore_ascii_case(b"sep=") {
        return None;
    }
    Some(match delimiter {
        b"\t" | b"\\t" => Ok(DelimiterChoice::Tab),
        b"," => Ok(DelimiterChoice::Comma),
        b";" => Ok(DelimiterChoice::Semicolon),
        b" " => Ok(DelimiterChoice::Space),
        _ => Err(format!(
            "says that fields are separated by {}; write them with tabs, commas, semicolons or \
             spaces between them",
            shown(delimiter)
        )),
    })
}

/// Sign between the whole part of a number and its fraction.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DecimalChoice {
    /// Recognised.
    #[default]
    Auto,
    /// A point.
    Point,
    /// A comma.
    Comma,
}

impl DecimalChoice {
    /// The byte, if one was chosen.
    pub fn byte(self) -> Option<u8> {
        match self {
            Self::Auto => None,
            Self::Point => Some(b'.'),
            Self::Comma => Some(b','),
        }
    }
}

/// Whether the first line names the columns.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HeaderPresence {
    /// Recognised; an error where both answers are possible.
    #[default]
    Auto,
    /// It does.
    Present,
    /// It does not.
    Absent,
}

/// Options of all readers of tables.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
pub struct TableParams {
    /// Separator of the fields.
    pub delimiter: DelimiterChoice,
    /// Decimal sign.
    pub decimal: DecimalChoice,
    /// Whether there is a header.
    pub header: HeaderPresence,
    /// Columns to read, by name or number from 1, such as `2-5,7,x`.
    pub columns: Option<String>,
}

/// Use of a field of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Name of the row.
    Name,
    /// A number.
    Value,
    /// Not read.
    Skipped,
    /// Not read; always empty.
    Empty,
}

/// A line that is not empty, without its end.
#[derive(Clone, Copy, Debug)]
pub struct TableLine<'a> {
    /// From 1.
    pub number: usize,
    /// Its bytes.
    pub text: &'a [u8],
}

/// The lines of a text that are not empty.
pub struct TableLines<'a> {
    bytes: &'a [u8],
    /// Offset of the next line.
    pub place: usize,
    /// The lines before it, empty ones included.
    pub number: usize,
}

impl<'a> TableLines<'a> {
    /// Lines of a text behind so many others.
    pub fn new(bytes: &'a [u8], number: usize) -> Self {
        Self { bytes, place: 0, number }
    }
}

impl<'a> Iterator for TableLines<'a> {
    type Item = TableLine<'a>;

    fn next(&mut self) -> Option<TableLine<'a>> {
        while self.place < self.bytes.len() {
            let rest = &self.bytes[self.place..];
            let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            self.place += (length + 1).min(rest.len());
            self.number += 1;
            let text = rest[..length].strip_suffix(b"\r").unwrap_or(&rest[..length]);
            if !text.is_empty() {
                return Some(TableLine { number: self.number, text });
            }
        }
        None
    }
}

/// Whether lines end in carriage returns alone, by the first bytes of a text.
pub fn ends_in_returns(start: &[u8]) -> bool {
    memchr::memchr(b'\n', start).is_none()
        && memchr::memchr(b'\r', start).is_some_and(|place| place + 1 < start.len())
}

/// A number of things for a message: `1 field`, `2 fields`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A number for a message; in scientific notation where it has more digits than a double holds.
pub fn shown_number(value: f64) -> String {
    let is_long = value.is_finite() && value != 0.0 && !(1e-16..1e16).contains(&value.abs());
    if is_long { format!("{value:e}") } else { value.to_string() }
}

/// The fault of a name that is no UTF-8, in a field.
pub fn no_utf8(field: &[u8]) -> String {
    format!(
        "has a name that is not UTF-8: {}; convert the file with iconv -f latin1 -t utf-8",
        shown(field)
    )
}

/// The fault of a line with zero bytes.
pub const ZERO_BYTES: &str = "contains NUL bytes; it was not written whole, copy it again";

/// A field in quotes for a message, cut to a readable length.
pub fn shown(field: &[u8]) -> String {
    let cut = &field[..field.len().min(40)];
    format!("{:?}", String::from_utf8_lossy(cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_shown_in_scientific_notation() {
        for (value, text) in [
            (1e300, "1e300"),
            (-2.5e-20, "-2.5e-20"),
            (0.0, "0"),
            (1234.5, "1234.5"),
            (1e15, "1000000000000000"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(shown_number(value), text);
        }
        assert_eq!(
            [0, 1, 2].map(|count| counted(count, "field")),
            ["0 fields", "1 field", "2 fields"]
        );
    }
}
