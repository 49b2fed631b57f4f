//! Shares of the reads, for tasks that read them.

use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{self as reads, Reads};
use crate::storage::{self, Input};

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
        let whole = storage::facts(path).map_err(failed)?.size_bytes;
        let step = if reads::is_gzipped(path)? { whole.max(1) } else { size_bytes.max(1) };
        shares.extend((0..whole).step_by(step as usize).map(|start| {
            let end = whole.min(start + step);
            Share { path: path.clone(), start, end }
        }));
    }
    Ok(shares)
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
    let mut file = Input::open(path)?;
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
    use crate::reads::ReadBatch;
    use cuesta_testkit::reads::reads_text;
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
            let mut batch = ReadBatch::default();
            while reads.next(&mut batch).unwrap() {
                found.extend(batch.reads().map(|read| String::from_utf8_lossy(read).into_owned()));
            }
        }
        found
    }

    /// A share that ended with such a record was refused as cut short; the whole file was read.
    #[test]
    fn a_record_without_bases_may_end_a_share() {
        let (_folder, path) = written(">a\n>b\n\n>c\nAC\n");
        for size_bytes in 1..9 {
            let shares = split(std::slice::from_ref(&path), size_bytes).unwrap();
            assert_eq!(all_reads(&shares), ["", "", "AC"]);
        }
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
}
