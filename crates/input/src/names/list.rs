//! Recognises lists of names: headers, comments, quotes and columns that number the rows.

use super::check;
use super::text::Line;
use crate::table::{fields, no_utf8, shown};

/// Lines at the beginning of a list that are looked at before it is read.
const LINES_CHECKED: usize = 10;

/// Words above the names of a list, in lower case.
const HEADERS: [&str; 31] = [
    "gene",
    "genes",
    "gene_id",
    "geneid",
    "gene_ids",
    "gene_name",
    "gene_names",
    "gene name",
    "gene names",
    "gene_symbol",
    "gene symbol",
    "genename",
    "genesymbol",
    "symbol",
    "symbols",
    "hgnc_symbol",
    "ensembl_gene_id",
    "external_gene_name",
    "name",
    "names",
    "id",
    "ids",
    "id_ref",
    "probe",
    "probe_id",
    "probeset",
    "feature",
    "features",
    "feature_id",
    "unnamed: 0",
    "rownames",
];

/// Separators between the number of a row and its name.
const SEPARATORS: [u8; 4] = [b'\t', b',', b';', fields::SPACES];

/// Layout of a list of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListForm {
    /// Number of the last line above the names, 0 without one.
    above: usize,
    /// Separator and first number of a column that counts the rows, as pandas and R write.
    numbered: Option<(u8, u64)>,
}

/// Number of a line, and a sentence continuing "line N of FILE".
type Fault = (usize, String);

impl ListForm {
    /// Recognises a list whose rows are numbered; `None` where these lines are another text.
    ///
    /// # Errors
    /// A fault of a list that may be one of two kinds.
    pub fn numbered(lines: &[Line]) -> Result<Option<Self>, Fault> {
        let lines: Vec<&Line> =
            lines.iter().filter(|(_, text)| !fields::is_blank(text)).take(LINES_CHECKED).collect();
        for delimiter in SEPARATORS {
            if let Some(form) = numbered_by(&lines, delimiter)? {
                return Ok(Some(form));
            }
        }
        Ok(None)
    }

    /// Recognises a list of one name a line.
    ///
    /// # Errors
    /// A fault of a first line that may be a header, and of a table of several columns.
    pub fn plain(lines: &[Line]) -> Result<Self, Fault> {
        let filled = lines.iter().filter(|(_, text)| !text.is_empty());
        let mut rows: Vec<&Line> = filled.take(LINES_CHECKED).collect();
        let is_above = |text: &[u8]| text.starts_with(b"# ") || text.starts_with(b"##");
        let comments = rows.iter().take_while(|(_, text)| is_above(text)).count();
        let above = rows[..comments].last().map_or(0, |(number, _)| *number);
        rows.drain(..comments);
        let form = Self { above, numbered: None };
        let Some((number, text)) = rows.first() else { return Ok(form) };
        let next = rows.get(1).map(|(_, text)| text.as_slice());
        if text.starts_with(b">") {
            let what = "begins with >, as sequences in FASTA do; give one name a line, such as by \
                        grep '^>' FILE | tr -d '>'";
            return Err((*number, what.to_owned()));
        }
        if is_header(text, next) {
            let what = format!(
                "is {}: a header, or the name of gene 1? remove it, or give a table with the \
                 header gene<TAB>name",
                shown(text)
            );
            return Err((*number, what));
        }
        let commas = |text: &[u8]| memchr::memchr_iter(b',', text).count();
        let count = commas(text);
        if rows.len() > 1 && count > 1 && rows.iter().all(|(_, text)| commas(text) == count) {
            return Err((*number, "has fields separated by commas; give one name a line".into()));
        }
        Ok(form)
    }

    /// The name in a line, the next of `count` names before it; `None` above the names.
    ///
    /// # Errors
    /// A sentence continuing "line N of FILE".
    pub fn name(
        &self,
        (number, text): (usize, &[u8]),
        count: usize,
    ) -> Result<Option<String>, String> {
        if number <= self.above {
            return Ok(None);
        }
        let field = match self.numbered {
            None => text,
            Some(_) if text.is_empty() => return Ok(None),
            Some((delimiter, first)) => numbered_name(text, delimiter, first + count as u64)?,
        };
        if self.numbered.is_none() && text.starts_with(b"#") {
            return Err(format!(
                "is {}: a comment, or the name of gene {}? remove it, or give a table with the \
                 header gene<TAB>name",
                shown(text),
                count + 1
            ));
        }
        let name = match fields::is_quoted(field) || self.numbered.is_some() {
            true => fields::unquoted(field),
            false => str::from_utf8(field).ok().map(str::to_owned),
        };
        let name = name.ok_or_else(|| no_utf8(field))?;
        check(&name)?;
        Ok(Some(name))
    }
}

/// Recognises rows of a number and a name, with `delimiter` between them.
fn numbered_by(lines: &[&Line], delimiter: u8) -> Result<Option<ListForm>, Fault> {
    let rows: Vec<Vec<&[u8]>> =
        lines.iter().map(|(_, text)| fields::fields(text, delimiter)).collect();
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(None) };
    // R writes no label above the numbers of rows.
    let has_header = first.len() == 1 || number_of(first[0]).is_none();
    let data = &rows[usize::from(has_header)..];
    if last.len() != 2 || data.len() < 2 && !has_header || data.is_empty() {
        return Ok(None);
    }
    let Some(start) = number_of(data[0][0]).filter(|start| *start < 2) else { return Ok(None) };
    let counts =
        |(row, expected): (&Vec<&[u8]>, u64)| row.len() == 2 && number_of(row[0]) == Some(expected);
    if first.len() > 2 || !data.iter().zip(start..).all(counts) {
        return Ok(None);
    }
    if data.iter().all(|row| !fields::is_text(row[1])) {
        // A matrix of a sample, or a list of numbers such as those of Entrez?
        let is_integer = |row: &Vec<&[u8]>| number_of(row[1]).is_some();
        let what = "counts its lines in front of numbers: names of genes, or values of a sample? \
                    give one name a line";
        let number = lines[usize::from(has_header)].0;
        let is_unclear = data.len() > 1 && data.iter().all(is_integer);
        return if is_unclear { Err((number, what.to_owned())) } else { Ok(None) };
    }
    let above = if has_header { lines[0].0 } else { 0 };
    Ok(Some(ListForm { above, numbered: Some((delimiter, start)) }))
}

/// The name in a row that has the number `expected`.
fn numbered_name(text: &[u8], delimiter: u8, expected: u64) -> Result<&[u8], String> {
    let row = fields::fields(text, delimiter);
    match row[..] {
        [number, name] if number_of(number) == Some(expected) => Ok(name),
        _ => Err(format!(
            "is {}, the lines before count their names, and {expected} is next; give one name a \
             line",
            shown(text)
        )),
    }
}

/// Whether a line of a list is what stands above names, of which `next` is the first.
fn is_header(text: &[u8], next: Option<&[u8]>) -> bool {
    let delimiter = [b'\t', b',', b';'].into_iter().find(|byte| text.contains(byte));
    let words = fields::fields(text, delimiter.unwrap_or(b','));
    let is_word = |field: &&[u8]| {
        HEADERS.contains(&String::from_utf8_lossy(fields::bare(field)).to_lowercase().as_str())
    };
    if words.iter().any(is_word) || words.len() > 1 && fields::is_blank(words[0]) {
        return true;
    }
    // R's label of a vector, and pandas' of a series.
    let next = fields::bare(next.unwrap_or_default());
    match fields::bare(text) {
        b"x" | b"V1" => next.len() > 1 || next.first().is_some_and(u8::is_ascii_uppercase),
        b"0" => fields::is_text(next),
        _ => false,
    }
}

/// The whole number in a field, quotes left out.
pub fn number_of(text: &[u8]) -> Option<u64> {
    let text = fields::bare(text);
    let digits = (1..=9).contains(&text.len()) && text.iter().all(u8::is_ascii_digit);
    digits.then(|| text.iter().fold(0, |sum, &digit| sum * 10 + u64::from(digit - b'0')))
}
