//! The entries of a folder of this machine that can be inputs.

use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Files and folders directly in a folder, in no order.
///
/// Pipes, sockets and devices are passed over: opening one waits or fails. So is a link to a folder
/// that is on the way to it, which has nothing new.
///
/// # Errors
/// `NotFound` for a link to nothing; those of the system.
pub(super) fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if is_input(&entry, folder)? {
            entries.push(entry.path());
        }
    }
    Ok(entries)
}

fn is_input(entry: &DirEntry, folder: &Path) -> io::Result<bool> {
    let kind = entry.file_type()?;
    if !kind.is_symlink() {
        return Ok(kind.is_file() || kind.is_dir());
    }
    let path = entry.path();
    let target = match fs::metadata(&path) {
        Ok(target) => target,
        Err(_) if is_hidden(entry) => return Ok(false),
        Err(cause) => return Err(broken(&path, &cause)),
    };
    if target.is_dir() { Ok(!leads_back(&path, folder)?) } else { Ok(target.is_file()) }
}

/// Whether readers pass a name over anyway, such as an editor's lock, which is a link to nothing.
fn is_hidden(entry: &DirEntry) -> bool {
    matches!(entry.file_name().as_encoded_bytes().first(), Some(b'.' | b'_'))
}

/// Whether a link in `folder` is to a folder around it, or to one on the way that led there.
fn leads_back(link: &Path, folder: &Path) -> io::Result<bool> {
    let target = link.canonicalize()?;
    let mut on_the_way = folder.ancestors().filter_map(|above| above.canonicalize().ok());
    Ok(folder.canonicalize()?.starts_with(&target) || on_the_way.any(|at| at == target))
}

fn broken(link: &Path, cause: &io::Error) -> io::Error {
    let name = link.display();
    let target = fs::read_link(link).unwrap_or_default();
    let target = target.display();
    let text = if cause.kind() == ErrorKind::NotFound {
        format!("{name} is a link to {target}, which is not there; mend or remove the link")
    } else {
        format!("{name} is a link to {target}, which cannot be followed ({cause}); remove the link")
    };
    io::Error::new(ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = list(folder)
            .unwrap()
            .iter()
            .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// All paths below a folder, or an error.
    fn walked(folder: &Path) -> io::Result<usize> {
        let mut count = 0;
        for path in list(folder)? {
            count += 1;
            if fs::metadata(&path)?.is_dir() {
                count += walked(&path)?;
            }
        }
        Ok(count)
    }

    #[test]
    fn a_socket_and_a_device_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        symlink("a", folder.path().join("b")).unwrap();
        symlink("/dev/null", folder.path().join("null")).unwrap();
        let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
        fs::create_dir(folder.path().join("inner")).unwrap();
        symlink("socket", folder.path().join("to_socket")).unwrap();
        symlink("me@host.4711", folder.path().join(".#a")).unwrap();
        assert_eq!(names(folder.path()), ["a", "b", "inner"]);
    }

    #[test]
    fn a_link_to_nothing_is_named_with_what_it_points_at() {
        for target in ["/nowhere/x.npy", "itself"] {
            let folder = tempfile::tempdir().unwrap();
            symlink(target, folder.path().join("itself")).unwrap();
            let error = list(folder.path()).unwrap_err().to_string();
            assert!(error.contains(target) && error.contains("remove the link"), "{error}");
        }
    }

    #[test]
    fn loops_of_links_end() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir(&a).unwrap();
        fs::create_dir(&b).unwrap();
        symlink(".", folder.path().join("here")).unwrap();
        symlink("..", a.join("above")).unwrap();
        symlink("../b", a.join("to_b")).unwrap();
        symlink("../a", b.join("to_a")).unwrap();
        assert_eq!(names(folder.path()), ["a", "b"]);
        // a, b, a/to_b, b/to_a: each other link leads back.
        assert_eq!(walked(folder.path()).unwrap(), 4);
    }
}
