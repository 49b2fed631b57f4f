//! Layout of an expression matrix, and the values in its fields.

use super::super::fields::{self, SPACES};
use super::super::fit::Dialect;
use super::super::{Role, TableLine};
use super::MatrixKind;

/// Words for a missing value in any matrix; an empty field always is one.
const MISSING: [&str; 3] = ["NA", "NaN", "nan"];

/// Layout of a matrix.
#[derive(Clone, Debug)]
pub struct MatrixForm {
    /// Form of the file.
    pub kind: MatrixKind,
    /// Delimiter and decimal sign.
    pub signs: Dialect,
    /// Fields of a row.
    pub roles: Vec<Role>,
    /// Names of the samples.
    pub samples: Vec<String>,
    /// Whether a line names the samples.
    pub has_header: bool,
    /// Whether that line has no field above the names of the rows.
    pub is_header_short: bool,
    /// Offset of the first row, and the lines before it.
    pub begins_at: (usize, usize),
    /// Names of the first rows, for messages.
    pub first_names: Vec<String>,
    /// Words for a missing value besides those of all matrices.
    pub missing: Vec<String>,
    /// Rows that the file claims to have.
    pub rows: Option<u64>,
    /// Whether the first line declares the delimiter (`sep=;`).
    pub is_declared: bool,
    /// Whether a point may be a decimal sign or one between thousands, as far as the first lines
    /// tell.
    pub has_open_sign: bool,
}

/// Part of a text that cannot be read, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError {
    /// Line, from 1; the file as such without one.
    pub line: Option<usize>,
    /// A sentence continuing "line N of FILE" or "FILE".
    pub what: String,
}

impl FormError {
    pub(crate) fn line(line: &TableLine, what: impl Into<String>) -> Self {
        Self { line: Some(line.number), what: what.into() }
    }

    pub(crate) fn file(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into() }
    }

    /// The message about a file of this name.
    pub fn message(&self, name: &str) -> String {
        match self.line {
            Some(line) => format!("line {line} of {name} {}", self.what),
            None => format!("{name} {}", self.what),
        }
    }
}

impl MatrixForm {
    /// Whether rows are a name and values alone, separated by one byte.
    pub fn is_plain(&self) -> bool {
        self.signs.delimiter != SPACES
            && self.roles[0] == Role::Name
            && self.roles[1..].iter().all(|&role| role == Role::Value)
    }

    /// Whether a field says that a value is missing.
    pub fn is_missing(&self, text: &str) -> bool {
        is_missing(text) || self.missing.iter().any(|word| word == text)
    }

    /// Whether a word for missing values is a number, such as -9999.
    pub fn has_missing_numbers(&self) -> bool {
        let is_number = |word: &String| {
            fields::number(word.as_bytes(), self.signs.decimal).is_some_and(|value| !value.is_nan())
        };
        self.missing.iter().any(is_number)
    }

    /// `--missing` with the words so far and that of a field.
    pub fn missing_option(&self, field: &[u8]) -> String {
        let count = self.missing.len() - self.kind.missing().len();
        fields::missing_option(&self.missing[..count], field)
    }

    /// The number in a field; NaN when it says that the value is missing.
    pub fn number(&self, field: &[u8]) -> Option<f64> {
        value(field, self.signs.decimal, &self.missing)
    }
}

/// Whether a number has the value of one of the words for missing values, such as -9999.
fn is_missing_number(number: f64, decimal: u8, missing: &[String]) -> bool {
    missing.iter().any(|word| fields::number(word.as_bytes(), decimal) == Some(number))
}

fn is_missing(text: &str) -> bool {
    text.is_empty() || MISSING.contains(&text)
}

/// The value of a field; NaN when it is missing, `None` where it holds no number.
pub(super) fn value(field: &[u8], decimal: u8, missing: &[String]) -> Option<f64> {
    let text = str::from_utf8(fields::bare(field)).ok()?;
    if is_missing(text) || missing.iter().any(|word| word == text) {
        return Some(f64::NAN);
    }
    let number = fields::number(field, decimal).filter(|value| !value.is_nan())?;
    Some(if is_missing_number(number, decimal, missing) { f64::NAN } else { number })
}

/// Names of the genes in the first lines.
pub(super) fn first_names(form: &MatrixForm, table: &[TableLine]) -> Vec<String> {
    let Some(place) = form.roles.iter().position(|&role| role == Role::Name) else {
        return Vec::new();
    };
    let rows = table.iter().filter(|line| line.number > form.begins_at.1);
    let name = |line: &TableLine| {
        let fields = fields::fields(line.text, form.signs.delimiter);
        fields.get(place).and_then(|field| fields::unquoted(field))
    };
    rows.filter_map(name).filter(|name| !name.is_empty()).collect()
}
