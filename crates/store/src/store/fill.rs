//! Blocks read from the under level into memory, and bytes past it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::state::FileVersion;
use super::stripes::StripeReader;
use super::{BlockLease, Handle, OPERATION, Store, changed_or, system};
use crate::memory::{BlockKey, SealedBlock};
use crate::policy::admission::Wish;
use crate::under::{UnderFile, UnderVersion};

/// A file that was changed so short a time ago may change again without another time: the clocks
/// of file systems step by some milliseconds.
const CLOCK_STEP_NS: i64 = 100_000_000;

impl Store {
    /// Reads bytes of an open file: from memory, where its blocks come, where there is room.
    ///
    /// # Errors
    /// As [`lease`](Self::lease).
    pub fn read(&self, number: u64, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.read_on(&mut None, number, buffer, offset)
    }

    /// As [`read`](Self::read), by somebody who leased or read the `last` block before: more of the
    /// same counts as one read.
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
            let left = (self.options.block_bytes - within).min((buffer.len() - done) as u64);
            let piece = &mut buffer[done..done + left as usize];
            let key = BlockKey { file: number, index };
            let wish = if *last == Some(key) { Wish::ReadOn } else { Wish::Read };
            *last = Some(key);
            match self.lease_as(key, wish)? {
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

    /// Reads bytes of an open file past the memory, of the version that was opened.
    ///
    /// # Errors
    /// As [`lease`](Self::lease).
    pub fn read_under(&self, number: u64, buffer: &mut [u8], offset: u64) -> Result<()> {
        let Some(file) = lock(&self.state).file(number).cloned() else {
            return Err(Error::input(OPERATION, format!("file {number} is not open")));
        };
        let handle = self.handle(number, &file)?;
        handle
            .read_exact_at(buffer, offset)
            .and_then(|()| same_version(&*handle, &file.version))
            .map_err(|cause| changed_or(&file.path, &cause))
    }

    /// Fills a block that has room; leased, unless it is filled `ahead` of whoever asks for it.
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
        let mut state = lock(&self.state);
        let (lease, unwanted) = match filled {
            Ok(Some(block)) => {
                state.filled(block, is_ahead);
                // Its file may be an old version by now, which nobody has open.
                let unwanted = if is_ahead { state.leave_if_old(key) } else { None };
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
        };
        drop(state);
        self.changed.notify_all();
        self.remove(unwanted.as_slice());
        lease
    }

    /// The block; `None` where the system has no memory for it, which is no reason to fail.
    fn fill_from(
        &self,
        key: BlockKey,
        file: &FileVersion,
        size_bytes: u64,
        piece: &mut Vec<u8>,
    ) -> Result<Option<SealedBlock>> {
        let handle = self.handle(key.file, file)?;
        let start = key.index * self.options.block_bytes;
        let stripe_bytes = self.options.stripe_bytes;
        let parts = match self.options.stripes {
            Some(count) => (count, stripe_bytes),
            None => handle.layout().parts(stripe_bytes),
        };
        let mut reader = StripeReader::new(&*handle, start, size_bytes, parts);
        let mut cause_under = None;
        let read = |piece: &mut [u8], place: u64| {
            let read = reader.read(piece, place);
            let last = place + piece.len() as u64 == size_bytes;
            let read =
                if last { read.and_then(|()| same_version(&*handle, &file.version)) } else { read };
            read.map_err(|cause| {
                let kind = cause.kind();
                cause_under = Some(cause);
                kind.into()
            })
        };
        if is_young(&file.version) {
            lock(&self.state).mark_young(key.file);
        }
        match self
            .keep_facts(key.file, file)
            .and_then(|()| self.tier.fill(key, size_bytes, piece, read))
        {
            Ok(block) => Ok(Some(block)),
            Err(_) => match cause_under {
                Some(cause) => Err(changed_or(&file.path, &cause)),
                // The memory is full or broken: the job goes on without it.
                None => Ok(None),
            },
        }
    }

    /// The open file of the under level, opened again where nobody had it open.
    pub(super) fn handle(&self, number: u64, file: &FileVersion) -> Result<Arc<dyn UnderFile>> {
        if let Some(Handle { file: Some(handle), .. }) = lock(&self.handles).get(&number) {
            return Ok(Arc::clone(handle));
        }
        let opened = self.under.open(&file.path);
        let handle: Arc<dyn UnderFile> =
            opened.map_err(|cause| system("opening", &file.path, &cause))?.into();
        same_version(&*handle, &file.version).map_err(|cause| changed_or(&file.path, &cause))?;
        let kept = Handle { file: Some(Arc::clone(&handle)), compared: Instant::now() };
        lock(&self.handles).insert(number, kept);
        Ok(handle)
    }
}

/// Whether it was changed so lately that it may change again without another time.
fn is_young(version: &UnderVersion) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = i64::try_from(now.as_nanos()).unwrap_or(i64::MAX);
    now.saturating_sub(version.changed_ns) < CLOCK_STEP_NS
}

/// Fails with `InvalidData` where a file is another version by now.
fn same_version(file: &dyn UnderFile, version: &UnderVersion) -> io::Result<()> {
    if file.version()? == *version { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}
