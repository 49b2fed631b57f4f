//! Storage of blocks between separate stages: in memory, or in files of the scratch folder.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cuesta_core::pages::large_pages;
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

/// Values of a file that are in memory at once.
const PIECE_VALUES: usize = 3 << 15;
const VALUE_BYTES: usize = size_of::<f64>();

/// All blocks, each used by one thread at a time. A block has `size` values; its pieces are passed
/// to the closures in order, each with complete vectors.
pub trait BlockStore: Sync {
    /// Makes a block; `fill` receives the start of a piece and the piece.
    ///
    /// # Errors
    /// `System`, and those of `fill`.
    fn put(
        &self,
        block: u64,
        size: usize,
        fill: impl FnMut(usize, &mut [f64]) -> Result<()>,
    ) -> Result<()>;

    /// Changes a block in place.
    ///
    /// # Errors
    /// `System`.
    fn change(&self, block: u64, size: usize, work: impl FnMut(&mut [f64])) -> Result<()>;

    /// Passes the pieces of a block to `look`.
    ///
    /// # Errors
    /// `System`.
    fn read(&self, block: u64, size: usize, look: impl FnMut(&[f64])) -> Result<()>;
}

/// Blocks in memory, all in one array: a fresh mapping each time, of large pages except at its
/// ends.
pub struct InMemory<'a> {
    blocks: Vec<Mutex<&'a mut [f64]>>,
}

impl<'a> InMemory<'a> {
    /// Splits `values` into blocks of `size` values, the last of the remainder; the pages of
    /// `values` need not have been touched yet.
    pub fn new(values: &'a mut [f64], size: usize) -> Self {
        large_pages(values);
        Self { blocks: values.chunks_mut(size).map(Mutex::new).collect() }
    }
}

impl BlockStore for InMemory<'_> {
    fn put(
        &self,
        block: u64,
        _: usize,
        mut fill: impl FnMut(usize, &mut [f64]) -> Result<()>,
    ) -> Result<()> {
        fill(0, &mut lock(&self.blocks[block as usize]))
    }

    fn change(&self, block: u64, _: usize, mut work: impl FnMut(&mut [f64])) -> Result<()> {
        work(&mut lock(&self.blocks[block as usize]));
        Ok(())
    }

    fn read(&self, block: u64, _: usize, mut look: impl FnMut(&[f64])) -> Result<()> {
        look(&lock(&self.blocks[block as usize]));
        Ok(())
    }
}

/// Blocks in files, of which one piece is in memory.
pub struct OnDisk {
    folder: PathBuf,
}

impl OnDisk {
    /// Creates the store; its files are in `folder`.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    fn open(&self, block: u64) -> Result<(PathBuf, File)> {
        let path = self.folder.join(format!("block-{block}.f64"));
        let opened =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = opened.map_err(|cause| Error::system("scratch", "opening", &path, &cause))?;
        Ok((path, file))
    }
}

/// Calls `work` for each piece of a block with its start, in values, and buffers for its values and
/// bytes.
pub(crate) fn pieces(
    size: usize,
    mut work: impl FnMut(usize, &mut [f64], &mut [u8]) -> Result<()>,
) -> Result<()> {
    let piece_values = size.min(PIECE_VALUES);
    let mut values = vec![0.0; piece_values];
    let mut bytes = vec![0; piece_values * VALUE_BYTES];
    for start in (0..size).step_by(piece_values.max(1)) {
        let count = piece_values.min(size - start);
        work(start, &mut values[..count], &mut bytes[..count * VALUE_BYTES])?;
    }
    Ok(())
}

pub(crate) fn load((path, file): (&Path, &File), start: usize, bytes: &mut [u8]) -> Result<()> {
    file.read_exact_at(bytes, (start * VALUE_BYTES) as u64)
        .map_err(|cause| Error::system("scratch", "reading", path, &cause))
}

pub(crate) fn save((path, file): (&Path, &File), start: usize, bytes: &[u8]) -> Result<()> {
    file.write_all_at(bytes, (start * VALUE_BYTES) as u64)
        .map_err(|cause| Error::system("scratch", "writing", path, &cause))
}

pub(crate) fn to_values(bytes: &[u8], values: &mut [f64]) {
    for (value, bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
        *value = f64::from_le_bytes(*bytes);
    }
}

pub(crate) fn to_bytes(values: &[f64], bytes: &mut [u8]) {
    for (value, bytes) in values.iter().zip(bytes.as_chunks_mut().0) {
        *bytes = value.to_le_bytes();
    }
}

impl BlockStore for OnDisk {
    fn put(
        &self,
        block: u64,
        size: usize,
        mut fill: impl FnMut(usize, &mut [f64]) -> Result<()>,
    ) -> Result<()> {
        let (path, file) = &self.open(block)?;
        pieces(size, |start, values, bytes| {
            fill(start, values)?;
            to_bytes(values, bytes);
            save((path, file), start, bytes)
        })
    }

    fn change(&self, block: u64, size: usize, mut work: impl FnMut(&mut [f64])) -> Result<()> {
        let (path, file) = &self.open(block)?;
        pieces(size, |start, values, bytes| {
            load((path, file), start, bytes)?;
            to_values(bytes, values);
            work(values);
            to_bytes(values, bytes);
            save((path, file), start, bytes)
        })
    }

    fn read(&self, block: u64, size: usize, mut look: impl FnMut(&[f64])) -> Result<()> {
        let (path, file) = &self.open(block)?;
        pieces(size, |start, values, bytes| {
            load((path, file), start, bytes)?;
            to_values(bytes, values);
            look(values);
            Ok(())
        })
    }
}
