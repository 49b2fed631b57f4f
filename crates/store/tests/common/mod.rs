//! Stores over a folder, for tests.
#![allow(clippy::unwrap_used, dead_code)]

pub mod job;
pub mod scenario;

use std::path::Path;
use std::time::{Duration, SystemTime};

use cuesta_store::daemon::ServeOptions;
use cuesta_store::memory::BlockKey;
use cuesta_store::path::StorePath;
use cuesta_store::policy::PolicyName;
use cuesta_store::store::promise::WriteMode;
use cuesta_store::store::{BlockLease, Freshness, Store, StoreOptions, WritePlace};
use cuesta_store::under::Under;
use cuesta_store::under::posix::PosixUnder;
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
        let options = StoreOptions {
            memory_bytes: blocks * BLOCK,
            block_bytes: BLOCK,
            policy: PolicyName::Lru,
            freshness: Freshness::OnOpen,
            has_admission: false,
            rules: vec![],
            stripes: None,
            stripe_bytes: BLOCK,
        };
        Self { folder, options }
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

pub fn at(name: &str) -> StorePath {
    name.parse().unwrap()
}

/// Returns bytes that depend on the seed.
pub fn bytes(seed: u64, count: usize) -> Vec<u8> {
    let stream = cuesta_core::random::Stream::new(seed, 0);
    (0..count as u64).map(|place| stream.bits(place) as u8).collect()
}

/// Reads a complete file through leases, or from the under level where there is no room.
pub fn read(store: &Store, name: &str) -> cuesta_core::Result<Vec<u8>> {
    let file = store.open_file(&at(name))?;
    let content = read_open(store, file.number, file.version.size_bytes);
    store.close(file.number);
    content
}

pub fn read_open(store: &Store, number: u64, size_bytes: u64) -> cuesta_core::Result<Vec<u8>> {
    let mut content = vec![0; size_bytes as usize];
    for (index, piece) in content.chunks_mut(BLOCK as usize).enumerate() {
        let key = BlockKey { file: number, index: index as u64 };
        match store.lease(key)? {
            BlockLease::Memory(block, path) => {
                assert_eq!((block.key, block.size_bytes), (key, piece.len() as u64));
                piece.copy_from_slice(&std::fs::read(path).unwrap());
                store.release(key);
            }
            BlockLease::Bypass => store.read_under(number, piece, key.index * BLOCK)?,
        }
    }
    Ok(content)
}

/// Writes a file like a client.
pub fn write(
    store: &Store,
    name: &str,
    content: &[u8],
    mode: WriteMode,
) -> cuesta_core::Result<()> {
    let number = store.create(&at(name), mode)?;
    let written = write_blocks(store, number, content);
    written.inspect_err(|_| store.abandon(number))?;
    store.commit(number, content.len() as u64)
}

pub fn write_blocks(store: &Store, number: u64, content: &[u8]) -> cuesta_core::Result<()> {
    for (index, piece) in (0..).zip(content.chunks(BLOCK as usize)) {
        let key = BlockKey { file: number, index };
        match store.place(key, false)? {
            WritePlace::Memory(path) => {
                std::fs::write(path, piece).unwrap();
                store.seal(key, piece.len() as u64)?;
            }
            WritePlace::Under(_) => store.write_under(number, piece, index * BLOCK)?,
        }
    }
    Ok(())
}
