//! Renames and links in a folder of any mounted file system that never replace another file.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{self, AtFlags, RenameFlags};
use rustix::io::Errno;

use super::posix::PosixUnder;
use super::posix_write::open_parent;
use crate::path::StorePath;

/// An open folder, and a name in it.
type Place = (OwnedFd, OsString);

/// Returns whether the file system does not support the operation. Network file systems return
/// `EINVAL`.
fn is_unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::PERM)
}

/// Renames if the new name is free. Where the file system cannot do that atomically, the new name
/// is first created as a hard link; where it has no links either, the name is checked just before.
pub(super) fn rename_new(under: &PosixUnder, from: &StorePath, to: &StorePath) -> io::Result<()> {
    let (from, to) = (open_parent(under, from)?, open_parent(under, to)?);
    match fs::renameat_with(&from.0, &from.1, &to.0, &to.1, RenameFlags::NOREPLACE) {
        Err(errno) if is_unsupported(errno) => rename_by_link(&from, &to),
        renamed => Ok(renamed?),
    }
}

fn rename_by_link(from: &Place, to: &Place) -> io::Result<()> {
    match fs::linkat(&from.0, &from.1, &to.0, &to.1, AtFlags::empty()) {
        Ok(()) => Ok(fs::unlinkat(&from.0, &from.1, AtFlags::empty())?),
        // A folder, or a file system without links.
        Err(errno) if is_unsupported(errno) => {
            match fs::statat(&to.0, &to.1, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                Err(Errno::NOENT) => Ok(fs::renameat(&from.0, &from.1, &to.0, &to.1)?),
                Err(errno) => Err(errno.into()),
            }
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Exchanges two names atomically.
pub(super) fn exchange(
    under: &PosixUnder,
    first: &StorePath,
    second: &StorePath,
) -> io::Result<()> {
    let (first, second) = (open_parent(under, first)?, open_parent(under, second)?);
    match fs::renameat_with(&first.0, &first.1, &second.0, &second.1, RenameFlags::EXCHANGE) {
        Err(errno) if is_unsupported(errno) => Err(io::ErrorKind::Unsupported.into()),
        exchanged => Ok(exchanged?),
    }
}

/// Gives a file a second name.
pub(super) fn link_new(under: &PosixUnder, file: &StorePath, to: &StorePath) -> io::Result<()> {
    let (file, to) = (open_parent(under, file)?, open_parent(under, to)?);
    match fs::linkat(&file.0, &file.1, &to.0, &to.1, AtFlags::empty()) {
        Err(errno) if is_unsupported(errno) => Err(io::ErrorKind::Unsupported.into()),
        linked => Ok(linked?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_is_taken_only_where_it_is_free_with_and_without_flags() {
        let folder = tempfile::tempdir().unwrap();
        let under = PosixUnder::open(folder.path()).unwrap();
        let at = |text: &str| text.parse::<StorePath>().unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let by_link = |from: &str, to: &str| {
            let from = open_parent(&under, &at(from)).unwrap();
            rename_by_link(&from, &open_parent(&under, &at(to)).unwrap())
        };
        for is_by_link in [false, true] {
            for (name, text) in [("a", "ours"), ("b", "stranger")] {
                std::fs::write(folder.path().join(name), text).unwrap();
            }
            let rename = |from: &str, to: &str| match is_by_link {
                true => by_link(from, to),
                false => rename_new(&under, &at(from), &at(to)),
            };
            let refused = rename("a", "b").unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!((read("a"), read("b")), ("ours".into(), "stranger".into()));
            std::fs::remove_file(folder.path().join("b")).unwrap();
            rename("a", "b").unwrap();
            assert_eq!(read("b"), "ours");
            assert!(!folder.path().join("a").exists());
            std::fs::create_dir(folder.path().join("d")).unwrap();
            rename("d", "e").unwrap();
            let refused = rename("e", "b").unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
            std::fs::remove_dir(folder.path().join("e")).unwrap();
        }
    }

    proptest! {
        #[test]
        fn two_files_change_names_and_nothing_else(first: Vec<u8>, second: Vec<u8>) {
            let folder = tempfile::tempdir().unwrap();
            let under = PosixUnder::open(folder.path()).unwrap();
            let at = |text: &str| text.parse::<StorePath>().unwrap();
            std::fs::write(folder.path().join("a"), &first).unwrap();
            std::fs::write(folder.path().join("b"), &second).unwrap();
            exchange(&under, &at("a"), &at("b")).unwrap();
            prop_assert_eq!(std::fs::read(folder.path().join("a")).unwrap(), second);
            prop_assert_eq!(std::fs::read(folder.path().join("b")).unwrap(), first);
            let missing = exchange(&under, &at("a"), &at("c")).unwrap_err();
            prop_assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        }
    }
}
