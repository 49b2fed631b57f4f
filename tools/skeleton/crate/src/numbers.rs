//! Files of whole numbers, 8 bytes each, the lowest byte first.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};

const OPERATION: &str = "input.skeleton";
/// Bytes of a number.
pub const NUMBER_BYTES: u64 = 8;

/// The numbers of several files, one after the other.
pub struct Numbers {
    files: Vec<(PathBuf, File, Range<u64>)>,
    /// The number of numbers in all files.
    pub count: u64,
}

impl Numbers {
    /// Opens the files.
    ///
    /// # Errors
    /// `Input` for a file that ends within a number; `System`.
    pub fn open(paths: &[PathBuf]) -> Result<Self> {
        let (mut files, mut count) = (Vec::new(), 0);
        for path in paths {
            let failed = |cause| Error::system(OPERATION, "opening", path, &cause);
            let file = File::open(path).map_err(failed)?;
            let facts = file.metadata().map_err(failed)?;
            if !facts.is_file() || facts.len() % NUMBER_BYTES != 0 {
                let (name, size) = (path.display(), facts.len());
                let text = format!("{name} has {size} bytes; give files of 8 bytes a number");
                return Err(Error::input(OPERATION, text));
            }
            let end = count + facts.len() / NUMBER_BYTES;
            files.push((path.clone(), file, count..end));
            count = end;
        }
        Ok(Self { files, count })
    }

    /// Calls `take` with the bytes of the numbers in a range, piece by piece; `room` is for its
    /// use.
    ///
    /// # Errors
    /// The errors of `take`; `System`.
    pub fn read(
        &self,
        wanted: Range<u64>,
        room: &mut Vec<u8>,
        mut take: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        for (path, file, numbers) in &self.files {
            let (first, end) = (wanted.start.max(numbers.start), wanted.end.min(numbers.end));
            if first >= end {
                continue;
            }
            room.resize(((end - first) * NUMBER_BYTES) as usize, 0);
            let offset = (first - numbers.start) * NUMBER_BYTES;
            file.read_exact_at(room, offset).map_err(|cause| failed(path, &cause))?;
            take(room)?;
        }
        Ok(())
    }
}

fn failed(path: &Path, cause: &std::io::Error) -> Error {
    Error::system(OPERATION, "reading", path, cause)
}
