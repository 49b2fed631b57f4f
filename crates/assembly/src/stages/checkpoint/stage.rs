//! Checkpoint within a size of k-mers: super-k-mers when all are in their buckets, then the results
//! of counting them, then the paths without errors.
//!
//! Each file begins with the identity of its run, and gets its name only once it is complete.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use cuesta_core::budget::Budget;
use cuesta_core::error::ErrorKind;
use cuesta_core::{Error, Result};

use crate::buckets::blocks::BucketBlocks;
use crate::kernel::codec;
use crate::kernel::fragments::Fragments;
use crate::kernel::scan::ReadCounts;
use crate::kernel::sequences::{FragmentSummary, PathSummary, Paths};
use crate::stages::level::Level;
use crate::stages::wire;
use crate::stages::workers::WorkerResults;

const OPERATION: &str = "assembly.resume";
/// Bytes of fragments that are written and read at a time.
const FRAME_BYTES: usize = 1 << 20;
const BUCKETS: &str = "super-k-mers";
const PLACES: &str = "super-k-mers.places";
const RESULTS: &str = "fragments";
const PATHS: &str = "paths";

/// Files of one size of k-mers.
pub struct StageCheckpoint<'k> {
    /// Folder of the files.
    pub folder: &'k Path,
    /// Identity of the run.
    pub run: &'k [u8],
    /// Number of sizes before.
    pub number: usize,
}

impl StageCheckpoint<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.{name}", self.number))
    }

    /// Returns the path for the super-k-mers of all buckets.
    pub fn buckets_path(&self) -> PathBuf {
        self.path(BUCKETS)
    }

    /// Restores `blocks` and returns the counts of the reads, if the saved blocks are complete.
    ///
    /// # Errors
    /// `System`, `Input`.
    pub fn restore(&self, blocks: &mut BucketBlocks<'_>) -> Result<Option<ReadCounts>> {
        let Some(mut frames) = self.frames(PLACES)? else { return Ok(None) };
        let restored = blocks.restore(frames.next()?);
        restored.map_err(|error| damaged(&frames.path, error))?;
        codec::tally(frames.next()?).map(Some).map_err(|error| damaged(&frames.path, error))
    }

    /// Saves all blocks, and the counts of the reads from which they were filled.
    ///
    /// # Errors
    /// `System`.
    pub fn save(&self, blocks: &BucketBlocks<'_>, tally: &ReadCounts) -> Result<()> {
        let places = blocks.save()?;
        self.write(PLACES, |file| {
            put_frame(file, &places)?;
            put_frame(file, &codec::tally_bytes(tally))
        })
    }

    /// Loads the results of counting, if they were saved.
    ///
    /// # Errors
    /// `System`, `Input`.
    pub fn load_results<'c>(&self, budget: &'c Budget) -> Result<Option<WorkerResults<'c>>> {
        let Some(mut frames) = self.frames(RESULTS)? else { return Ok(None) };
        let mut results = wire::empty_results(budget);
        let added = wire::add_results(frames.next()?, &mut results);
        added.map_err(|error| damaged(&frames.path, error))?;
        frames.fragments(&mut results.fragments)?;
        Ok(Some(results))
    }

    /// Saves the results of counting and removes the super-k-mers, which are no longer needed.
    ///
    /// # Errors
    /// `System`.
    pub fn save_results(&self, results: &WorkerResults<'_>) -> Result<()> {
        self.write(RESULTS, |file| {
            put_frame(file, &wire::facts_bytes(results))?;
            results.fragments.blocks().try_for_each(|block| put_frame(file, block))?;
            put_frame(file, &[])
        })?;
        remove(&self.path(PLACES))?;
        remove(&self.buckets_path())
    }

    /// Loads the paths without errors and their report, if they were saved.
    ///
    /// # Errors
    /// `System`, `Input`.
    pub fn load_paths<'c>(&self, budget: &'c Budget) -> Result<Option<(Paths<'c>, Level)>> {
        let Some(mut frames) = self.frames(PATHS)? else { return Ok(None) };
        let level = serde_json::from_slice(frames.next()?);
        let level =
            level.map_err(|error| damaged(&frames.path, Error::defect(OPERATION, error)))?;
        let mut paths = Paths::new(budget, "the contigs");
        frames.paths(&mut paths)?;
        Ok(Some((paths, level)))
    }

    /// Saves the paths without errors.
    ///
    /// # Errors
    /// `System`.
    pub fn save_paths(&self, paths: &Paths<'_>, level: &Level) -> Result<()> {
        let level = serde_json::to_vec(level).map_err(|error| Error::defect(OPERATION, error))?;
        self.write(PATHS, |file| {
            put_frame(file, &level)?;
            put_paths(file, paths)
        })
    }

    /// Removes all files, as the next size has begun.
    ///
    /// # Errors
    /// `System`.
    pub fn clear(&self) -> Result<()> {
        [PLACES, BUCKETS, RESULTS, PATHS].iter().try_for_each(|name| remove(&self.path(name)))
    }

    fn write(
        &self,
        name: &str,
        content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<()> {
        write_atomically(&self.path(name), |file| {
            put_frame(file, self.run)?;
            content(file)
        })
    }

    /// Opens a file of this run; `None` where it does not exist or is of another run.
    fn frames(&self, name: &str) -> Result<Option<Frames>> {
        let path = self.path(name);
        let file = match File::open(&path) {
            Ok(file) => BufReader::new(file),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(Error::system(OPERATION, "opening", &path, &cause)),
        };
        let mut frames = Frames { file, path, bytes: Vec::new() };
        let is_of_this = frames.next()? == self.run;
        Ok(is_of_this.then_some(frames))
    }
}

/// Writes a file completely or not at all.
///
/// # Errors
/// `System`.
pub fn write_atomically(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let written = File::create(&partial).and_then(|file| {
        let mut file = BufWriter::new(file);
        content(&mut file)?;
        file.into_inner()?.sync_all()
    });
    written
        .and_then(|()| fs::rename(&partial, path))
        .map_err(|cause| Error::system(OPERATION, "writing", path, &cause))
}

/// Turns a defect into an error about a damaged file: bytes that no process writes are a defect
/// between processes, but damage in a file.
pub(super) fn damaged(path: &Path, error: Error) -> Error {
    if error.kind != ErrorKind::Defect {
        return error;
    }
    let text = format!(
        "{} is damaged; delete the folder that it is in, or give another --resume",
        path.display()
    );
    Error::input(OPERATION, text)
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
            Err(Error::system(OPERATION, "removing", path, &cause))
        }
        _ => Ok(()),
    }
}

fn put_frame(file: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    file.write_all(&(bytes.len() as u64).to_le_bytes())?;
    file.write_all(bytes)
}

/// Writes frames of paths, then an empty frame.
fn put_paths(file: &mut impl Write, paths: &Paths<'_>) -> io::Result<()> {
    let mut bytes = Vec::new();
    for index in 0..paths.len() {
        let piece = FragmentSummary::of(paths.facts(index));
        codec::put_fragment(&piece, paths.codes(index), &mut bytes);
        if bytes.len() >= FRAME_BYTES {
            put_frame(file, &bytes)?;
            bytes.clear();
        }
    }
    if !bytes.is_empty() {
        put_frame(file, &bytes)?;
    }
    put_frame(file, &[])
}

/// Reader of a file of frames.
struct Frames {
    file: BufReader<File>,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Frames {
    fn next(&mut self) -> Result<&[u8]> {
        let mut length = [0; 8];
        let read = self.file.read_exact(&mut length).and_then(|()| {
            let length = u64::from_le_bytes(length);
            self.bytes.clear();
            self.file.by_ref().take(length).read_to_end(&mut self.bytes)?;
            let is_complete = self.bytes.len() as u64 == length;
            if is_complete { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
        });
        match read {
            Ok(()) => Ok(&self.bytes),
            Err(cause) => Err(Error::system(OPERATION, "reading", &self.path, &cause)),
        }
    }

    fn fragments(&mut self, to: &mut Fragments<'_>) -> Result<()> {
        self.each(|bytes| to.append_bytes(bytes))
    }

    fn paths(&mut self, to: &mut Paths<'_>) -> Result<()> {
        self.each(|bytes| {
            codec::each_fragment(bytes, |piece, codes| {
                let FragmentSummary { count_sum, circular, merges, .. } = piece;
                to.push(PathSummary { count_sum, circular, merges }, |all| {
                    all.extend_from_slice(codes)
                })
            })
        })
    }

    /// Calls `take` for each frame before an empty one.
    fn each(&mut self, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        loop {
            let bytes = self.next()?;
            if bytes.is_empty() {
                return Ok(());
            }
            take(bytes).map_err(|error| damaged(&self.path, error))?;
        }
    }
}
