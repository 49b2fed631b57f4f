//! Delimiters and decimal signs that fit the first lines of a table.

use super::fields::{self, SPACES, is_blank, may_be_thousands};
use super::{TableLine, TableParams, columns, counted, shown};

/// Delimiters, the likelier ones first.
const DELIMITERS: [u8; 4] = [b'\t', b';', b',', SPACES];

/// No delimiter: a field a line.
pub const NONE: u8 = b'\n';

/// A delimiter and a decimal sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dialect {
    /// Separator of fields; [`SPACES`] for any number of spaces, [`NONE`] for none.
    pub delimiter: u8,
    /// `.` or `,`.
    pub decimal: u8,
}

/// Dialect of numbers in quotes: else no field has a comma.
const COMMAS: Dialect = Dialect { delimiter: b',', decimal: b',' };

/// First lines cut into fields.
#[derive(Clone, Debug)]
pub struct TableFit<'l> {
    /// With these signs.
    pub signs: Dialect,
    /// Fields of the first line.
    pub first: Vec<&'l [u8]>,
    /// Fields of the other lines, or of the first where it is the only one or no header is
    /// possible; all of equal number.
    pub rows: Vec<Vec<&'l [u8]>>,
    /// Fields of a row at its end that are empty in all rows.
    pub trailing: usize,
    /// Whether a field of a column is no number.
    pub is_text: Vec<bool>,
    /// Whether all fields of a column must be numbers, unless it is one of text.
    pub is_read: Vec<bool>,
}

impl TableFit<'_> {
    /// Fields of a row before those that are empty in all of them.
    pub fn width(&self) -> usize {
        self.is_text.len()
    }

    /// Columns from `first` on that hold text.
    pub fn text_columns(&self, first: usize) -> usize {
        self.is_text.iter().skip(first).filter(|&&is_text| is_text).count()
    }
}

/// Properties of the lines that are fitted.
pub struct Requirements<'a> {
    /// Options of the reading.
    pub params: &'a TableParams,
    /// Whether the first line is a row for sure.
    pub is_first_row: bool,
    /// Column from which on values are expected: 1 behind names of rows.
    pub values_from: usize,
    /// Whether a field holds a value with this decimal sign.
    pub is_value: &'a dyn Fn(&[u8], u8) -> bool,
    /// Whether a line may be one field.
    pub allows_single: bool,
    /// Whether a column of this name may hold anything.
    pub is_annotation: &'a dyn Fn(&[u8]) -> bool,
}

/// Names of the columns of rows with `full` fields, where the first line has them.
pub fn labels<'l>(first: &[&'l [u8]], full: usize) -> Vec<&'l [u8]> {
    let blank = (first.len() + 1 == full).then_some(&b""[..]);
    blank.into_iter().chain(first.iter().copied()).collect()
}

/// All signs that fit, in the order of their likelihood; those with the fewest columns of text.
pub fn fits<'l>(lines: &[TableLine<'l>], demand: &Requirements<'_>) -> Vec<TableFit<'l>> {
    let mut delimiters = DELIMITERS.to_vec();
    if demand.allows_single {
        delimiters.push(NONE);
    }
    if let Some(chosen) = demand.params.delimiter.byte() {
        let is_used = lines.iter().any(|line| line.text.contains(&chosen));
        delimiters.retain(|&delimiter| delimiter == if is_used { chosen } else { NONE });
        delimiters.extend((!is_used && !demand.allows_single).then_some(chosen));
    }
    let decimals: Vec<u8> = match demand.params.decimal.byte() {
        Some(decimal) => vec![decimal],
        None => vec![b'.', b','],
    };
    let mut matches = Vec::new();
    for &delimiter in &delimiters {
        let fitting = |decimal: &u8| fit(lines, Dialect { delimiter, decimal: *decimal }, demand);
        let mut fitting: Vec<TableFit> = decimals.iter().filter_map(fitting).collect();
        // The first line may be the only one with a decimal sign.
        let place = fitting.iter().position(|fit| !has_other_sign(fit)).unwrap_or(0);
        if place < fitting.len() {
            matches.push(fitting.swap_remove(place));
        }
    }
    let least = matches.iter().map(|fit: &TableFit<'_>| fit.text_columns(demand.values_from)).min();
    matches.retain(|fit| Some(fit.text_columns(demand.values_from)) == least);
    matches
}

/// Whether a field of the first line is a number with the other decimal sign alone.
fn has_other_sign(fit: &TableFit<'_>) -> bool {
    let sign = fit.signs.decimal;
    let other = if sign == b'.' { b',' } else { b'.' };
    let is_other = |field: &&[u8]| {
        fields::number(field, sign).is_none() && fields::number(field, other).is_some()
    };
    fit.first.iter().any(is_other)
}

fn fit<'l>(
    lines: &[TableLine<'l>],
    signs: Dialect,
    demand: &Requirements<'_>,
) -> Option<TableFit<'l>> {
    let cut = |line: &TableLine<'l>| match signs.delimiter {
        NONE => vec![line.text],
        delimiter => fields::fields(line.text, delimiter),
    };
    let first = cut(lines.first()?);
    let from = usize::from(!demand.is_first_row && lines.len() > 1);
    let mut rows: Vec<Vec<&[u8]>> = lines[from..].iter().map(cut).collect();
    // A line of nothing but delimiters, as spreadsheets write, is an empty one.
    rows.retain(|row| row.iter().any(|field| !is_blank(field)));
    let full = rows.first()?.len();
    if rows.iter().any(|row| row.len() != full) {
        return None;
    }
    let is_empty = |column: &usize| rows.iter().all(|row| is_blank(row[*column]));
    let trailing = (1..full).rev().take_while(is_empty).count();
    let width = full - trailing;
    let is_short = full < 2 && signs.delimiter != NONE;
    let has_comma = |row: &Vec<&[u8]>| row.iter().any(|field| field.contains(&b','));
    if is_short || (signs == COMMAS && !rows.iter().any(has_comma)) {
        return None;
    }
    let is_read = read_columns(&first, full, demand)?;
    let mut is_text = Vec::with_capacity(width);
    for column in 0..width {
        let is_bad = |row: &&Vec<&[u8]>| !(demand.is_value)(row[column], signs.decimal);
        let bad: Vec<&[u8]> = rows.iter().filter(is_bad).map(|row| row[column]).collect();
        let is_text_like = bad.iter().any(|field| fields::is_text(field))
            && bad.iter().all(|field| fields::is_text(field) || is_blank(field));
        let is_column = 2 * bad.len() > rows.len() && is_text_like;
        if column >= demand.values_from && !bad.is_empty() && !is_column && is_read[column] {
            return None;
        }
        is_text.push(!bad.is_empty());
    }
    let has_values = is_text[demand.values_from.min(width)..].contains(&false);
    has_values.then_some(TableFit { signs, first, rows, trailing, is_text, is_read })
}

/// Whether each of `full` columns is read: it is one of `--columns`, and no annotation by its name.
/// `None` where `--columns` asks for one that is not there.
fn read_columns(first: &[&[u8]], full: usize, demand: &Requirements<'_>) -> Option<Vec<bool>> {
    let labels = if demand.is_first_row { Vec::new() } else { labels(first, full) };
    let is_annotation =
        |column: usize| labels.get(column).is_some_and(|label| (demand.is_annotation)(label));
    let mut is_read: Vec<bool> = (0..full).map(|column| !is_annotation(column)).collect();
    if let Some(list) = &demand.params.columns {
        let chosen = columns::chosen(list, &labels, full).ok()?;
        let is_chosen = |column: usize| chosen.binary_search(&column).is_ok();
        is_read.iter_mut().enumerate().for_each(|(column, read)| *read &= is_chosen(column));
    }
    Some(is_read)
}

/// Whether the numbers with a decimal sign are all such that it may stand between thousands, and
/// nothing else says which it is.
pub fn is_doubtful_sign(fit: &TableFit<'_>, values_from: usize) -> bool {
    // Programs put a semicolon between fields because the comma is their decimal sign.
    if (fit.signs.decimal == b',') == (fit.signs.delimiter == b';') {
        return false;
    }
    let sign = fit.signs.decimal;
    let has_comma =
        |column: usize, field: &[u8]| fit.is_read[column] && memchr::memchr(sign, field).is_some();
    let fields = fit.rows.iter().flat_map(|row| row.iter().enumerate().skip(values_from));
    let mut with_comma = fields
        .filter(|(column, field)| has_comma(*column, field))
        .map(|(_, field)| field)
        .peekable();
    with_comma.peek().is_some() && with_comma.all(|field| may_be_thousands(field, sign))
}

/// Whether a point that comes later may be a decimal sign or one between thousands: no number has a
/// point yet, and a semicolon between fields lets expect a decimal comma.
pub fn is_open_sign(fit: &TableFit<'_>) -> bool {
    let has_point = |row: &Vec<&[u8]>| row.iter().any(|field| field.contains(&b'.'));
    fit.signs.delimiter == b';' && fit.signs.decimal == b'.' && !fit.rows.iter().any(has_point)
}

/// The fault of a field that may be a number with a decimal sign or with one between thousands.
pub fn doubtful(field: &[u8], sign: u8) -> String {
    let word = decimal_word(sign);
    format!(
        "has {}, which may have a decimal {word} or one between thousands; give --decimal {word}, \
         or write numbers without {word}s",
        shown(field)
    )
}

/// The fault of a line whose number of fields is not that of the lines before.
pub fn unequal(count: usize, width: usize, delimiter: u8) -> String {
    format!(
        "has {}, the lines before {width}, separated by {}; complete the line, or leave it out",
        counted(count, "field"),
        delimiter_name(delimiter)
    )
}

/// The word of `--decimal` for a decimal sign.
pub fn decimal_word(sign: u8) -> &'static str {
    if sign == b',' { "comma" } else { "point" }
}

/// Name of a delimiter in a sentence.
pub fn delimiter_name(delimiter: u8) -> &'static str {
    match delimiter {
        b'\t' => "tabs",
        b';' => "semicolons",
        b',' => "commas",
        SPACES => "spaces",
        _ => "nothing",
    }
}

/// Value of `--delimiter` for a delimiter.
pub fn delimiter_word(delimiter: u8) -> &'static str {
    match delimiter {
        b'\t' => "tab",
        b';' => "semicolon",
        b',' => "comma",
        _ => "space",
    }
}
