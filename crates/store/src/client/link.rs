//! Questions to a store that outlive it: each is asked of the store that runs then.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use cuesta_runtime::parallel::lock;

use super::checked_folder::is_foreign;
use super::connection::Connection;
use super::limits::{IDLE_CONNECTIONS, unhurried};
use crate::wire::{Question, Reply};

/// A store, whichever runs in a folder. Threads may share it, and do not wait for each other.
#[derive(Debug)]
pub struct StoreLink {
    folder: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl StoreLink {
    /// The store in `folder`, now or later.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), idle: Mutex::default() }
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The answer to a question, however long that takes.
    ///
    /// # Errors
    /// With the number of the system, where the store has one; `NotConnected` where none runs, or
    /// it hangs.
    pub fn ask(&self, question: &Question) -> io::Result<Reply> {
        let idle = || lock(&self.idle).pop();
        let kept = std::iter::from_fn(idle).find(|connection| !connection.has_ended());
        let mut connection = match kept {
            Some(connection) => connection,
            None => self.connection()?,
        };
        let answer = taken(connection.ask(question)?);
        let mut idle = lock(&self.idle);
        let is_whole = !answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotConnected);
        if is_whole && idle.len() < IDLE_CONNECTIONS {
            idle.push(connection);
        }
        answer
    }

    /// A connection of its own.
    ///
    /// # Errors
    /// `NotConnected` where no store runs; `PermissionDenied` where another account has its folder.
    pub fn connection(&self) -> io::Result<Connection> {
        Connection::open(&self.folder, unhurried())
            .map_err(|error| if is_foreign(&error) { error } else { ended() })
    }
}

/// What was answered, if it is no refusal.
pub fn taken(answer: Option<Reply>) -> io::Result<Reply> {
    match answer {
        None => Err(ended()),
        Some(Reply::Refused { errno: Some(errno), .. }) => Err(io::Error::from_raw_os_error(errno)),
        Some(Reply::Refused { error, .. }) => {
            Err(io::Error::other(error.trim_start_matches("store: ").to_owned()))
        }
        Some(reply) => Ok(reply),
    }
}

/// The answer was to another question.
pub fn other(reply: &Reply) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("the store answered {reply:?}"))
}

fn ended() -> io::Error {
    io::Error::new(ErrorKind::NotConnected, "the store has ended or does not answer")
}
