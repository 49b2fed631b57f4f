//! Client of the store for Rust programs: files whose blocks are mapped, not copied.
//!
//! A store that ends or hangs breaks no reader: within a second the reader continues on the under
//! level, in the version that was opened. See `spec/formats/store-wire.md`.

pub mod block;
mod bypass;
mod checked_folder;
mod connection;
mod file;
pub mod limits;
mod link;
mod recent;
mod session;
mod writer;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

use cuesta_runtime::parallel::lock;

use crate::path::StorePath;
use crate::places::BlockPlaces;
use crate::under::{Facts, Under};
use crate::wire::{DirectoryEntry, PLACES_MAX, Question, Reply};
use file::{OpenFile, ServedFile};
use limits::{CONNECTIONS, Patience};
use recent::RecentFiles;
use session::Session;

pub use file::{BlockBytes, StoredFile};
pub(crate) use link::StoreLink;
pub use writer::WrittenFile;

/// Environment variable with the folder of the store.
const VARIABLE: &str = "CUESTA_STORE";

/// A store as used by this process. Threads may share it.
#[derive(Debug)]
pub struct Client {
    folder: PathBuf,
    patience: Patience,
    state: Mutex<Current>,
    recent: RecentFiles,
}

#[derive(Debug)]
struct Current {
    session: Arc<Session>,
    /// Time of the last attempt to connect to the store.
    tried: Instant,
}

/// Metadata of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredFacts {
    /// Size of a file in bytes.
    pub size_bytes: u64,
    /// Whether it is a folder.
    pub is_folder: bool,
}

/// Returns `$CUESTA_STORE`, else this user's default folder on the memory file system.
pub fn default_folder() -> PathBuf {
    let default = || {
        let user = rustix::process::getuid().as_raw();
        PathBuf::from(format!("/dev/shm/cuesta-{user}"))
    };
    std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map_or_else(default, PathBuf::from)
}

static SHARED: Mutex<Option<Arc<Client>>> = Mutex::new(None);

impl Client {
    /// Connects to the store in `folder`.
    ///
    /// # Errors
    /// `NotConnected` where no store runs there or it does not answer; `PermissionDenied` where
    /// another account owns the folder or the daemon.
    pub fn connect(folder: &Path, patience: Patience) -> io::Result<Self> {
        let session = Arc::new(Session::open(folder, patience)?);
        let current = Current { session, tried: Instant::now() };
        let (state, recent) = (Mutex::new(current), RecentFiles::default());
        Ok(Self { folder: folder.to_owned(), patience, state, recent })
    }

    /// Returns the client of this process for the store in [`default_folder`].
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub fn shared() -> io::Result<Arc<Self>> {
        let folder = default_folder();
        let mut shared = lock(&SHARED);
        if let Some(client) = &*shared
            && client.folder == folder
        {
            return Ok(Arc::clone(client));
        }
        let client = Arc::new(Self::connect(&folder, Patience::default())?);
        *shared = Some(Arc::clone(&client));
        Ok(client)
    }

    /// Returns the folder of the under level.
    pub fn under(&self) -> PathBuf {
        self.session().under.path().to_owned()
    }

    /// Opens a file.
    ///
    /// # Errors
    /// `NotFound` and other errors of the under level; `TimedOut` where that does not answer.
    pub fn open(&self, path: &StorePath) -> io::Result<StoredFile> {
        let session = self.session();
        let slot = slot_of(path);
        let file = match session.ask(slot, &Question::Open { path: path.clone() })? {
            Some(Reply::Opened { number, block_bytes, version, .. }) => {
                let served = ServedFile { slot, number, block_bytes };
                let mut files = lock(&session.files);
                // A file opened under another name, or before its flush, would be read from another
                // place of the under level.
                let shared = files.get(&number).and_then(Weak::upgrade);
                let shared = shared.filter(|file| file.is_opened_as(path, version));
                let file = shared.unwrap_or_else(|| {
                    let file = Arc::new(OpenFile::new(&session, path, version, Some(served)));
                    files.insert(number, Arc::downgrade(&file));
                    file
                });
                drop(files);
                file.opened_again();
                self.recent.keep(&file);
                file
            }
            Some(Reply::Refused { error, is_input: true, .. }) => return Err(refused(&error)),
            // Where the store failed, the under level provides the cause.
            _ => Arc::new(OpenFile::open_bypassing(&session, path)?),
        };
        Ok(StoredFile::shared(file))
    }

    /// Returns the metadata of a path.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn facts(&self, path: &StorePath) -> io::Result<StoredFacts> {
        let session = self.session();
        match session.ask(slot_of(path), &Question::Stat { path: path.clone() })? {
            Some(Reply::Entries { entries }) if entries.len() == 1 => Ok(facts_of(&entries[0])),
            Some(Reply::Refused { error, is_input: true, .. }) => Err(refused(&error)),
            _ => session.under.facts(path).map(of_under),
        }
    }

    /// Returns the names in a folder, sorted.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn list(&self, folder: &StorePath) -> io::Result<Vec<String>> {
        let session = self.session();
        match session.ask(slot_of(folder), &Question::List { path: folder.clone() })? {
            Some(Reply::Entries { entries }) => {
                Ok(entries.into_iter().map(|entry| entry.name).collect())
            }
            _ => session.under.list(folder),
        }
    }

    /// Returns, for each of some blocks of a file, the names of the stores of the job that have it
    /// in memory; no names where no store answers, within about a second.
    ///
    /// # Errors
    /// `TimedOut` where the under level does not answer.
    pub fn places(&self, path: &StorePath, blocks: Range<u64>) -> io::Result<Vec<Vec<String>>> {
        let session = self.session();
        let mut holders: Vec<Vec<String>> = Vec::new();
        for first in blocks.clone().step_by(PLACES_MAX as usize) {
            let count = (blocks.end - first).min(PLACES_MAX);
            let question = Question::Places { path: path.clone(), first, count };
            let places = match session.ask(slot_of(path), &question)? {
                Some(Reply::Places(places)) => places,
                _ => BlockPlaces::default(),
            };
            let names = |block| places.of(block).map(str::to_owned).collect::<Vec<_>>();
            holders.extend((0..count as usize).map(names));
        }
        Ok(holders)
    }

    /// Returns the session; after the loss of a store, tries from time to time to open another one.
    fn session(&self) -> Arc<Session> {
        let mut state = lock(&self.state);
        let is_of_this_process = state.session.is_of_this_process();
        let is_due = state.session.is_lost() && state.tried.elapsed() > self.patience.retry;
        // A forked process opens connections of its own.
        if is_due || !is_of_this_process && !state.session.is_lost() {
            state.tried = Instant::now();
            self.recent.clear();
            match Session::open(&self.folder, self.patience) {
                Ok(session) => state.session = Arc::new(session),
                Err(_) => state.session.lose(),
            }
        }
        Arc::clone(&state.session)
    }
}

/// Parses a path from a user's URI.
///
/// # Errors
/// `InvalidInput` for text that is no path of a store.
pub fn path_of(uri: &str) -> io::Result<StorePath> {
    uri.parse().map_err(|error: cuesta_core::Error| {
        io::Error::new(ErrorKind::InvalidInput, error.sentence())
    })
}

/// Error of a store that refuses, though the under level may have a file of that name: the current
/// one is in another store.
fn refused(error: &str) -> io::Error {
    io::Error::other(error.to_owned())
}

/// Returns the index of the connection for a path.
fn slot_of(path: &StorePath) -> usize {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    (hasher.finish() % CONNECTIONS as u64) as usize
}

fn facts_of(entry: &DirectoryEntry) -> StoredFacts {
    StoredFacts { size_bytes: entry.size_bytes, is_folder: entry.is_folder }
}

fn of_under(facts: Facts) -> StoredFacts {
    let size_bytes = if facts.is_folder { 0 } else { facts.version.size_bytes };
    StoredFacts { size_bytes, is_folder: facts.is_folder }
}
