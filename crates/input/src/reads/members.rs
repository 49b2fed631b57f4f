//! Gzipped files of many consecutive members (RFC 1952; bgzip writes such files), which
//! can be unpacked from any of them on.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::GzDecoder;
use memchr::memmem;

use crate::storage::Input;
use crate::unpack::{CompressionFormat, GzipReader};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// Bytes within which a member must begin; else members are too large to be located.
const MEMBER_BYTES_MAX: usize = 4 << 20;
/// Bytes that are read at once to find a member.
const SEARCHED_BYTES: u64 = 64 << 10;
/// Bytes of a header without its optional fields.
const HEADER_BYTES: usize = 10;
/// Bytes that are decompressed to distinguish a member from bytes that look like its beginning.
const TRIED_BYTES: u64 = 64 << 10;

/// Offsets of members, about `step` bytes apart, in a file of `size_bytes`; the first is 0.
///
/// Bytes that only look like a member cannot go unnoticed: decompression of the bytes before them
/// would end within a member.
///
/// # Errors
/// Errors of reading.
pub(super) fn starts(path: &Path, size_bytes: u64, step: u64) -> io::Result<Vec<u64>> {
    let mut file = Input::open(path)?;
    let (mut starts, mut last) = (Vec::new(), Some(0));
    while let Some(start) = last {
        starts.push(start);
        let wanted = start + step;
        last = if wanted < size_bytes { next(&mut file, wanted)? } else { None };
    }
    Ok(starts)
}

/// The first member that begins at `place` or soon after.
fn next(file: &mut Input, place: u64) -> io::Result<Option<u64>> {
    let (mut bytes, mut searched) = (Vec::new(), 0);
    while bytes.len() < MEMBER_BYTES_MAX {
        file.seek(SeekFrom::Start(place + bytes.len() as u64))?;
        if (&mut *file).take(SEARCHED_BYTES).read_to_end(&mut bytes)? == 0 {
            return Ok(None);
        }
        for at in memmem::find_iter(&bytes[searched..], &GZIP_MAGIC) {
            let start = place + (searched + at) as u64;
            if is_header(&bytes[searched + at..]) && is_member(file, start)? {
                return Ok(Some(start));
            }
        }
        // The last bytes may be the beginning of a header.
        searched = bytes.len().saturating_sub(HEADER_BYTES - 1);
    }
    Ok(None)
}

/// Whether bytes may be a header: deflated, no reserved flag, and a level and system that exist.
fn is_header(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER_BYTES
        && bytes[2] == 8
        && bytes[3] & 0xe0 == 0
        && matches!(bytes[8], 0 | 2 | 4)
        && matches!(bytes[9], 0..=13 | 255)
}

fn is_member(file: &mut Input, start: u64) -> io::Result<bool> {
    file.seek(SeekFrom::Start(start))?;
    let mut text = GzDecoder::new(file).take(TRIED_BYTES);
    match io::copy(&mut text, &mut io::sink()) {
        Ok(_) => Ok(true),
        Err(error) => match error.kind() {
            // Those of the text, not of the storage.
            io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData
            | io::ErrorKind::UnexpectedEof => Ok(false),
            _ => Err(error),
        },
    }
}

/// The text of the members from `start` on.
pub(super) fn text_from(path: &Path, start: u64) -> io::Result<impl BufRead + Send + use<>> {
    let mut file = Input::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    Ok(BufReader::with_capacity(1 << 16, text(file, start)))
}

/// The text of the members between two.
pub(super) fn text_between(
    path: &Path,
    (start, end): (u64, u64),
) -> io::Result<impl Read + Send + use<>> {
    let mut file = Input::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    Ok(text(file.take(end - start), start))
}

/// The text of members from a place of their file on.
fn text<R: Read>(packed: R, place: u64) -> GzipReader<BufReader<R>> {
    let packed = BufReader::with_capacity(1 << 16, packed);
    GzipReader::from_place(packed, CompressionFormat::Gzip, place)
}
