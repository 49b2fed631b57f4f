//! Edge lists with names: a line an edge, two names of genes and a score; such as STRING's links
//! and the tidy text of KINC 3. They become KINC version-1 text, which all workloads read.
//!
//! Genes are numbered in the order of their names, or as a list of names says. An edge that is
//! there in both directions, or in two lists, counts once; one that has two scores is refused.

mod form;
mod headers;
mod recent;
mod scores;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use cuesta_core::fixed::{self, Micro};
use cuesta_core::{Error, Result};
use scores::EdgeScores;
use serde::Serialize;

use crate::kinc;
use crate::limits::{GENES_MAX, LINE_BYTES_MAX, READ_BYTES};
use crate::names::{self, GeneNames};
use crate::storage;
use crate::table::fit;
use crate::table::{HEAD_BYTES, TableLine, ZERO_BYTES, ends_in_returns, fields, no_utf8, shown};
use crate::unpack::{self, TextWithStart};

pub use form::{EdgesForm, kind_of_pairs};

const OPERATION: &str = "input.edges";
/// Largest absolute score.
const SCORE_MAX: f64 = 2000.0;
/// Units of a score.
const MILLION: f64 = 1e6;
/// Bytes of an edge in memory, while all are told apart.
const EDGE_BYTES: u64 = 48;
/// Bytes of a name in memory, beside its letters.
const NAME_BYTES: u64 = 112;

/// Numbers of an edge list that was converted.
#[derive(Clone, Debug, Default, Serialize)]
pub struct EdgeCounts {
    /// Edges written.
    pub edges: u64,
    /// Genes with a name.
    pub genes: u64,
    /// Lines that repeat an edge, the other way round too.
    pub repeated: u64,
    /// Lines of a gene with itself, which are left out.
    pub loops: u64,
    /// Edges whose score has more than six decimals and is rounded to millionths.
    pub rounded: u64,
    /// Layout of the list, in words.
    pub layout: String,
}

/// Layout of the edge list at a path; `None` where there is another kind of file, or a folder.
///
/// # Errors
/// `Input` for an edge list that cannot be read; `System`.
pub fn recognise(path: &Path) -> Result<Option<EdgesForm>> {
    let is_file = storage::metadata(path).is_ok_and(|facts| facts.is_file);
    if !is_file {
        return Ok(None);
    }
    let Some(mut lines) = Lines::open(path)? else { return Ok(None) };
    let mut head = Vec::new();
    while head.len() < form::LINES_MAX
        && let Some((number, text)) = lines.next()?
    {
        // The reader of rows refuses such a line.
        if !text.starts_with(b"#") {
            head.push((number, text.to_vec()));
        }
    }
    let head: Vec<TableLine> =
        head.iter().map(|(number, text)| TableLine { number: *number, text }).collect();
    let comment = lines.comment.as_ref();
    let comment = comment.map(|(number, text)| TableLine { number: *number, text });
    form::recognise_below(comment, &head)
        .map_err(|(number, what)| unpack::damage_or(path, at_line(path, number, &what)))
}

/// The names of the genes of an edge list, in their order.
///
/// # Errors
/// As [`recognise`], and `Input` for a name that cannot be.
pub fn names(path: &Path, form: &EdgesForm, memory_bytes: u64) -> Result<Vec<String>> {
    recent::names(path, || names_in(path, form, memory_bytes))
}

fn names_in(path: &Path, form: &EdgesForm, memory_bytes: u64) -> Result<Vec<String>> {
    let mut names = BTreeSet::new();
    // Most names are there many times, written alike.
    let mut known: HashSet<Box<[u8]>> = HashSet::new();
    let mut size_bytes = 0;
    each_row(path, form, |_, row| {
        for field in [row[form.source], row[form.target]] {
            if !known.contains(field) {
                let name = name_of(field)?;
                size_bytes += (name.len() + field.len()) as u64 + NAME_BYTES;
                names.insert(name);
                known.insert(field.into());
            }
        }
        match size_bytes > memory_bytes || names.len() > GENES_MAX as usize {
            true => Err("has more names than fit in the memory; raise --memory".to_owned()),
            false => Ok(()),
        }
    })?;
    if names.is_empty() {
        let text = format!("{} has no edges, only a header; give a line an edge", path.display());
        return Err(Error::input(OPERATION, text));
    }
    Ok(names.into_iter().collect())
}

/// Writes an edge list as KINC version-1 text, with the numbers of genes in `names`. Edges that the
/// converted texts `earlier` of other lists have are repeated ones.
///
/// # Errors
/// `Input` with file and line for a name that is not in `names`, a score that is none, and an edge
/// with two scores; `System`.
pub fn convert(
    (path, form): (&Path, &EdgesForm),
    names: &GeneNames,
    earlier: &[PathBuf],
    output: &Path,
    memory_bytes: u64,
) -> Result<EdgeCounts> {
    let failed = |cause| Error::system(OPERATION, "writing", output, &cause);
    let mut out = BufWriter::with_capacity(READ_BYTES, File::create(output).map_err(failed)?);
    let numbers = numbers_of(names)?;
    // By what stands in the list.
    let mut known: HashMap<Box<[u8]>, u32> = HashMap::new();
    let mut line = Vec::new();
    let mut scores = EdgeScores::default();
    for text in earlier {
        read_converted(text, &mut scores)
            .map_err(|cause| Error::system(OPERATION, "reading", text, &cause))?;
    }
    let mut counts =
        EdgeCounts { genes: names.len() as u64, layout: form.words(), ..EdgeCounts::default() };
    each_row(path, form, |number, row| {
        let mut genes = [0; 2];
        for (gene, field) in genes.iter_mut().zip([row[form.source], row[form.target]]) {
            *gene = match known.get(field) {
                Some(number) => *number,
                None => {
                    let name = name_of(field)?;
                    let number = numbers.get(name.as_str()).ok_or_else(|| {
                        format!("has gene {name:?}, which {} does not name", names.path().display())
                    })?;
                    known.insert(field.into(), *number);
                    *number
                }
            };
        }
        genes.sort_unstable();
        let [gene2, gene1] = genes;
        if gene1 == gene2 {
            counts.loops += 1;
            return Ok(());
        }
        let (score, is_rounded) = score_of(row[form.score], form)?;
        let cluster = form.cluster_of(row)?;
        if let Some(before) = scores.insert((gene1, gene2, cluster), score, number) {
            if before.score != score {
                let place = match before.line {
                    scores::EARLIER_LIST => "than a list before it for the same edge".to_owned(),
                    line => format!("for the edge of line {line}"),
                };
                return Err(format!("has another score {place}; keep one of them"));
            }
            counts.repeated += 1;
            return Ok(());
        }
        if scores.len() as u64 * EDGE_BYTES > memory_bytes {
            return Err("has more edges than fit in the memory; raise --memory".to_owned());
        }
        counts.edges += 1;
        counts.rounded += u64::from(is_rounded);
        line.clear();
        form.append_kinc_line((gene1, gene2, cluster), score, row, &mut line)?;
        out.write_all(&line).map_err(|cause| format!("cannot be converted: {cause}"))
    })?;
    out.flush().map_err(failed)?;
    Ok(counts)
}

/// Adds the edges of a text that [`convert`] wrote.
fn read_converted(path: &Path, scores: &mut EdgeScores) -> io::Result<()> {
    let damaged = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    for line in BufReader::with_capacity(READ_BYTES, File::open(path)?).split(b'\n') {
        let line = line?;
        let shape = kinc::shape_of(&line).map_err(damaged)?;
        let parsed = kinc::line::parse(&line, &shape).map_err(damaged)?;
        let row = parsed.row();
        let edge = (row.gene1, row.gene2, row.cluster);
        scores.insert(edge, row.scores[0], scores::EARLIER_LIST);
    }
    Ok(())
}

/// Numbers of the genes by their names.
///
/// # Errors
/// `Input` for a name that is there twice: an edge list goes by names.
fn numbers_of(names: &GeneNames) -> Result<HashMap<&str, u32>> {
    let mut numbers = HashMap::with_capacity(names.len());
    for (name, number) in names.iter().zip(1u32..) {
        if let Some(before) = numbers.insert(name, number) {
            let text = format!(
                "{} names gene {name:?} twice, as gene {before} and as gene {number}, and the \
                 edges go by names; name each gene once",
                names.path().display()
            );
            return Err(Error::input(OPERATION, text));
        }
    }
    Ok(numbers)
}

fn name_of(field: &[u8]) -> std::result::Result<String, String> {
    let name = fields::unquoted(field.trim_ascii()).ok_or_else(|| no_utf8(field))?;
    match name.is_empty() {
        true => Err("has an empty name; name both genes, or leave the line out".to_owned()),
        false => names::check(&name).map(|()| name),
    }
}

fn no_score(field: &[u8]) -> String {
    format!("has {}, which is no score; write a number, or leave the line out", shown(field))
}

/// The score of a field, and whether it is rounded to millionths.
fn score_of(field: &[u8], form: &EdgesForm) -> std::result::Result<(Micro, bool), String> {
    let bare = fields::bare(field);
    if form::is_missing(bare) {
        return Ok((fixed::NAN, false));
    }
    let score = fields::number(bare, form.decimal).filter(|score| score.is_finite());
    let score = score.ok_or_else(|| no_score(field))?;
    let score = score / f64::from(form.scale);
    form.check_score(score, field)?;
    if score.abs() > SCORE_MAX {
        return Err(format!(
            "has the score {}, give at most {SCORE_MAX}, such as by dividing all scores",
            shown(field)
        ));
    }
    let micro = fixed::from_f64(score);
    let micro = micro.ok_or_else(|| no_score(field))?;
    Ok((micro, f64::from(micro) / MILLION != score))
}

/// Calls `take` with number and fields of every row.
fn each_row(
    path: &Path,
    form: &EdgesForm,
    mut take: impl FnMut(usize, &[&[u8]]) -> std::result::Result<(), String>,
) -> Result<()> {
    let Some(mut lines) = Lines::open(path)? else { return Ok(()) };
    let mut room = Vec::new();
    while let Some((number, text)) = lines.next()? {
        if number == form.header || number == form.declaration {
            continue;
        }
        let mut row = emptied(room);
        fields::append_fields(text, form.delimiter, &mut row);
        let checked = match row.len() == form.width {
            _ if text.starts_with(b"#") => Err(form::hidden(&text[1..])),
            true => take(number, &row),
            false if memchr::memchr(0, text).is_some() => Err(ZERO_BYTES.to_owned()),
            false => Err(fit::unequal(row.len(), form.width, form.delimiter)),
        };
        checked.map_err(|what| unpack::damage_or(path, at_line(path, number, &what)))?;
        room = emptied(row);
    }
    Ok(())
}

/// Returns an empty list of fields of another line in the memory of `fields`.
fn emptied<'t>(mut fields: Vec<&[u8]>) -> Vec<&'t [u8]> {
    fields.clear();
    // Collecting the items of a list into one of the same size keeps its memory.
    fields.into_iter().map(|_| &[][..]).collect()
}

fn at_line(path: &Path, number: usize, what: &str) -> Error {
    Error::input(OPERATION, format!("line {number} of {} {what}", path.display()))
}

/// Lines that are neither empty nor comments above all others.
struct Lines<'a> {
    path: &'a Path,
    reader: TextWithStart,
    text: Vec<u8>,
    number: usize,
    end: u8,
    /// Last comment above the first other line, without its sign, with its number.
    comment: Option<(usize, Vec<u8>)>,
    has_begun: bool,
}

impl<'a> Lines<'a> {
    /// `None` for a binary file.
    fn open(path: &'a Path) -> Result<Option<Self>> {
        let text = unpack::open(path).map_err(|cause| unpack::failure(OPERATION, path, &cause))?;
        // A damaged stream is refused by the reader of pairs.
        let Ok((start, reader)) = unpack::with_start(text, HEAD_BYTES) else { return Ok(None) };
        if crate::table::kinds::check_text(&start).is_err() {
            return Ok(None);
        }
        let end = if ends_in_returns(&start) { b'\r' } else { b'\n' };
        Ok(Some(Self {
            path,
            reader,
            text: Vec::new(),
            number: 0,
            end,
            comment: None,
            has_begun: false,
        }))
    }

    fn next(&mut self) -> Result<Option<(usize, &[u8])>> {
        loop {
            self.text.clear();
            let mut limited = std::io::Read::take(&mut self.reader, LINE_BYTES_MAX as u64 + 1);
            let count = limited
                .read_until(self.end, &mut self.text)
                .map_err(|cause| unpack::failure(OPERATION, self.path, &cause))?;
            if count == 0 {
                return Ok(None);
            }
            self.number += 1;
            if count > LINE_BYTES_MAX {
                return Err(at_line(self.path, self.number, "is longer than 4 MiB"));
            }
            if self.number == 1 && self.text.starts_with(b"\xEF\xBB\xBF") {
                self.text.drain(..3);
            }
            while matches!(self.text.last(), Some(b'\n' | b'\r')) {
                self.text.pop();
            }
            match self.text.strip_prefix(b"#") {
                Some(text) if !self.has_begun => self.comment = Some((self.number, text.to_vec())),
                _ if !self.text.is_empty() => break,
                _ => {}
            }
        }
        self.has_begun = true;
        Ok(Some((self.number, &self.text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(edges: &str, list: Option<&str>) -> Result<(EdgeCounts, String)> {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("e.txt"), edges).unwrap();
        std::fs::write(path("names.txt"), list.unwrap_or_default()).unwrap();
        let names = path(if list.is_some() { "names.txt" } else { "e.txt" });
        let form = recognise(&path("e.txt")).unwrap().unwrap();
        let names = GeneNames::read(&names, u64::MAX).unwrap();
        let list = path("e.txt");
        let counts = convert((&list, &form), &names, &[], &path("made.txt"), u64::MAX)?;
        // Every edge of the same list again is a repeated one.
        let again =
            convert((&list, &form), &names, &[path("made.txt")], &path("again.txt"), u64::MAX)?;
        assert_eq!((again.edges, again.repeated), (0, counts.edges + counts.repeated));
        Ok((counts, std::fs::read_to_string(path("made.txt")).unwrap()))
    }

    /// An edge of two lists counted twice.
    #[test]
    fn an_edge_with_another_score_in_an_earlier_list_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("1.txt"), "a\tb\t0.5\nc\ta\t0.25\n").unwrap();
        std::fs::write(path("2.txt"), "c\tb\t0.5\nb\ta\t0.75\n").unwrap();
        let names = GeneNames::read(&path("1.txt"), u64::MAX).unwrap();
        let convert = |list: &str, earlier: &[PathBuf]| {
            let form = recognise(&path(list)).unwrap().unwrap();
            let output = path(list).with_extension("kinc");
            convert((&path(list), &form), &names, earlier, &output, u64::MAX)
        };
        assert_eq!(convert("1.txt", &[]).unwrap().edges, 2);
        assert_eq!(convert("2.txt", &[]).unwrap().edges, 2);
        let error = convert("2.txt", &[path("1.kinc")]).unwrap_err().message();
        assert!(error.contains("line 2 of"), "{error}");
        assert!(error.ends_with("than a list before it for the same edge; keep one of them"));
    }

    /// A score of NA in a list without a header was said to be a fault of line 1.
    #[test]
    fn missing_scores_may_be_in_a_list_without_a_header() {
        let (counts, made) = converted("a\tb\tNA\nc\ta\t0.25\n", None).unwrap();
        assert_eq!((counts.edges, made.lines().count()), (2, 2));
    }

    /// Scores with more than six decimals were rounded without a word.
    #[test]
    fn scores_that_are_rounded_are_counted() {
        let edges = "a\tb\t0.1234567\nc\ta\t0.123456\nc\tb\t0.5000000\nd\ta\t1e-7\nd\tb\tNA\n";
        let (counts, made) = converted(&format!("source\ttarget\tscore\n{edges}"), None).unwrap();
        assert_eq!((counts.edges, counts.rounded), (5, 2));
        assert!(made.contains("0.123457"), "{made}");
        let links = "protein1 protein2 combined_score\na b 999\nb c 700\na c 1\n";
        assert_eq!(converted(links, None).unwrap().0.rounded, 0);
    }

    /// Scores of STRING's pages, up to 1, were divided by 1,000 as those of its files are.
    #[test]
    fn scores_of_string_are_thousandths_only_where_they_exceed_1() {
        for (scores, expected) in [(["999", "0"], "0.999"), (["0.999", "0.4"], "0.999")] {
            let text =
                format!("node1\tnode2\tcombined_score\na\tb\t{}\na\tc\t{}\n", scores[0], scores[1]);
            let made = converted(&text, None).unwrap().1;
            assert!(made.contains(expected) && !made.contains("0.000999"), "{made}");
        }
    }

    /// STRING's links without their header were scores of up to 999.
    #[test]
    fn scores_beyond_1_are_refused_unless_the_header_allows_them() {
        let list = |header: &str, score: &str| format!("{header}a\tb\t0.5\nc\ta\t{score}\n");
        for score in ["999", "1.8", "-1.5", "1.000001", "1e9"] {
            let error = converted(&list("", score), None).unwrap_err().message();
            assert!(error.contains("line 2 of") && error.contains("beyond -1 to 1 in"), "{error}");
            assert!(error.contains("combined_score") && error.contains("divide them"), "{error}");
            for label in ["score", "correlation", "r", "similarity"] {
                let text = list(&format!("gene1\tgene2\t{label}\n"), score);
                let error = converted(&text, None).unwrap_err().message();
                assert!(error.contains("line 3 of") && error.contains("column weight"), "{error}");
            }
            for label in ["Weight", "importance", "value"] {
                let score = if score == "1e9" { "2000" } else { score };
                let text = list(&format!("gene1\tgene2\t{label}\n"), score);
                assert_eq!(converted(&text, None).unwrap().0.edges, 2);
            }
        }
        for score in ["1", "-1.0000004", "NA"] {
            assert_eq!(converted(&list("", score), None).unwrap().0.edges, 2);
        }
    }

    /// The edges of a name that a list has twice all went to the last of them.
    #[test]
    fn a_list_that_names_a_gene_twice_is_refused() {
        let edges = "a\tb\t0.5\nc\ta\t0.25\n";
        assert_eq!(converted(edges, Some("a\nb\nc\n")).unwrap().0.genes, 3);
        let error = converted(edges, Some("a\nb\nc\na\n")).unwrap_err().message();
        assert!(error.contains("names gene \"a\" twice, as gene 1 and as gene 4"), "{error}");
        assert!(error.ends_with("name each gene once"), "{error}");
    }

    #[test]
    fn a_header_without_edges_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("e.txt");
        std::fs::write(&path, "gene1\tgene2\tscore\n").unwrap();
        let error = GeneNames::read(&path, u64::MAX).unwrap_err().message();
        assert!(
            error.ends_with("e.txt has no edges, only a header; give a line an edge"),
            "{error}"
        );
    }

    #[test]
    fn a_first_line_may_declare_the_delimiter() {
        for (text, sign) in
            [("sep=;\ngene1;gene2;score\na;b;0,5\n", ';'), ("sep=,\na,b,0.5\n", ',')]
        {
            let (counts, made) = converted(text, None).unwrap();
            assert_eq!((counts.edges, counts.genes), (1, 2), "{text:?}");
            assert!(made.contains("0.500000") && counts.layout.ends_with("(sep=) left out"));
            let other = text.replacen(sign, "|", 1);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("e.csv");
            std::fs::write(&path, other).unwrap();
            let error = recognise(&path).unwrap_err().message();
            assert!(error.contains("line 1 of") && error.contains("by \"|\""), "{error}");
        }
    }

    /// The first bytes that a reader gave were the header `gene1 gene2 score` and its end, which
    /// did not show that lines end in carriage returns alone.
    #[test]
    fn lines_may_end_in_any_way_below_any_header() {
        for header in ["", "gene1\tgene2\tscore\n", "node1\tnode2\tcombined_score\n"] {
            for end in ["\n", "\r\n", "\r"] {
                let text = format!("{header}a\tb\t0.5\nc\ta\t0.25\n").replace('\n', end);
                for text in [text.as_str(), text.trim_end()] {
                    let (counts, made) = converted(text, None).unwrap();
                    assert_eq!((counts.edges, counts.genes), (2, 3), "{text:?}");
                    assert_eq!(made.lines().count(), 2);
                }
            }
        }
    }

    /// The header of STRING's pages begins as a comment does: without it, a list of many columns
    /// was no edge list, and one of three had no names of columns.
    #[test]
    fn a_comment_that_names_the_columns_is_the_header() {
        let text = "# of STRING\n#node1\tnode2\tx\tcombined_score\na\tb\t7\t0.999\nc\ta\t8\t0.4\n";
        let (counts, made) = converted(text, None).unwrap();
        assert_eq!((counts.edges, counts.genes), (2, 3));
        assert!(made.contains("0.999000") && counts.layout.contains("(node1, node2, combined"));
        assert_eq!(kind_of_pairs(text.as_bytes()), Some("an edge list"));
        let weights = "#from\tto\tweight\na\tb\t12\nc\ta\t1\n";
        assert_eq!(converted(weights, None).unwrap().0.edges, 2);
        let words = "# gene1 gene2 made\na\tb\t0.5\nc\ta\t0.25\n";
        assert!(converted(words, None).unwrap().0.layout.contains("without a header"));
    }

    /// An edge of a gene `#A` was left out as a comment.
    #[test]
    fn a_line_with_the_sign_of_comments_is_refused_below_the_first_row_or_as_an_edge() {
        for (text, line) in [
            ("B C .6\n#A B .5\nC #A .7\n", 2),
            ("#A B .5\nB C .6\n", 1),
            ("a\tb\t12\n# the end\nc\ta\t1\n", 2),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("e.txt");
            std::fs::write(&path, text).unwrap();
            let read = recognise(&path)
                .and_then(|form| super::names(&path, &form.unwrap(), u64::MAX).map(|_| ()));
            let error = read.unwrap_err().message();
            assert!(error.contains(&format!("line {line} of")), "{error}");
            assert!(error.ends_with("remove the line, or write the name in quotes"), "{error}");
        }
        let quoted = "# of today\n\"#A\" B .5\nB C .6\n";
        assert_eq!(converted(quoted, None).unwrap().0.genes, 3);
        let (counts, _) = converted("# 3 genes 7\nA B .5\nB C .6\n", None).unwrap();
        assert_eq!(counts.edges, 2);
    }

    /// The header that pandas gives a stacked matrix, of a name, a name and a number, was an edge.
    #[test]
    fn headers_of_programs_are_no_edges() {
        for header in [
            "level_0,level_1,0",
            "\"level_0\",\"level_1\",\"0\"",
            ",,0",
            "regulatoryGene,targetGene,weight",
            "Var1,Var2,value",
            "Var1,Var2,Freq",
            "index,variable,value",
            "row,column,cor",
            "x,y,r",
            "Regulator,Target,MI",
            "item1,item2,correlation",
        ] {
            let text = format!("{header}\nA,B,0.95\nB,C,.9\n");
            let (counts, _) = converted(&text, None).unwrap();
            assert_eq!((counts.edges, counts.genes), (2, 3), "{header}");
            assert_eq!(kind_of_pairs(text.as_bytes()), Some("an edge list"));
        }
        for (header, row) in [
            (",level_0,level_1,0", "0,A,B,0.95"),
            ("source,target,interaction,weight", "A,B,pp,0.95"),
        ] {
            let (counts, made) = converted(&format!("{header}\n{row}\n"), None).unwrap();
            assert_eq!((counts.edges, counts.genes), (1, 2), "{header}");
            assert!(made.contains("0.950000"));
        }
        assert_eq!(kind_of_pairs(b"x,y,value\n1,2,0.5\n3,4,0.6\n"), None);
        assert_eq!(converted("x y 0.5\ny z 0.5\n", None).unwrap().0.edges, 2);
    }

    /// Clusters of a pair were repeated edges with other scores, and refused.
    #[test]
    fn rows_of_other_clusters_are_other_edges() {
        let head = "Source\tTarget\tSimilarity_Score\tCluster_Index";
        let clusters = |text: &str| -> Vec<String> {
            let made = converted(text, None).unwrap().1;
            made.lines().map(|line| line.split('\t').nth(2).unwrap().to_owned()).collect()
        };
        assert_eq!(clusters(&format!("{head}\na\tb\t0.9\t0\na\tb\t-0.8\t1\n")), ["1", "2"]);
        let counted = format!("{head}\tNum_Clusters\na\tb\t0.9\t1\t2\na\tb\t-0.8\t2\t2\n");
        assert_eq!(clusters(&counted), ["1", "2"]);
        let again = format!("{counted}b\ta\t-0.8\t2\t2\n");
        assert_eq!(converted(&again, None).unwrap().0.repeated, 1);
        let error = converted(&again.replace("b\ta\t-0.8", "b\ta\t-0.7"), None).unwrap_err();
        assert!(error.message().contains("another score"), "{error}");
        let error = converted(&format!("{counted}c\ta\t0.5\t0\t2\n"), None).unwrap_err();
        assert!(error.message().contains("has cluster 0, give one from 1 to"), "{error}");
    }

    #[test]
    fn a_line_of_another_length_is_refused_with_a_remedy() {
        let edges = "a\tb\t0.5\n".repeat(form::LINES_MAX) + "c\t0.25\n";
        let error = converted(&edges, Some("a\nb\nc\n")).unwrap_err().message();
        assert!(error.contains("has 2 fields, the lines before 3, separated by tabs"), "{error}");
        assert!(error.ends_with("complete the line, or leave it out"), "{error}");
    }

    #[test]
    fn a_short_list_with_a_line_of_another_length_is_an_edge_list() {
        for short in ["source\ttarget\tscore\na\tb\t0.5\nc\t0.25\n", "a b 0.5\nb c 0.6\nc d\n"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("e.txt");
            std::fs::write(&path, short).unwrap();
            let error = recognise(&path).unwrap_err().message();
            let expected = "line 3 of ";
            assert!(error.contains(expected) && error.contains("has 2 fields, the lines before 3"));
        }
    }
}
