//! Reads the inputs of a verification with the plain reader.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::progress::Progress;
use cuesta_input::kinc::Fault;
use cuesta_input::limits::SPLIT_BYTES;
use cuesta_input::reader::{Blocks, located};
use cuesta_input::source::TextSource;
use cuesta_input::{FilterParams, parallel};

use crate::reference::PlainRow;

/// Calls `keep(state, row)` for every row of `paths`, in any order; returns the states.
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
    // No folder is skipped: the default filter passes every score.
    let source = TextSource::open(paths, &FilterParams::default().check()?)?;
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
