//! Rows of a dataset that pass a filter, part by part, for any of the pair formats.

use std::path::PathBuf;

use cuesta_core::fixed::Micro;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::Filter;
use cuesta_input::kinc::LineShape;
use cuesta_input::kinc::block::{self, Counts, Hit};
use cuesta_input::limits::SPLIT_BYTES;
use cuesta_input::pair_matrix::{Chunk, Need, PairMatrix, Query, Scratch};
use cuesta_input::reader::{LineBlocks, located};
use cuesta_input::row::Row;
use cuesta_input::source::{Split, TextFile, TextSource};
use cuesta_runtime::parallel;

/// Gene pairs cut into parts that threads process.
pub struct Pairs {
    pub(super) source: RowSource,
    pub(super) filter: Filter,
    pub(super) need: Need,
}

pub(super) enum RowSource {
    Text { text: TextSource, splits: Vec<Split> },
    Matrix { matrix: Box<PairMatrix>, chunks: Vec<Chunk> },
}

/// Row that passed the filter.
pub enum SelectedRow<'a> {
    /// From text.
    Line(Hit<'a>),
    /// From a pair matrix; its numbers beyond gene, cluster and score are set only if the dataset
    /// was opened for complete rows.
    Row(Row<'a>, Micro),
}

impl SelectedRow<'_> {
    /// Returns larger gene, smaller gene and cluster, from 1.
    #[inline]
    pub fn place(&self) -> (u32, u32, u32) {
        match self {
            Self::Line(hit) => (hit.gene1, hit.gene2, hit.cluster),
            Self::Row(row, _) => (row.gene1, row.gene2, row.cluster),
        }
    }

    /// Returns the score that passed.
    #[inline]
    pub fn score(&self) -> Micro {
        match self {
            Self::Line(hit) => hit.score,
            Self::Row(_, score) => *score,
        }
    }
}

/// State and counts of a thread.
pub struct ThreadState<S> {
    /// State of the workload.
    pub state: S,
    /// Rows read and selected by the thread.
    pub counts: Counts,
    /// Bytes read by the thread, decompressed.
    pub bytes: u64,
    buffer: Vec<u8>,
    scratch: Option<Scratch>,
}

/// Callbacks of a workload for the rows.
pub struct Visitor<'a, S> {
    /// Takes a row that passed: state, part, row. Fails with a sentence on the line.
    pub keep:
        &'a (dyn Fn(&mut S, usize, &SelectedRow<'_>) -> std::result::Result<(), String> + Sync),
    /// Called after each block of a part, and at its end with `true`.
    pub flush: &'a (dyn Fn(&mut S, usize, bool) -> Result<()> + Sync),
    /// Called for a part that failed.
    pub on_error: &'a (dyn Fn(usize) + Sync),
}

impl Pairs {
    /// Opens a dataset: text, or one pair matrix. `need` states the required fields.
    ///
    /// # Errors
    /// `Input`, `System`.
    pub fn open(paths: &[PathBuf], filter: &Filter, need: Need) -> Result<Self> {
        let source = match paths {
            [path] if PairMatrix::is_at(path) => matrix_source(path, filter)?,
            _ => text_source(paths, filter)?,
        };
        Ok(Self { source, filter: *filter, need })
    }

    /// Returns the number of text files, or of chunks of a pair matrix, that are skipped: the range
    /// of scores of their folder or chunk shows that no row passes the filter.
    pub fn skipped(&self) -> u64 {
        match &self.source {
            RowSource::Text { text, .. } => text.files_skipped as u64,
            RowSource::Matrix { matrix, chunks } => (matrix.chunk_count() - chunks.len()) as u64,
        }
    }

    /// Returns the shape of the lines; `None` for a pair matrix.
    pub fn shape(&self) -> Option<LineShape> {
        match &self.source {
            RowSource::Text { text, .. } => text.shape,
            RowSource::Matrix { .. } => None,
        }
    }

    /// Passes each row that passes the filter to the visitor, in order within a part, on `threads`
    /// threads.
    ///
    /// # Errors
    /// Error of the first part that failed.
    pub fn visit<S: Send>(
        &self,
        threads: usize,
        progress: &Progress,
        make: impl Fn() -> S + Sync,
        visitor: &Visitor<'_, S>,
    ) -> Result<Vec<ThreadState<S>>> {
        let parts = match &self.source {
            RowSource::Text { text, splits } => {
                progress.expect(text.size_bytes());
                splits.len()
            }
            RowSource::Matrix { chunks, .. } => {
                progress.expect(chunks.iter().map(chunk_bytes).sum());
                chunks.len()
            }
        };
        let worker = || ThreadState {
            state: make(),
            counts: Counts::default(),
            bytes: 0,
            buffer: Vec::new(),
            scratch: None,
        };
        let work = |worker: &mut ThreadState<S>, part: usize| {
            match &self.source {
                RowSource::Text { text, splits } => {
                    let file = &text.files[splits[part].file];
                    self.visit_split(
                        (text, file),
                        (part, &splits[part]),
                        worker,
                        (visitor, progress),
                    )
                }
                RowSource::Matrix { matrix, chunks } => {
                    self.visit_chunk(matrix, (part, &chunks[part]), worker, visitor)?;
                    progress.advance(chunk_bytes(&chunks[part]))
                }
            }?;
            (visitor.flush)(&mut worker.state, part, true)
        };
        parallel::run(threads, parts, worker, work, visitor.on_error)
    }

    fn visit_split<S>(
        &self,
        (text, file): (&TextSource, &TextFile),
        (part, split): (usize, &Split),
        worker: &mut ThreadState<S>,
        (visitor, progress): (&Visitor<'_, S>, &Progress),
    ) -> Result<()> {
        let Some(shape) = text.shape else { return Ok(()) };
        let buffer = std::mem::take(&mut worker.buffer);
        let mut blocks = LineBlocks::open_with(file, split, buffer)?;
        while let Some(lines) = blocks.next_block()? {
            let offset = lines.offset;
            let state = &mut worker.state;
            let counts = block::visit(lines.bytes, lines.size_bytes, &shape, &self.filter, |hit| {
                check_zone(file, &self.filter, hit)?;
                (visitor.keep)(state, part, &SelectedRow::Line(*hit))
            })
            .map_err(|fault| located(file, offset, &fault))?;
            worker.counts.add(counts);
            worker.bytes += lines.size_bytes as u64;
            (visitor.flush)(&mut worker.state, part, false)?;
            if !file.is_packed {
                progress.advance(lines.size_bytes as u64)?;
            }
        }
        worker.buffer = blocks.into_buffer();
        progress.advance(if file.is_packed { file.size_bytes } else { 0 })
    }

    fn visit_chunk<S>(
        &self,
        matrix: &PairMatrix,
        (part, chunk): (usize, &Chunk),
        worker: &mut ThreadState<S>,
        visitor: &Visitor<'_, S>,
    ) -> Result<()> {
        let scratch = match &mut worker.scratch {
            Some(scratch) => scratch,
            none => none.insert(matrix.scratch()?),
        };
        let query = Query { filter: Some(self.filter), need: self.need };
        // An edge has only the score that the filter tests, a complete row has all scores.
        let index = if self.need == Need::Edge { 0 } else { self.filter.score_index };
        let state = &mut worker.state;
        let selected = matrix.visit_chunk(chunk.index, &query, scratch, |row| {
            let selected_row = SelectedRow::Row(*row, row.scores[index]);
            (visitor.keep)(state, part, &selected_row).map_err(|reason| {
                let place = format!("pair {} {}", row.gene1, row.gene2);
                let path = matrix.path().display();
                Error::input("input.pairs", format!("{place} of {path} {reason}"))
            })
        })?;
        worker.counts.add(Counts { rows_read: chunk.rows, rows_passed: selected });
        worker.bytes += chunk_bytes(chunk);
        Ok(())
    }
}

fn text_source(paths: &[PathBuf], filter: &Filter) -> Result<RowSource> {
    let text = TextSource::open(paths, filter)?;
    if text.shape.is_none() {
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let text = format!("{} holds no gene pair; give KINC text", names.join(", "));
        return Err(Error::input("input.kinc", text));
    }
    let splits = text.splits(SPLIT_BYTES);
    Ok(RowSource::Text { text, splits })
}

fn matrix_source(path: &std::path::Path, filter: &Filter) -> Result<RowSource> {
    let matrix = Box::new(PairMatrix::open(path)?);
    let header = matrix.header();
    if filter.score_index >= header.scores {
        let text = format!(
            "{} has {} scores a row, --score-index {} asks for another; give a smaller number",
            path.display(),
            header.scores,
            filter.score_index
        );
        return Err(Error::input("input.pairs", text));
    }
    let chunks = matrix.chunks(Some(filter));
    Ok(RowSource::Matrix { matrix, chunks })
}

/// Returns the size of the scores of a chunk, in bytes: the minimum that a scan must decode.
pub(super) fn chunk_bytes(chunk: &Chunk) -> u64 {
    4 * chunk.pairs as u64
}

/// Checks that a row in a `NNN` folder has a score of that range; otherwise skipping folders would
/// be wrong.
///
/// # Errors
/// A sentence continuing "line N of FILE ...".
pub fn check_zone(
    file: &TextFile,
    filter: &Filter,
    hit: &Hit<'_>,
) -> std::result::Result<(), String> {
    let size = i64::from(hit.score).abs();
    match file.zone {
        // Folders are skipped by the first score only.
        _ if filter.score_index != 0 || filter.keeps_everything() => Ok(()),
        Some(zone) if size < i64::from(zone.min) || size > i64::from(zone.max) => Err(
            "has a score outside the range of its folder; move the file out of its clusters-* tree"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

/// Returns the sums of the counts and bytes of the threads.
pub fn total<S>(workers: &[ThreadState<S>]) -> (Counts, u64) {
    let mut counts = Counts::default();
    for worker in workers {
        counts.add(worker.counts);
    }
    (counts, workers.iter().map(|worker| worker.bytes).sum())
}
