//! Files of bgzip (SAM specification, section 4.1): gzip in blocks of known length, with an empty
//! block as the end mark, which distinguishes a complete file from one cut between two blocks.

use std::io::{self, Read};
use std::path::Path;

use flate2::read::GzDecoder;
use memchr::memmem;

use super::{CompressionFormat, Damage, DamageKind};
use crate::storage::Input;

/// The empty block at the end.
pub(super) const END_MARK: [u8; 28] = [
    0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, b'B', b'C', 2, 0, 0x1b, 0, 3, 0, 0, 0, 0, 0, 0, 0,
    0, 0,
];
/// Bytes of the header of a block.
const HEADER_BYTES: usize = 18;
/// Maximum bytes of a block.
const BLOCK_BYTES_MAX: u64 = 64 << 10;

/// Whether bytes begin with the header of a block.
pub(super) fn is_block(bytes: &[u8]) -> bool {
    bytes.len() >= HEADER_BYTES
        && bytes[..4] == [0x1f, 0x8b, 8, 4]
        && bytes[10..16] == [6, 0, b'B', b'C', 2, 0]
}

/// Whether a file of bgzip has its end mark. Zeros may follow it.
///
/// # Errors
/// Errors of the storage.
pub fn end_mark(path: &Path) -> io::Result<bool> {
    Ok(has_end_mark(&tail(path)?.1))
}

/// Refuses a file of bgzip without its end mark whose text ends within a line.
///
/// # Errors
/// A [`Damage`]; errors of the storage.
pub(super) fn require_end(path: &Path) -> io::Result<()> {
    let (before, bytes) = tail(path)?;
    if has_end_mark(&bytes) {
        return Ok(());
    }
    let ends_here = |&start: &usize| {
        let header = &bytes[start..];
        is_block(header)
            && usize::from(u16::from_le_bytes([header[16], header[17]])) + 1 == header.len()
    };
    // If no block ends with the file, or a block is damaged, reading the file reports it.
    let Some(start) = memmem::find_iter(&bytes, &END_MARK[..4]).find(ends_here) else {
        return Ok(());
    };
    let mut text = Vec::new();
    let is_complete = GzDecoder::new(&bytes[start..]).read_to_end(&mut text).is_ok();
    if !is_complete || text.last().is_none_or(|&last| last == b'\n') {
        return Ok(());
    }
    let place = before + bytes.len() as u64;
    Err(Damage { packing: CompressionFormat::Bgzip, place, kind: DamageKind::CutShort }.into())
}

/// Whether bytes end with the mark and zeros. The mark itself ends in zeros: decompression reports
/// it if too few of them remain.
fn has_end_mark(bytes: &[u8]) -> bool {
    let [bytes, mark] = [bytes, &END_MARK].map(|bytes| {
        let last = bytes.iter().rposition(|&byte| byte != 0);
        &bytes[..last.map_or(0, |last| last + 1)]
    });
    bytes.ends_with(mark)
}

/// Number of bytes before the end of a file, and the last bytes, as many as a block may have.
fn tail(path: &Path) -> io::Result<(u64, Vec<u8>)> {
    let input = Input::open(path)?;
    let size_bytes = input.size_bytes()?;
    let before = size_bytes.saturating_sub(BLOCK_BYTES_MAX);
    let mut bytes = vec![0; (size_bytes - before) as usize];
    input.read_exact_at(&mut bytes, before)?;
    Ok((before, bytes))
}
