//! Comparison of the files of an answer, byte by byte, with their expected content.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use super::OPERATION;
use crate::kernel::kmer::Base;

const BUFFER_BYTES: usize = 1 << 18;

/// A file that is compared while its expected content is made.
pub struct Compared {
    path: PathBuf,
    reader: BufReader<File>,
    is_same: bool,
}

impl Compared {
    /// Opens a file.
    ///
    /// # Errors
    /// `System`.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(|cause| failed(path, &cause))?;
        let reader = BufReader::with_capacity(BUFFER_BYTES, file);
        Ok(Self { path: path.to_owned(), reader, is_same: true })
    }

    /// Compares the next expected bytes.
    ///
    /// # Errors
    /// `System`.
    pub fn put(&mut self, expected: &[u8]) -> Result<()> {
        let mut rest = expected;
        while self.is_same && !rest.is_empty() {
            let buffer = match self.reader.fill_buf() {
                Err(cause) if cause.kind() == ErrorKind::Interrupted => continue,
                buffer => buffer.map_err(|cause| failed(&self.path, &cause))?,
            };
            let (now, later) = rest.split_at(buffer.len().min(rest.len()));
            // The buffer is empty only at the end of the file.
            self.is_same = !now.is_empty() && buffer.starts_with(now);
            self.reader.consume(now.len());
            rest = later;
        }
        Ok(())
    }

    /// Returns whether the file is the same so far.
    pub fn is_same(&self) -> bool {
        self.is_same
    }

    /// Returns whether the file is the same, to its end.
    ///
    /// # Errors
    /// `System`.
    pub fn finish(mut self) -> Result<bool> {
        let read = self.reader.read(&mut [0]).map_err(|cause| failed(&self.path, &cause))?;
        Ok(self.is_same && read == 0)
    }
}

fn failed(path: &Path, cause: &std::io::Error) -> Error {
    Error::system(OPERATION, "reading", path, cause)
}

/// Appends bases as letters.
pub fn put_letters(codes: &[Base], text: &mut Vec<u8>) {
    // From A to C, G, T by sums, and not from a table, so that the compiler vectorizes the loop.
    let letter = |base: Base| {
        let [c, g, t] = [1, 2, 3].map(|code| u8::from(base == code));
        b'A' + 2 * c + 6 * g + 19 * t
    };
    text.extend(codes.iter().map(|&base| letter(base)));
}
