//! The front of all readers of text: the bytes of a file, unpacked where its first bytes say that
//! it is packed, whatever its name is.
//!
//! | packed by | what is read |
//! |---|---|
//! | gzip | any number of members; zeros after the last one are passed over, as gzip does |
//! | bgzip | as gzip; a file without the end mark that ends within a line is cut short |
//! | bzip2, xz, zstd | any number of streams or frames |
//!
//! [`open`] gives a reader. What is wrong with packed bytes is an [`io::Error`] that carries a
//! [`Damage`]; [`failure`] makes the refusal of it, which names the file and the place. A reader
//! that needs places in the file asks [`compression_of`] first: only plain text has any.

mod bgzip;
mod gzip;

use std::fmt::{self, Display, Formatter};
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;

use bzip2::bufread::MultiBzDecoder;
use cuesta_core::Error;
use liblzma::bufread::XzDecoder;

use crate::storage::Input;
pub use bgzip::end_mark;
pub use gzip::GzipReader;

/// First bytes that tell a packing.
const START_BYTES: u64 = 18;
/// Packed bytes that are read at once.
const PACKED_BYTES: usize = 64 << 10;
/// The largest window of Zstandard, as a power of two: that of `zstd --ultra --long=31`.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

/// A program that packs text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompressionFormat {
    /// None.
    #[default]
    Plain,
    /// gzip (RFC 1952).
    Gzip,
    /// bgzip: gzip in blocks that say how long they are.
    Bgzip,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
    /// Zstandard.
    Zstd,
}

impl CompressionFormat {
    /// The packing that the first bytes of a file tell.
    pub fn of(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, ..] if bgzip::is_block(start) => Self::Bgzip,
            [0x1f, 0x8b, ..] => Self::Gzip,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => {
                Self::Bzip2
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            // A frame that is to be skipped may be the first.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// The program's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain text",
            Self::Gzip => "gzip",
            Self::Bgzip => "bgzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        }
    }

    /// Whether the bytes are gzip's, those of bgzip among them.
    pub fn is_gzip(self) -> bool {
        matches!(self, Self::Gzip | Self::Bgzip)
    }
}

/// Damage of packed bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The packing.
    pub packing: CompressionFormat,
    /// The byte of the file at which, or after which, it is.
    pub place: u64,
    /// Its kind.
    pub kind: DamageKind,
}

/// A kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// The bytes end too early.
    CutShort,
    /// The bytes are not what the program writes, or do not match their checksum.
    Broken,
    /// Bytes after the packed ones are something else.
    Trailing,
}

impl Display for Damage {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { packing, place, kind } = self;
        let name = packing.name();
        match kind {
            DamageKind::CutShort => {
                write!(out, "is cut short: what {name} packed has no end, from byte {place} on; ")?;
                out.write_str("obtain it again")
            }
            DamageKind::Broken => {
                write!(out, "is damaged: what {name} packed is broken at byte {place} or after; ")?;
                out.write_str("obtain it again")
            }
            DamageKind::Trailing => {
                write!(out, "has other bytes from byte {place} on, after what {name} packed; ")?;
                write!(out, "cut them off with `head -c {place} FILE`, or obtain it again")
            }
        }
    }
}

impl std::error::Error for Damage {}

impl From<Damage> for io::Error {
    fn from(damage: Damage) -> Self {
        let kind = match damage.kind {
            DamageKind::CutShort => ErrorKind::UnexpectedEof,
            DamageKind::Broken | DamageKind::Trailing => ErrorKind::InvalidData,
        };
        Self::new(kind, damage)
    }
}

/// The error of a user who gave a file that could not be read: `Input` for a [`Damage`], else
/// `System`.
pub fn failure(operation: &'static str, path: &Path, cause: &io::Error) -> Error {
    let damage = cause.get_ref().and_then(|error| error.downcast_ref::<Damage>());
    match damage {
        Some(damage) => Error::input(operation, format!("{} {damage}", path.display())),
        None => Error::system(operation, "reading", path, cause),
    }
}

/// The text of a file.
pub struct Unpacked {
    packing: CompressionFormat,
    text: Box<dyn Read + Send>,
}

impl Unpacked {
    /// How the file is packed.
    pub fn packing(&self) -> CompressionFormat {
        self.packing
    }
}

impl Read for Unpacked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.text.read(into)
    }
}

/// Opens a file from its beginning, of this machine or at a URI; a pipe too.
///
/// # Errors
/// A [`Damage`] for a file of bgzip that is cut between two blocks; those of the storage. Reading
/// gives a [`Damage`] where the bytes are cut or broken.
pub fn open(path: &Path) -> io::Result<Unpacked> {
    let input = Input::open(path)?;
    if input.size_bytes()? > 0 && compression_of(path)? == CompressionFormat::Bgzip {
        bgzip::require_end(path)?;
    }
    unpacked(input)
}

/// How a file is packed, by its first bytes. A pipe, which has no places, is not looked into.
///
/// # Errors
/// Those of the storage.
pub fn compression_of(path: &Path) -> io::Result<CompressionFormat> {
    let input = Input::open(path)?;
    let size_bytes = input.size_bytes()?;
    let mut start = vec![0; size_bytes.min(START_BYTES) as usize];
    input.read_exact_at(&mut start, 0)?;
    Ok(CompressionFormat::of(&start))
}

/// The text of packed or plain bytes.
///
/// # Errors
/// Those of reading the first bytes.
pub fn unpacked(mut packed: impl Read + Send + 'static) -> io::Result<Unpacked> {
    let mut start = Vec::new();
    (&mut packed).take(START_BYTES).read_to_end(&mut start)?;
    let packing = CompressionFormat::of(&start);
    let whole = Cursor::new(start).chain(packed);
    if packing == CompressionFormat::Plain {
        return Ok(Unpacked { packing, text: Box::new(whole) });
    }
    let packed = BufReader::with_capacity(PACKED_BYTES, whole);
    if packing.is_gzip() {
        return Ok(Unpacked { packing, text: Box::new(GzipReader::new(packed, packing)) });
    }
    let packed = Counted { inner: packed, place: 0, is_failed: false };
    let text: Box<dyn Read + Send> = match packing {
        CompressionFormat::Bzip2 => Box::new(Checked {
            reader: MultiBzDecoder::new(packed),
            packing,
            state: |reader| (reader.get_ref().place, reader.get_ref().is_failed),
        }),
        CompressionFormat::Xz => Box::new(Checked {
            reader: XzDecoder::new_multi_decoder(packed),
            packing,
            state: |reader| (reader.get_ref().place, reader.get_ref().is_failed),
        }),
        _ => {
            let mut reader = zstd::stream::read::Decoder::with_buffer(packed)?;
            reader.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
            let state = |reader: &zstd::stream::read::Decoder<'_, Counted<_>>| {
                (reader.get_ref().place, reader.get_ref().is_failed)
            };
            Box::new(Checked { reader, packing, state })
        }
    };
    Ok(Unpacked { packing, text })
}

/// Packed bytes, of which those taken are counted.
#[derive(Debug)]
struct Counted<R> {
    inner: R,
    place: u64,
    /// The storage has failed.
    is_failed: bool,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(into).inspect_err(|_| self.is_failed = true)?;
        self.place += count as u64;
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf().inspect_err(|_| self.is_failed = true)
    }

    fn consume(&mut self, count: usize) {
        self.inner.consume(count);
        self.place += count as u64;
    }
}

/// A reader whose complaints about packed bytes are told as a [`Damage`].
struct Checked<R> {
    reader: R,
    packing: CompressionFormat,
    /// The place in the packed bytes, and whether their storage has failed.
    state: fn(&R) -> (u64, bool),
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.reader.read(into).map_err(|error| {
            let (place, is_failed) = (self.state)(&self.reader);
            damaged(error, (self.packing, place, is_failed))
        })
    }
}

/// The error of a library that unpacks, as a [`Damage`] unless it is one of the storage.
fn damaged(
    error: io::Error,
    (packing, place, is_failed): (CompressionFormat, u64, bool),
) -> io::Error {
    let kind = match error.kind() {
        ErrorKind::Interrupted | ErrorKind::OutOfMemory => return error,
        ErrorKind::UnexpectedEof => DamageKind::CutShort,
        _ => DamageKind::Broken,
    };
    if is_failed { error } else { Damage { packing, place, kind }.into() }
}

#[cfg(test)]
mod tests;
