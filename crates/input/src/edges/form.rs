//! Recognises the layout of an edge list from its first lines.

use cuesta_core::fixed::Micro;

use super::headers::{self, CLUSTERS, UNBOUNDED};
use crate::kinc;
use crate::limits::CLUSTERS_MAX;
use crate::row::{self, Row};
use crate::table::fields::{self, SPACES};
use crate::table::fit::{self, delimiter_name};
use crate::table::{HEAD_BYTES, TableLine, TableLines, declared_delimiter, shown};

/// Lines that are looked at.
pub const LINES_MAX: usize = 100;
/// Least score that is not rounded to 1 or less.
const CORRELATION_END: f64 = 1.0000005;

/// Columns of KINC 3's tidy text that a version-1 line has too, in its order.
const KINC: [&str; 7] = [
    "num_clusters",
    "cluster_samples",
    "missing_samples",
    "cluster_outliers",
    "pair_outliers",
    "too_low",
    "samples",
];

/// Layout of an edge list.
#[derive(Clone, Debug)]
pub struct EdgesForm {
    /// Separator of fields.
    pub delimiter: u8,
    /// Decimal sign.
    pub decimal: u8,
    /// Fields of a line.
    pub width: usize,
    /// Number of the line with names of the columns; 0 without one.
    pub header: usize,
    /// Number of the line that declares the delimiter (`sep=;`); 0 without one.
    pub declaration: usize,
    /// Column of the first gene.
    pub source: usize,
    /// Column of the second gene.
    pub target: usize,
    /// Column of the score.
    pub score: usize,
    /// Number that scores are divided by: 1,000 for STRING's combined score.
    pub scale: u32,
    /// Column of the cluster.
    cluster: Option<usize>,
    /// Number of the first cluster in it: 0, or 1 where a pair of n clusters has a cluster n.
    first_cluster: u32,
    /// Columns of KINC's numbers and sample mask.
    kinc: Option<[usize; 7]>,
    /// Names of the columns of both genes and the score.
    labels: [String; 3],
}

/// Line of a fault, and a sentence continuing "line N of FILE".
type Fault = (usize, String);

/// The layout of an edge list that begins with these lines; `None` where they are of another kind.
pub fn recognise(lines: &[TableLine]) -> Result<Option<EdgesForm>, Fault> {
    let declared = lines.first().and_then(|first| declared_delimiter(first.text));
    let Some(declared) = declared else { return undeclared(lines, None) };
    let number = lines[0].number;
    let delimiter = declared.map_err(|what| (number, what))?.byte();
    let form = undeclared(&lines[1..], delimiter)?;
    Ok(form.map(|form| EdgesForm { declaration: number, ..form }))
}

/// As [`recognise`]; a comment right above the lines, without its sign, is their header if it fits,
/// such as STRING's `#node1 node2 ... combined_score`.
pub fn recognise_below(
    comment: Option<TableLine>,
    lines: &[TableLine],
) -> Result<Option<EdgesForm>, Fault> {
    if let Some(comment) = comment {
        let number = comment.number;
        let headed: Vec<TableLine> = [comment].into_iter().chain(lines.iter().copied()).collect();
        // A comment in words is no fault.
        if let Ok(Some(form)) = recognise(&headed)
            && form.header == number
            && !lines.is_empty()
        {
            return Ok(Some(form));
        }
    }
    let form = recognise(lines)?;
    if let (Some(form), Some(comment)) = (&form, comment)
        && form.is_row(comment.text)
    {
        return Err((comment.number, hidden(comment.text)));
    }
    Ok(form)
}

/// The sentence for a line that begins with the sign of comments, and may be an edge.
///
/// `text` is the line without the sign.
pub fn hidden(text: &[u8]) -> String {
    let line = [b"#", text].concat();
    format!(
        "is {}: a comment, or an edge of a gene whose name begins with #? remove the line, or \
         write the name in quotes",
        shown(&line)
    )
}

/// The layout of lines behind one that declares the delimiter `chosen`, if any does.
fn undeclared(lines: &[TableLine], chosen: Option<u8>) -> Result<Option<EdgesForm>, Fault> {
    let Some(first) = lines.first() else { return Ok(None) };
    if is_kinc(first.text) {
        return Ok(None);
    }
    let has_tab = lines.iter().any(|line| line.text.contains(&b'\t'));
    let mut ragged = None;
    for delimiter in [b'\t', b';', b',', SPACES] {
        // No name and no score has a tab in it.
        let is_other = chosen.is_some_and(|chosen| delimiter != chosen);
        if is_other || has_tab && matches!(delimiter, b';' | b',') {
            continue;
        }
        let rows: Vec<Vec<&[u8]>> =
            lines.iter().map(|line| fields::fields(line.text, delimiter)).collect();
        let width = rows[0].len();
        if width < 2 {
            continue;
        }
        if let Some(row) = rows.iter().position(|row| row.len() != width) {
            // R's names of rows are in all lines but the header.
            let is_likely = row > 1 && is_header_or_edge(&rows[0]);
            ragged = ragged.or(is_likely.then(|| (row, rows[row].len(), width, delimiter)));
            continue;
        }
        if let Some(form) = of_rows(first, &rows, delimiter)? {
            return Ok(Some(form));
        }
    }
    match ragged {
        Some((row, count, width, delimiter)) => {
            Err((lines[row].number, fit::unequal(count, width, delimiter)))
        }
        None => Ok(None),
    }
}

/// Whether a line names columns of genes and of scores, or is two names and a score.
fn is_header_or_edge(first: &[&[u8]]) -> bool {
    let label = |field: &&[u8]| String::from_utf8_lossy(fields::bare(field)).to_lowercase();
    let labels: Vec<String> = first.iter().map(label).collect();
    let is_number = |field| fields::number(field, b'.').is_some();
    matches!(headers::columns(&labels), [Some(_), Some(_), Some(_)])
        || matches!(first, [one, two, score]
            if fields::is_text(one) && fields::is_text(two) && is_number(score))
}

/// Whether a line is KINC text: 11 or 7 fields, the first two whole numbers.
fn is_kinc(line: &[u8]) -> bool {
    let fields = fields::fields(line, b'\t');
    let is_integer = |field: &&[u8]| !field.is_empty() && field.iter().all(u8::is_ascii_digit);
    matches!(fields.len(), 7 | 11) && fields[..2].iter().all(is_integer)
}

/// Name of the kind of gene pairs that a text begins with; `None` where it holds something else.
pub fn kind_of_pairs(bytes: &[u8]) -> Option<&'static str> {
    let start = &bytes[..bytes.len().min(HEAD_BYTES)];
    // The last line may be cut.
    let complete =
        if start.len() < bytes.len() { memchr::memrchr(b'\n', start)? } else { start.len() };
    let (mut comment, mut lines) = (None, Vec::new());
    for line in TableLines::new(&start[..complete], 0) {
        match line.text.strip_prefix(b"#") {
            Some(text) if lines.is_empty() => comment = Some(TableLine { text, ..line }),
            Some(_) => {}
            None => lines.push(line),
        }
        if lines.len() == LINES_MAX {
            break;
        }
    }
    let is_row = |line: &TableLine| {
        is_kinc(line.text)
            && kinc::shape_of(line.text)
                .and_then(|shape| kinc::line::parse(line.text, &shape))
                .is_ok()
    };
    if lines.first().is_some_and(is_row) && lines.iter().all(is_row) {
        return Some("KINC text");
    }
    recognise_below(comment, &lines).ok().flatten().map(|_| "an edge list")
}

fn of_rows(
    first: &TableLine,
    rows: &[Vec<&[u8]>],
    delimiter: u8,
) -> Result<Option<EdgesForm>, Fault> {
    let labels: Vec<String> = rows[0]
        .iter()
        .map(|field| String::from_utf8_lossy(fields::bare(field)).to_lowercase())
        .collect();
    let width = labels.len();
    let ((source, target, score), has_header) = match headers::columns(&labels) {
        [Some(source), Some(target), Some(score)] => ((source, target, score), true),
        [Some(_), Some(_), None] => {
            let text = "names two columns of genes and none of scores; name a column score";
            return Err((first.number, text.to_owned()));
        }
        _ if width == 3 => ((0, 1, 2), false),
        _ => return Ok(None),
    };
    let data = &rows[usize::from(has_header)..];
    let is_number = |field: &[u8], decimal: u8| fields::number(field, decimal).is_some();
    let numbers = |decimal: &u8| {
        let mut scores = data.iter().map(|row| row[score]);
        scores.clone().all(|score| is_missing(fields::bare(score)) || is_number(score, *decimal))
            && scores.any(|score| is_number(score, *decimal))
    };
    let decimal = [b'.', b','].into_iter().find(numbers);
    let is_text =
        |column: usize| data.iter().any(|row| fields::number(row[column], b'.').is_none());
    if has_header && headers::needs_words(&labels[source]) && !(is_text(source) && is_text(target))
    {
        return Ok(None);
    }
    let Some(decimal) = decimal.filter(|_| has_header || (is_text(0) && is_text(1))) else {
        // Scores may be missing in some lines of a list whose header says what it is.
        return match has_header {
            false => Ok(None),
            true => Ok(Some(form(rows, delimiter, b'.', (source, target, score), first))),
        };
    };
    let mut form = form(rows, delimiter, decimal, (source, target, score), first);
    form.header = if has_header { first.number } else { 0 };
    Ok(Some(form))
}

fn form(
    rows: &[Vec<&[u8]>],
    delimiter: u8,
    decimal: u8,
    (source, target, score): (usize, usize, usize),
    first: &TableLine,
) -> EdgesForm {
    let labels: Vec<String> =
        rows[0].iter().map(|field| String::from_utf8_lossy(fields::bare(field)).into()).collect();
    let lower: Vec<String> = labels.iter().map(|label| label.to_lowercase()).collect();
    let place = |word: &str| lower.iter().position(|label| label == word);
    let scores = rows.iter().skip(1).filter_map(|row| fields::number(row.get(score)?, decimal));
    // Files of STRING to download have thousandths; tables of its web pages have scores up to 1.
    let is_string = lower[score] == "combined_score" && scores.into_iter().any(|it| it > 1.0);
    let cluster = CLUSTERS.iter().find_map(|word| place(word));
    let is_last = |row: &Vec<&[u8]>| {
        let [index, count] = [cluster, place(KINC[0])].map(|place| integer(row.get(place?)?).ok());
        index.is_some() && index == count
    };
    let kinc: Option<Vec<usize>> = KINC.iter().map(|word| place(word)).collect();
    EdgesForm {
        delimiter,
        decimal,
        width: labels.len(),
        header: first.number,
        declaration: 0,
        source,
        target,
        score,
        scale: if is_string { 1000 } else { 1 },
        cluster,
        first_cluster: u32::from(rows.iter().skip(1).any(is_last)),
        kinc: kinc.and_then(|columns| columns.try_into().ok()),
        labels: [source, target, score].map(|column| labels[column].clone()),
    }
}

impl EdgesForm {
    /// Whether a comment, without its sign, is the rest of a line with names and a score.
    fn is_row(&self, text: &[u8]) -> bool {
        let row = fields::fields(text, self.delimiter);
        let is_name = text.first().is_some_and(|byte| !b" \t#".contains(byte));
        is_name
            && row.len() == self.width
            && fields::number(row[self.score], self.decimal).is_some()
    }

    /// The layout, in words.
    pub fn words(&self) -> String {
        let name = match (self.kinc, self.header) {
            (Some(_), _) => "KINC 3's tidy text".to_owned(),
            (None, 0) => "an edge list without a header (two genes and a score)".to_owned(),
            _ => format!("an edge list ({})", self.labels.join(", ")),
        };
        let comma = if self.decimal == b',' { ", decimal commas" } else { "" };
        let scale = if self.scale == 1 { "" } else { ", scores divided by 1,000" };
        let declared = if self.declaration == 0 { "" } else { ", the first line (sep=) left out" };
        format!("{name}, separated by {}{comma}{scale}{declared}", delimiter_name(self.delimiter))
    }

    /// Checks that a score is a correlation, unless the column's name allows any.
    ///
    /// # Errors
    /// A sentence continuing "line N of FILE".
    pub fn check_score(&self, score: f64, field: &[u8]) -> Result<(), String> {
        let is_unbounded = || {
            let label = self.labels[2].to_lowercase();
            self.header > 0 && UNBOUNDED.contains(&label.as_str())
        };
        if score.abs() < CORRELATION_END || is_unbounded() {
            return Ok(());
        }
        let remedy = match self.header {
            0 => {
                "in a list without a header; of STRING? then put its header above (protein1 \
                 protein2 combined_score), and scores are divided by 1,000; else divide them, or \
                 put the header gene1 gene2 weight above if they are no correlations"
            }
            _ => "divide them, or name the column weight if they are no correlations",
        };
        let separator = if self.header == 0 { " " } else { "; " };
        Err(format!("has the score {}, beyond -1 to 1{separator}{remedy}", shown(field)))
    }

    /// The cluster of a row, counted from 1.
    ///
    /// # Errors
    /// A sentence continuing "line N of FILE".
    pub fn cluster_of(&self, row: &[&[u8]]) -> Result<u32, String> {
        let Some(place) = self.cluster else { return Ok(1) };
        let (number, first) = (integer(row[place])?, self.first_cluster);
        match number.checked_sub(first).filter(|index| *index < CLUSTERS_MAX) {
            Some(index) => Ok(index + 1),
            None => {
                let last = CLUSTERS_MAX - 1 + first;
                Err(format!("has cluster {number}, give one from {first} to {last}"))
            }
        }
    }

    /// Appends the line of KINC version-1 text for a row.
    ///
    /// # Errors
    /// A sentence continuing "line N of FILE".
    pub fn append_kinc_line(
        &self,
        (gene1, gene2, cluster): (u32, u32, u32),
        score: Micro,
        fields: &[&[u8]],
        line: &mut Vec<u8>,
    ) -> Result<(), String> {
        let mut numbers = [1, 1, 0, 0, 0, 0];
        let mut mask: &[u8] = b"1";
        if let Some(columns) = &self.kinc {
            for (number, &column) in numbers.iter_mut().zip(columns) {
                *number = integer(fields[column])?;
            }
            mask = fields[columns[6]];
            row::check_mask(mask).map_err(|what| format!("is damaged: {what}"))?;
        }
        let [num_clusters, cluster_samples, missing, outliers, pair_outliers, threshold] = numbers;
        let row = Row {
            gene1,
            gene2,
            cluster,
            num_clusters,
            cluster_samples,
            missing,
            outliers,
            pair_outliers,
            threshold,
            scores: &[score],
            mask,
        };
        row.append_kinc_v1(line);
        Ok(())
    }
}

/// Whether a field says that there is no score.
pub fn is_missing(field: &[u8]) -> bool {
    matches!(field, b"" | b"NA" | b"NaN" | b"nan")
}

fn integer(field: &[u8]) -> Result<u32, String> {
    let text = str::from_utf8(fields::bare(field)).unwrap_or_default();
    text.parse().map_err(|_| format!("has {}, expected a whole number", shown(field)))
}
