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

/// Nothing was heard of it yet.
const NEVER: u64 = u64::MAX;

/// What all members' connections have in common.
pub struct Own {
    /// The name of this one.
    pub name: String,
    /// Which start of it this is.
    pub incarnation: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// What members prove to have.
    pub secret: SecretFile,
    /// When the clock of this one began.
    pub begun: Instant,
}

impl Own {
    /// Time since the clock of this one began.
    pub fn now(&self) -> Duration {
        self.begun.elapsed()
    }
}

/// Blocks that went from one store to another, counted.
#[derive(Debug, Default)]
pub struct MovedBlocks {
    blocks: AtomicU64,
    bytes: AtomicU64,
}

impl MovedBlocks {
    /// So many bytes of a block, from a place in it on. It is counted with its first byte.
    pub fn add(&self, within: u64, bytes: u64) {
        self.blocks.fetch_add(u64::from(within == 0), Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Blocks, and bytes of them.
    pub fn seen(&self) -> (u64, u64) {
        (self.blocks.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }
}

/// Another member.
pub struct Member {
    own: Arc<Own>,
    /// Its name: an address.
    pub name: String,
    /// That, as a number.
    pub number: u64,
    address: Mutex<Option<SocketAddr>>,
    /// Milliseconds of this one's clock when something was heard of it.
    heard: AtomicU64,
    /// Number of times that it was heard of after it had been dead.
    returns: AtomicU64,
    /// It said that it ends, or is no member any more.
    has_left: AtomicBool,
    /// Which start of it was heard of last; 0 before any was.
    incarnation: AtomicU64,
    idle: Mutex<Vec<Link>>,
    /// How fast its blocks came.
    pub rate: Mutex<Rate>,
    /// Blocks that came from it.
    pub read: MovedBlocks,
    /// Blocks that it was given.
    pub served: MovedBlocks,
    /// Why it was not reached the last time.
    failure: Mutex<Option<String>>,
}

impl Member {
    /// One that nothing was heard of yet.
    pub fn new(own: &Arc<Own>, name: &str) -> Self {
        Self {
            own: Arc::clone(own),
            name: name.to_owned(),
            number: number_of(name),
            address: Mutex::default(),
            heard: AtomicU64::new(NEVER),
            returns: AtomicU64::new(0),
            has_left: AtomicBool::new(false),
            incarnation: AtomicU64::new(0),
            idle: Mutex::default(),
            rate: Mutex::default(),
            read: MovedBlocks::default(),
            served: MovedBlocks::default(),
            failure: Mutex::default(),
        }
    }

    /// Whether something was heard of it just now.
    pub fn is_live(&self) -> bool {
        let heard = self.heard.load(Ordering::Relaxed);
        let now = self.own.now().as_millis() as u64;
        heard != NEVER
            && now.saturating_sub(heard) < DEAD.as_millis() as u64
            && !self.has_left.load(Ordering::Relaxed)
    }

    /// Notes that it lives.
    pub fn hear(&self) {
        if !self.is_live() {
            self.returns.fetch_add(1, Ordering::Relaxed);
        }
        self.heard.store(self.own.now().as_millis() as u64, Ordering::Relaxed);
    }

    /// Number of times that it was heard of after it had been dead.
    pub fn returns(&self) -> u64 {
        self.returns.load(Ordering::Relaxed)
    }

    /// It ends, or is no member any more.
    pub fn leave(&self) {
        self.has_left.store(true, Ordering::Relaxed);
        lock(&self.idle).clear();
    }

    /// So many bytes of a block came from it in this time.
    pub fn measured(&self, bytes: usize, took: Duration) {
        lock(&self.rate).measured(bytes, took, self.own.now());
    }

    /// Which start of it was heard of last.
    pub fn incarnation(&self) -> u64 {
        self.incarnation.load(Ordering::Relaxed)
    }

    /// Why it was not reached the last time; `None` while it is.
    pub fn failure(&self) -> Option<String> {
        lock(&self.failure).clone().filter(|_| !self.is_live())
    }

    /// Asks it whether it is there, on a connection of its own, which is kept in `link`.
    pub fn look(&self, link: &mut Option<Link>) {
        let begun = Instant::now();
        let waits = || begun.elapsed() < DEAD;
        let looked = match link {
            Some(link) if link.is_of(&self.own.secret.keys()) => {
                link.ask(&PeerQuestion::Ping, waits, || self.hear()).map(|_| ())
            }
            _ => self.dial(&|| true).map(|dialled| *link = Some(dialled)),
        };
        if let Err(error) = looked {
            *link = None;
            *lock(&self.address) = None;
            *lock(&self.failure) = Some(error.to_string());
        }
    }

    /// Asks a live member on a connection that is free, and gives the payload to `take`; waits for
    /// as long as it lives, and `patience`.
    ///
    /// # Errors
    /// `HostUnreachable` where it does not live; those of connections.
    pub fn ask<T>(
        &self,
        question: &PeerQuestion,
        patience: Duration,
        take: impl FnOnce(PeerReply, &[u8]) -> T,
    ) -> io::Result<T> {
        let begun = Instant::now();
        let waits = || self.is_live() && begun.elapsed() < patience;
        let keys = self.own.secret.keys();
        loop {
            if !self.is_live() {
                return Err(ErrorKind::HostUnreachable.into());
            }
            let kept = lock(&self.idle).pop().filter(|link| link.is_of(&keys));
            // Nothing is done twice because an old connection was closed.
            let kept = kept.filter(|_| !question.is_change());
            let was_kept = kept.is_some();
            let mut link = match kept.map_or_else(|| self.dial(&waits), Ok) {
                // Many others may connect just now; nothing was asked yet.
                Err(error) if error.kind() == ErrorKind::TimedOut && waits() => continue,
                dialled => dialled?,
            };
            match link.ask(question, waits, || self.hear()) {
                Ok(reply) => {
                    let taken = take(reply, &link.payload);
                    // Hundreds of idle connections are to have no memory.
                    link.payload = Vec::new();
                    let mut idle = lock(&self.idle);
                    if idle.len() < IDLE_MAX {
                        idle.push(link);
                    }
                    return Ok(taken);
                }
                // The other end may have closed one that was not used for long.
                Err(error) if was_kept && is_closed(&error) => (),
                Err(error) => return Err(error),
            }
        }
    }

    fn dial(&self, waits: &dyn Fn() -> bool) -> io::Result<Link> {
        let known = *lock(&self.address);
        let address = match known {
            Some(address) => address,
            None => self.name.to_socket_addrs()?.next().ok_or(ErrorKind::NotFound)?,
        };
        *lock(&self.address) = Some(address);
        let Own { name, incarnation, block_bytes, secret, .. } = &*self.own;
        let ends = Ends { from: name, to: &self.name };
        let mut link = Link::dial(address, &secret.keys(), ends, waits)?;
        let hello = PeerQuestion::Hello { incarnation: *incarnation, block_bytes: *block_bytes };
        let begun = Instant::now();
        match link.ask(&hello, || waits() && begun.elapsed() < DEAD, || ())? {
            PeerReply::Welcome { incarnation, block_bytes: found } if found == *block_bytes => {
                self.incarnation.store(incarnation, Ordering::Relaxed);
                self.has_left.store(false, Ordering::Relaxed);
                self.hear();
                Ok(link)
            }
            PeerReply::Welcome { block_bytes: found, .. } => {
                let text = format!("its blocks have {found} bytes, those here {block_bytes}");
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

/// Who lives, as one member sees it.
#[derive(Clone)]
pub struct View {
    /// Live members, without this one.
    pub live: Vec<Arc<Member>>,
    /// The numbers of all of them, this one first.
    pub numbers: Vec<u64>,
    /// The same for members that see the same ones.
    pub id: u64,
}

impl View {
    /// Of these members.
    pub fn new<'a>(own: &Own, members: impl Iterator<Item = &'a Arc<Member>>) -> Self {
        let live: Vec<Arc<Member>> = members.filter(|one| one.is_live()).cloned().collect();
        let mut numbers = vec![number_of(&own.name)];
        numbers.extend(live.iter().map(|member| member.number));
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        let bytes: Vec<u8> = sorted.iter().flat_map(|number| number.to_le_bytes()).collect();
        let id = blake3::hash(&bytes);
        // As JSON of any language holds it.
        let id = u64::from_le_bytes(*id.as_bytes().first_chunk().unwrap_or(&[0; 8])) >> 11;
        Self { live, numbers, id }
    }

    /// The member at a place in `numbers`; `None` for this one.
    pub fn at(&self, place: usize) -> Option<&Arc<Member>> {
        place.checked_sub(1).and_then(|place| self.live.get(place))
    }

    /// A live member by name.
    pub fn named(&self, name: &str) -> Option<&Arc<Member>> {
        self.live.iter().find(|member| member.name == name)
    }
}

/// Members by name.
pub type MemberMap = HashMap<String, Arc<Member>>;
