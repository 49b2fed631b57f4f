//! Changes of a folder of any mounted file system: files that are named once they are whole.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::{self, AtFlags, Mode, OFlags, Timespec, Timestamps};

use super::posix::{PosixUnder, facts_of};
use super::{UnderVersion, UnderWriter, uncached};
use crate::path::StorePath;

/// A file under a hidden name.
pub(super) struct HiddenFile {
    folder: OwnedFd,
    file: File,
    hidden: String,
}

impl HiddenFile {
    pub(super) fn create(under: &PosixUnder, path: &StorePath, hidden: &str) -> io::Result<Self> {
        let (folder, name) = open_parent(under, path)?;
        let hidden = hidden.to_owned();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = fs::openat(&folder, &hidden, flags, Mode::from_raw_mode(0o666))?;
        let made = Self { folder, file: file.into(), hidden };
        // A file that is replaced keeps its permissions.
        if let Ok(before) = fs::statat(&made.folder, &name, AtFlags::SYMLINK_NOFOLLOW)
            && fs::FileType::from_raw_mode(before.st_mode).is_file()
        {
            fs::fchmod(&made.file, Mode::from_raw_mode(before.st_mode & 0o777))?;
        }
        Ok(made)
    }
}

impl UnderWriter for HiddenFile {
    fn place(&self) -> Option<PathBuf> {
        // By its number, so that no link that is put on the way leads elsewhere.
        Some(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into())
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        uncached::write_all_at(&self.file, bytes, offset)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn sync(&self, modified_ns: Option<i64>) -> io::Result<UnderVersion> {
        // A nanosecond before the clock's step: a later change, even in this step, shows.
        let now_ns = facts_of(&self.file)?.version.modified_ns - 1;
        let before_ns = modified_ns.map_or(now_ns, |at_ns| at_ns.min(now_ns));
        let before = Timespec {
            tv_sec: before_ns.div_euclid(1_000_000_000),
            tv_nsec: before_ns.rem_euclid(1_000_000_000),
        };
        let kept = Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT };
        fs::futimens(&self.file, &Timestamps { last_access: kept, last_modification: before })?;
        self.file.sync_all()?;
        Ok(facts_of(&self.file)?.version)
    }
}

impl Drop for HiddenFile {
    fn drop(&mut self) {
        let named = fs::statat(&self.folder, &self.hidden, AtFlags::SYMLINK_NOFOLLOW);
        let (Ok(named), Ok(written)) = (named, fs::fstat(&self.file)) else { return };
        if (named.st_dev, named.st_ino) == (written.st_dev, written.st_ino) {
            let _ = fs::unlinkat(&self.folder, &self.hidden, AtFlags::empty());
        }
    }
}

pub(super) fn sync_names(under: &PosixUnder, path: &StorePath) -> io::Result<()> {
    let (folder, _) = open_parent(under, path)?;
    Ok(fs::fsync(&folder)?)
}

pub(super) fn make_folder(under: &PosixUnder, folder: &StorePath) -> io::Result<()> {
    let (parent, name) = open_parent(under, folder)?;
    match fs::mkdirat(&parent, &name, Mode::from_raw_mode(0o777)) {
        Err(rustix::io::Errno::EXIST)
            if facts_of(under.beneath(folder, OFlags::PATH)?)?.is_folder =>
        {
            Ok(())
        }
        Err(errno) => Err(errno.into()),
        Ok(()) => Ok(fs::fsync(&parent)?),
    }
}

pub(super) fn remove(under: &PosixUnder, path: &StorePath) -> io::Result<()> {
    let (parent, name) = open_parent(under, path)?;
    match fs::unlinkat(&parent, &name, AtFlags::empty()) {
        Err(rustix::io::Errno::ISDIR) => fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR)?,
        removed => removed?,
    }
    Ok(fs::fsync(&parent)?)
}

pub(super) fn rename(under: &PosixUnder, from: &StorePath, to: &StorePath) -> io::Result<()> {
    let (from_parent, from_name) = open_parent(under, from)?;
    let (to_parent, to_name) = open_parent(under, to)?;
    fs::renameat(&from_parent, &from_name, &to_parent, &to_name)?;
    fs::fsync(&to_parent)?;
    Ok(fs::fsync(&from_parent)?)
}

/// The folder of a path, and the path's last step.
pub(super) fn open_parent(under: &PosixUnder, path: &StorePath) -> io::Result<(OwnedFd, OsString)> {
    let Some(parent) = path.parent() else {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "the root stays as it is"));
    };
    let folder = under.beneath(&parent, OFlags::RDONLY | OFlags::DIRECTORY)?;
    Ok((folder, path.system_name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::under::Under;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    fn at(text: &str) -> StorePath {
        text.parse().unwrap()
    }

    #[test]
    fn a_file_is_named_when_it_is_whole_and_an_unfinished_one_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let under = PosixUnder::open(folder.path()).unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "before").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let writer = under.create(&at("a"), ".1").unwrap();
        writer.write_all_at(b"after", 0).unwrap();
        let written = writer.sync(None).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"before");
        under.exchange(&at("a"), &at(".1")).unwrap();
        under.remove(&at(".1")).unwrap();
        under.sync_names(&at("a")).unwrap();
        assert!(under.facts(&at("a")).unwrap().version.has_bytes_of(&written));
        assert_eq!(std::fs::read(&path).unwrap(), b"after");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o640);
        drop(under.create(&at("a"), ".2").unwrap());
        assert_eq!(under.list(&at("")).unwrap(), ["a"]);
    }

    #[test]
    fn a_change_within_the_step_of_the_clock_is_another_version() {
        let folder = tempfile::tempdir().unwrap();
        let under = PosixUnder::open(folder.path()).unwrap();
        for round in 0..200 {
            let writer = under.create(&at("a"), ".1").unwrap();
            writer.write_all_at(b"one", 0).unwrap();
            let ours = writer.sync(None).unwrap();
            under.rename(&at(".1"), &at("a")).unwrap();
            std::fs::write(folder.path().join("a"), b"two").unwrap();
            let theirs = under.facts(&at("a")).unwrap().version;
            assert!(!theirs.has_bytes_of(&ours), "round {round}");
        }
    }

    #[test]
    fn names_are_made_changed_and_removed_below_the_root_alone() {
        let (outside, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let under = PosixUnder::open(folder.path()).unwrap();
        under.make_folder(&at("b")).unwrap();
        under.make_folder(&at("b")).unwrap();
        std::fs::write(folder.path().join("b/c"), "c").unwrap();
        assert!(under.make_folder(&at("b/c")).is_err());
        under.rename(&at("b/c"), &at("d")).unwrap();
        under.remove(&at("b")).unwrap();
        assert_eq!(under.list(&at("")).unwrap(), ["d"]);
        under.remove(&at("d")).unwrap();
        assert!(under.remove(&at("")).is_err());
        symlink(outside.path(), folder.path().join("link")).unwrap();
        assert!(under.create(&at("link/a"), ".1").is_err());
        assert!(under.make_folder(&at("link/a")).is_err());
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
