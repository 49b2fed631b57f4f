//! Verifier of the names in an answer: columns of tables, and complete files.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use cuesta_core::budget::Lease;
use cuesta_core::fixed::Micro;
use cuesta_core::job::Context;
use cuesta_core::{Error, Result};
use cuesta_input::GeneNames;
use cuesta_input::limits::READ_BYTES;
use cuesta_input::pair_matrix::Need;
use cuesta_input::row::Row;
use cuesta_runtime::parallel::lock;

use super::rows::{RowScan, announce};
use super::table::{Wrong, integer};
use super::wanted::Wanted;
use crate::run::scan::PAIRS_FILE;

/// Names that the genes of an answer must have, if any.
pub struct Named<'a> {
    names: Option<GeneNames>,
    _lease: Option<Lease<'a>>,
}

impl<'a> Named<'a> {
    /// Reads the names of a request.
    ///
    /// # Errors
    /// As [`GeneNames::read`].
    pub fn of(context: &Context<'a>) -> Result<Self> {
        let Some(path) = &context.request.names else {
            return Ok(Self { names: None, _lease: None });
        };
        let names = GeneNames::read(path, context.budget.free_bytes())?;
        let lease = context.budget.take(names.size_bytes(), "the names of the genes")?;
        Ok(Self { names: Some(names), _lease: Some(lease) })
    }

    /// Returns the names.
    pub fn names(&self) -> Option<&GeneNames> {
        self.names.as_ref()
    }

    /// Returns the header that a table must have: without columns of names, or with them.
    pub fn header(&self, [plain, named]: [&'static str; 2]) -> &'static str {
        if self.names.is_some() { named } else { plain }
    }

    /// Checks the last columns of a line, the names of the genes in its first columns, and returns
    /// the line without them. Without names, returns the complete line.
    ///
    /// # Errors
    /// A sentence with the wrong name.
    #[inline]
    pub fn strip<'l, const GENES: usize>(
        &self,
        line: &'l [u8],
    ) -> std::result::Result<&'l [u8], Wrong> {
        let Some(names) = &self.names else { return Ok(line) };
        let mut rest = line;
        for gene in genes::<GENES>(line)?.into_iter().rev() {
            let name = u32::try_from(gene).ok().and_then(|gene| names.get(gene));
            let name = name.ok_or_else(|| format!("has gene {gene}, which has no name"))?;
            let without = rest.strip_suffix(name.as_bytes());
            rest = without.and_then(|rest| rest.strip_suffix(b"\t")).ok_or_else(|| {
                format!("does not end in the name of gene {gene}, which is {name:?}")
            })?;
        }
        Ok(rest)
    }
}

/// Parses the genes in the first columns of a line.
///
/// # Errors
/// A sentence with the field that is not a gene.
#[inline]
fn genes<const GENES: usize>(line: &[u8]) -> std::result::Result<[u64; GENES], Wrong> {
    let mut genes = [0; GENES];
    let mut fields = line.split(|&byte| byte == b'\t');
    for gene in &mut genes {
        *gene = integer(fields.next().unwrap_or_default())?;
    }
    Ok(genes)
}

/// Comparison of a file with expected lines, byte by byte.
pub struct ExpectedFile<'a> {
    path: &'a Path,
    reader: BufReader<File>,
    buffer: Vec<u8>,
    line: u64,
}

impl<'a> ExpectedFile<'a> {
    /// Opens the file.
    ///
    /// # Errors
    /// `System`.
    pub fn open(path: &'a Path) -> Result<Self> {
        let file = File::open(path);
        let file = file.map_err(|cause| Error::system("verify", "opening", path, &cause))?;
        let reader = BufReader::with_capacity(READ_BYTES, file);
        Ok(Self { path, reader, buffer: Vec::new(), line: 0 })
    }

    /// Compares the next line, its line feed included.
    ///
    /// # Errors
    /// `Input` if the file has other bytes; `System`.
    pub fn line(&mut self, expected: &[u8]) -> Result<()> {
        self.line += 1;
        self.buffer.resize(expected.len(), 0);
        match self.reader.read_exact(&mut self.buffer) {
            Ok(()) if self.buffer == expected => Ok(()),
            Err(cause) if cause.kind() != std::io::ErrorKind::UnexpectedEof => {
                Err(Error::system("verify", "reading", self.path, &cause))
            }
            _ => Err(self.wrong("is not what follows from the rest of the answer")),
        }
    }

    /// Checks that the file has no further bytes.
    ///
    /// # Errors
    /// `Input` if it has; `System`.
    pub fn end(mut self) -> Result<()> {
        self.line += 1;
        let rest = self.reader.read(&mut [0]);
        match rest.map_err(|cause| Error::system("verify", "reading", self.path, &cause))? {
            0 => Ok(()),
            _ => Err(self.wrong("is one too many")),
        }
    }

    fn wrong(&self, fault: &str) -> Error {
        Error::input("verify", format!("line {} of {} {fault}", self.line, self.path.display()))
    }
}

/// Checks a table of the names of genes 1 to N.
///
/// # Errors
/// `Input` if the table differs; `System`.
pub fn table<'n>(path: &Path, names: impl Iterator<Item = &'n str>) -> Result<()> {
    let mut file = ExpectedFile::open(path)?;
    file.line(b"gene\tname\n")?;
    for (index, name) in names.enumerate() {
        file.line(format!("{}\t{name}\n", index + 1).as_bytes())?;
    }
    file.end()
}

/// Checks the edges of a scan, line by line along with its rows.
///
/// # Errors
/// `Input` if the edges differ; `System`; `Cancelled`.
pub fn edges(
    context: &Context<'_>,
    path: &Path,
    names: &GeneNames,
    score_index: usize,
) -> Result<()> {
    let mut file = ExpectedFile::open(path)?;
    file.line(b"gene1\tgene2\tname1\tname2\tcluster\tscore\n")?;
    let file = Mutex::new(file);
    let paths = [context.request.output.join(PAIRS_FILE)];
    announce(context.progress, &paths);
    let rows = RowScan {
        paths: &paths,
        wanted: Wanted::answer(),
        need: Need::Row,
        // One thread, which reads the rows in the order of the file.
        threads: 1,
        progress: context.progress,
    };
    let states = rows.each(
        || Ok(()),
        |state: &mut Result<()>, written| {
            if state.is_ok() {
                let line = line_of(&written.row, names, score_index)?;
                *state = lock(&file).line(line.as_bytes());
            }
            Ok(())
        },
    )?;
    states.into_iter().collect::<Result<()>>()?;
    file.into_inner().unwrap_or_else(PoisonError::into_inner).end()
}

fn line_of(
    row: &Row<'_>,
    names: &GeneNames,
    score_index: usize,
) -> std::result::Result<String, Wrong> {
    let (gene1, gene2, cluster) = (row.gene1, row.gene2, row.cluster);
    let score = row.scores.get(score_index).ok_or("lacks the score that decides")?;
    match (names.get(gene1), names.get(gene2)) {
        (Some(name1), Some(name2)) => {
            let score = decimal(*score);
            Ok(format!("{gene1}\t{gene2}\t{name1}\t{name2}\t{cluster}\t{score}\n"))
        }
        _ => Err("has a gene without a name".to_owned()),
    }
}

/// Formats a score canonically, with six decimals.
pub fn decimal(score: Micro) -> String {
    let (size, sign) = (score.unsigned_abs(), if score < 0 { "-" } else { "" });
    format!("{sign}{}.{:06}", size / 1_000_000, size % 1_000_000)
}
