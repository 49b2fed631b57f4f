//! Traits of samples: a table whose first column names the samples, a trait a column.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};
use std::path::Path;

use cuesta_core::budget::Budget;
use cuesta_core::{Error, Result};
use cuesta_input::table::{DecimalChoice, counters, fields, kinds};
use cuesta_input::unpack;

use crate::input::LeftOut;
use crate::params::MatrixParams;

const OPERATION: &str = "input.traits";

/// Words for a missing value in tables of numbers that groups of samples may be called.
const GROUPS: [&str; 5] = ["none", "nd", "ND", "missing", "Missing"];

/// Bytes of memory for each byte of a table, as text and as fields.
const BYTES_OF_A_BYTE: u64 = 8;

/// Headers of a column that may just number the rows, in lower case.
const INDEXES: [&str; 8] = ["", "unnamed: 0", "index", "x", "v1", "...1", "row", "level_0"];

/// Headers of a column of the names of samples, in lower case.
const SAMPLES: [&str; 7] =
    ["sample", "samples", "sample_id", "sampleid", "sample_name", "sample id", "sample name"];

/// Largest number of levels of a trait in words.
const LEVELS_MAX: usize = 50;

/// Traits in the order of the samples of a matrix; NaN where a value is missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traits {
    /// Name of each trait; a level of a trait in words is `trait=level`.
    pub names: Vec<String>,
    /// Values of each trait.
    pub values: Vec<Vec<f64>>,
    /// Samples and traits that are left out.
    pub left_out: Vec<LeftOut>,
}

/// Table of traits as it is written.
struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// Takes out a first column that numbers the rows, as pandas and R write it, where another
    /// column names the samples; that becomes the first.
    ///
    /// # Errors
    /// `Input` where both may name the samples.
    fn put_samples_first(&mut self, shown: &str, samples: &[String]) -> Result<()> {
        let samples: HashSet<&str> = samples.iter().map(String::as_str).collect();
        let label = |column: usize| self.header[column].to_lowercase();
        let names_samples = |column: usize| SAMPLES.contains(&label(column).as_str());
        let is_index = INDEXES.contains(&label(0).as_str());
        if names_samples(0) || !self.counts_rows() {
            return Ok(());
        }
        let candidates: Vec<usize> = (1..self.header.len())
            .filter(|column| is_index || names_samples(*column))
            .filter(|column| self.may_name(*column, &samples))
            .collect();
        let Some(&column) =
            candidates.iter().find(|column| names_samples(**column)).or(candidates.first())
        else {
            return Ok(());
        };
        let name = &self.header[column];
        if self.rows.iter().any(|row| samples.contains(row[0].as_str())) {
            let text = format!(
                "{shown} has two columns that may name the samples: the first, which counts its \
                 rows, and {name}; leave the first out, such as by index=False of pandas' to_csv \
                 or row.names=FALSE of R's write.csv, or write sample above the first if it names \
                 them"
            );
            return Err(Error::input(OPERATION, text));
        }
        if is_index {
            for row in self.rows.iter_mut().chain([&mut self.header]) {
                row.swap(0, column);
                row.remove(column);
            }
        }
        Ok(())
    }

    /// Whether the first column has the numbers of the rows, from 0 or 1 on.
    fn counts_rows(&self) -> bool {
        counters::counts(self.rows.iter().map(|row| row[0].as_bytes()))
    }

    /// Whether a column has names all different, at least half of them of samples.
    fn may_name(&self, column: usize, samples: &HashSet<&str>) -> bool {
        let names: HashSet<&str> = self.rows.iter().map(|row| row[column].as_str()).collect();
        let matches = names.iter().filter(|name| samples.contains(**name)).count();
        names.len() == self.rows.len() && matches > 0 && 2 * matches >= names.len()
    }
}

/// Reads the traits of `samples`, by their names.
///
/// # Errors
/// `Input` with file and line for a text that is no table, a sample that is named twice, and where
/// no sample is one of the matrix; `System`.
pub fn read(
    path: &Path,
    samples: &[String],
    params: &MatrixParams,
    budget: &Budget,
) -> Result<Traits> {
    let shown = path.display().to_string();
    let bytes = text_of(path, budget)?;
    let _lease = budget.take(BYTES_OF_A_BYTE * bytes.len() as u64, "the traits")?;
    let mut table = table(&shown, &bytes, params)?;
    table.put_samples_first(&shown, samples)?;
    let mut row_of_sample = HashMap::new();
    for (row, fields) in table.rows.iter().enumerate() {
        if row_of_sample.insert(fields[0].as_str(), row).is_some() {
            let text = format!("{shown} names sample {} twice; keep one of its rows", fields[0]);
            return Err(Error::input(OPERATION, text));
        }
    }
    let rows: Vec<Option<usize>> =
        samples.iter().map(|sample| row_of_sample.get(sample.as_str()).copied()).collect();
    if let Some(sample) = samples.iter().find(|sample| **sample == table.header[0]) {
        let text = format!(
            "{shown} begins with sample {sample}, not with the names of its traits; add a first \
             line such as sample, age"
        );
        return Err(Error::input(OPERATION, text));
    }
    if rows.iter().all(Option::is_none) {
        return Err(Error::input(OPERATION, strangers(&shown, &table, samples)));
    }
    let mut traits = Traits::default();
    let absent = |name: &String, reason| LeftOut { kind: "sample", name: name.clone(), reason };
    let without = samples.iter().zip(&rows).filter(|(_, row)| row.is_none());
    traits.left_out.extend(without.map(|(name, _)| absent(name, "has no traits")));
    let strange = table.rows.iter().filter(|row| !samples.contains(&row[0]));
    let reason = "has traits but no expression";
    traits.left_out.extend(strange.map(|row| absent(&row[0], reason)));
    let missing = params.missing_words();
    let is_missing = |text: &str| is_missing_word(text) || missing.iter().any(|word| word == text);
    for (column, name) in table.header.iter().enumerate().skip(1) {
        let present: Vec<&str> = table.rows.iter().map(|row| row[column].as_str()).collect();
        let present: Vec<&str> = present.into_iter().filter(|text| !is_missing(text)).collect();
        let has_commas = has_commas(&present, params.table.decimal);
        check_thousands(&shown, name, &present, params.table.decimal)?;
        check_words(&shown, name, &present, has_commas)?;
        let texts: Vec<Option<&str>> = rows
            .iter()
            .map(|row| row.map(|row| table.rows[row][column].as_str()).filter(|x| !is_missing(x)))
            .collect();
        add(&mut traits, name, &texts, has_commas);
    }
    Ok(traits)
}

/// Returns the text of a file, unpacked.
fn text_of(path: &Path, budget: &Budget) -> Result<Vec<u8>> {
    let failed = |cause: io::Error| unpack::failure(OPERATION, path, &cause);
    let mut bytes = Vec::new();
    // More than this is refused for the memory that its fields need.
    let limit = budget.free_bytes() / BYTES_OF_A_BYTE + 1;
    unpack::open(path).map_err(failed)?.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    let refuse = |what| Error::input(OPERATION, format!("{} {what}", path.display()));
    kinds::check_text(&bytes).map_err(refuse)?;
    Ok(bytes)
}

/// Whether a field is empty or a word for a missing value in any table.
fn is_missing_word(text: &str) -> bool {
    text.is_empty() || fields::is_missing_word(text.as_bytes()) && !GROUPS.contains(&text)
}

/// Refuses a trait of numbers with a few words among them, which would be its levels.
fn check_words(shown: &str, name: &str, present: &[&str], has_commas: bool) -> Result<()> {
    let words: Vec<&&str> = present.iter().filter(|it| number(it, has_commas).is_none()).collect();
    if words.is_empty() || 2 * words.len() >= present.len() {
        return Ok(());
    }
    let text = format!(
        "{shown} has {:?} in the trait {name}, whose other values are numbers; give {} if it \
         stands for a missing value, write a number, or take the column out",
        words[0],
        fields::missing_option(&[], words[0].as_bytes())
    );
    Err(Error::input(OPERATION, text))
}

/// Refuses a number such as `1,200`, which may be 1200 or 1.2, where nothing tells which.
fn check_thousands(
    shown: &str,
    name: &str,
    present: &[&str],
    decimal: DecimalChoice,
) -> Result<()> {
    let is_grouped = |text: &str| fields::may_be_thousands(text.as_bytes(), b',');
    let mut with_comma = present.iter().filter(|text| text.contains(',')).peekable();
    let Some(first) = with_comma.peek().copied() else { return Ok(()) };
    if matches!(decimal, DecimalChoice::Comma) || !with_comma.all(|text| is_grouped(text)) {
        return Ok(());
    }
    let text = format!(
        "{shown} has {first:?} in the trait {name}, which may have a decimal comma or one between \
         thousands; write it without, or give --decimal comma"
    );
    Err(Error::input(OPERATION, text))
}

/// Whether a comma is the decimal sign of numbers: where the user says so, and where none of them
/// has a point. What is known of the matrix says nothing about the traits.
fn has_commas(present: &[&str], decimal: DecimalChoice) -> bool {
    matches!(decimal, DecimalChoice::Comma) || present.iter().all(|text| !text.contains('.'))
}

/// The finite number in a field, by a comma too where `has_commas`.
fn number(text: &str, has_commas: bool) -> Option<f64> {
    let point = if has_commas { text.replace(',', ".") } else { text.to_owned() };
    point.parse::<f64>().ok().filter(|value| value.is_finite())
}

/// Returns the message for traits of other samples than those of the matrix, with what may be the
/// cause.
fn strangers(shown: &str, table: &Table, samples: &[String]) -> String {
    let first = |names: &mut dyn Iterator<Item = &String>| {
        names.take(2).cloned().collect::<Vec<_>>().join(", ")
    };
    let names: HashSet<&str> = samples.iter().map(String::as_str).collect();
    let is_mangled = |name: &String| name.strip_prefix('X').is_some_and(|it| names.contains(it));
    let is_plain = |name: &String| names.contains(format!("X{name}").as_str());
    let remedy = if table.header.iter().skip(1).any(|name| names.contains(name.as_str())) {
        "its columns are samples of the matrix; turn it, so that a row is a sample"
    } else if table.rows.iter().any(|row| is_mangled(&row[0]) || is_plain(&row[0])) {
        "R has put an X before the names of one of them; read both with check.names = FALSE"
    } else if let Some(name) = column_of_samples(table, &names) {
        return format!(
            "{shown}: its column {name} names samples of the matrix, and its first column ({}, \
             ...) does not; make {name} the first column",
            first(&mut table.rows.iter().map(|row| &row[0])),
        );
    } else {
        "name the samples in the first column as the matrix does"
    };
    format!(
        "{shown}: none of its {} samples ({}, ...) is one of the matrix ({}, ...); {remedy}",
        table.rows.len(),
        first(&mut table.rows.iter().map(|row| &row[0])),
        first(&mut samples.iter()),
    )
}

/// Returns the header of the first column that may name the samples.
fn column_of_samples<'t>(table: &'t Table, samples: &HashSet<&str>) -> Option<&'t str> {
    let column = (1..table.header.len()).find(|column| table.may_name(*column, samples))?;
    Some(&table.header[column])
}

/// Adds a trait: its numbers, or a trait a level, without the first of two.
fn add(traits: &mut Traits, name: &str, texts: &[Option<&str>], has_commas: bool) {
    let mut leave_out = |reason| {
        traits.left_out.push(LeftOut { kind: "trait", name: name.to_owned(), reason });
    };
    let present: Vec<&str> = texts.iter().flatten().copied().collect();
    if present.is_empty() {
        return leave_out("has no value");
    }
    if present.iter().all(|text| number(text, has_commas).is_some()) {
        traits.names.push(name.to_owned());
        let value = |text: &Option<&str>| text.and_then(|text| number(text, has_commas));
        let values = texts.iter().map(|text| value(text).unwrap_or(f64::NAN));
        traits.values.push(values.collect());
        return;
    }
    let mut levels = present.clone();
    levels.sort_unstable();
    levels.dedup();
    if levels.len() > LEVELS_MAX || levels.len() == present.len() && levels.len() > 2 {
        return leave_out("is text with too many levels");
    }
    // The first of two levels would be the other one negated, and count twice in q.
    let first = usize::from(levels.len() == 2);
    for level in &levels[first..] {
        traits.names.push(format!("{name}={level}"));
        let is_level =
            |text: &Option<&str>| text.map_or(f64::NAN, |text| f64::from(u8::from(text == *level)));
        traits.values.push(texts.iter().map(is_level).collect());
    }
}

fn table(shown: &str, bytes: &[u8], params: &MatrixParams) -> Result<Table> {
    let refuse = |text: String| Err(Error::input(OPERATION, format!("{shown} {text}")));
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let before = &bytes[..error.valid_up_to()];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            return refuse(format!(
                "has text on line {line} that is not UTF-8; convert the file with iconv -f latin1 \
                 -t utf-8"
            ));
        }
    };
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let is_row = |line: &str| !line.trim().is_empty() && !line.starts_with('#');
    let mut lines = (1..).zip(text.lines()).filter(|(_, line)| is_row(line));
    let Some((_, first)) = lines.next() else {
        return refuse("is empty; give a table of samples and traits".to_owned());
    };
    // The delimiter of the matrix may be another one.
    let chosen = params.table.delimiter.byte().filter(|byte| first.as_bytes().contains(byte));
    let delimiter = chosen.unwrap_or_else(|| delimiter(first));
    let split = |line: &str| -> Vec<String> {
        let fields = fields::fields(line.as_bytes(), delimiter).into_iter();
        fields.map(|field| String::from_utf8_lossy(fields::bare(field)).into_owned()).collect()
    };
    let mut header = split(first);
    let mut rows = Vec::new();
    for (number, line) in lines {
        let row = split(line);
        if row.len() == header.len() + 1 && rows.is_empty() {
            // As R writes it: no label above the names.
            header.insert(0, String::new());
        }
        if row.len() != header.len() {
            let (count, expected) = (row.len(), header.len());
            return refuse(format!("has {count} fields on line {number}, expected {expected}"));
        }
        if let Some(field) = row.iter().chain(&header).find(|it| it.contains(char::is_control)) {
            return refuse(format!("has a control character in {field:?} by line {number}"));
        }
        rows.push(row);
    }
    if rows.is_empty() || header.len() < 2 {
        return refuse("has no trait; give a column of sample names, then a trait a column".into());
    }
    let mut names = HashSet::new();
    if let Some(name) = header[1..].iter().find(|name| !names.insert(name.as_str())) {
        return refuse(format!("has two columns {name}; give each trait a name of its own"));
    }
    Ok(Table { header, rows })
}

/// Returns the delimiter that is most frequent in a header; a tab before the others.
fn delimiter(header: &str) -> u8 {
    let count = |delimiter: u8| header.bytes().filter(|byte| *byte == delimiter).count();
    if count(b'\t') > 0 || count(b',') + count(b';') == 0 {
        return b'\t';
    }
    if count(b';') > count(b',') { b';' } else { b',' }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traits(text: &str) -> Result<Traits> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        let samples = ["a", "b", "c", "d"].map(str::to_owned);
        read(&path, &samples, &MatrixParams::default(), &Budget::new(1 << 20))
    }

    #[test]
    fn traits_are_aligned_by_name_and_texts_are_levels() {
        let read = traits("id,age,sex,code\nd,4,m,w\nb,2.5,f,x\n\"a\",NA,f,y\nz,9,m,z\n").unwrap();
        assert_eq!(read.names, ["age", "sex=m"]);
        assert!(read.values[0][0].is_nan() && read.values[0][2].is_nan());
        assert_eq!((read.values[0][1], read.values[0][3]), (2.5, 4.0));
        assert_eq!((read.values[1][1], read.values[1][3]), (0.0, 1.0));
        let names: Vec<_> = read.left_out.iter().map(|it| (it.kind, it.name.as_str())).collect();
        assert_eq!(names, [("sample", "c"), ("sample", "z"), ("trait", "code")]);
    }

    /// A packed table was no UTF-8 text, and of two columns of a name each had its own row.
    #[test]
    fn a_packed_table_is_read_and_other_kinds_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv.gz");
        let samples = ["a", "b"].map(str::to_owned);
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read(&path, &samples, &MatrixParams::default(), &Budget::new(1 << 20))
        };
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut packed, b"id,age,drug\na,1,none\nb,-,some\n").unwrap();
        let traits = read(&packed.finish().unwrap()).unwrap();
        assert_eq!(traits.names, ["age", "drug=some"]);
        assert!(traits.values[0][1].is_nan());
        for (bytes, expected) in [
            (&b"PAR1\x15\x04"[..], "is Parquet; write it as text"),
            (b"\xFF\xFEi\0d\0", "is UTF-16 text (Excel's Unicode text); convert it"),
            (b"id,age,age\na,1,2\n", "has two columns age; give each trait a name of its own"),
        ] {
            let error = read(bytes).unwrap_err().message();
            assert!(error.contains(expected), "{error}");
        }
    }

    /// The index of pandas was taken for the names of samples that are numbers, and the names for a
    /// trait: correlations with the traits of other samples. It is left out, or refused.
    #[test]
    fn a_column_that_numbers_the_rows_does_not_name_the_samples() {
        for index in ["", "Unnamed: 0", "index", "\"\""] {
            let text = format!("{index},sample,age\n0,c,28\n1,a,26\n2,b,33\n");
            let read = traits(&text).unwrap();
            assert_eq!(read.names, ["age"], "{index}");
            assert_eq!(read.values[0][..3], [26.0, 33.0, 28.0]);
        }
        let numbered = |text: &str| {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t.csv");
            std::fs::write(&path, text).unwrap();
            let samples = ["0", "1", "2", "3"].map(str::to_owned);
            read(&path, &samples, &MatrixParams::default(), &Budget::new(1 << 20))
        };
        for index in ["", "Unnamed: 0", "n"] {
            let text = format!("{index},sample,age\n0,3,28\n1,0,26\n2,1,33\n");
            let error = numbered(&text).unwrap_err().message();
            assert!(error.contains("two columns that may name the samples: the first"), "{error}");
            assert!(error.contains("and sample; leave the first out, such as"), "{error}");
        }
        assert_eq!(numbered("sample,rank\n0,3\n1,0\n2,1\n").unwrap().values[0][0], 3.0);
        assert_eq!(numbered(",age\n0,30\n1,20\n2,30\n").unwrap().values[0][2], 30.0);
        assert_eq!(numbered("sample,age\n3,30\n1,20\n").unwrap().values[0][3], 30.0);
        let error = traits("gsm,sample,age\nGSM1,b,1\nGSM2,a,2\n").unwrap_err().message();
        assert!(error.contains("its column sample names samples of the matrix"), "{error}");
        assert!(error.ends_with("make sample the first column"), "{error}");
    }

    #[test]
    fn a_table_in_latin_1_is_refused_with_the_way_to_convert_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        std::fs::write(&path, b"id,place\na,x\nb,Z\xFCrich\n").unwrap();
        let samples = ["a", "b"].map(str::to_owned);
        let read = read(&path, &samples, &MatrixParams::default(), &Budget::new(1 << 20));
        let error = read.unwrap_err().message();
        assert!(error.contains("on line 3 that is not UTF-8; convert the file with iconv"));
    }

    #[test]
    fn a_table_that_cannot_be_used_is_refused_in_a_line() {
        for (text, expected) in [
            ("", "is empty"),
            ("id\tage\n", "has no trait"),
            ("id\na\n", "has no trait"),
            ("id\tage\na\t1\t2\t3\n", "has 4 fields on line 2, expected 2"),
            ("id\tage\na\t1\na\t2\n", "names sample a twice"),
            ("id\tage\na\t1\nb\tunknown\nc\t2\n", "has \"unknown\" in the trait age"),
            ("id\tage\nx\t1\ny\t2\n", "none of its 2 samples (x, y, ...)"),
            ("trait\tb\ta\nage\t1\t2\n", "turn it, so that a row is a sample"),
            ("id\tage\nXa\t1\nXb\t2\n", "R has put an X before the names"),
            ("a\t1\nb\t2\n", "begins with sample a"),
            ("id;age\na;1,200\nb;900\n", "has \"1,200\" in the trait age"),
            ("id;age\na;1,200\nb;2.5\nc;3.5\n", "has \"1,200\" in the trait age"),
        ] {
            let error = traits(text).unwrap_err().message();
            assert!(error.contains(expected), "{error}");
        }
        let read = traits("# cohort 7\rid;age\ra;1,5\rb;null\rc;2\r").unwrap();
        assert_eq!((&read.names[..], read.values[0][0]), (&["age".to_owned()][..], 1.5));
        assert!(read.values[0][1].is_nan());
        assert_eq!(traits("id;age\na;1,25\nb;2,500\n").unwrap().values[0][1], 2.5);
        let shorter = traits("age\theight\na\t1\t2\nb\t3\t4\n").unwrap();
        assert_eq!(shorter.names, ["age", "height"]);
    }
}
