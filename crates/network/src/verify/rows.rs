//! Reader that passes the rows of gene-pair text, or of a pair matrix, to a verifier: on all
//! threads, each byte read once.

use std::path::{Path, PathBuf};

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::Filter;
use cuesta_input::kinc;
use cuesta_input::limits::SPLIT_BYTES;
use cuesta_input::pair_matrix::{Need, PairMatrix, Query, Scratch};
use cuesta_input::reader::located;
use cuesta_input::source::{Split, TextFile, TextSource};
use cuesta_runtime::parallel;

use super::text::line::{Notation, WrittenRow};
use super::text::pieces::{Buffer, Pieces};
use super::text::walk;
use super::wanted::{Wanted, check_pair};

/// Rows to read.
pub struct RowScan<'a> {
    /// Files and folders of text, or one pair matrix.
    pub paths: &'a [PathBuf],
    /// Filter and sample of the rows.
    pub wanted: Wanted,
    /// Fields that the verifier needs.
    pub need: Need,
    /// Threads.
    pub threads: usize,
    /// Progress of the bytes read; [`announce`] sets their total.
    pub progress: &'a Progress,
}

impl RowScan<'_> {
    /// Calls `keep(state, row)` for each wanted row, in any order, on all threads; returns the
    /// states. Folders that a filter could skip are read, and a pair matrix is read without the
    /// ranges of its chunks.
    ///
    /// # Errors
    /// `Input` for a line that cannot be read, or that `keep` refuses with a sentence; `System`;
    /// `Cancelled`.
    pub fn each<S: Send>(
        &self,
        make: impl Fn() -> S + Sync,
        keep: impl Fn(&mut S, &WrittenRow<'_>) -> std::result::Result<(), String> + Sync,
    ) -> Result<Vec<S>> {
        let keep = |state: &mut S, written: &WrittenRow<'_>| {
            check_pair(&written.row)?;
            keep(state, written)
        };
        match self.paths {
            [path] if PairMatrix::is_at(path) => {
                self.each_of_matrix(&PairMatrix::open(path)?, make, keep)
            }
            _ => self.each_of_text(make, keep),
        }
    }

    fn each_of_text<S: Send>(
        &self,
        make: impl Fn() -> S + Sync,
        keep: impl Fn(&mut S, &WrittenRow<'_>) -> std::result::Result<(), String> + Sync,
    ) -> Result<Vec<S>> {
        let source = TextSource::open(self.paths, &Filter::EVERYTHING)?;
        let splits = source.splits(SPLIT_BYTES);
        let make = || (make(), Buffer::default());
        let work = |(state, buffer): &mut (S, Buffer), task: usize| {
            let split = &splits[task];
            self.each_of_split((&source.files[split.file], split), buffer, &mut |written| {
                keep(state, written)
            })
        };
        let states = parallel::run(self.threads, splits.len(), make, work, |_| {})?;
        Ok(states.into_iter().map(|(state, _)| state).collect())
    }

    fn each_of_split(
        &self,
        (file, split): (&TextFile, &Split),
        buffer: &mut Buffer,
        keep: &mut impl FnMut(&WrittenRow<'_>) -> std::result::Result<(), String>,
    ) -> Result<()> {
        let mut pieces = Pieces::open(file, split, buffer)?;
        while let Some(piece) = pieces.next_piece()? {
            let outcome = walk(piece.buffer, (piece.start, piece.end), &self.wanted, keep);
            outcome
                .map_err(|(at, message)| fault(file, piece.offset, at - piece.start, message))?;
            if piece.cut && self.wanted.rows_only {
                let last = piece.end - piece.start - 1;
                return Err(fault(file, piece.offset, last, "has no line feed".to_owned()));
            }
            let size = (piece.end - piece.start) as u64;
            self.progress.advance(if file.is_packed { 0 } else { size })?;
        }
        self.progress.advance(if file.is_packed { file.size_bytes } else { 0 })
    }

    fn each_of_matrix<S: Send>(
        &self,
        matrix: &PairMatrix,
        make: impl Fn() -> S + Sync,
        keep: impl Fn(&mut S, &WrittenRow<'_>) -> std::result::Result<(), String> + Sync,
    ) -> Result<Vec<S>> {
        let chunks = matrix.chunks(None);
        let edges = self.need == Need::Edge && self.wanted.needs_edges_only();
        let need = if edges { Need::Edge } else { Need::Row };
        let query = Query { filter: None, need };
        let size = size_bytes(matrix.path()) / chunks.len().max(1) as u64;
        let work = |(state, scratch): &mut (S, Option<Scratch>), task: usize| {
            let scratch = match scratch {
                Some(scratch) => scratch,
                none => none.insert(matrix.scratch()?),
            };
            matrix.visit_chunk(chunks[task].index, &query, scratch, |row| {
                let wanted = self.wanted.sampled(row.gene1, row.gene2) && self.wanted.passes(row);
                if !wanted {
                    return Ok(());
                }
                keep(state, &WrittenRow { row: *row, notation: Notation::Foreign }).map_err(
                    |message| {
                        let (gene1, gene2) = (row.gene1, row.gene2);
                        let path = matrix.path().display();
                        Error::input("verify", format!("pair {gene1} {gene2} of {path} {message}"))
                    },
                )
            })?;
            self.progress.advance(size)
        };
        let states = parallel::run(self.threads, chunks.len(), || (make(), None), work, |_| {})?;
        Ok(states.into_iter().map(|(state, _)| state).collect())
    }
}

/// Returns the error of a line `at` bytes after offset `offset` of a file.
pub fn fault(file: &TextFile, offset: u64, at: usize, message: String) -> Error {
    located(file, offset, &kinc::LineError { offset: at, what: message })
}

/// Announces the bytes that a verification will read, so that its remaining time can be estimated.
pub fn announce<'a>(progress: &Progress, paths: impl IntoIterator<Item = &'a PathBuf>) {
    progress.expect(paths.into_iter().map(|path| size_bytes(path)).sum());
}

/// Returns the size of a file, or of all files in a folder, in bytes.
pub fn size_bytes(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else {
        return std::fs::metadata(path).map_or(0, |file| file.len());
    };
    entries.flatten().map(|entry| size_bytes(&entry.path())).sum()
}
