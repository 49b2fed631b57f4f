//! Records of written files in a store's folder, for the store that runs there next.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::{Error, Result};
use cuesta_runtime::removal::{FolderHandle, replace};
use serde::{Deserialize, Serialize};

use super::OPERATION;
use super::promise::{Promise, WriteMode, WriteState};
use crate::cache::{BlockKey, SealedBlock};
use crate::folder::names::{PARTIAL, WRITES, is_record, number_in};
use crate::path::StorePath;
use crate::permissions::of_new_file;
use crate::steps::Steps;
use crate::under::posix::PosixUnder;
use crate::under::{Under, UnderVersion};

/// First bytes of each record.
pub const RECORD_BEGIN: &[u8] = br#"{"number":"#;

/// Most blocks of a file whose checksums are recorded: those of 16 TiB, in blocks of 4 MiB.
const CHECKSUMS_MAX: u64 = 1 << 22;

/// A file that is being written, or is not on the under level yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteRecord {
    /// Its number.
    pub number: u64,
    /// Its final name.
    pub path: StorePath,
    /// Its write mode.
    pub mode: WriteMode,
    /// State of its write.
    pub state: WriteState,
    /// Bytes of a block, except the last.
    pub block_bytes: u64,
    /// Its size; 0 until it is closed.
    pub size_bytes: u64,
    /// Time when it was closed, in nanoseconds since 1970.
    pub closed_ns: i64,
    /// Its blocks in memory.
    pub blocks: Vec<SealedBlock>,
    /// Its hidden name on the under level, if it has one.
    pub hidden: Option<String>,
    /// Version of the file that had its name on the under level when it was closed.
    pub replaced: Option<UnderVersion>,
    /// Its version there, once it is synced.
    pub synced: Option<UnderVersion>,
    /// Its permission bits.
    #[serde(default = "of_new_file")]
    pub permissions: u32,
    /// Whether its writer has set the bits, which then override those of a file that it replaces.
    #[serde(default)]
    pub is_exact: bool,
}

impl WriteRecord {
    /// Returns whether all its bytes are in memory.
    pub fn is_in_memory(&self) -> bool {
        self.blocks.iter().map(|block| block.size_bytes).sum::<u64>() == self.size_bytes
    }

    /// Returns the version under which it is known before it is on the under level.
    pub fn version(&self) -> UnderVersion {
        UnderVersion {
            device: 0,
            inode: self.number,
            size_bytes: self.size_bytes,
            modified_ns: self.closed_ns,
            changed_ns: self.closed_ns,
        }
    }

    /// Returns the checksum of each block in memory, up to the last of these: a hole behind it
    /// takes no room in the ledger.
    pub fn checksums(&self) -> Vec<Option<u32>> {
        let ends = self.blocks.iter().map(|block| block.key.index.saturating_add(1));
        let count = ends.max().unwrap_or(0).min(CHECKSUMS_MAX);
        let mut checksums = vec![None; count as usize];
        for block in &self.blocks {
            if let Some(place) = checksums.get_mut(block.key.index as usize) {
                *place = Some(block.checksum);
            }
        }
        checksums
    }

    /// Returns the block of an index, if it is in memory.
    pub fn block(&self, index: u64) -> Option<&SealedBlock> {
        self.blocks.iter().find(|block| block.key == BlockKey { file: self.number, index })
    }
}

/// The records of a store, each in a file.
#[derive(Debug)]
pub struct Records {
    folder: PathBuf,
    steps: Steps,
}

impl Records {
    /// Creates the set of records in a folder.
    pub fn new(folder: PathBuf, steps: Steps) -> Self {
        Self { folder, steps }
    }

    fn path(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number:x}.json"))
    }

    /// Writes a record atomically.
    ///
    /// # Errors
    /// I/O errors.
    pub fn save(&self, record: &WriteRecord) -> io::Result<()> {
        let path = self.path(record.number);
        self.steps.step()?;
        write_atomically(&path, &serde_json::to_vec(record)?)
    }

    /// Removes a record, if it exists.
    ///
    /// # Errors
    /// I/O errors.
    pub fn remove(&self, number: u64) -> io::Result<()> {
        self.steps.step()?;
        match fs::remove_file(self.path(number)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns all records, by number; removes partial ones. Files that the store did not create
    /// are left alone.
    ///
    /// # Errors
    /// `System`; `Input` naming a record that cannot be read, as it stands for a promise.
    pub fn load(&self) -> Result<Vec<WriteRecord>> {
        let failed = |cause| Error::system(OPERATION, "reading", &self.folder, &cause);
        let folder = FolderHandle::open(&self.folder).map_err(failed)?;
        folder
            .sweep(|entry| number_in(&entry.name).is_none() && is_record(&folder, entry))
            .map_err(failed)?;
        read_all(&folder)
    }

    /// Returns the highest number in the name of a record here.
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

/// Returns the records of files that the store that was in `folder` has acknowledged, and not
/// written back to its under level.
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

/// Removes the hidden files of a store that was in `folder` over `under`, none of which was
/// acknowledged. Does nothing if the folder `under` no longer exists.
///
/// # Errors
/// As [`Records::load`].
pub fn clear_hidden(folder: &Path, under: &Path) -> Result<()> {
    let Ok(under) = PosixUnder::open(under) else { return Ok(()) };
    for record in all_of(folder)? {
        let hidden = record.hidden.as_deref().filter(|hidden| hidden.ends_with(PARTIAL));
        let parent = record.path.parent().unwrap_or_default();
        if let Some(hidden) = hidden.and_then(|hidden| parent.join(hidden).ok()) {
            // A file that cannot be removed now is removed by a sweep of that folder.
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

/// Returns whether a file is only in the memory of the store in `folder`, for a caller that cannot
/// ask that store.
pub fn is_alone(folder: &Path, path: &StorePath) -> bool {
    let Ok(entries) = fs::read_dir(folder.join(WRITES)) else { return false };
    let texts = entries.flatten().filter_map(|entry| fs::read(entry.path()).ok());
    texts.filter_map(|text| serde_json::from_slice::<WriteRecord>(&text).ok()).any(|record| {
        let is_closed =
            matches!(record.state, WriteState::Memory | WriteState::Dirty | WriteState::Synced);
        is_closed && record.path == *path
    })
}

/// Writes a file that exists either completely or not at all, whatever happens to this process.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let partial = PartialFile::create(path)?;
    partial.write_all(bytes)?;
    partial.replace(path).map(|_| ())
}

/// A file under a new temporary name until it is complete; removed if it does not become so.
#[derive(Debug)]
pub(super) struct PartialFile {
    path: PathBuf,
    file: File,
}

impl PartialFile {
    /// Creates a file that will be at `path`.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        static SERIAL: AtomicU64 = AtomicU64::new(0);
        loop {
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed) & u64::from(u32::MAX);
            let partial = path.with_extension(format!("{serial:x}.{PARTIAL}"));
            match File::create_new(&partial) {
                // The name is left from a process that was killed.
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

    /// Renames the file to its final name.
    pub(super) fn replace(self, path: &Path) -> io::Result<File> {
        replace(&self.path, path).inspect_err(|_| {
            let _ = fs::remove_file(&self.path);
        })?;
        Ok(self.file)
    }
}
