//! Gene expression matrices (GEM): text, one gene a line, its name and then a value a sample.
//!
//! Fields are separated by tabs, or by commas where there is no tab; names may stand in double
//! quotes. A header names the samples: one field shorter than the lines of genes (as KINC and R
//! write it) or of equal length with a label above the names of the genes. Without a header the
//! samples are called `1`, `2`, ... Empty lines and a byte order mark are skipped, lines may end in
//! CRLF, and the text may be compressed by gzip.

mod decimal;
mod layout;

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::thread;

use cuesta_core::budget::human;

use crate::storage::Input;
use cuesta_core::{Error, Result};
use flate2::read::MultiGzDecoder;
use memchr::{memchr, memchr_iter};

use crate::names;

use decimal::decimal;
pub(crate) use layout::LineLayout;

const OPERATION: &str = "input.matrix";

/// What stands for a missing value unless told otherwise; an empty field always does.
const MISSING: [&str; 3] = ["NA", "NaN", "nan"];

/// Expression of genes in samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpressionMatrix {
    /// Names of the genes, all different, in the order of the file.
    pub genes: Vec<String>,
    /// Names of the samples, in the order of the file.
    pub samples: Vec<String>,
    /// Values, gene after gene; NaN where missing, else finite.
    pub values: Vec<f64>,
}

impl ExpressionMatrix {
    /// The values of a gene (0-based), one a sample.
    pub fn row(&self, gene: usize) -> &[f64] {
        &self.values[gene * self.samples.len()..][..self.samples.len()]
    }

    /// Is any value missing?
    pub fn has_missing(&self) -> bool {
        self.values.iter().any(|value| value.is_nan())
    }
}

/// Does the first line name the samples?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeaderPresence {
    /// Found out from the first two lines; an error where both answers are possible.
    #[default]
    Auto,
    /// Yes.
    Present,
    /// No, it is a gene.
    Absent,
}

/// How a matrix is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Stands for a missing value, besides `NA`, `NaN`, `nan` and the empty field.
    pub missing: Option<String>,
    /// Whether there is a header.
    pub header: HeaderPresence,
    /// Threads to parse with.
    pub threads: usize,
    /// Most memory for the text and the values together.
    pub memory_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { missing: None, header: HeaderPresence::Auto, threads: 1, memory_bytes: u64::MAX }
    }
}

/// Reads a matrix from a file.
///
/// # Errors
/// `System` when the file cannot be read; `Input` with file and line for ragged lines, gene names
/// that are empty, doubled or not UTF-8, values that are not finite numbers, a file without genes
/// or samples, and a matrix beyond the memory limit.
pub fn read(path: &Path, options: &Options) -> Result<ExpressionMatrix> {
    let fail = |cause: std::io::Error| Error::system(OPERATION, "reading", path, &cause);
    let mut file = Input::open(path).map_err(fail)?;
    let limit = options.memory_bytes;
    let mut bytes = Vec::new();
    (&mut file).take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.starts_with(&[0x1F, 0x8B]) {
        let mut text = Vec::new();
        let decoder = MultiGzDecoder::new(&bytes[..]);
        decoder.take(limit.saturating_add(1)).read_to_end(&mut text).map_err(fail)?;
        bytes = text;
    }
    let name = path.display().to_string();
    if bytes.len() as u64 > limit {
        return Err(beyond(&name, options));
    }
    parse(&name, &bytes, options)
}

/// Parses the text of a matrix; `name` is what errors call it.
///
/// # Errors
/// As [`read`].
pub fn parse(name: &str, bytes: &[u8], options: &Options) -> Result<ExpressionMatrix> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let lines = lines_of(bytes);
    let Some(first) = lines.first() else {
        return Err(Error::input(OPERATION, format!("{name} is empty, expected a line a gene")));
    };
    let table = Table {
        name,
        options,
        delimiter: delimiter(&lines).ok_or_else(|| {
            let line = first.number;
            let text = format!("line {line} of {name} has neither a tab nor a comma");
            Error::input(OPERATION, text)
        })?,
    };
    let (samples, rows) = table.header(&lines)?;
    let size_bytes = bytes.len() as u64 + (rows.len() as u64) * (samples.len() as u64) * 8;
    if size_bytes > options.memory_bytes {
        return Err(beyond(name, options));
    }
    let (genes, values) = table.genes(rows, samples.len())?;
    table.check_unique(rows, &genes)?;
    Ok(ExpressionMatrix { genes, samples, values })
}

fn beyond(name: &str, options: &Options) -> Error {
    let limit = human(options.memory_bytes);
    let text = format!("{name} and its values need more than {limit}; raise --memory");
    Error::input(OPERATION, text)
}

/// A line that is not empty, without its end.
struct Line<'a> {
    /// From 1.
    number: usize,
    text: &'a [u8],
}

fn lines_of(bytes: &[u8]) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for (number, end) in (1..).zip(memchr_iter(b'\n', bytes).chain([bytes.len()])) {
        let text = &bytes[start..end];
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if !text.is_empty() {
            lines.push(Line { number, text });
        }
        start = end + 1;
    }
    lines
}

/// A header of one sample has no separator, so the second line counts too.
fn delimiter(lines: &[Line]) -> Option<u8> {
    let any = |wanted| lines.iter().take(2).any(|line| line.text.contains(&wanted));
    [b'\t', b','].into_iter().find(|&wanted| any(wanted))
}

/// What all lines of a text have in common.
struct Table<'a> {
    name: &'a str,
    options: &'a Options,
    delimiter: u8,
}

impl Table<'_> {
    fn error(&self, line: &Line, message: &str) -> Error {
        Error::input(OPERATION, format!("line {} of {} {message}", line.number, self.name))
    }

    /// Whether the first line is a header, and whether it is one field shorter than the next;
    /// `None` where both answers are possible.
    fn is_header(&self, lines: &[Line]) -> (Option<bool>, bool) {
        let fields = self.fields(lines[0].text);
        let width = lines.get(1).map(|row| self.fields(row.text).len());
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

    /// The names of the samples and the lines of the genes.
    fn header<'l, 'a>(&self, lines: &'l [Line<'a>]) -> Result<(Vec<String>, &'l [Line<'a>])> {
        let (first, rows) = (&lines[0], &lines[1..]);
        let fields = self.fields(first.text);
        let (is_header, shorter) = self.is_header(lines);
        let Some(is_header) = is_header else {
            return Err(self.error(
                first,
                "may be a header or a gene, its values are numbers; say --header present or absent",
            ));
        };
        if !is_header && fields.len() < 2 {
            return Err(self.error(first, "has a gene without values"));
        }
        if !is_header {
            return Ok(((1..fields.len()).map(|sample| sample.to_string()).collect(), lines));
        }
        if rows.is_empty() {
            return Err(self.error(first, "is the only one, expected a line a gene after it"));
        }
        let names = if shorter { &fields[..] } else { &fields[1..] };
        if names.is_empty() {
            return Err(self.error(first, "names no samples"));
        }
        let samples = names.iter().map(|field| self.text(first, field)).collect::<Result<_>>()?;
        Ok((samples, rows))
    }

    /// The fields of a line.
    fn fields<'l>(&self, mut line: &'l [u8]) -> Vec<&'l [u8]> {
        let mut fields = Vec::new();
        loop {
            let (field, rest) = self.split(line);
            fields.push(field);
            match rest {
                Some(rest) => line = rest,
                None => return fields,
            }
        }
    }

    /// The first field of a line, quotes included, and what follows its separator.
    fn split<'l>(&self, line: &'l [u8]) -> (&'l [u8], Option<&'l [u8]>) {
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
    fn text(&self, line: &Line, field: &[u8]) -> Result<String> {
        let text = str::from_utf8(field).map_err(|_| {
            self.error(line, &format!("has a name that is not UTF-8: {}", shown(field)))
        })?;
        Ok(match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            Some(quoted) => quoted.replace("\"\"", "\""),
            None => text.to_owned(),
        })
    }

    /// Names and values of the genes, on all threads.
    fn genes(&self, rows: &[Line], samples: usize) -> Result<(Vec<String>, Vec<f64>)> {
        let mut values = vec![0.0; rows.len() * samples];
        let portion = rows.len().div_ceil(self.options.threads.max(1)).max(1);
        let parts: Vec<Result<Vec<String>>> = thread::scope(|scope| {
            let parts = rows.chunks(portion).zip(values.chunks_mut(portion * samples));
            let workers: Vec<_> = parts
                .map(|(rows, values)| {
                    scope.spawn(move || {
                        let pairs = rows.iter().zip(values.chunks_mut(samples));
                        pairs.map(|(row, values)| self.gene(row, values)).collect()
                    })
                })
                .collect();
            workers.into_iter().map(join).collect()
        });
        let mut genes = Vec::with_capacity(rows.len());
        for part in parts {
            genes.extend(part?);
        }
        Ok((genes, values))
    }

    /// Parses the line of a gene: fills `values` and gives the name.
    fn gene(&self, line: &Line, values: &mut [f64]) -> Result<String> {
        let expected = values.len() + 1;
        let ragged = || {
            let count = self.fields(line.text).len();
            self.error(line, &format!("has {count} fields, expected {expected}"))
        };
        let (name, mut rest) = self.split(line.text);
        for (index, place) in values.iter_mut().enumerate() {
            let text = rest.ok_or_else(ragged)?;
            (*place, rest) = match decimal(text, self.delimiter) {
                Some((value, length)) => (value, text.get(length + 1..)),
                None => {
                    let (field, rest) = self.split(text);
                    (self.value(line, index, field)?, rest)
                }
            };
        }
        if rest.is_some() {
            return Err(ragged());
        }
        self.gene_name(line, name)
    }

    fn gene_name(&self, line: &Line, field: &[u8]) -> Result<String> {
        let name = self.text(line, field)?;
        if name.is_empty() {
            return Err(self.error(line, "has no gene name"));
        }
        names::check(&name).map_err(|what| self.error(line, &what))?;
        Ok(name)
    }

    /// A value that is not in plain decimal notation.
    fn value(&self, line: &Line, index: usize, field: &[u8]) -> Result<f64> {
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
    fn number(&self, field: &[u8]) -> Option<f64> {
        let text = str::from_utf8(field).ok()?.trim();
        let own = self.options.missing.as_deref();
        if text.is_empty() || MISSING.contains(&text) || own == Some(text) {
            return Some(f64::NAN);
        }
        text.parse().ok().filter(|value: &f64| !value.is_nan())
    }

    fn check_unique(&self, rows: &[Line], genes: &[String]) -> Result<()> {
        let mut seen = HashMap::with_capacity(genes.len());
        for (row, gene) in rows.iter().zip(genes) {
            if let Some(before) = seen.insert(gene.as_str(), row.number) {
                let name = shown(gene.as_bytes());
                let text = format!("names gene {name}, which line {before} has already");
                return Err(self.error(row, &text));
            }
        }
        Ok(())
    }
}

fn join<T>(worker: thread::ScopedJoinHandle<T>) -> T {
    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A field in quotes for a message, cut to a readable length.
fn shown(field: &[u8]) -> String {
    let text: Cow<str> = String::from_utf8_lossy(&field[..field.len().min(40)]);
    format!("{text:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    fn matrix(text: &str) -> Result<ExpressionMatrix> {
        parse("m.txt", text.as_bytes(), &Options::default())
    }

    fn message(text: &[u8]) -> String {
        parse("m.txt", text, &Options::default()).unwrap_err().message
    }

    fn names(names: &[String]) -> Vec<&str> {
        names.iter().map(String::as_str).collect()
    }

    #[test]
    fn a_header_may_be_one_field_short_or_have_a_label() {
        for text in ["s1\ts2\na\t1\t2\n", "gene\ts1\ts2\na\t1\t2", "\ts1\ts2\r\na\t1\t2\r\n"] {
            let matrix = matrix(text).unwrap();
            assert_eq!(names(&matrix.samples), ["s1", "s2"], "{text:?}");
            assert_eq!(names(&matrix.genes), ["a"]);
            assert_eq!(matrix.values, [1.0, 2.0]);
        }
    }

    #[test]
    fn numbered_samples_below_an_empty_label_are_a_header() {
        let matrix = matrix(",1,2\na,3,4\n").unwrap();
        assert_eq!((names(&matrix.samples), &matrix.values[..]), (vec!["1", "2"], &[3.0, 4.0][..]));
    }

    /// Found by fuzzing: without a header, the first line decides how many samples there are; a
    /// first line of one field made it none, and splitting the values into rows of none panicked.
    #[test]
    fn a_first_gene_without_values_is_refused() {
        let options = Options { header: HeaderPresence::Absent, ..Options::default() };
        let error = parse("m.txt", b"a\nb\t1\n", &options).unwrap_err();
        assert!(error.message.contains("line 1 of m.txt has a gene without values"), "{error}");
    }

    #[test]
    fn a_first_line_that_may_be_a_gene_must_be_explained() {
        let text = b"a\t1\t2\nb\t3\t4\n";
        assert!(message(text).contains("line 1 of m.txt may be a header or a gene"));
        let read = |header| parse("m", text, &Options { header, ..Options::default() }).unwrap();
        assert_eq!(names(&read(HeaderPresence::Absent).genes), ["a", "b"]);
        assert_eq!(names(&read(HeaderPresence::Absent).samples), ["1", "2"]);
        assert_eq!(names(&read(HeaderPresence::Present).genes), ["b"]);
    }

    #[test]
    fn commas_quotes_a_byte_order_mark_and_empty_lines_are_understood() {
        let text = "\u{FEFF}\"x, y\",s2\n\n\"a \"\"1\"\"\",1,-2.5e3\n\n";
        let matrix = matrix(text).unwrap();
        assert_eq!(names(&matrix.samples), ["x, y", "s2"]);
        assert_eq!(names(&matrix.genes), ["a \"1\""]);
        assert_eq!(matrix.values, [1.0, -2500.0]);
    }

    #[test]
    fn missing_values_have_several_names() {
        let text = "a\tb\tc\td\te\tf\ng\tNA\tNaN\tnan\t\t-\t\n";
        let options = Options { missing: Some("-".to_owned()), ..Options::default() };
        let matrix = parse("m", text.as_bytes(), &options).unwrap();
        assert!(matrix.values.iter().all(|value| value.is_nan()) && matrix.has_missing());
        assert!(message(text.as_bytes()).contains("sample 5: \"-\""));
    }

    #[test]
    fn bad_text_is_refused_with_its_line() {
        for (text, expected) in [
            (&b""[..], "m.txt is empty"),
            (b"\n\r\n", "m.txt is empty"),
            (b"abc\n", "line 1 of m.txt has neither a tab nor a comma"),
            (b"s1\ts2\n", "line 1 of m.txt is the only one"),
            (b"s1\ts2\na\t1\t2\n\nb\t1\n", "line 4 of m.txt has 2 fields, expected 3"),
            (b"s1\ts2\na\t1\t2\t3\n", "line 2 of m.txt has 4 fields, expected 2"),
            (b"s1\ts2\na\t1\t2\nb\t1\t2\t3\n", "line 3 of m.txt has 4 fields, expected 3"),
            (b"s1\na\t1\na\t2\n", "line 3 of m.txt names gene \"a\", which line 2 has"),
            (b"s1\na\t1\n\t2\n", "line 3 of m.txt has no gene name"),
            (b"s1\na\x07\t1\n", "line 2 of m.txt has a name with the control character U+0007"),
            (b"s1\na\xFF\t1\n", "line 2 of m.txt has a name that is not UTF-8"),
            (b"s\xFF\na\t1\n", "line 1 of m.txt has a name that is not UTF-8"),
            (b"s1\na\t1x\n", "line 2 of m.txt has something other than a number for sample 1"),
            (b"s1\na\t-nan\n", "something other than a number"),
            (b"s1\na\tinf\n", "line 2 of m.txt has an infinite value for sample 1"),
            (b"s1\na\t1e999\n", "an infinite value"),
        ] {
            assert!(message(text).contains(expected), "{}", message(text));
        }
    }

    #[test]
    fn the_first_bad_line_is_named_whatever_the_number_of_threads() {
        let mut text = b"s1\n".to_vec();
        (0..100).for_each(|gene| {
            writeln!(text, "g{gene}\t{}", if gene > 40 { "x" } else { "1" }).unwrap()
        });
        for threads in [1, 2, 3, 200] {
            let options = Options { threads, ..Options::default() };
            let error = parse("m", &text, &options).unwrap_err();
            assert!(error.message.contains("line 43 of m"), "{}", error.message);
        }
    }

    #[test]
    fn a_matrix_beyond_the_memory_limit_is_refused() {
        let options = Options { memory_bytes: 20, ..Options::default() };
        let error = parse("m", b"s1\ts2\na\t1\t2\n", &options).unwrap_err();
        assert!(error.message.contains("raise --memory"), "{}", error.message);
    }

    #[test]
    fn gzip_is_read_and_a_truncated_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.txt.gz");
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"s1\ts2\na\t1\t2\n").unwrap();
        let bytes = encoder.finish().unwrap();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path, &Options::default()).unwrap().values, [1.0, 2.0]);
        std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        let error = read(&path, &Options::default()).unwrap_err();
        assert!(error.message.contains("the file is cut short"), "{}", error.message);
    }

    proptest! {
        #[test]
        fn plain_decimals_parse_as_the_standard_library_does(
            text in "-?[0-9]{0,12}(\\.[0-9]{0,12})?",
        ) {
            if let Some((value, length)) = decimal(text.as_bytes(), b'\t') {
                prop_assert_eq!(length, text.len());
                prop_assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits());
            }
        }

        #[test]
        fn any_bytes_give_a_matrix_or_an_error(bytes in "[a1.,\t\n\"\r-]{0,60}") {
            if let Ok(matrix) = matrix(&bytes) {
                prop_assert_eq!(matrix.values.len(), matrix.genes.len() * matrix.samples.len());
            }
        }
    }
}
