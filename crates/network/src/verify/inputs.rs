//! Reads the inputs of a verification with the plain reader.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::progress::Progress;
use cuesta_input::kinc::Fault;
use cuesta_input::limits::SPLIT_BYTES;
use cuesta_input::pair_matrix::{Need, PairMatrix, Query, Scratch};
use cuesta_input::reader::{Blocks, located};
use cuesta_input::source::TextSource;
use cuesta_input::{Filter, parallel};

use crate::reference::PlainRow;

/// Calls `keep(state, row)` for every row of `paths`, in any order; returns the states. A pair
/// matrix is read whole, without the ranges of its chunks.
///
/// # Errors
/// `Input` for a line that cannot be read; `System`; `Cancelled`.
pub fn each_row<S: Send>(
    paths: &[PathBuf],
    threads: usize,
    progress: &Progress,
    make: impl Fn() -> S + Sync,
    keep: impl Fn(&mut S, &PlainRow) + Sync,
) -> Result<Vec<S>> {
    if let [path] = paths
        && PairMatrix::is_at(path)
    {
        return each_row_of_matrix(&PairMatrix::open(path)?, threads, progress, make, keep);
    }
    // No folder is skipped.
    let source = TextSource::open(paths, &Filter::EVERYTHING)?;
    let splits = source.splits(SPLIT_BYTES);
    progress.expect(source.size_bytes());
    let work = |state: &mut S, task: usize| {
        let file = &source.files[splits[task].file];
        let mut blocks = Blocks::open(file, &splits[task])?;
        while let Some(block) = blocks.next_block()? {
            let mut place = 0;
            for line in block.bytes[..block.size_bytes].split(|&byte| byte == b'\n') {
                let row = match std::str::from_utf8(line) {
                    Ok(line) => PlainRow::read(line),
                    Err(_) => Err("not UTF-8".to_owned()),
                };
                let row = row
                    .map_err(|what| located(file, block.offset, &Fault { offset: place, what }))?;
                row.iter().for_each(|row| keep(state, row));
                place += line.len() + 1;
            }
            progress.advance(block.size_bytes as u64)?;
        }
        Ok(())
    };
    parallel::run(threads, splits.len(), make, work, |_| {})
}

fn each_row_of_matrix<S: Send>(
    matrix: &PairMatrix,
    threads: usize,
    progress: &Progress,
    make: impl Fn() -> S + Sync,
    keep: impl Fn(&mut S, &PlainRow) + Sync,
) -> Result<Vec<S>> {
    let chunks = matrix.chunks(None);
    let query = Query { filter: None, need: Need::Row };
    let work = |(state, scratch): &mut (S, Option<Scratch>), task: usize| {
        let scratch = match scratch {
            Some(scratch) => scratch,
            none => none.insert(matrix.scratch()?),
        };
        matrix.visit_chunk(chunks[task].index, &query, scratch, |row| {
            keep(state, &PlainRow::of(row));
            Ok(())
        })?;
        progress.advance(0)
    };
    let states = parallel::run(threads, chunks.len(), || (make(), None), work, |_| {})?;
    Ok(states.into_iter().map(|(state, _)| state).collect())
}
