//! Reads from FASTQ and FASTA files, plain or gzipped, given out in batches to many threads.

mod batch;
mod blocks;
pub mod kept;
mod members;
mod refusals;
pub mod shares;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;
use flate2::read::MultiGzDecoder;
use needletail::{FastxReader, parse_fastx_reader};
use serde::{Deserialize, Serialize};

use crate::storage::{self, Input};
pub use batch::ReadBatch;
use blocks::{BlockCut, RecordBlocks};
use kept::Kept;
use refusals::refusal;

const OPERATION: &str = "input.reads";
/// Bases of a batch, of which the read that exceeds it is the last one, or bytes of a block of
/// FASTQ: of all reads, and of the first alone.
const BATCH_BYTES: usize = 1 << 20;
const FEW_BYTES: usize = 1 << 16;
/// Of gzipped reads a byte stands for about so many.
const GZIP_TIMES: u64 = 4;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The files that reads come from. Shared by threads, which take batches until none is left.
pub struct Reads {
    sources: Vec<Source>,
    /// Where they are kept for later passes.
    kept: Option<Arc<Kept>>,
    /// The next batch that was kept, where all were.
    again: Option<AtomicUsize>,
}

/// Which reads are pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pairing {
    /// None.
    #[default]
    None,
    /// Those at one place of two files.
    InTwoFiles,
    /// Two that follow one another.
    InTurn,
}

/// A file, or two whose reads are pairs: a batch has the reads of a pair next to each other.
struct Source {
    paths: Vec<PathBuf>,
    /// Reads of each file that are next to each other in a batch.
    each: usize,
    batch_bytes: usize,
    opened: Mutex<Opened>,
}

struct Opened {
    records: Records,
    /// Groups so far, of so many reads of each file.
    given: u64,
    /// What is wrong with it, once that is known.
    fault: Option<Error>,
}

/// What finds records.
enum Records {
    /// A parser for each file, of whatever it is; none once the source has ended.
    Parsed(Vec<Box<dyn FastxReader>>),
    /// RecordBlocks of plain FASTQ, in which each thread finds them by itself.
    Cut(RecordBlocks),
}

impl Records {
    fn opened(self) -> Mutex<Opened> {
        Mutex::new(Opened { records: self, given: 0, fault: None })
    }
}

impl Reads {
    /// Opens the files.
    ///
    /// # Errors
    /// `Input` for a file that is empty, neither FASTA nor FASTQ, or without its mate; `System`.
    pub fn open(paths: &[PathBuf], pairing: Pairing) -> Result<Self> {
        Self::open_in(paths, pairing, BATCH_BYTES)
    }

    fn open_in(paths: &[PathBuf], pairing: Pairing, batch_bytes: usize) -> Result<Self> {
        let files = if pairing == Pairing::InTwoFiles { 2 } else { 1 };
        let each = if pairing == Pairing::InTurn { 2 } else { 1 };
        let source = |paths: &[PathBuf]| {
            if paths.len() < files {
                let text = format!("{} has no mate; give the files two by two", paths[0].display());
                return Err(Error::input(OPERATION, text));
            }
            let records = match blocks::fastq(paths)? {
                Some(inputs) => Records::Cut(RecordBlocks::new(inputs, each, batch_bytes)),
                None => Records::Parsed(parsers(paths)?),
            };
            Ok(Source { paths: paths.to_vec(), each, batch_bytes, opened: records.opened() })
        };
        Ok(Self::of(paths.chunks(files).map(source).collect::<Result<_>>()?))
    }

    /// Gives `take` the reads of a source from the first on, in batches, until it returns false:
    /// those that are kept, where all are, else from the files once more.
    ///
    /// # Errors
    /// As [`Reads::open`] and [`Reads::next`].
    pub fn first(
        &self,
        source: usize,
        pairing: Pairing,
        mut take: impl FnMut(&ReadBatch) -> bool,
    ) -> Result<()> {
        let mut batch = ReadBatch::default();
        if let (Some(kept), Some(_)) = (&self.kept, &self.again) {
            for index in kept.of_source(source) {
                if !kept.fill(index, &mut batch) || !take(&batch) {
                    break;
                }
            }
            return Ok(());
        }
        let reads = Self::open_in(&self.sources[source].paths, pairing, FEW_BYTES)?;
        while reads.next(&mut batch)? && take(&batch) {}
        Ok(())
    }

    /// How many files there are, or pairs of files.
    pub fn sources(&self) -> usize {
        self.sources.len()
    }

    fn of(sources: Vec<Source>) -> Self {
        Self { sources, kept: None, again: None }
    }

    /// Opens a text that is some records of a file, or none; where there are some, `after` is
    /// added.
    ///
    /// # Errors
    /// As [`Reads::open`].
    fn open_text(
        path: &Path,
        mut text: Box<dyn Read + Send>,
        after: &'static [u8],
    ) -> Result<Self> {
        let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
        let mut start = Vec::new();
        (&mut text).take(1).read_to_end(&mut start).map_err(failed)?;
        let mut readers = Vec::new();
        if !start.is_empty() {
            let reader = parse_fastx_reader(std::io::Cursor::new(start).chain(text).chain(after));
            readers.push(reader.map_err(|error| refusal(path, 0, &error))?);
        }
        let opened = Records::Parsed(readers).opened();
        Ok(Self::of(vec![Source {
            paths: vec![path.to_owned()],
            each: 1,
            batch_bytes: BATCH_BYTES,
            opened,
        }]))
    }

    /// Fills `batch` with the next reads of some source; `false` when all have been given out.
    ///
    /// # Errors
    /// `Input` naming the file and the record; `System`.
    pub fn next(&self, batch: &mut ReadBatch) -> Result<bool> {
        let Some(kept) = &self.kept else { return self.read(batch) };
        let Some(next) = &self.again else {
            let is_read = self.read(batch)?;
            if is_read {
                kept.keep(batch)
            } else {
                kept.end()
            }
            return Ok(is_read);
        };
        if !kept.fill(next.fetch_add(1, Ordering::Relaxed), batch) {
            return Ok(false);
        }
        let source = &self.sources[batch.source];
        lock(&source.opened).given += (batch.len() / source.group()) as u64;
        Ok(true)
    }

    fn read(&self, batch: &mut ReadBatch) -> Result<bool> {
        for waits in [false, true] {
            for (index, source) in self.sources.iter().enumerate() {
                let opened = match source.opened.try_lock() {
                    Ok(opened) => opened,
                    Err(TryLockError::WouldBlock) if !waits => continue,
                    Err(_) => lock(&source.opened),
                };
                (batch.source, batch.first) = (index, opened.given);
                if source.fill(opened, batch)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// How many reads have been given out.
    pub fn given(&self) -> u64 {
        let given = |source: &Source| lock(&source.opened).given * source.group() as u64;
        self.sources.iter().map(given).sum()
    }

    /// The file of a read of a batch, and which of its records it is, from 1 on.
    pub fn place(&self, batch: &ReadBatch, read: usize) -> (&Path, u64) {
        let source = &self.sources[batch.source];
        let (group, within) = (batch.first + (read / source.group()) as u64, read % source.group());
        let record = group * source.each as u64 + (within % source.each) as u64 + 1;
        (&source.paths[within / source.each], record)
    }
}

impl Source {
    /// Reads that belong together.
    fn group(&self) -> usize {
        self.paths.len() * self.each
    }

    fn fill(&self, mut opened: MutexGuard<'_, Opened>, batch: &mut ReadBatch) -> Result<bool> {
        batch.bases.clear();
        batch.ends.clear();
        batch.text_bytes = 0;
        if let Some(fault) = &opened.fault {
            return Err(fault.clone());
        }
        let Opened { records, given, .. } = &mut *opened;
        let groups = match records {
            Records::Parsed(readers) => return self.parse(readers, given, batch),
            Records::Cut(blocks) => match blocks.cut(&mut batch.texts) {
                Ok(BlockCut::End) => return Ok(false),
                Ok(BlockCut::Groups(groups)) => groups,
                Ok(BlockCut::Fault) | Err(_) => return Err(self.fault(&mut opened)),
            },
        };
        *given += groups;
        drop(opened);
        let ReadBatch { texts, bases, ends, text_bytes, .. } = batch;
        *text_bytes = texts.iter().map(|text| text.len() as u64).sum();
        if blocks::parse(texts, (self.each, groups), (bases, ends)) {
            return Ok(true);
        }
        Err(self.fault(&mut lock(&self.opened)))
    }

    /// What is wrong with the first record that is no record: of the whole source, which blocks do
    /// not see. The same for any number of threads.
    fn fault(&self, opened: &mut Opened) -> Error {
        let fault = opened.fault.take().unwrap_or_else(|| match self.parse_all() {
            Err(fault) => fault,
            Ok(()) => {
                let text = format!("{} changed while it was read; try again", self.names());
                Error::input(OPERATION, text)
            }
        });
        opened.fault = Some(fault.clone());
        fault
    }

    fn parse_all(&self) -> Result<()> {
        let (mut readers, mut given) = (parsers(&self.paths)?, 0);
        let mut batch = ReadBatch::default();
        while self.parse(&mut readers, &mut given, &mut batch)? {
            batch.bases.clear();
            batch.ends.clear();
        }
        Ok(())
    }

    fn parse(
        &self,
        readers: &mut Vec<Box<dyn FastxReader>>,
        given: &mut u64,
        batch: &mut ReadBatch,
    ) -> Result<bool> {
        while batch.bases.len() < self.batch_bytes && !readers.is_empty() {
            let mut ended = 0;
            for (path, reader) in self.paths.iter().zip(readers.iter_mut()) {
                for within in 0..self.each as u64 {
                    match reader.next() {
                        Some(Ok(record)) => {
                            batch.bases.extend_from_slice(&record.seq());
                            batch.ends.push(batch.bases.len());
                            batch.text_bytes += record.all().len() as u64 + 1;
                        }
                        Some(Err(error)) => {
                            let before = *given * self.each as u64 + within;
                            return Err(refusal(path, before, &error));
                        }
                        None => ended += 1,
                    }
                }
            }
            if ended == 0 {
                *given += 1;
            } else if ended == self.group() {
                readers.clear();
            } else {
                return Err(self.odd(*given));
            }
        }
        Ok(!batch.is_empty())
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        names.join(" and ")
    }

    /// A read has no mate after so many pairs.
    fn odd(&self, pairs: u64) -> Error {
        let what = if self.each == 1 {
            format!("do not have equally many reads: one ends after {pairs}")
        } else {
            format!("has an odd number of reads: the last, after {pairs} pairs, has no mate")
        };
        Error::input(OPERATION, format!("{} {what}; obtain it again", self.names()))
    }
}

/// Whether a file is gzipped, by its first bytes.
///
/// # Errors
/// `System`.
pub fn is_gzipped(path: &Path) -> Result<bool> {
    let failed = |cause| Error::system(OPERATION, "opening", path, &cause);
    let mut start = Vec::new();
    Input::open(path).map_err(failed)?.take(2).read_to_end(&mut start).map_err(failed)?;
    Ok(start == GZIP_MAGIC)
}

/// Bytes of the reads, those of gzipped files as they may be once unpacked.
///
/// # Errors
/// `System`.
pub fn input_bytes(paths: &[PathBuf]) -> Result<u64> {
    let size = |path: &PathBuf| {
        let found = storage::facts(path)
            .map_err(|cause| Error::system(OPERATION, "opening", path, &cause))?;
        let gzipped = path.extension().is_some_and(|suffix| suffix == "gz");
        Ok(found.size_bytes * if gzipped { GZIP_TIMES } else { 1 })
    };
    paths.iter().map(size).sum()
}

/// A file from its beginning, and its first two bytes.
fn started(path: &Path) -> Result<(Box<dyn Read + Send>, Vec<u8>)> {
    let failed = |cause| Error::system(OPERATION, "opening", path, &cause);
    let mut file = Input::open(path).map_err(failed)?;
    let mut start = Vec::new();
    (&mut file).take(2).read_to_end(&mut start).map_err(failed)?;
    Ok((Box::new(std::io::Cursor::new(start.clone()).chain(file)), start))
}

fn parsers(paths: &[PathBuf]) -> Result<Vec<Box<dyn FastxReader>>> {
    paths.iter().map(|path| open(path)).collect()
}

fn open(path: &Path) -> Result<Box<dyn FastxReader>> {
    let (whole, start) = started(path)?;
    if start.is_empty() {
        let text = format!("{} is empty; give FASTQ or FASTA", path.display());
        return Err(Error::input(OPERATION, text));
    }
    let reader = if start == GZIP_MAGIC {
        parse_fastx_reader(MultiGzDecoder::new(whole))
    } else {
        parse_fastx_reader(whole)
    };
    reader.map_err(|error| refusal(path, 0, &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_testkit::reads::reads_text;
    use proptest::prelude::*;

    type Found = (Vec<Vec<u8>>, Vec<u64>, Option<String>);

    /// All reads, which records they are, and the error at the end.
    fn found(paths: &[PathBuf], pairing: Pairing, block_bytes: Option<usize>) -> Found {
        let mut all = Found::default();
        let reads = Reads::open_in(paths, pairing, block_bytes.unwrap_or(1)).unwrap();
        if block_bytes.is_none() {
            for source in &reads.sources {
                lock(&source.opened).records = Records::Parsed(parsers(&source.paths).unwrap());
            }
        }
        let mut batch = ReadBatch::default();
        loop {
            match reads.next(&mut batch) {
                Ok(true) => {
                    all.1.extend((0..batch.len()).map(|read| reads.place(&batch, read).1));
                    all.0.extend(batch.reads().map(<[u8]>::to_vec));
                }
                Ok(false) => {
                    assert_eq!(reads.given(), all.0.len() as u64);
                    return all;
                }
                Err(error) => {
                    if block_bytes.is_some() {
                        // Whoever comes next is told the same.
                        assert_eq!(reads.next(&mut batch).unwrap_err().message, error.message);
                    }
                    all.2 = Some(error.message);
                    return all;
                }
            }
        }
    }

    fn records() -> impl Strategy<Value = Vec<(String, String)>> {
        prop::collection::vec(("[ACGTN]{0,12}", "[@+>I]{12}"), 1..14)
    }

    proptest! {
        #[test]
        fn blocks_have_the_records_of_a_parser_and_its_errors(
            [reads, more] in [records(), records()],
            changes in
                prop::collection::vec((any::<prop::sample::Index>(), 0..3, "[\r\n@+A]"), 0..3),
            [windows, both, equal] in any::<[bool; 3]>(),
            (ending, block_bytes) in (0usize..5, 1usize..300),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut text = reads_text(&reads, false, windows).into_bytes();
            match ending {
                0 => drop(text.pop()),
                1 => text.extend(b"\n\r\n"),
                2 => text.extend(b"\n\n\n\n"),
                _ => {}
            }
            for (place, kind, letter) in changes {
                let place = 1 + place.index(text.len() - 1);
                match kind {
                    0 => drop(text.remove(place)),
                    1 => text.insert(place, letter.as_bytes()[0]),
                    _ => text.truncate(place + 1),
                }
                text.extend(b"@" .iter().take(2usize.saturating_sub(text.len())));
            }
            let more = reads_text(if equal { &reads } else { &more }, false, false);
            let paths = ["one", "two"].map(|name| folder.path().join(name));
            std::fs::write(&paths[0], text).unwrap();
            std::fs::write(&paths[1], more).unwrap();
            let (paths, pairing) = match both {
                true => (&paths[..], Pairing::InTwoFiles),
                false if equal => (&paths[..], Pairing::InTurn),
                false => (&paths[..], Pairing::None),
            };
            let blocks = found(paths, pairing, Some(block_bytes));
            let parsed = found(paths, pairing, None);
            prop_assert_eq!(&blocks.2, &parsed.2);
            if blocks.2.is_none() {
                prop_assert_eq!(blocks, parsed);
            }
        }
    }
}
