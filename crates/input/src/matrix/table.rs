//! The lines of a matrix and their fields.

use std::borrow::Cow;

use cuesta_core::{Error, Result};
use memchr::{memchr, memchr_iter};

use super::decimal::decimal;
use super::room::Room;
use super::{HeaderPresence, OPERATION, Options};
use crate::names;

/// What stands for a missing value unless told otherwise; an empty field always does.
const MISSING: [&str; 3] = ["NA", "NaN", "nan"];
/// Bytes of a sample while the header is read: its field, its name and the memory of the name.
const SAMPLE_BYTES: u64 = 16 + 24 + 32;

/// A line that is not empty, without its end.
#[derive(Clone, Copy)]
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
    /// TableLines of a text behind so many others.
    pub fn new(bytes: &'a [u8], number: usize) -> Self {
        Self { bytes, place: 0, number }
    }
}

impl<'a> Iterator for TableLines<'a> {
    type Item = TableLine<'a>;

    fn next(&mut self) -> Option<TableLine<'a>> {
        while self.place < self.bytes.len() {
            let rest = &self.bytes[self.place..];
            let length = memchr(b'\n', rest).unwrap_or(rest.len());
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

/// Splits a text behind the line that has its byte number `place`.
pub fn split_at_line(bytes: &[u8], place: usize) -> (&[u8], &[u8]) {
    let from = place.saturating_sub(1).min(bytes.len());
    let end = memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |length| from + length + 1);
    bytes.split_at(end)
}

/// A header of one sample has no separator, so the second line counts too.
pub fn delimiter(lines: &[TableLine]) -> Option<u8> {
    let any = |wanted| lines.iter().take(2).any(|line| line.text.contains(&wanted));
    [b'\t', b','].into_iter().find(|&wanted| any(wanted))
}

/// Properties that all lines of a text share.
pub struct Table<'a> {
    /// The name of the file for messages.
    pub name: &'a str,
    /// Options of the reading.
    pub options: &'a Options,
    /// Separator of the fields.
    pub delimiter: u8,
}

/// The names of the samples.
pub struct Header {
    /// One a sample.
    pub samples: Vec<String>,
    /// Whether the first line names them.
    pub is_line: bool,
}

impl Table<'_> {
    /// An error of a line.
    pub fn error(&self, line: &TableLine, message: &str) -> Error {
        Error::input(OPERATION, format!("line {} of {} {message}", line.number, self.name))
    }

    /// Whether the first line is a header, and whether it is one field shorter than the next;
    /// `None` where both answers are possible.
    pub fn is_header(&self, lines: &[TableLine]) -> (Option<bool>, bool) {
        let fields = self.fields(lines[0].text);
        let width = lines.get(1).map(|row| self.count(row.text));
        let shorter = width == Some(fields.len() + 1);
        let is_header = match self.options.header {
            HeaderPresence::Present => Some(true),
            HeaderPresence::Absent => Some(false),
            HeaderPresence::Auto if shorter || fields[0].is_empty() => Some(true),
            HeaderPresence::Auto => {
                let values = fields[1..].iter().all(|field| self.number(field).is_some());
                (!values).then_some(true)
            }
        };
        (is_header, shorter)
    }

    /// The names of the samples, from the first two lines.
    ///
    /// # Errors
    /// `Input`.
    pub fn header(&self, lines: &[TableLine], room: &Room) -> Result<Header> {
        let first = &lines[0];
        let count = (memchr_iter(self.delimiter, first.text).count() + 1) as u64;
        room.take(count * SAMPLE_BYTES + first.text.len() as u64)?;
        let (is_header, shorter) = self.is_header(lines);
        let Some(is_header) = is_header else {
            return Err(self.error(
                first,
                "may be a header or a gene, its values are numbers; say --header present or absent",
            ));
        };
        let fields = self.fields(first.text);
        if !is_header && fields.len() < 2 {
            return Err(self.error(first, "has a gene without values"));
        }
        if !is_header {
            let samples = (1..fields.len()).map(|sample| sample.to_string()).collect();
            return Ok(Header { samples, is_line: false });
        }
        if lines.len() < 2 {
            return Err(self.error(first, "is the only one, expected a line a gene after it"));
        }
        let names = if shorter { &fields[..] } else { &fields[1..] };
        if names.is_empty() {
            return Err(self.error(first, "names no samples"));
        }
        let samples = names.iter().map(|field| self.text(first, field)).collect::<Result<_>>()?;
        Ok(Header { samples, is_line: true })
    }

    /// The fields of a line.
    pub fn fields<'l>(&self, mut line: &'l [u8]) -> Vec<&'l [u8]> {
        let mut fields = Vec::with_capacity(self.count(line));
        loop {
            let (field, rest) = self.split(line);
            fields.push(field);
            match rest {
                Some(rest) => line = rest,
                None => return fields,
            }
        }
    }

    /// The number of fields of a line.
    pub fn count(&self, mut line: &[u8]) -> usize {
        if memchr(b'"', line).is_none() {
            return memchr_iter(self.delimiter, line).count() + 1;
        }
        let mut count = 1;
        while let (_, Some(rest)) = self.split(line) {
            (line, count) = (rest, count + 1);
        }
        count
    }

    /// The first field of a line, quotes included, and what follows its separator.
    pub fn split<'l>(&self, line: &'l [u8]) -> (&'l [u8], Option<&'l [u8]>) {
        let mut start = 0;
        if line.first() == Some(&b'"') {
            // A doubled quote ends one quoted stretch and begins the next.
            while line.get(start) == Some(&b'"') {
                start += 1 + memchr(b'"', &line[start + 1..]).map_or(0, |length| length + 1);
            }
        }
        match memchr(self.delimiter, &line[start..]) {
            Some(length) => (&line[..start + length], Some(&line[start + length + 1..])),
            None => (line, None),
        }
    }

    /// A name: UTF-8, quotes removed.
    fn text(&self, line: &TableLine, field: &[u8]) -> Result<String> {
        let text = str::from_utf8(field).map_err(|_| {
            self.error(line, &format!("has a name that is not UTF-8: {}", shown(field)))
        })?;
        Ok(match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            Some(quoted) => quoted.replace("\"\"", "\""),
            None => text.to_owned(),
        })
    }

    /// Parses the line of a gene of so many samples: adds to `values` and gives the name.
    ///
    /// # Errors
    /// `Input`.
    pub fn gene(&self, line: &TableLine, samples: usize, values: &mut Vec<f64>) -> Result<String> {
        let expected = samples + 1;
        let ragged = || {
            let count = self.count(line.text);
            self.error(line, &format!("has {count} fields, expected {expected}"))
        };
        let (name, mut rest) = self.split(line.text);
        for index in 0..samples {
            let text = rest.ok_or_else(ragged)?;
            let value;
            (value, rest) = match decimal(text, self.delimiter) {
                Some((value, length)) => (value, text.get(length + 1..)),
                None => {
                    let (field, rest) = self.split(text);
                    (self.value(line, index, field)?, rest)
                }
            };
            values.push(value);
        }
        if rest.is_some() {
            return Err(ragged());
        }
        self.gene_name(line, name)
    }

    /// The name of a gene.
    ///
    /// # Errors
    /// `Input`.
    pub fn gene_name(&self, line: &TableLine, field: &[u8]) -> Result<String> {
        let name = self.text(line, field)?;
        if name.is_empty() {
            return Err(self.error(line, "has no gene name"));
        }
        names::check(&name).map_err(|what| self.error(line, &what))?;
        Ok(name)
    }

    /// A value that is not in plain decimal notation.
    fn value(&self, line: &TableLine, index: usize, field: &[u8]) -> Result<f64> {
        let fail = |what: &str| {
            let (value, sample) = (shown(field), index + 1);
            self.error(line, &format!("has {what} for sample {sample}: {value}"))
        };
        match self.number(field) {
            None => Err(fail("something other than a number")),
            Some(value) if value.is_infinite() => Err(fail("an infinite value")),
            Some(value) => Ok(value),
        }
    }

    /// The number in a field; NaN when it says that the value is missing.
    pub fn number(&self, field: &[u8]) -> Option<f64> {
        let text = str::from_utf8(field).ok()?.trim();
        let own = self.options.missing.as_deref();
        if text.is_empty() || MISSING.contains(&text) || own == Some(text) {
            return Some(f64::NAN);
        }
        text.parse().ok().filter(|value: &f64| !value.is_nan())
    }
}

/// A field in quotes for a message, cut to a readable length.
pub fn shown(field: &[u8]) -> String {
    let text: Cow<str> = String::from_utf8_lossy(&field[..field.len().min(40)]);
    format!("{text:?}")
}
