//! Maintenance and status of a store.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::{OPERATION, Store, system};
use crate::cache::{Backing, QuotaUse, SealedBlock};
use crate::path::StorePath;
use crate::trace::Recorder;

impl Store {
    /// Returns the quotas and their use.
    pub fn quotas(&self) -> Vec<QuotaUse> {
        self.cache.lock().quotas()
    }

    /// Returns the bytes of a file in memory, in its last known version.
    pub fn bytes_in_memory(&self, path: &StorePath) -> u64 {
        let state = self.cache.lock();
        let Some((number, _)) = state.file_at(path) else { return 0 };
        state.blocks(Some(number)).iter().map(|block| block.size_bytes).sum()
    }

    /// Returns the most bytes that blocks may have now.
    pub fn limit_bytes(&self) -> u64 {
        self.cache.lock().limit_bytes()
    }

    /// Returns the bytes of memory of blocks, including memory allocated in advance.
    pub fn taken_bytes(&self) -> u64 {
        self.cache.lock().used_bytes() + self.prepared_bytes()
    }

    /// Returns the bytes of memory allocated in advance.
    pub fn prepared_bytes(&self) -> u64 {
        self.tier.prepared().count() * self.options.block_bytes
    }

    /// Returns the bytes of memory of the ledger.
    pub fn ledger_bytes(&self) -> u64 {
        self.writeback.ledger.size_bytes().load(Ordering::Relaxed)
    }

    /// Changes the most bytes that blocks may have, up to the memory that the store was opened
    /// with; evicts unused blocks if needed.
    pub fn set_limit(&self, limit_bytes: u64) {
        let to_remove = self.cache.lock().set_limit(limit_bytes);
        self.remove(&to_remove);
    }

    /// Checks the bytes of a block that an earlier store left; removes a damaged one.
    pub(super) fn check(&self, path: &StorePath, block: SealedBlock) -> Result<bool> {
        let checked = self.tier.is_intact(&block).and_then(|is_same| {
            if is_same { self.tier.fill_holes(&block).map(|()| true) } else { Ok(false) }
        });
        let is_elsewhere = self.cache.lock().backing(block.key.file) == Backing::Under;
        let is_intact = match checked {
            // The under level has its bytes, and the memory has no room for its holes.
            Err(cause) if cause.kind() == io::ErrorKind::StorageFull && is_elsewhere => false,
            // A block that cannot be read now, for lack of descriptors, is not damaged.
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                self.cache.settle(|state| state.unchecked(block));
                return Err(system("reading", path, &cause));
            }
            checked => checked.unwrap_or(false),
        };
        if !is_intact {
            self.remove(&[block]);
        }
        self.cache.settle(|state| state.checked(block, is_intact));
        Ok(is_intact)
    }

    /// Checks the bytes of all blocks in memory; returns the files and indexes of damaged blocks.
    /// Evicts those without a lease: where a file is in memory alone, their bytes are then lost.
    pub fn scrub(&self) -> Vec<(StorePath, u64)> {
        let mut damaged = Vec::new();
        let blocks = self.cache.lock().blocks(None);
        for block in blocks {
            if self.tier.is_intact(&block).unwrap_or(true) {
                continue;
            }
            let mut state = self.cache.lock();
            let path = state.file(block.key.file).map(|file| file.path.clone());
            if state.damage(block.key) {
                drop(state);
                self.remove(&[block]);
            }
            damaged.extend(path.map(|path| (path, block.key.index)));
        }
        damaged
    }

    /// Starts recording leases in a new file, or stops recording.
    ///
    /// # Errors
    /// `Input` where a trace is recorded already, or none is; `System`.
    pub fn trace(&self, path: Option<&Path>) -> Result<()> {
        let mut recorder = lock(&self.recorder);
        match (path, recorder.take()) {
            (Some(path), None) => {
                *recorder = Some(Recorder::create(path)?);
                Ok(())
            }
            (None, Some(running)) => running.end().map_err(|cause| {
                Error::system(OPERATION, "writing", Path::new("the trace"), &cause)
            }),
            (Some(_), running) => {
                *recorder = running;
                Err(Error::input(OPERATION, "a trace is recorded already; end it first"))
            }
            (None, None) => Err(Error::input(OPERATION, "no trace is recorded")),
        }
    }
}
