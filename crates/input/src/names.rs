//! Names of genes: the list that gives genes 1, 2, ... their names, from whichever file holds it.
//!
//! A file of names is one of five kinds, told apart by what is in it: a table `genes.tsv` (below
//! the header `gene name`, tab-separated, genes 1 to N in order), a list (one name a line, or its
//! number and a name as pandas and R write; comments above and quotes are left out), an expression
//! matrix (the names of its rows, see [`crate::matrix`]), an edge list (in the order of their
//! names, see [`crate::edges`]) or a pair matrix that has names. Texts may be compressed as
//! [`crate::unpack`] says, end their lines in CRLF and begin with a byte order mark. Two genes may
//! have the same name.

mod list;
mod text;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use cuesta_core::budget::human;
use cuesta_core::fixed::append_integer;
use cuesta_core::{Error, Result};

use crate::edges::{self, EdgesForm};
use crate::limits::{GENES_MAX, NAME_BYTES_MAX};
use crate::pair_matrix::PairMatrix;
use crate::table::ZERO_BYTES;
use crate::unpack;

const OPERATION: &str = "input.names";

/// The table of names that workloads write.
pub const GENES_FILE: &str = "genes.tsv";
/// Its first line.
pub const GENES_HEADER: &str = "gene\tname";

/// The names of genes 1 to N.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneNames {
    path: PathBuf,
    /// All names, concatenated.
    text: String,
    /// End of each name in `text`.
    ends: Vec<u64>,
}

impl GeneNames {
    /// Reads the names in a file, or in the folder of a pair matrix.
    ///
    /// # Errors
    /// `Input` with file and line for genes that are not 1 to N in order, names that are empty, too
    /// long, not UTF-8 or have control characters, more names than there may be genes, a file
    /// without names, and names beyond `memory_bytes`; `System`.
    pub fn read(path: &Path, memory_bytes: u64) -> Result<Self> {
        let mut names = Self { path: path.to_owned(), ..Self::default() };
        if PairMatrix::is_at(path) {
            for name in PairMatrix::open(path)?.gene_names()? {
                check(&name).map_err(|what| names.error(&what))?;
                names.push(&name, memory_bytes)?;
            }
        } else if path.is_dir() {
            return Err(names.error("is a folder without names; name a file of names"));
        } else if let Some(form) = edges_form(path) {
            for name in edges::names(path, &form, memory_bytes)? {
                names.push(&name, memory_bytes)?;
            }
        } else {
            text::read(&mut names, memory_bytes).map_err(|error| unpack::damage_or(path, error))?;
        }
        match names.is_empty() {
            true => Err(names.error("names no gene; give a list of names, one a line")),
            false => Ok(names),
        }
    }

    /// The file that the names were read from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Number of genes that have a name.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether no gene has a name.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name of a gene, counted from 1.
    #[inline]
    pub fn get(&self, gene: u32) -> Option<&str> {
        let index = (gene as usize).checked_sub(1)?;
        let end = *self.ends.get(index)? as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        self.text.get(start..end)
    }

    /// The name of a gene that must have one.
    ///
    /// # Errors
    /// `Input` naming the gene, the file and what to do.
    #[inline]
    pub fn name(&self, gene: u32) -> Result<&str> {
        self.get(gene).ok_or_else(|| Error::input(OPERATION, self.missing_name_message(gene)))
    }

    /// The message for a gene that has no name.
    pub fn missing_name_message(&self, gene: u32) -> String {
        let (path, count) = (self.path.display(), grouped(self.len()));
        let genes = if self.len() == 1 { "gene" } else { "genes" };
        format!(
            "gene {gene} has no name: {path} names {count} {genes}; give a list with --genes that \
             names all"
        )
    }

    /// All names, that of gene 1 first.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (1..=self.len() as u32).map_while(|gene| self.get(gene))
    }

    /// Memory of the names, in bytes.
    pub fn size_bytes(&self) -> u64 {
        (self.text.capacity() + 8 * self.ends.capacity()) as u64
    }

    /// Adds the name of the next gene.
    fn push(&mut self, name: &str, memory_bytes: u64) -> Result<()> {
        if self.len() == GENES_MAX as usize {
            let text = format!("has more than {} names", grouped(GENES_MAX as usize));
            return Err(self.error(&text));
        }
        self.text.push_str(name);
        self.ends.push(self.text.len() as u64);
        if self.size_bytes() > memory_bytes {
            let text = format!("has names beyond {}; raise --memory", human(memory_bytes));
            return Err(self.error(&text));
        }
        Ok(())
    }

    fn error(&self, what: &str) -> Error {
        Error::input(OPERATION, format!("{} {what}", self.path.display()))
    }
}

/// Layout of an edge list whose lines name genes; `None` for files that only [`text`] reads.
fn edges_form(path: &Path) -> Option<EdgesForm> {
    edges::recognise(path).ok().flatten()
}

/// Checks that a name may stand in a line of text and in XML.
///
/// # Errors
/// A sentence continuing "line N of FILE ...".
pub fn check(name: &str) -> std::result::Result<(), String> {
    if name.is_empty() {
        return Err("has an empty name; give every gene one".to_owned());
    }
    if name.len() > NAME_BYTES_MAX {
        let (size, limit) = (grouped(name.len()), grouped(NAME_BYTES_MAX));
        let remedy = if name.contains('"') { ", or close its quote" } else { "" };
        return Err(format!(
            "has a name of {size} bytes, the limit is {limit}; shorten it{remedy}"
        ));
    }
    match name.chars().find(|&one| one.is_control() || matches!(one, '\u{FFFE}' | '\u{FFFF}')) {
        None => Ok(()),
        Some('\0') => Err(ZERO_BYTES.to_owned()),
        Some(one) => {
            let code = u32::from(one);
            Err(format!("has a name with the control character U+{code:04X}; remove it"))
        }
    }
}

/// Writes the table of names, gene 1 first; returns its bytes.
///
/// # Errors
/// `System`.
pub fn write_table<'a>(path: &Path, names: impl Iterator<Item = &'a str>) -> Result<u64> {
    let failed = |cause| Error::system("answer", "writing", path, &cause);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path).map_err(failed)?);
    let mut size_bytes = 0;
    let mut line = format!("{GENES_HEADER}\n").into_bytes();
    for (gene, name) in (1u64..).zip(names) {
        append_integer(gene, &mut line);
        line.push(b'\t');
        line.extend_from_slice(name.as_bytes());
        line.push(b'\n');
        size_bytes += line.len() as u64;
        out.write_all(&line).map_err(failed)?;
        line.clear();
    }
    // The header of a table without genes.
    out.write_all(&line).and_then(|()| out.flush()).map_err(failed)?;
    Ok(size_bytes + line.len() as u64)
}

/// A number with a comma before each group of three digits.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    groups.join(",")
}

#[cfg(test)]
#[path = "names/tests.rs"]
mod tests;
