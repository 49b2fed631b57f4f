//! Reads from FASTQ and FASTA files, plain or compressed, returned in batches to many threads.

mod batch;
mod blocks;
pub mod cached;
pub mod distinct;
mod mates;
mod members;
mod records;
mod refusals;
pub mod sampling;
pub mod shares;
mod source;
pub mod text;
pub mod trim;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, TryLockError};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;
use serde::{Deserialize, Serialize};

use crate::storage;
use crate::unpack::{self, CompressionFormat};
pub use batch::ReadBatch;
use cached::ReadCache;
pub use mates::NameSums;
pub use sampling::Sampling;
use source::Source;

const OPERATION: &str = "input.reads";
/// Bases after which a batch ends, or bytes of a block of FASTQ; [`FEW_BYTES`] if only the first
/// reads are wanted.
const BATCH_BYTES: usize = 1 << 20;
const FEW_BYTES: usize = 1 << 16;
/// Bytes of text per byte of compressed reads, about.
const PACKED_TIMES: u64 = 4;

/// Reader of files of reads. Threads share it and take batches until none remains.
pub struct Reads {
    sources: Vec<Source>,
    /// Cache that later passes read.
    cache: Option<Arc<ReadCache>>,
    /// Next batch of the cache, if it holds all reads.
    next_cached: Option<AtomicUsize>,
}

/// Layout of read pairs in the input files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairing {
    /// Layout of the files.
    pub layout: PairLayout,
    /// Number of files of single reads, which are the last ones.
    pub singles: usize,
    /// Whether the names of mates are not compared.
    pub is_unchecked: bool,
    /// Whether reads are trimmed.
    pub is_trimmed: bool,
    /// Reads that are taken; of others no letter is.
    pub sampling: Sampling,
}

/// Layout of the reads of pairs in files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PairLayout {
    /// No reads are pairs.
    #[default]
    None,
    /// The mates of a pair are at the same position of two files.
    InTwoFiles,
    /// The mates of a pair follow one another in one file.
    InTurn,
}

impl Pairing {
    /// No reads are pairs.
    pub const NONE: Self = Self::of(PairLayout::None);
    /// Reads at the same position of two files are pairs.
    pub const IN_TWO_FILES: Self = Self::of(PairLayout::InTwoFiles);
    /// Two consecutive reads of a file are a pair.
    pub const INTERLEAVED: Self = Self::of(PairLayout::InTurn);

    /// All reads in such a layout.
    pub const fn of(layout: PairLayout) -> Self {
        let sampling = Sampling::ALL;
        Self { layout, singles: 0, is_unchecked: false, is_trimmed: false, sampling }
    }

    /// The pairing of single reads, which are taken and trimmed as these.
    #[must_use]
    pub fn of_singles(self) -> Self {
        Self { is_trimmed: self.is_trimmed, sampling: self.sampling, ..Self::NONE }
    }

    /// Whether there are pairs.
    pub fn has_pairs(self) -> bool {
        self.layout != PairLayout::None
    }

    /// Whether the reads of a pair have to be read together: they are trimmed, or not all taken.
    pub fn are_together(self) -> bool {
        self.is_trimmed || !self.sampling.is_all()
    }

    /// Number of files that hold the reads of a pair.
    pub fn files(self) -> usize {
        if self.layout == PairLayout::InTwoFiles { 2 } else { 1 }
    }

    /// Number of reads of a pair in each file.
    pub fn reads_per_file(self) -> usize {
        if self.layout == PairLayout::InTurn { 2 } else { 1 }
    }

    /// Returns the files of each source, with the pairing of its reads.
    pub fn sources<T>(self, files: &[T]) -> impl Iterator<Item = (&[T], Self)> {
        let (pairs, singles) = self.split_files(files);
        let of_single = self.of_singles();
        let of_pairs = pairs.chunks(self.files()).map(move |files| (files, self));
        of_pairs.chain(singles.chunks(1).map(move |file| (file, of_single)))
    }

    /// Splits files into those of pairs and those of single reads.
    pub fn split_files<T>(self, files: &[T]) -> (&[T], &[T]) {
        let pairs = if self.has_pairs() { files.len().saturating_sub(self.singles) } else { 0 };
        files.split_at(pairs)
    }
}

impl Reads {
    /// Opens the files. Empty files are skipped.
    ///
    /// # Errors
    /// `Input` if all files are empty, for a file that is neither FASTA nor FASTQ, or if the second
    /// file of a pair is missing; `System`.
    pub fn open(paths: &[PathBuf], pairing: Pairing) -> Result<Self> {
        let reads = Self::open_in(paths, pairing, BATCH_BYTES)?;
        if let [first, ..] = &reads.sources[..]
            && reads.sources.iter().all(|source| source.is_empty)
        {
            let what = if reads.sources.len() > 1 { ", like all other files" } else { "" };
            let path = first.paths[0].display();
            let text = format!("{path} is empty{what}; give FASTQ or FASTA");
            return Err(Error::input(OPERATION, text));
        }
        Ok(reads)
    }

    /// Opens the files of a source, which may be empty.
    ///
    /// # Errors
    /// As [`Reads::open`].
    pub fn open_source(paths: &[PathBuf], pairing: Pairing) -> Result<Self> {
        Self::open_in(paths, Pairing { singles: 0, ..pairing }, BATCH_BYTES)
    }

    fn open_in(paths: &[PathBuf], pairing: Pairing, batch_bytes: usize) -> Result<Self> {
        let open = |(paths, pairing): (&[PathBuf], Pairing)| {
            if paths.len() < pairing.files() {
                let text = format!("{} has no mate; give the files two by two", paths[0].display());
                return Err(Error::input(OPERATION, text));
            }
            Source::open(paths, pairing, batch_bytes)
        };
        Ok(Self::of(pairing.sources(paths).map(open).collect::<Result<_>>()?))
    }

    /// Passes the reads of a source to `take` from the first on, in batches, until it returns
    /// false: from the cache if it holds all reads, else from the files again.
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
        if let (Some(cache), Some(_)) = (&self.cache, &self.next_cached) {
            for index in cache.of_source(source) {
                if !cache.fill(index, &mut batch) || !take(&batch) {
                    break;
                }
            }
            return Ok(());
        }
        let pairing = Pairing { singles: 0, ..pairing };
        let reads = Self::open_in(&self.sources[source].paths, pairing, FEW_BYTES)?;
        while reads.next(&mut batch)? && take(&batch) {}
        Ok(())
    }

    /// Number of files, or of pairs of files.
    pub fn sources(&self) -> usize {
        self.sources.len()
    }

    /// Number of sources that have pairs, which are the first ones.
    pub fn sources_of_pairs(&self, pairing: Pairing) -> usize {
        if pairing.has_pairs() { self.sources.len() - pairing.singles } else { 0 }
    }

    fn of(sources: Vec<Source>) -> Self {
        Self { sources, cache: None, next_cached: None }
    }

    /// Opens texts of some records of the files of a source, or of none.
    ///
    /// # Errors
    /// As [`Reads::open`].
    fn open_texts(
        paths: Vec<PathBuf>,
        texts: Vec<text::ReadText>,
        pairing: Pairing,
    ) -> Result<Self> {
        Ok(Self::of(vec![Source::of_texts(paths, texts, (pairing, BATCH_BYTES))?]))
    }

    /// Fills `batch` with the next reads of some source; `false` when all have been returned.
    ///
    /// # Errors
    /// `Input` naming the file and the record; `System`.
    pub fn next(&self, batch: &mut ReadBatch) -> Result<bool> {
        let Some(cache) = &self.cache else { return self.read(batch) };
        let Some(next) = &self.next_cached else {
            let is_read = self.read(batch)?;
            if is_read {
                cache.add(batch)
            } else {
                cache.complete()
            }
            return Ok(is_read);
        };
        if !cache.fill(next.fetch_add(1, Ordering::Relaxed), batch) {
            return Ok(false);
        }
        let source = &self.sources[batch.source];
        lock(&source.opened).returned += (batch.len() / source.group()) as u64;
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
                (batch.source, batch.first) = (index, opened.returned);
                if source.fill(opened, batch)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Number of reads that have been returned.
    pub fn returned_reads(&self) -> u64 {
        let returned = |source: &Source| lock(&source.opened).returned * source.group() as u64;
        self.sources.iter().map(returned).sum()
    }

    /// The file of a read of a batch, and the number of its record, counted from 1.
    pub fn place(&self, batch: &ReadBatch, read: usize) -> (&Path, u64) {
        let source = &self.sources[batch.source];
        let (group, within) = (batch.first + (read / source.group()) as u64, read % source.group());
        let record =
            group * source.reads_per_file as u64 + (within % source.reads_per_file) as u64 + 1;
        (&source.paths[within / source.reads_per_file], record)
    }
}

/// Size of the reads in bytes; for compressed files an estimate of the decompressed size.
///
/// # Errors
/// `System`.
pub fn input_bytes(paths: &[PathBuf]) -> Result<u64> {
    let size = |path: &PathBuf| {
        let failed = |cause| Error::system(OPERATION, "opening", path, &cause);
        let metadata = storage::metadata(path).map_err(failed)?;
        let is_compressed = metadata.is_file
            && unpack::compression_of(path).map_err(failed)? != CompressionFormat::Plain;
        Ok(metadata.size_bytes * if is_compressed { PACKED_TIMES } else { 1 })
    };
    paths.iter().map(size).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_testkit::reads::reads_text;
    use proptest::prelude::*;

    type ReadResult = (Vec<Vec<u8>>, Vec<u64>, Option<String>);

    /// All reads, the numbers of their records, and the error at the end.
    fn read_all(paths: &[PathBuf], pairing: Pairing, block_bytes: Option<usize>) -> ReadResult {
        let mut all = ReadResult::default();
        let reads = Reads::open_in(paths, pairing, block_bytes.unwrap_or(1)).unwrap();
        if block_bytes.is_none() {
            for source in &reads.sources {
                lock(&source.opened).records = source.parsed().unwrap();
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
                    assert_eq!(reads.returned_reads(), all.0.len() as u64);
                    return all;
                }
                Err(error) => {
                    if block_bytes.is_some() {
                        // The next call returns the same error.
                        assert_eq!(reads.next(&mut batch).unwrap_err().message(), error.message());
                    }
                    all.2 = Some(error.message());
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
                true => (&paths[..], Pairing::IN_TWO_FILES),
                false if equal => (&paths[..], Pairing::INTERLEAVED),
                false => (&paths[..], Pairing::NONE),
            };
            let blocks = read_all(paths, pairing, Some(block_bytes));
            let parsed = read_all(paths, pairing, None);
            // Of two faults, blocks meet names that differ before they meet the end of a file.
            let [by_blocks, by_parser] = [&blocks.2, &parsed.2]
                .map(|error| error.as_deref().unwrap_or_default());
            if !(by_blocks.contains("its name differs") && by_parser.contains("equally many")) {
                prop_assert_eq!(by_blocks, by_parser);
            }
            if blocks.2.is_none() {
                prop_assert_eq!(blocks, parsed);
            }
        }
    }
}
