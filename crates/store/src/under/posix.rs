//! An under level in a folder of any mounted file system.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use cuesta_core::{Error, Result};
use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};

use super::layout::{Layout, layout_of};
use super::posix_name::{exchange, link_new, rename_new};
use super::posix_open::open_beneath;
use super::posix_write::{HiddenFile, make_folder, permit, remove, rename, sync_names};
use super::{Facts, Under, UnderFile, UnderVersion, UnderWriter, uncached};
use crate::name_text::text_of;
use crate::path::StorePath;
use crate::permissions::{ALL_BITS, of_new_folder};

/// Most bytes of an attribute; those of Lustre list all servers.
const ATTRIBUTE_BYTES: usize = 64 << 10;

/// An under level at an open folder, which remains the same folder if it is renamed.
#[derive(Debug)]
pub struct PosixUnder {
    root: OwnedFd,
    path: PathBuf,
}

impl PosixUnder {
    /// Opens the folder at `path`.
    ///
    /// # Errors
    /// `System` where it is not a folder.
    pub fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = fs::open(path, flags, Mode::empty())
            .map_err(|errno| Error::system("store", "opening", path, &errno.into()))?;
        Ok(Self { root, path: path.to_owned() })
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file.
    ///
    /// # Errors
    /// I/O errors, also for a folder; `InvalidInput` for anything but a regular file.
    pub fn open_file(&self, path: &StorePath) -> io::Result<PosixFile> {
        // Without `NONBLOCK`, opening a pipe would wait for a writer.
        let file = self.beneath(path, OFlags::RDONLY | OFlags::NONBLOCK)?;
        let kind = FileType::from_raw_mode(fs::fstat(&file)?.st_mode);
        if kind.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !kind.is_file() {
            let text = "it is no regular file";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(PosixFile(file.into()))
    }

    /// Opens a path below the root; no link on the way can lead out of it.
    pub(super) fn beneath(&self, path: &StorePath, flags: OFlags) -> io::Result<OwnedFd> {
        open_beneath(&self.root, &path.relative(), flags)
    }
}

pub(super) fn facts_of(file: impl AsFd) -> io::Result<Facts> {
    let stat = fs::fstat(file)?;
    let nanoseconds = |seconds: i64, rest: u64| {
        seconds.saturating_mul(1_000_000_000).saturating_add(rest.cast_signed())
    };
    let version = UnderVersion {
        device: stat.st_dev,
        inode: stat.st_ino,
        size_bytes: u64::try_from(stat.st_size).unwrap_or(0),
        modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
    };
    let is_folder = FileType::from_raw_mode(stat.st_mode).is_dir();
    Ok(Facts { version, is_folder, permissions: stat.st_mode & ALL_BITS })
}

impl Under for PosixUnder {
    fn open(&self, path: &StorePath) -> io::Result<Box<dyn UnderFile>> {
        Ok(Box::new(self.open_file(path)?))
    }

    fn facts(&self, path: &StorePath) -> io::Result<Facts> {
        facts_of(self.beneath(path, OFlags::PATH)?)
    }

    fn layout(&self, path: &StorePath) -> io::Result<Layout> {
        Ok(posix_layout(&self.beneath(path, OFlags::RDONLY | OFlags::NONBLOCK)?))
    }

    fn link(&self, path: &StorePath) -> io::Result<Option<StorePath>> {
        let Some(folder) = path.parent() else { return Ok(None) };
        let folder = self.beneath(&folder, OFlags::PATH | OFlags::DIRECTORY)?;
        let entry = fs::statat(&folder, path.system_name(), AtFlags::SYMLINK_NOFOLLOW)?;
        if !FileType::from_raw_mode(entry.st_mode).is_symlink() {
            return Ok(None);
        }
        let target_path = place_of(&self.beneath(path, OFlags::PATH)?)?;
        let root = place_of(&self.root)?;
        let inside =
            target_path.strip_prefix(root).ok().and_then(|path| StorePath::of_system(path).ok());
        inside.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn list(&self, folder: &StorePath) -> io::Result<Vec<String>> {
        let folder = self.beneath(folder, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut names = Vec::new();
        for entry in fs::Dir::new(folder)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if !matches!(name.as_bytes(), b"." | b"..") {
                names.push(text_of(name));
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        let facts = fs::fstatvfs(&self.root)?;
        // A file system that does not count blocks reports a total of 0.
        let is_counted = facts.f_blocks > 0;
        Ok(if is_counted { facts.f_bavail.saturating_mul(facts.f_frsize) } else { u64::MAX })
    }

    fn create(&self, path: &StorePath, hidden: &str) -> io::Result<Box<dyn UnderWriter>> {
        Ok(Box::new(HiddenFile::create(self, path, hidden)?))
    }

    fn sync_names(&self, path: &StorePath) -> io::Result<()> {
        sync_names(self, path)
    }

    fn make_folder(&self, folder: &StorePath) -> io::Result<()> {
        make_folder(self, folder, of_new_folder())
    }

    fn make_folder_as(&self, folder: &StorePath, permissions: u32) -> io::Result<()> {
        make_folder(self, folder, permissions)
    }

    fn permit(&self, path: &StorePath, permissions: u32) -> io::Result<()> {
        permit(self, path, permissions)
    }

    fn remove(&self, path: &StorePath) -> io::Result<()> {
        remove(self, path)
    }

    fn rename(&self, from: &StorePath, to: &StorePath) -> io::Result<()> {
        rename(self, from, to)
    }

    fn rename_new(&self, from: &StorePath, to: &StorePath) -> io::Result<()> {
        rename_new(self, from, to)
    }

    fn exchange(&self, first: &StorePath, second: &StorePath) -> io::Result<()> {
        exchange(self, first, second)
    }

    fn link_new(&self, file: &StorePath, to: &StorePath) -> io::Result<()> {
        link_new(self, file, to)
    }
}

/// Returns the current path of an open file or folder.
fn place_of(file: &OwnedFd) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn posix_layout(file: &impl AsFd) -> Layout {
    layout_of(|name| {
        let mut bytes = vec![0; ATTRIBUTE_BYTES];
        let count = fs::fgetxattr(file, name, &mut bytes[..]).ok()?;
        bytes.truncate(count);
        Some(bytes)
    })
}

/// An open file, which remains readable after another file takes its name.
#[derive(Debug)]
pub struct PosixFile(File);

impl PosixFile {
    /// Fills `buffer` from `offset` on through the page cache: for data that no store caches, and
    /// that may be read again.
    ///
    /// # Errors
    /// As [`UnderFile::read_exact_at`].
    pub fn read_cached_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }
}

impl UnderFile for PosixFile {
    fn layout(&self) -> Layout {
        posix_layout(&self.0)
    }

    fn version(&self) -> io::Result<UnderVersion> {
        Ok(facts_of(&self.0)?.version)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        uncached::read_exact_at(&self.0, buffer, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn store_path(text: &str) -> StorePath {
        text.parse().unwrap()
    }

    #[test]
    fn files_are_read_and_folders_listed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        std::fs::write(folder.path().join("a/b"), b"0123456789").unwrap();
        let under = PosixUnder::open(folder.path()).unwrap();
        assert_eq!(under.list(&store_path("")).unwrap(), ["a"]);
        assert_eq!(under.list(&store_path("a")).unwrap(), ["b"]);
        assert!(under.facts(&store_path("a")).unwrap().is_folder);
        let file = under.open(&store_path("a/b")).unwrap();
        let mut buffer = [0; 4];
        file.read_exact_at(&mut buffer, 3).unwrap();
        assert_eq!(&buffer, b"3456");
        let kind = |error: io::Error| error.kind();
        assert_eq!(
            kind(file.read_exact_at(&mut buffer, 7).unwrap_err()),
            io::ErrorKind::UnexpectedEof
        );
        assert_eq!(kind(under.open(&store_path("a")).err().unwrap()), io::ErrorKind::IsADirectory);
        assert_eq!(kind(under.open(&store_path("c")).err().unwrap()), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_change_is_another_version_and_a_replaced_file_remains_the_opened_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, b"one").unwrap();
        let under = PosixUnder::open(folder.path()).unwrap();
        let file = under.open(&store_path("a")).unwrap();
        let before = file.version().unwrap();
        assert_eq!(before, under.facts(&store_path("a")).unwrap().version);
        std::fs::write(folder.path().join("b"), b"two").unwrap();
        std::fs::rename(folder.path().join("b"), &path).unwrap();
        assert_ne!(under.facts(&store_path("a")).unwrap().version, before);
        // Losing a name changes `changed_ns`.
        let now = file.version().unwrap();
        assert_eq!(UnderVersion { changed_ns: before.changed_ns, ..now }, before);
        std::fs::write(&path, b"longer").unwrap();
        assert_eq!(under.facts(&store_path("a")).unwrap().version.size_bytes, 6);
    }

    #[test]
    fn a_link_to_a_folder_is_resolved() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("archive/v3")).unwrap();
        std::fs::create_dir(folder.path().join("run")).unwrap();
        symlink("../archive/v3", folder.path().join("run/latest")).unwrap();
        symlink("run", folder.path().join("now")).unwrap();
        symlink("..", folder.path().join("run/top")).unwrap();
        let under = PosixUnder::open(folder.path()).unwrap();
        let led = |path| under.link(&store_path(path)).unwrap();
        assert_eq!(led("run/latest"), Some(store_path("archive/v3")));
        assert_eq!(led("now/latest"), Some(store_path("archive/v3")));
        assert_eq!(led("run/top"), Some(store_path("")));
        assert_eq!((led("run"), led("")), (None, None));
    }

    #[test]
    fn links_lead_nowhere_outside_and_pipes_are_no_files() {
        let (outside, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(outside.path().join("secret"), b"s").unwrap();
        std::fs::write(folder.path().join("a"), b"a").unwrap();
        symlink(outside.path().join("secret"), folder.path().join("file")).unwrap();
        symlink(outside.path(), folder.path().join("folder")).unwrap();
        symlink("a", folder.path().join("inside")).unwrap();
        let pipe = folder.path().join("pipe");
        fs::mknodat(fs::CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        let under = PosixUnder::open(folder.path()).unwrap();
        for path in ["file", "folder/secret"] {
            let error = under.open(&store_path(path)).err().unwrap();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        }
        assert!(under.open(&store_path("inside")).is_ok());
        assert!(under.open(&store_path("pipe")).is_err());
    }
}
