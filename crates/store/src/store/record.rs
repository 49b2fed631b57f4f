//! What a store keeps in its folder about files that are written, for one that comes after it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::promise::{WriteMode, WriteState};
use super::{OPERATION, WRITES};
use crate::memory::{BlockKey, SealedBlock};
use crate::path::StorePath;
use crate::steps::Steps;
use crate::under::UnderVersion;

/// A file that is written, or was and is not on the under level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRecord {
    /// Its number.
    pub number: u64,
    /// Its final name.
    pub path: StorePath,
    /// Where it goes.
    pub mode: WriteMode,
    /// How far it has come.
    pub state: WriteState,
    /// Bytes of a block but for the last.
    pub block_bytes: u64,
    /// Its size; 0 until it is closed.
    pub size_bytes: u64,
    /// When it was closed, in nanoseconds since 1970.
    pub closed_ns: i64,
    /// Its blocks in memory.
    pub blocks: Vec<SealedBlock>,
    /// The hidden name that it has on the under level, if it is there.
    pub hidden: Option<String>,
    /// What had its name on the under level when it was closed.
    pub replaced: Option<UnderVersion>,
    /// Its own version there, once it is synced.
    pub synced: Option<UnderVersion>,
}

impl WriteRecord {
    /// Whether all its bytes are in memory.
    pub fn is_in_memory(&self) -> bool {
        self.blocks.iter().map(|block| block.size_bytes).sum::<u64>() == self.size_bytes
    }

    /// The version under which it is known before the under level has one.
    pub fn version(&self) -> UnderVersion {
        UnderVersion {
            device: 0,
            inode: self.number,
            size_bytes: self.size_bytes,
            modified_ns: self.closed_ns,
            changed_ns: self.closed_ns,
        }
    }

    /// The checksum of each block that is in memory.
    pub fn checksums(&self) -> Vec<Option<u32>> {
        let count = self.size_bytes.div_ceil(self.block_bytes.max(1));
        let mut found = vec![None; count as usize];
        for block in &self.blocks {
            if let Some(place) = found.get_mut(block.key.index as usize) {
                *place = Some(block.checksum);
            }
        }
        found
    }

    /// The block of an index, if it is in memory.
    pub fn block(&self, index: u64) -> Option<&SealedBlock> {
        self.blocks.iter().find(|block| block.key == BlockKey { file: self.number, index })
    }
}

/// The records, each a file.
#[derive(Debug)]
pub struct Records {
    folder: PathBuf,
    steps: Steps,
}

impl Records {
    /// Those in a folder, which is made.
    ///
    /// # Errors
    /// `System`.
    pub fn open(folder: PathBuf, steps: Steps) -> Result<Self> {
        fs::create_dir_all(&folder)
            .map_err(|cause| Error::system(OPERATION, "making", &folder, &cause))?;
        Ok(Self { folder, steps })
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:x}.json"))
    }

    /// Writes a record, in one step.
    ///
    /// # Errors
    /// Those of the system.
    pub fn save(&self, record: &WriteRecord) -> io::Result<()> {
        let path = self.path(record.number);
        self.steps.step()?;
        write_whole(&path, &serde_json::to_vec(record)?)
    }

    /// Removes a record; one that is not there is removed already.
    ///
    /// # Errors
    /// Those of the system.
    pub fn remove(&self, number: u64) -> io::Result<()> {
        self.steps.step()?;
        match fs::remove_file(self.path(number)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// All records, by number.
    ///
    /// # Errors
    /// `System`; `Input` naming one that cannot be read, for what it says was promised.
    pub fn load(&self) -> Result<Vec<WriteRecord>> {
        let failed = |cause| Error::system(OPERATION, "reading", &self.folder, &cause);
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_some_and(|end| end == "part") {
                fs::remove_file(&path).map_err(failed)?;
                continue;
            }
            let text = fs::read(&path).map_err(failed)?;
            let record: WriteRecord = serde_json::from_slice(&text).map_err(|error| {
                let text = format!(
                    "{} says nothing that can be read ({error}); a file in memory is lost. Remove \
                     it to go on",
                    path.display()
                );
                Error::input(OPERATION, text)
            })?;
            found.push(record);
        }
        found.sort_unstable_by_key(|record| record.number);
        Ok(found)
    }
}

/// Whether a file is in the memory of the store in `folder` alone: for who cannot ask that store.
pub fn is_alone(folder: &Path, path: &StorePath) -> bool {
    let Ok(entries) = fs::read_dir(folder.join(WRITES)) else { return false };
    let texts = entries.flatten().filter_map(|entry| fs::read(entry.path()).ok());
    texts.filter_map(|text| serde_json::from_slice::<WriteRecord>(&text).ok()).any(|record| {
        let is_closed =
            matches!(record.state, WriteState::Memory | WriteState::Dirty | WriteState::Synced);
        is_closed && record.path == *path
    })
}

/// Writes a file that is there whole or not at all, whatever happens to this process.
pub(super) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let partial = path.with_extension("part");
    let mut file = File::create(&partial)?;
    file.write_all(bytes)?;
    fs::rename(&partial, path)
}
