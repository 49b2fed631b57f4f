//! Parser of reads in FASTQ and FASTA files, plain or compressed: threads take blocks of text and
//! find the records in them. Reads that are trimmed are a text of their own, made of the files.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError};

use cuesta_core::{Error, Result};
use cuesta_input::block_buffer::BlockBuffer;
use cuesta_input::reads::trim::TrimCounts;
use cuesta_input::reads::{Pairing, text};
use cuesta_input::storage::Input;
use cuesta_input::unpack;
use cuesta_runtime::parallel::lock;
use memchr::{memchr, memchr_iter, memrchr};

use super::OPERATION;
use super::trimming::{self, GroupText};
use crate::kernel::scan;

const FASTQ_LINES: usize = 4;

/// Format of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Format {
    #[default]
    Fastq,
    Fasta,
    /// Reads in groups, two lines each.
    Groups(Group),
}

/// Reads that are trimmed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    reads: usize,
    /// Whether they are trimmed at all.
    is_trimmed: bool,
}

/// A block of complete records of a file. A long sequence may be in several blocks, as several
/// records.
#[derive(Default)]
pub struct ReadBlock {
    bytes: BlockBuffer,
    format: Format,
    /// Bytes of the file that were read for the block, as stored.
    pub file_bytes: u64,
    /// Bases that are also in the block before, because that ends within a sequence.
    pub repeated_bases: u64,
    /// Counts of the reads of all blocks as they were trimmed.
    trimmed: Arc<Mutex<TrimCounts>>,
}

/// Files of reads, which are read in blocks.
pub struct ReadSource {
    streams: Vec<(PathBuf, Mutex<Stream>)>,
    block_bytes: usize,
    overlap: Option<usize>,
    trimmed: Arc<Mutex<TrimCounts>>,
}

/// A file that is being read.
struct Stream {
    /// Reader of the file; `None` at its end.
    reader: Option<Box<dyn Read + Send>>,
    format: Format,
    /// Bytes of the file that were read, and how many of these have been reported.
    position: Arc<AtomicU64>,
    reported: u64,
    /// Text that was read and is in no block yet, from the start of a record on.
    rest: Vec<u8>,
    /// Bases in it that are also in the block before.
    repeated_bases: u64,
}

/// A file that counts the bytes read from it.
struct Counted {
    file: Input,
    position: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.position.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl ReadSource {
    /// Opens the files, to be read in blocks of about `block_bytes`; trimmed, if `pairing` says so.
    /// A longer sequence is cut, and both parts have the `overlap` bases before the cut; without an
    /// overlap it is not cut.
    ///
    /// # Errors
    /// `Input` for a file that is neither FASTQ nor FASTA; `System`.
    pub fn open(
        (paths, pairing): (&[PathBuf], Pairing),
        block_bytes: usize,
        overlap: Option<usize>,
    ) -> Result<Self> {
        let trimmed = Arc::<Mutex<TrimCounts>>::default();
        let is_grouped = pairing.is_trimmed || !pairing.sampling.is_all();
        let stream = |(files, pairing): (&[PathBuf], Pairing)| {
            let stream =
                if is_grouped { Stream::grouped(files, pairing) } else { Stream::open(&files[0]) };
            Ok((files[0].clone(), Mutex::new(stream?)))
        };
        let pairing = if is_grouped { pairing } else { Pairing::NONE };
        let streams = pairing.sources(paths).map(stream).collect::<Result<_>>()?;
        Ok(Self { streams, block_bytes, overlap, trimmed })
    }

    /// Counts of the reads so far as they were trimmed.
    pub fn trimmed(&self) -> TrimCounts {
        *lock(&self.trimmed)
    }

    /// Fills `block` with the next records of some file; returns `false` at the end of all files.
    ///
    /// # Errors
    /// `Input` naming a file that cannot be unpacked; `System`.
    pub fn next(&self, block: &mut ReadBlock) -> Result<bool> {
        block.trimmed = self.trimmed.clone();
        for waits in [false, true] {
            for (path, stream) in &self.streams {
                let mut stream = match stream.try_lock() {
                    Ok(stream) => stream,
                    Err(TryLockError::WouldBlock) if !waits => continue,
                    Err(_) => lock(stream),
                };
                let filled = stream.fill(block, self.block_bytes, self.overlap);
                if filled.map_err(|cause| unpack::failure(OPERATION, path, &cause))? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

impl Stream {
    fn open(path: &Path) -> Result<Self> {
        let position = Arc::<AtomicU64>::default();
        let (reader, format) = opened(path, &position)?;
        Ok(Self::of(reader, format, position))
    }

    /// Opens a file, or two whose reads are pairs, as a text of groups of reads.
    fn grouped(paths: &[PathBuf], pairing: Pairing) -> Result<Self> {
        let position = Arc::<AtomicU64>::default();
        let text = |path: &PathBuf| Ok(opened(path, &position)?.0);
        let texts = paths.iter().map(text).collect::<Result<_>>()?;
        let reads_per_file = pairing.reads_per_file();
        let reader = Box::new(GroupText::new(texts, reads_per_file, pairing.sampling));
        let group = Group { reads: paths.len() * reads_per_file, is_trimmed: pairing.is_trimmed };
        Ok(Self::of(reader, Format::Groups(group), position))
    }

    fn of(reader: Box<dyn Read + Send>, format: Format, position: Arc<AtomicU64>) -> Self {
        let (reader, rest) = (Some(reader), Vec::new());
        Self { reader, format, position, reported: 0, rest, repeated_bases: 0 }
    }

    fn fill(
        &mut self,
        block: &mut ReadBlock,
        block_bytes: usize,
        overlap: Option<usize>,
    ) -> std::io::Result<bool> {
        block.bytes.clear();
        block.format = self.format;
        block.bytes.extend_from_slice(&self.rest);
        self.rest.clear();
        block.repeated_bases = std::mem::take(&mut self.repeated_bases);
        let mut target_bytes = block.bytes.len() + block_bytes;
        while let Some(reader) = &mut self.reader {
            let more = target_bytes.saturating_sub(block.bytes.len());
            let read = block.bytes.read(reader, more)?;
            if read < more {
                self.reader = None;
                break;
            }
            if self.cut(&mut block.bytes, overlap) {
                break;
            }
            target_bytes *= 2;
        }
        let position = self.position.load(Ordering::Relaxed);
        block.file_bytes = position - self.reported;
        self.reported = position;
        Ok(!block.bytes.is_empty())
    }

    /// Retains complete records in `bytes`, and moves the rest to the next block; returns whether
    /// there are any.
    fn cut(&mut self, bytes: &mut BlockBuffer, overlap: Option<usize>) -> bool {
        let place = match self.format {
            Format::Fastq => records_end(bytes, FASTQ_LINES),
            Format::Fasta => last_header(bytes),
            Format::Groups(group) => records_end(bytes, trimming::LINES * group.reads),
        };
        if place > 0 {
            self.rest.extend_from_slice(&bytes[place..]);
            bytes.truncate(place);
            return true;
        }
        let tail = match (self.format, overlap) {
            (Format::Fasta, Some(overlap)) => last_bases(bytes, overlap),
            _ => None,
        };
        let Some(tail) = tail else { return false };
        self.repeated_bases = tail.iter().filter(|&&letter| scan::code(letter) < 4).count() as u64;
        self.rest.extend_from_slice(b">\n");
        self.rest.extend(tail.iter().rev());
        if bytes.last() == Some(&b'\n') {
            self.rest.push(b'\n');
        }
        true
    }
}

/// Opens a file as text that adds to `position` what is read of it; returns it with its format.
fn opened(path: &Path, position: &Arc<AtomicU64>) -> Result<(Box<dyn Read + Send>, Format)> {
    let failed = |cause: std::io::Error| unpack::failure(OPERATION, path, &cause);
    let file = Input::open(path).map_err(failed)?;
    let counted = Counted { file, position: position.clone() };
    let records = unpack::unpacked(counted).and_then(text::records).map_err(failed)?;
    let format = match records.first {
        // An empty file has no records.
        None | Some(b'@') => Format::Fastq,
        Some(b'>') => Format::Fasta,
        _ => {
            let text = format!("{} is neither FASTQ nor FASTA", path.display());
            return Err(Error::input(OPERATION, text));
        }
    };
    Ok((records.text, format))
}

/// Returns the end of the last complete record of this many lines.
fn records_end(bytes: &[u8], record_lines: usize) -> usize {
    let lines = memchr_iter(b'\n', bytes).count();
    let mut end = bytes.len();
    for _ in 0..=lines % record_lines {
        end = memrchr(b'\n', &bytes[..end]).unwrap_or(0);
    }
    if lines < record_lines { 0 } else { end + 1 }
}

/// Returns the start of the last record of FASTA.
fn last_header(bytes: &[u8]) -> usize {
    let mut end = bytes.len();
    while let Some(place) = memrchr(b'>', &bytes[..end]) {
        if place == 0 || bytes[place - 1] == b'\n' {
            return place;
        }
        end = place;
    }
    0
}

/// Returns the last `count` bases of a record of FASTA, the last one first, if it has as many.
fn last_bases(bytes: &[u8], count: usize) -> Option<Vec<u8>> {
    let start = memchr(b'\n', bytes)?;
    let bases = bytes[start..].iter().rev().filter(|byte| !b"\r\n".contains(byte));
    let tail: Vec<u8> = bases.take(count).copied().collect();
    (tail.len() == count).then_some(tail)
}

impl ReadBlock {
    /// Calls `take` with the letters of each read.
    ///
    /// # Errors
    /// `Input` where a record is not well-formed; errors of `take`.
    pub fn each_read(&self, take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self.format {
            Format::Fastq => each_fastq(&self.bytes, take),
            Format::Fasta => each_fasta(&self.bytes, take),
            Format::Groups(group) => {
                let text = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
                if !group.is_trimmed {
                    let lines = trimming::lines_of(text);
                    return lines.step_by(trimming::LINES).try_for_each(take);
                }
                let counts = trimming::each_trimmed(text, group.reads, take)?;
                lock(&self.trimmed).add(&counts);
                Ok(())
            }
        }
    }
}

/// Splits bytes after the first line; returns the line without its ending, and the rest.
#[inline(always)]
fn line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let (line, rest) = match memchr(b'\n', bytes) {
        Some(end) => (&bytes[..end], &bytes[end + 1..]),
        None => (bytes, &bytes[bytes.len()..]),
    };
    (line.strip_suffix(b"\r").unwrap_or(line), rest)
}

fn each_fastq(mut bytes: &[u8], mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    while !bytes.is_empty() {
        let (header, rest) = line(bytes);
        if header.is_empty() && rest.iter().all(|byte| b"\r\n".contains(byte)) {
            // Blank lines may end a file.
            return Ok(());
        }
        let (letters, rest) = line(rest);
        let (separator, rest) = line(rest);
        // Qualities usually end where their length predicts, so most need no search.
        let (qualities, rest) = match rest.get(letters.len()) {
            Some(b'\n') => rest.split_at(letters.len()),
            _ => line(rest),
        };
        let rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        if !header.starts_with(b"@")
            || !separator.starts_with(b"+")
            || qualities.len() != letters.len()
        {
            return Err(Error::input(OPERATION, "a record of a FASTQ file is not well-formed"));
        }
        take(letters)?;
        bytes = rest;
    }
    Ok(())
}

fn each_fasta(bytes: &[u8], mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut joined = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (_header, after) = line(rest);
        let (first, after) = if after.starts_with(b">") { (&[][..], after) } else { line(after) };
        rest = after;
        let is_single_line = rest.is_empty() || rest.starts_with(b">");
        if is_single_line && !first.contains(&b'\r') {
            take(first)?;
            continue;
        }
        joined.clear();
        joined.extend(first.iter().filter(|&&byte| byte != b'\r'));
        while !rest.is_empty() && !rest.starts_with(b">") {
            let (more, after) = line(rest);
            joined.extend(more.iter().filter(|&&byte| byte != b'\r'));
            rest = after;
        }
        take(&joined)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_input::reads::{ReadBatch, Reads};
    use cuesta_testkit::reads::reads_text;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use std::io::Write;

    const OVERLAP: usize = 4;

    fn written(content: &[u8], is_gzipped: bool) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads");
        let mut bytes = content.to_vec();
        if is_gzipped {
            bytes.clear();
            for part in content.chunks(100) {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(part).unwrap();
                bytes.extend(encoder.finish().unwrap());
            }
        }
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    /// Returns all stretches of five letters, which do not depend on where sequences are cut.
    fn stretches(reads: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let mut all: Vec<Vec<u8>> =
            reads.iter().flat_map(|read| read.windows(OVERLAP + 1)).map(<[u8]>::to_vec).collect();
        all.sort();
        all
    }

    fn parsed(path: &Path, block_bytes: usize, overlap: Option<usize>) -> Vec<Vec<u8>> {
        let source =
            ReadSource::open((&[path.to_owned()], Pairing::NONE), block_bytes, overlap).unwrap();
        let (mut block, mut reads, mut file_bytes) = (ReadBlock::default(), Vec::new(), 0);
        let mut repeated = 0;
        while source.next(&mut block).unwrap() {
            file_bytes += block.file_bytes;
            repeated += block.repeated_bases;
            let take = |read: &[u8]| {
                reads.push(read.to_vec());
                Ok(())
            };
            block.each_read(take).unwrap();
        }
        assert_eq!(file_bytes, std::fs::metadata(path).unwrap().len());
        let bases = |reads: &[Vec<u8>]| {
            reads.iter().flatten().filter(|&&letter| scan::code(letter) < 4).count() as u64
        };
        assert_eq!(bases(&reads) - repeated, bases(&expected(path)));
        reads
    }

    fn expected(path: &Path) -> Vec<Vec<u8>> {
        let reads = Reads::open(&[path.to_owned()], Pairing::NONE).unwrap();
        let (mut batch, mut all) = (ReadBatch::default(), Vec::new());
        while reads.next(&mut batch).unwrap() {
            all.extend(batch.reads().map(<[u8]>::to_vec));
        }
        all
    }

    proptest! {
        #[test]
        fn records_are_those_of_another_parser(
            reads in prop::collection::vec(("[ACGTN]{0,60}", "[@+>I]{60}"), 1..12),
            [fasta, windows, ends, is_gzipped] in any::<[bool; 4]>(),
            block_bytes in 1usize..400,
        ) {
            let text = reads_text(&reads, fasta, windows);
            let text = if ends { text.as_str() } else { text.trim_end() };
            prop_assume!(ends || !reads[reads.len() - 1].0.is_empty());
            let (_folder, path) = written(text.as_bytes(), is_gzipped);
            let expected_reads = expected(&path);
            prop_assert_eq!(&parsed(&path, block_bytes, None), &expected_reads);
            let cut = parsed(&path, block_bytes, Some(OVERLAP));
            prop_assert_eq!(stretches(&cut), stretches(&expected_reads));
        }
    }

    #[test]
    fn blank_lines_may_end_a_file_and_other_text_is_refused() {
        let record = b"@a\nACGT\n+\nIIII\n";
        for more in ["", "\n", "\r\n\n"] {
            let (_folder, path) = written(&[record, more.as_bytes()].concat(), false);
            assert_eq!(parsed(&path, 1 << 10, None), [b"ACGT"]);
        }
        let (_folder, path) = written(b"@a\nACGT\n+\nIII\n", false);
        let source = ReadSource::open((&[path], Pairing::NONE), 100, None).unwrap();
        let mut block = ReadBlock::default();
        assert!(source.next(&mut block).unwrap());
        assert!(block.each_read(|_| Ok(())).is_err());
        for content in [&b"hello"[..], b"hello @"] {
            let (_folder, path) = written(content, false);
            assert!(ReadSource::open((&[path], Pairing::NONE), 100, None).is_err());
        }
    }
}
