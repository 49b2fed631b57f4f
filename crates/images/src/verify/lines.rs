//! Lines of the table of an answer, read in blocks.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use cuesta_core::{Error, Result};

use crate::table;

/// Bytes of a block, and maximum number of its lines.
const BLOCK_BYTES: usize = 64 << 10;
const BLOCK_LINES: usize = 4096;
/// Maximum size of a line, in bytes: the longest name of a file, and room for the numbers.
const LINE_BYTES_MAX: usize = 16 << 10;
/// Memory that a reader takes, in bytes.
pub const NEEDED_BYTES: u64 = 128 << 10;

/// Reader of lines, one block after the other.
pub struct Lines {
    path: PathBuf,
    file: BufReader<File>,
    text: Vec<u8>,
    /// Ends of the lines in the text.
    ends: Vec<u32>,
    /// Number of lines before this block.
    before: u64,
}

impl Lines {
    /// Opens a table and reads its header.
    ///
    /// # Errors
    /// `Input` when it has another header; `System`.
    pub fn open(path: PathBuf) -> Result<Self> {
        let file =
            File::open(&path).map_err(|cause| Error::system("verify", "opening", &path, &cause))?;
        let file = BufReader::new(file);
        let text = Vec::with_capacity(BLOCK_BYTES + LINE_BYTES_MAX);
        let ends = Vec::with_capacity(BLOCK_LINES);
        let mut lines = Self { path, file, text, ends, before: 0 };
        let header = table::HEADER.join("\t") + "\n";
        lines.line()?;
        if lines.text != header.as_bytes() {
            return Err(lines.bad(1, &format!("is not the header {}", table::HEADER.join(" "))));
        }
        Ok(lines)
    }

    /// Reads the next block, up to the line of all images and at most `most` lines; returns the
    /// number of lines.
    /// # Errors
    /// `Input` if the table ends before; `System`.
    pub fn next(&mut self, most: u64) -> Result<usize> {
        self.before += self.ends.len() as u64;
        self.text.clear();
        self.ends.clear();
        let most = most.min(BLOCK_LINES as u64) as usize;
        while self.text.len() < BLOCK_BYTES && self.ends.len() < most {
            self.line()?;
            if self.is_all(self.ends.len() - 1) {
                break;
            }
        }
        Ok(self.ends.len())
    }

    /// Whether a line of the block is that of all images.
    pub fn is_all(&self, index: usize) -> bool {
        self.get(index).1.split(|&byte| byte == b'\t').next() == Some(table::ALL.as_bytes())
    }

    /// Returns the number of a line of the block, from 1, and the line with its line feed.
    pub fn get(&self, index: usize) -> (u64, &[u8]) {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        (self.before + index as u64 + 1, &self.text[start..self.ends[index] as usize])
    }

    /// Returns the last line of the block, with its number.
    pub fn last(&self) -> (u64, &[u8]) {
        self.get(self.ends.len() - 1)
    }

    /// Whether the table ends after the block.
    ///
    /// # Errors
    /// `System`.
    pub fn is_over(&mut self) -> Result<bool> {
        let next_bytes = self.file.fill_buf();
        let next_bytes =
            next_bytes.map_err(|cause| Error::system("verify", "reading", &self.path, &cause))?;
        Ok(next_bytes.is_empty())
    }

    /// Returns the error of a line.
    pub fn bad(&self, number: u64, fault: &str) -> Error {
        Error::input("verify", format!("line {number} of {} {fault}", self.path.display()))
    }

    fn line(&mut self) -> Result<()> {
        let mut limited = (&mut self.file).take(LINE_BYTES_MAX as u64);
        let count = limited
            .read_until(b'\n', &mut self.text)
            .map_err(|cause| Error::system("verify", "reading", &self.path, &cause))?;
        let number = self.before + self.ends.len() as u64 + 1;
        if count == 0 {
            return Err(self.bad(number, "is missing; the sums of all images come last"));
        }
        if count == LINE_BYTES_MAX {
            return Err(self.bad(number, "is too long"));
        }
        self.ends.push(self.text.len() as u32);
        Ok(())
    }
}
