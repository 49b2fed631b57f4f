//! Stores over a folder, for tests.
#![allow(clippy::unwrap_used, dead_code, unused_imports)]

pub mod job;
pub mod scenario;

use std::path::Path;
use std::time::{Duration, SystemTime};

use cuesta_core::progress::Progress;
use cuesta_store::cache::policy::PolicyName;
use cuesta_store::client::limits::Patience;
pub use cuesta_store::conformance::{at, bytes, read, read_open, write, write_blocks};
use cuesta_store::daemon::ServeOptions;
use cuesta_store::store::{Freshness, Store, StoreOptions};
use cuesta_store::under::Under;
use cuesta_store::under::posix::PosixUnder;
use cuesta_store::writeback::WriteMode;
use tempfile::TempDir;

pub const BLOCK: u64 = 1000;

pub struct Setting {
    pub folder: TempDir,
    pub options: StoreOptions,
}

impl Setting {
    /// Creates a setting whose memory has room for `blocks` blocks.
    pub fn new(blocks: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("under")).unwrap();
        Self { folder, options: options(blocks) }
    }

    pub fn under(&self) -> PosixUnder {
        PosixUnder::open(&self.folder.path().join("under")).unwrap()
    }

    pub fn store(&self) -> Store {
        self.store_over(Box::new(self.under()))
    }

    pub fn store_over(&self, under: Box<dyn Under>) -> Store {
        Store::open(under, &self.folder.path().join("memory"), self.options.clone()).unwrap()
    }

    /// Writes a file, and waits until its change is old.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.folder.path().join("under").join(name);
        std::fs::write(&path, bytes).unwrap();
        settle(&path);
    }

    /// Returns the paths in the folder of blocks.
    pub fn block_files(&self) -> Vec<std::path::PathBuf> {
        let blocks = self.folder.path().join("memory/blocks");
        std::fs::read_dir(blocks).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

/// Returns options of a daemon with such a store.
pub fn serving(store: StoreOptions) -> ServeOptions {
    let grace = Duration::from_secs(10);
    ServeOptions { store, write: WriteMode::Through, grace, preallocates: false, peers: None }
}

/// Waits until the file's last change is older than the clock's tick.
pub fn settle(path: &Path) {
    use std::os::unix::fs::MetadataExt;
    let facts = std::fs::metadata(path).unwrap();
    let changed = SystemTime::UNIX_EPOCH
        + Duration::new(facts.ctime() as u64, facts.ctime_nsec() as u32)
        + Duration::from_millis(101);
    if let Ok(remaining) = changed.duration_since(SystemTime::now()) {
        std::thread::sleep(remaining);
    }
}

/// Ends a daemon of this process, also where the test that uses it fails.
struct CancelOnDrop<'a>(&'a Progress);

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Returns timeouts after which a busy machine is not taken for a store that hangs.
pub fn patient() -> Patience {
    let long = Duration::from_secs(300);
    Patience { answer: long, ping: long, ..Patience::default() }
}

/// Serves a setting in this process while `test` runs with the folder of its memory.
pub fn with_daemon(setting: &Setting, test: impl FnOnce(&Path)) {
    let (memory, under) = (setting.folder.path().join("memory"), setting.under());
    let options = serving(setting.options.clone());
    let progress = Progress::default();
    let (ready, wait) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let cancel = CancelOnDrop(&progress);
        let serve = || {
            let (ready, progress) = (ready, &progress);
            let ready = || ready.send(()).unwrap();
            cuesta_store::daemon::serve(&memory, under.path(), options, progress, ready).unwrap();
        };
        let daemon = scope.spawn(serve);
        wait.recv().unwrap();
        test(&memory);
        drop(cancel);
        daemon.join().unwrap();
    });
}

/// Options of a store whose memory has room for `blocks` blocks.
pub fn options(blocks: u64) -> StoreOptions {
    StoreOptions {
        memory_bytes: blocks * BLOCK,
        block_bytes: BLOCK,
        policy: PolicyName::Lru,
        freshness: Freshness::OnOpen,
        has_admission: false,
        rules: vec![],
        stripes: None,
        stripe_bytes: BLOCK,
    }
}
