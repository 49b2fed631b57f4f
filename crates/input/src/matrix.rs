//! Gene expression matrices (GEM): text, one gene a line, its name and then a value a sample.
//!
//! The layout is recognised by [`crate::table::matrix`]: delimiter, decimal sign, header, columns
//! that are no samples, GCT, GEO's series matrix. Without a header the samples are called `1`, `2`,
//! ... Empty lines and a byte order mark are skipped, lines may end in LF, CRLF or CR, and the text
//! may be compressed as [`crate::unpack`] says. Rows that count reads of no gene, such as HTSeq's
//! `__no_feature`, are left out.
//!
//! The text passes through in blocks of lines, so that only the matrix and a few blocks of text are
//! in memory, compressed or not.

mod blocks;
mod decimal;
mod doubts;
mod forms;
mod gathering;
mod genes;
mod layout;
mod present;
mod room;
pub mod sparse;
mod summaries;
mod table;

use std::collections::HashSet;
use std::path::Path;
use std::thread;

use cuesta_core::Result;

use blocks::{TextBlock, TextBlocks};
pub use forms::GeneMatrix;
use gathering::Gathering;
pub use genes::GeneFilter;
pub(crate) use layout::LineLayout;
pub use present::enough_values;
use room::Room;

use crate::table::matrix::{MatrixForm, is_enough};
use crate::table::{TableParams, wording};
use crate::unpack;

const OPERATION: &str = "input.matrix";

/// Bytes of text that a thread parses at a time.
const THREAD_BLOCK_BYTES: u64 = 2 << 20;
/// The smallest block of text.
const BLOCK_BYTES_MIN: u64 = 64 << 10;
/// Blocks of text that would fill the memory: what is made from a block has room beside it.
const BLOCKS_OF_MEMORY: u64 = 32;

/// Expression of genes in samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpressionMatrix {
    /// Names of the genes, all different, in the order of the file.
    pub genes: Vec<String>,
    /// Names of the samples, in the order of the file.
    pub samples: Vec<String>,
    /// Values, gene after gene; NaN where missing, else finite.
    pub values: Vec<f64>,
    /// Number of rows that count reads of no gene, such as `__no_feature`, and are left out.
    pub left_out: u64,
}

impl ExpressionMatrix {
    /// The values of a gene (0-based), one a sample.
    pub fn row(&self, gene: usize) -> &[f64] {
        &self.values[gene * self.samples.len()..][..self.samples.len()]
    }

    /// Swaps genes and samples.
    fn turn(&mut self) {
        let (rows, columns) = (self.genes.len(), self.samples.len());
        let mut turned = Vec::with_capacity(self.values.len());
        for column in 0..columns {
            turned.extend((0..rows).map(|row| self.values[row * columns + column]));
        }
        self.values = turned;
        std::mem::swap(&mut self.genes, &mut self.samples);
    }

    /// Number of samples that have the name of one before them.
    pub fn repeated_samples(&self) -> u64 {
        repeated(&self.samples)
    }

    /// Whether any value is missing.
    pub fn has_missing(&self) -> bool {
        self.values.iter().any(|value| value.is_nan())
    }
}

/// Number of names that are that of another before them.
fn repeated(names: &[String]) -> u64 {
    let different: HashSet<&String> = names.iter().collect();
    (names.len() - different.len()) as u64
}

/// Options of reading a matrix.
#[derive(Clone, Debug)]
pub struct Options {
    /// Layout of the text, if it is not to be detected.
    pub table: TableParams,
    /// Markers of a missing value, besides `NA`, `NaN`, `nan` and the empty field.
    pub missing: Vec<String>,
    /// Whether rows are samples, and columns genes.
    pub transpose: bool,
    /// Number of threads that parse.
    pub threads: usize,
    /// Memory limit of the matrix and the text that is being parsed, in bytes.
    pub memory_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            table: TableParams::default(),
            missing: Vec::new(),
            transpose: false,
            threads: 1,
            memory_bytes: u64::MAX,
        }
    }
}

impl Options {
    /// Bytes of a block of text.
    fn block_bytes(&self) -> usize {
        let for_threads = THREAD_BLOCK_BYTES.saturating_mul(self.threads.max(1) as u64);
        for_threads.min(self.memory_bytes / BLOCKS_OF_MEMORY).max(BLOCK_BYTES_MIN) as usize
    }
}

/// Reads a matrix from a file.
///
/// # Errors
/// `System` when the file cannot be read; `Input` with file and line for ragged lines, gene names
/// that are empty, doubled or not UTF-8, values that are not finite numbers, a file without genes
/// or samples, and a matrix beyond the memory limit.
pub fn read(path: &Path, options: &Options) -> Result<ExpressionMatrix> {
    if sparse::is_sparse(path) {
        return read_sparse(path, options);
    }
    read_text(path, options).map_err(|error| unpack::damage_or(path, error))
}

/// Reads the file of a sparse matrix, with all its zeros.
fn read_sparse(path: &Path, options: &Options) -> Result<ExpressionMatrix> {
    let sparse = sparse::read(path, options.memory_bytes)?;
    let name = path.display().to_string();
    let room = Room::new(&name, options.memory_bytes, Box::new(|| 1.0));
    let values_bytes = 8 * (sparse.genes.len() as u64).saturating_mul(sparse.samples.len() as u64);
    room.take(sparse.size_bytes().saturating_add(values_bytes))?;
    let mut matrix = sparse.into_dense();
    if options.transpose {
        room.take(values_bytes)?;
        matrix.turn();
    }
    Ok(matrix)
}

fn read_text(path: &Path, options: &Options) -> Result<ExpressionMatrix> {
    let name = path.display().to_string();
    let mut text = TextBlocks::open(path)?;
    let room = Room::new(&name, options.memory_bytes, text.progress());
    let (mut current, mut next) = (TextBlock::default(), TextBlock::default());
    text.read_into(&mut current, options.block_bytes(), &room)?;
    while !current.is_last() && !is_enough(current.lines()) {
        text.extend(&mut current, &room)?;
    }
    let mut gathering = Gathering::begin(options, &room, current.lines())?;
    let mut rest = gathering.begins_at();
    while !current.is_last() {
        let lines = &current.lines()[rest..];
        let mut read = || text.read_into(&mut next, options.block_bytes(), &room);
        let (added, read) = if options.threads > 1 {
            thread::scope(|scope| {
                let reader = scope.spawn(read);
                (gathering.add(lines), join(reader))
            })
        } else {
            (gathering.add(lines), read())
        };
        added?;
        read?;
        std::mem::swap(&mut current, &mut next);
        rest = 0;
    }
    gathering.add(&current.lines()[rest..])?;
    current.close(&room);
    next.close(&room);
    gathering.finish()
}

/// Returns sentences on the layout of the matrix in a file, and on doubts about it; `transpose`
/// swaps its rows and columns.
///
/// # Errors
/// As [`recognise`].
pub fn describe(path: &Path, options: &Options, transpose: bool) -> Result<Vec<String>> {
    if sparse::is_sparse(path) {
        return sparse::describe(path).map(|sentence| vec![sentence]);
    }
    let (form, rows) = recognise(path, options)?;
    let name = path.display();
    let mut sentences = vec![format!("{name}: {}", wording::matrix(&form, rows, transpose))];
    let doubt = wording::orientation(&form, rows, transpose);
    let doubts = doubt.into_iter().chain(wording::repeated_samples(&form, transpose));
    sentences.extend(doubts.map(|doubt| format!("warning: {name}: {doubt}")));
    Ok(sentences)
}

/// Layout of the matrix in a file, and its rows where its first lines are all.
///
/// # Errors
/// As [`read`], as far as the first lines show.
pub fn recognise(path: &Path, options: &Options) -> Result<(MatrixForm, Option<u64>)> {
    recognise_text(path, options).map_err(|error| unpack::damage_or(path, error))
}

fn recognise_text(path: &Path, options: &Options) -> Result<(MatrixForm, Option<u64>)> {
    let name = path.display().to_string();
    let mut text = TextBlocks::open(path)?;
    let room = Room::new(&name, options.memory_bytes, text.progress());
    let mut head = TextBlock::default();
    text.read_into(&mut head, BLOCK_BYTES_MIN as usize, &room)?;
    while !head.is_last() && !is_enough(head.lines()) {
        text.extend(&mut head, &room)?;
    }
    let mut gathering = Gathering::begin(options, &room, head.lines())?;
    let form = gathering.form().clone();
    let mut rows = form.rows;
    if head.is_last() {
        gathering.add(&head.lines()[form.begins_at.0..])?;
        rows = Some(gathering.rows());
    }
    Ok((form, rows))
}

/// Parses the text of a matrix; `name` is what errors call it.
///
/// # Errors
/// As [`read`].
pub fn parse(name: &str, bytes: &[u8], options: &Options) -> Result<ExpressionMatrix> {
    let room = Room::new(name, options.memory_bytes, Box::new(|| 1.0));
    room.take(bytes.len() as u64)?;
    let bytes = bytes.strip_prefix(blocks::BYTE_ORDER_MARK).unwrap_or(bytes);
    let mut gathering = Gathering::begin(options, &room, bytes)?;
    let mut rest = &bytes[gathering.begins_at()..];
    while !rest.is_empty() {
        let (block, after) = table::split_at_line(rest, options.block_bytes());
        gathering.add(block)?;
        rest = after;
    }
    gathering.finish()
}

fn join<T>(worker: thread::ScopedJoinHandle<T>) -> T {
    worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::decimal::decimal;
    use super::*;
    use crate::table::{DecimalChoice, DelimiterChoice, HeaderPresence};
    use proptest::prelude::*;
    use std::io::Write;

    fn matrix(text: &str) -> Result<ExpressionMatrix> {
        parse("m.txt", text.as_bytes(), &Options::default())
    }

    fn with_header(header: HeaderPresence) -> Options {
        let table = TableParams { header, ..TableParams::default() };
        Options { table, ..Options::default() }
    }

    fn message(text: &[u8]) -> String {
        parse("m.txt", text, &Options::default()).unwrap_err().message()
    }

    fn names(names: &[String]) -> Vec<&str> {
        names.iter().map(String::as_str).collect()
    }

    #[test]
    fn a_header_may_lack_a_field_or_have_a_label() {
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
        let options = with_header(HeaderPresence::Absent);
        let error = parse("m.txt", b"a\nb\t1\nc\t1\t2\n", &options).unwrap_err();
        assert!(error.message().contains("line 1 of m.txt has a gene without values"), "{error}");
    }

    #[test]
    fn a_first_line_that_may_be_a_gene_must_be_explained() {
        let text = b"a\t1\t2\nb\t3\t4\n";
        assert!(message(text).contains("line 1 of m.txt may be a header or a gene"));
        let read = |header| parse("m", text, &with_header(header)).unwrap();
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
        let text = "gene\ta\tb\tc\td\te\tf\ng\tNA\tNaN\tnan\t\t-\t\n";
        let options = Options { missing: vec!["-".to_owned()], ..Options::default() };
        let matrix = parse("m", text.as_bytes(), &options).unwrap();
        assert!(matrix.values.iter().all(|value| value.is_nan()) && matrix.has_missing());
        assert!(message(text.as_bytes()).contains("sample 5: \"-\""));
    }

    /// `NAN` was asked whether it has a decimal comma, as it is a number with either sign.
    #[test]
    fn other_words_for_missing_values_are_named_in_the_remedy() {
        for word in
            ["NAN", "-nan", "+nan", "-NaN", "#N/A", "N/A", "null", "NULL", "None", "<NA>", "-"]
        {
            let text = format!("gene\ta\tb\nx\t1\t2\ny\t{word}\t2.5\nz\t3\t4\n");
            let error = message(text.as_bytes());
            assert!(
                error.contains("line 3 of m.txt") && error.contains("missing value?"),
                "{error}"
            );
            let option = error.split("then give --missing").nth(1).unwrap();
            let value = option[1..].split(')').next().unwrap().trim_matches('\'');
            assert_eq!(value, word);
            assert!(word.starts_with('-') == option.starts_with('='), "{error}");
            let options = Options { missing: vec![value.to_owned()], ..Options::default() };
            let read = parse("m", text.as_bytes(), &options).unwrap();
            assert!(read.values[2].is_nan() && read.values[3] == 2.5);
        }
    }

    /// Numbers among the words for missing values, such as -9999, were read as values.
    #[test]
    fn a_number_may_stand_for_a_missing_value() {
        let text = "gene\ta\tb\tc\td\ng\t-9999\t-9999.0\t0\t1\n";
        let options = Options { missing: vec!["-9999".to_owned()], ..Options::default() };
        let values = parse("m", text.as_bytes(), &options).unwrap().values;
        assert!(values[0].is_nan() && values[1].is_nan());
        assert_eq!(values[2..], [0.0, 1.0]);
    }

    /// The first sample of a table without names gave its values as the names of genes.
    #[test]
    fn names_that_are_fractions_are_refused() {
        let text = message(b"s1,s2,s3\n5.691,1,2\n0.25,3,4\n");
        assert!(text.contains("begins with \"5.691\", where the name of a gene"), "{text}");
        assert!(matrix("s1,s2\n5.691,1,2\n7,3,4\n").is_ok());
    }

    #[test]
    fn a_point_between_thousands_may_be_a_decimal_point() {
        let text = message(b"gene;a;b\nx;361;10.332\ny;1.000;7\n");
        assert!(text.contains("may have a decimal point or one between thousands"), "{text}");
        assert_eq!(matrix("gene;a;b\nx;361;0.332\n").unwrap().values, [361.0, 0.332]);
        // Behind the lines that the layout is told from too, and with the line that has it.
        for rows in [50, 5000] {
            let text = format!("gene;a;b\n{}y;1.000;7\n", "x;361;12\n".repeat(rows));
            let error = message(text.as_bytes());
            let expected = format!("line {} of m.txt has \"1.000\", which may have", rows + 2);
            assert!(error.contains(&expected), "{error}");
        }
    }

    /// Spreadsheets write quotes only around what has a comma.
    #[test]
    fn some_numbers_with_a_decimal_comma_may_be_in_quotes() {
        let read = matrix("g,a,b,c\nx,\"1,25\",2,3\ny,2,\"-3,5\",1\n").unwrap();
        assert_eq!(read.values, [1.25, 2.0, 3.0, 2.0, -3.5, 1.0]);
    }

    #[test]
    fn a_line_separated_by_spaces_is_named_where_it_is_wrong() {
        let rows: String = (0..40).map(|row| format!("G{row} 1 2 {row}\n")).collect();
        for (line, expected) in
            [("x 1 2 z\n", "line 42 of m.txt"), ("x 1 2\n", "line 42 of m.txt has 3")]
        {
            let error = message(format!("gene a b c\n{rows}{line}").as_bytes());
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn an_option_that_does_not_fit_is_named() {
        let read = |text: &str, table: TableParams| {
            parse("m.txt", text.as_bytes(), &Options { table, ..Options::default() })
        };
        let points = "gene,a,b\nx,1,2\ny,1.5,2\n";
        for (text, table, option) in [
            (
                points,
                TableParams { decimal: DecimalChoice::Comma, ..TableParams::default() },
                "--decimal comma",
            ),
            (
                points,
                TableParams { header: HeaderPresence::Absent, ..TableParams::default() },
                "--header absent",
            ),
            (
                "gene;a;b\nx;1,5;2\ny;1;2,5\n",
                TableParams { delimiter: DelimiterChoice::Comma, ..TableParams::default() },
                "--delimiter comma",
            ),
        ] {
            let error = read(text, table).unwrap_err().message();
            let expected = format!("do not fit {option}; leave it out (they are separated by ");
            assert!(error.contains(&expected), "{error}");
            let has_commas = text.contains("1,5;2");
            assert_eq!(error.contains(" by semicolons, with decimal commas)"), has_commas);
            assert!(read(text, TableParams::default()).is_ok());
        }
        let space = TableParams { delimiter: DelimiterChoice::Space, ..TableParams::default() };
        let mixed = "gene s1 s2\ts3\nA 1 2 3\nB 1 2 3\nC 2 3 1\n";
        for table in [space, TableParams::default()] {
            let error = read(mixed, table).unwrap_err().message();
            assert!(
                error.contains("line 1 of m.txt has a tab, which most lines have not"),
                "{error}"
            );
        }
    }

    #[test]
    fn columns_of_annotations_are_known_by_their_names_in_any_spelling() {
        for label in
            ["EntrezGeneID", "NCBI.gene.ID", "chromosome_name", "GC content", "probe_id", "Mean"]
        {
            let error = message(format!("gene,{label},a,b\nx,7157,1,2\ny,672,3,4\n").as_bytes());
            assert!(error.contains("that is no sample by its name"), "{error}");
        }
    }

    /// Identifiers beside pandas' index were a sample.
    #[test]
    fn an_identifier_is_no_sample() {
        let with_index = matrix(",gene_id,a,b\n0,7157,1,2\n1,672,3,4\n").unwrap();
        assert_eq!(names(&with_index.genes), ["7157", "672"]);
        let text = message(b",Unnamed: 0,a,b\nx,7157,1,2\ny,672,3,4\n");
        assert!(text.contains("column 2 \"Unnamed: 0\" that is no sample by its name"), "{text}");
    }

    /// The first line of CSV for Excel was the header, which the reader then found too short.
    #[test]
    fn a_first_line_may_declare_the_delimiter() {
        for (text, first) in [
            ("sep=;\ngene;s1;s2\na;1,5;2\n", 1.5),
            ("sep=,\r\ngene,s1,s2\r\na,1.5,2\r\n", 1.5),
            ("SEP=\t\n# a comment\ngene\ts1\ts2\na\t1.5\t2\n", 1.5),
            // Either delimiter would fit.
            ("sep=;\ngene;s,1;s2\na;1,5;2\n", 1.5),
            ("\u{FEFF}\"sep= \"\ngene s1 s2\na 1.5 2\n", 1.5),
        ] {
            let matrix = matrix(text).unwrap();
            assert_eq!((names(&matrix.genes), matrix.values), (vec!["a"], vec![first, 2.0]));
        }
        assert!(message(b"sep=|\ngene|a\nx|1\n").contains("line 1 of m.txt says that fields are"));
        let error = message(b"sep=;\ngene;a\nx;1\nx;2\n");
        assert!(error.contains("line 4 of m.txt names gene \"x\", which line 3 has"), "{error}");
    }

    /// `a, b` made samples and genes whose names begin with a blank.
    #[test]
    fn blanks_around_names_are_no_part_of_them() {
        let matrix = matrix("gene, \"s, 1\" , s2\n TP53 , 1.5, 2\n\" A \", 3, 4\n").unwrap();
        assert_eq!(names(&matrix.samples), ["s, 1", "s2"]);
        assert_eq!(names(&matrix.genes), ["TP53", "A"]);
        assert_eq!(matrix.values, [1.5, 2.0, 3.0, 4.0]);
        let error = message(b"gene\ts1\nTP53\t1\nTP53 \t2\n");
        assert!(error.contains("line 3 of m.txt names gene \"TP53\", which line 2 has"), "{error}");
        assert!(message(b"gene\ts1\na\t1\n  \t2\n").contains("line 3 of m.txt has no gene name"));
    }

    /// It was a sample, and raised the least number of values that a gene must have.
    #[test]
    fn a_column_without_a_name_is_no_sample() {
        let text = message(b"gene\ta\t\tb\nx\t1\t2\t3\ny\t4\t5\t6\n");
        assert!(text.contains("has a column 3 without a name; name it, or"), "{text}");
        assert!(text.contains("such as --columns 2,4"), "{text}");
    }

    /// The line of most samples had the blame for the sign of another.
    #[test]
    fn the_number_with_another_decimal_sign_is_named() {
        let text = message(b"gene;a;b\nx;1,5;2,5\ny;2,5;7.5\nz;1,5;3,5\n");
        assert!(text.contains("line 3") && text.contains("\"7.5\""), "{text}");
    }

    #[test]
    fn a_second_line_of_names_is_refused() {
        let text = message(b",a,a,b\n,s1,s2,s3\nx,1,2,3\ny,3,4,5\n");
        assert!(text.contains("line 2 of m.txt is a second line of names"), "{text}");
    }

    /// Pairs were asked whether their first line is a header or a gene.
    #[test]
    fn gene_pairs_are_named_and_no_matrix() {
        let kinc = "7\t3\t1\t2\t5\t1\t0\t1\t0\t0.871\t11910711\n\
             8\t3\t1\t1\t5\t1\t0\t1\t0\t-0.9\t11910711\n";
        for (text, kind) in [
            (kinc, "is KINC text, which holds gene pairs"),
            ("gene1\tgene2\tscore\nTP53\tMDM2\t0.5\n", "is an edge list, which holds"),
            ("TP53\tMDM2\t0.5\nA\tB\t0.25\n", "is an edge list"),
            ("protein1 protein2 combined_score\na b 999\n", "is an edge list"),
            ("1\t2\t0.5\n3\t4\t0.25\n", "may be a header or a gene"),
        ] {
            let error = message(text.as_bytes());
            assert!(error.contains(kind), "{error}");
        }
        assert_eq!(matrix("gene\ttarget\na\t1\n").unwrap().genes, ["a"]);
        // Numbers of genes as their names, and ten samples.
        let numbers =
            "g\ts1\ts2\ts3\ts4\ts5\ts6\ts7\ts8\ts9\ts10\n7\t3\t1\t2\t5\t1\t0\t1\t0\t0.8\t11\n";
        assert_eq!(matrix(numbers).unwrap().samples.len(), 10);
    }

    /// Lines of one field were asked whether they are a header or a gene, as their values, of which
    /// there were none, are numbers.
    #[test]
    fn a_single_field_in_the_first_line_is_refused_with_the_likely_cause() {
        for (text, expected) in [
            ("My table\n\n,a,b\nx,1,2\n", "line 1 of m.txt is one field, the line after it has 3"),
            ("My table\n,a,b\nx,1,2\n", "separated by commas; if it is a title, remove it or put"),
            ("gene,a,b\nx\t1\t2\ny\t3\t4\n", "is separated by commas, the lines after it by tabs"),
        ] {
            let error = message(text.as_bytes());
            assert!(error.contains(expected), "{error}");
        }
        let table = TableParams { delimiter: DelimiterChoice::Comma, ..TableParams::default() };
        let options = Options { table, ..Options::default() };
        let error = parse("m", b"gene\ta\tb\nx\t1\t2\n", &options).unwrap_err().message();
        assert!(error.contains("line 1 of m and those after it do not fit --delimiter comma"));
        assert_eq!(matrix("a\nx\t1\ny\t2\n").unwrap().samples, ["a"]);
    }

    /// The remedy for a column of names behind one of numbers lost the names, or was refused.
    #[test]
    fn a_column_behind_an_index_may_name_the_genes() {
        let text = "i\tg\tS1\tS2\n1\tTP53\t1\t2\n2\tA\t3\t4\n";
        let error = message(text.as_bytes());
        assert!(error.contains("column 2 \"g\" that holds text; to name the genes by it, give"));
        assert!(error.contains("--columns 2-; to leave it out, give the"), "{error}");
        assert!(error.contains("such as --columns 3-"), "{error}");
        for (columns, genes, samples) in [
            ("2-", ["TP53", "A"], &["S1", "S2"][..]),
            ("g,S2", ["TP53", "A"], &["S2"]),
            ("3-", ["1", "2"], &["S1", "S2"]),
        ] {
            let read = parse("m", text.as_bytes(), &with_columns(columns)).unwrap();
            assert_eq!(
                (names(&read.genes), names(&read.samples)),
                (genes.to_vec(), samples.to_vec())
            );
        }
        let refused = |text: &str| parse("m", text.as_bytes(), &with_columns("2-")).unwrap_err();
        // Names in front of a description, which is no name.
        let described = text.replace("\n1", "\nx").replace("\n2", "\ny");
        assert!(refused(&described).message().contains("such as --columns 3-"));
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
            (
                b"s1\na\t1x\n",
                "than a number (write a number, or give --missing 1x if it stands for",
            ),
            (b"s1\na\t-nan\n", "something other than a number"),
            (b"s1\na\tinf\n", "line 2 of m.txt has an infinite value for sample 1"),
            (b"s1\na\t1e999\n", "an infinite value"),
            (
                b"s1\na\t-Inf\n",
                "then add 1 to the counts before, as --log2 does; or give --missing=-Inf",
            ),
            (b"s1\na\t1\n\t2\n", "has no gene name; give the gene one, or leave the line out"),
            (b"s1\na\xFF\t1\n", "convert the file with iconv -f latin1 -t utf-8"),
            (b"s1\ts2\na\t1\t2\nb\n", "line 3 of m.txt has 1 field, expected 3"),
            (b"s1\ts2\na\t1\t2\n\"b\nc\"\t1\t2\n", "close the quote, or remove the line break"),
            (b"s1\ts2\na\t1\t2\nb\t1\t\0\0\0", "line 3 of m.txt contains NUL bytes; it was"),
            (
                b"s1\ts2\na\t1\t2\n\0\0\0\0",
                "line 3 of m.txt contains NUL bytes; it was not written",
            ),
        ] {
            assert!(message(text).contains(expected), "{}", message(text));
        }
    }

    /// Columns whose fields are numbers and text by turns fitted no layout, so that counts of
    /// featureCounts were refused for a chromosome, with `--columns` too. Annotations may now hold
    /// anything, and so may columns that `--columns` leaves out.
    #[test]
    fn feature_counts_are_recognised_by_their_header() {
        let text = "# Program:featureCounts v2.0.1; Command:\"a\" \"b\"\n\
            Geneid\tChr\tStart\tEnd\tStrand\tLength\ts1.bam\ts2.bam\ts3.bam\n\
            a\tchr1\t1\t9\t+\t8\t1\t2\t3\nb\tchr1;chr1\t1;5\t4;9\t-;-\t7\t4\t5\t6\n";
        let matrix = matrix(text).unwrap();
        assert_eq!(names(&matrix.samples), ["s1.bam", "s2.bam", "s3.bam"]);
        assert_eq!(matrix.values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let options = with_columns("7,s3.bam");
        assert_eq!(parse("m", text.as_bytes(), &options).unwrap().values, [1.0, 3.0, 4.0, 6.0]);
        let form = crate::table::matrix::recognise(text.as_bytes(), &options.table, &[]).unwrap();
        let words = crate::table::wording::matrix(&form, Some(2), false);
        assert!(words.contains("featureCounts, separated by tabs"), "{words}");
        let commas = text.replace('\t', ",");
        assert_eq!(parse("m", commas.as_bytes(), &options).unwrap().values, [1.0, 3.0, 4.0, 6.0]);
    }

    fn with_columns(columns: &str) -> Options {
        let columns = Some(columns.to_owned());
        Options { table: TableParams { columns, ..Default::default() }, ..Default::default() }
    }

    #[test]
    fn columns_that_are_left_out_may_hold_anything() {
        let text = b"id\tplace\ts1\tnote\ts2\na\t1\t1\t-\t2\nb\tx\t3\t5\t4\nc\t2;3\t5\t\t6\n";
        for columns in ["s1,s2", "3,5"] {
            let matrix = parse("m", text, &with_columns(columns)).unwrap();
            assert_eq!(matrix.values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        }
        let error = parse("m", text, &with_columns("3-")).unwrap_err().message();
        assert!(error.contains("line 2 of m has something other than a number"), "{error}");
    }

    /// The remedy for a column of text named the columns behind it, and led on to the next column
    /// of text, and at the end to the last column again. Now it lists the samples.
    #[test]
    fn the_remedy_for_a_column_of_text_can_be_followed() {
        for (text, remedy) in [
            ("id\tkind\ts1\tnote\ts2\na\tx\t1\ty\t2\nb\tx\t3\ty\t4\n", "--columns 3,5"),
            ("id\ts1\ts2\tnote\na\t1\t2\ty\nb\t3\t4\ty\n", "--columns 2-3"),
            ("id\tLength\tx\ts1\na\t9\ty\t1\nb\t8\ty\t2\n", "--columns 4"),
            ("id\tLength\tchr\na\t9\t1\nb\t8\t2\n", "give a table with a column of numbers"),
        ] {
            let error = message(text.as_bytes());
            assert!(error.ends_with(remedy) || error.contains(remedy), "{error}");
            if let Some((_, columns)) = remedy.split_once("--columns ") {
                assert!(parse("m", text.as_bytes(), &with_columns(columns)).is_ok(), "{text}");
            }
        }
        let text = b"id\ts1\ts2\na\t1\t2\nb\t3\t4\n";
        let error = parse("m", text, &with_columns("1-3")).unwrap_err().message();
        assert!(error.contains("names of genes in column 1"), "{error}");
        assert!(error.ends_with("such as --columns 2-"), "{error}");
    }

    /// HTSeq-count writes reads of no gene as rows among the genes, and STAR at the beginning; they
    /// were correlated as genes.
    #[test]
    fn counts_of_reads_in_no_gene_are_no_genes() {
        let text = "gene\ts1\ts2\nN_unmapped\t9\t9\na\t1\t2\n__no_feature\t7\t8\nb\t3\t4\n\
            __alignment_not_unique\t5\t6\n";
        let expected = matrix("gene\ts1\ts2\na\t1\t2\nb\t3\t4\n").unwrap();
        let read = matrix(text).unwrap();
        assert_eq!((read.left_out, expected.left_out), (3, 0));
        assert_eq!((read.genes, read.values), (expected.genes, expected.values));
        let turned = "s\ta\t__no_feature\tb\nx\t1\t2\t3\ny\t4\t5\t6\n";
        let options = Options { transpose: true, ..Options::default() };
        let read = parse("m", turned.as_bytes(), &options).unwrap();
        assert_eq!((names(&read.genes), read.values), (vec!["a", "b"], vec![1.0, 4.0, 3.0, 6.0]));
        let none = message(b"gene\ts1\n__no_feature\t1\n");
        assert!(none.contains("has no gene, only counts of reads"), "{none}");
    }

    #[test]
    fn samples_with_the_name_of_another_are_counted_and_said() {
        let text = b"gene\tx\ty\tx\na\t1\t2\t3\n";
        assert_eq!(parse("m", text, &Options::default()).unwrap().repeated_samples(), 1);
        let form = crate::table::matrix::recognise(text, &TableParams::default(), &[]).unwrap();
        let said = crate::table::wording::repeated_samples(&form, false).unwrap();
        assert!(said.contains("samples 1 and 3 are both named \"x\""), "{said}");
    }

    #[test]
    fn numbers_with_signs_between_thousands_are_shown_without() {
        for (text, remedy) in [
            ("s1,s2\na,\"7,063.6\",1\n", "commas between thousands? then write it as 7063.6"),
            ("s1\ts2\na\t1\t1,234,567.5\n", "then write it as 1234567.5"),
            ("s1\ts2\na\t1.5\t1,234\n", "comma? then give --decimal comma; with commas"),
        ] {
            let error = message(text.as_bytes());
            assert!(error.contains(remedy), "{error}");
        }
        let table = TableParams { decimal: DecimalChoice::Comma, ..Default::default() };
        let options = Options { table, ..Default::default() };
        let error = parse("m", b"s1;s2\na;1,5;7.063,6\nb;1,5;2\n", &options).unwrap_err().message();
        assert!(error.contains("points between thousands? then write it as 7063,6"), "{error}");
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
            assert!(error.message().contains("line 43 of m"), "{}", error.message());
        }
    }

    #[test]
    fn a_matrix_beyond_the_memory_limit_is_refused() {
        let options = Options { memory_bytes: 20, ..Options::default() };
        let error = parse("m", b"s1\ts2\na\t1\t2\n", &options).unwrap_err();
        assert!(error.message().contains("raise --memory"), "{}", error.message());
    }

    /// The compressed bytes and the text were in memory together, each up to the limit, before the
    /// values were thought of: a gzipped matrix took 1.3 to 1.6 times `--memory`, and the system
    /// killed the run. What many short lines need beside their text was never counted.
    #[test]
    fn a_gzipped_matrix_needs_its_values_and_a_few_blocks() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.txt.gz");
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut text = String::new();
        for gene in 0..1000 {
            text += &format!("g{gene}");
            (0..1000).for_each(|sample| text += &format!("\t{}.000000001", gene ^ sample));
            text.push('\n');
        }
        encoder.write_all(text.as_bytes()).unwrap();
        std::fs::write(&path, encoder.finish().unwrap()).unwrap();
        let options = |memory_bytes| Options {
            threads: 2,
            memory_bytes,
            ..with_header(HeaderPresence::Absent)
        };
        // Text of 15 MB, values of 8 MB.
        let expected = parse("m", text.as_bytes(), &options(u64::MAX)).unwrap();
        assert_eq!(expected.values[1001], 0.000000001);
        assert_eq!(read(&path, &options(20 << 20)).unwrap(), expected);
        let error = read(&path, &options(6 << 20)).unwrap_err();
        assert!(error.message().contains("MiB while it is read, the limit is 6.0 MiB; raise"));
    }

    #[test]
    fn blocks_of_any_size_give_the_same_matrix_and_the_same_line_of_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.csv");
        let mut text = b"\xEF\xBB\xBFs1,s2\r\n".to_vec();
        for gene in 0..40_000 {
            write!(text, "\n\"g,{gene}\",{gene},-{gene}.5\r\n").unwrap();
        }
        for memory_bytes in [40 << 20, 400 << 20, u64::MAX] {
            for threads in [1, 3] {
                let options = Options { threads, memory_bytes, ..Options::default() };
                std::fs::write(&path, &text).unwrap();
                let matrix = read(&path, &options).unwrap();
                assert_eq!(matrix, parse("m", &text, &options).unwrap());
                assert_eq!((matrix.genes.len(), matrix.values[79_999]), (40_000, -39_999.5));
                std::fs::write(&path, [&text[..], b"\"g,7\",1,2"].concat()).unwrap();
                let error = read(&path, &options).unwrap_err().message();
                assert!(error.contains("line 80002 of"), "{error}");
                assert!(error.contains("names gene \"g,7\", which line 17 has"), "{error}");
            }
        }
    }

    #[test]
    fn gzip_is_read_and_a_truncated_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.txt.gz");
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"s1\ts2\na\t1\t2\n").unwrap();
        let bytes = encoder.finish().unwrap();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(read(&path, &Options::default()).unwrap().values, [1.0, 2.0]);
        std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        let error = read(&path, &Options::default()).unwrap_err();
        assert!(error.message().contains("is cut short"), "{}", error.message());
    }

    proptest! {
        #[test]
        fn plain_decimals_parse_as_the_standard_library_does(
            text in "-?[0-9]{0,12}(\\.[0-9]{0,12})?",
        ) {
            if let Some((value, length)) = decimal(text.as_bytes(), b'\t', b'.') {
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
