//! Rows of a matrix whose layout is known.

use cuesta_core::{Error, Result};

use super::OPERATION;
use super::decimal::decimal;
use crate::names;
use crate::table::fit::{self, delimiter_name};
use crate::table::matrix::{FormError, MatrixForm, MatrixKind};
use crate::table::titles::{REPEATED_HEADER, repeats_header};
use crate::table::{Role, TableLine, fields};

pub use crate::table::{TableLines, shown};
use crate::table::{ZERO_BYTES, counted, no_utf8};

/// Splits a text behind the line that has its byte number `place`.
pub fn split_at_line(bytes: &[u8], place: usize) -> (&[u8], &[u8]) {
    let from = place.saturating_sub(1).min(bytes.len());
    let end = memchr::memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |length| from + length + 1);
    bytes.split_at(end)
}

/// The fault of a row without a name.
const NO_NAME: &str = "has no gene name; give the gene one, or leave the line out";

/// The fault of names below the header, such as pandas writes for columns of several levels.
const TWO_HEADERS: &str = "is a second line of names below the header; keep the line that names \
                           the samples";

/// Properties that all lines of a text share.
pub struct Table<'a> {
    /// The name of the file for messages.
    pub name: &'a str,
    /// Layout of the lines.
    pub form: MatrixForm,
    /// Whether rows are a name and values alone, no number is missing by its value, and none may
    /// be two.
    is_plain: bool,
}

/// A line of a table.
pub enum TableRow {
    /// A gene, or a sample of a turned matrix.
    Row(String),
    /// A line of separators alone.
    Blank,
    /// The end of a table that says so.
    End,
}

/// The error of a text that cannot be read.
pub fn form_error(name: &str, error: &FormError) -> Error {
    Error::input(OPERATION, error.message(name))
}

impl<'a> Table<'a> {
    /// The table of a file with this layout.
    pub fn new(name: &'a str, form: MatrixForm) -> Self {
        let is_plain = form.is_plain()
            && !form.has_missing_numbers()
            && !form.has_open_sign
            // A comma in quotes is a decimal sign, one between quotes is not.
            && form.signs.delimiter != form.signs.decimal;
        Self { name, form, is_plain }
    }

    /// An error of a line.
    pub fn error(&self, line: &TableLine, message: &str) -> Error {
        Error::input(OPERATION, format!("line {} of {} {message}", line.number, self.name))
    }

    /// Parses a line: adds to `values` and gives the name.
    ///
    /// # Errors
    /// `Input`.
    pub fn line(&self, line: &TableLine, values: &mut Vec<f64>) -> Result<TableRow> {
        if self.form.kind == MatrixKind::Series && line.text.starts_with(b"!") {
            return Ok(TableRow::End);
        }
        let before = values.len();
        let parsed = match self.is_plain {
            true => self.plain(line, values),
            false => self.by_roles(line, values),
        };
        match parsed {
            Ok(name) if !name.is_empty() => Ok(TableRow::Row(name)),
            _ if self.is_blank(line) => {
                values.truncate(before);
                Ok(TableRow::Blank)
            }
            Ok(_) => Err(self.error(line, NO_NAME)),
            Err(error) => Err(error),
        }
    }

    /// Whether a line has nothing but delimiters, as spreadsheets write.
    pub fn is_blank(&self, line: &TableLine) -> bool {
        fields::fields(line.text, self.form.signs.delimiter)
            .iter()
            .all(|&text| fields::is_blank(text))
    }

    fn plain(&self, line: &TableLine, values: &mut Vec<f64>) -> Result<String> {
        let signs = self.form.signs;
        let samples = self.form.samples.len();
        let ragged = || self.ragged(line);
        let (name, mut rest) = fields::split(line.text, signs.delimiter);
        for index in 0..samples {
            let text = rest.ok_or_else(ragged)?;
            let value;
            (value, rest) = match decimal(text, signs.delimiter, signs.decimal) {
                Some((value, length)) => (value, text.get(length + 1..)),
                None => {
                    let (field, rest) = fields::split(text, signs.delimiter);
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

    fn by_roles(&self, line: &TableLine, values: &mut Vec<f64>) -> Result<String> {
        let delimiter = self.form.signs.delimiter;
        let mut rest = Some(fields::prepared(line.text, delimiter));
        let (mut name, mut sample) = (&b""[..], 0);
        for (place, role) in self.form.roles.iter().enumerate() {
            let Some(text) = rest else {
                // Lines may end before fields that are always empty.
                if self.form.roles[place..].iter().all(|&role| role == Role::Empty) {
                    break;
                }
                return Err(self.ragged(line));
            };
            let (field, after) = fields::split(text, delimiter);
            rest = after;
            match role {
                Role::Name => name = field,
                Role::Value => {
                    values.push(self.value(line, sample, field)?);
                    sample += 1;
                }
                Role::Empty if !fields::is_blank(field) => {
                    let what = format!(
                        "has {} in field {}, which has no name and is empty in the first lines",
                        shown(field),
                        place + 1
                    );
                    return Err(self.error(line, &what));
                }
                Role::Empty | Role::Skipped => {}
            }
        }
        if rest.is_some() {
            return Err(self.ragged(line));
        }
        self.gene_name(line, name)
    }

    fn ragged(&self, line: &TableLine) -> Error {
        if memchr::memchr(0, line.text).is_some() {
            return self.error(line, ZERO_BYTES);
        }
        let count = fields::count(line.text, self.form.signs.delimiter);
        let (expected, name) = (self.form.roles.len(), delimiter_name(self.form.signs.delimiter));
        let remedy = match memchr::memchr_iter(b'"', line.text).count() % 2 {
            0 => "complete the line, or obtain the file again",
            _ => "a name in quotes must end in its line: close the quote, or remove the line break",
        };
        let fields = counted(count, "field");
        let what = format!("has {fields}, expected {expected}, separated by {name}; {remedy}");
        self.error(line, &what)
    }

    /// The name of a row, in its line.
    ///
    /// # Errors
    /// `Input` for a ragged line or a name that cannot be.
    pub fn name_of(&self, line: &TableLine) -> Result<String> {
        let fields = fields::fields(line.text, self.form.signs.delimiter);
        if fields.len() != self.form.roles.len() {
            return Err(self.ragged(line));
        }
        let place = self.form.roles.iter().position(|&role| role == Role::Name).unwrap_or(0);
        match self.gene_name(line, fields[place])? {
            name if name.is_empty() => Err(self.error(line, NO_NAME)),
            name => Ok(name),
        }
    }

    /// The name of a gene; empty where there is none.
    fn gene_name(&self, line: &TableLine, field: &[u8]) -> Result<String> {
        let name = fields::unquoted(field).ok_or_else(|| self.error(line, &no_utf8(field)))?;
        if let Some(text) = fields::formula_text(field) {
            let what = format!(
                "has a name in a formula that Excel keeps as text, {}; write it as {text}",
                shown(field)
            );
            return Err(self.error(line, &what));
        }
        if !name.is_empty() {
            names::check(&name).map_err(|what| self.error(line, &what))?;
        }
        Ok(name)
    }

    /// A value that is not in plain decimal notation.
    fn value(&self, line: &TableLine, index: usize, field: &[u8]) -> Result<f64> {
        let fail = |what: &str| {
            let (value, sample) = (shown(field), index + 1);
            let separators = match self.form.signs.delimiter {
                b'\t' => String::new(),
                delimiter => format!(" (fields are separated by {})", delimiter_name(delimiter)),
            };
            self.error(line, &format!("has {what} for sample {sample}: {value}{separators}"))
        };
        match self.form.number(field) {
            None if memchr::memchr(0, line.text).is_some() => Err(self.error(line, ZERO_BYTES)),
            None if self.repeats_header(line) => Err(self.error(line, REPEATED_HEADER)),
            None if index == 0 && self.is_second_header(line) => Err(self.error(line, TWO_HEADERS)),
            None => Err(fail(&self.no_number(field))),
            Some(_) if self.form.has_open_sign && fields::is_doubtful(field, b'.') => {
                Err(self.error(line, &fit::doubtful(field, b'.')))
            }
            Some(value) if value.is_infinite() => {
                let missing = self.form.missing_option(field);
                let error = fail("an infinite value").sentence();
                let remedy = "a logarithm of 0? then add 1 to the counts before, as --log2 does";
                Err(Error::input(OPERATION, format!("{error}; {remedy}; or give {missing}")))
            }
            Some(value) => Ok(value),
        }
    }

    fn repeats_header(&self, line: &TableLine) -> bool {
        let fields = fields::fields(line.text, self.form.signs.delimiter);
        self.form.has_header && repeats_header(&fields, &self.form.roles, &self.form.samples)
    }

    /// Whether a line right below the header holds nothing but text where samples have values.
    fn is_second_header(&self, line: &TableLine) -> bool {
        let fields = fields::fields(line.text, self.form.signs.delimiter);
        let mut values =
            fields.iter().zip(&self.form.roles).filter(|(_, role)| **role == Role::Value);
        self.form.has_header
            && self.form.samples.len() > 1
            && line.number == self.form.begins_at.1 + 1
            && values.all(|(field, _)| fields::is_text(field) && fields::disguised(field).is_none())
    }

    fn no_number(&self, field: &[u8]) -> String {
        let what = "something other than a number";
        if fields::is_missing_word(field) {
            return format!(
                "{what} (a missing value? then give {})",
                self.form.missing_option(field)
            );
        }
        if let Some(disguise) = fields::disguised(field) {
            return format!("{what} ({disguise})");
        }
        if let Some(written) = fields::without_thousands(field, self.form.signs.decimal) {
            let choice = match self.form.signs.decimal {
                b'.' if fields::number(field, b',').is_some() => {
                    "with a decimal comma? then give --decimal comma; with commas"
                }
                b'.' => "with commas",
                _ if fields::number(field, b'.').is_some() => {
                    "with a decimal point, where others have a comma? then write a comma; with \
                     points"
                }
                _ => "with points",
            };
            return format!("{what} ({choice} between thousands? then write it as {written})");
        }
        match self.form.signs.decimal {
            b'.' if fields::has_sign(field, b',') => {
                format!("{what} (with a decimal comma? then give --decimal comma)")
            }
            b',' if fields::has_sign(field, b'.') => {
                format!("{what} (with a decimal point, where others have a comma)")
            }
            // No word of the option has a comma.
            _ if field.contains(&b',') => format!("{what} (write a number)"),
            _ if fields::bare(field).first().is_some_and(u8::is_ascii_alphabetic) => format!(
                "{what} (a missing value? then give {}; no sample? then give the columns of the \
                 samples with --columns)",
                self.form.missing_option(field)
            ),
            _ => format!(
                "{what} (write a number, or give {} if it stands for a missing value)",
                self.form.missing_option(field)
            ),
        }
    }
}
