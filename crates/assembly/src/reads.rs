//! Reads from FASTQ and FASTA files, plain or gzipped, given out in batches to many threads.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, TryLockError};

use cuesta_core::{Error, Result};
use cuesta_input::parallel::lock;
use flate2::read::MultiGzDecoder;
use needletail::errors::{ParseError, ParseErrorKind};
use needletail::{FastxReader, parse_fastx_reader};

const OPERATION: &str = "input.reads";
/// Bases of a batch; the read that exceeds it is the last one.
const BATCH_BASES: usize = 1 << 20;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Some reads of one file, as they stand there.
#[derive(Default)]
pub struct Batch {
    bases: Vec<u8>,
    ends: Vec<usize>,
    file: usize,
    first: u64,
}

impl Batch {
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
}

/// The files that reads come from. Shared by threads, which take batches until none is left.
pub struct Reads {
    paths: Vec<PathBuf>,
    files: Vec<Mutex<Opened>>,
}

struct Opened {
    reader: Option<Box<dyn FastxReader>>,
    given: u64,
}

impl Reads {
    /// Opens the files.
    ///
    /// # Errors
    /// `Input` for a file that is empty or neither FASTA nor FASTQ; `System`.
    pub fn open(paths: &[PathBuf]) -> Result<Self> {
        let opened =
            |path: &PathBuf| Ok(Mutex::new(Opened { reader: Some(open(path)?), given: 0 }));
        let files = paths.iter().map(opened).collect::<Result<_>>()?;
        Ok(Self { paths: paths.to_vec(), files })
    }

    /// Fills `batch` with the next reads of some file; `false` when all have been given out.
    ///
    /// # Errors
    /// `Input` naming the file and the record; `System`.
    pub fn next(&self, batch: &mut Batch) -> Result<bool> {
        for waits in [false, true] {
            for file in 0..self.files.len() {
                let mut opened = match self.files[file].try_lock() {
                    Ok(opened) => opened,
                    Err(TryLockError::WouldBlock) if !waits => continue,
                    Err(_) => lock(&self.files[file]),
                };
                if opened.reader.is_some() && self.fill(file, &mut opened, batch)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn fill(&self, file: usize, opened: &mut Opened, batch: &mut Batch) -> Result<bool> {
        batch.bases.clear();
        batch.ends.clear();
        (batch.file, batch.first) = (file, opened.given);
        let Some(reader) = &mut opened.reader else { return Ok(false) };
        while batch.bases.len() < BATCH_BASES {
            match reader.next() {
                Some(Ok(record)) => {
                    batch.bases.extend_from_slice(&record.seq());
                    batch.ends.push(batch.bases.len());
                    opened.given += 1;
                }
                Some(Err(error)) => {
                    return Err(refusal(&self.paths[file], opened.given, &error));
                }
                None => {
                    opened.reader = None;
                    break;
                }
            }
        }
        Ok(!batch.is_empty())
    }

    /// Reads of each file so far.
    pub fn given(&self) -> Vec<u64> {
        self.files.iter().map(|file| lock(file).given).collect()
    }

    /// Names a byte of a batch that is no letter of a nucleotide: base `place` of read `read`.
    pub fn no_base(&self, batch: &Batch, read: usize, place: usize, byte: u8) -> Error {
        let text = format!(
            "{}, record {}, base {}: {:?} is no nucleotide; give DNA reads",
            self.paths[batch.file].display(),
            batch.first + read as u64 + 1,
            place + 1,
            char::from(byte)
        );
        Error::input(OPERATION, text)
    }
}

fn open(path: &Path) -> Result<Box<dyn FastxReader>> {
    let failed = |cause| Error::system(OPERATION, "opening", path, &cause);
    let mut file = File::open(path).map_err(failed)?;
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

fn refusal(path: &Path, given: u64, error: &ParseError) -> Error {
    let what = match error.kind {
        ParseErrorKind::Io => format!("cannot be read: {}; obtain it again", error.msg),
        ParseErrorKind::UnknownFormat => "is neither FASTQ nor FASTA".to_owned(),
        ParseErrorKind::InvalidStart => "a record begins with neither @ nor >".to_owned(),
        ParseErrorKind::InvalidSeparator => "the line before the qualities is no +".to_owned(),
        ParseErrorKind::UnequalLengths => {
            "has as many qualities as bases not; obtain it again".to_owned()
        }
        ParseErrorKind::UnexpectedEnd => "the file is cut short; obtain it again".to_owned(),
        ParseErrorKind::EmptyFile => "holds no read; give FASTQ or FASTA".to_owned(),
    };
    let text =
        format!("{}, record {}, line {}: {what}", path.display(), given + 1, error.position.line);
    Error::input(OPERATION, text)
}
