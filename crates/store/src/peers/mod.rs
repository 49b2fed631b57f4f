//! The other stores of a job (ADR 27): which of them live, which blocks they have in memory, and
//! reads of those blocks. There is no master: each store publishes its blocks to the members that
//! rendezvous hashing selects.
//!
//! A store uses them as [`RemoteStores`] and as the [`BlockSource`](crate::cache::BlockSource) of
//! its cache. They use it as a [`LocalStore`](crate::sharing::LocalStore).

mod answer;
mod directory;
pub mod frame;
pub mod handshake;
pub mod limits;
mod link;
mod lookup;
mod members;
mod message;
mod pending;
mod places;
mod publish;
mod rates;
mod refusals;
mod remote;
mod rendezvous;
pub mod secret;
mod source;
mod status;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Instant, SystemTime};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;
use serde::Deserialize;

use crate::path::StorePath;
use crate::sharing::{FileId, NameLookup, RemoteStores};
use crate::under::UnderVersion;
use directory::Directory;
use limits::{DIRECTORY_TIMEOUT, MEMBERS_AGE, MEMBERS_MAX, NAME_BYTES_MAX, PING};
use members::{LocalMember, Member, MemberMap, MovedBlocks, View};
use message::{PeerQuestion, PeerReply};
use pending::Pending;
use publish::Published;
use rates::Rate;
use refusals::Refusals;
use secret::SecretFile;
pub use status::{MemberStatus, PeersStatus};

const OPERATION: &str = "store";

/// Options by which a store finds the other stores of its job.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerOptions {
    /// The address at which other stores reach this one, with a port or 0 for any; also its name.
    pub listen: String,
    /// The addresses of all members.
    pub members: Vec<String>,
    /// A file of addresses, one a line, which is read again when it has changed.
    pub members_file: Option<PathBuf>,
    /// The file of the secret.
    pub secret: PathBuf,
}

/// The other stores of the job, as this one knows them.
pub struct Peers {
    local: Arc<LocalMember>,
    members: RwLock<MemberMap>,
    /// Names given by options.
    listed: Vec<String>,
    file: Option<PathBuf>,
    last_check: Mutex<MembersCheck>,
    directory: Mutex<Directory>,
    published: Mutex<Published>,
    /// Rate at which pieces of blocks arrive from the under level.
    under_rate: Mutex<Rate>,
    /// Owners of files of other members, by the inode number of the file's version.
    remote: Mutex<HashMap<u64, (String, FileId)>>,
    /// Blocks sent to other members.
    served: MovedBlocks,
    refusals: Refusals,
    /// Number of opens and reads that failed because the store with the only copy died, and the
    /// message of the last one.
    losses: Mutex<(u64, Option<String>)>,
    pending: Pending,
    has_ended: AtomicBool,
}

/// Time of the last look at the file of members, and the file's version then.
#[derive(Clone, Copy, Default)]
struct MembersCheck {
    at: Option<Instant>,
    changed: Option<(SystemTime, u64)>,
}

impl Peers {
    /// Listens at the address. The caller then calls [`watch`](Self::watch) and accepts
    /// connections. `lineage` is the number of the state in the folder, if no file of it is lost;
    /// otherwise 0.
    ///
    /// # Errors
    /// `Input` for an address that cannot be a name, or as [`SecretFile::open`]; `System`.
    pub fn open(
        options: &PeerOptions,
        block_bytes: u64,
        folder: &Path,
        lineage: u64,
    ) -> Result<(Arc<Self>, TcpListener)> {
        let PeerOptions { listen, members, members_file, secret } = options;
        let failed =
            |cause: io::Error| Error::system(OPERATION, "listening on", Path::new(listen), &cause);
        let listener = TcpListener::bind(listen).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let host = listen.rsplit_once(':').map_or(listen.as_str(), |(host, _)| host);
        if address.ip().is_unspecified() || listen.len() > NAME_BYTES_MAX {
            let text = format!("--listen {listen}: give the address that other stores reach");
            return Err(Error::input(OPERATION, text));
        }
        let random = handshake::random().map_err(failed)?;
        let incarnation = u64::from_le_bytes(*random.first_chunk().unwrap_or(&[1; 8])) >> 11;
        let local = LocalMember {
            name: format!("{host}:{}", address.port()),
            incarnation: incarnation.max(1),
            lineage,
            block_bytes,
            secret: SecretFile::open(secret)?,
            begun: Instant::now(),
            returns: AtomicU64::new(0),
            updates: AtomicU64::new(0),
        };
        let peers = Self {
            local: Arc::new(local),
            members: RwLock::default(),
            listed: members.clone(),
            file: members_file.clone(),
            last_check: Mutex::default(),
            directory: Mutex::default(),
            published: Mutex::default(),
            under_rate: Mutex::default(),
            remote: Mutex::default(),
            served: MovedBlocks::default(),
            refusals: Refusals::new(folder),
            losses: Mutex::default(),
            pending: Pending::default(),
            has_ended: AtomicBool::new(false),
        };
        Ok((Arc::new(peers), listener))
    }

    /// Returns whether the store is ending.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Relaxed)
    }

    /// Returns the live members.
    pub(crate) fn view(&self) -> View {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        View::new(&self.local, members.values())
    }

    /// Returns whether a member lives; this one always does.
    fn lives(&self, name: &str) -> bool {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        name == self.local.name || members.get(name).is_some_and(|member| member.is_live())
    }

    fn member(&self, name: &str) -> Option<Arc<Member>> {
        let members = self.members.read().unwrap_or_else(PoisonError::into_inner);
        members.get(name).cloned()
    }

    /// Watches the current members: one thread for each asks whether it lives.
    pub fn watch(self: &Arc<Self>) {
        let Some(names) = self.names() else { return };
        let mut members = self.members.write().unwrap_or_else(PoisonError::into_inner);
        members.retain(|name, member| {
            let is_listed = names.contains(name);
            if !is_listed {
                member.mark_left();
            }
            is_listed
        });
        for name in names {
            if name == self.local.name || members.contains_key(&name) {
                continue;
            }
            let member = Arc::new(Member::new(&self.local, &name));
            let (peers, watched) = (Arc::clone(self), Arc::clone(&member));
            let thread = std::thread::Builder::new().name("cuesta-peer".to_owned());
            if thread.spawn(move || peers.look_after(&watched)).is_ok() {
                members.insert(name, member);
            }
        }
    }

    fn look_after(&self, member: &Arc<Member>) {
        let mut link = None;
        let is_member = || self.member(&member.name).is_some_and(|now| Arc::ptr_eq(&now, member));
        while !self.has_ended() && is_member() {
            member.check(&mut link);
            std::thread::sleep(PING);
        }
    }

    /// Returns the names of the members, if they may have changed since the last call.
    fn names(&self) -> Option<Vec<String>> {
        let mut last_check = lock(&self.last_check);
        let MembersCheck { at, changed } = *last_check;
        if at.is_some_and(|at| self.file.is_none() || at.elapsed() < MEMBERS_AGE) {
            return None;
        }
        let now = self.file.as_ref().and_then(|file| fs::metadata(file).ok());
        let now = now.and_then(|facts| {
            Some((facts.modified().ok()?, std::os::unix::fs::MetadataExt::ino(&facts)))
        });
        let text = self.file.as_ref().map(fs::read_to_string).transpose();
        // While the file cannot be read, the members stay as they are.
        let is_same = at.is_some() && (now == changed || text.is_err());
        *last_check =
            MembersCheck { at: Some(Instant::now()), changed: if is_same { changed } else { now } };
        if is_same {
            return None;
        }
        let text = text.ok().flatten().unwrap_or_default();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut names: Vec<String> = self.listed.clone();
        names.extend(lines.filter(|line| line.len() <= NAME_BYTES_MAX).map(str::to_owned));
        names.truncate(MEMBERS_MAX);
        Some(names)
    }

    fn clear_here(&self, path: &StorePath) {
        lock(&self.directory).clear(path, |name| self.lives(name));
    }

    /// Returns the owner and id of another member's file, by the version under which it was opened.
    fn owner_of(&self, path: &StorePath, version: &UnderVersion) -> Option<(String, FileId)> {
        let cached = |peers: &Self| lock(&peers.remote).get(&version.inode).cloned();
        cached(self).or_else(|| match self.find(path) {
            NameLookup::Alone { .. } => cached(self),
            _ => None,
        })
    }

    /// Tells all live members that this one ends and loses nothing.
    pub fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        for member in self.view().live {
            let _ = member.ask(&PeerQuestion::Bye, DIRECTORY_TIMEOUT, |_, _| ());
        }
    }
}

/// Parses a member's question and serialises it again, for fuzzing.
///
/// # Errors
/// `InvalidData` for text that is not a question.
pub fn question_again(text: &[u8]) -> io::Result<Vec<u8>> {
    Ok(serde_json::to_vec(&frame::parsed::<PeerQuestion>(text)?)?)
}

/// Parses a member's reply and serialises it again, for fuzzing.
///
/// # Errors
/// `InvalidData` for text that is not a reply.
pub fn reply_again(text: &[u8]) -> io::Result<Vec<u8>> {
    Ok(serde_json::to_vec(&frame::parsed::<PeerReply>(text)?)?)
}
