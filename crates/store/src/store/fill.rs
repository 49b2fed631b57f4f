//! Reads from the under level, into blocks of memory and without them.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::peering::unreachable_or;
use super::shared_fill::{FILL_BYTES, FillFailure, SharedFill};
use super::stripes::StripeReader;
use super::{BlockLease, Handle, OPERATION, Store, changed_or};
use crate::cache::policy::admission::LoadReason;
use crate::cache::{BlockKey, FileVersion, SealedBlock, SourceBlock};
use crate::memory::PartialBlock;
use crate::under::{UnderFile, UnderVersion};

/// Age up to which a changed file may change again without another time: the clocks of file systems
/// tick every few milliseconds.
const CLOCK_STEP_NS: i64 = 100_000_000;
/// As [`CLOCK_STEP_NS`], for file systems with a resolution of one or two seconds.
const COARSE_STEP_NS: i64 = 2 * NS_A_SECOND;
const NS_A_SECOND: i64 = 1_000_000_000;

impl Store {
    /// Reads bytes of an open file, from memory where there is room for its blocks.
    ///
    /// # Errors
    /// As [`lease`](Self::lease).
    pub fn read(&self, number: u64, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.read_on(&mut None, number, buffer, offset)
    }

    /// As [`read`](Self::read), by a reader that leased or read the `last` block before: repeated
    /// reads of the same block count as one.
    ///
    /// # Errors
    /// As [`lease`](Self::lease).
    pub fn read_on(
        &self,
        last: &mut Option<BlockKey>,
        number: u64,
        buffer: &mut [u8],
        offset: u64,
    ) -> Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            let place = offset + done as u64;
            let (index, within) =
                (place / self.options.block_bytes, place % self.options.block_bytes);
            let count = (self.options.block_bytes - within).min((buffer.len() - done) as u64);
            let piece = &mut buffer[done..done + count as usize];
            let key = BlockKey { file: number, index };
            let reason = if *last == Some(key) { LoadReason::ReadOn } else { LoadReason::Read };
            *last = Some(key);
            match self.lease_as(key, reason)? {
                BlockLease::Memory(_, path) => {
                    let read = File::open(&path).and_then(|file| file.read_exact_at(piece, within));
                    self.release(key);
                    read.map_err(|cause| Error::system(OPERATION, "reading", &path, &cause))?;
                }
                BlockLease::Bypass => self.read_under(number, piece, place)?,
            }
            done += piece.len();
        }
        Ok(())
    }

    /// Reads bytes of an open file from the under level, in the opened version.
    ///
    /// # Errors
    /// As [`lease`](Self::lease).
    pub fn read_under(&self, number: u64, buffer: &mut [u8], offset: u64) -> Result<()> {
        let Some(file) = self.cache.lock().file(number).cloned() else {
            return Err(Error::input(OPERATION, format!("file {number} is not open")));
        };
        let handle = self.handle(number, &file)?;
        handle
            .read_exact_at(buffer, offset)
            .and_then(|()| same_version(&*handle, &file.version))
            .map_err(|cause| changed_or(&file.path, &cause))
    }

    /// Fills a block that has room; the result is leased, unless it is filled `ahead` of a reader.
    pub(super) fn fill(
        &self,
        key: BlockKey,
        file: &FileVersion,
        size_bytes: u64,
        is_ahead: bool,
    ) -> Result<BlockLease> {
        let mut piece = lock(&self.pieces).pop().unwrap_or_default();
        let filled = self.fill_from(key, file, size_bytes, &mut piece);
        lock(&self.pieces).push(piece);
        let (lease, unwanted) = self.cache.settle(|state| match filled {
            Ok(Some(block)) => {
                state.filled(block, is_ahead);
                // Its file may be an old version by now, and not open any more.
                let unwanted = if is_ahead { state.remove_if_old(key) } else { None };
                (Ok(self.granted(block)), unwanted)
            }
            Ok(None) if is_ahead => {
                state.failed(key);
                (Ok(BlockLease::Bypass), None)
            }
            Ok(None) => {
                state.refused(key);
                (Ok(BlockLease::Bypass), None)
            }
            Err(error) => {
                state.failed(key);
                (Err(error), None)
            }
        });
        self.remove(unwanted.as_slice());
        lease
    }

    /// Fills and seals a block; `None` where the system has no memory for it, which is no error.
    fn fill_from(
        &self,
        key: BlockKey,
        file: &FileVersion,
        size_bytes: u64,
        piece: &mut Vec<u8>,
    ) -> Result<Option<SealedBlock>> {
        let handle = self.handle(key.file, file)?;
        if is_young(&file.version) {
            self.cache.lock().mark_young(key.file);
        }
        if self.save_facts(key.file, file).is_err() {
            return Ok(None);
        }
        let filled = match self.nearer(key, file, &handle) {
            None => self.fill_parts(key, &handle, size_bytes, piece),
            Some(nearer) => self.fill_nearer(key, (&nearer, &handle), size_bytes, piece),
        };
        let same = |block| same_version(&*handle, &file.version).map(|()| block);
        match filled.and_then(|block| same(block).map_err(FillFailure::Under)) {
            Ok((partial, checksum)) => Ok(self.tier.seal(partial, size_bytes, checksum).ok()),
            Err(FillFailure::Under(cause)) => Err(changed_or(&file.path, &cause)),
            // The memory is full or broken: the reader continues without it.
            Err(FillFailure::Memory) => Ok(None),
        }
    }

    /// Fills a block from the under level, or from another store that has it.
    fn fill_nearer(
        &self,
        key: BlockKey,
        (nearer, handle): (&Arc<dyn SourceBlock>, &Arc<dyn UnderFile>),
        size_bytes: u64,
        piece: &mut Vec<u8>,
    ) -> std::result::Result<(PartialBlock, u32), FillFailure> {
        let source: Arc<dyn UnderFile> = Arc::<dyn SourceBlock>::clone(nearer);
        if !nearer.is_nearer() {
            return self.fill_parts(key, &source, size_bytes, piece);
        }
        let filled = self.fill_shared(key, &source, size_bytes, piece)?;
        if nearer.checksum().is_none_or(|checksum| checksum == filled.1) {
            return Ok(filled);
        }
        // The other store's memory is damaged: its bytes are discarded.
        drop(filled);
        self.fill_parts(key, handle, size_bytes, piece)
    }

    /// Fills a block from several servers in parallel, where its file is striped.
    fn fill_parts(
        &self,
        key: BlockKey,
        handle: &Arc<dyn UnderFile>,
        size_bytes: u64,
        piece: &mut Vec<u8>,
    ) -> std::result::Result<(PartialBlock, u32), FillFailure> {
        let stripe_bytes = self.options.stripe_bytes;
        let parts = match self.options.stripes {
            Some(count) => (count, stripe_bytes),
            None => handle.layout().parts(stripe_bytes),
        };
        if parts.0 <= 1 {
            return self.fill_shared(key, handle, size_bytes, piece);
        }
        let start = key.index * self.options.block_bytes;
        let reader = StripeReader::new(&**handle, start, size_bytes, parts);
        self.fill_striped(key, size_bytes, reader, piece)
    }

    /// Fills a block together with idle threads.
    fn fill_shared(
        &self,
        key: BlockKey,
        handle: &Arc<dyn UnderFile>,
        size_bytes: u64,
        piece: &mut Vec<u8>,
    ) -> std::result::Result<(PartialBlock, u32), FillFailure> {
        let no_memory = |_| FillFailure::Memory;
        let partial = self.tier.begin(key, size_bytes).map_err(no_memory)?;
        let into = partial.file.try_clone().map_err(no_memory)?;
        let start = key.index * self.options.block_bytes;
        let fill = Arc::new(SharedFill::new(Arc::clone(handle), start, size_bytes, into));
        self.queue.share(&fill);
        fill.work(piece);
        let checksum = fill.end();
        self.queue.unshare(&fill);
        Ok((partial, checksum?))
    }

    /// Fills a block whose stripes are read from several servers in parallel.
    fn fill_striped(
        &self,
        key: BlockKey,
        size_bytes: u64,
        mut reader: StripeReader<'_>,
        piece: &mut Vec<u8>,
    ) -> std::result::Result<(PartialBlock, u32), FillFailure> {
        let partial = self.tier.begin(key, size_bytes).map_err(|_| FillFailure::Memory)?;
        let (mut place, mut checksum) = (0, 0);
        piece.resize(FILL_BYTES, 0);
        while place < size_bytes {
            let count = (size_bytes - place).min(FILL_BYTES as u64);
            let piece = &mut piece[..count as usize];
            reader.read(piece, place).map_err(FillFailure::Under)?;
            checksum = crc32c::crc32c_append(checksum, piece);
            partial.file.write_all_at(piece, place).map_err(|_| FillFailure::Memory)?;
            place += count;
        }
        Ok((partial, checksum))
    }

    /// Returns the open file of the under level, and opens it if needed.
    pub(super) fn handle(&self, number: u64, file: &FileVersion) -> Result<Arc<dyn UnderFile>> {
        if let Some(Handle { file: Some(handle), .. }) = lock(&self.handles).get(&number) {
            return Ok(Arc::clone(handle));
        }
        let opened = match self.source.get() {
            Some(source) if file.version.device == 0 => {
                Arc::clone(source).open(&file.path, file.version)
            }
            _ => self.under.open(&file.path).map(Arc::from),
        };
        let handle: Arc<dyn UnderFile> =
            opened.map_err(|cause| unreachable_or("opening", &file.path, &cause))?;
        same_version(&*handle, &file.version).map_err(|cause| changed_or(&file.path, &cause))?;
        let state = self.cache.lock();
        // The last close removes it.
        if state.is_open(number) {
            let cached = Handle { file: Some(Arc::clone(&handle)), compared: Instant::now() };
            lock(&self.handles).insert(number, cached);
        }
        Ok(handle)
    }
}

/// Returns whether it changed so recently that it may change again without another time.
fn is_young(version: &UnderVersion) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
    // A time of whole seconds is from a file system without finer times, and rounded down.
    let is_coarse = version.changed_ns % NS_A_SECOND == 0;
    now.saturating_sub(version.changed_ns) < if is_coarse { COARSE_STEP_NS } else { CLOCK_STEP_NS }
}

/// Returns `InvalidData` where a file has changed.
fn same_version(file: &dyn UnderFile, version: &UnderVersion) -> io::Result<()> {
    if file.version()? == *version { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}
