//! Shares of the reads, and the super-k-mers of a share in blocks by part.

use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::counting::sampled;
use crate::packed;
use crate::reads::{self, Batch, Pairing, Reads};
use crate::scan::{Scanner, SuperKmer, Tally};
use crate::stage::Ask;
use crate::wire;

const OPERATION: &str = "input.reads";

/// Some reads of a file: those that begin in a range of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The file.
    pub path: PathBuf,
    /// First byte of the range.
    pub start: u64,
    /// First byte after it.
    pub end: u64,
}

/// Shares of about `size_bytes`. A gzipped file, which has no places to begin at, is one.
///
/// # Errors
/// `System`.
pub fn split(paths: &[PathBuf], size_bytes: u64) -> Result<Vec<Share>> {
    let mut shares = Vec::new();
    for path in paths {
        let failed = |cause| Error::system(OPERATION, "opening", path, &cause);
        let whole = std::fs::metadata(path).map_err(failed)?.len();
        let step = if reads::is_gzipped(path)? { whole.max(1) } else { size_bytes.max(1) };
        shares.extend((0..whole).step_by(step as usize).map(|start| {
            let end = whole.min(start + step);
            Share { path: path.clone(), start, end }
        }));
    }
    Ok(shares)
}

/// Where super-k-mers go: bucket `b` belongs to part `b` modulo `parts`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Parts {
    /// How many parts there are.
    pub parts: usize,
    /// Only the buckets that are sampled.
    pub only_sampled: bool,
}

/// Blocks of super-k-mers, those of part 0 first.
#[derive(Debug, Default)]
pub struct Divided {
    /// The blocks.
    pub bytes: Vec<u8>,
    /// Where those of each part end.
    pub ends: Vec<u64>,
}

/// Divides the super-k-mers of some reads.
///
/// # Errors
/// `Input` naming the file and the record; `System`; `Cancelled`.
pub fn divide(ask: &Ask, share: &Share, to: Parts, progress: &Progress) -> Result<Divided> {
    let mut blocks = Open::new(ask, to);
    let mut scanner = Scanner::new(ask.k, ask.bits, ask.drop_reads_with_n);
    let reads = open(share)?;
    let mut batch = Batch::default();
    loop {
        let more = reads.next(&mut batch).and_then(|more| {
            reads.scan(&batch, &mut scanner, &mut |part| blocks.add(part))?;
            Ok(more)
        });
        match more {
            Ok(true) => progress.advance(batch.text_bytes())?,
            Ok(false) => break,
            // A share does not know how many records are before it; the whole file does.
            Err(error) => return Err(first_error(ask, share, progress)?.unwrap_or(error)),
        }
    }
    Ok(blocks.divided(&scanner.tally))
}

/// Divides the super-k-mers of what is trusted.
///
/// # Errors
/// `Input` when bytes are missing.
pub fn divide_trusted(ask: &Ask, trusted: &[u8], to: Parts) -> Result<Divided> {
    let mut open = Open::new(ask, to);
    let mut scanner = Scanner::new(ask.k, ask.bits, false);
    wire::each_trusted(trusted, |trust, codes| {
        let mut emit = |part: &SuperKmer<'_>| open.add_trusted(part, trust.weight);
        scanner.take_codes(codes, &mut emit);
        scanner.flush(&mut emit);
    })?;
    Ok(open.divided(&scanner.tally))
}

/// What is wrong with a file, told as when it is read from its beginning.
fn first_error(ask: &Ask, share: &Share, progress: &Progress) -> Result<Option<Error>> {
    let reads = Reads::open(std::slice::from_ref(&share.path), Pairing::None)?;
    let mut scanner = Scanner::new(ask.k, ask.bits, ask.drop_reads_with_n);
    let mut batch = Batch::default();
    while reads.next(&mut batch)? {
        reads.scan(&batch, &mut scanner, &mut |_| ())?;
        progress.advance(0)?;
    }
    Ok(None)
}

/// Open blocks, one a bucket.
struct Open {
    k: usize,
    to: Parts,
    blocks: Vec<Vec<u8>>,
    last: usize,
}

impl Open {
    fn new(ask: &Ask, to: Parts) -> Self {
        let last = if to.only_sampled { sampled(ask.buckets()) } else { ask.buckets() };
        Self { k: ask.k, to, blocks: vec![Vec::new(); last], last }
    }

    fn add(&mut self, part: &SuperKmer<'_>) {
        if part.bucket < self.last {
            packed::append(part, self.k, &mut self.blocks[part.bucket]);
        }
    }

    fn add_trusted(&mut self, part: &SuperKmer<'_>, weight: u16) {
        if part.bucket < self.last {
            packed::append_trusted(part, weight, self.k, &mut self.blocks[part.bucket]);
        }
    }

    /// By part; the first one is given what was counted, too.
    fn divided(self, tally: &Tally) -> Divided {
        let mut divided = Divided::default();
        wire::put_tally(tally, &mut divided.bytes);
        for part in 0..self.to.parts {
            for bucket in (part..self.last).step_by(self.to.parts) {
                if !self.blocks[bucket].is_empty() {
                    wire::put_block(bucket, &self.blocks[bucket], &mut divided.bytes);
                }
            }
            divided.ends.push(divided.bytes.len() as u64);
        }
        divided
    }
}

/// Opens the reads of a share.
///
/// # Errors
/// As [`Reads::open`].
pub fn open(share: &Share) -> Result<Reads> {
    Reads::open_range(&share.path, starts(share)?)
}

/// The bytes from the first record that begins in a share to the first one after it.
fn starts(share: &Share) -> Result<(u64, u64)> {
    if reads::is_gzipped(&share.path)? {
        return Ok((0, share.end));
    }
    let failed = |cause| Error::system(OPERATION, "reading", &share.path, &cause);
    let start = record_start(&share.path, share.start).map_err(failed)?;
    let end = record_start(&share.path, share.end).map_err(failed)?;
    Ok((start, end))
}

/// Where the first record at or after `place` begins, or the end of the file.
///
/// Of FASTQ that is a line with `@` whose next line but one has `+`: where `@` begins qualities,
/// the bases of the next record are there instead.
fn record_start(path: &Path, place: u64) -> std::io::Result<u64> {
    if place == 0 {
        return Ok(0);
    }
    let mut file = File::open(path)?;
    let mut first = [0];
    std::io::Read::read(&mut file, &mut first)?;
    // The byte before tells whether a line begins here.
    file.seek(SeekFrom::Start(place - 1))?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    let mut at = place - 1 + reader.read_until(b'\n', &mut line)? as u64;
    // The lines from `at` on, their first bytes and lengths.
    let mut lines: Vec<(Option<u8>, u64)> = Vec::new();
    loop {
        line.clear();
        let size_bytes = reader.read_until(b'\n', &mut line)? as u64;
        lines.push((line.first().copied(), size_bytes));
        if first == *b">" {
            if matches!(lines[0].0, Some(b'>') | None) {
                return Ok(at);
            }
        } else if lines.len() < 3 && size_bytes > 0 {
            continue;
        } else if lines[0].0.is_none()
            || (lines[0].0 == Some(b'@') && lines.get(2).is_some_and(|line| line.0 == Some(b'+')))
        {
            return Ok(at);
        }
        at += lines.remove(0).1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reads_text::reads_text;
    use proptest::prelude::*;

    fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads.fq");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn all_reads(shares: &[Share]) -> Vec<String> {
        let mut found = Vec::new();
        for share in shares {
            let reads = open(share).unwrap();
            let mut batch = Batch::default();
            while reads.next(&mut batch).unwrap() {
                found.extend(batch.reads().map(|read| String::from_utf8_lossy(read).into_owned()));
            }
        }
        found
    }

    proptest! {
        #[test]
        fn shares_have_every_read_once(
            reads in prop::collection::vec(("[ACGT]{1,30}", "[@+>I]{30}"), 1..12),
            fasta in any::<bool>(),
            windows in any::<bool>(),
            size_bytes in 1u64..120,
        ) {
            let (_folder, path) = written(&reads_text(&reads, fasta, windows));
            let shares = split(std::slice::from_ref(&path), size_bytes).unwrap();
            let expected: Vec<String> = reads.iter().map(|(bases, _)| bases.clone()).collect();
            prop_assert_eq!(all_reads(&shares), expected);
        }
    }

    #[test]
    fn a_bad_record_is_told_as_by_the_whole_file() {
        let good = "@r\nACGTACGTACGTACGTACGT\n+\nIIIIIIIIIIIIIIIIIIII\n".repeat(50);
        let (_folder, path) =
            written(&format!("{good}@r\nACGTELVISACGTACGTACG\n+\n{}\n", "I".repeat(20)));
        let shares = split(std::slice::from_ref(&path), 300).unwrap();
        let ask = Ask {
            k: 15,
            bits: 6,
            min_count: None,
            drop_reads_with_n: false,
            only_trusted: false,
            pairing: Pairing::None,
            input_bytes: 2300,
            program: None,
        };
        let to = Parts { parts: 3, only_sampled: false };
        let last = shares.last().unwrap();
        let divided: Vec<_> =
            shares.iter().map(|share| divide(&ask, share, to, &Progress::default())).collect();
        let error = divided.into_iter().find_map(std::result::Result::err).unwrap();
        assert!(error.message.contains("record 51, base 5"), "{} {last:?}", error.message);
    }
}
