//! A file of reads, or two whose reads are pairs.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;
use needletail::{FastxReader, parse_fastx_reader};

use super::blocks::{self, BlockCut, RecordBlocks, RecordGroups};
use super::mates::{self, EarlierNames, FirstMismatch, MateCounts, SharedCounts};
use super::refusals::{self, Guarded, StorageFault};
use super::text::{self, ReadText};
use super::trim::{self, ReadRecord, TrimCounts};
use super::{OPERATION, Pairing, ReadBatch, Sampling};
use crate::unpack;

/// A file, or two whose reads are pairs: a batch holds the reads of a pair next to each other.
pub(super) struct Source {
    pub(super) paths: Vec<PathBuf>,
    /// Number of reads of each file that are next to each other in a batch.
    pub(super) reads_per_file: usize,
    batch_bytes: usize,
    /// Whether the files have no reads.
    pub(super) is_empty: bool,
    /// Whether reads are trimmed.
    is_trimmed: bool,
    /// Reads whose letters are taken.
    sampling: Sampling,
    /// Counts of the names of pairs, if these are compared.
    mate_counts: Option<SharedCounts>,
    /// The name of the first read of the first file.
    first_name: Vec<u8>,
    pub(super) opened: Mutex<Opened>,
}

/// The records of a source that were not returned yet.
pub(super) struct Opened {
    pub(super) records: RecordReader,
    /// Groups returned so far, each of `reads_per_file` reads of each file.
    pub(super) returned: u64,
    /// The error of the source, once it is determined.
    fault: Option<Error>,
}

/// Reader of records.
pub(super) enum RecordReader {
    /// A parser for each file, of any format; none once the source has ended.
    Parsed(Vec<Parser>),
    /// Blocks of FASTQ, which threads parse in parallel.
    Cut(RecordBlocks),
}

/// The parser of a file.
pub(super) struct Parser {
    /// `None` if the file has no record.
    reader: Option<Box<dyn FastxReader>>,
    fault: StorageFault,
}

impl Source {
    /// Opens the files, which may be empty.
    ///
    /// # Errors
    /// `Input` for a file that is neither FASTA nor FASTQ; `System`.
    pub(super) fn open(paths: &[PathBuf], pairing: Pairing, batch_bytes: usize) -> Result<Self> {
        let texts = paths.iter().map(|path| opened(path)).collect::<Result<_>>()?;
        Self::of_texts(paths.to_vec(), texts, (pairing, batch_bytes))
    }

    /// The records of a text of each file.
    ///
    /// # Errors
    /// As [`Source::open`].
    pub(super) fn of_texts(
        paths: Vec<PathBuf>,
        mut texts: Vec<ReadText>,
        (pairing, batch_bytes): (Pairing, usize),
    ) -> Result<Self> {
        if let Some((path, _)) = paths.iter().zip(&texts).find(|(_, text)| text.is_in_colours) {
            return Err(refusals::colours(path));
        }
        let reads_per_file = pairing.reads_per_file();
        let first_name = texts.first_mut().map(|text| std::mem::take(&mut text.first_name));
        let is_empty = texts.iter().all(|text| text.first.is_none());
        let records = if texts.iter().all(|text| text.first.is_none_or(|first| first == b'@')) {
            let texts = texts.into_iter().map(|text| text.text).collect();
            RecordReader::Cut(RecordBlocks::new(texts, reads_per_file, batch_bytes))
        } else {
            RecordReader::Parsed(parsers(&paths, texts).map_err(|error| damage_or(&paths, error))?)
        };
        let is_checked = paths.len() * reads_per_file == 2 && !pairing.is_unchecked;
        let source = Self::of(paths, reads_per_file, (batch_bytes, is_checked), records);
        let first_name = first_name.unwrap_or_default();
        let Pairing { is_trimmed, sampling, .. } = pairing;
        Ok(Self { is_empty, first_name, is_trimmed, sampling, ..source })
    }

    /// The records from the first on, found by parsers.
    #[cfg(test)]
    pub(super) fn parsed(&self) -> Result<RecordReader> {
        let texts = self.paths.iter().map(|path| opened(path)).collect::<Result<_>>()?;
        Ok(RecordReader::Parsed(parsers(&self.paths, texts)?))
    }

    fn of(
        paths: Vec<PathBuf>,
        reads_per_file: usize,
        (batch_bytes, is_checked): (usize, bool),
        records: RecordReader,
    ) -> Self {
        let mate_counts = is_checked.then(SharedCounts::default);
        let opened = Mutex::new(Opened { records, returned: 0, fault: None });
        let first_name = Vec::new();
        Self {
            paths,
            reads_per_file,
            batch_bytes,
            is_empty: false,
            is_trimmed: false,
            sampling: Sampling::ALL,
            mate_counts,
            first_name,
            opened,
        }
    }

    /// Number of reads that belong together.
    pub(super) fn group(&self) -> usize {
        self.paths.len() * self.reads_per_file
    }

    /// Fills `batch` with the next reads; `false` if none remains.
    ///
    /// # Errors
    /// `Input` naming the file and the record; `System`.
    pub(super) fn fill(
        &self,
        mut opened: MutexGuard<'_, Opened>,
        batch: &mut ReadBatch,
    ) -> Result<bool> {
        batch.bases.clear();
        batch.ends.clear();
        batch.text_bytes = 0;
        batch.trimmed = TrimCounts::default();
        if let Some(fault) = &opened.fault {
            return Err(fault.clone());
        }
        let Opened { records, returned, .. } = &mut *opened;
        let groups = match records {
            RecordReader::Parsed(parsers) => {
                let first_name = self.first_name.clone();
                let mut pass = Pass { returned: *returned, first_name, ..Pass::default() };
                let is_some =
                    self.parse(parsers, &mut pass, batch).map_err(|error| self.damage_or(error))?;
                *returned = pass.returned;
                if self.have_mismatch(&pass.counts) {
                    return Err(self.fault(&mut opened));
                }
                return Ok(is_some);
            }
            RecordReader::Cut(blocks) => match blocks.cut(&mut batch.texts) {
                Ok(BlockCut::End) => return Ok(false),
                Ok(BlockCut::Groups(groups)) => groups,
                Ok(BlockCut::Fault) | Err(_) => return Err(self.fault(&mut opened)),
            },
        };
        *returned += groups;
        drop(opened);
        let mut counts = MateCounts::default();
        let names = self.mate_counts.is_some().then_some((&mut counts, &self.first_name[..]));
        let groups = RecordGroups {
            reads_per_file: self.reads_per_file,
            count: groups,
            are_trimmed: self.is_trimmed,
            sampling: self.sampling,
        };
        if blocks::parse(batch, groups, names) && !self.have_mismatch(&counts) {
            return Ok(true);
        }
        Err(self.fault(&mut lock(&self.opened)))
    }

    /// Whether pairs are not mates by their names, including those of earlier batches.
    fn have_mismatch(&self, counts: &MateCounts) -> bool {
        let is_any = *counts != MateCounts::default();
        let all = self.mate_counts.as_ref().filter(|_| is_any).map(|shared| shared.add(counts));
        all.is_some_and(|all| all.have_mismatch(self.reads_per_file == 2))
    }

    /// The error of the first invalid record of the source, which needs a pass over the complete
    /// source. Independent of the number of threads.
    fn fault(&self, opened: &mut Opened) -> Error {
        let fault = opened.fault.take().unwrap_or_else(|| match self.parse_all() {
            Err(fault) => self.damage_or(fault),
            Ok(()) => {
                let text = format!("{} changed while it was read; try again", self.names());
                Error::input(OPERATION, text)
            }
        });
        opened.fault = Some(fault.clone());
        fault
    }

    fn damage_or(&self, error: Error) -> Error {
        damage_or(&self.paths, error)
    }

    fn parse_all(&self) -> Result<()> {
        let texts = self.paths.iter().map(|path| opened(path)).collect::<Result<_>>()?;
        let mut parsers = parsers(&self.paths, texts)?;
        let mut pass = Pass { first: Some(FirstMismatch::default()), ..Pass::default() };
        let mut batch = ReadBatch::default();
        let outcome = loop {
            match self.parse(&mut parsers, &mut pass, &mut batch) {
                Ok(true) => {
                    batch.bases.clear();
                    batch.ends.clear();
                }
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        if (outcome.is_ok() || pass.is_odd)
            && self.mate_counts.is_some()
            && let Some(pair) =
                pass.first.take().and_then(|first| first.pair(self.reads_per_file == 2))
        {
            return Err(refusals::mismatch(&self.paths, pair));
        }
        outcome
    }

    fn parse(
        &self,
        parsers: &mut Vec<Parser>,
        pass: &mut Pass,
        batch: &mut ReadBatch,
    ) -> Result<bool> {
        while batch.bases.len() < self.batch_bytes && !parsers.is_empty() {
            let (mut ended, first) = (0, batch.ends.len());
            for (file, path) in self.paths.iter().enumerate() {
                for within in 0..self.reads_per_file {
                    let before = pass.returned * self.reads_per_file as u64 + within as u64;
                    let place = refusals::RecordPlace { path, before };
                    let side = (file + within) % 2;
                    let line = (&mut pass.names[side], &mut pass.qualities[side]);
                    if !parsers[file].next(&place, batch, line)? {
                        ended += 1;
                    }
                }
            }
            if ended == 0 {
                if !self.sampling.takes(pass.returned) {
                    batch.shorten(first, &[0; 2][..self.group()]);
                } else if self.is_trimmed {
                    pass.trim(batch, first);
                }
                if self.mate_counts.is_some() {
                    pass.add_names();
                }
                pass.returned += 1;
            } else if ended == self.group() {
                parsers.clear();
            } else {
                pass.is_odd = true;
                return Err(refusals::odd(&self.names(), self.reads_per_file, pass.returned));
            }
        }
        Ok(!batch.is_empty())
    }

    fn names(&self) -> String {
        let names: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
        names.join(" and ")
    }
}

/// State of parsing a source.
#[derive(Default)]
struct Pass {
    returned: u64,
    counts: MateCounts,
    /// Search for the first pair that is not of mates, if requested.
    first: Option<FirstMismatch>,
    /// Names of the reads of the last pair, and of the read before it.
    names: [Vec<u8>; 2],
    qualities: [Vec<u8>; 2],
    before: Vec<u8>,
    has_before: bool,
    /// The name of the first read of the source.
    first_name: Vec<u8>,
    /// Whether a read has no mate.
    is_odd: bool,
}

impl Pass {
    /// Trims the last reads of a batch, a group from the read `first` on.
    fn trim(&self, batch: &mut ReadBatch, first: usize) {
        let count = batch.len() - first;
        let mut records = [ReadRecord::default(); 2];
        for (index, (mate, qualities)) in
            records.iter_mut().zip(&self.qualities).enumerate().take(count)
        {
            *mate = ReadRecord { letters: batch.read(first + index), qualities };
        }
        let mut counts = batch.trimmed;
        let lengths = trim::of_group(&records[..count], &mut counts);
        batch.trimmed = counts;
        batch.shorten(first, &lengths[..count]);
    }

    fn add_names(&mut self) {
        let lines = [&self.names[0][..], &self.names[1][..]];
        if let Some(first) = &mut self.first {
            first.add(self.returned, lines);
        } else {
            let names = lines.map(mates::name);
            let last = self.has_before.then(|| mates::name(&self.before));
            let first = Some(&self.first_name[..]).filter(|_| self.returned > 0);
            self.counts.add(names, EarlierNames { last, first });
            if self.returned == 0 {
                self.first_name = names[0].text.to_vec();
            }
            std::mem::swap(&mut self.before, &mut self.names[1]);
            self.has_before = true;
        }
    }
}

impl Parser {
    /// Adds the next record to a batch; `false` if none remains.
    fn next(
        &mut self,
        place: &refusals::RecordPlace<'_>,
        batch: &mut ReadBatch,
        (name, qualities): (&mut Vec<u8>, &mut Vec<u8>),
    ) -> Result<bool> {
        let Some(reader) = &mut self.reader else { return Ok(false) };
        let record = reader.next();
        self.fault.check(place.path)?;
        match record {
            Some(Ok(record)) => {
                batch.bases.extend_from_slice(&record.seq());
                batch.ends.push(batch.bases.len());
                batch.text_bytes += record.all().len() as u64 + 1;
                name.clear();
                name.extend_from_slice(record.id());
                qualities.clear();
                qualities.extend_from_slice(record.qual().unwrap_or_default());
                if !trim::are_qualities(qualities) {
                    return Err(refusals::no_quality(place, qualities));
                }
                if let Some(sums) = &mut batch.names {
                    sums.add(mates::name(record.id()));
                }
                Ok(true)
            }
            Some(Err(error)) => Err(refusals::refusal(place, &error)),
            None => Ok(false),
        }
    }
}

/// Returns the damage of a compressed file of a source instead of an error about its text.
fn damage_or(paths: &[PathBuf], error: Error) -> Error {
    paths.iter().fold(error, |error, path| unpack::damage_or(path, error))
}

/// The text of a file.
fn opened(path: &std::path::Path) -> Result<ReadText> {
    let failed = |cause: std::io::Error| unpack::failure(OPERATION, path, &cause);
    text::records(unpack::open(path).map_err(failed)?).map_err(failed)
}

fn parsers(paths: &[PathBuf], texts: Vec<ReadText>) -> Result<Vec<Parser>> {
    let parser = |(path, ReadText { text, first, .. }): (&PathBuf, ReadText)| {
        let fault = StorageFault::default();
        if first.is_none() {
            return Ok(Parser { reader: None, fault });
        }
        let guarded = Guarded { text, fault: fault.clone() };
        let parsed = parse_fastx_reader(guarded);
        fault.check(path)?;
        let place = refusals::RecordPlace { path, before: 0 };
        let reader = parsed.map_err(|error| refusals::refusal(&place, &error))?;
        Ok(Parser { reader: Some(reader), fault })
    };
    paths.iter().zip(texts).map(parser).collect()
}
