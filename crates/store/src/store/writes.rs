//! Files that are being written: created, filled block by block, closed.
//!
//! A client writes each block to memory, or to the under level. See [`crate::writeback`].

use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::names::parts::hidden_name;
use super::{OPERATION, Store, system};
use crate::allocate::allocate;
use crate::cache::{Backing, BlockKey, SealedBlock};
use crate::memory::{PIECE_BYTES, PartialBlock};
use crate::path::StorePath;
use crate::permissions::{of_new_file, of_parents};
use crate::writeback::{PendingFile, WriteMode, WriteRecord, WriteState};

/// Most blocks of a file: their indexes have 32 bits.
const BLOCKS_MAX: u64 = 1 << 32;

/// Path that a client writes a block to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WritePlace {
    /// A file of memory, written from offset 0; it is sealed afterwards.
    Memory(PathBuf),
    /// A file of the under level, written at the block's offset in the file.
    Under(PathBuf),
}

impl Store {
    /// Creates a file that gets its name when it is committed; returns its number. Parent folders
    /// are made as needed.
    ///
    /// # Errors
    /// `Input` for a folder; `System` naming the file.
    pub fn create(&self, path: &StorePath, mode: WriteMode) -> Result<u64> {
        self.create_as(path, mode, None)
    }

    /// As [`create`](Self::create), with the permission bits of its writer, or the default of this
    /// process. A file that replaces another one inherits that one's bits.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_as(
        &self,
        path: &StorePath,
        mode: WriteMode,
        permissions: Option<u32>,
    ) -> Result<u64> {
        let permissions = permissions.unwrap_or_else(of_new_file);
        if self.facts(path).is_ok_and(|facts| facts.is_folder) {
            return Err(system("writing", path, &io::ErrorKind::IsADirectory.into()));
        }
        if mode == WriteMode::Memory {
            self.check_parents(path)?;
        } else {
            self.make_parents(path, of_parents(permissions))?;
        }
        let number = self.cache.lock().begin_file(path);
        let record = WriteRecord {
            number,
            path: path.clone(),
            mode,
            state: WriteState::Writing,
            block_bytes: self.options.block_bytes,
            size_bytes: 0,
            closed_ns: 0,
            blocks: vec![],
            hidden: None,
            replaced: None,
            synced: None,
            permissions,
            is_exact: false,
        };
        let mut written = PendingFile::new(record);
        let begun = match mode {
            WriteMode::Bypass | WriteMode::Through => self.begin_under(&mut written),
            WriteMode::Memory | WriteMode::Back => self.writeback.save(&written.record),
        };
        self.writeback.add(written);
        begun.inspect_err(|_| self.abandon(number)).map(|()| number)
    }

    /// Creates the hidden file, after recording its name.
    pub(super) fn begin_under(&self, written: &mut PendingFile) -> Result<()> {
        let hidden = hidden_name(written.record.number, now_ns());
        written.record.hidden = Some(hidden.clone());
        self.writeback.save(&written.record)?;
        let path = &written.record.path;
        let begun = self.under.create(path, &hidden);
        written.writer = Some(begun.map_err(|cause| system("writing", path, &cause))?);
        Ok(())
    }

    /// Returns the path to write a block of a file at; `past_memory` where its path in memory could
    /// not take its bytes.
    ///
    /// # Errors
    /// `Input` for a file that is not being written, or a memory-only file without room.
    pub fn place(&self, key: BlockKey, past_memory: bool) -> Result<WritePlace> {
        let entry = self.writeback.pending(key.file)?;
        let mut written = lock(&entry);
        self.check_writing(&written, key)?;
        if past_memory && written.partial.remove(&key.index).is_some() {
            self.cache.lock().failed(key);
        }
        let mode = written.record.mode;
        if !past_memory && mode != WriteMode::Bypass && !written.on_under.contains(&key.index) {
            if let Some(partial) = written.partial.get(&key.index) {
                return Ok(WritePlace::Memory(partial.path.clone()));
            }
            if let Some(path) = self.place_in_memory(&mut written, key) {
                return Ok(WritePlace::Memory(path));
            }
        }
        if mode == WriteMode::Memory {
            let text = format!(
                "the memory has no room for {}; free some, raise --memory, or write it in mode \
                 back",
                written.record.path
            );
            let errno = Some(libc::ENOSPC);
            return Err(Error { errno, ..Error::input(OPERATION, text) });
        }
        if written.writer.is_none() {
            self.begin_under(&mut written)?;
        }
        written.on_under.insert(key.index);
        let place = written.writer.as_ref().and_then(|writer| writer.place());
        Ok(WritePlace::Under(place.unwrap_or_default()))
    }

    /// Declares blocks that were never written to be a hole of the hidden file; returns its path.
    ///
    /// # Errors
    /// `Input` where there is no room, one of the blocks was written, or the file is memory-only.
    pub fn leave_hole(&self, number: u64, first: u64, count: u64) -> Result<PathBuf> {
        let entry = self.writeback.pending(number)?;
        let mut written = lock(&entry);
        let end = first.saturating_add(count);
        self.check_size(end.saturating_mul(self.options.block_bytes))?;
        self.check_writing(&written, BlockKey { file: number, index: first })?;
        let is_inside = |index: u64| (first..end).contains(&index);
        if written.record.mode == WriteMode::Memory
            || written.record.blocks.iter().any(|block| is_inside(block.key.index))
            || written.partial.keys().any(|&index| is_inside(index))
        {
            let text = format!("{} has no hole of {count} blocks at {first}", written.record.path);
            return Err(Error::input(OPERATION, text));
        }
        if written.writer.is_none() {
            self.begin_under(&mut written)?;
        }
        written.on_under.insert_range(first..end);
        Ok(written.writer.as_ref().and_then(|writer| writer.place()).unwrap_or_default())
    }

    /// Returns an error for a size that no file here can have.
    ///
    /// # Errors
    /// `Input`: EFBIG for more blocks than have numbers, ENOSPC for more bytes than memory and the
    /// under level have room for.
    pub fn check_size(&self, size_bytes: u64) -> Result<()> {
        let refused = |errno, why: &str| {
            let text = format!("a file of {size_bytes} bytes is too large: {why}");
            Err(Error { errno: Some(errno), ..Error::input(OPERATION, text) })
        };
        let count = size_bytes.div_ceil(self.options.block_bytes);
        if count > BLOCKS_MAX || i64::try_from(size_bytes).is_err() {
            return refused(libc::EFBIG, "give the store larger blocks by --block");
        }
        let free_bytes = self.under.free_bytes().unwrap_or(u64::MAX);
        if size_bytes > self.options.memory_bytes.saturating_add(free_bytes) {
            return refused(libc::ENOSPC, "neither memory nor the folder below has room for it");
        }
        Ok(())
    }

    fn place_in_memory(&self, written: &mut PendingFile, key: BlockKey) -> Option<PathBuf> {
        let (to_remove, has_room) = self.cache.lock().place(key);
        self.remove(&to_remove);
        if !has_room {
            return None;
        }
        // The first block may be the last, and small.
        let size_bytes = if key.index == 0 { 0 } else { self.options.block_bytes };
        let Ok(partial) = self.tier.begin(key, size_bytes) else {
            self.cache.lock().failed(key);
            return None;
        };
        let path = partial.path.clone();
        written.partial.insert(key.index, partial);
        Some(path)
    }

    /// Writes bytes to the under level, for a writer that cannot open the path itself.
    ///
    /// # Errors
    /// As [`place`](Self::place); `System`.
    pub fn write_under(&self, number: u64, bytes: &[u8], offset: u64) -> Result<()> {
        let entry = self.writeback.pending(number)?;
        let written = lock(&entry);
        let Some(writer) = &written.writer else {
            return Err(Error::input(OPERATION, format!("file {number} has no place there")));
        };
        let path = &written.record.path;
        writer.write_all_at(bytes, offset).map_err(|cause| system("writing", path, &cause))
    }

    /// Completes a block in memory.
    ///
    /// # Errors
    /// `Input` for a block that is not being written, or has another size; `System`.
    pub fn seal(&self, key: BlockKey, size_bytes: u64) -> Result<()> {
        let entry = self.writeback.pending(key.file)?;
        let mut written = lock(&entry);
        self.check_writing(&written, key)?;
        let Some(partial) = written.partial.remove(&key.index) else {
            let text = format!("block {} of {} is not being written", key.index, key.file);
            return Err(Error::input(OPERATION, text));
        };
        let sealed = self.seal_block(&mut written, partial, size_bytes);
        if sealed.is_err() {
            self.cache.lock().failed(key);
        }
        let block = sealed?;
        self.cache.lock().sealed(block);
        written.record.blocks.push(block);
        Ok(())
    }

    /// Computes the checksum of the written bytes, and also writes them to the under level, where
    /// the file is written through.
    fn seal_block(
        &self,
        written: &mut PendingFile,
        partial: PartialBlock,
        size_bytes: u64,
    ) -> Result<SealedBlock> {
        let path = &written.record.path;
        let index = partial.key.index;
        let mut file_bytes = partial.file.metadata().map_or(0, |facts| facts.len());
        if file_bytes > size_bytes && index > 0 {
            // The file was created with the full size of a block.
            let cut = partial.file.set_len(size_bytes);
            cut.map_err(|cause| system("writing", path, &cause))?;
            file_bytes = size_bytes;
        }
        if file_bytes != size_bytes || size_bytes == 0 || size_bytes > self.options.block_bytes {
            let text = format!(
                "block {index} of {path} has {file_bytes} bytes in memory, {size_bytes} were said"
            );
            return Err(Error::input(OPERATION, text));
        }
        // A reader maps the block: all its bytes must have memory by then.
        allocate(&partial.file, size_bytes).map_err(|cause| system("writing", path, &cause))?;
        let through = (written.record.mode == WriteMode::Through).then_some(&written.writer);
        let start = index * self.options.block_bytes;
        let mut checksum = 0;
        let mut piece = lock(&self.pieces).pop().unwrap_or_default();
        piece.resize(PIECE_BYTES, 0);
        let mut place = 0;
        while place < size_bytes {
            let count = (size_bytes - place).min(PIECE_BYTES as u64) as usize;
            let bytes = &mut piece[..count];
            let read = partial.file.read_exact_at(bytes, place);
            read.map_err(|cause| system("reading", path, &cause))?;
            checksum = crc32c::crc32c_append(checksum, bytes);
            if let Some(Some(writer)) = through {
                let wrote = writer.write_all_at(bytes, start + place);
                wrote.map_err(|cause| system("writing", path, &cause))?;
            }
            place += count as u64;
        }
        lock(&self.pieces).push(piece);
        if through.is_some() {
            written.on_under.insert(index);
        }
        let path = &written.record.path;
        self.tier
            .seal(partial, size_bytes, checksum)
            .map_err(|cause| system("writing", path, &cause))
    }

    /// Discards a file that is being written.
    pub fn abandon(&self, number: u64) {
        if let Ok(entry) = self.writeback.pending(number) {
            let mut written = lock(&entry);
            if written.record.state == WriteState::Writing {
                self.discard(&mut written);
            }
        }
    }

    /// Discards all files that are not closed: their clients see that the store has ended.
    pub fn abandon_all(&self) {
        let numbers: Vec<u64> = self.writeback.numbers();
        numbers.into_iter().for_each(|number| self.abandon(number));
    }

    pub(super) fn discard(&self, written: &mut PendingFile) {
        written.record.state = WriteState::Abandoned;
        // If the exchange cannot be finished now, its record is left for the next store.
        let is_settled = self.settle_exchange(&written.record).is_ok();
        written.writer = None;
        written.partial.clear();
        let number = written.record.number;
        self.writeback.forget(number);
        let to_remove = self.cache.lock().end_file(number);
        self.remove(&to_remove);
        if is_settled {
            let _ = self.writeback.records.remove(number);
        }
    }

    fn check_writing(&self, written: &PendingFile, key: BlockKey) -> Result<()> {
        let WriteRecord { path, state, .. } = &written.record;
        let is_new = written.record.block(key.index).is_none();
        if *state == WriteState::Writing && key.index <= u64::from(u32::MAX) && is_new {
            return Ok(());
        }
        let text = format!("block {} of {path} cannot be written now", key.index);
        Err(Error::input(OPERATION, text))
    }

    /// Returns the number of the memory-only file at a path.
    pub(super) fn alone_at(&self, path: &StorePath) -> Option<u64> {
        let state = self.cache.lock();
        let (number, _) = state.file_at(path)?;
        matches!(state.backing(number), Backing::Dirty | Backing::Memory).then_some(number)
    }
}

pub(super) fn now_ns() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}
