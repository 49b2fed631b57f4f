//! A FUSE mount of the store, for programs that need paths. It is a client of the daemon, in a
//! process of its own.
//!
//! A file that is read is one version from open to close. A file that is written goes into blocks
//! of the store, and gets its name when it is closed.

mod attributes;
mod content;
mod filesystem;
mod limits;
mod moves;
mod names;
mod nodes;
mod permit;

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;
use fuser::{MountOption, Session};

use crate::client::limits::Patience;
use crate::client::{Client, StoreLink};
use crate::open_files::raise_open_files;
use crate::wire::{Question, Reply, Status};
use crate::writeback::WriteMode;
use filesystem::MountedTree;
use limits::{AHEAD_KIBIBYTES, RETRY, THREADS, TICK};
use names::ListedName;
use nodes::{MountNode, NodeTable};

/// Options of a mount.
#[derive(Clone, Debug)]
pub struct MountOptions {
    /// The folder of the store.
    pub store: PathBuf,
    /// The mount point, an empty folder.
    pub place: PathBuf,
    /// Write mode; the store's default if not given.
    pub write: Option<WriteMode>,
}

/// The tree of files and folders of a store, as the kernel knows it.
#[derive(Debug)]
pub struct MountTree {
    link: StoreLink,
    client: Client,
    mode: Option<WriteMode>,
    /// Whether a closed file may be only in memory.
    promises_later: bool,
    user: u32,
    group: u32,
    nodes: Mutex<NodeTable>,
    handles: Mutex<HashMap<u64, Arc<OpenHandle>>>,
    next_handle: AtomicU64,
    /// Write-locked while a folder is renamed, and read-locked while a file is written.
    moves: RwLock<()>,
}

/// A file or folder that a process has open.
#[derive(Debug)]
struct OpenHandle {
    node: Arc<MountNode>,
    writes: bool,
    /// Entries of a folder when it was opened.
    names: Vec<ListedName>,
}

/// Space of a mount.
#[derive(Clone, Copy, Debug)]
struct MountRoom {
    all_bytes: u64,
    free_bytes: u64,
}

/// Serves a mount until it is unmounted or `progress` is cancelled; then commits open files, and
/// unmounts it. Calls `ready` once paths can be used.
///
/// # Errors
/// `Input` where no store runs, or the system does not allow FUSE to this user; `System`.
pub fn serve(options: &MountOptions, progress: &Progress, ready: impl FnOnce()) -> Result<()> {
    let MountOptions { store, place, write } = options;
    let failed = |cause: io::Error| Error::system("mount", "mounting", place, &cause);
    let tree = Arc::new(MountTree::over(store, *write).map_err(failed)?);
    raise_open_files();
    let mut config = fuser::Config::default();
    config.mount_options = vec![
        MountOption::FSName("cuesta".to_owned()),
        MountOption::Subtype("cuesta".to_owned()),
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::NoAtime,
    ];
    config.n_threads = Some(THREADS);
    config.clone_fd = true;
    let session = Session::new(MountedTree(Arc::clone(&tree)), place, &config);
    let session = session.and_then(Session::spawn).map_err(failed)?;
    read_ahead(place);
    ready();
    while !session.guard.is_finished() && progress.advance(0).is_ok() {
        std::thread::sleep(TICK);
    }
    tree.commit_all();
    if session.guard.is_finished() {
        return session.join().map_err(failed);
    }
    // A mount that is in use is detached now, and ends with this process. For a user who is not
    // root, `fusermount3` does it when the session is dropped.
    let _ = rustix::mount::unmount(place, rustix::mount::UnmountFlags::DETACH);
    drop(session);
    tree.commit_all();
    Ok(())
}

/// Has the kernel read further ahead than by default, which requires root.
fn read_ahead(place: &Path) {
    let Ok(facts) = std::fs::metadata(place) else { return };
    let (major, minor) = (rustix::fs::major(facts.dev()), rustix::fs::minor(facts.dev()));
    let setting = format!("/sys/class/bdi/{major}:{minor}/read_ahead_kb");
    let _ = std::fs::write(setting, AHEAD_KIBIBYTES.to_string());
}

impl MountTree {
    /// Connects to the store in a folder.
    ///
    /// # Errors
    /// `NotConnected` where no store runs.
    fn over(store: &Path, mode: Option<WriteMode>) -> io::Result<Self> {
        let patience = Patience { retry: RETRY, ..Patience::default() };
        let client = Client::connect(store, patience)?;
        let link = StoreLink::new(store);
        let default = status(&link)?.write;
        let mode_used = mode.unwrap_or(default);
        Ok(Self {
            link,
            client,
            mode,
            promises_later: matches!(mode_used, WriteMode::Memory | WriteMode::Back),
            user: rustix::process::geteuid().as_raw(),
            group: rustix::process::getegid().as_raw(),
            nodes: Mutex::new(NodeTable::new()),
            handles: Mutex::default(),
            next_handle: AtomicU64::new(1),
            moves: RwLock::new(()),
        })
    }

    /// Commits all open files with the bytes written so far.
    fn commit_all(&self) {
        let _moves = self.moves.read().unwrap_or_else(PoisonError::into_inner);
        let nodes = lock(&self.nodes).all();
        for node in nodes {
            // No process is left that could receive the error.
            let _ = self.commit(&node, &mut lock(&node.state));
        }
    }

    /// Returns the space of the mount: memory, where files are written there, and the under level,
    /// which takes files that have no room in memory.
    fn room(&self) -> io::Result<MountRoom> {
        let status = status(&self.link)?;
        let under = rustix::fs::statvfs(&status.under)?;
        let mut room = MountRoom {
            all_bytes: under.f_blocks * under.f_frsize,
            free_bytes: under.f_bavail * under.f_frsize,
        };
        if self.promises_later {
            let counts = &status.counts;
            let used_bytes = counts.dirty_bytes + counts.memory_only_bytes + counts.pinned_bytes;
            room.all_bytes += status.memory_bytes;
            room.free_bytes += status.limit_bytes.saturating_sub(used_bytes);
        }
        Ok(room)
    }
}

fn status(link: &StoreLink) -> io::Result<Status> {
    match link.ask(&Question::Status)? {
        Reply::Status(status) => Ok(*status),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
