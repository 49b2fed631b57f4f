//! The rows of a dataset that pass a filter, part by part, for any of the pair formats.

use std::path::PathBuf;

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::Filter;
use cuesta_input::kinc::block::{self, Counts, Hit};
use cuesta_input::limits::SPLIT_BYTES;
use cuesta_input::parallel;
use cuesta_input::reader::{Blocks, located};
use cuesta_input::source::{Split, TextFile, TextSource};

/// Gene pairs cut into parts that threads work on.
pub struct Pairs {
    /// The files.
    pub text: TextSource,
    /// The parts.
    pub splits: Vec<Split>,
    filter: Filter,
}

/// What one thread found.
pub struct Worker<S> {
    /// The state the workload gave it.
    pub state: S,
    /// Rows and bytes it went through.
    pub counts: Counts,
    /// Bytes of text it went through, decompressed.
    pub bytes: u64,
    buffer: Vec<u8>,
}

impl Pairs {
    /// Opens a dataset.
    ///
    /// # Errors
    /// `Input`, `System`.
    pub fn open(paths: &[PathBuf], filter: &Filter) -> Result<Self> {
        let text = TextSource::open(paths, filter)?;
        if text.shape.is_none() {
            let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            let text = format!("{} holds no gene pair; give KINC text", names.join(", "));
            return Err(Error::input("input.kinc", text));
        }
        let splits = text.splits(SPLIT_BYTES);
        Ok(Self { text, splits, filter: *filter })
    }

    /// Shows the visitor each row that passes, in order within a part, on `threads` threads.
    ///
    /// # Errors
    /// That of the first part that failed.
    pub fn visit<S: Send>(
        &self,
        threads: usize,
        progress: &Progress,
        make: impl Fn() -> S + Sync,
        visitor: &Visitor<'_, S>,
    ) -> Result<Vec<Worker<S>>> {
        progress.expect(self.text.size_bytes());
        let worker =
            || Worker { state: make(), counts: Counts::default(), bytes: 0, buffer: Vec::new() };
        let work = |worker: &mut Worker<S>, part: usize| {
            self.visit_part(part, worker, progress, visitor)?;
            (visitor.flush)(&mut worker.state, part, true)
        };
        parallel::run(threads, self.splits.len(), worker, work, visitor.on_error)
    }

    fn visit_part<S>(
        &self,
        part: usize,
        worker: &mut Worker<S>,
        progress: &Progress,
        visitor: &Visitor<'_, S>,
    ) -> Result<()> {
        let split = &self.splits[part];
        let file = &self.text.files[split.file];
        let Some(shape) = self.text.shape else { return Ok(()) };
        let buffer = std::mem::take(&mut worker.buffer);
        let mut blocks = Blocks::open_with(file, split, buffer)?;
        while let Some(found) = blocks.next_block()? {
            let offset = found.offset;
            let state = &mut worker.state;
            let counts = block::visit(found.bytes, found.size_bytes, &shape, &self.filter, |hit| {
                check_zone(file, hit)?;
                (visitor.keep)(state, part, hit)
            })
            .map_err(|fault| located(file, offset, &fault))?;
            worker.counts.add(counts);
            worker.bytes += found.size_bytes as u64;
            (visitor.flush)(&mut worker.state, part, false)?;
            if !file.gzipped {
                progress.advance(found.size_bytes as u64)?;
            }
        }
        worker.buffer = blocks.into_buffer();
        progress.advance(if file.gzipped { file.size_bytes } else { 0 })
    }
}

/// What a workload does with the rows.
pub struct Visitor<'a, S> {
    /// Takes a row that passed: state, part, row. Fails with a sentence on the line.
    pub keep: &'a (dyn Fn(&mut S, usize, &Hit<'_>) -> std::result::Result<(), String> + Sync),
    /// Told after each block of a part, and at last, with `true`, at its end.
    pub flush: &'a (dyn Fn(&mut S, usize, bool) -> Result<()> + Sync),
    /// Told of a part that failed.
    pub on_error: &'a (dyn Fn(usize) + Sync),
}

/// A row in a `NNN` folder must have a score of that range, or skipping folders would be wrong.
///
/// # Errors
/// A sentence continuing "line N of FILE ...".
pub fn check_zone(file: &TextFile, hit: &Hit<'_>) -> std::result::Result<(), String> {
    let size = i64::from(hit.score).abs();
    match file.zone {
        Some(zone) if size < i64::from(zone.min) || size > i64::from(zone.max) => {
            Err("has a score outside the range of its folder; move the file out of its clusters-* \
             tree, or name the score the tree is filed by with --score-index"
                .to_owned())
        }
        _ => Ok(()),
    }
}

/// Sums the counts of the workers: rows and bytes.
pub fn total<S>(workers: &[Worker<S>]) -> (Counts, u64) {
    let mut counts = Counts::default();
    for worker in workers {
        counts.add(worker.counts);
    }
    (counts, workers.iter().map(|worker| worker.bytes).sum())
}
