//! Opening a path below a folder, so that no link on the way can lead out of it.
//!
//! Linux does so in one call since 5.6 (`openat2`). Older kernels, and filters of system calls that
//! do not know it, refuse that call: there each component is opened by itself, and links are
//! resolved here.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path};

use rustix::fs::{self, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Links that a path may lead over, as in Linux.
const LINKS_MAX: usize = 40;

/// Opens a path below `root`.
///
/// # Errors
/// `PermissionDenied` where a link leads out of the folder; those of the system.
pub(super) fn open_beneath(root: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    let opened = loop {
        match fs::openat2(root, path, flags, Mode::empty(), resolve) {
            // A name changed meanwhile, or a signal came.
            Err(Errno::AGAIN | Errno::INTR) => (),
            // The kernel has no such call, or a filter refuses it.
            Err(Errno::NOSYS | Errno::PERM) => break open_by_components(root, path, flags),
            opened => break opened,
        }
    };
    opened.map_err(|errno| match errno {
        Errno::XDEV => {
            let text = "a symbolic link leads out of the under level";
            io::Error::new(io::ErrorKind::PermissionDenied, text)
        }
        errno => errno.into(),
    })
}

/// Opens a path below `root` by calls that all kernels have; `XDEV` where it leads out.
fn open_by_components(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut walk = Walk { root: root.as_fd(), folders: Vec::new() };
    let mut rest = VecDeque::new();
    let mut link_count = 0;
    prepend(&mut rest, path.as_os_str())?;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            // Not by its name: the folder may have been moved out of the root meanwhile.
            walk.folders.pop().ok_or(Errno::XDEV)?;
            continue;
        }
        match walk.step(&name, (rest.is_empty()).then_some(flags))? {
            Step::Opened(file) if rest.is_empty() => return Ok(file),
            Step::Opened(folder) => walk.folders.push(folder),
            Step::Link(target) => {
                link_count += 1;
                if link_count > LINKS_MAX {
                    return Err(Errno::LOOP);
                }
                prepend(&mut rest, &target)?;
            }
        }
    }
    open_retrying(walk.folder(), OsStr::new("."), flags)
}

/// Puts the components of a path before the rest of another; a last slash requires a folder.
fn prepend(rest: &mut VecDeque<OsString>, path: &OsStr) -> Result<(), Errno> {
    if path.as_bytes().ends_with(b"/") && rest.is_empty() {
        rest.push_front(".".into());
    }
    for component in Path::new(path).components().rev() {
        match component {
            Component::Normal(name) => rest.push_front(name.to_owned()),
            Component::ParentDir => rest.push_front("..".into()),
            Component::CurDir => (),
            Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        }
    }
    Ok(())
}

/// Folders that are open on the way from the root to the current one.
struct Walk<'fd> {
    root: BorrowedFd<'fd>,
    folders: Vec<OwnedFd>,
}

/// Outcome of a component.
enum Step {
    Opened(OwnedFd),
    Link(OsString),
}

impl Walk<'_> {
    fn folder(&self) -> BorrowedFd<'_> {
        self.folders.last().map_or(self.root, AsFd::as_fd)
    }

    /// Opens a name of the current folder: the last one with its flags, others as folders.
    fn step(&self, name: &OsStr, last: Option<OFlags>) -> Result<Step, Errno> {
        let on_the_way = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let flags = last.unwrap_or(on_the_way) | OFlags::NOFOLLOW;
        loop {
            let refused = match open_retrying(self.folder(), name, flags) {
                // `PATH` opens a link itself.
                Ok(file) if is_link(&file)? => Errno::LOOP,
                Ok(file) => return Ok(Step::Opened(file)),
                Err(errno @ (Errno::LOOP | Errno::NOTDIR)) => errno,
                Err(errno) => return Err(errno),
            };
            match fs::readlinkat(self.folder(), name, Vec::new()) {
                Ok(target) => return Ok(Step::Link(OsString::from_vec(target.into_bytes()))),
                Err(Errno::INVAL) if refused == Errno::NOTDIR => return Err(refused),
                // It was a link a moment ago.
                Err(Errno::INVAL) => (),
                Err(errno) => return Err(errno),
            }
        }
    }
}

fn is_link(file: &OwnedFd) -> Result<bool, Errno> {
    Ok(FileType::from_raw_mode(fs::fstat(file)?.st_mode).is_symlink())
}

fn open_retrying(folder: BorrowedFd<'_>, name: &OsStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    rustix::io::retry_on_intr(|| fs::openat(folder, name, flags, Mode::empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    const FLAGS: [OFlags; 4] = [
        OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC),
        OFlags::PATH.union(OFlags::CLOEXEC),
        OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC),
        OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC),
    ];

    /// Texts of links, some of which lead out of the root.
    const TARGET: &str = "[ab./]{1,6}|(\\.\\./){1,3}[ab]?|/tmp";

    fn open_root(path: &Path) -> OwnedFd {
        fs::open(path, FLAGS[2], Mode::empty()).unwrap()
    }

    /// Returns what was opened, as device and inode, or the error.
    fn identity(opened: Result<OwnedFd, Errno>) -> Result<(u64, u64), Errno> {
        let stat = fs::fstat(opened?).unwrap();
        Ok((stat.st_dev, stat.st_ino))
    }

    fn by_the_kernel(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        fs::openat2(root, path, flags, Mode::empty(), resolve)
    }

    proptest! {
        #[test]
        fn both_methods_open_the_same_on_random_trees(
            entries in prop::collection::vec(("[ab](/[ab]){0,2}", prop::option::of(TARGET)), 1..12),
            paths in prop::collection::vec("[ab.]{1,2}(/([ab]|\\.\\.)){0,4}/?", 1..12),
        ) {
            let outside = tempfile::tempdir().unwrap();
            let folder = outside.path().join("root");
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(outside.path().join("a"), b"").unwrap();
            for (name, target) in entries {
                let path = folder.join(name);
                // Names that exist, or lead out, are left as they are.
                let _ = std::fs::create_dir_all(path.parent().unwrap());
                let parent = path.parent().unwrap().canonicalize();
                if parent.is_ok_and(|parent| parent.starts_with(folder.canonicalize().unwrap())) {
                    let _ = match target {
                        Some(target) => symlink(target, path),
                        None => std::fs::File::create_new(path).map(drop),
                    };
                }
            }
            let root = open_root(&folder);
            for path in paths.iter().map(Path::new) {
                for flags in FLAGS {
                    prop_assert_eq!(
                        identity(open_by_components(&root, path, flags)),
                        identity(by_the_kernel(&root, path, flags)),
                        "{} with {:?}", path.display(), flags
                    );
                }
            }
        }
    }

    #[test]
    fn a_path_over_too_many_links_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("0"), b"").unwrap();
        for index in 0..=LINKS_MAX {
            symlink(index.to_string(), folder.path().join((index + 1).to_string())).unwrap();
        }
        let root = open_root(folder.path());
        for open in [open_by_components, by_the_kernel] {
            let names = [LINKS_MAX, LINKS_MAX + 1].map(|index| index.to_string());
            assert!(open(&root, names[0].as_ref(), FLAGS[0]).is_ok());
            assert_eq!(open(&root, names[1].as_ref(), FLAGS[0]).unwrap_err(), Errno::LOOP);
        }
    }

    #[test]
    fn a_magic_link_is_refused() {
        // `/proc/self/exe` and `cwd` lead anywhere, whatever their texts are.
        let root = open_root(Path::new("/proc/self"));
        for open in [open_by_components, by_the_kernel] {
            assert!(open(&root, "exe".as_ref(), FLAGS[0]).is_err());
            assert!(open(&root, "cwd/.".as_ref(), FLAGS[1]).is_err());
        }
    }
}
