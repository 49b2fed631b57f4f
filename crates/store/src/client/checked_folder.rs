//! The folder of a store, opened only if it is private to this account.

use std::fmt::Display;
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::geteuid;

use crate::daemon::SOCKET;

/// An open folder, which remains the checked one if it is renamed.
#[derive(Debug)]
pub struct CheckedFolder {
    folder: OwnedFd,
    name: PathBuf,
}

impl CheckedFolder {
    /// Opens a folder that this account owns and no other account may enter.
    ///
    /// # Errors
    /// [`is_foreign`] for any other folder; I/O errors.
    pub fn open(folder: &Path) -> io::Result<Self> {
        // A trailing slash would follow a link.
        let name: PathBuf = folder.components().collect();
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = match fs::open(&name, flags, Mode::empty()) {
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => {
                let Ok(facts) = fs::lstat(&name) else { return Err(ErrorKind::NotFound.into()) };
                let owner = account(facts.st_uid);
                return Err(foreign(&name, format!("is no folder, and belongs to {owner}")));
            }
            opened => opened?,
        };
        let facts = fs::fstat(&opened)?;
        let user = geteuid().as_raw();
        if facts.st_uid != user {
            let (owner, user) = (account(facts.st_uid), account(user));
            return Err(foreign(&name, format!("belongs to {owner}, and this is {user}")));
        }
        if facts.st_mode & 0o077 != 0 {
            let mode = facts.st_mode & 0o777;
            let text = format!("of {} is open to other accounts (mode {mode:03o})", account(user));
            return Err(foreign(&name, text));
        }
        Ok(Self { folder: opened, name })
    }

    /// Connects to the daemon of this account that listens there.
    ///
    /// # Errors
    /// [`is_foreign`] for a daemon of another account; I/O errors where there is none, or it
    /// accepts no connection now.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let facts = fs::statat(&self.folder, SOCKET, AtFlags::SYMLINK_NOFOLLOW)?;
        if !FileType::from_raw_mode(facts.st_mode).is_socket() {
            return Err(foreign(&self.name, "has something else under the socket's name"));
        }
        self.check_server(facts.st_uid)?;
        let address = SocketAddrUnix::new(self.path().join(SOCKET))?;
        // A store that hangs refuses at once instead of queueing its clients.
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        rustix::net::connect(&socket, &address)?;
        self.check_server(socket_peercred(&socket)?.uid.as_raw())?;
        Ok(UnixStream::from(socket))
    }

    fn check_server(&self, answers: u32) -> io::Result<()> {
        let user = geteuid().as_raw();
        if answers == user {
            return Ok(());
        }
        let (answers, user) = (account(answers), account(user));
        Err(foreign(&self.name, format!("is served by {answers}, and this is {user}")))
    }

    /// Returns a path of the checked folder, valid in this process, whatever has its name now.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))
    }
}

/// Returns whether an error is about a folder or a daemon of another account.
pub fn is_foreign(error: &io::Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied && error.get_ref().is_some()
}

fn foreign(folder: &Path, what: impl Display) -> io::Error {
    let text = format!(
        "{} {what}: nothing was asked of it; name a folder of your account for the store and its \
         clients by $CUESTA_STORE",
        folder.display()
    );
    io::Error::new(ErrorKind::PermissionDenied, text)
}

/// Returns the number of an account, with its name where this machine lists it.
fn account(number: u32) -> String {
    let list = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = list.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(number)).then(|| name.to_owned())
    });
    name.map_or_else(|| format!("account {number}"), |name| format!("account {name} ({number})"))
}
