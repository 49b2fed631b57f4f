//! Questions to whichever store runs in a folder at that time, across restarts.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cuesta_runtime::parallel::lock;

use super::checked_folder::is_foreign;
use super::connection::Connection;
use super::limits::{IDLE_CONNECTIONS, unhurried};
use crate::wire::{Question, Reply};

/// The store that runs in a folder. Threads may share it, and do not wait for each other.
#[derive(Debug)]
pub struct StoreLink {
    folder: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl StoreLink {
    /// Creates a link to the store in `folder`, which may start later.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), idle: Mutex::default() }
    }

    /// Returns its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Asks a question, without a limit on the time of the answer.
    ///
    /// # Errors
    /// The `errno` of the store, where it has one; `NotConnected` where no store runs, or it hangs.
    pub fn ask(&self, question: &Question) -> io::Result<Reply> {
        let idle = || lock(&self.idle).pop();
        let connection = std::iter::from_fn(idle).find(|connection| !connection.has_ended());
        let mut connection = match connection {
            Some(connection) => connection,
            None => self.connection()?,
        };
        let answer = accepted(connection.ask(question)?);
        let mut idle = lock(&self.idle);
        let is_usable =
            !answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotConnected);
        if is_usable && idle.len() < IDLE_CONNECTIONS {
            idle.push(connection);
        }
        answer
    }

    /// Opens a separate connection.
    ///
    /// # Errors
    /// `NotConnected` where no store runs; `PermissionDenied` where another account owns its
    /// folder.
    pub fn connection(&self) -> io::Result<Connection> {
        Connection::open(&self.folder, unhurried())
            .map_err(|error| if is_foreign(&error) { error } else { ended() })
    }
}

/// Returns the reply, or its error where the store refuses.
pub fn accepted(answer: Option<Reply>) -> io::Result<Reply> {
    match answer {
        None => Err(ended()),
        Some(Reply::Refused { errno: Some(errno), .. }) => Err(io::Error::from_raw_os_error(errno)),
        Some(Reply::Refused { error, .. }) => Err(io::Error::other(error)),
        Some(reply) => Ok(reply),
    }
}

/// Error of a reply to another question.
pub fn other(reply: &Reply) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("the store answered {reply:?}"))
}

fn ended() -> io::Error {
    io::Error::new(ErrorKind::NotConnected, "the store has ended or does not answer")
}
