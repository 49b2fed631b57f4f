//! The daemon: a store for the processes of one user, behind a socket in its folder.

mod conversation;
mod peering;

use std::fs;
use std::io::{self, BufReader, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, mpsc};
use std::time::{Duration, Instant};

use cuesta_core::budget::human;
use cuesta_core::error::Failure;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};

use crate::folder::StoreFolder;
pub use crate::folder::names::SOCKET;
use crate::open_files::raise_open_files;
use crate::path::StorePath;
use crate::peers::{PeerOptions, Peers};
use crate::pressure::MemoryGuard;
use crate::store::{AHEAD_BLOCKS, Store, StoreOptions};
use crate::under::layout::Layout;
use crate::under::posix::PosixUnder;
use crate::under::{Facts, Under};
use crate::wire::{self, DirectoryEntry, Reply, Status, WIRE};
use crate::writeback::WriteMode;
use conversation::Conversation;

/// Most parts of dead stores that the status lists.
const SWEPT_MAX: usize = 100;
/// Interval at which the daemon checks whether it is to stop.
const TICK: Duration = Duration::from_millis(20);

/// Options of a daemon.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Options of its store.
    pub store: StoreOptions,
    /// Write mode of files that name no mode.
    pub write: WriteMode,
    /// Time after a signal to write dirty files back to the under level.
    pub grace: Duration,
    /// Whether all memory is allocated before blocks need it.
    pub preallocates: bool,
    /// Options by which it finds the other stores of its job.
    pub peers: Option<PeerOptions>,
}

struct Daemon {
    store: Store,
    /// The other stores of the job, if there are any.
    peers: Option<Arc<Peers>>,
    under: PathBuf,
    /// Names in the store's folder that the store did not create, as of the daemon's start.
    foreign: Vec<String>,
    write: WriteMode,
    begun: Instant,
    /// Layout of the root of the under level.
    layout: Layout,
    connections: AtomicU64,
    /// Parts of dead stores that were removed at the start, the first of them.
    swept: Mutex<Vec<StorePath>>,
    is_stopping: AtomicBool,
    /// Whether commits are refused: the dirty files at that moment are all that remain to be
    /// written.
    is_closing: RwLock<bool>,
}

/// Serves the store in `folder` over the files under `under` until a client stops it or `progress`
/// is cancelled, then writes dirty files back to the under level and frees its memory; calls
/// `ready` once clients can connect.
///
/// # Errors
/// `Input` where another daemon uses the folder, or as [`Store::open`]; `System`. Where dirty files
/// remain, the folder does too, for the next store.
pub fn serve(
    folder: &Path,
    under: &Path,
    options: ServeOptions,
    progress: &Progress,
    ready: impl FnOnce(),
) -> Result<()> {
    let failed = |cause| Error::system("store", "making", folder, &cause);
    raise_open_files();
    let root = PosixUnder::open(under)?;
    let layout = root.layout(&StorePath::default()).unwrap_or(Layout::PLAIN);
    let block_bytes = options.store.block_bytes;
    let claimed = StoreFolder::claim(folder, under, block_bytes)?;
    claimed.check()?;
    let foreign = claimed.foreign()?;
    let store = Store::open(Box::new(root), folder, options.store)?;
    let lineage = if store.has_promised_files() { claimed.lineage() } else { 0 };
    let open = |peers| Peers::open(&peers, block_bytes, folder, lineage);
    let (peers, peer_listener) = options.peers.map(open).transpose()?.unzip();
    let socket = folder.join(SOCKET);
    if fs::symlink_metadata(&socket).is_ok_and(|facts| facts.file_type().is_socket()) {
        let _ = fs::remove_file(&socket);
    }
    let listener = UnixListener::bind(&socket).map_err(failed)?;
    // The timeout lets the loop check regularly whether the daemon is to stop, without delaying
    // clients.
    set_socket_timeout(&listener, Timeout::Recv, Some(TICK))
        .map_err(|errno| failed(errno.into()))?;
    let daemon = Arc::new(Daemon {
        store,
        peers,
        under: under.to_owned(),
        foreign,
        write: options.write,
        begun: Instant::now(),
        layout,
        connections: AtomicU64::new(0),
        swept: Mutex::default(),
        is_stopping: AtomicBool::new(false),
        is_closing: RwLock::new(false),
    });
    for _ in 0..AHEAD_BLOCKS {
        daemon.spawn("cuesta-ahead", |daemon| daemon.store.fill_ahead()).map_err(failed)?;
    }
    daemon.spawn("cuesta-back", |daemon| daemon.store.write_back()).map_err(failed)?;
    daemon.spawn("cuesta-sweep", |daemon| daemon.sweep()).map_err(failed)?;
    if options.preallocates {
        daemon.spawn("cuesta-memory", |daemon| daemon.store.prepare_memory()).map_err(failed)?;
    }
    if let Some((peers, listener)) = daemon.peers.as_ref().zip(peer_listener) {
        daemon.connect_peers(peers, listener).map_err(failed)?;
    }
    let mut guard = MemoryGuard::new(daemon.store.options().memory_bytes);
    guard.look(&daemon.store);
    ready();
    while !daemon.is_stopping.load(Ordering::Relaxed) && progress.advance(0).is_ok() {
        match listener.accept() {
            Ok((stream, _)) => daemon.admit(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => (),
            Err(_) => std::thread::sleep(TICK),
        }
        guard.look(&daemon.store);
    }
    let _ = fs::remove_file(&socket);
    daemon.shut_down(&claimed, options.grace)?;
    claimed.release()
}

/// Describes memory-only files in words.
fn memory_text(files: &[(StorePath, u64)]) -> String {
    let bytes = files.iter().map(|(_, size_bytes)| size_bytes).sum();
    let first: Vec<String> = files.iter().take(3).map(|(path, _)| path.to_string()).collect();
    let more = if files.len() > first.len() { ", ..." } else { "" };
    let (count, bytes, first) = (files.len(), human(bytes), first.join(", "));
    let verb = if count == 1 { "file is" } else { "files are" };
    format!("{count} {verb} in memory alone: {bytes} ({first}{more})")
}

impl Daemon {
    /// Ends threads, and after a signal writes dirty files back within `grace`.
    fn shut_down(self: &Arc<Self>, folder: &StoreFolder, grace: Duration) -> Result<()> {
        self.store.end_ahead();
        self.store.end_write_back();
        if !self.is_stopping.load(Ordering::Relaxed) {
            self.drain_within(grace).inspect_err(|error| {
                let _ = folder.note_remaining(&error.message());
            })?;
        }
        if let Some(peers) = &self.peers {
            peers.end();
        }
        let lost = self.store.memory_only();
        if !self.is_stopping.load(Ordering::Relaxed) && !lost.is_empty() {
            // A job has ended without a flush of these files; its log reports what was lost.
            let line = format!("store: {}; they end with the store\n", memory_text(&lost));
            let _ = io::stderr().write_all(line.as_bytes());
        }
        // Files that clients have not closed are hidden files on the under level.
        self.store.abandon_all();
        Ok(())
    }

    /// Starts a thread, which ends with the process at the latest.
    fn spawn(
        self: &Arc<Self>,
        name: &str,
        work: impl FnOnce(&Self) + Send + 'static,
    ) -> io::Result<()> {
        let daemon = Arc::clone(self);
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(move || work(&daemon)).map(|_| ())
    }

    fn set_closing(&self, is_closing: bool) {
        *self.is_closing.write().unwrap_or_else(PoisonError::into_inner) = is_closing;
    }

    /// As [`drain`](Self::drain), for a user who stops the store: memory-only files, which would be
    /// lost, prevent that, unless the user `discards_memory`.
    fn drain_to_stop(&self, discards_memory: bool) -> Result<()> {
        self.set_closing(true);
        let files = if discards_memory { vec![] } else { self.store.memory_only() };
        if files.is_empty() {
            return self.drain();
        }
        self.set_closing(false);
        let text = format!(
            "{}, and would end with the store; bring each to the folder with `cuesta store flush \
             PATH`, or give them up with `cuesta store stop --discard-memory-files`",
            memory_text(&files)
        );
        Err(Error::input("store", text))
    }

    /// Removes part files that dead stores, of this folder or another, left on the under level.
    fn sweep(&self) {
        let mut swept = self.store.sweep_known();
        swept.truncate(SWEPT_MAX);
        *lock(&self.swept) = swept;
    }

    /// Refuses commits, and writes dirty files back to the under level; accepts commits again where
    /// that fails.
    fn drain(&self) -> Result<()> {
        self.set_closing(true);
        self.store.flush(None).map_err(|error| {
            self.set_closing(false);
            let dirty = self.store.dirty();
            let names: Vec<String> = dirty.iter().take(3).map(ToString::to_string).collect();
            let text = format!(
                "{} files are not on the under level yet ({}): {}",
                dirty.len(),
                names.join(", "),
                error.sentence(),
            );
            Error { failure: Failure::Sentence(text), ..error }
        })?;
        Ok(())
    }

    fn drain_within(self: &Arc<Self>, grace: Duration) -> Result<()> {
        let (done, drained) = mpsc::channel();
        let spawned = self.spawn("cuesta-drain", move |daemon| {
            let _ = done.send(daemon.drain());
        });
        if spawned.is_err() {
            return self.drain();
        }
        drained.recv_timeout(grace).unwrap_or_else(|_| {
            let text = format!(
                "{} files are not on the under level after {} s, and stay in memory; start the \
                 store again with the same folder",
                self.store.dirty().len(),
                grace.as_secs()
            );
            Err(Error::input("store", text))
        })
    }

    /// Starts a thread for a client of this user; closes the connection of any other user.
    fn admit(self: &Arc<Self>, stream: UnixStream) {
        let user = rustix::process::geteuid();
        if socket_peercred(&stream).is_ok_and(|peer| peer.uid == user) {
            let daemon = Arc::clone(self);
            let thread = std::thread::Builder::new().name("cuesta-store".to_owned());
            // Without a thread the client sees the connection closed, and continues without the
            // store.
            let _ = thread.spawn(move || daemon.converse(&stream));
        }
    }

    /// Answers a client until it ends; then releases its leases and files.
    fn converse(&self, stream: &UnixStream) {
        self.connections.fetch_add(1, Ordering::Relaxed);
        let mut connection = Conversation::new(self);
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
            wire: WIRE,
            pid: std::process::id(),
            uptime_seconds: self.begun.elapsed().as_secs_f64(),
            under: self.under.clone(),
            policy: options.policy.to_string(),
            memory_bytes: options.memory_bytes,
            block_bytes: options.block_bytes,
            connections: self.connections.load(Ordering::Relaxed),
            write: self.write,
            failure: self.store.last_failure(),
            counts: self.store.counts(),
            admission: options.has_admission,
            limit_bytes: self.store.limit_bytes(),
            quotas: self.store.quotas(),
            prepared_bytes: self.store.prepared_bytes(),
            ledger_bytes: self.store.ledger_bytes(),
            layout: self.layout,
            conflicts: self.store.conflicts(),
            swept: lock(&self.swept).clone(),
            peers: self.peers.as_ref().map(|peers| peers.status()),
            foreign: self.foreign.clone(),
        }
    }

    fn entry(&self, path: &StorePath, facts: Facts) -> DirectoryEntry {
        DirectoryEntry {
            name: path.name().to_owned(),
            is_folder: facts.is_folder,
            size_bytes: if facts.is_folder { 0 } else { facts.version.size_bytes },
            modified_ns: facts.version.modified_ns,
            memory_bytes: self.store.bytes_in_memory(path),
            permissions: Some(facts.permissions),
            link: facts.is_folder.then(|| self.store.under().link(path).ok()).flatten().flatten(),
            layout: None,
        }
    }

    fn stat(&self, path: &StorePath) -> Result<Reply> {
        let facts = self.store.facts(path)?;
        // Memory-only files have no layout.
        let layout = self.store.under().layout(path).ok();
        Ok(Reply::Entries { entries: vec![DirectoryEntry { layout, ..self.entry(path, facts) }] })
    }

    fn list(&self, folder: &StorePath) -> Result<Reply> {
        let mut entries = Vec::new();
        for (name, facts) in self.store.list_facts(folder)? {
            entries.push(self.entry(&folder.join(&name)?, facts));
        }
        Ok(Reply::Entries { entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::policy::PolicyName;
    use crate::store::Freshness;
    use crate::wire::Question;
    use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
    use std::sync::mpsc;

    const OPTIONS: ServeOptions = ServeOptions {
        store: StoreOptions {
            memory_bytes: 10_000,
            block_bytes: 1000,
            policy: PolicyName::Lru,
            freshness: Freshness::OnOpen,
            has_admission: true,
            rules: vec![],
            stripes: None,
            stripe_bytes: 1000,
        },
        write: WriteMode::Through,
        grace: Duration::from_secs(10),
        preallocates: false,
        peers: None,
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
            let (mut first, mut second) = (Client::connect(memory), Client::connect(memory));
            let number = first.open("cuesta:///a");
            assert_eq!(number, second.open("/a"));
            let lease = Question::Lease { number, index: 2 };
            let Reply::Leased { path: Some(path), size_bytes, .. } = first.ask(&lease) else {
                panic!("it has room")
            };
            assert_eq!((size_bytes, fs::read(path).unwrap()), (500, content[2000..].to_vec()));
            first.ask(&lease);
            second.ask(&lease);
            let read = Question::Read { number, offset: 900, bytes: 1300 };
            assert_eq!(second.ask(&read), Reply::Moved { bytes: 1300 });
            assert_eq!(second.1, content[900..2200]);
            assert_eq!((second.status().counts.leases, second.status().connections), (3, 2));
            drop(first);
            while second.status().connections > 1 {
                std::thread::yield_now();
            }
            assert_eq!(second.status().counts.leases, 1);
            assert_eq!((second.status().counts.hits, second.status().counts.misses), (3, 3));
        });
    }

    #[test]
    fn a_connection_cannot_read_files_that_it_has_not_opened() {
        with_daemon(|memory, under| {
            fs::write(under.join("a"), b"text").unwrap();
            let (mut first, mut second) = (Client::connect(memory), Client::connect(memory));
            let number = first.open("a");
            for question in [
                Question::Lease { number, index: 0 },
                Question::Read { number, offset: 0, bytes: 4 },
            ] {
                assert!(matches!(second.ask(&question), Reply::Refused { is_input: true, .. }));
            }
            second.ask(&Question::Release { number, index: 0 });
            second.ask(&Question::Close { number });
            assert!(matches!(
                first.ask(&Question::Lease { number, index: 1 }),
                Reply::Refused { is_input: true, .. }
            ));
            let missing = first.ask(&Question::Open { path: "b".parse().unwrap() });
            assert!(matches!(missing, Reply::Refused { is_input: false, .. }));
        });
    }

    #[test]
    fn a_folder_serves_a_single_daemon() {
        with_daemon(|memory, under| {
            let (progress, ready) = (Progress::default(), || panic!("it must not be ready"));
            let error = serve(memory, under, OPTIONS, &progress, ready).unwrap_err();
            assert!(error.message().contains("runs in"), "{}", error.message());
            Client::connect(memory).ask(&Question::Ping);
        });
    }

    #[test]
    fn an_invalid_message_ends_only_its_conversation() {
        with_daemon(|memory, _| {
            let mut wrong = UnixStream::connect(memory.join(SOCKET)).unwrap();
            io::Write::write_all(&mut wrong, &[255; 64]).unwrap();
            assert_eq!(io::Read::read(&mut wrong, &mut [0; 8]).unwrap_or(0), 0);
            let mut client = Client::connect(memory);
            assert_eq!(client.ask(&Question::Ping), Reply::Done { done: true });
            client.ask(&Question::Stop { discards: false, discards_memory: false });
            while memory.exists() {
                std::thread::yield_now();
            }
        });
    }
}
