//! Holds the files of an answer, byte by byte, against what they should be.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

use super::OPERATION;
use crate::kernel::kmer::Base;

const BUFFER_BYTES: usize = 1 << 18;
const LETTERS: [u8; 4] = *b"ACGT";

/// A file that is compared while what it should be is made.
pub struct Compared {
    path: PathBuf,
    reader: BufReader<File>,
    found: Vec<u8>,
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
        Ok(Self { path: path.to_owned(), reader, found: Vec::new(), is_same: true })
    }

    /// Compares the next bytes.
    ///
    /// # Errors
    /// `System`.
    pub fn put(&mut self, expected: &[u8]) -> Result<()> {
        if self.is_same {
            self.found.clear();
            let reader = &mut self.reader;
            reader
                .take(expected.len() as u64)
                .read_to_end(&mut self.found)
                .map_err(|cause| failed(&self.path, &cause))?;
            self.is_same = self.found == expected;
        }
        Ok(())
    }

    /// Whether the file was the same so far.
    pub fn is_same(&self) -> bool {
        self.is_same
    }

    /// Whether the file was the same, to its end.
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
    text.extend(codes.iter().map(|&base| LETTERS[usize::from(base)]));
}
