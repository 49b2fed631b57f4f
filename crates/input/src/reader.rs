//! Reader of a split of a text file as blocks of complete lines, through a small reused buffer.
//!
//! A line belongs to the split that it starts in, so splits of any size contain each line once.

use std::io::Read;
use std::path::PathBuf;

use cuesta_core::{Error, Result};

use crate::kinc::LineError;
use crate::kinc::block::PADDING;
use crate::limits::{LINE_BYTES_MAX, READ_BYTES};
use crate::source::{Split, TextFile, at_line};
use crate::storage::Input;
use crate::unpack::{self, Unpacked};

/// Complete lines: `bytes[..size_bytes]`, followed by [`PADDING`] readable bytes.
#[derive(Debug)]
pub struct LineBlock<'a> {
    /// The lines and the padding.
    pub bytes: &'a [u8],
    /// Bytes of lines.
    pub size_bytes: usize,
    /// Offset of the first byte in the (decompressed) file.
    pub offset: u64,
}

/// The blocks of a split, in order.
pub struct LineBlocks {
    path: PathBuf,
    bytes: Bytes,
    buffer: Vec<u8>,
    /// Valid bytes of the buffer; the first `consumed` were returned already.
    filled: usize,
    consumed: usize,
    /// Offset of `buffer[0]` in the file.
    offset: u64,
    /// End of the split; the line that starts before it is the last line.
    end: u64,
    /// Whether the first line of the buffer belongs to the previous split.
    skip_first: bool,
    ended: bool,
}

enum Bytes {
    Plain(Input),
    Packed(Unpacked),
}

impl LineBlocks {
    /// Opens a split of `file`.
    ///
    /// # Errors
    /// `System`; `Input` for a truncated file of bgzip.
    pub fn open(file: &TextFile, split: &Split) -> Result<Self> {
        Self::open_with(file, split, Vec::new())
    }

    /// Like [`LineBlocks::open`], with a buffer from [`LineBlocks::into_buffer`].
    ///
    /// # Errors
    /// As [`LineBlocks::open`].
    pub fn open_with(file: &TextFile, split: &Split, mut buffer: Vec<u8>) -> Result<Self> {
        let bytes = match file.is_packed {
            true => unpack::open(&file.path).map(Bytes::Packed),
            false => Input::open(&file.path).map(Bytes::Plain),
        };
        let bytes = bytes.map_err(|cause| unpack::failure("input.kinc", &file.path, &cause))?;
        if buffer.len() < READ_BYTES + PADDING {
            buffer.resize(READ_BYTES + PADDING, 0);
        }
        Ok(Self {
            path: file.path.clone(),
            bytes,
            buffer,
            filled: 0,
            consumed: 0,
            // One byte early: whether it is a line feed tells if a line starts at the offset.
            offset: split.offset.saturating_sub(1),
            end: split.offset.saturating_add(split.size_bytes),
            skip_first: split.offset > 0,
            ended: false,
        })
    }

    /// The buffer, to be used for the next split.
    pub fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// The next block, or `None` at the end of the split.
    ///
    /// # Errors
    /// `System`; `Input` for a damaged compressed file, and for a line that is too long.
    pub fn next_block(&mut self) -> Result<Option<LineBlock<'_>>> {
        let Some((start, stop)) = self.advance()? else { return Ok(None) };
        Ok(Some(LineBlock {
            bytes: &self.buffer[start..],
            size_bytes: stop - start,
            offset: self.offset + start as u64,
        }))
    }

    /// Finds the next range of whole lines in the buffer, reading more as needed.
    fn advance(&mut self) -> Result<Option<(usize, usize)>> {
        while !self.ended {
            self.buffer.copy_within(self.consumed..self.filled, 0);
            self.filled -= self.consumed;
            self.offset += self.consumed as u64;
            self.consumed = 0;
            let at_end = self.fill()? == 0;
            let Some(stop) = self.lines_end(at_end) else {
                self.make_room()?;
                continue;
            };
            let mut start = 0;
            if self.skip_first {
                let first = memchr::memchr(b'\n', &self.buffer[..stop]);
                start = first.map_or(stop, |place| place + 1);
                self.skip_first = false;
            }
            self.consumed = stop;
            if self.offset + start as u64 >= self.end {
                self.ended = true;
                return Ok(None);
            }
            let stop = self.cut_at_end(start, stop);
            self.ended |= at_end;
            if stop > start {
                return Ok(Some((start, stop)));
            }
        }
        Ok(None)
    }

    /// End of the last complete line of the buffer; at the end of the file, end of the buffer.
    fn lines_end(&self, at_end: bool) -> Option<usize> {
        if at_end {
            return Some(self.filled);
        }
        memchr::memrchr(b'\n', &self.buffer[..self.filled]).map(|place| place + 1)
    }

    /// Excludes the lines that start at or after the end of the split.
    fn cut_at_end(&mut self, start: usize, stop: usize) -> usize {
        if self.offset + (stop as u64) < self.end {
            return stop;
        }
        self.ended = true;
        let last = (self.end - 1 - self.offset) as usize;
        let last = last.max(start).min(stop);
        memchr::memchr(b'\n', &self.buffer[last..stop]).map_or(stop, |place| last + place + 1)
    }

    fn make_room(&mut self) -> Result<()> {
        let space = self.buffer.len() - PADDING;
        if self.filled < space {
            return Ok(());
        }
        if space >= LINE_BYTES_MAX {
            let text = format!(
                "{} has a line longer than {} MiB at byte {}; is it KINC text?",
                self.path.display(),
                LINE_BYTES_MAX >> 20,
                self.offset
            );
            return Err(unpack::damage_or(&self.path, Error::input("input.kinc", text)));
        }
        self.buffer.resize(2 * space + PADDING, 0);
        Ok(())
    }

    fn fill(&mut self) -> Result<usize> {
        let space = self.buffer.len() - PADDING;
        let place = self.offset + self.filled as u64;
        // A split is not read far beyond its end: a line more is enough.
        let wanted = self.end.saturating_sub(place).saturating_add(4096);
        let stop = space.min(self.filled.saturating_add(wanted.min(1 << 40) as usize));
        let target = &mut self.buffer[self.filled..stop];
        let read = match &mut self.bytes {
            Bytes::Plain(file) => read_at(file, target, place),
            Bytes::Packed(text) => read_some(text, target),
        };
        let count = read.map_err(|cause| unpack::failure("input.kinc", &self.path, &cause))?;
        self.filled += count;
        Ok(count)
    }
}

/// Converts a fault of a block into the error for the user; finds the line number by reading the
/// file again up to it.
pub fn located(file: &TextFile, block_offset: u64, fault: &LineError) -> Error {
    match line_number(file, block_offset + fault.offset as u64) {
        Ok(number) => unpack::damage_or(&file.path, at_line(&file.path, number, &fault.what)),
        Err(error) => error,
    }
}

fn line_number(file: &TextFile, offset: u64) -> Result<u64> {
    let entire = Split { file: 0, offset: 0, size_bytes: u64::MAX };
    let mut blocks = LineBlocks::open(file, &entire)?;
    let mut number = 1;
    while let Some(block) = blocks.next_block()? {
        let before = offset.saturating_sub(block.offset).min(block.size_bytes as u64) as usize;
        number += memchr::memchr_iter(b'\n', &block.bytes[..before]).count() as u64;
        if before < block.size_bytes {
            break;
        }
    }
    Ok(number)
}

fn read_at(file: &Input, target: &mut [u8], place: u64) -> std::io::Result<usize> {
    loop {
        match file.read_at(target, place) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn read_some(text: &mut Unpacked, target: &mut [u8]) -> std::io::Result<usize> {
    let mut count = 0;
    while count < target.len() {
        match text.read(&mut target[count..]) {
            Ok(0) => break,
            Ok(more) => count += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;
    use std::path::Path;

    fn file_of(path: &Path, is_packed: bool) -> TextFile {
        let size_bytes = std::fs::metadata(path).unwrap().len();
        TextFile { path: path.to_owned(), size_bytes, is_packed, zone: None }
    }

    fn lines_of(file: &TextFile, split: &Split) -> Vec<Vec<u8>> {
        let mut blocks = LineBlocks::open(file, split).unwrap();
        let mut lines = Vec::new();
        while let Some(block) = blocks.next_block().unwrap() {
            let text = &block.bytes[..block.size_bytes];
            let text = text.strip_suffix(b"\n").unwrap_or(text);
            lines.extend(text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec));
        }
        lines
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn splits_of_any_size_have_each_line_once(
            lengths in proptest::collection::vec(0usize..60, 1..60),
            split_bytes in 1u64..200,
            last_newline in any::<bool>(),
        ) {
            let letter = |index: usize| b'a' + (index % 26) as u8;
            let lines: Vec<Vec<u8>> =
                lengths.iter().enumerate().map(|(i, &n)| vec![letter(i); n + 1]).collect();
            let mut text = lines.join(&b'\n');
            if last_newline {
                text.push(b'\n');
            }
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.txt");
            std::fs::write(&path, &text).unwrap();
            let file = file_of(&path, false);
            let source = crate::source::TextSource {
                files: vec![file.clone()], shape: None, files_skipped: 0 };
            let read: Vec<Vec<u8>> = source
                .splits(split_bytes)
                .iter()
                .flat_map(|split| lines_of(&file, split))
                .collect();
            prop_assert_eq!(read, lines);
        }
    }

    #[test]
    fn a_file_larger_than_the_buffer_is_read_completely() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.txt");
        let line = vec![b'x'; 999];
        let text = [line.as_slice(), b"\n"].concat().repeat(1000);
        std::fs::write(&path, &text).unwrap();
        let file = file_of(&path, false);
        let entire = Split { file: 0, offset: 0, size_bytes: u64::MAX };
        assert_eq!(lines_of(&file, &entire).len(), 1000);
        assert_eq!(line_number(&file, 999_500).unwrap(), 1000);
    }

    #[test]
    fn a_gzipped_file_of_two_members_is_read_and_a_truncated_file_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.gz");
        let mut bytes = Vec::new();
        for text in ["one\ntw", "o\nthree"] {
            let level = flate2::Compression::fast();
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(text.as_bytes()).unwrap();
            bytes.extend(encoder.finish().unwrap());
        }
        std::fs::write(&path, &bytes).unwrap();
        let entire = Split { file: 0, offset: 0, size_bytes: u64::MAX };
        let file = file_of(&path, true);
        assert_eq!(lines_of(&file, &entire), [&b"one"[..], b"two", b"three"]);
        std::fs::write(&path, &bytes[..bytes.len() - 6]).unwrap();
        let mut blocks = LineBlocks::open(&file, &entire).unwrap();
        let error = loop {
            match blocks.next_block() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("the cut was not noticed"),
                Err(error) => break error,
            }
        };
        assert!(error.message().contains("cut short"), "{}", error.message());
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.txt");
        std::fs::write(&path, vec![b'x'; LINE_BYTES_MAX + READ_BYTES]).unwrap();
        let entire = Split { file: 0, offset: 0, size_bytes: u64::MAX };
        let mut blocks = LineBlocks::open(&file_of(&path, false), &entire).unwrap();
        assert!(blocks.next_block().unwrap_err().message().contains("longer than"));
    }
}
