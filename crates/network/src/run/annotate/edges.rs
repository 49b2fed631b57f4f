//! Edges of an answer, in the order of its rows: the rows of a scan or of a correlation, or those
//! of the inputs that pass the filter.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cuesta_core::fixed::{Micro, append_integer, append_text};
use cuesta_core::job::Context;
use cuesta_core::{Error, Result};
use cuesta_input::pair_matrix::Need;
use cuesta_input::{Filter, FilterParams, GeneNames};
use cuesta_runtime::ordered::OrderedFile;
use cuesta_runtime::parallel::lock;

use crate::params::{CommunitiesParams, CorrelateParams, Format, ScanParams};
use crate::run::load::PAIRS_FOLDER;
use crate::run::pairs::{Pairs, SelectedRow, Visitor};
use crate::run::scan::PAIRS_FILE;

/// File with the edges of a scan and the names of their genes.
pub const EDGES_FILE: &str = "edges.tsv";
/// First line of the file.
pub const EDGES_HEADER: &str = "gene1\tgene2\tname1\tname2\tcluster\tscore";
/// Bytes of a part that are held in memory before the part waits for its turn.
const PART_BYTES_MAX: usize = 8 << 20;

/// Edge: the row of a cluster of two genes.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The larger gene, from 1.
    pub gene1: u32,
    /// The smaller gene.
    pub gene2: u32,
    /// The cluster, from 1.
    pub cluster: u32,
    /// The score that passed, in millionths.
    pub score: Micro,
}

/// Source of edges.
pub struct EdgeSource<'a> {
    context: &'a Context<'a>,
    paths: Vec<PathBuf>,
    filter: Filter,
}

/// State of a thread for the current part.
#[derive(Default)]
struct Part {
    text: Vec<u8>,
    edges: u64,
    /// Error of an edge that could not be written.
    failed: Option<Error>,
}

impl<'a> EdgeSource<'a> {
    /// Opens the rows of the answer of a scan.
    ///
    /// # Errors
    /// `Input` for a parameter out of range.
    pub fn of_scan(context: &'a Context<'a>, params: &ScanParams) -> Result<Self> {
        let paths = vec![context.request.output.join(PAIRS_FILE)];
        Ok(Self { context, paths, filter: params.filter.check()? })
    }

    /// Opens the pairs of the answer of a correlation.
    ///
    /// # Errors
    /// `Input` for a parameter out of range.
    pub fn of_correlate(context: &'a Context<'a>, params: &CorrelateParams) -> Result<Self> {
        let name = match params.format {
            Format::Text => PAIRS_FILE,
            Format::Pairs => PAIRS_FOLDER,
        };
        let paths = vec![context.request.output.join(name)];
        Ok(Self { context, paths, filter: FilterParams::default().check()? })
    }

    /// Opens the rows of the inputs that pass the filter.
    ///
    /// # Errors
    /// `Input` for a parameter out of range.
    pub fn of_inputs(context: &'a Context<'a>, params: &CommunitiesParams) -> Result<Self> {
        let paths = context.request.inputs.clone();
        Ok(Self { context, paths, filter: params.filter.check()? })
    }

    /// Writes the table of edges with names; returns its size in bytes.
    ///
    /// # Errors
    /// `Input` for a gene without a name; `System`; `Cancelled`.
    pub fn write(&self, path: &Path, names: &GeneNames) -> Result<u64> {
        let out = OrderedFile::create(path)?;
        let mut header = format!("{EDGES_HEADER}\n").into_bytes();
        out.finish_task(0, &mut header)?;
        self.to_text(&out, &[], |text, _, edge| {
            let gene_names = [names.name(edge.gene1)?, names.name(edge.gene2)?];
            append_integer(u64::from(edge.gene1), text);
            text.push(b'\t');
            append_integer(u64::from(edge.gene2), text);
            for name in gene_names {
                text.push(b'\t');
                text.extend_from_slice(name.as_bytes());
            }
            text.push(b'\t');
            append_integer(u64::from(edge.cluster), text);
            text.push(b'\t');
            append_text(edge.score, text);
            text.push(b'\n');
            Ok(())
        })?;
        out.close()
    }

    /// Writes each edge with `append(text, number, edge)`, as tasks 1 and on of `out`, one for each
    /// part of the rows. The edges of a part are numbered from its number in `first` on.
    ///
    /// # Errors
    /// Errors of reading, of `append`, and of writing.
    pub fn to_text(
        &self,
        out: &OrderedFile,
        first: &[u64],
        append: impl Fn(&mut Vec<u8>, u64, Edge) -> Result<()> + Sync,
    ) -> Result<()> {
        let Some(pairs) = self.open()? else { return Ok(()) };
        let visitor = Visitor {
            keep: &|part: &mut Part, number, row| {
                let place = first.get(number).copied().unwrap_or(0) + part.edges;
                part.edges += 1;
                if part.failed.is_none() {
                    part.failed = append(&mut part.text, place, edge_of(row)).err();
                }
                Ok(())
            },
            flush: &|part, number, last| {
                if let Some(error) = part.failed.take() {
                    return Err(error);
                }
                if last {
                    part.edges = 0;
                    return out.finish_task(number + 1, &mut part.text);
                }
                match part.text.len() >= PART_BYTES_MAX {
                    true => out.write_part(number + 1, &mut part.text),
                    false => Ok(()),
                }
            },
            on_error: &|number| out.fail(number + 1),
        };
        let threads = self.context.request.threads;
        pairs.visit(threads, self.context.progress, Part::default, &visitor)?;
        Ok(())
    }

    /// Returns the genes that have an edge, and the number of edges of each part of the rows.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn survey(&self) -> Result<(Genes, Vec<u64>)> {
        let Some(pairs) = self.open()? else { return Ok((Genes::default(), Vec::new())) };
        let counts = Mutex::new(Vec::new());
        let visitor = Visitor {
            keep: &|(genes, edges): &mut (Genes, u64), _, row| {
                let (gene1, gene2, _) = row.place();
                genes.insert(gene1);
                genes.insert(gene2);
                *edges += 1;
                Ok(())
            },
            flush: &|(_, edges), part, last| {
                if last {
                    lock(&counts).push((part, std::mem::take(edges)));
                }
                Ok(())
            },
            on_error: &|_| {},
        };
        let threads = self.context.request.threads;
        let workers = pairs.visit(threads, self.context.progress, Default::default, &visitor)?;
        let mut genes = Genes::default();
        workers.iter().for_each(|worker| genes.merge(&worker.state.0));
        let mut counts = counts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        counts.sort_unstable();
        Ok((genes, counts.into_iter().map(|(_, edges)| edges).collect()))
    }

    /// Opens the rows; `None` for an answer without rows.
    fn open(&self) -> Result<Option<Pairs>> {
        let empty = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|file| file.len() == 0);
        if self.paths.iter().all(empty) {
            return Ok(None);
        }
        Pairs::open(&self.paths, &self.filter, Need::Edge).map(Some)
    }
}

fn edge_of(row: &SelectedRow<'_>) -> Edge {
    let (gene1, gene2, cluster) = row.place();
    Edge { gene1, gene2, cluster, score: row.score() }
}

/// Set of genes, stored as bits.
#[derive(Clone, Debug, Default)]
pub struct Genes {
    words: Vec<u64>,
}

impl Genes {
    /// Adds a gene, counted from 1.
    #[inline]
    pub fn insert(&mut self, gene: u32) {
        let (word, bit) = (gene as usize / 64, gene % 64);
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << bit;
    }

    /// Whether the set contains a gene.
    #[inline]
    pub fn contains(&self, gene: u32) -> bool {
        self.words.get(gene as usize / 64).is_some_and(|word| word >> (gene % 64) & 1 == 1)
    }

    /// Adds all genes of another set.
    pub fn merge(&mut self, other: &Self) {
        let words = self.words.len().max(other.words.len());
        self.words.resize(words, 0);
        self.words.iter_mut().zip(&other.words).for_each(|(word, more)| *word |= more);
    }

    /// Returns the number of genes.
    pub fn len(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Returns the genes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let all = 0..64 * self.words.len() as u32;
        all.filter(|&gene| self.contains(gene))
    }
}
