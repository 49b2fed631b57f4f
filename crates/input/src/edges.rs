//! Edge lists with names: a line an edge, two names of genes and a score; such as STRING's links
//! and the tidy text of KINC 3. They become KINC version-1 text, which all workloads read.
//!
//! Genes are numbered in the order of their names, or as a list of names says. An edge that is
//! there in both directions counts once; one that has two scores is refused.

mod form;

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use cuesta_core::fixed::{self, Micro};
use cuesta_core::{Error, Result};
use serde::Serialize;

use crate::limits::{GENES_MAX, LINE_BYTES_MAX, READ_BYTES};
use crate::names::{self, GeneNames};
use crate::storage;
use crate::table::{TableLine, ends_in_returns, fields, shown};
use crate::unpack::{self, Unpacked};

pub use form::EdgesForm;

const OPERATION: &str = "input.edges";
/// Largest absolute score.
const SCORE_MAX: f64 = 2000.0;
/// Bytes of an edge in memory, while all are told apart.
const EDGE_BYTES: u64 = 48;

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
        head.push((number, text.to_vec()));
    }
    let head: Vec<TableLine> =
        head.iter().map(|(number, text)| TableLine { number: *number, text }).collect();
    form::recognise(&head).map_err(|(number, what)| at_line(path, number, &what))
}

/// The names of the genes of an edge list, in their order.
///
/// # Errors
/// As [`recognise`], and `Input` for a name that cannot be.
pub fn names(path: &Path, form: &EdgesForm, memory_bytes: u64) -> Result<Vec<String>> {
    let mut names = BTreeSet::new();
    let mut size_bytes = 0;
    each_row(path, form, |_, row| {
        for place in [form.source, form.target] {
            let name = name_of(row[place])?;
            if !names.contains(&name) {
                size_bytes += name.len() as u64 + 64;
                names.insert(name);
            }
        }
        match size_bytes > memory_bytes || names.len() > GENES_MAX as usize {
            true => Err("has more names than fit in the memory; raise --memory".to_owned()),
            false => Ok(()),
        }
    })?;
    Ok(names.into_iter().collect())
}

/// Writes an edge list as KINC version-1 text, with the numbers of genes in `names`.
///
/// # Errors
/// `Input` with file and line for a name that is not in `names`, a score that is none, and an edge
/// with two scores; `System`.
pub fn convert(
    path: &Path,
    form: &EdgesForm,
    names: &GeneNames,
    output: &Path,
    memory_bytes: u64,
) -> Result<EdgeCounts> {
    let failed = |cause| Error::system(OPERATION, "writing", output, &cause);
    let mut out = BufWriter::with_capacity(READ_BYTES, File::create(output).map_err(failed)?);
    let numbers: HashMap<&str, u32> = names.iter().zip(1..).collect();
    let mut scores: HashMap<(u32, u32, u32), (Micro, usize)> = HashMap::new();
    let mut counts =
        EdgeCounts { genes: names.len() as u64, layout: form.words(), ..EdgeCounts::default() };
    each_row(path, form, |number, row| {
        let mut genes = [0; 2];
        for (gene, place) in genes.iter_mut().zip([form.source, form.target]) {
            let name = name_of(row[place])?;
            *gene = *numbers.get(name.as_str()).ok_or_else(|| {
                format!("has gene {name:?}, which {} does not name", names.path().display())
            })?;
        }
        genes.sort_unstable();
        let [gene2, gene1] = genes;
        if gene1 == gene2 {
            counts.loops += 1;
            return Ok(());
        }
        let score = score_of(row[form.score], form)?;
        let cluster = form.cluster_of(row)?;
        if let Some((before, line)) = scores.insert((gene1, gene2, cluster), (score, number)) {
            if before != score {
                return Err(format!(
                    "has another score for the edge of line {line}; keep one of them"
                ));
            }
            counts.repeated += 1;
            return Ok(());
        }
        if scores.len() as u64 * EDGE_BYTES > memory_bytes {
            return Err("has more edges than fit in the memory; raise --memory".to_owned());
        }
        counts.edges += 1;
        let line = form.kinc_line((gene1, gene2, cluster), score, row)?;
        out.write_all(&line).map_err(|cause| format!("cannot be converted: {cause}"))
    })?;
    out.flush().map_err(failed)?;
    Ok(counts)
}

fn name_of(field: &[u8]) -> std::result::Result<String, String> {
    let name = fields::unquoted(field.trim_ascii())
        .ok_or_else(|| format!("has a name that is not UTF-8: {}", shown(field)))?;
    match name.is_empty() {
        true => Err("has an empty name".to_owned()),
        false => names::check(&name).map(|()| name),
    }
}

fn score_of(field: &[u8], form: &EdgesForm) -> std::result::Result<Micro, String> {
    let bare = fields::bare(field);
    if matches!(bare, b"" | b"NA" | b"NaN" | b"nan") {
        return Ok(fixed::NAN);
    }
    let score = fields::number(bare, form.decimal).filter(|score| score.is_finite());
    let score = score.ok_or_else(|| format!("has {}, which is no score", shown(field)))?;
    let score = score / f64::from(form.scale);
    if score.abs() > SCORE_MAX {
        return Err(format!("has the score {}, give at most {SCORE_MAX}", shown(field)));
    }
    fixed::from_f64(score).ok_or_else(|| format!("has {}, which is no score", shown(field)))
}

/// Calls `take` with number and fields of every row.
fn each_row(
    path: &Path,
    form: &EdgesForm,
    mut take: impl FnMut(usize, &[&[u8]]) -> std::result::Result<(), String>,
) -> Result<()> {
    let Some(mut lines) = Lines::open(path)? else { return Ok(()) };
    while let Some((number, text)) = lines.next()? {
        if number == form.header {
            continue;
        }
        let row = fields::fields(text, form.delimiter);
        let checked = match row.len() == form.width {
            true => take(number, &row),
            false => Err(format!("has {} fields, the lines before {}", row.len(), form.width)),
        };
        checked.map_err(|what| at_line(path, number, &what))?;
    }
    Ok(())
}

fn at_line(path: &Path, number: usize, what: &str) -> Error {
    Error::input(OPERATION, format!("line {number} of {} {what}", path.display()))
}

/// Lines that are neither empty nor comments.
struct Lines<'a> {
    path: &'a Path,
    reader: BufReader<Unpacked>,
    text: Vec<u8>,
    number: usize,
    end: u8,
}

impl<'a> Lines<'a> {
    /// `None` for a binary file.
    fn open(path: &'a Path) -> Result<Option<Self>> {
        let text = unpack::open(path).map_err(|cause| unpack::failure(OPERATION, path, &cause))?;
        let mut reader = BufReader::with_capacity(READ_BYTES, text);
        // A damaged stream is refused by the reader of pairs.
        let Ok(start) = reader.fill_buf() else { return Ok(None) };
        if crate::table::kinds::check_text(start).is_err() {
            return Ok(None);
        }
        let end = if ends_in_returns(start) { b'\r' } else { b'\n' };
        Ok(Some(Self { path, reader, text: Vec::new(), number: 0, end }))
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
            if !self.text.is_empty() && self.text[0] != b'#' {
                break;
            }
        }
        Ok(Some((self.number, &self.text)))
    }
}
