//! The folder of a store: claimed only if it is new, empty or marked as a store's, and removed name
//! by name.
//!
//! See `docs/adr/0038-only-what-we-made-is-removed.md`.

mod look;
pub mod marker;
pub mod names;
mod open;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cuesta_core::{Error, Result};
use cuesta_runtime::removal::{FolderEntry, FolderHandle};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};

use crate::writeback::{WriteRecord, clear_hidden, unflushed};
use look::{FolderState, is_inner, state_of};
use marker::{FolderMarker, MARKER, UnderFolder};
use names::{FOLDERS, LOCK, LOCK_TEXT, ROOT_NAMES};
use open::{failed, is_foreign, made, read_marker, write_marker};
pub use open::{open_or_create_folder, open_or_make, opened};

const OPERATION: &str = "store";
const REMEDY: &str = "name another folder by $CUESTA_STORE";
/// Most tries of a claim: a store that is just ending may remove the folder meanwhile.
const TRIES: u32 = 5;
/// Most foreign names that are listed.
const FOREIGN_MAX: usize = 1000;

/// The folder of this process's store, with its lock.
#[derive(Debug)]
pub struct StoreFolder {
    folder: FolderHandle,
    /// The marker of the previous store.
    before: Option<FolderMarker>,
    current: FolderMarker,
    /// Held until the folder is given back.
    _lock: File,
}

impl StoreFolder {
    /// Claims a folder, and makes it where it is missing. Nothing in it is changed before it is
    /// known to be a store's folder.
    ///
    /// # Errors
    /// `Input` for a folder that is foreign, a link, another user's, or of a running store;
    /// `System`.
    pub fn claim(path: &Path, under: &Path, block_bytes: u64) -> Result<Self> {
        let under = UnderFolder::of(under)?;
        let mut tries = 0;
        loop {
            tries += 1;
            match claim_once(path, &under, block_bytes) {
                Err(error) if error.errno == Some(libc::ENOENT) && tries < TRIES => (),
                claimed => return claimed,
            }
        }
    }

    /// Checks that the previous store's state can be adopted: unflushed files may only go to their
    /// own under level, in blocks of their size. Without such files, the state of another under
    /// level is dropped. Then the folder is marked as this store's.
    ///
    /// # Errors
    /// `Input` naming the folder, the files and the remedy; `System`.
    pub fn check(&self) -> Result<()> {
        let path = self.folder.path();
        let records = unflushed(path)?;
        let is_same = self.before.as_ref().is_none_or(|marker| marker.has_under_of(&self.current));
        self.check_held(&records, is_same)?;
        if let (false, Some(before)) = (is_same, &self.before) {
            clear_hidden(path, Path::new(&before.under.path))?;
            self.sweep_folders().map_err(|cause| failed("emptying", path, &cause))?;
            let ledger = self.folder.remove_file(OsStr::new(names::LEDGER));
            ledger.map_err(|cause| failed("emptying", path, &cause))?;
        }
        let partial = |entry: &FolderEntry| {
            let is_complete = ROOT_NAMES.iter().any(|&name| entry.name == name);
            !is_complete && names::is_ours(&self.folder, entry)
        };
        self.folder.sweep(partial).map_err(|cause| failed("emptying", path, &cause))?;
        write_marker(&self.folder, &self.current, true)
            .map_err(|cause| failed("marking", path, &cause))
    }

    /// Checks that this store may write the unflushed files of the previous store to its under
    /// level.
    fn check_held(&self, records: &[WriteRecord], is_same: bool) -> Result<()> {
        let Some(first) = records.first() else { return Ok(()) };
        let blocks = records.iter().map(|record| record.block_bytes);
        let other_block = blocks.into_iter().find(|&bytes| bytes != self.current.block_bytes);
        let remedy = match (&self.before, other_block) {
            (Some(before), _) if before.wire > self.current.wire => {
                format!("of the newer version {} of Cuesta; flush them by that", before.version)
            }
            (Some(before), _) if !is_same => {
                let under = &before.under.path;
                format!("that are not yet in {under}; start it with --under {under} and flush them")
            }
            (_, Some(bytes)) => format!(
                "in memory alone, in blocks of {bytes} bytes; start it with --block {bytes} and \
                 flush them"
            ),
            _ => return Ok(()),
        };
        let (count, bytes) = (records.len(), records.iter().map(|r| r.size_bytes).sum::<u64>());
        let (plural, more) = if count == 1 { ("file", "") } else { ("files", ", ...") };
        let (path, first) = (self.folder.path().display(), &first.path);
        let text = format!(
            "{path} holds {count} {plural} of {bytes} bytes ({first}{more}) {remedy}, or {REMEDY}"
        );
        Err(Error::input(OPERATION, text))
    }

    /// Returns the number of the state in the folder, which the next store there has too; 0 if
    /// unknown.
    pub fn lineage(&self) -> u64 {
        self.current.lineage
    }

    /// Records why files remain in the folder.
    ///
    /// # Errors
    /// I/O errors.
    pub fn note_remaining(&self, text: &str) -> io::Result<()> {
        let name = OsStr::new(names::REMAINING);
        if let Ok(stat) = self.folder.stat_of(name) {
            let entry = FolderEntry { name: name.to_owned(), stat };
            if names::is_ours(&self.folder, &entry) {
                self.folder.remove_file(name)?;
            }
        }
        self.folder.create_file(name)?.write_all(text.as_bytes())
    }

    /// Returns the names in the folder, and in its folders, of files that the store did not create.
    ///
    /// # Errors
    /// `System`.
    pub fn foreign(&self) -> Result<Vec<String>> {
        let failed = |cause| failed("reading", self.folder.path(), &cause);
        let mut foreign = Vec::new();
        for entry in self.folder.entries().map_err(failed)? {
            if !names::is_ours(&self.folder, &entry) {
                foreign.push(entry.name.to_string_lossy().into_owned());
            } else if entry.kind() == FileType::Directory {
                let inner = self.folder.open_folder(&entry.name).map_err(failed)?;
                for file in inner.entries().map_err(failed)? {
                    if !is_inner(&inner, &entry.name, &file) {
                        let path = Path::new(&entry.name).join(&file.name);
                        foreign.push(path.to_string_lossy().into_owned());
                    }
                }
            }
        }
        foreign.truncate(FOREIGN_MAX);
        Ok(foreign)
    }

    /// Removes the files that stores created in the folder, and the folder itself if a store made
    /// it and no foreign file is in it.
    ///
    /// # Errors
    /// `System`.
    pub fn release(self) -> Result<()> {
        let path = self.folder.path().to_owned();
        self.emptied().map_err(|cause| failed("removing", &path, &cause))
    }

    fn emptied(&self) -> io::Result<()> {
        let is_last = |entry: &FolderEntry| entry.name == LOCK || entry.name == MARKER;
        let is_ours = |entry: &FolderEntry| !is_last(entry) && names::is_ours(&self.folder, entry);
        let mut remains = true;
        // Twice, as a thread may just be creating another file.
        for _ in 0..2 {
            self.sweep_folders()?;
            let remaining = self.folder.sweep(is_ours)?;
            remains = remaining.iter().any(|name| *name != *LOCK && *name != *MARKER);
            if !remains {
                break;
            }
        }
        // A store that starts meanwhile finds the lock held, or writes its own marker.
        self.folder.remove_file(OsStr::new(MARKER))?;
        self.folder.remove_file(OsStr::new(LOCK))?;
        if remains || !self.current.made_folder {
            return Ok(());
        }
        match std::fs::remove_dir(self.folder.path()) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => match cause.kind() {
                // Another store uses it already, or another program put a file there.
                io::ErrorKind::DirectoryNotEmpty => Ok(()),
                _ => Err(cause),
            },
            _ => Ok(()),
        }
    }

    /// Removes the store's files from the folders in the folder, and the folders that are empty
    /// then.
    fn sweep_folders(&self) -> io::Result<()> {
        for name in FOLDERS.map(OsStr::new) {
            let inner = match self.folder.open_folder(name) {
                // Neither a folder of a store nor a reason to fail.
                Err(cause)
                    if matches!(
                        cause.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) =>
                {
                    continue;
                }
                opened => opened?,
            };
            if inner.sweep(|entry| is_inner(&inner, name, entry))?.is_empty() {
                self.folder.remove_empty(name).or_else(|cause| match cause.kind() {
                    io::ErrorKind::DirectoryNotEmpty => Ok(()),
                    _ => Err(cause),
                })?;
            }
        }
        Ok(())
    }
}

fn claim_once(path: &Path, under: &UnderFolder, block_bytes: u64) -> Result<StoreFolder> {
    let made = made(path)?;
    let folder = opened(path)?;
    let (is_ours, mut before) = match state_of(&folder)? {
        FolderState::Marked(marker) => (marker.made_folder, Some(marker)),
        // Stores of older versions made their folders, too.
        FolderState::Unmarked => (true, None),
        FolderState::New => (made, None),
    };
    let mut current = FolderMarker::new(under.clone(), block_bytes, is_ours);
    if before.is_none() {
        match write_marker(&folder, &current, false) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => (),
            written => written.map_err(|cause| failed("marking", path, &cause))?,
        }
    }
    let lock =
        locked(&folder, before.as_ref().filter(|marker| !marker.is_of_this_system(&current)))?;
    // A store that ended or started between the look and the lock has changed it.
    let now = read_marker(&folder)?;
    match now {
        None => write_marker(&folder, &current, false)
            .map_err(|cause| failed("marking", path, &cause))?,
        Some(now) if now != current => {
            current.made_folder = now.made_folder;
            before = Some(now);
        }
        Some(_) => (),
    }
    if let Some(before) = before.as_ref().filter(|before| before.lineage != 0) {
        current.lineage = before.lineage;
    }
    if !folder.is_still_at_path() {
        let text = format!("{} was replaced while it was opened; {REMEDY}", path.display());
        return Err(Error::input(OPERATION, text));
    }
    Ok(StoreFolder { folder, before, current, _lock: lock })
}

/// Locks a folder for this process; `elsewhere` is the last store, if it was of another host or of
/// an earlier boot.
fn locked(folder: &FolderHandle, elsewhere: Option<&FolderMarker>) -> Result<File> {
    let path = folder.path().join(LOCK);
    let failed = |cause: io::Error| failed("making", &path, &cause);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let (flags, mode) = (flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    let lock = rustix::fs::openat(folder.descriptor(), LOCK, flags, mode);
    let mut lock = File::from(lock.map_err(|errno| failed(errno.into()))?);
    let stat = folder.stat_of(OsStr::new(LOCK)).map_err(failed)?;
    let entry = FolderEntry { name: LOCK.into(), stat };
    if !names::is_ours(folder, &entry) {
        return Err(is_foreign(&path));
    }
    let is_held = rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok();
    let inode = lock.metadata().map_err(failed)?.ino();
    // A lock that was removed meanwhile is that of a store that is just ending.
    let has_name = folder.stat_of(OsStr::new(LOCK)).is_ok_and(|facts| facts.st_ino == inode);
    if !is_held || !has_name {
        let host = elsewhere.map_or(String::new(), |marker| format!(" of host {}", marker.host));
        let text = format!(
            "a store{host} runs in {} already; stop it, or {REMEDY}",
            folder.path().display()
        );
        return Err(Error::input(OPERATION, text));
    }
    if lock.metadata().map_err(failed)?.len() == 0 {
        lock.write_all(LOCK_TEXT).map_err(failed)?;
    }
    Ok(lock)
}
