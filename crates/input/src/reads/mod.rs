//! Reads from FASTQ and FASTA files, plain or gzipped, given out in batches to many threads.

pub mod shares;

use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, TryLockError};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;
use flate2::read::MultiGzDecoder;
use needletail::errors::{ParseError, ParseErrorKind};
use needletail::{FastxReader, parse_fastx_reader};
use serde::{Deserialize, Serialize};

use crate::storage::{self, Input};

const OPERATION: &str = "input.reads";
/// Bases of a batch; the read that exceeds it is the last one.
const BATCH_BASES: usize = 1 << 20;
/// Of gzipped reads a byte stands for about so many.
const GZIP_TIMES: u64 = 4;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Some reads of one source, as they stand there.
#[derive(Default)]
pub struct ReadBatch {
    bases: Vec<u8>,
    ends: Vec<usize>,
    text_bytes: u64,
    source: usize,
    first: u64,
}

impl ReadBatch {
    /// The reads, one after the other.
    pub fn reads(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, &end)| &self.bases[start..end])
    }

    /// How many reads there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bases of all reads.
    pub fn bases(&self) -> usize {
        self.bases.len()
    }

    /// Bytes of text that the reads were, names and qualities included.
    pub fn text_bytes(&self) -> u64 {
        self.text_bytes
    }
}

/// The files that reads come from. Shared by threads, which take batches until none is left.
pub struct Reads {
    sources: Vec<Source>,
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
    opened: Mutex<Opened>,
}

struct Opened {
    /// None once the source has ended.
    readers: Vec<Box<dyn FastxReader>>,
    /// Groups so far, of so many reads of each file.
    given: u64,
}

impl Reads {
    /// Opens the files.
    ///
    /// # Errors
    /// `Input` for a file that is empty, neither FASTA nor FASTQ, or without its mate; `System`.
    pub fn open(paths: &[PathBuf], pairing: Pairing) -> Result<Self> {
        let files = if pairing == Pairing::InTwoFiles { 2 } else { 1 };
        let each = if pairing == Pairing::InTurn { 2 } else { 1 };
        let source = |paths: &[PathBuf]| {
            if paths.len() < files {
                let text = format!("{} has no mate; give the files two by two", paths[0].display());
                return Err(Error::input(OPERATION, text));
            }
            let readers = paths.iter().map(|path| open(path)).collect::<Result<_>>()?;
            let opened = Mutex::new(Opened { readers, given: 0 });
            Ok(Source { paths: paths.to_vec(), each, opened })
        };
        Ok(Self { sources: paths.chunks(files).map(source).collect::<Result<_>>()? })
    }

    /// Opens the reads in a range of bytes, from the first of a record on. Of a gzipped file the
    /// range is the whole of it.
    ///
    /// # Errors
    /// As [`Reads::open`].
    pub fn open_range(path: &Path, (start, end): (u64, u64)) -> Result<Self> {
        if is_gzipped(path)? {
            return Self::open(&[path.to_owned()], Pairing::None);
        }
        let mut readers: Vec<Box<dyn FastxReader>> = Vec::new();
        if start < end {
            let failed = |cause| Error::system(OPERATION, "reading", path, &cause);
            let mut file = Input::open(path).map_err(failed)?;
            let mut first = [0];
            file.read_exact_at(&mut first, start).map_err(failed)?;
            let is_cut = first == *b">" && end < file.size_bytes().map_err(failed)?;
            file.seek(SeekFrom::Start(start)).map_err(failed)?;
            // Where a record without bases comes last, the parser looks for a line after its name.
            let after: &[u8] = if is_cut { b"\n" } else { b"" };
            let reader = parse_fastx_reader(file.take(end - start).chain(after));
            readers.push(reader.map_err(|error| refusal(path, 0, &error))?);
        }
        let opened = Mutex::new(Opened { readers, given: 0 });
        Ok(Self { sources: vec![Source { paths: vec![path.to_owned()], each: 1, opened }] })
    }

    /// Fills `batch` with the next reads of some source; `false` when all have been given out.
    ///
    /// # Errors
    /// `Input` naming the file and the record; `System`.
    pub fn next(&self, batch: &mut ReadBatch) -> Result<bool> {
        for waits in [false, true] {
            for (index, source) in self.sources.iter().enumerate() {
                let mut opened = match source.opened.try_lock() {
                    Ok(opened) => opened,
                    Err(TryLockError::WouldBlock) if !waits => continue,
                    Err(_) => lock(&source.opened),
                };
                (batch.source, batch.first) = (index, opened.given);
                if source.fill(&mut opened, batch)? {
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

    fn fill(&self, opened: &mut Opened, batch: &mut ReadBatch) -> Result<bool> {
        batch.bases.clear();
        batch.ends.clear();
        batch.text_bytes = 0;
        while batch.bases.len() < BATCH_BASES && !opened.readers.is_empty() {
            let mut ended = 0;
            for (path, reader) in self.paths.iter().zip(&mut opened.readers) {
                for within in 0..self.each as u64 {
                    match reader.next() {
                        Some(Ok(record)) => {
                            batch.bases.extend_from_slice(&record.seq());
                            batch.ends.push(batch.bases.len());
                            batch.text_bytes += record.all().len() as u64 + 1;
                        }
                        Some(Err(error)) => {
                            let before = opened.given * self.each as u64 + within;
                            return Err(refusal(path, before, &error));
                        }
                        None => ended += 1,
                    }
                }
            }
            if ended == 0 {
                opened.given += 1;
            } else if ended == self.group() {
                opened.readers.clear();
            } else {
                return Err(self.odd(opened.given));
            }
        }
        Ok(!batch.is_empty())
    }

    /// A read has no mate after so many pairs.
    fn odd(&self, pairs: u64) -> Error {
        let names: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        let what = if self.each == 1 {
            format!("do not have equally many reads: one ends after {pairs}")
        } else {
            format!("has an odd number of reads: the last, after {pairs} pairs, has no mate")
        };
        Error::input(OPERATION, format!("{} {what}; obtain it again", names.join(" and ")))
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

fn open(path: &Path) -> Result<Box<dyn FastxReader>> {
    let failed = |cause| Error::system(OPERATION, "opening", path, &cause);
    let mut file = Input::open(path).map_err(failed)?;
    let mut start = Vec::new();
    (&mut file).take(2).read_to_end(&mut start).map_err(failed)?;
    if start.is_empty() {
        let text = format!("{} is empty; give FASTQ or FASTA", path.display());
        return Err(Error::input(OPERATION, text));
    }
    let whole = std::io::Cursor::new(start.clone()).chain(file);
    let reader = if start == GZIP_MAGIC {
        parse_fastx_reader(MultiGzDecoder::new(whole))
    } else {
        parse_fastx_reader(whole)
    };
    reader.map_err(|error| refusal(path, 0, &error))
}

/// How many bases and qualities a record has, from the numbers in the parser's words.
fn unequal(message: &str) -> String {
    let mut numbers = message.split_whitespace().filter(|word| word.parse::<u64>().is_ok());
    match (numbers.next(), numbers.next()) {
        (Some(bases), Some(qualities)) => format!("{bases} bases but {qualities} qualities"),
        _ => "more or fewer qualities than bases".to_owned(),
    }
}

fn refusal(path: &Path, given: u64, error: &ParseError) -> Error {
    let what = match error.kind {
        ParseErrorKind::Io => format!("cannot be read: {}; obtain it again", error.msg),
        ParseErrorKind::UnknownFormat => "is neither FASTQ nor FASTA".to_owned(),
        ParseErrorKind::InvalidStart => "a record begins with neither @ nor >".to_owned(),
        ParseErrorKind::InvalidSeparator => "the line before the qualities is no +".to_owned(),
        ParseErrorKind::UnequalLengths => {
            format!("{}; obtain it again", unequal(&error.msg))
        }
        ParseErrorKind::UnexpectedEnd => "the file is cut short; obtain it again".to_owned(),
        ParseErrorKind::EmptyFile => "holds no read; give FASTQ or FASTA".to_owned(),
    };
    let text =
        format!("{}, record {}, line {}: {what}", path.display(), given + 1, error.position.line);
    Error::input(OPERATION, text)
}
