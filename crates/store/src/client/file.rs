//! A file of the store, opened in one version.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cuesta_runtime::parallel::lock;

use super::block::StoredBlock;
use super::bypass::{BypassFile, RefusedBlocks};
use super::checked_folder::CheckedFolder;
use super::session::{Leased, Session};
use crate::cache::BlockKey;
use crate::path::StorePath;
use crate::under::UnderVersion;
use crate::writeback::is_alone;

/// A file that is read through the store where that has or can load its blocks, else from the under
/// level: one version of it, or an error. Threads may share it; clones are the same open file.
#[derive(Clone, Debug)]
pub struct StoredFile(Arc<OpenFile>);

/// State that clones share.
#[derive(Debug)]
pub struct OpenFile {
    session: Arc<Session>,
    path: StorePath,
    version: UnderVersion,
    /// Handle in the store; `None` for a file that was opened after the store was lost.
    served: Option<ServedFile>,
    /// Number of times that the store was asked to open it.
    opens: AtomicU64,
    refused: Mutex<RefusedBlocks>,
    bypass: Mutex<Option<Arc<BypassFile>>>,
}

/// Handle of a file that is open in the store.
#[derive(Clone, Copy, Debug)]
pub struct ServedFile {
    /// Index of the connection that it is open on.
    pub slot: usize,
    /// Its number.
    pub number: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
}

/// Bytes of a block, mapped from memory. They remain valid and unchanged as long as this value
/// exists, even after the block is evicted or the store ends.
#[derive(Clone, Debug)]
pub struct BlockBytes {
    block: Arc<StoredBlock>,
    /// Offset in the block of the first byte.
    start: usize,
}

impl Deref for BlockBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // The block was mapped before this value was created.
        self.block.mapped().unwrap_or_default().get(self.start..).unwrap_or_default()
    }
}

impl StoredFile {
    pub(super) fn shared(file: Arc<OpenFile>) -> Self {
        Self(file)
    }

    /// Returns its size.
    pub fn size_bytes(&self) -> u64 {
        self.0.version.size_bytes
    }

    /// Returns its version.
    pub fn version(&self) -> UnderVersion {
        self.0.version
    }

    /// Returns the store's number of the file: it remains when the file is renamed or flushed, and
    /// no other file or version gets it. `None` for a file that was opened on the under level.
    pub fn number(&self) -> Option<u64> {
        self.0.served.map(|served| served.number)
    }

    /// Returns whether both are the same file of the same session; other stores may use the same
    /// number.
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.number().is_some()
            && self.number() == other.number()
            && Arc::ptr_eq(&self.0.session, &other.0.session)
    }

    /// Returns the size of a block; `None` for a file that was opened on the under level.
    pub fn block_bytes(&self) -> Option<u64> {
        self.0.served.map(|served| served.block_bytes)
    }

    /// Returns a block mapped from memory, without a copy; `None` where the memory has no room for
    /// it, or the store has ended.
    ///
    /// # Errors
    /// `InvalidData` where the file was changed; `TimedOut`; I/O errors.
    pub fn block(&self, index: u64) -> io::Result<Option<BlockBytes>> {
        let Some(block) = self.0.leased(index, 0)? else { return Ok(None) };
        Ok(block.mapped().is_ok().then_some(BlockBytes { block, start: 0 }))
    }

    /// Returns the bytes from `offset` to the end of their block, mapped from memory; `None` as for
    /// [`block`](Self::block), and at the end of the file.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub fn bytes_from(&self, offset: u64) -> io::Result<Option<BlockBytes>> {
        let Some(block_bytes) = self.block_bytes().filter(|_| offset < self.size_bytes()) else {
            return Ok(None);
        };
        let start = (offset % block_bytes) as usize;
        let block = self.block(offset / block_bytes)?;
        Ok(block.map(|block| BlockBytes { start, ..block }))
    }

    /// Copies bytes from `offset` on, up to the end of their block; returns their number, 0 at the
    /// end.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.size_bytes().saturating_sub(offset).min(into.len() as u64);
        if count == 0 {
            return Ok(0);
        }
        let Some(block_bytes) = self.block_bytes() else {
            let into = &mut into[..count as usize];
            self.0.read_bypassing(into, offset)?;
            return Ok(into.len());
        };
        let within = offset % block_bytes;
        let into = &mut into[..count.min(block_bytes - within) as usize];
        let leased = self.0.leased(offset / block_bytes, into.len() as u64)?;
        if leased.is_none_or(|block| block.copy(into, within).is_err()) {
            self.0.read_bypassing(into, offset)?;
        }
        Ok(into.len())
    }
}

impl OpenFile {
    pub(super) fn new(
        session: &Arc<Session>,
        path: &StorePath,
        version: UnderVersion,
        served: Option<ServedFile>,
    ) -> Self {
        Self {
            session: Arc::clone(session),
            path: path.clone(),
            version,
            served,
            opens: AtomicU64::new(0),
            refused: Mutex::default(),
            bypass: Mutex::default(),
        }
    }

    /// Returns whether it was opened under this path in this version.
    pub(super) fn is_opened_as(&self, path: &StorePath, version: UnderVersion) -> bool {
        self.path == *path && self.version == version
    }

    /// Counts another open of the file in the store.
    pub(super) fn opened_again(&self) {
        self.opens.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn open_bypassing(session: &Arc<Session>, path: &StorePath) -> io::Result<Self> {
        // A folder left by another account under the name of an ended store is not trusted.
        let checked = CheckedFolder::open(&session.folder);
        if checked.is_ok_and(|folder| is_alone(&folder.path(), path)) {
            return Err(alone());
        }
        let bypass = BypassFile::open(&session.under, path, None)?;
        let mut file = Self::new(session, path, bypass.version(), None);
        file.bypass = Mutex::new(Some(Arc::new(bypass)));
        Ok(file)
    }

    /// Leases a block, of which `count` bytes are to be read; `None` where they are to be read from
    /// the under level.
    fn leased(&self, index: u64, count: u64) -> io::Result<Option<Arc<StoredBlock>>> {
        let Some(ServedFile { slot, number, block_bytes }) = self.served else { return Ok(None) };
        if lock(&self.refused).take(index, count) {
            return Ok(None);
        }
        match self.session.lease(slot, BlockKey { file: number, index })? {
            Leased::Block(block) => return Ok(Some(block)),
            Leased::NoRoom => {
                let size_bytes =
                    block_bytes.min(self.version.size_bytes - index.saturating_mul(block_bytes));
                lock(&self.refused).put(index, size_bytes - count);
            }
            Leased::Lost => (),
        }
        Ok(None)
    }

    /// Returns the file of the under level, in the version that was opened.
    fn bypass(&self) -> io::Result<Arc<BypassFile>> {
        let mut bypass = lock(&self.bypass);
        if let Some(bypass) = &*bypass {
            return Ok(Arc::clone(bypass));
        }
        if self.version.device == 0 {
            return Err(alone());
        }
        let opened = BypassFile::open(&self.session.under, &self.path, Some(self.version))?;
        Ok(Arc::clone(bypass.insert(Arc::new(opened))))
    }

    /// Reads bytes without a lease: from the under level, or from the store, which may have flushed
    /// a file that was only in memory when it was opened.
    fn read_bypassing(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match self.served {
            Some(served) if self.version.device == 0 => {
                let is_read = self.session.read(served.slot, served.number, into, offset)?;
                if is_read { Ok(()) } else { Err(alone()) }
            }
            _ => self.bypass()?.read(into, offset),
        }
    }
}

/// Error of a memory-only file whose store is lost.
fn alone() -> io::Error {
    io::Error::other("it is in memory alone, and the store has ended or hangs; start it again")
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let Some(ServedFile { slot, number, .. }) = self.served else { return };
        let mut files = lock(&self.session.files);
        if files.get(&number).is_some_and(|file| file.strong_count() == 0) {
            files.remove(&number);
        }
        drop(files);
        self.session.close(slot, number, *self.opens.get_mut());
    }
}
