//! Decompression for all readers of text: a file is decompressed if its first bytes show that it is
//! compressed, whatever its name is.
//!
//! | format | content |
//! |---|---|
//! | gzip | any number of members; zeros after the last are ignored, as gzip does |
//! | bgzip | as gzip; a file without the end mark that ends within a line is truncated |
//! | bzip2, xz, zstd | any number of streams or frames |
//!
//! [`open`] returns a reader. Damage of compressed bytes is an [`io::Error`] that carries a
//! [`Damage`]; [`failure`] converts it to an error that names the file and the position. A reader
//! that seeks in the file must check [`compression_of`] first: only plain text allows it.

mod bgzip;
mod gzip;
mod streams;

use std::fmt::{self, Display, Formatter};
use std::io::{self, BufRead, BufReader, Chain, Cursor, ErrorKind, Read};
use std::path::Path;

use cuesta_core::Error;
use cuesta_core::error::ErrorKind as Kind;

use crate::limits::READ_BYTES;
use crate::storage::Input;
pub use bgzip::end_mark;
pub use gzip::GzipReader;
use streams::StreamReader;

/// Bytes at the beginning of a file that determine its format.
pub const START_BYTES: u64 = 18;
/// Compressed bytes that are read at once.
const PACKED_BYTES: usize = 64 << 10;
/// The largest window of Zstandard, as a power of two: that of `zstd --ultra --long=31`.
const ZSTD_WINDOW_LOG_MAX: u32 = 31;

/// Compression format of a text file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompressionFormat {
    /// Not compressed.
    #[default]
    Plain,
    /// gzip (RFC 1952).
    Gzip,
    /// bgzip: gzip in blocks whose headers hold their lengths.
    Bgzip,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
    /// Zstandard.
    Zstd,
}

impl CompressionFormat {
    /// The format of a file, by its first bytes.
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
            // A skippable frame may be the first.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// Name of the program.
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

    /// The format of a file of another machine, by its name.
    pub fn of_name(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Self::Gzip,
            Some("bz2") => Self::Bzip2,
            Some("xz") => Self::Xz,
            Some("zst") => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// Whether the text is compressed.
    pub fn is_packed(self) -> bool {
        self != Self::Plain
    }

    /// Whether the format is gzip, which includes bgzip.
    pub fn is_gzip(self) -> bool {
        matches!(self, Self::Gzip | Self::Bgzip)
    }
}

/// Damage of compressed bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The compression format.
    pub packing: CompressionFormat,
    /// Offset in the file at which, or after which, the damage is.
    pub place: u64,
    /// Its kind.
    pub kind: DamageKind,
}

/// A kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DamageKind {
    /// The bytes end too early.
    CutShort,
    /// The bytes are invalid, or do not match their checksum.
    Broken,
    /// Other bytes follow the compressed bytes.
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

/// The error for the user of a file that could not be read: `Input` for a [`Damage`], else
/// `System`.
pub fn failure(operation: &str, path: &Path, cause: &io::Error) -> Error {
    let damage = cause.get_ref().and_then(|error| error.downcast_ref::<Damage>());
    match damage {
        Some(damage) => Error::input(operation, format!("{} {damage}", path.display())),
        None => Error::system(operation, "reading", path, cause),
    }
}

/// Returns the damage of a compressed file instead of an error about its text, if it has any: a
/// flipped bit may make text that no program wrote, which a reader refuses before the checksum
/// after it. Decompresses the file to its end.
pub fn damage_or(path: &Path, error: Error) -> Error {
    if error.kind != Kind::Input || !compression_of(path).is_ok_and(CompressionFormat::is_packed) {
        return error;
    }
    match open(path).and_then(|mut text| io::copy(&mut text, &mut io::sink())) {
        Err(cause) if cause.get_ref().is_some_and(|error| error.is::<Damage>()) => {
            failure(&error.operation, path, &cause)
        }
        _ => error,
    }
}

/// Text whose first bytes were read ahead.
pub type TextWithStart = BufReader<Chain<Cursor<Vec<u8>>, Unpacked>>;

/// Returns up to `count` bytes from the beginning of a text, and all of the text; a single call of
/// `read` may return a few bytes only, which do not show how lines end.
///
/// # Errors
/// As reading from [`open`].
pub fn with_start(mut text: Unpacked, count: usize) -> io::Result<(Vec<u8>, TextWithStart)> {
    let mut start = Vec::new();
    (&mut text).take(count as u64).read_to_end(&mut start)?;
    let all = Cursor::new(start.clone()).chain(text);
    Ok((start, BufReader::with_capacity(READ_BYTES, all)))
}

/// Decompressed text of a file.
pub struct Unpacked {
    packing: CompressionFormat,
    text: Box<dyn Read + Send>,
}

impl Unpacked {
    /// The compression format of the file.
    pub fn packing(&self) -> CompressionFormat {
        self.packing
    }
}

impl Read for Unpacked {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.text.read(into)
    }
}

/// Opens a file, a pipe or a URI for reading from its beginning.
///
/// # Errors
/// A [`Damage`] for a file of bgzip that is truncated between two blocks; errors of the storage.
/// Reading returns a [`Damage`] if the bytes are truncated or damaged.
pub fn open(path: &Path) -> io::Result<Unpacked> {
    open_through(path, |input| input)
}

/// Opens a file as [`open`] does; `through` wraps the reader of its compressed bytes, e.g. to count
/// them.
///
/// # Errors
/// As [`open`].
pub fn open_through<R: Read + Send + 'static>(
    path: &Path,
    through: impl FnOnce(Input) -> R,
) -> io::Result<Unpacked> {
    let input = Input::open(path)?;
    if input.size_bytes()? > 0 && compression_of(path)? == CompressionFormat::Bgzip {
        bgzip::require_end(path)?;
    }
    unpacked(through(input))
}

/// The compression format of a file, by its first bytes. A pipe, which cannot seek, is not read and
/// counts as plain.
///
/// # Errors
/// Errors of the storage.
pub fn compression_of(path: &Path) -> io::Result<CompressionFormat> {
    let input = Input::open(path)?;
    let size_bytes = input.size_bytes()?;
    let mut start = vec![0; size_bytes.min(START_BYTES) as usize];
    input.read_exact_at(&mut start, 0)?;
    Ok(CompressionFormat::of(&start))
}

/// The text of compressed or plain bytes.
///
/// # Errors
/// Errors of reading the first bytes.
pub fn unpacked(mut packed: impl Read + Send + 'static) -> io::Result<Unpacked> {
    let mut start = Vec::new();
    (&mut packed).take(START_BYTES).read_to_end(&mut start)?;
    let packing = CompressionFormat::of(&start);
    let input = Cursor::new(start).chain(packed);
    if packing == CompressionFormat::Plain {
        return Ok(Unpacked { packing, text: Box::new(input) });
    }
    let packed = BufReader::with_capacity(PACKED_BYTES, input);
    if packing.is_gzip() {
        return Ok(Unpacked { packing, text: Box::new(GzipReader::new(packed, packing)) });
    }
    let packed = Counted { inner: packed, place: 0, is_failed: false };
    let text: Box<dyn Read + Send> = match packing {
        CompressionFormat::Bzip2 | CompressionFormat::Xz => {
            Box::new(StreamReader::new(packed, packing))
        }
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

/// Reader of compressed bytes that counts the consumed bytes.
#[derive(Debug)]
struct Counted<R> {
    inner: R,
    place: u64,
    /// Whether the storage has failed.
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

/// A decoder whose errors about compressed bytes are converted to a [`Damage`].
struct Checked<R> {
    reader: R,
    packing: CompressionFormat,
    /// The position in the compressed bytes, and whether their storage has failed.
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

/// Converts the error of a decoder to a [`Damage`], unless it is an error of the storage.
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
