//! Division of reads into shares, which tasks read.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::records::RecordRange;
use super::text::{self, ReadText, TrimmedEnd};
use super::{PACKED_TIMES, Pairing, Reads, members};
use crate::storage::{self, Input};
use crate::unpack::{self, CompressionFormat};

const OPERATION: &str = "input.reads";

/// Some reads of a file: those that begin in a range of its bytes. In a gzipped file the range
/// covers complete members, and the reads begin after the first line in them, or with the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// The file.
    pub path: PathBuf,
    /// First byte of the range.
    pub start: u64,
    /// First byte after the range.
    pub end: u64,
}

/// Divides files into shares of about `size_bytes` of text. A gzipped file can be divided only if
/// it has many members; another compressed file, such as gzip itself writes, is a single share, and
/// so is FASTQ without four lines per record.
///
/// # Errors
/// `System`.
pub fn split(paths: &[PathBuf], size_bytes: u64) -> Result<Vec<Share>> {
    let mut shares = Vec::new();
    for path in paths {
        let failed = |cause: io::Error| unpack::failure(OPERATION, path, &cause);
        let file_bytes = storage::metadata(path).map_err(failed)?.size_bytes;
        let mut places: Vec<u64> = match form_of(path).map_err(failed)? {
            _ if file_bytes == 0 => Vec::new(),
            Form::Members => {
                let step = (size_bytes / PACKED_TIMES).max(1);
                members::starts(path, file_bytes, step).map_err(failed)?
            }
            Form::Lines => (0..file_bytes).step_by(size_bytes.max(1) as usize).collect(),
            Form::Whole => vec![0],
        };
        places.push(file_bytes);
        let share = |ends: &[u64]| Share { path: path.clone(), start: ends[0], end: ends[1] };
        shares.extend(places.windows(2).map(share));
    }
    Ok(shares)
}

/// Units that a file can be divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Lines of plain text.
    Lines,
    /// Members of gzip.
    Members,
    /// The file alone.
    Whole,
}

fn form_of(path: &Path) -> io::Result<Form> {
    let (mut start, limit) = (Vec::new(), text::START_BYTES as u64);
    let mut file = Input::open(path)?;
    (&mut file).take(limit).read_to_end(&mut start)?;
    let form = match CompressionFormat::of(&start) {
        CompressionFormat::Plain => Form::Lines,
        packing if packing.is_gzip() => {
            let packed = io::Cursor::new(std::mem::take(&mut start)).chain(file);
            unpack::unpacked(packed)?.take(limit).read_to_end(&mut start)?;
            Form::Members
        }
        _ => return Ok(Form::Whole),
    };
    let first = text::leading_bytes(&start);
    Ok(if text::is_irregular(&start[first..]) { Form::Whole } else { form })
}

/// Estimated bytes of text of a share of a compressed file, if more than `most`.
///
/// # Errors
/// `System`.
pub fn unpacked_bytes(share: &Share, most: u64) -> Result<Option<u64>> {
    let failed = |cause| Error::system(OPERATION, "opening", &share.path, &cause);
    let text_bytes = (share.end - share.start).saturating_mul(PACKED_TIMES);
    let is_compressed =
        || Ok(unpack::compression_of(&share.path).map_err(failed)? != CompressionFormat::Plain);
    Ok((text_bytes > most && is_compressed()?).then_some(text_bytes))
}

/// Opens the reads of a share, which are single.
///
/// # Errors
/// As [`Reads::open`].
pub fn open(share: &Share, pairing: Pairing) -> Result<Reads> {
    let texts = vec![text_of(share)?];
    Reads::open_texts(vec![share.path.clone()], texts, pairing.of_singles())
}

/// Opens `pairs` pairs of a source: the first is after so many records of a share of each file.
/// Their names are not compared.
///
/// # Errors
/// As [`Reads::open`].
pub fn open_pairs(files: &[(Share, u64)], pairs: u64, pairing: Pairing) -> Result<Reads> {
    let count = pairs * pairing.reads_per_file() as u64;
    let text = |(share, skipped): &(Share, u64)| {
        let ReadText { text, first, first_name, is_in_colours } = text_of(share)?;
        let text = Box::new(RecordRange::new(text, first, (*skipped, count)));
        Ok(ReadText { text, first, first_name, is_in_colours })
    };
    let texts = files.iter().map(text).collect::<Result<_>>()?;
    let paths = files.iter().map(|(share, _)| share.path.clone()).collect();
    Reads::open_texts(paths, texts, Pairing { is_unchecked: true, ..pairing })
}

/// Returns the text of the records of a share.
fn text_of(share: &Share) -> Result<ReadText> {
    let failed = |cause: io::Error| unpack::failure(OPERATION, &share.path, &cause);
    let form = form_of(&share.path).map_err(failed)?;
    if form != Form::Lines && share.start == 0 && is_last(share).map_err(failed)? {
        return text::records(unpack::open(&share.path).map_err(failed)?).map_err(failed);
    }
    let text = if form == Form::Lines { plain(share) } else { unpacked(share) };
    let (mut text, first) = text.map_err(failed)?;
    // A share of FASTA may end with a name, where the parser looks for the line after it.
    let after: &[u8] = match first {
        Some(b'>') if !is_last(share).map_err(failed)? => b"\n",
        _ => b"",
    };
    let mut start = Vec::new();
    (&mut text).take(1).read_to_end(&mut start).map_err(failed)?;
    let first = start.first().copied();
    let text = TrimmedEnd::new(io::Cursor::new(start).chain(text));
    let text = Box::new(text.chain(after));
    Ok(ReadText { text, first, first_name: Vec::new(), is_in_colours: false })
}

/// Text, and the first byte of the records of its file, which determines the format.
type Text = (Box<dyn Read + Send>, Option<u8>);

fn is_last(share: &Share) -> io::Result<bool> {
    Ok(storage::metadata(&share.path)?.size_bytes <= share.end)
}

/// Text from the first record that begins in a share of plain text to the first record after it.
fn plain(share: &Share) -> io::Result<Text> {
    let mut file = Input::open(&share.path)?;
    let (leading, first) = beginning(&mut file)?;
    let place = |place: u64| {
        if place <= leading {
            return Ok(leading);
        }
        // The byte before shows whether a line begins here.
        let before = place - 1;
        let mut file = Input::open(&share.path)?;
        file.seek(SeekFrom::Start(before))?;
        let mut text = BufReader::with_capacity(1 << 16, file);
        io::Result::Ok(before + before_record(&mut text, first)?)
    };
    let (start, end) = (place(share.start)?, place(share.end)?);
    file.seek(SeekFrom::Start(start))?;
    Ok((Box::new(file.take(end - start)), first))
}

/// Number of bytes before the first record of a text, and the first byte of it.
fn beginning(text: &mut impl Read) -> io::Result<(u64, Option<u8>)> {
    let mut start = Vec::new();
    text.take(text::START_BYTES as u64).read_to_end(&mut start)?;
    let leading = text::leading_bytes(&start);
    Ok((leading as u64, start.get(leading).copied()))
}

/// Text from the first record that begins in a share of members to the first record after it.
fn unpacked(share: &Share) -> io::Result<Text> {
    let path = &share.path;
    let (leading, first) = beginning(&mut members::text_from(path, 0)?)?;
    let before = |place| before_record(&mut members::text_from(path, place)?, first);
    let skipped = if share.start == 0 { leading } else { before(share.start)? };
    // A record that begins in these members may end in later ones.
    let more = if is_last(share)? { 0 } else { before(share.end)? };
    let inner = members::text_between(path, (share.start, share.end))?;
    let mut text = inner.chain(members::text_from(path, share.end)?.take(more));
    io::copy(&mut (&mut text).take(skipped), &mut io::sink())?;
    Ok((Box::new(text), first))
}

/// Bytes before the first record that begins after the first, possibly partial, line of a text, or
/// all bytes. `first`, the file's first byte, determines its format.
///
/// A record of FASTQ is a line with `@` whose next line but one has `+`: if `@` begins qualities,
/// that line has the bases of the next record instead.
fn before_record(text: &mut impl BufRead, first: Option<u8>) -> io::Result<u64> {
    let mut line = Vec::new();
    let mut at = text.read_until(b'\n', &mut line)? as u64;
    // The lines from `at` on, their first bytes and lengths.
    let mut lines: Vec<(Option<u8>, u64)> = Vec::new();
    loop {
        line.clear();
        let size_bytes = text.read_until(b'\n', &mut line)? as u64;
        lines.push((line.first().copied(), size_bytes));
        if first == Some(b'>') {
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
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use std::io::Write;

    fn written(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads.fq");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn all_reads(shares: &[Share]) -> Vec<String> {
        let mut sequences = Vec::new();
        for share in shares {
            let reads = open(share, Pairing::NONE).unwrap();
            let mut batch = ReadBatch::default();
            while reads.next(&mut batch).unwrap() {
                sequences
                    .extend(batch.reads().map(|read| String::from_utf8_lossy(read).into_owned()));
            }
        }
        sequences
    }

    /// Three blank lines at the end were a record: the file was said to have changed.
    #[test]
    fn blank_lines_may_end_a_file_in_shares() {
        for record in [">a\nAC\n", "@a\nAC\n+\nII\n"] {
            let (_folder, path) = written(&(record.repeat(3) + &"\n".repeat(6)));
            for size_bytes in [1, 5, 9, 14, 1000] {
                let shares = split(std::slice::from_ref(&path), size_bytes).unwrap();
                assert_eq!(all_reads(&shares), ["AC", "AC", "AC"], "{size_bytes}");
            }
        }
    }

    /// A share that ended with such a record was refused as truncated; the complete file was read.
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
        fn shares_have_each_read_once(
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

        #[test]
        fn shares_of_members_have_each_read_once(
            reads in prop::collection::vec(("[ACGT]{1,30}", "[@+>I]{30}"), 1..12),
            (fasta, windows) in any::<(bool, bool)>(),
            size_bytes in 1u64..600,
            cuts in prop::collection::vec((any::<prop::sample::Index>(), 0u32..10), 0..9),
        ) {
            let text = reads_text(&reads, fasta, windows);
            let packed = members(text.as_bytes(), cuts);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("reads.fq.gz");
            std::fs::write(&path, packed).unwrap();
            let shares = split(std::slice::from_ref(&path), size_bytes).unwrap();
            let expected: Vec<String> = reads.iter().map(|(bases, _)| bases.clone()).collect();
            prop_assert_eq!(all_reads(&shares), expected);
        }
    }

    /// A text cut at `cuts` into members of various compression levels; some may be empty.
    fn members(text: &[u8], cuts: Vec<(prop::sample::Index, u32)>) -> Vec<u8> {
        let mut cuts: Vec<(usize, u32)> =
            cuts.into_iter().map(|(place, level)| (place.index(text.len()), level)).collect();
        cuts.sort_unstable();
        cuts.push((text.len(), 6));
        let (mut packed, mut start) = (Vec::new(), 0);
        for (end, level) in cuts {
            let mut member = GzEncoder::new(&mut packed, Compression::new(level));
            member.write_all(&text[start..end]).unwrap();
            member.finish().unwrap();
            start = end;
        }
        packed
    }

    #[test]
    fn members_are_shares_of_about_that_size() {
        let reads = vec![("ACGTACGTAC".to_owned(), "I".repeat(10)); 4000];
        let text = reads_text(&reads, false, false);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads.fq.gz");
        let packed: Vec<u8> =
            text.as_bytes().chunks(1000).flat_map(|part| members(part, Vec::new())).collect();
        std::fs::write(&path, &packed).unwrap();
        let wanted = 4 * packed.len() as u64 / 10;
        let shares = split(std::slice::from_ref(&path), wanted).unwrap();
        assert!((9..=10).contains(&shares.len()), "{}", shares.len());
        assert_eq!(all_reads(&shares).len(), 4000);
    }

    /// Text that was packed once more has bytes in it that look like a member.
    #[test]
    fn bytes_that_only_look_like_a_member_do_not_begin_a_share() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reads.fq.gz");
        let fake = [&GZIP_HEADER[..], b"no deflated text"].concat();
        let mut packed = Vec::new();
        let mut member = GzEncoder::new(&mut packed, Compression::none());
        member.write_all(&[b">r\nACGT\n>".as_slice(), &fake, b"\nACGT\n"].concat()).unwrap();
        member.finish().unwrap();
        std::fs::write(&path, &packed).unwrap();
        let shares = split(std::slice::from_ref(&path), 8).unwrap();
        assert_eq!(shares.len(), 1);
        assert_eq!(all_reads(&shares), ["ACGT", "ACGT"]);
    }

    const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
}
