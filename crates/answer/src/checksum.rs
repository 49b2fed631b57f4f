//! BLAKE3 of the files of an answer, which `b3sum` computes too.
//!
//! Source: O'Connor, Aumasson, Neves, Wilcox-O'Hearn, BLAKE3: one function, fast everywhere (2021).

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use blake3::Hasher;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use rayon::ThreadPool;
use serde::Serialize;

use crate::{OPERATION, sorted_entries, walk};

/// Bytes that one thread reads and hashes at once: they stay in its cache.
const BLOCK_BYTES: usize = 1 << 18;

/// Bytes for each thread where several hash a file.
const SHARE_BYTES: usize = 1 << 20;

/// A file of an answer, or a folder, which counts as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its name in the answer folder.
    pub name: String,
    /// Its bytes; of a folder, those of all files in it.
    pub bytes: u64,
    /// BLAKE3 in hexadecimal digits; of a folder, that of what `b3sum` prints for its files, named
    /// by their paths within the folder and sorted by the bytes of these.
    pub blake3: String,
}

/// The entries of an answer folder `apart` from some names, sorted by name.
///
/// Arguments: `threads` hash a large file together. `progress` counts bytes.
///
/// # Errors
/// `System` when a file cannot be read; `Cancelled`.
pub fn entries(
    folder: &Path,
    apart: &[String],
    threads: usize,
    progress: &Progress,
) -> Result<Vec<Entry>> {
    let mut reader = Reader::new(threads)?;
    let mut found = Vec::new();
    for path in sorted_entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !apart.contains(&name) {
            let (bytes, hash) = reader.entry(&path, progress)?;
            found.push(Entry { name, bytes, blake3: hash.to_hex().to_string() });
        }
    }
    Ok(found)
}

/// Reads files into one buffer, which a pool of its own hashes where there are several threads.
///
/// The pool is never rayon's global one, which a forked process would wait for without end.
struct Reader {
    buffer: Vec<u8>,
    pool: Option<ThreadPool>,
}

impl Reader {
    fn new(threads: usize) -> Result<Self> {
        if threads <= 1 {
            return Ok(Self { buffer: vec![0; BLOCK_BYTES], pool: None });
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = pool.map_err(|error| Error::input(OPERATION, error))?;
        Ok(Self { buffer: vec![0; SHARE_BYTES * threads], pool: Some(pool) })
    }

    fn entry(&mut self, path: &Path, progress: &Progress) -> Result<(u64, blake3::Hash)> {
        if !path.is_dir() {
            return self.file(path, progress);
        }
        let mut listing = Hasher::new();
        let mut total = 0;
        for (inner, file) in files_by_path(path)? {
            let (bytes, hash) = self.file(&file, progress)?;
            total += bytes;
            listing.update(hash.to_hex().as_bytes());
            listing.update(b"  ");
            listing.update(&inner);
            listing.update(b"\n");
        }
        Ok((total, listing.finalize()))
    }

    fn file(&mut self, path: &Path, progress: &Progress) -> Result<(u64, blake3::Hash)> {
        let failed = |error: &io::Error| Error::system(OPERATION, "reading", path, error);
        let mut file = File::open(path).map_err(|error| failed(&error))?;
        let mut hasher = Hasher::new();
        let mut total = 0;
        loop {
            let filled = fill(&mut file, &mut self.buffer).map_err(|error| failed(&error))?;
            if filled == 0 {
                return Ok((total, hasher.finalize()));
            }
            let block = &self.buffer[..filled];
            match &self.pool {
                Some(pool) if filled > BLOCK_BYTES => pool.install(|| {
                    hasher.update_rayon(block);
                }),
                _ => {
                    hasher.update(block);
                }
            }
            total += filled as u64;
            progress.advance(filled as u64)?;
        }
    }
}

/// Reads until the buffer is full or the file ends; returns how many bytes.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Every file under `folder`, with its path within it, sorted by the bytes of that.
fn files_by_path(folder: &Path) -> Result<Vec<(Vec<u8>, std::path::PathBuf)>> {
    let mut found = Vec::new();
    walk(folder, &mut |path, is_folder| {
        if !is_folder {
            let inner = path.strip_prefix(folder).unwrap_or(path);
            found.push((inner.as_os_str().as_bytes().to_vec(), path.to_owned()));
        }
        Ok(())
    })?;
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn hex(bytes: &[u8]) -> String {
        blake3::hash(bytes).to_hex().to_string()
    }

    fn of(folder: &Path, threads: usize) -> Vec<Entry> {
        entries(folder, &["run.json".to_owned()], threads, &Progress::default()).expect("entries")
    }

    #[test]
    fn a_file_has_the_hash_of_its_bytes_for_any_number_of_threads() {
        let folder = tempfile::tempdir().expect("folder");
        let sizes = [0, 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * SHARE_BYTES + 17];
        for (number, size) in sizes.into_iter().enumerate() {
            let bytes: Vec<u8> = (0..size).map(|index| (index * 31 / 7) as u8).collect();
            fs::write(folder.path().join(format!("{number}")), &bytes).expect("write");
        }
        fs::write(folder.path().join("run.json"), "{}").expect("write");
        let alone = of(folder.path(), 1);
        assert_eq!(alone, of(folder.path(), 3));
        assert_eq!(alone.len(), sizes.len());
        for (entry, size) in alone.iter().zip(sizes) {
            let bytes: Vec<u8> = (0..size).map(|index| (index * 31 / 7) as u8).collect();
            assert_eq!((entry.bytes, &entry.blake3), (size as u64, &hex(&bytes)));
        }
    }

    #[test]
    fn a_folder_has_the_hash_of_the_sorted_list_that_b3sum_prints() {
        let folder = tempfile::tempdir().expect("folder");
        let inner = folder.path().join("pairs.zarr");
        fs::create_dir_all(inner.join("a")).expect("folder");
        for (name, text) in [("a/0", "one"), ("a.json", "two"), ("b", "three")] {
            fs::write(inner.join(name), text).expect("write");
        }
        let lines = [("a.json", "two"), ("a/0", "one"), ("b", "three")]
            .map(|(name, text)| format!("{}  {name}\n", hex(text.as_bytes())));
        let expected =
            Entry { name: "pairs.zarr".into(), bytes: 11, blake3: hex(lines.concat().as_bytes()) };
        assert_eq!(of(folder.path(), 1), [expected]);
    }

    /// Reads three bytes at a time, and is interrupted before each but the first; then fails.
    struct Halting(u8);

    impl Read for Halting {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            match self.0 {
                1 | 3 | 5 => {
                    let count = buffer.len().min(3);
                    buffer[..count].fill(self.0);
                    Ok(count)
                }
                2 | 4 => Err(io::ErrorKind::Interrupted.into()),
                _ => Err(io::ErrorKind::TimedOut.into()),
            }
        }
    }

    #[test]
    fn a_buffer_is_filled_through_interruptions_and_not_further() {
        let mut buffer = [0; 8];
        assert_eq!(fill(&mut Halting(0), &mut buffer).expect("read"), 8);
        assert_eq!(buffer, [1, 1, 1, 3, 3, 3, 5, 5]);
        let error = fill(&mut Halting(0), &mut [0; 10]).expect_err("it fails after 9");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_file_that_is_gone_is_named() {
        let folder = tempfile::tempdir().expect("folder");
        std::os::unix::fs::symlink("nowhere", folder.path().join("link")).expect("link");
        let error = entries(folder.path(), &[], 1, &Progress::default()).expect_err("no file");
        assert!(error.message.contains("link"), "{}", error.message);
    }
}
