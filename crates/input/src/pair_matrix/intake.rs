//! Sorting of rows that arrive in any order, within a memory limit.
//!
//! Rows are buffered in a window. When it is full, the lower half is encoded; input that is in
//! order, or nearly so, is never written twice. The first row that arrives too late changes the
//! plan: the encoded rows become a sorted run on the scratch disk, further rows are sorted into
//! runs too, and in the end all runs are merged. The arrays are the same either way.

use std::path::{Path, PathBuf};

use cuesta_core::budget::human;
use cuesta_core::fixed::Micro;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};

use super::PairMatrix;
use super::assemble::{Assembler, SlotDone};
use super::header::{MatrixHeader, RowShape};
use super::limits::{
    BATCH_BYTES_MAX, BATCH_BYTES_MIN, MERGE_RUNS_MAX, RUN_BUFFER_BYTES, STREAM_BYTES,
};
use super::publish::{self, MatrixNames};
use super::rank::Walker;
use super::record::{Key, RecordLayout, RowBatch};
use super::runs::{Run, RunFolder, RunReader, SortedRows, merge};
use super::visit::{Need, Query};
use super::window::{Window, key_of};
use crate::limits::GENES_MAX;

/// Smallest useful window.
const WINDOW_BYTES_MIN: u64 = 1 << 20;

/// Division of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntakeMemory {
    shape: RowShape,
    threads: usize,
    window_bytes: u64,
    slots: u64,
    batch_bytes: u64,
}

impl IntakeMemory {
    /// Divides `memory_bytes` among the threads, the window and the slots.
    ///
    /// # Errors
    /// `Input` naming the memory needed when there is too little.
    pub fn new(shape: RowShape, threads: usize, memory_bytes: u64) -> Result<Self> {
        let least = Assembler::memory_bytes(&shape, threads, 1);
        let window_least = WINDOW_BYTES_MIN * Window::MEMORY_FACTOR;
        let Some(rest) = memory_bytes.checked_sub(least + window_least) else {
            let (need, have) = (human(least + window_least), human(memory_bytes));
            let text = format!(
                "writing a pair matrix on {threads} threads needs {need}, there is {have}; raise \
                 --memory or lower --threads"
            );
            return Err(Error::input("memory", text));
        };
        // Batches and the window share a half; the rest is for further clusters of a pair.
        let (waiting, further) = (rest - rest / 2, rest / 2);
        let batch_bytes = (waiting / 2 / threads as u64).clamp(BATCH_BYTES_MIN, BATCH_BYTES_MAX);
        let window_bytes = waiting.saturating_sub(batch_bytes * threads as u64);
        let window_bytes = WINDOW_BYTES_MIN + window_bytes / Window::MEMORY_FACTOR;
        let slots = 1 + further / Assembler::slot_bytes(&shape);
        Ok(Self { shape, threads, window_bytes, slots, batch_bytes })
    }

    /// Bytes of a batch at which a thread hands it over.
    pub fn batch_bytes(&self) -> u64 {
        self.batch_bytes
    }

    fn assembler(&self, folder: &Path) -> Box<Assembler> {
        Box::new(Assembler::new(self.shape, folder, self.threads, self.slots))
    }

    fn runs_at_once(&self) -> usize {
        (self.window_bytes / 2 / RUN_BUFFER_BYTES).clamp(2, MERGE_RUNS_MAX) as usize
    }
}

/// Receiver of rows in any order.
pub struct Intake {
    plan: IntakeMemory,
    /// Folder of the arrays.
    folder: PathBuf,
    /// Parent of scratch folders.
    scratch: PathBuf,
    window: Window,
    mode: Mode,
    spilled_bytes: u64,
}

enum Mode {
    /// Rows up to this key are encoded.
    Streaming { assembler: Box<Assembler>, encoded: Option<Key> },
    /// All rows so far are in the window and in sorted runs.
    Spilling { scratch: RunFolder, runs: Vec<Run> },
    /// An error has been returned.
    Broken,
}

impl Intake {
    /// Creates the arrays in `folder`; `scratch` is for data that exceeds the memory.
    pub fn new(plan: IntakeMemory, folder: &Path, scratch: &Path) -> Self {
        Self {
            plan,
            folder: folder.to_owned(),
            scratch: scratch.to_owned(),
            window: Window::new(RecordLayout::of(&plan.shape)),
            mode: Mode::Streaming { assembler: plan.assembler(folder), encoded: None },
            spilled_bytes: 0,
        }
    }

    /// Moves packed rows into the window; leaves `rows` empty.
    ///
    /// # Errors
    /// `Input` for a duplicate row; `System`. The intake is unusable then.
    pub fn push(&mut self, rows: &mut Vec<u8>) -> Result<()> {
        self.window.take(rows);
        let mode = std::mem::replace(&mut self.mode, Mode::Broken);
        self.mode = self.make_room(mode)?;
        Ok(())
    }

    /// Whether rows in order are still written as they arrive.
    pub fn is_streaming(&self) -> bool {
        matches!(self.mode, Mode::Streaming { .. })
    }

    /// Adds consecutive pairs; see [`Assembler::push_band`]. Ranks must be in ascending order.
    ///
    /// # Errors
    /// `System`.
    pub fn push_band(
        &mut self,
        first: u64,
        scores: &[Micro],
        counts: Option<&[u32]>,
    ) -> Result<(u64, bool)> {
        let Mode::Streaming { assembler, encoded } = &mut self.mode else {
            return Err(broken());
        };
        assert!(encoded.is_none_or(|(rank, _)| rank < first), "bands come in order");
        let last = (first + scores.len() as u64).checked_sub(1);
        *encoded = last.map(|rank| (rank, 1)).or(*encoded);
        assembler.push_band(first, scores, counts)
    }

    /// Completes the arrays; returns the content of each slot and the bytes written to scratch.
    ///
    /// # Errors
    /// `Input` for a duplicate row; `System`; `Cancelled`.
    pub fn finish(mut self, progress: &Progress) -> Result<(Vec<SlotDone>, u64)> {
        let slots = match std::mem::replace(&mut self.mode, Mode::Broken) {
            Mode::Streaming { mut assembler, encoded } if !self.is_late(encoded) => {
                self.encode(&mut assembler, 0)?;
                progress.advance(0)?;
                assembler.finish()?
            }
            Mode::Streaming { assembler, encoded } => {
                let (scratch, runs) = self.take_back(*assembler, encoded)?;
                self.merge_all(scratch, runs, progress)?
            }
            Mode::Spilling { scratch, runs } => self.merge_all(scratch, runs, progress)?,
            Mode::Broken => return Err(broken()),
        };
        Ok((slots, self.spilled_bytes))
    }

    /// Empties the window, at least in part, if it is full.
    fn make_room(&mut self, mode: Mode) -> Result<Mode> {
        let size_bytes = self.window.size_bytes();
        match mode {
            Mode::Streaming { mut assembler, encoded } => {
                if size_bytes < self.plan.window_bytes.min(STREAM_BYTES) {
                    return Ok(Mode::Streaming { assembler, encoded });
                }
                if self.is_late(encoded) {
                    let (scratch, runs) = self.take_back(*assembler, encoded)?;
                    return self.make_room(Mode::Spilling { scratch, runs });
                }
                let encoded = self.encode(&mut assembler, size_bytes / 2)?;
                Ok(Mode::Streaming { assembler, encoded })
            }
            Mode::Spilling { mut scratch, mut runs } => {
                if size_bytes >= self.plan.window_bytes {
                    let mut run = scratch.start_run()?;
                    let order = self.window.order();
                    self.window.emit(&order, |row| run.push(row))?;
                    runs.push(run.finish()?);
                    self.window.keep(&[]);
                    self.spilled_bytes += size_bytes;
                }
                Ok(Mode::Spilling { scratch, runs })
            }
            Mode::Broken => Err(broken()),
        }
    }

    /// Whether the first buffered row is not after the encoded rows.
    fn is_late(&self, encoded: Option<Key>) -> bool {
        let smallest = self.window.smallest();
        encoded.is_some_and(|encoded| smallest.is_some_and(|smallest| smallest <= encoded))
    }

    /// Encodes the lowest buffered rows until about `remaining_bytes` remain; returns the last key.
    fn encode(&mut self, assembler: &mut Assembler, remaining_bytes: u64) -> Result<Option<Key>> {
        if self.window.is_in_order() {
            return self.window.emit_oldest(remaining_bytes, |record| assembler.push(record));
        }
        let order = self.window.order();
        let left = (order.len() as u64 * remaining_bytes).checked_div(self.window.size_bytes());
        let (lower, upper) = order.split_at(order.len() - left.unwrap_or(0) as usize);
        for place in lower {
            assembler.push(self.window.record(place.2))?;
        }
        self.window.keep(upper);
        Ok(lower.last().map(key_of))
    }

    /// Turns the encoded rows into a sorted run and removes the arrays.
    fn take_back(
        &mut self,
        assembler: Assembler,
        encoded: Option<Key>,
    ) -> Result<(RunFolder, Vec<Run>)> {
        let shape = self.plan.shape;
        let slots = assembler.finish()?;
        let genes = encoded.map_or(0, |(rank, _)| Walker::default().genes_of(rank).0);
        let header = MatrixHeader::of(shape, genes, slots.iter().map(|slot| slot.rows).collect());
        publish::store(&self.folder, &header, &slots, &MatrixNames::default())?;
        let matrix = PairMatrix::open(&self.folder)?;
        let mut scratch = RunFolder::create(&self.scratch)?;
        let mut run = scratch.start_run()?;
        let mut reader = matrix.scratch()?;
        let mut batch = RowBatch::new(shape, GENES_MAX);
        let query = Query { filter: None, need: Need::Row };
        for chunk in 0..matrix.chunk_count() {
            matrix.visit_chunk(chunk, &query, &mut reader, |row| {
                batch.push(row).map_err(|what| Error::defect("output.pairs", what))?;
                run.push(batch.bytes())?;
                self.spilled_bytes += batch.size_bytes() as u64;
                batch.clear();
                Ok(())
            })?;
        }
        let runs = vec![run.finish()?];
        publish::clear(&self.folder)?;
        Ok((scratch, runs))
    }

    /// Merges the runs and the window into the arrays.
    fn merge_all(
        &mut self,
        mut scratch: RunFolder,
        mut runs: Vec<Run>,
        progress: &Progress,
    ) -> Result<Vec<SlotDone>> {
        let layout = RecordLayout::of(&self.plan.shape);
        let at_once = self.plan.runs_at_once();
        let open = |runs: std::vec::Drain<'_, Run>| {
            runs.map(|run| Ok(Box::new(RunReader::open(run, layout)?) as Box<dyn SortedRows>))
                .collect::<Result<Vec<_>>>()
        };
        while runs.len() > at_once {
            let sources = open(runs.drain(..at_once))?;
            let mut run = scratch.start_run()?;
            merge(sources, progress, |row| run.push(row.bytes()))?;
            runs.push(run.finish()?);
        }
        let mut sources: Vec<Box<dyn SortedRows + '_>> = open(runs.drain(..))?;
        sources.push(Box::new(self.window.sorted()));
        let mut assembler = self.plan.assembler(&self.folder);
        merge(sources, progress, |row| assembler.push(row))?;
        assembler.finish()
    }
}

fn broken() -> Error {
    Error::defect("output.pairs", "writing went on after an error")
}
