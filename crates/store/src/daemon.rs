//! The daemon: a store for many processes of one user, behind a socket in its folder.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use rustix::fs::FlockOperation;
use rustix::net::sockopt::socket_peercred;

use crate::memory::{BlockKey, MemoryTier};
use crate::path::StorePath;
use crate::steps::Steps;
use crate::store::{BlockLease, Store, StoreOptions, system};
use crate::under::posix::PosixUnder;
use crate::under::{Facts, Under};
use crate::wire::{self, DirectoryEntry, PAYLOAD_BYTES_MAX, Question, Reply, Status};

/// The socket in the folder of a store.
pub const SOCKET: &str = "socket";
/// What the daemon holds locked while it lives.
const LOCK: &str = "lock";
/// Threads that fill blocks ahead: one reads while the other writes to memory.
const FILLERS: usize = 2;
/// How often a daemon looks whether it is to stop.
const TICK: Duration = Duration::from_millis(20);

struct Daemon {
    store: Store,
    under: PathBuf,
    begun: Instant,
    connections: AtomicU64,
    stops: AtomicBool,
}

/// Serves the store in `folder` over the files under `under` until it is told to stop or `progress`
/// is cancelled, then gives its memory back; calls `ready` once clients can connect.
///
/// # Errors
/// `Input` where another daemon has the folder, or as [`Store::open`]; `System`.
pub fn serve(
    folder: &Path,
    under: &Path,
    options: StoreOptions,
    progress: &Progress,
    ready: impl FnOnce(),
) -> Result<()> {
    let failed = |cause| Error::system("store", "making", folder, &cause);
    MemoryTier::open(folder, Steps::default())?;
    let lock = File::create(folder.join(LOCK)).map_err(failed)?;
    if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        let text = format!(
            "a store runs in {} already; stop it, or name another folder by $CUESTA_STORE",
            folder.display()
        );
        return Err(Error::input("store", text));
    }
    let root = PosixUnder::open(under)?;
    let store = Store::open(Box::new(root), folder, options)?;
    let socket = folder.join(SOCKET);
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let daemon = Arc::new(Daemon {
        store,
        under: under.to_owned(),
        begun: Instant::now(),
        connections: AtomicU64::new(0),
        stops: AtomicBool::new(false),
    });
    let fillers = (0..FILLERS).map(|_| filler(&daemon)).collect::<io::Result<Vec<_>>>();
    let fillers = fillers.map_err(failed)?;
    ready();
    while !daemon.stops.load(Ordering::Relaxed) && progress.advance(0).is_ok() {
        match listener.accept() {
            Ok((stream, _)) => daemon.admit(stream),
            Err(_) => std::thread::sleep(TICK),
        }
    }
    let _ = fs::remove_file(&socket);
    daemon.store.end_ahead();
    for filler in fillers {
        filler.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
    fs::remove_dir_all(folder).map_err(|cause| Error::system("store", "removing", folder, &cause))
}

/// Starts a thread that fills blocks ahead.
fn filler(daemon: &Arc<Daemon>) -> io::Result<JoinHandle<()>> {
    let daemon = Arc::clone(daemon);
    let thread = std::thread::Builder::new().name("cuesta-ahead".to_owned());
    thread.spawn(move || daemon.store.fill_ahead())
}

impl Daemon {
    /// Starts a thread for a client of this user; others are sent away.
    fn admit(self: &Arc<Self>, stream: UnixStream) {
        let own = rustix::process::geteuid();
        if socket_peercred(&stream).is_ok_and(|peer| peer.uid == own) {
            let daemon = Arc::clone(self);
            let thread = std::thread::Builder::new().name("cuesta-store".to_owned());
            // Without a thread the client finds the connection closed, and goes past the store.
            let _ = thread.spawn(move || daemon.converse(&stream));
        }
    }

    /// Answers a client until it ends; what it still holds is given back then.
    fn converse(&self, stream: &UnixStream) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        let mut connection = Connection { daemon: self, opens: vec![], leases: HashMap::new() };
        let _ = stream.set_nonblocking(false);
        let mut from = BufReader::new(stream);
        let mut payload = Vec::new();
        while let Ok(Some(text)) = wire::receive(&mut from, &mut payload) {
            payload.clear();
            let reply =
                wire::parsed(&text).and_then(|question| connection.answer(&question, &mut payload));
            let reply = reply.unwrap_or_else(|error| Reply::refused(&error));
            let mut to = stream;
            if wire::send(&mut to, &reply, &payload).is_err() {
                break;
            }
        }
        drop(connection);
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    fn status(&self) -> Status {
        let options = self.store.options();
        Status {
            pid: std::process::id(),
            uptime_seconds: self.begun.elapsed().as_secs_f64(),
            under: self.under.clone(),
            policy: options.policy.to_string(),
            memory_bytes: options.memory_bytes,
            block_bytes: options.block_bytes,
            connections: self.connections.load(Ordering::Relaxed),
            counts: self.store.counts(),
        }
    }

    fn entry(&self, path: &StorePath, facts: Facts) -> DirectoryEntry {
        DirectoryEntry {
            name: path.name().to_owned(),
            is_folder: facts.is_folder,
            size_bytes: if facts.is_folder { 0 } else { facts.version.size_bytes },
            modified_ns: facts.version.modified_ns,
            memory_bytes: self.store.bytes_in_memory(path),
        }
    }

    fn stat(&self, path: &StorePath) -> Result<Reply> {
        let facts =
            self.store.under().facts(path).map_err(|cause| system("reading", path, &cause))?;
        Ok(Reply::Entries { entries: vec![self.entry(path, facts)] })
    }

    fn list(&self, folder: &StorePath) -> Result<Reply> {
        let under: &dyn Under = self.store.under();
        let mut entries = Vec::new();
        for name in under.list(folder).map_err(|cause| system("reading", folder, &cause))? {
            // One that is gone meanwhile, or leads out of the root, is not there.
            let path = folder.join(&name)?;
            if let Ok(facts) = under.facts(&path) {
                entries.push(self.entry(&path, facts));
            }
        }
        Ok(Reply::Entries { entries })
    }
}

/// A client, and what it holds.
struct Connection<'a> {
    daemon: &'a Daemon,
    opens: Vec<u64>,
    leases: HashMap<BlockKey, u64>,
}

impl Connection<'_> {
    fn answer(&mut self, question: &Question, payload: &mut Vec<u8>) -> Result<Reply> {
        let Daemon { store, stops, .. } = self.daemon;
        let done = Ok(Reply::Done { done: true });
        match *question {
            Question::Ping => done,
            Question::Status => Ok(Reply::Status(Box::new(self.daemon.status()))),
            Question::Open { ref path } => {
                let file = store.open_file(path)?;
                self.opens.push(file.number);
                Ok(Reply::Opened {
                    number: file.number,
                    block_bytes: store.options().block_bytes,
                    file: path.below(&self.daemon.under),
                    version: file.version,
                })
            }
            Question::Close { number } => {
                if let Some(place) = self.opens.iter().position(|&open| open == number) {
                    self.opens.swap_remove(place);
                    store.close(number);
                }
                done
            }
            Question::Lease { number, index } => self.lease(BlockKey { file: number, index }),
            Question::Release { number, index } => {
                self.release(BlockKey { file: number, index });
                done
            }
            Question::Read { number, offset, bytes } => self.read((number, offset), bytes, payload),
            Question::Stat { ref path } => self.daemon.stat(path),
            Question::List { ref path } => self.daemon.list(path),
            Question::Load { ref path } => store.load(path).map(|bytes| Reply::Moved { bytes }),
            Question::Pin { ref path } => store.pin(path).map(|bytes| Reply::Moved { bytes }),
            Question::Unpin { ref path } => {
                store.unpin(path);
                done
            }
            Question::Free { ref path } => store.free(path).map(|bytes| Reply::Moved { bytes }),
            Question::Trace { ref file } => {
                store.trace(file.as_deref())?;
                done
            }
            Question::Scrub => Ok(Reply::Scrubbed { damaged: store.scrub() }),
            Question::Stop => {
                stops.store(true, Ordering::Relaxed);
                done
            }
        }
    }

    fn check_open(&self, number: u64) -> Result<()> {
        if self.opens.contains(&number) {
            return Ok(());
        }
        Err(Error::input("store", format!("file {number} is not open on this connection")))
    }

    fn lease(&mut self, key: BlockKey) -> Result<Reply> {
        self.check_open(key.file)?;
        Ok(match self.daemon.store.lease(key)? {
            BlockLease::Memory(block, path) => {
                *self.leases.entry(key).or_default() += 1;
                let (size_bytes, checksum) = (block.size_bytes, block.checksum);
                Reply::Leased { path: Some(path), size_bytes, checksum }
            }
            BlockLease::Bypass => Reply::Leased { path: None, size_bytes: 0, checksum: 0 },
        })
    }

    fn release(&mut self, key: BlockKey) {
        if let Some(count) = self.leases.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                self.leases.remove(&key);
            }
            self.daemon.store.release(key);
        }
    }

    /// Bytes from memory where their block comes there, else from the under level.
    fn read(&self, (number, offset): (u64, u64), bytes: u32, to: &mut Vec<u8>) -> Result<Reply> {
        self.check_open(number)?;
        if bytes > PAYLOAD_BYTES_MAX {
            let text = format!("{bytes} bytes are more than {PAYLOAD_BYTES_MAX} at once");
            return Err(Error::input("store", text));
        }
        to.resize(bytes as usize, 0);
        self.daemon.store.read(number, to, offset)?;
        Ok(Reply::Moved { bytes: bytes.into() })
    }
}

impl Drop for Connection<'_> {
    fn drop(&mut self) {
        for (&key, &count) in &self.leases {
            (0..count).for_each(|_| self.daemon.store.release(key));
        }
        self.opens.iter().for_each(|&number| self.daemon.store.close(number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::PolicyName;
    use crate::store::Freshness;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::mpsc;

    const OPTIONS: StoreOptions = StoreOptions {
        memory_bytes: 10_000,
        block_bytes: 1000,
        policy: PolicyName::Lru,
        freshness: Freshness::OnOpen,
    };

    /// Runs `test` with the folders of a daemon that serves them until it ends.
    fn with_daemon(test: impl FnOnce(&Path, &Path)) {
        let folder = tempfile::tempdir().unwrap();
        let (memory, under) = (folder.path().join("memory"), folder.path().join("under"));
        fs::create_dir(&under).unwrap();
        let progress = Progress::default();
        let (ready, wait) = mpsc::channel();
        std::thread::scope(|scope| {
            let daemon = scope
                .spawn(|| serve(&memory, &under, OPTIONS, &progress, || ready.send(()).unwrap()));
            wait.recv().unwrap();
            let tested = catch_unwind(AssertUnwindSafe(|| test(&memory, &under)));
            progress.cancel();
            daemon.join().unwrap().unwrap();
            tested.unwrap_or_else(|panic| resume_unwind(panic));
        });
        assert!(!memory.exists());
    }

    struct Client(UnixStream, Vec<u8>);

    impl Client {
        fn connect(memory: &Path) -> Self {
            Self(UnixStream::connect(memory.join(SOCKET)).unwrap(), Vec::new())
        }

        fn ask(&mut self, question: &Question) -> Reply {
            wire::send(&mut self.0, question, &[]).unwrap();
            let text = wire::receive(&mut self.0, &mut self.1).unwrap().unwrap();
            wire::parsed(&text).unwrap()
        }

        fn open(&mut self, path: &str) -> u64 {
            match self.ask(&Question::Open { path: path.parse().unwrap() }) {
                Reply::Opened { number, .. } => number,
                other => panic!("{other:?}"),
            }
        }

        fn status(&mut self) -> Status {
            match self.ask(&Question::Status) {
                Reply::Status(status) => *status,
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn clients_share_blocks_and_give_back_what_they_held() {
        with_daemon(|memory, under| {
            let content: Vec<u8> = (0..2500).map(|place| (place * 7 / 3) as u8).collect();
            fs::write(under.join("a"), &content).unwrap();
            std::thread::sleep(Duration::from_millis(120));
            let (mut one, mut two) = (Client::connect(memory), Client::connect(memory));
            let number = one.open("cuesta:///a");
            assert_eq!(number, two.open("/a"));
            let lease = Question::Lease { number, index: 2 };
            let Reply::Leased { path: Some(path), size_bytes, .. } = one.ask(&lease) else {
                panic!("it has room")
            };
            assert_eq!((size_bytes, fs::read(path).unwrap()), (500, content[2000..].to_vec()));
            one.ask(&lease);
            two.ask(&lease);
            let read = Question::Read { number, offset: 900, bytes: 1300 };
            assert_eq!(two.ask(&read), Reply::Moved { bytes: 1300 });
            assert_eq!(two.1, content[900..2200]);
            assert_eq!((two.status().counts.leases, two.status().connections), (3, 2));
            drop(one);
            while two.status().connections > 1 {
                std::thread::yield_now();
            }
            assert_eq!(two.status().counts.leases, 1);
            assert_eq!((two.status().counts.hits, two.status().counts.misses), (3, 3));
        });
    }

    #[test]
    fn what_a_connection_has_not_opened_it_cannot_read() {
        with_daemon(|memory, under| {
            fs::write(under.join("a"), b"text").unwrap();
            let (mut one, mut two) = (Client::connect(memory), Client::connect(memory));
            let number = one.open("a");
            for question in [
                Question::Lease { number, index: 0 },
                Question::Read { number, offset: 0, bytes: 4 },
            ] {
                assert!(matches!(two.ask(&question), Reply::Refused { is_input: true, .. }));
            }
            two.ask(&Question::Release { number, index: 0 });
            two.ask(&Question::Close { number });
            assert!(matches!(
                one.ask(&Question::Lease { number, index: 1 }),
                Reply::Refused { is_input: true, .. }
            ));
            let missing = one.ask(&Question::Open { path: "b".parse().unwrap() });
            assert!(matches!(missing, Reply::Refused { is_input: false, .. }));
        });
    }

    #[test]
    fn a_folder_serves_one_daemon_at_a_time() {
        with_daemon(|memory, under| {
            let (progress, ready) = (Progress::default(), || panic!("it must not be ready"));
            let error = serve(memory, under, OPTIONS, &progress, ready).unwrap_err();
            assert!(error.message.contains("runs in"), "{}", error.message);
            Client::connect(memory).ask(&Question::Ping);
        });
    }

    #[test]
    fn what_is_no_message_ends_the_conversation_alone() {
        with_daemon(|memory, _| {
            let mut wrong = UnixStream::connect(memory.join(SOCKET)).unwrap();
            io::Write::write_all(&mut wrong, &[255; 64]).unwrap();
            assert_eq!(io::Read::read(&mut wrong, &mut [0; 8]).unwrap_or(0), 0);
            let mut client = Client::connect(memory);
            assert_eq!(client.ask(&Question::Ping), Reply::Done { done: true });
            client.ask(&Question::Stop);
            while memory.exists() {
                std::thread::yield_now();
            }
        });
    }
}
