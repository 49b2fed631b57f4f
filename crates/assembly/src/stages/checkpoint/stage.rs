//! What is kept of a size of k-mers under way: super-k-mers when all are in their buckets, then
//! what was found in these, then the paths that are left without errors.
//!
//! Each file begins with the run it is of, and has its name only once it is whole.

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
const FOUND: &str = "fragments";
const LEFT: &str = "paths";

/// The files of one size of k-mers.
pub struct StageCheckpoint<'k> {
    /// Where they are.
    pub folder: &'k Path,
    /// Which run they are of.
    pub run: &'k [u8],
    /// How many sizes came before.
    pub number: usize,
}

impl StageCheckpoint<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{}.{name}", self.number))
    }

    /// Where the super-k-mers of all buckets go.
    pub fn buckets_path(&self) -> PathBuf {
        self.path(BUCKETS)
    }

    /// Gives `blocks` what was saved of them, if all of it was; what was counted on the way.
    ///
    /// # Errors
    /// `System`, `Input`.
    pub fn restore(&self, blocks: &mut BucketBlocks<'_>) -> Result<Option<ReadCounts>> {
        let Some(mut frames) = self.frames(PLACES)? else { return Ok(None) };
        let restored = blocks.restore(frames.next()?);
        restored.map_err(|error| damaged(&frames.path, error))?;
        codec::tally(frames.next()?).map(Some).map_err(|error| damaged(&frames.path, error))
    }

    /// Saves all blocks, and what was counted when they were filled.
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

    /// What was found in the buckets, once that was kept.
    ///
    /// # Errors
    /// `System`, `Input`.
    pub fn load_results<'c>(&self, budget: &'c Budget) -> Result<Option<WorkerResults<'c>>> {
        let Some(mut frames) = self.frames(FOUND)? else { return Ok(None) };
        let mut found = wire::empty_results(budget);
        let added = wire::add_results(frames.next()?, &mut found);
        added.map_err(|error| damaged(&frames.path, error))?;
        frames.fragments(&mut found.fragments)?;
        Ok(Some(found))
    }

    /// Keeps what was found; the super-k-mers are not needed any more.
    ///
    /// # Errors
    /// `System`.
    pub fn save_results(&self, found: &WorkerResults<'_>) -> Result<()> {
        self.write(FOUND, |file| {
            put_frame(file, &wire::facts_bytes(found))?;
            found.fragments.blocks().try_for_each(|block| put_frame(file, block))?;
            put_frame(file, &[])
        })?;
        remove(&self.path(PLACES))?;
        remove(&self.buckets_path())
    }

    /// The paths left without errors, and what is told of them, once that was kept.
    ///
    /// # Errors
    /// `System`, `Input`.
    pub fn load_paths<'c>(&self, budget: &'c Budget) -> Result<Option<(Paths<'c>, Level)>> {
        let Some(mut frames) = self.frames(LEFT)? else { return Ok(None) };
        let level = serde_json::from_slice(frames.next()?);
        let level =
            level.map_err(|error| damaged(&frames.path, Error::defect(OPERATION, error)))?;
        let mut paths = Paths::new(budget, "the contigs");
        frames.paths(&mut paths)?;
        Ok(Some((paths, level)))
    }

    /// Keeps the paths left without errors.
    ///
    /// # Errors
    /// `System`.
    pub fn save_paths(&self, paths: &Paths<'_>, level: &Level) -> Result<()> {
        let level = serde_json::to_vec(level).map_err(|error| Error::defect(OPERATION, error))?;
        self.write(LEFT, |file| {
            put_frame(file, &level)?;
            put_paths(file, paths)
        })
    }

    /// Forgets all: the next size has begun.
    ///
    /// # Errors
    /// `System`.
    pub fn clear(&self) -> Result<()> {
        [PLACES, BUCKETS, FOUND, LEFT].iter().try_for_each(|name| remove(&self.path(name)))
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

    /// A file of this run; none where it is missing or of another one.
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

/// Writes a file whole or not at all.
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

/// What was found in a file, where it is what nobody has written: between processes that is a
/// defect, in a file it is damage.
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

/// Frames of paths, then an empty one.
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

/// A file that is read frame by frame.
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
            let whole = self.bytes.len() as u64 == length;
            if whole { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
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

    /// Calls `take` for each frame up to an empty one.
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
