//! Sorted runs of packed rows on scratch disk, and their merge.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::removal::ScratchFolder;

use super::limits::{CANCEL_ROWS, RUN_BUFFER_BYTES};
use super::record::{Key, PackedRow, RecordLayout};

/// A folder for the runs of one writer; removed with everything in it when dropped.
pub struct RunFolder {
    folder: ScratchFolder,
    next: u64,
}

impl RunFolder {
    /// Makes a folder with a name of its own in `parent`.
    ///
    /// # Errors
    /// `System`.
    pub fn create(parent: &Path) -> Result<Self> {
        let folder = ScratchFolder::make(parent, "cuesta-runs")
            .map_err(|cause| Error::system("scratch", "creating", parent, &cause))?;
        Ok(Self { folder, next: 0 })
    }

    /// Starts a run.
    ///
    /// # Errors
    /// `System`.
    pub fn start_run(&mut self) -> Result<RunWriter> {
        let path = self.folder.path().join(self.next.to_string());
        self.next += 1;
        let file = File::create_new(&path)
            .map_err(|cause| Error::system("scratch", "creating", &path, &cause))?;
        let out = BufWriter::with_capacity(RUN_BUFFER_BYTES as usize, file);
        Ok(RunWriter { path, out })
    }
}

/// A run that is being written.
pub struct RunWriter {
    path: PathBuf,
    out: BufWriter<File>,
}

impl RunWriter {
    /// Appends packed rows.
    ///
    /// # Errors
    /// `System`.
    pub fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.out
            .write_all(bytes)
            .map_err(|cause| Error::system("scratch", "writing", &self.path, &cause))
    }

    /// Completes the run.
    ///
    /// # Errors
    /// `System`.
    pub fn finish(mut self) -> Result<Run> {
        self.out
            .flush()
            .map_err(|cause| Error::system("scratch", "writing", &self.path, &cause))?;
        Ok(Run { path: self.path })
    }
}

/// A sorted run on disk.
pub struct Run {
    path: PathBuf,
}

/// Sorted rows, one after the other.
pub trait SortedRows {
    /// The row in front, or `None` at the end.
    fn current(&self) -> Option<PackedRow<'_>>;
    /// Goes to the next row.
    ///
    /// # Errors
    /// `System`.
    fn advance(&mut self) -> Result<()>;
}

/// Reads a run; removes its file at the end.
pub struct RunReader {
    path: PathBuf,
    input: BufReader<File>,
    record: Vec<u8>,
    layout: RecordLayout,
}

impl RunReader {
    /// Opens a run and goes to its first row.
    ///
    /// # Errors
    /// `System`.
    pub fn open(run: Run, layout: RecordLayout) -> Result<Self> {
        let file = File::open(&run.path)
            .map_err(|cause| Error::system("scratch", "opening", &run.path, &cause))?;
        let input = BufReader::with_capacity(RUN_BUFFER_BYTES as usize, file);
        let record = vec![0; layout.record_bytes()];
        let mut reader = Self { path: run.path, input, record, layout };
        reader.advance()?;
        Ok(reader)
    }
}

impl SortedRows for RunReader {
    fn current(&self) -> Option<PackedRow<'_>> {
        (!self.record.is_empty()).then(|| PackedRow::new(&self.record, self.layout))
    }

    fn advance(&mut self) -> Result<()> {
        let failed =
            |cause: &std::io::Error| Error::system("scratch", "reading", &self.path, cause);
        let at_end = loop {
            match std::io::BufRead::fill_buf(&mut self.input) {
                Ok(bytes) => break bytes.is_empty(),
                Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(failed(&cause)),
            }
        };
        if at_end {
            self.record.clear();
            // Best effort: the whole folder is removed later.
            let _ = fs::remove_file(&self.path);
            return Ok(());
        }
        self.input.read_exact(&mut self.record).map_err(|cause| failed(&cause))
    }
}

/// Gives the rows of all sources in ascending order of their keys.
///
/// # Errors
/// `System`, `Cancelled`, or what `give` returns.
pub fn merge(
    mut sources: Vec<Box<dyn SortedRows + '_>>,
    progress: &Progress,
    mut give: impl FnMut(PackedRow<'_>) -> Result<()>,
) -> Result<()> {
    let mut heap: BinaryHeap<Reverse<(Key, usize)>> = BinaryHeap::new();
    let front = |source: &dyn SortedRows, number| Some(Reverse((source.current()?.key(), number)));
    heap.extend(sources.iter().enumerate().filter_map(|(number, s)| front(&**s, number)));
    let mut rows = 0u64;
    while let Some(mut top) = heap.peek_mut() {
        let number = top.0.1;
        let source = &mut sources[number];
        if let Some(record) = source.current() {
            give(record)?;
        }
        source.advance()?;
        match front(&**source, number) {
            Some(next) => *top = next,
            None => drop(std::collections::binary_heap::PeekMut::pop(top)),
        }
        rows += 1;
        if rows.is_multiple_of(CANCEL_ROWS) {
            progress.advance(0)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pair_matrix::header::{MaskKind, RowShape};

    const SHAPE: RowShape = RowShape { scores: 1, samples: 0, masks: MaskKind::None };

    #[test]
    fn runs_come_out_merged_and_leave_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let layout = RecordLayout::of(&SHAPE);
        let mut scratch = RunFolder::create(folder.path()).unwrap();
        let mut sources: Vec<Box<dyn SortedRows>> = Vec::new();
        for first in 0..5u64 {
            let mut run = scratch.start_run().unwrap();
            for rank in (first..3000).step_by(5) {
                let mut bytes = vec![0; layout.record_bytes()];
                bytes[..8].copy_from_slice(&rank.to_le_bytes());
                run.push(&bytes).unwrap();
            }
            let run = run.finish().unwrap();
            sources.push(Box::new(RunReader::open(run, layout).unwrap()));
        }
        let mut ranks = Vec::new();
        let give = |record: PackedRow<'_>| {
            ranks.push(record.key().0);
            Ok(())
        };
        merge(sources, &Progress::default(), give).unwrap();
        assert_eq!(ranks, (0..3000).collect::<Vec<_>>());
        drop(scratch);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
