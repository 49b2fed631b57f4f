//! BLAKE3 checksums of the files of an answer, as `b3sum` computes them.
//!
//! Source: O'Connor, Aumasson, Neves, Wilcox-O'Hearn, BLAKE3: one function, fast everywhere (2021).

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use blake3::Hasher;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use rayon::ThreadPool;
use rayon::prelude::*;
use serde::Serialize;

use crate::{OPERATION, sorted_entries, walk};

/// Bytes that a thread reads and hashes at once: they remain in its cache.
const BLOCK_BYTES: usize = 1 << 18;

/// Bytes per thread where several threads hash a file.
const SHARE_BYTES: usize = 1 << 20;

/// A file or folder of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its name in the answer folder.
    pub name: String,
    /// Its size in bytes; for a folder, the total of its files.
    pub bytes: u64,
    /// BLAKE3 in hexadecimal digits; for a folder, the checksum of the output of `b3sum` for its
    /// files, named by their paths in the folder and sorted by the bytes of these.
    pub blake3: String,
}

/// Returns the entries of an answer folder, except the names in `apart`, sorted by name.
///
/// `threads` threads hash a large file together; the number may grow during the call. `progress`
/// counts bytes.
///
/// # Errors
/// `System` when a file cannot be read; `Cancelled`.
pub fn entries(
    folder: &Path,
    apart: &[String],
    threads: &AtomicUsize,
    progress: &Progress,
) -> Result<Vec<Entry>> {
    let mut reader = Reader { threads, buffer: vec![0; BLOCK_BYTES], pool: None };
    let mut results = Vec::new();
    for path in sorted_entries(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !apart.contains(&name) {
            let (bytes, hash) = reader.entry(&path, progress)?;
            results.push(Entry { name, bytes, blake3: hash.to_hex().to_string() });
        }
    }
    Ok(results)
}

/// Reader of files into a buffer, which a separate pool hashes where there are several threads.
///
/// It does not use rayon's global pool, for which a forked process would wait for ever.
struct Reader<'t> {
    threads: &'t AtomicUsize,
    buffer: Vec<u8>,
    pool: Option<ThreadPool>,
}

impl Reader<'_> {
    /// Creates the pool once there are several threads.
    fn look_for_threads(&mut self) -> Result<()> {
        let threads = self.threads.load(Ordering::Relaxed);
        if threads > 1 && self.pool.is_none() {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            self.pool = Some(pool.map_err(|error| Error::input(OPERATION, error))?);
            self.buffer.resize(SHARE_BYTES * threads, 0);
        }
        Ok(())
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
        let file = File::open(path).map_err(|error| failed(&error))?;
        let mut hasher = Hasher::new();
        let mut total = 0;
        loop {
            self.look_for_threads()?;
            let read = |(share, part): (usize, &mut [u8])| {
                fill(&file, part, total + (share * SHARE_BYTES) as u64)
            };
            let filled = match &self.pool {
                Some(pool) => pool.install(|| {
                    let shares = self.buffer.par_chunks_mut(SHARE_BYTES).enumerate();
                    shares.map(read).sum::<io::Result<usize>>()
                }),
                None => read((0, &mut self.buffer)),
            };
            let filled = filled.map_err(|error| failed(&error))?;
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

/// Reads from an offset on until the buffer is full or the file ends; returns the number of bytes.
fn fill(file: &impl FileExt, buffer: &mut [u8], place: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], place + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Returns all files under `folder`, with their paths in it, sorted by the bytes of these.
fn files_by_path(folder: &Path) -> Result<Vec<(Vec<u8>, std::path::PathBuf)>> {
    let mut files = Vec::new();
    walk(folder, &mut |path, is_folder| {
        if !is_folder {
            let inner = path.strip_prefix(folder).unwrap_or(path);
            files.push((inner.as_os_str().as_bytes().to_vec(), path.to_owned()));
        }
        Ok(())
    })?;
    files.sort_unstable();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::atomic::AtomicU8;

    fn hex(bytes: &[u8]) -> String {
        blake3::hash(bytes).to_hex().to_string()
    }

    fn of(folder: &Path, threads: usize) -> Vec<Entry> {
        let threads = AtomicUsize::new(threads);
        entries(folder, &["run.json".to_owned()], &threads, &Progress::default()).expect("entries")
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

    /// File that returns three bytes at a time, is interrupted before each read but the first, and
    /// then fails.
    struct Halting(AtomicU8);

    impl FileExt for Halting {
        fn read_at(&self, buffer: &mut [u8], place: u64) -> io::Result<usize> {
            match self.0.fetch_add(1, Ordering::Relaxed) + 1 {
                call @ (1 | 3 | 5) => {
                    let count = buffer.len().min(3);
                    buffer[..count].fill(call);
                    assert_eq!(place, 100 + 3 * u64::from(call / 2));
                    Ok(count)
                }
                2 | 4 => Err(io::ErrorKind::Interrupted.into()),
                _ => Err(io::ErrorKind::TimedOut.into()),
            }
        }

        fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    #[test]
    fn a_buffer_is_filled_through_interruptions_and_not_further() {
        let halting = || Halting(AtomicU8::new(0));
        let mut buffer = [0; 8];
        assert_eq!(fill(&halting(), &mut buffer, 100).expect("read"), 8);
        assert_eq!(buffer, [1, 1, 1, 3, 3, 3, 5, 5]);
        let error = fill(&halting(), &mut [0; 10], 100).expect_err("it fails after 9");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn threads_that_come_later_change_no_hash() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("one");
        let bytes: Vec<u8> = (0..5 * SHARE_BYTES + 3).map(|index| (index * 31 / 7) as u8).collect();
        fs::write(&path, &bytes).expect("write");
        let threads = AtomicUsize::new(1);
        let mut reader = Reader { threads: &threads, buffer: vec![0; BLOCK_BYTES], pool: None };
        let alone = reader.file(&path, &Progress::default()).expect("hash");
        threads.store(3, Ordering::Relaxed);
        assert_eq!(reader.file(&path, &Progress::default()).expect("hash"), alone);
        assert!(reader.pool.is_some());
        assert_eq!(alone.1.to_hex().to_string(), hex(&bytes));
    }

    #[test]
    fn a_missing_file_is_named() {
        let folder = tempfile::tempdir().expect("folder");
        std::os::unix::fs::symlink("nowhere", folder.path().join("link")).expect("link");
        let threads = AtomicUsize::new(1);
        let error =
            entries(folder.path(), &[], &threads, &Progress::default()).expect_err("no file");
        assert!(error.message().contains("link"), "{}", error.message());
    }
}
