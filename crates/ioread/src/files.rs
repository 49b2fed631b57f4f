//! Files and their requests, numbered across all files.

use std::ops::Range;
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};
use cuesta_input::storage::{self, Input};

use crate::params::IoreadParams;

const OPERATION: &str = "input.read";

/// The files, with the numbers of the requests in each.
#[derive(Debug)]
pub struct Files {
    params: IoreadParams,
    files: Vec<ReadFile>,
    /// Number of requests in all files.
    pub requests: u64,
    /// Total bytes of all requests.
    pub size_bytes: u64,
}

#[derive(Debug)]
struct ReadFile {
    path: PathBuf,
    size_bytes: u64,
    requests: Range<u64>,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRequest {
    /// Index of the file.
    pub file: usize,
    /// Offset in the file.
    pub offset: u64,
    /// Number of bytes.
    pub size_bytes: usize,
}

impl Files {
    /// Reads the sizes of the files.
    ///
    /// # Errors
    /// `Input` for a path that is not a regular file; `System`.
    pub fn open(paths: &[PathBuf], params: IoreadParams) -> Result<Self> {
        let mut files = Self { params, files: Vec::new(), requests: 0, size_bytes: 0 };
        for path in paths {
            let facts = storage::metadata(path)
                .map_err(|cause| Error::system(OPERATION, "opening", path, &cause))?;
            if !facts.is_file {
                let what = if facts.is_folder { "a folder" } else { "no regular file" };
                let text = format!("{} is {what}; give the files to read", path.display());
                return Err(Error::input(OPERATION, text));
            }
            files.add(path, facts.size_bytes);
        }
        Ok(files)
    }

    fn add(&mut self, path: &Path, size_bytes: u64) {
        let count = size_bytes.div_ceil(self.params.stride_bytes());
        if count > 0 {
            let full_requests_bytes = (count - 1) * self.params.request_bytes;
            let last = size_bytes - (count - 1) * self.params.stride_bytes();
            self.size_bytes += full_requests_bytes + last.min(self.params.request_bytes);
        }
        let requests = self.requests..self.requests + count;
        self.requests = requests.end;
        self.files.push(ReadFile { path: path.to_owned(), size_bytes, requests });
    }

    /// Returns the number of files.
    pub fn count(&self) -> usize {
        self.files.len()
    }

    /// Returns the bytes of the longest request.
    pub fn longest_bytes(&self) -> u64 {
        let sizes = self.files.iter().map(|file| file.size_bytes);
        sizes.max().unwrap_or(0).min(self.params.request_bytes)
    }

    /// Returns the request of a number; `None` beyond the last.
    pub fn place(&self, request: u64) -> Option<FileRequest> {
        let file = self.files.partition_point(|file| file.requests.end <= request);
        let of = self.files.get(file)?;
        let offset = (request - of.requests.start) * self.params.stride_bytes();
        let size_bytes = (of.size_bytes - offset).min(self.params.request_bytes) as usize;
        Some(FileRequest { file, offset, size_bytes })
    }

    /// Opens a file for a reader.
    ///
    /// # Errors
    /// `System`.
    pub fn reader(&self, file: usize) -> Result<FileReader<'_>> {
        let path = &self.files[file].path;
        let input =
            Input::open(path).map_err(|cause| Error::system(OPERATION, "opening", path, &cause))?;
        Ok(FileReader { file, path, input })
    }
}

/// An open file.
pub struct FileReader<'a> {
    /// Index of the file.
    pub file: usize,
    path: &'a Path,
    input: Input,
}

impl FileReader<'_> {
    /// Fills `into` from `offset` on.
    ///
    /// # Errors
    /// `System`, also for a file that has become shorter.
    pub fn fill(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.input
            .read_exact_at(into, offset)
            .map_err(|cause| Error::system(OPERATION, "reading", self.path, &cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_sizes(sizes: &[u64], request_bytes: u64, skip_bytes: u64) -> Files {
        let params = IoreadParams { request_bytes, skip_bytes };
        let mut files = Files { params, files: Vec::new(), requests: 0, size_bytes: 0 };
        sizes.iter().for_each(|&size| files.add(Path::new("x"), size));
        files
    }

    #[test]
    fn requests_are_numbered_across_all_files() {
        let files = of_sizes(&[10, 0, 3], 4, 1);
        let places: Vec<_> = (0..files.requests).filter_map(|number| files.place(number)).collect();
        let place = |file, offset, size_bytes| FileRequest { file, offset, size_bytes };
        assert_eq!(places, [place(0, 0, 4), place(0, 5, 4), place(2, 0, 3)]);
        assert_eq!((files.size_bytes, files.longest_bytes()), (11, 4));
        assert_eq!(files.place(3), None);
    }

    #[test]
    fn a_gap_that_reaches_the_end_has_no_request_after_it() {
        let files = of_sizes(&[8], 4, 4);
        assert_eq!((files.requests, files.size_bytes), (1, 4));
        assert_eq!(of_sizes(&[9], 4, 4).size_bytes, 5);
    }
}
