//! Cache in which a worker holds its blocks between rounds. A task may run twice, also after a
//! later task of the same block has begun on another worker, so each stage of a block is stored
//! separately, and no stage changes data that another attempt still reads.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use cuesta_core::pages::large_pages;
use cuesta_core::{Error, Result};
use cuesta_runtime::atomic_file::AtomicFile;

use crate::kernel::{self, AXES, Vector};
use crate::params::Plan;
use crate::source::VectorSource;
use crate::stored::{load, pieces, save, to_bytes, to_values};

/// Blocks of the current run, in memory or in files.
pub(crate) enum BlockCache {
    /// Values of each block in memory, and whether they are shifted. A missing block is made again.
    Memory(BTreeMap<u64, (bool, Vec<f64>)>),
    /// Folder that holds one file for each block and stage.
    Files(PathBuf),
}

impl BlockCache {
    /// Creates an empty cache: in files of `folder`, or in memory if there is none.
    pub fn new(folder: Option<&Path>) -> Self {
        match folder {
            None => Self::Memory(BTreeMap::new()),
            Some(folder) => Self::Files(folder.to_owned()),
        }
    }

    /// Generates or reads a block.
    ///
    /// # Errors
    /// Errors of the source; `System`.
    pub fn make(&mut self, block: u64, plan: &Plan, source: &VectorSource) -> Result<()> {
        let first = plan.first(block);
        match self {
            Self::Memory(_) => self.in_memory(block, plan, source).map(|_| ()),
            Self::Files(folder) => {
                let made = AtomicFile::create(&made(folder, block))?;
                pieces(plan.values_of(block), |start, values, bytes| {
                    source.fill(first + (start / AXES) as u64, values, plan.limit())?;
                    to_bytes(values, bytes);
                    save((folder, made.file()), start, bytes)
                })?;
                made.finish()
            }
        }
    }

    /// Shifts a block.
    ///
    /// # Errors
    /// As for [`BlockCache::make`].
    pub fn shift(&mut self, block: u64, plan: &Plan, source: &VectorSource) -> Result<()> {
        let Self::Files(folder) = self else {
            let (shifted, values) = self.in_memory(block, plan, source)?;
            if !*shifted {
                kernel::shift(values, plan.shift);
                *shifted = true;
            }
            return Ok(());
        };
        let from = opened(&made(folder, block))?;
        let to = AtomicFile::create(&shifted(folder, block))?;
        pieces(plan.values_of(block), |start, values, bytes| {
            load((folder, &from), start, bytes)?;
            to_values(bytes, values);
            kernel::shift(values, plan.shift);
            to_bytes(values, bytes);
            save((folder, to.file()), start, bytes)
        })?;
        to.finish()
    }

    /// Returns the sums of a shifted block.
    ///
    /// # Errors
    /// As for [`BlockCache::make`].
    pub fn sum(&mut self, block: u64, plan: &Plan, source: &VectorSource) -> Result<Vector> {
        let Self::Files(folder) = self else {
            self.shift(block, plan, source)?;
            return Ok(kernel::sum(&self.in_memory(block, plan, source)?.1));
        };
        let from = opened(&shifted(folder, block))?;
        let mut sum = [0.0; AXES];
        pieces(plan.values_of(block), |start, values, bytes| {
            load((folder, &from), start, bytes)?;
            to_values(bytes, values);
            sum.iter_mut().zip(kernel::sum(values)).for_each(|(sum, more)| *sum += more);
            Ok(())
        })?;
        // All blocks are shifted by now, so no task reads the unshifted file.
        let _ = fs::remove_file(made(folder, block));
        Ok(sum)
    }

    /// Returns a block in memory, made first if it is missing, and whether it is shifted.
    fn in_memory(
        &mut self,
        block: u64,
        plan: &Plan,
        source: &VectorSource,
    ) -> Result<&mut (bool, Vec<f64>)> {
        let Self::Memory(blocks) = self else {
            return Err(Error::defect("dataflow", "a block is looked for in memory"));
        };
        if let std::collections::btree_map::Entry::Vacant(place) = blocks.entry(block) {
            let mut values = vec![0.0; plan.values_of(block)];
            large_pages(&mut values);
            source.fill(plan.first(block), &mut values, plan.limit())?;
            place.insert((false, values));
        }
        blocks.get_mut(&block).ok_or_else(|| Error::defect("dataflow", "a block is lost"))
    }
}

fn made(folder: &Path, block: u64) -> PathBuf {
    folder.join(format!("block-{block}.f64"))
}

fn shifted(folder: &Path, block: u64) -> PathBuf {
    folder.join(format!("shifted-{block}.f64"))
}

fn opened(path: &Path) -> Result<File> {
    File::open(path).map_err(|cause| Error::system("scratch", "opening", path, &cause))
}
