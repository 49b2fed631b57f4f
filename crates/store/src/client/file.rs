//! A file of the store, open in one version.

use std::io;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use cuesta_runtime::parallel::lock;

use super::block::StoredBlock;
use super::checked_folder::CheckedFolder;
use super::past::{PastFile, RefusedBlocks};
use super::session::{Leased, Session};
use crate::memory::BlockKey;
use crate::path::StorePath;
use crate::store::record::is_alone;
use crate::under::UnderVersion;

/// A file, read through the store where that has or gets its blocks, else from the under level:
/// one version of it, or an error. Threads may share it; clones are the same open file.
#[derive(Clone, Debug)]
pub struct StoredFile(Arc<OpenFile>);

/// What clones share.
#[derive(Debug)]
pub struct OpenFile {
    session: Arc<Session>,
    path: StorePath,
    version: UnderVersion,
    /// None of a file that was opened when the store was lost.
    known: Option<KnownFile>,
    /// How often the store was asked to open it.
    opens: AtomicU64,
    refused: Mutex<RefusedBlocks>,
    past: Mutex<Option<Arc<PastFile>>>,
}

/// What the store calls a file.
#[derive(Clone, Copy, Debug)]
pub struct KnownFile {
    /// The connection that it is open on.
    pub line: usize,
    /// Its number.
    pub number: u64,
    /// Bytes of a block.
    pub block_bytes: u64,
}

/// Bytes of a block as they lie in memory. They stay what they are for as long as this is held,
/// also when the block leaves the store, or the store ends.
#[derive(Clone, Debug)]
pub struct BlockBytes {
    block: Arc<StoredBlock>,
    /// Where in the block they begin.
    start: usize,
}

impl Deref for BlockBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // It was mapped before it came here.
        self.block.mapped().unwrap_or_default().get(self.start..).unwrap_or_default()
    }
}

impl StoredFile {
    pub(super) fn shared(file: Arc<OpenFile>) -> Self {
        Self(file)
    }

    /// Its size.
    pub fn size_bytes(&self) -> u64 {
        self.0.version.size_bytes
    }

    /// Which content it has.
    pub fn version(&self) -> UnderVersion {
        self.0.version
    }

    /// What the store calls the file: it stays when the file is renamed or flushed, and no other
    /// file or version gets it. `None` of a file that was opened past the store.
    pub fn number(&self) -> Option<u64> {
        self.0.known.map(|known| known.number)
    }

    /// Whether both are one file of one store, which other stores may give the same number.
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.number().is_some()
            && self.number() == other.number()
            && Arc::ptr_eq(&self.0.session, &other.0.session)
    }

    /// Bytes of a block; `None` of a file that was opened past the store.
    pub fn block_bytes(&self) -> Option<u64> {
        self.0.known.map(|known| known.block_bytes)
    }

    /// A block as it lies in memory, without a copy; `None` where it is not there: the memory has
    /// no room for it, or the store has ended.
    ///
    /// # Errors
    /// `InvalidData` where the file was changed; `TimedOut`; those of the system.
    pub fn block(&self, index: u64) -> io::Result<Option<BlockBytes>> {
        let Some(block) = self.0.leased(index, 0)? else { return Ok(None) };
        Ok(block.mapped().is_ok().then_some(BlockBytes { block, start: 0 }))
    }

    /// The bytes from `offset` on, up to the end of their block, as they lie in memory; `None` as
    /// for [`block`](Self::block), and at the end of the file.
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

    /// Copies bytes from `offset` on, up to the end of their block; how many: none at the end.
    ///
    /// # Errors
    /// As [`block`](Self::block).
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = self.size_bytes().saturating_sub(offset).min(into.len() as u64);
        if left == 0 {
            return Ok(0);
        }
        let Some(block_bytes) = self.block_bytes() else {
            let into = &mut into[..left as usize];
            self.0.read_past(into, offset)?;
            return Ok(into.len());
        };
        let within = offset % block_bytes;
        let into = &mut into[..left.min(block_bytes - within) as usize];
        let leased = self.0.leased(offset / block_bytes, into.len() as u64)?;
        if leased.is_none_or(|block| block.copy(into, within).is_err()) {
            self.0.read_past(into, offset)?;
        }
        Ok(into.len())
    }
}

impl OpenFile {
    pub(super) fn new(
        session: &Arc<Session>,
        path: &StorePath,
        version: UnderVersion,
        known: Option<KnownFile>,
    ) -> Self {
        Self {
            session: Arc::clone(session),
            path: path.clone(),
            version,
            known,
            opens: AtomicU64::new(0),
            refused: Mutex::default(),
            past: Mutex::default(),
        }
    }

    /// Whether it was opened under this path in this version.
    pub(super) fn is_opened_as(&self, path: &StorePath, version: UnderVersion) -> bool {
        self.path == *path && self.version == version
    }

    /// Counts that the store has opened it once more.
    pub(super) fn opened_again(&self) {
        self.opens.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn opened_past(session: &Arc<Session>, path: &StorePath) -> io::Result<Self> {
        // What another account left under the name of a store that has ended says nothing.
        let checked = CheckedFolder::open(&session.folder);
        if checked.is_ok_and(|folder| is_alone(&folder.path(), path)) {
            return Err(alone());
        }
        let past = PastFile::open(&session.under, path, None)?;
        let mut file = Self::new(session, path, past.version(), None);
        file.past = Mutex::new(Some(Arc::new(past)));
        Ok(file)
    }

    /// A block, of which `count` bytes are to be read; `None` where they are to be read past the
    /// store.
    fn leased(&self, index: u64, count: u64) -> io::Result<Option<Arc<StoredBlock>>> {
        let Some(KnownFile { line, number, block_bytes }) = self.known else { return Ok(None) };
        if lock(&self.refused).take(index, count) {
            return Ok(None);
        }
        match self.session.lease(line, BlockKey { file: number, index })? {
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

    /// The file of the under level, in the version that was opened.
    fn past(&self) -> io::Result<Arc<PastFile>> {
        let mut past = lock(&self.past);
        if let Some(past) = &*past {
            return Ok(Arc::clone(past));
        }
        if self.version.device == 0 {
            return Err(alone());
        }
        let opened = PastFile::open(&self.session.under, &self.path, Some(self.version))?;
        Ok(Arc::clone(past.insert(Arc::new(opened))))
    }

    /// Bytes that are not leased: of the under level, or of the store, which may have brought a
    /// file there that was in memory alone when it was opened.
    fn read_past(&self, into: &mut [u8], offset: u64) -> io::Result<()> {
        match self.known {
            Some(known) if self.version.device == 0 => {
                let is_read = self.session.read(known.line, known.number, into, offset)?;
                if is_read { Ok(()) } else { Err(alone()) }
            }
            _ => self.past()?.read(into, offset),
        }
    }
}

/// What is nowhere but in the memory of a store cannot be read past it.
fn alone() -> io::Error {
    io::Error::other("it is in memory alone, and the store has ended or hangs; start it again")
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        let Some(KnownFile { line, number, .. }) = self.known else { return };
        let mut files = lock(&self.session.files);
        if files.get(&number).is_some_and(|file| file.strong_count() == 0) {
            files.remove(&number);
        }
        drop(files);
        self.session.close(line, number, *self.opens.get_mut());
    }
}
