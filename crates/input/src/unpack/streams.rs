//! Reader of files that have streams of bzip2 or xz one after the other, and no other bytes.

use std::io::{self, BufRead, Read};

use bzip2::bufread::BzDecoder;
use liblzma::bufread::XzDecoder;

use super::{CompressionFormat, Counted, Damage, DamageKind, damaged};

/// Bytes at the beginning of a stream of bzip2, and of xz.
const BZIP2: &[u8] = b"BZh";
const XZ: &[u8] = b"\xFD7zXZ\0";

/// Reader of the text of all streams of a file.
pub(super) struct StreamReader<R: BufRead> {
    /// `None` once the file has ended, or is known to be damaged.
    stream: Option<Stream<R>>,
    packing: CompressionFormat,
}

/// A stream, which leaves the bytes behind its end unread.
enum Stream<R: BufRead> {
    Bzip2(BzDecoder<Counted<R>>),
    Xz(XzDecoder<Counted<R>>),
}

impl<R: BufRead> StreamReader<R> {
    /// Reads the streams of bytes in a format: bzip2 or xz.
    pub(super) fn new(bytes: Counted<R>, packing: CompressionFormat) -> Self {
        Self { stream: Some(Stream::new(bytes, packing)), packing }
    }

    /// Returns the stream behind one that has ended; `None` at the end of the file.
    fn next(&self, stream: Stream<R>) -> io::Result<Option<Stream<R>>> {
        let mut bytes = stream.into_inner();
        let end = bytes.place;
        loop {
            let rest = bytes.fill_buf()?;
            if rest.is_empty() {
                return Ok(None);
            }
            // A stream of xz may have zeros behind it.
            let is_padded = self.packing == CompressionFormat::Xz;
            let zeros = rest.iter().take_while(|byte| is_padded && **byte == 0).count();
            if zeros > 0 {
                bytes.consume(zeros);
                continue;
            }
            let magic = if is_padded { XZ } else { BZIP2 };
            let length = rest.len().min(magic.len());
            if rest[..length] != magic[..length] {
                let kind = DamageKind::Trailing;
                return Err(Damage { packing: self.packing, place: end, kind }.into());
            }
            return Ok(Some(Stream::new(bytes, self.packing)));
        }
    }
}

impl<R: BufRead> Stream<R> {
    fn new(bytes: Counted<R>, packing: CompressionFormat) -> Self {
        match packing {
            CompressionFormat::Bzip2 => Self::Bzip2(BzDecoder::new(bytes)),
            _ => Self::Xz(XzDecoder::new(bytes)),
        }
    }

    fn counted(&self) -> &Counted<R> {
        match self {
            Self::Bzip2(stream) => stream.get_ref(),
            Self::Xz(stream) => stream.get_ref(),
        }
    }

    fn into_inner(self) -> Counted<R> {
        match self {
            Self::Bzip2(stream) => stream.into_inner(),
            Self::Xz(stream) => stream.into_inner(),
        }
    }
}

impl<R: BufRead> Read for Stream<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Bzip2(stream) => stream.read(into),
            Self::Xz(stream) => stream.read(into),
        }
    }
}

impl<R: BufRead> Read for StreamReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while !into.is_empty()
            && let Some(stream) = &mut self.stream
        {
            let count = stream.read(into).map_err(|error| {
                let counted = stream.counted();
                damaged(error, (self.packing, counted.place, counted.is_failed))
            })?;
            if count > 0 {
                return Ok(count);
            }
            if let Some(stream) = self.stream.take() {
                self.stream = self.next(stream)?;
            }
        }
        Ok(0)
    }
}
