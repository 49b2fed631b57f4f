//! Removal of files that Cuesta made: the only place of the installed Rust code that removes
//! folders with their content, sweeps a folder, or renames over a name that may be taken.
//!
//! All operations use descriptors of real folders: no symbolic link is followed, and no removal
//! leaves the mount that it began on.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, Stat, StatxFlags};
use rustix::io::Errno;

const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Names that are tried for a new scratch folder.
const NAME_TRIES: u32 = 10_000;

/// An open descriptor of a real folder: a link that takes its name later has no effect.
#[derive(Debug)]
pub struct FolderHandle {
    descriptor: OwnedFd,
    path: PathBuf,
    stat: Stat,
}

/// A name in a folder with the metadata of its file; a link is not followed.
#[derive(Clone, Debug)]
pub struct FolderEntry {
    /// The name.
    pub name: OsString,
    /// Metadata of the file that has the name.
    pub stat: Stat,
}

impl FolderEntry {
    /// Kind of the file that has the name.
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

impl FolderHandle {
    /// Opens the folder at a path whose last component is not a link.
    ///
    /// # Errors
    /// `NotADirectory` if a link or a file has the name; errors of the system.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::with(rustix::fs::openat(CWD, path, FOLDER, Mode::empty()), path.to_owned())
    }

    /// Opens a folder in this one; a link is refused.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_folder(&self, name: &OsStr) -> io::Result<Self> {
        let opened = rustix::fs::openat(&self.descriptor, name, FOLDER, Mode::empty());
        Self::with(opened, self.path.join(name))
    }

    /// Opens a folder in this one, or creates it for its owner alone if it does not exist.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_or_create_folder(&self, name: &OsStr) -> io::Result<Self> {
        match rustix::fs::mkdirat(&self.descriptor, name, Mode::RWXU) {
            Err(errno) if errno != Errno::EXIST => Err(errno.into()),
            _ => self.open_folder(name),
        }
    }

    fn with(opened: rustix::io::Result<OwnedFd>, path: PathBuf) -> io::Result<Self> {
        // Linux returns ENOTDIR or ELOOP for a link, depending on its version.
        let opened = opened.map_err(|errno| match errno {
            Errno::LOOP => Errno::NOTDIR,
            errno => errno,
        });
        let descriptor = opened?;
        let stat = rustix::fs::fstat(&descriptor)?;
        Ok(Self { descriptor, path, stat })
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The descriptor.
    pub fn descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }

    /// Its metadata as of opening.
    pub fn stat(&self) -> &Stat {
        &self.stat
    }

    /// Whether its path still leads to this folder.
    pub fn is_still_at_path(&self) -> bool {
        let is_same = |current: Self| {
            (current.stat.st_dev, current.stat.st_ino) == (self.stat.st_dev, self.stat.st_ino)
        };
        Self::open(&self.path).is_ok_and(is_same)
    }

    /// The entries of the folder, sorted by name; an entry that is removed meanwhile is left out.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn entries(&self) -> io::Result<Vec<FolderEntry>> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.descriptor)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if matches!(name.as_bytes(), b"." | b"..") {
                continue;
            }
            match self.stat_of(name) {
                Ok(stat) => entries.push(FolderEntry { name: name.to_owned(), stat }),
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => (),
                Err(cause) => return Err(cause),
            }
        }
        entries.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        Ok(entries)
    }

    /// Metadata of a name in the folder; a link is not followed.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn stat_of(&self, name: &OsStr) -> io::Result<Stat> {
        Ok(rustix::fs::statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Opens a regular file in the folder for reading; a link or a pipe is refused.
    ///
    /// # Errors
    /// `InvalidInput` for anything but a regular file; errors of the system.
    pub fn open_file(&self, name: &OsStr) -> io::Result<std::fs::File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.descriptor, name, flags, Mode::empty())?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode);
        if kind == FileType::RegularFile { Ok(file.into()) } else { Err(Errno::INVAL.into()) }
    }

    /// Creates a file in the folder for its owner alone, under a free name.
    ///
    /// # Errors
    /// `AlreadyExists` if the name is taken; errors of the system.
    pub fn create_file(&self, name: &OsStr) -> io::Result<std::fs::File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(rustix::fs::openat(&self.descriptor, name, flags, mode)?.into())
    }

    /// Removes a file of any kind; a folder is refused.
    ///
    /// # Errors
    /// Errors of the system; a missing file is not an error.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        removed(rustix::fs::unlinkat(&self.descriptor, name, AtFlags::empty()))
    }

    /// Removes an empty folder in this one.
    ///
    /// # Errors
    /// `DirectoryNotEmpty`; errors of the system. A missing folder is not an error.
    pub fn remove_empty(&self, name: &OsStr) -> io::Result<()> {
        removed(rustix::fs::unlinkat(&self.descriptor, name, AtFlags::REMOVEDIR))
    }

    /// Removes the files that `is_ours` accepts; returns the remaining names, sorted.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn sweep(&self, is_ours: impl Fn(&FolderEntry) -> bool) -> io::Result<Vec<OsString>> {
        let mut foreign = Vec::new();
        for entry in self.entries()? {
            if entry.kind() != FileType::Directory && is_ours(&entry) {
                self.remove_file(&entry.name)?;
            } else {
                foreign.push(entry.name);
            }
        }
        Ok(foreign)
    }

    /// The mount that the folder is on, which also distinguishes a folder of the same file system
    /// that is mounted a second time; the file system if Linux is older than 5.8.
    fn mount(&self) -> (bool, u64) {
        let flags = AtFlags::EMPTY_PATH | AtFlags::SYMLINK_NOFOLLOW;
        match rustix::fs::statx(&self.descriptor, "", flags, StatxFlags::MNT_ID) {
            Ok(statx) if statx.stx_mask & StatxFlags::MNT_ID.bits() != 0 => {
                (true, statx.stx_mnt_id)
            }
            _ => (false, self.stat.st_dev),
        }
    }

    /// Removes all content of the folder, which must have been made by this program.
    fn empty(&self) -> io::Result<()> {
        for entry in self.entries()? {
            if entry.kind() != FileType::Directory {
                self.remove_file(&entry.name)?;
                continue;
            }
            let inner = self.open_folder(&entry.name)?;
            if inner.mount() != self.mount() {
                // A file system is mounted here, which this program did not make.
                return Err(Errno::XDEV.into());
            }
            inner.empty()?;
            self.remove_empty(&entry.name)?;
        }
        Ok(())
    }
}

/// Removes a folder that this program made, with its content. A link is refused, links inside are
/// removed and not followed, and nothing of another file system is touched.
///
/// # Errors
/// `NotADirectory` for a link or a file; errors of the system.
pub fn remove_tree(folder: &Path) -> io::Result<()> {
    let (parent, name) = parent_of(folder)?;
    let inner = parent.open_folder(&name)?;
    if inner.mount() != parent.mount() {
        return Err(Errno::XDEV.into());
    }
    inner.empty()?;
    parent.remove_empty(&name)
}

/// Removes the files of a folder that `is_ours` accepts, and the folder if it is empty then.
/// Returns the remaining names, for which the folder remains too; none if there is no folder.
///
/// # Errors
/// `NotADirectory` for a link or a file; errors of the system.
pub fn remove_matching(
    folder: &Path,
    is_ours: impl Fn(&FolderEntry) -> bool,
) -> io::Result<Vec<OsString>> {
    let (parent, name) = parent_of(folder)?;
    let foreign = match parent.open_folder(&name) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        opened => opened?.sweep(is_ours)?,
    };
    if foreign.is_empty() {
        parent.remove_empty(&name)?;
    }
    Ok(foreign)
}

/// Removes the content of a folder that this program made, but not the folder itself.
///
/// # Errors
/// As [`remove_tree`].
pub fn clear_tree(folder: &Path) -> io::Result<()> {
    FolderHandle::open(folder)?.empty()
}

/// Renames a file that this program wrote over an earlier version of it.
///
/// # Errors
/// Errors of the system.
pub fn replace(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

/// Renames a file or folder to a name that must be free.
///
/// Not atomic on file systems that do not support it: there the name is checked first.
///
/// # Errors
/// `AlreadyExists` if the name is taken; errors of the system.
pub fn rename_exclusive(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            if to.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            std::fs::rename(from, to)
        }
        named => Ok(named?),
    }
}

/// A folder that this process made under a free name; removed with its content when dropped.
#[derive(Debug)]
pub struct ScratchFolder {
    path: PathBuf,
}

impl ScratchFolder {
    /// Creates a folder in `parent`, which is created if missing; its name begins with `stem`.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn make(parent: &Path, stem: &str) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        std::fs::create_dir_all(parent)?;
        for _ in 0..NAME_TRIES {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{stem}-{}-{number}", std::process::id()));
            match std::fs::create_dir(&path) {
                // A process of the same number, on another node or killed earlier, made this
                // folder.
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => (),
                made => return made.map(|()| Self { path }),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder now, so that a failure can be reported.
    ///
    /// # Errors
    /// As [`remove_tree`].
    pub fn remove(self) -> io::Result<()> {
        remove_tree(&self.path)
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // Best effort: what remains is in the folder that the user gave for that.
        let _ = remove_tree(&self.path);
    }
}

fn parent_of(folder: &Path) -> io::Result<(FolderHandle, OsString)> {
    let name = folder.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let parent = match folder.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Err(io::ErrorKind::InvalidInput.into()),
    };
    // The steps before the last may be links of the user's.
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(CWD, parent, flags, Mode::empty());
    Ok((FolderHandle::with(opened, parent.to_owned())?, name.to_owned()))
}

fn removed(outcome: rustix::io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(Errno::NOENT) => Ok(()),
        outcome => Ok(outcome?),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_tree_is_removed_and_targets_of_its_links_remain() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, precious) = (folder.path().join("tree"), folder.path().join("precious"));
        fs::create_dir_all(tree.join("a/b/c")).unwrap();
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "stays").unwrap();
        fs::write(tree.join("a/b/file"), "goes").unwrap();
        symlink(&precious, tree.join("a/link")).unwrap();
        symlink(precious.join("file"), tree.join("a/b/c/link")).unwrap();
        symlink("/nonexistent", tree.join("dangling")).unwrap();
        remove_tree(&tree).unwrap();
        assert!(!tree.exists());
        assert_eq!(fs::read(precious.join("file")).unwrap(), b"stays");
    }

    #[test]
    fn a_link_to_a_folder_is_no_folder_to_remove() {
        let folder = tempfile::tempdir().unwrap();
        let (link, precious) = (folder.path().join("link"), folder.path().join("precious"));
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join("file"), "stays").unwrap();
        symlink(&precious, &link).unwrap();
        for removed in [
            remove_tree(&link),
            clear_tree(&link),
            remove_matching(&link, |_| true).map(|_| ()),
            FolderHandle::open(&link).map(|_| ()),
        ] {
            assert_eq!(removed.unwrap_err().kind(), io::ErrorKind::NotADirectory);
        }
        assert_eq!(fs::read(precious.join("file")).unwrap(), b"stays");
    }

    #[test]
    fn only_listed_names_are_removed_and_the_rest_is_returned() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir_all(tree.join("ours-folder")).unwrap();
        for name in ["ours-1", "ours-2", "notes"] {
            fs::write(tree.join(name), name).unwrap();
        }
        let is_ours = |entry: &FolderEntry| entry.name.as_bytes().starts_with(b"ours");
        assert_eq!(remove_matching(&tree, is_ours).unwrap(), ["notes", "ours-folder"]);
        assert_eq!(fs::read(tree.join("notes")).unwrap(), b"notes");
        fs::remove_file(tree.join("notes")).unwrap();
        fs::remove_dir(tree.join("ours-folder")).unwrap();
        fs::write(tree.join("ours-3"), "").unwrap();
        assert!(remove_matching(&tree, is_ours).unwrap().is_empty());
        assert!(!tree.exists());
        assert!(remove_matching(&tree, is_ours).unwrap().is_empty());
    }

    #[test]
    fn a_folder_of_scratch_takes_no_name_that_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let first = ScratchFolder::make(folder.path(), "again").unwrap();
        let name = first.path().file_name().unwrap().to_str().unwrap();
        let number: u64 = name.rsplit_once('-').unwrap().1.parse().unwrap();
        // Tests that run at the same time may take some of these numbers.
        let taken = |number| {
            let process = std::process::id();
            folder.path().join(format!("again-{process}-{number}"))
        };
        let foreign: Vec<_> = (number + 1..number + 50).map(taken).collect();
        for path in &foreign {
            fs::create_dir(path).unwrap();
            fs::write(path.join("file"), "stays").unwrap();
        }
        let second = ScratchFolder::make(folder.path(), "again").unwrap();
        assert!(!foreign.contains(&second.path().to_owned()));
        drop((first, second));
        assert!(foreign.iter().all(|path| path.join("file").exists()));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), foreign.len());
    }

    #[test]
    fn a_new_name_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, "new").unwrap();
        fs::write(&to, "stays").unwrap();
        assert_eq!(rename_exclusive(&from, &to).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&to).unwrap(), b"stays");
        fs::remove_file(&to).unwrap();
        rename_exclusive(&from, &to).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"new");
    }

    #[test]
    fn what_is_mounted_in_a_tree_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, place) = (folder.path().join("tree"), folder.path().join("tree/mounted"));
        fs::create_dir_all(&place).unwrap();
        let precious = folder.path().join("precious");
        fs::create_dir(&precious).unwrap();
        let flags = rustix::mount::MountFlags::empty();
        // Another file system, and a folder of the same one.
        let of_tmpfs = || rustix::mount::mount("tmpfs", &place, "tmpfs", flags, None);
        let of_folder = || rustix::mount::mount_bind(&precious, &place);
        for mount in [&of_tmpfs as &dyn Fn() -> rustix::io::Result<()>, &of_folder] {
            if mount().is_err() {
                return;
            }
            fs::write(place.join("file"), "stays").unwrap();
            let errors = [remove_tree(&tree).unwrap_err(), remove_tree(&place).unwrap_err()];
            let has_file = place.join("file").exists();
            rustix::mount::unmount(&place, rustix::mount::UnmountFlags::DETACH).unwrap();
            let numbers = errors.map(|error| error.raw_os_error());
            assert_eq!(numbers, [Some(Errno::XDEV.raw_os_error()); 2]);
            assert!(has_file);
        }
        assert_eq!(fs::read(precious.join("file")).unwrap(), b"stays");
        remove_tree(&tree).unwrap();
    }
}
