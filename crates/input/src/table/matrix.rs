//! Recognises the layout of an expression matrix from its first lines.

mod above;
mod form;
mod header;
mod programs;
mod roles;

use super::fields::{self, SPACES, is_blank};
use super::fit::{self, Dialect, Requirements, TableFit};
use super::{
    DecimalChoice, DelimiterChoice, HEAD_BYTES, HEAD_LINES, HeaderPresence, Role, TableLine,
    TableLines, TableParams, shown, titles,
};
use roles::{ColumnRoles, MatrixColumns};

pub use above::{MatrixKind, is_enough};
pub use form::{FormError, MatrixForm};
use form::{first_names, value};

/// Recognises the layout of the text whose first lines these are; see [`is_enough`].
///
/// # Errors
/// `FormError` for a text that can be read in no way, or in two.
pub fn recognise(
    bytes: &[u8],
    params: &TableParams,
    missing: &[String],
) -> Result<MatrixForm, FormError> {
    let above = above::above(bytes)?;
    let declared = above.delimiter.filter(|_| params.delimiter == DelimiterChoice::Auto);
    let params = &TableParams { delimiter: declared.unwrap_or(params.delimiter), ..params.clone() };
    let mut missing = missing.to_vec();
    missing.extend(above.kind.missing().iter().map(|&word| word.to_owned()));
    let mut lines = TableLines::new(&bytes[above.begins_at.0..], above.begins_at.1);
    let mut table: Vec<TableLine> = Vec::new();
    let mut ends = Vec::new();
    // Wide tables are recognised by their first rows.
    let least = 2 + above.sizes.get(3).copied().unwrap_or(0) as usize;
    while (table.len() < least || (table.len() < HEAD_LINES && lines.place < HEAD_BYTES))
        && let Some(line) = lines.next()
    {
        if above.kind == MatrixKind::Series && line.text.starts_with(b"!") {
            break;
        }
        table.push(line);
        ends.push((above.begins_at.0 + lines.place, lines.number));
    }
    let Some(first) = table.first() else {
        return Err(match above.kind {
            MatrixKind::Series => header::no_values(),
            _ => FormError::file("is empty, expected a line a gene"),
        });
    };
    let is_declared = declared.is_some();
    let job = Recognition { params, is_declared, missing: &missing, table: &table };
    let mut form = match above.kind {
        MatrixKind::Gct(_) | MatrixKind::Series => header::declared(&above, &table, &ends)?,
        MatrixKind::Delimited | MatrixKind::FeatureCounts => job.delimited()?,
    };
    if above.kind == MatrixKind::Delimited {
        form.begins_at = if form.has_header { ends[0] } else { above.begins_at };
    }
    if form.has_header && form.begins_at.0 == 0 {
        return Err(FormError::line(first, "is the only one, expected a line a gene after it"));
    }
    form.first_names = first_names(&form, &table);
    form.missing = missing;
    form.is_declared = is_declared;
    Ok(form)
}

struct Recognition<'a> {
    params: &'a TableParams,
    /// Whether the file declares the delimiter.
    is_declared: bool,
    missing: &'a [String],
    table: &'a [TableLine<'a>],
}

impl Recognition<'_> {
    /// All signs that fit.
    fn fits(&self) -> Vec<TableFit<'_>> {
        let is_value = |field: &[u8], decimal| value(field, decimal, self.missing).is_some();
        let demand = Requirements {
            params: self.params,
            is_first_row: self.params.header == HeaderPresence::Absent,
            values_from: 1,
            is_value: &is_value,
            allows_single: false,
            is_annotation: &|label| header::is_annotation(fields::bare(label)),
        };
        let mut fits = fit::fits(self.table, &demand);
        // A tab is part of no name, so that it separates wherever it occurs.
        let has_tab = self.table.iter().any(|line| line.text.contains(&b'\t'));
        fits.retain(|fit| !has_tab || fit.signs.delimiter == b'\t');
        fits
    }

    fn delimited(&self) -> Result<MatrixForm, FormError> {
        if let Some(what) = titles::title(self.table) {
            return Err(FormError::line(&self.table[0], what));
        }
        match self.fits().as_slice() {
            [] => match self.misfit().or_else(|| self.few_tabs()) {
                Some(error) => Err(error),
                None => self.by_first_lines(),
            },
            [fit] if self.params.decimal.byte().is_none() && fit::is_doubtful_sign(fit, 1) => {
                Err(self.doubtful_sign(fit))
            }
            [fit] => self.fitted(fit),
            [one, two, ..] => Err(FormError::line(
                &self.table[0],
                format!(
                    "and those after it may be separated by {} or by {}; give --delimiter {} or {}",
                    fit::delimiter_name(one.signs.delimiter),
                    fit::delimiter_name(two.signs.delimiter),
                    fit::delimiter_word(one.signs.delimiter),
                    fit::delimiter_word(two.signs.delimiter)
                ),
            )),
        }
    }

    fn doubtful_sign(&self, fit: &TableFit<'_>) -> FormError {
        let sign = fit.signs.decimal;
        let is_long = |row: &&Vec<&[u8]>| row.len() > 1;
        let mut fields = fit.rows.iter().filter(is_long).flat_map(|row| &row[1..]);
        let field = fields.find(|field| field.contains(&sign)).copied().unwrap_or_default();
        let has_it = |line: &&TableLine<'_>| line.text.as_ptr_range().contains(&field.as_ptr());
        let line = self.table.iter().find(has_it).unwrap_or(&self.table[0]);
        FormError::line(line, fit::doubtful(field, sign))
    }

    /// The fault of an option without which the lines could be read.
    fn misfit(&self) -> Option<FormError> {
        let params = self.params;
        let mut tries = Vec::new();
        if let Some(delimiter) = params.delimiter.byte().filter(|_| !self.is_declared) {
            let option = format!("--delimiter {}", fit::delimiter_word(delimiter));
            tries
                .push((option, TableParams { delimiter: DelimiterChoice::Auto, ..params.clone() }));
        }
        if let Some(sign) = params.decimal.byte() {
            let option = format!("--decimal {}", fit::decimal_word(sign));
            tries.push((option, TableParams { decimal: DecimalChoice::Auto, ..params.clone() }));
        }
        if params.header == HeaderPresence::Absent {
            let option = "--header absent".to_owned();
            tries.push((option, TableParams { header: HeaderPresence::Auto, ..params.clone() }));
        }
        let (option, signs) = tries.iter().find_map(|(option, params)| {
            let other = Recognition { params, is_declared: true, ..*self };
            let signs = other.fits().first()?.signs;
            other.delimited().is_ok().then_some((option, signs))
        })?;
        let comma = if signs.decimal == b',' { ", with decimal commas" } else { "" };
        let what = format!(
            "and those after it do not fit {option}; leave it out (they are separated by \
             {}{comma})",
            fit::delimiter_name(signs.delimiter)
        );
        Some(FormError::line(&self.table[0], what))
    }

    /// The fault of lines that are separated by spaces but for a few.
    fn few_tabs(&self) -> Option<FormError> {
        let mut with_tab = self.table.iter().filter(|line| line.text.contains(&b'\t'));
        let first = with_tab.next()?;
        let is_few = 2 * (1 + with_tab.count()) < self.table.len();
        let what = "has a tab, which most lines have not; separate all fields by the same";
        is_few.then(|| FormError::line(first, what))
    }

    /// The layout that the first two lines have, where no signs fit all: the reader then names the
    /// line that is laid out differently.
    fn by_first_lines(&self) -> Result<MatrixForm, FormError> {
        let any = |wanted: u8| self.table.iter().take(2).any(|line| line.text.contains(&wanted));
        let counts = |delimiter: u8| {
            let two = self.table.iter().take(2);
            two.map(|line| fields::count(line.text, delimiter)).collect::<Vec<_>>()
        };
        let is_even = |delimiter: &u8| {
            matches!(counts(*delimiter)[..], [first, second]
                if second > 1 && (first == second || first + 1 == second))
        };
        let likely = [b'\t', b';', b',', SPACES];
        let chosen = self.params.delimiter.byte();
        let separator = chosen
            .or_else(|| likely.into_iter().find(is_even))
            .or_else(|| likely.into_iter().find(|&byte| byte != SPACES && any(byte)));
        let Some(delimiter) = separator else {
            return Err(FormError::line(
                &self.table[0],
                "has neither a tab nor a comma, semicolon or spaces between a name and values; \
                 give an expression matrix, a line a gene",
            ));
        };
        let decimal = self.params.decimal.byte().unwrap_or_else(|| self.likely_decimal(delimiter));
        let cut = |line: &TableLine<'_>| fields::fields(line.text, delimiter).len();
        let first = fields::fields(self.table[0].text, delimiter);
        let short = self.table.get(1).is_some_and(|row| cut(row) == first.len() + 1);
        let signs = Dialect { delimiter, decimal };
        if first.len() == 1 && !short && self.params.header != HeaderPresence::Absent {
            return Err(self.without_values(delimiter));
        }
        let has_header = self.has_header(&first, short, signs)?;
        if !has_header && first.len() < 2 {
            return Err(FormError::line(
                &self.table[0],
                "has a gene without values; add them, or name another --delimiter",
            ));
        }
        if has_header && self.table.len() < 2 {
            let what = "is the only one, expected a line a gene after it";
            return Err(FormError::line(&self.table[0], what));
        }
        let names = if has_header && short { &first[..] } else { &first[1..] };
        if names.is_empty() {
            return Err(FormError::line(
                &self.table[0],
                "names no samples; add their names, or name another --delimiter",
            ));
        }
        let width = names.len() + 1;
        let labels = if has_header { fit::labels(&first, width) } else { Vec::new() };
        let rows = vec![vec![&b""[..]; width]];
        let (is_text, is_read) = (vec![false; width], vec![true; width]);
        let fit = TableFit { signs, first, rows, trailing: 0, is_text, is_read };
        let layout = self.roles(&fit, &labels, width)?;
        let samples = self.samples(&labels, &layout.roles, has_header)?;
        Ok(self.form(signs, layout, samples, (has_header, short)))
    }

    /// The decimal sign of most numbers in the lines: a point if as many have a comma.
    fn likely_decimal(&self, delimiter: u8) -> u8 {
        let rows = self.table.iter().map(|line| fields::fields(line.text, delimiter));
        let values: Vec<&[u8]> = rows.flat_map(|row| row.into_iter().skip(1)).collect();
        let with = |sign: u8, other: u8| {
            let is_with = |field: &&&[u8]| {
                fields::number(field, sign).is_some() && fields::number(field, other).is_none()
            };
            values.iter().filter(is_with).count()
        };
        if with(b',', b'.') > with(b'.', b',') { b',' } else { b'.' }
    }

    /// The likely cause of a first line that has one field.
    fn without_values(&self, delimiter: u8) -> FormError {
        let name = fit::delimiter_name(delimiter);
        let (first, second) = (&self.table[0], self.table.get(1).unwrap_or(&self.table[0]));
        let count = fields::count(second.text, delimiter);
        let is_header = |other: &u8| {
            let labels = fields::count(first.text, *other);
            labels > 1 && (labels == count || labels + 1 == count)
        };
        let other = [b'\t', b';', b','].into_iter().find(is_header);
        let what = match (other, count) {
            (Some(other), 2..) => format!(
                "is separated by {}, the lines after it by {name}; separate all by the same",
                fit::delimiter_name(other)
            ),
            (None, 2..) => format!(
                "is one field, the line after it has {count}, separated by {name}; if it is a \
                 title, remove it or put # before it, else complete it"
            ),
            _ if self.params.delimiter != DelimiterChoice::Auto => format!(
                "and the line after it are one field each if {name} separate them, as --delimiter \
                 says; leave it out"
            ),
            _ => "has no values; give an expression matrix, a line a gene".to_owned(),
        };
        FormError::line(first, what)
    }

    /// Whether the first line names the samples.
    fn has_header(&self, first: &[&[u8]], short: bool, signs: Dialect) -> Result<bool, FormError> {
        let is_number = |field: &&[u8]| value(field, signs.decimal, self.missing).is_some();
        match self.params.header {
            HeaderPresence::Present => Ok(true),
            HeaderPresence::Absent => Ok(false),
            HeaderPresence::Auto if short || is_blank(first[0]) => Ok(true),
            HeaderPresence::Auto if !first[1..].iter().all(is_number) => Ok(true),
            HeaderPresence::Auto => Err(FormError::line(
                &self.table[0],
                "may be a header or a gene, its values are numbers; say --header present or absent",
            )),
        }
    }

    fn fitted(&self, fit: &TableFit<'_>) -> Result<MatrixForm, FormError> {
        let full = fit.width() + fit.trailing;
        let named = fit.first.iter().rposition(|field| !is_blank(field)).map_or(0, |last| last + 1);
        let (width, short) = match self.params.header {
            HeaderPresence::Absent => (fit.width(), false),
            _ if named == full => (full, false),
            _ if named == fit.width() && fit.trailing == 1 && !header::is_label(fit.first[0]) => {
                return Err(self.trailing());
            }
            _ if named == fit.width() => (named, false),
            _ if named + 1 == full => (full, true),
            _ if named + 1 == fit.width() => (fit.width(), true),
            // One sample and nothing above it but a label, or a row of its own length.
            _ => return self.by_first_lines(),
        };
        let has_header = self.has_header(&fit.first[..named.max(1)], short, fit.signs)?;
        let names: Vec<&[u8]> = match (has_header, short) {
            (false, _) => Vec::new(),
            (true, true) => [&b""[..]].into_iter().chain(fit.first.iter().copied()).collect(),
            (true, false) => fit.first[..width].to_vec(),
        };
        let mut layout = self.roles(fit, &names, width)?;
        let samples = self.samples(&names, &layout.roles, has_header)?;
        layout.roles.resize(full, Role::Empty);
        let has_open_sign = self.params.decimal.byte().is_none() && fit::is_open_sign(fit);
        let form = self.form(fit.signs, layout, samples, (has_header, short));
        Ok(MatrixForm { has_open_sign, ..form })
    }

    /// Names of the samples, which are numbered where no header names them.
    fn samples(
        &self,
        labels: &[&[u8]],
        roles: &[Role],
        has_header: bool,
    ) -> Result<Vec<String>, FormError> {
        let values = roles.iter().filter(|&&role| role == Role::Value).count();
        if !has_header {
            return Ok(numbers(values));
        }
        let pairs = labels.iter().zip(roles).filter(|(_, role)| **role == Role::Value);
        header::texts(&self.table[0], &pairs.map(|(name, _)| *name).collect::<Vec<_>>())
    }

    fn trailing(&self) -> FormError {
        FormError::line(
            &self.table[0],
            "may name the samples of rows that end in a missing value, or the column of genes too, \
             with nothing behind the last field; name its first column gene, or remove what ends \
             the lines",
        )
    }

    fn roles(
        &self,
        fit: &TableFit,
        names: &[&[u8]],
        width: usize,
    ) -> Result<ColumnRoles, FormError> {
        let list = self.params.columns.as_deref();
        if let Some(what) = programs::fault(names, list) {
            return Err(FormError::line(&self.table[0], what));
        }
        let name = roles::indices(fit, names);
        let columns = MatrixColumns { fit, names, width, name };
        if let Some(number) = columns.number_as_name() {
            let what = format!(
                "begins with {}, where the name of a gene belongs; put a column of names before \
                 the samples",
                shown(number)
            );
            return Err(FormError::line(self.table.get(1).unwrap_or(&self.table[0]), what));
        }
        columns.layout(list).map_err(|what| FormError::line(&self.table[0], what))
    }

    fn form(
        &self,
        signs: Dialect,
        ColumnRoles { kind, roles }: ColumnRoles,
        samples: Vec<String>,
        (has_header, is_header_short): (bool, bool),
    ) -> MatrixForm {
        MatrixForm {
            kind,
            signs,
            roles,
            samples,
            has_header,
            is_header_short: has_header && is_header_short,
            begins_at: (0, 0),
            first_names: Vec::new(),
            missing: Vec::new(),
            rows: None,
            is_declared: false,
            has_open_sign: false,
        }
    }
}

fn numbers(count: usize) -> Vec<String> {
    (1..=count).map(|sample| sample.to_string()).collect()
}
