//! The members of a job, which of them live, and the connections to them.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cuesta_runtime::parallel::lock;

use super::limits::{DEAD, IDLE_MAX};
use super::link::{Ends, Link};
use super::message::{PeerQuestion, PeerReply};
use super::rates::Rate;
use super::rendezvous::number_of;
use super::secret::SecretFile;

/// No message has been received from the member yet.
const NEVER: u64 = u64::MAX;

/// State that all connections to members share.
pub struct LocalMember {
    /// The name of this member.
    pub name: String,
    /// Number of this start of the member, which no other start has.
    pub incarnation: u64,
    /// Number of the state in the member's folder, if no file of it is lost; otherwise 0.
    pub lineage: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// The secret that members prove to have.
    pub secret: SecretFile,
    /// Start of this member's clock.
    pub begun: Instant,
    /// Number of times that any member came back.
    pub returns: AtomicU64,
    /// Number of updates that were sent to directories.
    pub updates: AtomicU64,
}

impl LocalMember {
    /// Returns the number of the next update of a directory.
    pub fn next_update(&self) -> u64 {
        self.updates.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the time since the start of this member's clock.
    pub fn now(&self) -> Duration {
        self.begun.elapsed()
    }
}

/// Counts of the blocks that one store sent to another, and of their bytes.
#[derive(Debug, Default)]
pub struct MovedBlocks {
    blocks: AtomicU64,
    bytes: AtomicU64,
}

impl MovedBlocks {
    /// Adds `bytes` of a block, read from the offset `within` on. A block is counted with its first
    /// byte.
    pub fn add(&self, within: u64, bytes: u64) {
        self.blocks.fetch_add(u64::from(within == 0), Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the number of blocks, and of their bytes.
    pub fn totals(&self) -> (u64, u64) {
        (self.blocks.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

/// Another member of the job.
pub struct Member {
    local: Arc<LocalMember>,
    /// Its name, which is its address.
    pub name: String,
    /// The hash of its name.
    pub number: u64,
    address: Mutex<Option<SocketAddr>>,
    /// Milliseconds of the local clock when it sent something last.
    last_message_ms: AtomicU64,
    /// Number of times that it came back after it had been dead.
    returns: AtomicU64,
    /// Number of its last return among those of all members: a member that was taken off the list
    /// and is on it again has another one.
    last_return: AtomicU64,
    /// Whether it has announced its end, or has been taken off the list of members.
    has_left: AtomicBool,
    /// Number of its start that last connected; 0 before the first connection.
    incarnation: AtomicU64,
    idle: Mutex<Vec<Link>>,
    /// Rate at which its blocks arrive.
    pub rate: Mutex<Rate>,
    /// Blocks read from it.
    pub read: MovedBlocks,
    /// Blocks sent to it.
    pub served: MovedBlocks,
    /// Cause of the last failure to reach it.
    failure: Mutex<Option<String>>,
}

impl Member {
    /// Creates a member that has not sent anything yet.
    pub fn new(local: &Arc<LocalMember>, name: &str) -> Self {
        Self {
            local: Arc::clone(local),
            name: name.to_owned(),
            number: number_of(name),
            address: Mutex::default(),
            last_message_ms: AtomicU64::new(NEVER),
            returns: AtomicU64::new(0),
            last_return: AtomicU64::new(0),
            has_left: AtomicBool::new(false),
            incarnation: AtomicU64::new(0),
            idle: Mutex::default(),
            rate: Mutex::default(),
            read: MovedBlocks::default(),
            served: MovedBlocks::default(),
            failure: Mutex::default(),
        }
    }

    /// Returns whether the member sent something recently.
    pub fn is_live(&self) -> bool {
        let last_message_ms = self.last_message_ms.load(Ordering::Relaxed);
        let now = self.local.now().as_millis() as u64;
        last_message_ms != NEVER
            && now.saturating_sub(last_message_ms) < DEAD.as_millis() as u64
            && !self.has_left.load(Ordering::Relaxed)
    }

    /// Records that the member is alive.
    pub fn note_alive(&self) {
        if !self.is_live() {
            let number = self.local.returns.fetch_add(1, Ordering::Relaxed) + 1;
            self.last_return.store(number, Ordering::Relaxed);
            self.returns.fetch_add(1, Ordering::Relaxed);
        }
        self.last_message_ms.store(self.local.now().as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns the number of times that the member came back after it had been dead.
    pub fn returns(&self) -> u64 {
        self.returns.load(Ordering::Relaxed)
    }

    /// Returns a number of its last return, which no other return has; 0 before the first.
    pub fn last_return(&self) -> u64 {
        self.last_return.load(Ordering::Relaxed)
    }

    /// Records that the member has ended, or has been taken off the list.
    pub fn mark_left(&self) {
        self.has_left.store(true, Ordering::Relaxed);
        lock(&self.idle).clear();
    }

    /// Records that `bytes` of a block arrived from it in the time `took`.
    pub fn measured(&self, bytes: usize, took: Duration) {
        lock(&self.rate).measured(bytes, took, self.local.now());
    }

    /// Returns the number of its start that last connected.
    pub fn incarnation(&self) -> u64 {
        self.incarnation.load(Ordering::Relaxed)
    }

    /// Returns the cause of the last failure to reach it; `None` while it lives.
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure).clone().filter(|_| !self.is_live())
    }

    /// Checks that the member lives, over a separate connection that is cached in `link`.
    pub fn check(&self, link: &mut Option<Link>) {
        let begun = Instant::now();
        let keep_waiting = || begun.elapsed() < DEAD;
        let result = match link {
            Some(link) if link.is_of(&self.local.secret.keys()) => {
                link.ask(&PeerQuestion::Ping, keep_waiting, || self.note_alive()).map(|_| ())
            }
            _ => self.dial(&|| true).map(|dialled| *link = Some(dialled)),
        };
        if let Err(error) = result {
            *link = None;
            *lock(&self.address) = None;
            *lock(&self.failure) = Some(error.to_string());
        }
    }

    /// Sends a question to a live member over an idle connection, and passes the payload to `take`;
    /// waits while the member lives, at most `patience`.
    ///
    /// # Errors
    /// `HostUnreachable` where the member is dead; connection errors.
    pub fn ask<T>(
        &self,
        question: &PeerQuestion,
        patience: Duration,
        take: impl FnOnce(PeerReply, &[u8]) -> T,
    ) -> io::Result<T> {
        let begun = Instant::now();
        let keep_waiting = || self.is_live() && begun.elapsed() < patience;
        let keys = self.local.secret.keys();
        loop {
            if !self.is_live() {
                return Err(ErrorKind::HostUnreachable.into());
            }
            let idle_link = lock(&self.idle).pop().filter(|link| link.is_of(&keys));
            // A change is never sent over an old connection, which may be closed: it would be sent
            // twice.
            let idle_link = idle_link.filter(|_| !question.is_change());
            let was_idle = idle_link.is_some();
            let mut link = match idle_link.map_or_else(|| self.dial(&keep_waiting), Ok) {
                // Many members may be connecting at this moment; no question has been sent yet.
                Err(error) if error.kind() == ErrorKind::TimedOut && keep_waiting() => continue,
                dialled => dialled?,
            };
            match link.ask(question, keep_waiting, || self.note_alive()) {
                Ok(reply) => {
                    let outcome = take(reply, &link.payload);
                    // Hundreds of idle connections must not occupy memory.
                    link.payload = Vec::new();
                    let mut idle = lock(&self.idle);
                    if idle.len() < IDLE_MAX {
                        idle.push(link);
                    }
                    return Ok(outcome);
                }
                // The other end may have closed a connection that was idle for long.
                Err(error) if was_idle && is_closed(&error) => (),
                Err(error) => return Err(error),
            }
        }
    }

    fn dial(&self, keep_waiting: &dyn Fn() -> bool) -> io::Result<Link> {
        let cached = *lock(&self.address);
        let address = match cached {
            Some(address) => address,
            None => self.name.to_socket_addrs()?.next().ok_or(ErrorKind::NotFound)?,
        };
        *lock(&self.address) = Some(address);
        let LocalMember { name, incarnation, block_bytes, secret, .. } = &*self.local;
        let ends = Ends { from: name, to: &self.name };
        let mut link = Link::dial(address, &secret.keys(), ends, keep_waiting)?;
        let hello = PeerQuestion::Hello { incarnation: *incarnation, block_bytes: *block_bytes };
        let begun = Instant::now();
        match link.ask(&hello, || keep_waiting() && begun.elapsed() < DEAD, || ())? {
            PeerReply::Welcome { incarnation, block_bytes: remote_bytes }
                if remote_bytes == *block_bytes =>
            {
                self.incarnation.store(incarnation, Ordering::Relaxed);
                self.has_left.store(false, Ordering::Relaxed);
                self.note_alive();
                Ok(link)
            }
            PeerReply::Welcome { block_bytes: remote_bytes, .. } => {
                let text =
                    format!("its blocks have {remote_bytes} bytes, those here {block_bytes}");
                Err(io::Error::other(text))
            }
            _ => Err(ErrorKind::InvalidData.into()),
        }
    }
}

fn is_closed(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// The live members, as this member sees them.
#[derive(Clone)]
pub struct View {
    /// Live members, without this one.
    pub live: Vec<Arc<Member>>,
    /// The numbers of all live members, this one first.
    pub numbers: Vec<u64>,
    /// Hash of the set of live members: equal on members that see the same set.
    pub id: u64,
}

impl View {
    /// Creates a view of these members.
    pub fn new<'a>(local: &LocalMember, members: impl Iterator<Item = &'a Arc<Member>>) -> Self {
        let live: Vec<Arc<Member>> = members.filter(|member| member.is_live()).cloned().collect();
        let mut numbers = vec![number_of(&local.name)];
        numbers.extend(live.iter().map(|member| member.number));
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        let bytes: Vec<u8> = sorted.iter().flat_map(|number| number.to_le_bytes()).collect();
        let id = blake3::hash(&bytes);
        // A number that JSON of any language can represent.
        let id = u64::from_le_bytes(*id.as_bytes().first_chunk().unwrap_or(&[0; 8])) >> 11;
        Self { live, numbers, id }
    }

    /// Returns the member at an index of `numbers`; `None` for this one.
    pub fn at(&self, place: usize) -> Option<&Arc<Member>> {
        place.checked_sub(1).and_then(|place| self.live.get(place))
    }

    /// Returns a live member by name.
    pub fn named(&self, name: &str) -> Option<&Arc<Member>> {
        self.live.iter().find(|member| member.name == name)
    }
}

/// Members by name.
pub type MemberMap = HashMap<String, Arc<Member>>;
