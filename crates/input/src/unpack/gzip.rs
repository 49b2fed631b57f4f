//! The members of a gzipped file, one after the other (RFC 1952).

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

use super::{CompressionFormat, Damage, DamageKind, damaged};

/// The text of all members. Zeros after the last one, such as tapes and block devices leave, are
/// passed over.
pub struct GzipReader<R> {
    decoder: GzDecoder<Members<R>>,
    packing: CompressionFormat,
    is_ended: bool,
}

/// The packed bytes, and where the member began that is read; none while one ends.
#[derive(Debug)]
struct Members<R> {
    bytes: Option<R>,
    place: u64,
    start: u64,
    /// The storage has failed.
    is_failed: bool,
}

impl<R> Members<R> {
    const NONE: Self = Self { bytes: None, place: 0, start: 0, is_failed: false };
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(bytes) = &mut self.bytes else { return Ok(0) };
        let count = bytes.read(into).inspect_err(|_| self.is_failed = true)?;
        self.place += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Members<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let Some(bytes) = &mut self.bytes else { return Ok(&[]) };
        bytes.fill_buf().inspect_err(|_| self.is_failed = true)
    }

    fn consume(&mut self, count: usize) {
        if let Some(bytes) = &mut self.bytes {
            bytes.consume(count);
            self.place += count as u64;
        }
    }
}

impl<R: BufRead> GzipReader<R> {
    /// The text of bytes that begin with a member.
    pub fn new(bytes: R, packing: CompressionFormat) -> Self {
        Self::from_place(bytes, packing, 0)
    }

    /// The text of bytes that begin with the member at a place of a file.
    pub fn from_place(bytes: R, packing: CompressionFormat, place: u64) -> Self {
        let decoder =
            GzDecoder::new(Members { bytes: Some(bytes), place, start: place, is_failed: false });
        Self { decoder, packing, is_ended: false }
    }

    /// Goes on to the next member; `false` where there is none.
    fn next_member(&mut self) -> io::Result<bool> {
        let members = self.decoder.get_mut();
        let end = members.place;
        loop {
            let bytes = members.fill_buf()?;
            let Some(other) = bytes.iter().position(|&byte| byte != 0) else {
                let count = bytes.len();
                if count == 0 {
                    return Ok(false);
                }
                members.consume(count);
                continue;
            };
            if other > 0 || bytes[0] != 0x1f || members.place > end {
                // After zeros gzip looks for no further member either.
                let kind = DamageKind::Trailing;
                return Err(Damage { packing: self.packing, place: end, kind }.into());
            }
            break;
        }
        let mut members = self.decoder.reset(Members::NONE);
        members.start = members.place;
        self.decoder.reset(members);
        Ok(true)
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !self.is_ended && !into.is_empty() {
            let count = self.decoder.read(into).map_err(|error| {
                let members = self.decoder.get_ref();
                let known = (self.packing, members.start, members.is_failed);
                damaged(error, known)
            })?;
            if count > 0 {
                return Ok(count);
            }
            self.is_ended = !self.next_member()?;
        }
        Ok(0)
    }
}
