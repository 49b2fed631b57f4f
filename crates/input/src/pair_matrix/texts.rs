//! Reads the names of genes and samples: Zarr's codec `vlen-utf8`, then zstd and a CRC-32C.
//!
//! By hand, since `zarrs` 0.23 panics where a length is beyond the bytes that there are.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

use cuesta_core::{Error, Result};
use zstd::stream::read::Decoder;

use super::codec::checked;
use super::damaged;
use crate::storage;

/// The `count` texts of an array of one chunk, which is in this file.
///
/// # Errors
/// `Input` when it is missing or damaged; `System`.
pub fn read(path: &Path, count: usize) -> Result<Vec<String>> {
    let bytes = storage::read(path).map_err(|cause| match cause.kind() {
        ErrorKind::NotFound => damaged(path, "it is missing"),
        _ => Error::system("input.pairs", "reading", path, &cause),
    })?;
    let packed = checked(&bytes).ok_or_else(|| damaged(path, "it has a wrong checksum"))?;
    let texts = Decoder::with_buffer(packed).and_then(|plain| texts(plain, count));
    texts.map_err(|_| damaged(path, "it does not hold the names that it should"))
}

/// Their number, then the length and the bytes of each; memory is only taken for bytes that come.
fn texts(mut plain: impl Read, count: usize) -> io::Result<Vec<String>> {
    if number(&mut plain)? as usize != count {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut texts = Vec::new();
    for _ in 0..count {
        let size_bytes = number(&mut plain)?;
        let mut text = String::new();
        let read = (&mut plain).take(size_bytes.into()).read_to_string(&mut text)?;
        if read as u64 != u64::from(size_bytes) {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        texts.push(text);
    }
    match plain.read(&mut [0])? {
        0 => Ok(texts),
        _ => Err(ErrorKind::InvalidData.into()),
    }
}

fn number(plain: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    plain.read_exact(&mut bytes).map(|()| u32::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn plain(count: u32, lengths: &[u32], text: &str) -> Vec<u8> {
        let mut bytes = count.to_le_bytes().to_vec();
        let mut rest = text;
        for &length in lengths {
            let (now, later) = rest.split_at(rest.len().min(length as usize));
            bytes.extend(length.to_le_bytes());
            bytes.extend(now.as_bytes());
            rest = later;
        }
        bytes
    }

    /// Lengths that a name does not have ended in a panic, from within `zarrs`.
    #[test]
    fn what_are_no_names_is_refused() {
        let good = plain(3, &[2, 0, 3], "abcde");
        assert_eq!(texts(&good[..], 3).unwrap(), ["ab", "", "cde"]);
        for bad in [
            plain(3, &[2, 0, u32::MAX], "abcde"),
            plain(3, &[2, 0], "abcde"),
            plain(2, &[2, 3], "abcde"),
            plain(3, &[2, 0, 3, 0], "abcde"),
            good[..good.len() - 1].to_vec(),
            Vec::new(),
        ] {
            assert!(texts(&bad[..], 3).is_err());
        }
        assert!(texts(&b"\x01\0\0\0\x01\0\0\0\xFF"[..], 1).is_err(), "not UTF-8");
    }

    #[test]
    fn a_file_is_refused_with_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0");
        let refused = |what: &str| {
            let error = read(&path, 1).unwrap_err();
            assert!(error.message().contains(what), "{error}");
        };
        refused("0 is damaged: it is missing");
        let mut packed = zstd::bulk::compress(&plain(1, &[2], "ab"), 1).unwrap();
        packed.extend(crc32c::crc32c(&packed.clone()).to_le_bytes());
        fs::write(&path, &packed).unwrap();
        assert_eq!(read(&path, 1).unwrap(), ["ab"]);
        packed[3] ^= 1;
        fs::write(&path, &packed).unwrap();
        refused("0 is damaged: it has a wrong checksum");
    }
}
