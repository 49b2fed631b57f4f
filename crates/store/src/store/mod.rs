//! The store within a process: opens files of the under level, fills blocks of memory, grants
//! leases. Threads may share it.

pub(crate) mod adopt;
mod ahead;
pub mod audit;
mod claims;
mod commit;
mod fill;
pub mod names;
mod opens;
mod peering;
mod permit;
mod persist;
mod places;
mod recover;
mod shared_fill;
mod stripes;
mod upkeep;
mod writes;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use crate::cache::policy::PolicyName;
use crate::cache::policy::admission::{Gated, LoadReason};
use crate::cache::{
    Backing, BlockKey, BlockSource, Cache, Counts, FolderRule, LeaseStep, Residency, SealedBlock,
};
use crate::errno::system;
use crate::folder::names::{FILES, LEDGER, WRITES};
use crate::folder::{open_or_create_folder, open_or_make};
use crate::memory::MemoryTier;
use crate::path::StorePath;
use crate::sharing::RemoteStores;
use crate::steps::Steps;
use crate::trace::Recorder;
use crate::under::{Under, UnderFile, UnderVersion};
use crate::writeback::Writeback;
use ahead::AheadQueue;
use claims::NameClaims;
use peering::{ServedFiles, unreachable_or};
pub use writes::WritePlace;

const OPERATION: &str = "store";

/// Blocks that are filled ahead after a leased one, where a file is read in order. As many threads
/// fill them together: some keep the disk busy while others write to memory.
pub const AHEAD_BLOCKS: u64 = 3;

/// Policy of checking whether an opened file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// At each open.
    OnOpen,
    /// At an open, if the last check is older than this.
    MaxAge(Duration),
    /// At the first open only: files never change.
    Immutable,
}

/// Options of a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Most bytes of blocks in memory.
    pub memory_bytes: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Eviction policy.
    pub policy: PolicyName,
    /// When versions are compared.
    pub freshness: Freshness,
    /// Whether a missed block evicts other blocks only where that is likely to pay.
    pub has_admission: bool,
    /// Rules for the files of folders.
    pub rules: Vec<FolderRule>,
    /// Number of pieces of a block that are read from the under level in parallel; `None` for the
    /// number of stripes in the file's layout.
    pub stripes: Option<usize>,
    /// Bytes of such a piece, where there are several; the maximum, where the layout determines it.
    pub stripe_bytes: u64,
}

/// An opened file: one version of it until it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenedFile {
    /// Its number, for leases.
    pub number: u64,
    /// Its version while it is open.
    pub version: UnderVersion,
}

/// Source from which a leased block is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BlockLease {
    /// In this file of memory, until the lease is released.
    Memory(SealedBlock, PathBuf),
    /// The under level, as the memory has no room for it.
    Bypass,
}

/// A two-level store.
pub struct Store {
    under: Box<dyn Under>,
    tier: MemoryTier,
    files: PathBuf,
    options: StoreOptions,
    cache: Cache,
    /// Open files of the under level, and the times when their versions were compared.
    handles: Mutex<HashMap<u64, Handle>>,
    /// Held while the saved facts of a file are written.
    facts: Mutex<()>,
    /// Blocks that will probably be read soon.
    queue: AheadQueue,
    /// Recorder of leases, while a trace is recorded.
    recorder: Mutex<Option<Recorder>>,
    /// Buffers that fills reuse.
    pieces: Mutex<Vec<Vec<u8>>>,
    writeback: Writeback,
    claims: NameClaims,
    /// The other stores of the job, if there are any.
    peers: OnceLock<Arc<dyn RemoteStores>>,
    /// Other memories that blocks are read from: the peers.
    source: OnceLock<Arc<dyn BlockSource>>,
    served: Mutex<ServedFiles>,
}

struct Handle {
    file: Option<Arc<dyn UnderFile>>,
    compared: Instant,
}

impl Store {
    /// Opens a store over `under` with its memory in `folder`, and adopts the state that an earlier
    /// store left there.
    ///
    /// # Errors
    /// `Input` for a memory smaller than a block, or a folder that is not private to this user;
    /// `System`.
    pub fn open(under: Box<dyn Under>, folder: &Path, options: StoreOptions) -> Result<Self> {
        Self::open_counted(under, folder, options, &Steps::default())
    }

    /// As [`open`](Self::open), with its operations on its folder counted by `steps`.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_counted(
        under: Box<dyn Under>,
        folder: &Path,
        options: StoreOptions,
        steps: &Steps,
    ) -> Result<Self> {
        if options.block_bytes == 0 || options.memory_bytes < options.block_bytes {
            let (memory, block) = (options.memory_bytes, options.block_bytes);
            let text = format!(
                "a memory of {memory} bytes holds no block of {block}; raise --memory or lower \
                 --block"
            );
            return Err(Error::input(OPERATION, text));
        }
        let tier = MemoryTier::open(folder, steps.clone())?;
        let real = open_or_make(folder)?;
        let files = open_or_create_folder(&real, FILES)?;
        let records = open_or_create_folder(&real, WRITES)?;
        let writeback = Writeback::open(&folder.join(LEDGER), records, steps)?;
        let policy = options.policy.make(options.memory_bytes);
        let policy = Gated::new(policy, options.has_admission);
        let mut state = Residency::new(options.memory_bytes, options.block_bytes, policy);
        state.set_rules(options.rules.clone());
        state.charge(writeback.ledger.size_bytes());
        let store = Self {
            under,
            tier,
            files,
            options,
            cache: Cache::new(state),
            handles: Mutex::new(HashMap::new()),
            facts: Mutex::new(()),
            queue: AheadQueue::default(),
            recorder: Mutex::new(None),
            pieces: Mutex::new(Vec::new()),
            writeback,
            claims: NameClaims::default(),
            peers: OnceLock::new(),
            source: OnceLock::new(),
            served: Mutex::default(),
        };
        store.adopt()?;
        Ok(store)
    }

    /// Returns its options.
    pub fn options(&self) -> &StoreOptions {
        &self.options
    }

    /// Returns the under level.
    pub fn under(&self) -> &dyn Under {
        &*self.under
    }

    /// Returns its counts.
    pub fn counts(&self) -> Counts {
        self.cache.lock().counts()
    }

    /// Leases a block of an open file; [`release`](Self::release) it where it is in memory. A
    /// missing block is loaded first.
    ///
    /// # Errors
    /// `Input` where the file has no such block, or has changed; `System`.
    pub fn lease(&self, key: BlockKey) -> Result<BlockLease> {
        self.lease_as(key, LoadReason::Read)
    }

    /// As [`lease`](Self::lease), for a given reason.
    ///
    /// # Errors
    /// As [`lease`](Self::lease).
    pub fn lease_as(&self, key: BlockKey, reason: LoadReason) -> Result<BlockLease> {
        let mut state = self.cache.lock();
        let Some(file) = state.file(key.file).cloned() else {
            return Err(Error::input(OPERATION, format!("file {} is not open", key.file)));
        };
        if state.size_of(key) == 0 || key.index > u64::from(u32::MAX) {
            let text = format!("{} has no block {}", file.path, key.index);
            return Err(Error::input(OPERATION, text));
        }
        if reason != LoadReason::ReadOn {
            state.read(key);
            if let Some(recorder) = &mut *lock(&self.recorder) {
                recorder.add(&file.path, key.index, state.size_of(key));
            }
        }
        let following = state.following(key, AHEAD_BLOCKS);
        self.queue.add(following);
        loop {
            match self.cache.lease(state, key, reason) {
                LeaseStep::Grant(block) => return Ok(self.granted(block)),
                LeaseStep::Check(block) => {
                    if self.check(&file.path, block)? {
                        return Ok(self.granted(block));
                    }
                }
                LeaseStep::Fill { size_bytes, to_remove } => {
                    self.remove(&to_remove);
                    return self.fill(key, &file, size_bytes, false);
                }
                LeaseStep::Bypass { to_remove } => {
                    self.remove(&to_remove);
                    return Ok(BlockLease::Bypass);
                }
                LeaseStep::Lost => return Err(persist::lost(&file.path, key.index)),
                LeaseStep::Wait => (),
            }
            state = self.cache.lock();
        }
    }

    /// Ends a lease.
    pub fn release(&self, key: BlockKey) {
        let removed = self.cache.lock().release(key);
        // Most releases remove no block, and take the lock once.
        if let Some(block) = removed {
            self.remove(&[block]);
        }
    }

    /// Loads a file into memory, from its beginning as far as memory suffices; returns its bytes in
    /// memory.
    ///
    /// # Errors
    /// As [`lease`](Self::lease).
    pub fn load(&self, path: &StorePath) -> Result<u64> {
        self.load_as(path, false)
    }

    /// Loads a file into memory and pins it; returns its bytes in memory.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn pin(&self, path: &StorePath) -> Result<u64> {
        self.load_as(path, true)
    }

    fn load_as(&self, path: &StorePath, pins: bool) -> Result<u64> {
        let file = self.open_file(path)?;
        if pins {
            self.cache.lock().pin(file.number, true);
        }
        let loaded = self.load_blocks(file);
        self.close(file.number);
        loaded.map(|()| self.bytes_in_memory(path))
    }

    fn load_blocks(&self, file: OpenedFile) -> Result<()> {
        let bytes = file.version.size_bytes.min(self.options.memory_bytes);
        for index in 0..bytes.div_ceil(self.options.block_bytes) {
            let key = BlockKey { file: file.number, index };
            if let BlockLease::Memory(..) = self.lease_as(key, LoadReason::Wanted)? {
                self.release(key);
            }
        }
        Ok(())
    }

    /// Unpins a file.
    pub fn unpin(&self, path: &StorePath) {
        let mut state = self.cache.lock();
        if let Some((number, _)) = state.file_at(path) {
            state.pin(number, false);
        }
    }

    /// Evicts the blocks of a file, pinned or not; returns the number of bytes that became free.
    /// Leased blocks are evicted at the end of their leases.
    ///
    /// # Errors
    /// `Input` for a memory-only file.
    pub fn free(&self, path: &StorePath) -> Result<u64> {
        let mut state = self.cache.lock();
        let Some((number, _)) = state.file_at(path) else { return Ok(0) };
        if state.backing(number) != Backing::Under {
            let text = format!("{path} is in memory alone; flush it before, or remove it");
            return Err(Error::input(OPERATION, text));
        }
        let to_remove = state.retire(number);
        drop(state);
        self.remove(&to_remove);
        Ok(to_remove.iter().map(|block| block.size_bytes).sum())
    }

    /// Returns the cause of the last failed write-back; `None` after a successful one.
    pub fn last_failure(&self) -> Option<String> {
        self.writeback.last_failure()
    }

    fn granted(&self, block: SealedBlock) -> BlockLease {
        BlockLease::Memory(block, self.tier.path(&block))
    }

    fn remove(&self, blocks: &[SealedBlock]) {
        for block in blocks {
            // A missing file is what was wanted.
            let _ = self.tier.remove(block);
        }
        self.forget(self.cache.lock());
    }
}

fn changed_or(path: &StorePath, cause: &io::Error) -> Error {
    match cause.kind() {
        io::ErrorKind::HostUnreachable => unreachable_or("reading", path, cause),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            let text = format!("{path} was changed while it was read; open it again");
            Error::input(OPERATION, text)
        }
        _ => system("reading", path, cause),
    }
}
