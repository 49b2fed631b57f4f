//! What a store keeps in its folder about files that are written, for one that comes after it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::{Error, Result};
use cuesta_runtime::removal::{FolderHandle, replace};
use serde::{Deserialize, Serialize};

use super::OPERATION;
use super::promise::{Promise, WriteMode, WriteState};
use crate::folder::names::{PARTIAL, WRITES, is_record, number_in};
use crate::memory::{BlockKey, SealedBlock};
use crate::path::StorePath;
use crate::permissions::of_new_file;
use crate::steps::Steps;
use crate::under::posix::PosixUnder;
use crate::under::{Under, UnderVersion};

/// First bytes of each record.
pub const RECORD_BEGIN: &[u8] = br#"{"number":"#;

/// Most blocks of a file whose checksums are written down: those of 16 TiB, in blocks of 4 MiB.
const CHECKSUMS_MAX: u64 = 1 << 22;

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
    /// Its permission bits.
    #[serde(default = "of_new_file")]
    pub permissions: u32,
    /// Whether its writer has set them, whatever those of the file that it replaces are.
    #[serde(default)]
    pub is_exact: bool,
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

    /// The checksum of each block that is in memory, up to the last of these: a hole behind it
    /// takes no room in the ledger.
    pub fn checksums(&self) -> Vec<Option<u32>> {
        let ends = self.blocks.iter().map(|block| block.key.index.saturating_add(1));
        let count = ends.max().unwrap_or(0).min(CHECKSUMS_MAX);
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
    /// Records in a folder.
    pub fn new(folder: PathBuf, steps: Steps) -> Self {
        Self { folder, steps }
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

    /// All records, by number; those that were never whole are removed, and files that no store
    /// made stay.
    ///
    /// # Errors
    /// `System`; `Input` naming one that cannot be read, for what it says was promised.
    pub fn load(&self) -> Result<Vec<WriteRecord>> {
        let failed = |cause| Error::system(OPERATION, "reading", &self.folder, &cause);
        let folder = FolderHandle::open(&self.folder).map_err(failed)?;
        folder
            .sweep(|entry| number_in(&entry.name).is_none() && is_record(&folder, entry))
            .map_err(failed)?;
        read_all(&folder)
    }

    /// The highest number that has the name of a record here.
    ///
    /// # Errors
    /// `System`.
    pub fn last_number(&self) -> Result<Option<u64>> {
        let failed = |cause| Error::system(OPERATION, "reading", &self.folder, &cause);
        let entries = FolderHandle::open(&self.folder).and_then(|folder| folder.entries());
        let numbers = entries.map_err(failed)?.into_iter();
        Ok(numbers.filter_map(|entry| number_in(&entry.name)).max())
    }
}

fn read_all(folder: &FolderHandle) -> Result<Vec<WriteRecord>> {
    let mut records = Vec::new();
    let failed = |cause| Error::system(OPERATION, "reading", folder.path(), &cause);
    for entry in folder.entries().map_err(failed)? {
        if number_in(&entry.name).is_none() {
            continue;
        }
        let path = folder.path().join(&entry.name);
        let mut text = Vec::new();
        let read = folder.open_file(&entry.name).and_then(|mut file| file.read_to_end(&mut text));
        let record = read.map_err(|cause| cause.to_string()).and_then(|_| {
            serde_json::from_slice::<WriteRecord>(&text).map_err(|error| error.to_string())
        });
        records.push(record.map_err(|error| {
            let text = format!(
                "{} says nothing that can be read ({error}); a file in memory is lost. Remove it \
                 to go on",
                path.display()
            );
            Error::input(OPERATION, text)
        })?);
    }
    records.sort_unstable_by_key(|record| record.number);
    Ok(records)
}

/// The records of files that the store that was in `folder` has acknowledged, and not brought to
/// its under level.
///
/// # Errors
/// As [`Records::load`].
pub fn unflushed(folder: &Path) -> Result<Vec<WriteRecord>> {
    let mut records = all_of(folder)?;
    records.retain(|record| {
        let is_in_memory = record.is_in_memory();
        record.state.promise(record.mode, is_in_memory) == Promise::Memory
    });
    Ok(records)
}

/// Removes the hidden files of a store that was in `folder` over `under`, which promised none of
/// them. Where that folder is gone, so are they.
///
/// # Errors
/// As [`Records::load`].
pub fn clear_hidden(folder: &Path, under: &Path) -> Result<()> {
    let Ok(under) = PosixUnder::open(under) else { return Ok(()) };
    for record in all_of(folder)? {
        let hidden = record.hidden.as_deref().filter(|hidden| hidden.ends_with(PARTIAL));
        let parent = record.path.parent().unwrap_or_default();
        if let Some(hidden) = hidden.and_then(|hidden| parent.join(hidden).ok()) {
            // A file that cannot be removed now is found by a sweep of that folder.
            let _ = under.remove(&hidden);
        }
    }
    Ok(())
}

fn all_of(folder: &Path) -> Result<Vec<WriteRecord>> {
    let path = folder.join(WRITES);
    match FolderHandle::open(&path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        opened => {
            read_all(&opened.map_err(|cause| Error::system(OPERATION, "reading", &path, &cause))?)
        }
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
    let partial = PartialFile::create(path)?;
    partial.write_all(bytes)?;
    partial.replace(path).map(|_| ())
}

/// A file under a name that nothing had, until it is whole; removed where it does not become so.
#[derive(Debug)]
pub(super) struct PartialFile {
    path: PathBuf,
    file: File,
}

impl PartialFile {
    /// A file that will be at `path`.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        loop {
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed) & u64::from(u32::MAX);
            let partial = path.with_extension(format!("{serial:x}.{PARTIAL}"));
            match File::create_new(&partial) {
                // Of a process that was killed.
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => (),
                made => return Ok(Self { file: made?, path: partial }),
            }
        }
    }

    /// Writes all bytes, or removes the file.
    pub(super) fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.file).write_all(bytes).inspect_err(|_| {
            let _ = fs::remove_file(&self.path);
        })
    }

    /// Gives the file its name.
    pub(super) fn replace(self, path: &Path) -> io::Result<File> {
        replace(&self.path, path).inspect_err(|_| {
            let _ = fs::remove_file(&self.path);
        })?;
        Ok(self.file)
    }
}
