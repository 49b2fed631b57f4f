//! Changes of a folder of any mounted file system: files get their names once they are complete.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Mutex;

use cuesta_runtime::parallel::lock;
use rustix::fs::{self, AtFlags, Mode, OFlags, Timespec, Timestamps};
use rustix::io::Errno;

use super::posix::{PosixUnder, facts_of};
use super::{UnderVersion, UnderWriter, uncached};
use crate::path::StorePath;
use crate::permissions::{ALL_BITS, WRITER_BITS, of_new_file};

/// A file under a hidden name.
pub(super) struct HiddenFile {
    folder: OwnedFd,
    file: File,
    hidden: String,
    name: OsString,
    /// The permission bits for it, and whether they override those of a file that it replaces.
    permissions: Mutex<Option<(u32, bool)>>,
}

impl HiddenFile {
    pub(super) fn create(under: &PosixUnder, path: &StorePath, hidden: &str) -> io::Result<Self> {
        let (folder, name) = open_parent(under, path)?;
        let hidden = hidden.to_owned();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // Other users may read it once it has its final name, at the earliest.
        let file = File::from(fs::openat(&folder, &hidden, flags, Mode::RUSR | Mode::WUSR)?);
        Ok(Self { folder, file, hidden, name, permissions: Mutex::new(None) })
    }

    /// Sets the final permission bits of the file. A replacement retains the bits of the replaced
    /// file.
    fn settle_permissions(&self) -> io::Result<()> {
        let before = fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let before = before.map(|before| before.st_mode);
        let before = before.filter(|mode| fs::FileType::from_raw_mode(*mode).is_file());
        let bits = match (*lock(&self.permissions), before) {
            (Some((bits, true)), _) | (Some((bits, false)), None) => bits,
            (Some((bits, false)), Some(before)) => bits & before,
            (None, Some(before)) => before,
            (None, None) => of_new_file(),
        };
        let bits = bits & WRITER_BITS;
        if fs::fstat(&self.file)?.st_mode & ALL_BITS == bits {
            return Ok(());
        }
        match fs::fchmod(&self.file, Mode::from_raw_mode(bits)) {
            // The file system has the same bits for all files.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            changed => Ok(changed?),
        }
    }
}

impl UnderWriter for HiddenFile {
    fn place(&self) -> Option<PathBuf> {
        // By its descriptor, so that no link can redirect the path.
        Some(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into())
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        uncached::write_all_at(&self.file, bytes, offset)
    }

    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn truncate(&self, size_bytes: u64) -> io::Result<()> {
        self.file.set_len(size_bytes)
    }

    fn permit(&self, permissions: u32, exact: bool) {
        *lock(&self.permissions) = Some((permissions, exact));
    }

    fn sync(&self, modified_ns: Option<i64>) -> io::Result<UnderVersion> {
        self.settle_permissions()?;
        // One nanosecond before the clock's tick: a later change, even within this tick, is
        // visible.
        let now_ns = facts_of(&self.file)?.version.modified_ns - 1;
        let before_ns = modified_ns.map_or(now_ns, |at_ns| at_ns.min(now_ns));
        let before = Timespec {
            tv_sec: before_ns.div_euclid(1_000_000_000),
            tv_nsec: before_ns.rem_euclid(1_000_000_000),
        };
        let unchanged = Timespec { tv_sec: 0, tv_nsec: fs::UTIME_OMIT };
        fs::futimens(
            &self.file,
            &Timestamps { last_access: unchanged, last_modification: before },
        )?;
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

pub(super) fn make_folder(
    under: &PosixUnder,
    folder: &StorePath,
    permissions: u32,
) -> io::Result<()> {
    let (parent, name) = open_parent(under, folder)?;
    let bits = permissions & WRITER_BITS;
    match fs::mkdirat(&parent, &name, Mode::from_raw_mode(bits)) {
        Err(Errno::EXIST) if facts_of(under.beneath(folder, OFlags::PATH)?)?.is_folder => Ok(()),
        Err(errno) => Err(errno.into()),
        Ok(()) => {
            // The umask of this process may have removed bits that the writer's umask allows.
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            if let Ok(made) = fs::openat(&parent, &name, flags, Mode::empty())
                && let Ok(facts) = fs::fstat(&made)
                && facts.st_mode & WRITER_BITS != bits
            {
                let special = facts.st_mode & ALL_BITS & !WRITER_BITS;
                let _ = fs::fchmod(&made, Mode::from_raw_mode(special | bits));
            }
            Ok(fs::fsync(&parent)?)
        }
    }
}

pub(super) fn permit(under: &PosixUnder, path: &StorePath, permissions: u32) -> io::Result<()> {
    let target = under.beneath(path, OFlags::PATH)?;
    let special = fs::fstat(&target)?.st_mode & ALL_BITS & !WRITER_BITS;
    if permissions & !(special | WRITER_BITS) != 0 {
        return Err(Errno::PERM.into());
    }
    // By its descriptor: this works for a file that its owner cannot read, too.
    let place = format!("/proc/self/fd/{}", target.as_raw_fd());
    Ok(fs::chmod(place, Mode::from_raw_mode(permissions))?)
}

pub(super) fn remove(under: &PosixUnder, path: &StorePath) -> io::Result<()> {
    let (parent, name) = open_parent(under, path)?;
    match fs::unlinkat(&parent, &name, AtFlags::empty()) {
        Err(Errno::ISDIR) => fs::unlinkat(&parent, &name, AtFlags::REMOVEDIR)?,
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

/// Opens the parent folder of a path; returns it and the last name.
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
    fn a_file_gets_its_name_once_complete_and_an_unfinished_file_is_removed() {
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
            let written = writer.sync(None).unwrap();
            under.rename(&at(".1"), &at("a")).unwrap();
            std::fs::write(folder.path().join("a"), b"two").unwrap();
            let changed = under.facts(&at("a")).unwrap().version;
            assert!(!changed.has_bytes_of(&written), "round {round}");
        }
    }

    #[test]
    fn names_are_made_changed_and_removed_only_below_the_root() {
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
