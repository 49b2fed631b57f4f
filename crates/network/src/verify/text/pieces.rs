//! Reader of a split of a text file as pieces of complete lines, through a single buffer.
//!
//! A line belongs to the split that contains its first byte, so splits of any size yield each line
//! once. All bytes are read; none is skipped.

use std::io::Read;
use std::path::PathBuf;

use cuesta_core::{Error, Result};
use cuesta_input::limits::LINE_BYTES_MAX;
use cuesta_input::source::{Split, TextFile};
use cuesta_input::storage::Input;
use cuesta_input::unpack::{self, Unpacked};

use super::line::FRONT;
use super::simd::WIDTH;

/// Bytes of a read: they stay in the cache of a core until they are parsed.
const READ_BYTES: usize = 256 << 10;
/// Bytes read beyond the end of a split, which in most cases contain the end of its last line.
const BEYOND_BYTES: u64 = 4 << 10;

/// Buffer that a thread reuses.
#[derive(Default)]
pub struct Buffer(Vec<u8>);

/// Complete lines of a file.
pub struct PaddedLines<'a> {
    /// Bytes, with [`FRONT`] more before the lines and [`WIDTH`] after them.
    pub buffer: &'a [u8],
    /// Position of the first byte of the lines.
    pub start: usize,
    /// Position after the line feed of the last line.
    pub end: usize,
    /// Offset of `start` in the (decompressed) file.
    pub offset: u64,
    /// Whether the last line of the file had no line feed, and got one.
    pub cut: bool,
}

enum Bytes {
    Plain(Input),
    Packed(Unpacked),
}

/// Pieces of a split, in order.
pub struct Pieces<'a> {
    path: PathBuf,
    bytes: Bytes,
    buffer: &'a mut Vec<u8>,
    /// Offset in the file of the first valid byte of the buffer, which is at `FRONT`.
    place: u64,
    /// Number of valid bytes, and number of those that were returned.
    valid: usize,
    returned: usize,
    /// End of the split.
    end: u64,
    /// Whether the bytes up to the first line feed belong to the previous split.
    skip_first: bool,
    at_end: bool,
}

impl<'a> Pieces<'a> {
    /// Opens a split of `file`.
    ///
    /// # Errors
    /// `System`; `Input` for a truncated file of bgzip.
    pub fn open(file: &TextFile, split: &Split, buffer: &'a mut Buffer) -> Result<Self> {
        let bytes = match file.is_packed {
            true => unpack::open(&file.path).map(Bytes::Packed),
            false => Input::open(&file.path).map(Bytes::Plain),
        };
        let bytes = bytes.map_err(|cause| unpack::failure("verify", &file.path, &cause))?;
        let buffer = &mut buffer.0;
        if buffer.len() < FRONT + READ_BYTES + WIDTH {
            buffer.resize(FRONT + READ_BYTES + WIDTH, 0);
        }
        Ok(Self {
            path: file.path.clone(),
            bytes,
            buffer,
            // The byte before shows whether a line starts at the split.
            place: split.offset.saturating_sub(1),
            valid: 0,
            returned: 0,
            end: split.offset.saturating_add(split.size_bytes),
            skip_first: split.offset > 0,
            at_end: false,
        })
    }

    /// Returns the next piece, or `None` at the end of the split.
    ///
    /// # Errors
    /// `System`; `Input` for a damaged compressed file, and for a line that is too long.
    pub fn next_piece(&mut self) -> Result<Option<PaddedLines<'_>>> {
        loop {
            self.drop_returned();
            if self.place >= self.end || (self.at_end && self.valid == 0) {
                return Ok(None);
            }
            let cut = self.read_lines()?;
            let (start, end) = self.lines_of_split();
            self.returned = end;
            if start < end {
                return Ok(Some(PaddedLines {
                    buffer: self.buffer,
                    start: FRONT + start,
                    end: FRONT + end,
                    offset: self.place + start as u64,
                    cut,
                }));
            }
        }
    }

    fn drop_returned(&mut self) {
        self.buffer.copy_within(FRONT + self.returned..FRONT + self.valid, FRONT);
        self.valid -= self.returned;
        self.place += self.returned as u64;
        self.returned = 0;
    }

    /// Reads until the buffer contains a complete line; returns whether the file ended without a
    /// line feed.
    fn read_lines(&mut self) -> Result<bool> {
        let mut searched = 0;
        loop {
            if !self.at_end && self.place + (self.valid as u64) < self.end {
                self.fill(0)?;
            }
            let valid = &self.buffer[FRONT..FRONT + self.valid];
            if memchr::memrchr(b'\n', &valid[searched..]).is_some() {
                return Ok(false);
            }
            if self.at_end && self.valid == 0 {
                return Ok(false);
            }
            if self.at_end {
                // There is always space for it in the bytes after the lines.
                self.buffer[FRONT + self.valid] = b'\n';
                self.valid += 1;
                return Ok(true);
            }
            searched = self.valid;
            self.fill(BEYOND_BYTES)?;
        }
    }

    /// Fills the buffer, up to the end of the split and `beyond` bytes more.
    fn fill(&mut self, beyond: u64) -> Result<()> {
        let space = self.buffer.len() - FRONT - WIDTH;
        if self.valid == space {
            self.grow(space)?;
        }
        let space = self.buffer.len() - FRONT - WIDTH;
        let from = self.place + self.valid as u64;
        let wanted = self.end.saturating_sub(from).max(beyond).min(1 << 40) as usize;
        let stop = space.min(self.valid.saturating_add(wanted));
        let target = &mut self.buffer[FRONT + self.valid..FRONT + stop];
        let read = match &mut self.bytes {
            Bytes::Plain(file) => retried(|| file.read_at(target, from)),
            Bytes::Packed(text) => retried(|| text.read(target)),
        };
        let count = read.map_err(|cause| Error::system("verify", "reading", &self.path, &cause))?;
        self.valid += count;
        self.at_end |= count == 0;
        Ok(())
    }

    fn grow(&mut self, space: usize) -> Result<()> {
        if space >= LINE_BYTES_MAX {
            let text = format!(
                "{} has a line longer than {} MiB at byte {}; is it KINC text?",
                self.path.display(),
                LINE_BYTES_MAX >> 20,
                self.place
            );
            return Err(Error::input("verify", text));
        }
        self.buffer.resize(FRONT + 2 * space + WIDTH, 0);
        Ok(())
    }

    /// Returns the range of the complete lines that start in the split, relative to the first valid
    /// byte.
    fn lines_of_split(&mut self) -> (usize, usize) {
        let valid = &self.buffer[FRONT..FRONT + self.valid];
        let complete_end = memchr::memrchr(b'\n', valid).map_or(0, |feed| feed + 1);
        let mut start = 0;
        if self.skip_first {
            start = memchr::memchr(b'\n', valid).map_or(complete_end, |feed| feed + 1);
            self.skip_first = false;
        }
        if self.place + start as u64 >= self.end {
            return (start, start);
        }
        // The last line of the split contains its last byte.
        let last = (self.end - 1 - self.place).min(complete_end as u64) as usize;
        let last = last.max(start);
        let feed = memchr::memchr(b'\n', &valid[last..]);
        (start, feed.map_or(complete_end, |feed| last + feed + 1))
    }
}

fn retried(mut read: impl FnMut() -> std::io::Result<usize>) -> std::io::Result<usize> {
    loop {
        match read() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_input::source::TextSource;
    use proptest::prelude::*;

    fn lines_of(file: &TextFile, split: &Split) -> Vec<Vec<u8>> {
        let mut buffer = Buffer::default();
        let mut pieces = Pieces::open(file, split, &mut buffer).unwrap();
        let mut lines = Vec::new();
        while let Some(piece) = pieces.next_piece().unwrap() {
            let text = &piece.buffer[piece.start..piece.end - 1];
            lines.extend(text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec));
        }
        lines
    }

    fn file_of(path: std::path::PathBuf) -> TextFile {
        let size_bytes = std::fs::metadata(&path).unwrap().len();
        let is_packed = path.extension().is_some_and(|extension| extension == "gz");
        TextFile { path, size_bytes, is_packed, zone: None }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn splits_of_any_size_yield_each_line_once(
            lengths in proptest::collection::vec(0usize..60, 1..60),
            split_bytes in 1u64..200,
            feed_at_end in any::<bool>(),
        ) {
            let letter = |index: usize| b'a' + (index % 26) as u8;
            let mut lines: Vec<Vec<u8>> =
                lengths.iter().enumerate().map(|(i, &n)| vec![letter(i); n]).collect();
            let mut text = lines.join(&b'\n');
            match feed_at_end {
                true => text.push(b'\n'),
                // The empty text after the last line feed is no line.
                false if lines.last().is_some_and(Vec::is_empty) => { lines.pop(); }
                false => {}
            }
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.txt");
            std::fs::write(&path, &text).unwrap();
            let file = file_of(path);
            let source = TextSource { files: vec![file.clone()], shape: None, files_skipped: 0 };
            let splits = source.splits(split_bytes);
            let split_lines: Vec<_> =
                splits.iter().flat_map(|split| lines_of(&file, split)).collect();
            prop_assert_eq!(split_lines, lines);
        }
    }

    #[test]
    fn lines_longer_than_the_buffer_and_files_larger_than_it_are_read_completely() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.txt");
        let long = vec![b'y'; 3 * READ_BYTES];
        let short = vec![b'x'; 999];
        let mut lines = vec![short.clone(); 1000];
        lines.extend([long.clone(), short, long]);
        std::fs::write(&path, lines.join(&b'\n')).unwrap();
        let file = file_of(path);
        for split_bytes in [1 << 10, 1 << 18, 1 << 30] {
            let source = TextSource { files: vec![file.clone()], shape: None, files_skipped: 0 };
            let splits = source.splits(split_bytes);
            let split_lines: Vec<_> =
                splits.iter().flat_map(|split| lines_of(&file, split)).collect();
            assert!(split_lines == lines, "{split_bytes}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused_and_a_cut_gzip_file_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let complete_split = Split { file: 0, offset: 0, size_bytes: u64::MAX };
        let path = folder.path().join("x.txt");
        std::fs::write(&path, vec![b'x'; LINE_BYTES_MAX + 2 * READ_BYTES]).unwrap();
        let mut buffer = Buffer::default();
        let mut pieces = Pieces::open(&file_of(path), &complete_split, &mut buffer).unwrap();
        assert!(pieces.next_piece().err().unwrap().message().contains("longer than"));

        let path = folder.path().join("x.gz");
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, b"one\ntwo\n").unwrap();
        let bytes = encoder.finish().unwrap();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(lines_of(&file_of(path.clone()), &complete_split), [b"one", b"two"]);
        std::fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
        let mut pieces = Pieces::open(&file_of(path), &complete_split, &mut buffer).unwrap();
        assert!((0..9).any(|_| pieces.next_piece().is_err()));
    }
}
