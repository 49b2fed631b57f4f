//! Recognises the layout of points in text from its first lines.

mod coordinates;

use super::fields::{self, SPACES, is_blank};
use super::fit::{self, Dialect, NONE, Requirements, TableFit};
use super::matrix::FormError;
use super::{
    DelimiterChoice, HEAD_LINES, HeaderPresence, Role, TableLine, TableLines, TableParams, columns,
    declared_delimiter, titles,
};

/// Dialect of one number a line with a decimal comma.
const ALONE_COMMA: Dialect = Dialect { delimiter: NONE, decimal: b',' };
/// Layout of points.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointsForm {
    /// Delimiter and decimal sign.
    pub signs: Dialect,
    /// Fields of a line.
    pub roles: Vec<Role>,
    /// Number of the line that names the columns; there is none where it is 0.
    pub header: usize,
    /// Names of the coordinates, where they have some.
    pub names: Vec<String>,
    /// Number and use of a column that is left out, in words.
    pub left_out: Option<String>,
    /// Whether the header is that of `centres.tsv`.
    pub is_answer: bool,
    /// Whether the first line declares the delimiter (`sep=;`).
    pub is_declared: bool,
    /// Whether a point may be a decimal sign or one between thousands, as far as the first lines
    /// tell.
    pub has_open_sign: bool,
}

impl PointsForm {
    /// Numbers of a point.
    pub fn dimensions(&self) -> usize {
        self.roles.iter().filter(|&&role| role == Role::Value).count()
    }
}

/// Names of the columns that are coordinates.
fn names_of(labels: &[&[u8]], roles: &[Role]) -> Vec<String> {
    let pairs = labels.iter().zip(roles).filter(|(_, role)| **role == Role::Value);
    pairs.filter_map(|(name, _)| fields::unquoted(fields::bare(name))).collect()
}

/// Whether a line holds a point: it is not empty, and no comment.
pub fn has_point(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    !line.is_empty() && line[0] != b'#'
}

fn is_number(field: &[u8], decimal: u8) -> bool {
    fields::number(field, decimal).is_some()
}

fn is_any_number(field: &[u8]) -> bool {
    is_number(field, b'.') || is_number(field, b',')
}

/// Recognises the layout of the text whose first complete lines these are.
///
/// # Errors
/// `FormError` for a text that can be read in no way, or in two.
pub fn recognise(bytes: &[u8], params: &TableParams) -> Result<Option<PointsForm>, FormError> {
    let lines: Vec<TableLine> =
        TableLines::new(bytes, 0).filter(|line| has_point(line.text)).take(HEAD_LINES).collect();
    if let Some(first) = lines.first()
        && let Some(delimiter) = declared_delimiter(first.text)
    {
        let delimiter = delimiter.map_err(|what| FormError::line(first, what))?;
        let is_chosen = params.delimiter != DelimiterChoice::Auto;
        let delimiter = if is_chosen { params.delimiter } else { delimiter };
        let params = TableParams { delimiter, ..params.clone() };
        let form = of_lines(&lines[1..], &params)?;
        return Ok(form.map(|form| PointsForm { is_declared: true, ..form }));
    }
    of_lines(&lines, params)
}

/// The layout of lines that are points, or names of columns above them.
fn of_lines(lines: &[TableLine], params: &TableParams) -> Result<Option<PointsForm>, FormError> {
    if lines.is_empty() {
        return Ok(None);
    }
    if let Some(what) = titles::title(lines) {
        return Err(FormError::line(&lines[0], what));
    }
    let demand = Requirements {
        params,
        is_first_row: params.header == HeaderPresence::Absent,
        values_from: 0,
        is_value: &is_number,
        allows_single: true,
        is_annotation: &|_| false,
    };
    let mut fits = fit::fits(lines, &demand);
    let line = &lines[0];
    let is_header = !fields::fields(line.text, b',').iter().any(|field| is_any_number(field));
    if fits.len() > 1 && is_header && line.text.contains(&b',') {
        fits.retain(|fit| fit.signs.delimiter != NONE);
    }
    // The first line, where it is a point, has to fit as well.
    let is_point = |fit: &TableFit| {
        let mut columns = 0..fit.width();
        columns.all(|column| {
            fit.is_text[column]
                || fit.first.get(column).is_some_and(|f| is_number(f, fit.signs.decimal))
        })
    };
    if fits.len() > 1 && fits.iter().any(is_point) {
        fits.retain(is_point);
    }
    let job = Recognition { params, line };
    // Lines with and without a comma are rather lines of unequal length.
    let is_guess = params.decimal.byte().is_none() && params.delimiter.byte().is_none();
    if is_guess && matches!(fits.as_slice(), [fit] if fit.signs == ALONE_COMMA) {
        fits.clear();
    }
    match fits.as_slice() {
        [] => job.by_first_line(lines.get(1)).map(Some),
        [fit] if params.decimal.byte().is_none() && fit::is_doubtful_sign(fit, 0) => {
            let word = fit::decimal_word(fit.signs.decimal);
            Err(FormError::line(
                line,
                format!(
                    "and those after it have numbers with a decimal {word} or with {word}s between \
                     thousands; give --decimal {word}, or write numbers without {word}s"
                ),
            ))
        }
        [fit] => job.fitted(fit).map(Some),
        [one, two, ..] => Err(FormError::line(
            line,
            format!(
                "may hold {} or {}; give {} or {}",
                held(one),
                held(two),
                remedy(one),
                remedy(two)
            ),
        )),
    }
}

fn held(fit: &TableFit) -> String {
    let numbers = if fit.width() == 1 { "1 number" } else { &format!("{} numbers", fit.width()) };
    let comma = if fit.signs.decimal == b',' { " with a decimal comma" } else { "" };
    match fit.signs.delimiter {
        NONE => format!("{numbers}{comma}"),
        delimiter => {
            format!("{numbers}{comma} separated by {}", fit::delimiter_name(delimiter))
        }
    }
}

fn remedy(fit: &TableFit) -> String {
    match (fit.signs.delimiter, fit.signs.decimal) {
        (NONE, b',') => "--decimal comma".to_owned(),
        (delimiter, _) => format!("--delimiter {}", fit::delimiter_word(delimiter)),
    }
}

struct Recognition<'a> {
    params: &'a TableParams,
    line: &'a TableLine<'a>,
}

impl Recognition<'_> {
    /// The layout of the first line, where no signs fit all: the reader then names the line that is
    /// laid out differently.
    fn by_first_line(&self, second: Option<&TableLine>) -> Result<PointsForm, FormError> {
        let row = second.unwrap_or(self.line);
        let has = |byte: u8| self.line.text.contains(&byte) || row.text.contains(&byte);
        let separator = [b'\t', b';', b',', b' '].into_iter().find(|&byte| has(byte));
        let delimiter = self.params.delimiter.byte().or(separator).unwrap_or(NONE);
        let decimal = self.params.decimal.byte().unwrap_or(b'.');
        let first = fields::fields(self.line.text, delimiter);
        let has_number = |line: &TableLine| {
            fields::fields(line.text, delimiter).iter().any(|field| is_any_number(field))
        };
        let has_header = match self.params.header {
            HeaderPresence::Present => true,
            HeaderPresence::Absent => false,
            // Names stand above numbers, whichever line below is laid out differently.
            HeaderPresence::Auto => !has_number(self.line) && second.is_some_and(has_number),
        };
        let row = if has_header { row } else { self.line };
        let width = fields::count(row.text, delimiter);
        let mut roles = vec![Role::Value; width];
        if let Some(list) = &self.params.columns {
            let names = if has_header { fit::labels(&first, width) } else { Vec::new() };
            roles.fill(Role::Skipped);
            self.chosen(list, &names, width)?.iter().for_each(|&c| roles[c] = Role::Value);
        }
        let labels = if has_header { fit::labels(&first, width) } else { Vec::new() };
        let names = names_of(&labels, &roles);
        let header = if has_header { self.line.number } else { 0 };
        let signs = Dialect { delimiter, decimal };
        Ok(PointsForm {
            signs,
            roles,
            header,
            names,
            left_out: None,
            is_answer: false,
            is_declared: false,
            has_open_sign: false,
        })
    }

    /// The columns of `--columns`, from 0.
    fn chosen(&self, list: &str, names: &[&[u8]], width: usize) -> Result<Vec<usize>, FormError> {
        columns::chosen(list, names, width).map_err(|what| FormError::line(self.line, what))
    }

    fn fitted(&self, fit: &TableFit) -> Result<PointsForm, FormError> {
        let first = &fit.first;
        let named = first.iter().rposition(|field| !is_blank(field)).map_or(0, |last| last + 1);
        let full = fit.width() + fit.trailing;
        let is_row = |column: usize| {
            first.get(column).is_some_and(|field| is_number(field, fit.signs.decimal))
        };
        let values = || (0..fit.width()).filter(|&column| !fit.is_text[column]);
        let has_number = first.iter().any(|field| is_any_number(field));
        let numbered = coordinates::numbered_header(fit, named)
            .map_err(|what| FormError::line(self.line, what));
        let is_numbered = self.params.header == HeaderPresence::Auto && numbered?;
        let short = named + 1 == fit.width() && (!has_number || is_numbered);
        let has_header = match self.params.header {
            HeaderPresence::Present => true,
            HeaderPresence::Absent => false,
            HeaderPresence::Auto if short || is_numbered => true,
            HeaderPresence::Auto if named != fit.width() && named != full => {
                return self.by_first_line(None);
            }
            HeaderPresence::Auto if values().all(is_row) => {
                // A column of text that begins with a number has a bad line.
                let is_bad = |column: usize| fit.is_text[column] && fit.is_read[column];
                if (0..fit.width()).any(|column| is_bad(column) && is_row(column)) {
                    return self.by_first_line(None);
                }
                self.check_first(fit)?;
                false
            }
            HeaderPresence::Auto if has_number => return self.by_first_line(None),
            HeaderPresence::Auto => true,
        };
        if has_header && self.params.header == HeaderPresence::Auto {
            self.check_names(first, fit.signs.delimiter)?;
        }
        let names: Vec<&[u8]> = match (has_header, short || named + 1 == fit.width()) {
            (false, _) => Vec::new(),
            (true, true) => [&b""[..]].into_iter().chain(first.iter().copied()).collect(),
            (true, false) => first.clone(),
        };
        let (mut roles, left_out) = self.roles(fit, &names)?;
        let is_answer = coordinates::is_answer(&names);
        let names = names_of(&names, &roles);
        roles.resize(full, Role::Empty);
        let header = if has_header { self.line.number } else { 0 };
        let has_open_sign = self.params.decimal.byte().is_none() && fit::is_open_sign(fit);
        let (signs, is_declared) = (fit.signs, false);
        Ok(PointsForm {
            signs,
            roles,
            header,
            names,
            left_out,
            is_answer,
            is_declared,
            has_open_sign,
        })
    }

    /// Refuses a first line of numbers that are separated otherwise than those below.
    fn check_names(&self, names: &[&[u8]], delimiter: u8) -> Result<(), FormError> {
        let is_row = |name: &&&[u8], other: u8| {
            let numbers = fields::fields(fields::bare(name), other);
            numbers.len() > 1 && numbers.iter().all(|field| is_any_number(field))
        };
        let delimiters =
            [b'\t', b';', b',', SPACES].into_iter().filter(|&other| other != delimiter);
        let pairs =
            names.iter().flat_map(|name| delimiters.clone().map(move |other| (name, other)));
        let Some((_, other)) = pairs.into_iter().find(|(name, other)| is_row(name, *other)) else {
            return Ok(());
        };
        let (other, name) = (fit::delimiter_name(other), fit::delimiter_name(delimiter));
        let what = format!(
            "has numbers separated by {other}, the lines after it by {name}; separate all by the \
             same"
        );
        Err(FormError::line(self.line, what))
    }

    /// Refuses a first line that may be names such as pandas gives columns without a name.
    fn check_first(&self, fit: &TableFit) -> Result<(), FormError> {
        let number =
            |field: &&[u8]| str::from_utf8(fields::bare(field)).ok()?.parse::<usize>().ok();
        let numbers: Option<Vec<usize>> = fit.first[..fit.width()].iter().map(number).collect();
        let Some(numbers) = numbers else { return Ok(()) };
        let counts = |from: usize| (from..).zip(&numbers).all(|(place, &number)| number == place);
        let is_fraction =
            |column: usize| fit.rows.iter().all(|row| row[column].contains(&fit.signs.decimal));
        let are_fractions =
            (0..numbers.len()).filter(|&column| fit.is_read[column]).all(is_fraction);
        let is_doubtful = match numbers.len() {
            _ if fit.rows[0] == fit.first => false,
            1 => counts(0) && are_fractions,
            count => {
                let is_above_fractions = fit.rows.len() > 1 && are_fractions;
                counts(0) || (count > 2 && counts(1)) || is_above_fractions
            }
        };
        match is_doubtful {
            false => Ok(()),
            true => Err(FormError::line(
                self.line,
                "may be a header of numbers, or a point; say --header present or absent",
            )),
        }
    }

    /// Coordinates, and columns that are none.
    fn roles(
        &self,
        fit: &TableFit,
        names: &[&[u8]],
    ) -> Result<(Vec<Role>, Option<String>), FormError> {
        let width = fit.width();
        if let Some(list) = &self.params.columns {
            let chosen = self.chosen(list, names, width)?;
            let mut roles = vec![Role::Skipped; width];
            chosen.iter().for_each(|&column| roles[column] = Role::Value);
            let text = format!("{} of {width} columns left out", width - chosen.len());
            return Ok((roles, (chosen.len() < width).then_some(text)));
        }
        let has_header = !names.is_empty() || self.params.header == HeaderPresence::Absent;
        coordinates::recognise(fit, names, !has_header)
            .map_err(|what| FormError::line(self.line, what))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DecimalChoice, DelimiterChoice};
    use super::*;

    fn form(text: &str) -> Result<PointsForm, FormError> {
        recognise(text.as_bytes(), &TableParams::default()).map(Option::unwrap)
    }

    #[track_caller]
    fn is(text: &str, delimiter: u8, decimal: u8, dimensions: usize) {
        let form = form(text).unwrap();
        assert_eq!((form.signs, form.dimensions()), (Dialect { delimiter, decimal }, dimensions));
    }

    #[test]
    fn delimiters_and_decimal_signs_are_recognised() {
        is("1.5,2\n3,4\n", b',', b'.', 2);
        is("1,5;2,25\n3;4\n", b';', b',', 2);
        is("1,5\t2,25\n0,5\t4\n", b'\t', b',', 2);
        is("1,5 2,25\n3 4\n", b' ', b',', 2);
        is(" 1   2\n3 4 \n", b' ', b'.', 2);
        is("1, 2.5\n3, 4.5\n", b',', b'.', 2);
        is("1\n2\n", NONE, b'.', 1);
        is("1.5\t2\t\n3\t4\t\n", b'\t', b'.', 2);
        is("\"1,5\",\"2,5\"\n\"3,25\",\"4,5\"\n", b',', b',', 2);
        is("# x y\n5 7\n8 9\n", b' ', b'.', 2);
    }

    #[test]
    fn headers_indices_and_names_of_rows_are_no_points() {
        for (text, dimensions, header) in [
            ("x,y\n1,5\n2,6\n", 2, 1),
            (",x,y\n0,1.5,2\n1,3.5,4\n", 2, 1),
            ("Unnamed: 0\tx\n0\t1.5\n1\t2.5\n", 1, 1),
            ("x y\na 1 2\nb 3 4\n", 2, 1),
            ("\"x\" \"y\"\n\"1\" 1 2\n\"2\" 3 4\n", 2, 1),
            ("a;1;2\nb;3;4\n", 2, 0),
            ("x,y,\n1,2,\n3,4,\n", 2, 1),
        ] {
            let form = form(text).unwrap();
            assert_eq!((form.dimensions(), form.header), (dimensions, header), "{text:?}");
        }
    }

    #[test]
    fn a_first_line_may_declare_the_delimiter() {
        for text in ["sep=;\n1,5;2\n3;4\n", "\"sep=;\"\r\nx;y\r\n1,5;2\r\n3;4\r\n"] {
            let form = form(text).unwrap();
            let signs = Dialect { delimiter: b';', decimal: b',' };
            assert_eq!((form.signs, form.dimensions(), form.is_declared), (signs, 2, true));
        }
        assert!(form("sep=|\n1|2\n").unwrap_err().what.contains("separated by \"|\""));
    }

    #[test]
    fn two_readings_are_refused_with_both_named() {
        for (text, expected) in [
            ("1,5\n2,25\n", "give --delimiter comma or --decimal comma"),
            ("0,1,2\n0.5,0.25,3\n", "--header present or absent"),
            ("1,234\t5,678\n2,345\t6,789\n", "--decimal comma"),
            ("id,x\n1,0.5\n2,0.25\n", "--columns 2-2 to leave it out, --columns 1-2 to keep it"),
            ("0,0.5\n1,0.25\n2,7\n3,8\n4,9\n", "--columns 2-2 to leave it out, --columns 1-2"),
            ("2019,2020\n0.5,0.25\n1.5,2.5\n", "--header present or absent"),
            (",1,2\n0.5,0.25,1.5\n1.5,2.5,3.5\n", "--header present if it names the columns"),
            ("My points,\nx,y\n1,2\n", "is a title"),
            ("x,y,kind\n1,2,a\n3,4,b\n", "--columns 1-2"),
            ("1,5\n2,25\n3,75\n", "give --delimiter comma or --decimal comma"),
            ("0.5 2.5\n1.5\t3.25\n2.5\t6.25\n", "separated by spaces, the lines after it by tabs"),
            ("0.5;2.5\n1.5,3.25\n2.5,6.25\n", "separated by semicolons, the lines after it by com"),
        ] {
            let error = form(text).unwrap_err();
            assert!(error.what.contains(expected), "{text:?}: {}", error.what);
        }
    }

    #[test]
    fn lines_of_unequal_length_are_no_decimal_commas() {
        let ragged = form("1,2\n3\n").unwrap();
        assert_eq!((ragged.signs.delimiter, ragged.dimensions()), (b',', 2));
    }

    /// A word below a line of names made that line a point: the message was that "x" is no number,
    /// with a remedy for it.
    #[test]
    fn names_stand_above_numbers_whatever_a_later_line_holds() {
        assert_eq!(form("x\ty\n1\t2\n3\tfoo\n4\t5\n").unwrap().header, 1);
        assert_eq!(form("x\ty\n1\t2\n3\n").unwrap().header, 1);
        assert_eq!(form("1\t2\nx\ty\n3\t4\n").unwrap().header, 0);
    }

    #[test]
    fn columns_that_are_left_out_may_hold_anything() {
        let text = "x\tkind\tz\n1\ta\t2\n3\t5\t4\n5\t;\t6\n";
        for columns in ["x,z", "1,3"] {
            let params = TableParams { columns: Some(columns.to_owned()), ..Default::default() };
            let form = recognise(text.as_bytes(), &params).unwrap().unwrap();
            assert_eq!((form.dimensions(), form.header), (2, 1));
        }
    }

    #[test]
    fn options_decide() {
        let read =
            |text: &str, params: TableParams| recognise(text.as_bytes(), &params).unwrap().unwrap();
        let comma = TableParams { decimal: DecimalChoice::Comma, ..TableParams::default() };
        assert_eq!(read("1,5\n2,25\n", comma).dimensions(), 1);
        let comma = TableParams { delimiter: DelimiterChoice::Comma, ..TableParams::default() };
        assert_eq!(read("1,5\n2,25\n", comma).dimensions(), 2);
        for (header, line) in [(HeaderPresence::Present, 1), (HeaderPresence::Absent, 0)] {
            let params = TableParams { header, ..TableParams::default() };
            assert_eq!(read("0,1\n0.5,0.25\n", params).header, line);
        }
        let columns = Some("x,z".to_owned());
        let params = TableParams { columns, ..TableParams::default() };
        let form = read("x,kind,z\n1,a,2\n3,b,4\n", params);
        assert_eq!((form.dimensions(), form.names), (2, vec!["x".to_owned(), "z".to_owned()]));
    }
}
