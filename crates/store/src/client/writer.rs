//! A file that is written through the store, in any order, and can be read at the same time.

mod rewrite;

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;

use super::block::open_checked;
use super::connection::Connection;
use super::link::{StoreLink, accepted, other};
use crate::allocate::allocate;
use crate::memory::PIECE_BYTES;
use crate::path::StorePath;
use crate::permissions::of_new_file;
use crate::wire::{Question, Reply};
use crate::writeback::WriteMode;

/// Most unread replies to seals: with more, the store would block on sending and stop reading.
const SEALING_MAX: usize = 64;
/// Fewest consecutive blocks without data that are left out as a hole.
const HOLE_BLOCKS: u64 = 2;

/// A file that gets its name when it is [committed](Self::commit); dropped before, nothing remains
/// of it. While bytes arrive in order, a block is sealed as soon as the next one begins; a later
/// write to a sealed block rewrites the file.
#[derive(Debug)]
pub struct WrittenFile {
    connection: Connection,
    target: Target,
    /// The path that it was created under: bytes on the under level are in that folder.
    begun: StorePath,
    number: u64,
    block_bytes: u64,
    mode: WriteMode,
    size_bytes: u64,
    blocks: BTreeMap<u64, WrittenBlock>,
    /// Number of seals without a reply.
    sealing: usize,
    is_in_order: bool,
    /// A full block, to be sealed once the next one has its path.
    full: Option<u64>,
    /// The hidden file of the under level, once a block is there.
    under: Option<Arc<File>>,
    /// Permission bits that were set, which override those of a file that it replaces.
    set_permissions: Option<u32>,
}

/// Destination of a written file.
#[derive(Clone, Debug)]
struct Target {
    folder: std::path::PathBuf,
    path: StorePath,
    mode: Option<WriteMode>,
    permissions: u32,
}

#[derive(Debug)]
struct WrittenBlock {
    file: Arc<File>,
    /// Offset of the block in `file`.
    start: u64,
    is_memory: bool,
    is_sealed: bool,
}

impl WrittenFile {
    /// Creates a file, in the store's write mode where none is given. In mode `memory`, a file
    /// without room in memory is written to the under level, as in `bypass`. Its permission bits
    /// are those after the umask of this process, or those of the file that it replaces.
    ///
    /// # Errors
    /// I/O errors as the store reports them; `NotConnected` where no store runs.
    pub fn create(folder: &Path, path: &StorePath, mode: Option<WriteMode>) -> io::Result<Self> {
        Self::create_as(folder, path, mode, of_new_file())
    }

    /// As [`create`](Self::create), with these permission bits, to which the umask has been
    /// applied.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub fn create_as(
        folder: &Path,
        path: &StorePath,
        mode: Option<WriteMode>,
        permissions: u32,
    ) -> io::Result<Self> {
        Self::begin(Target { folder: folder.to_owned(), path: path.clone(), mode, permissions })
    }

    /// Sets its permission bits, which override those of a file that it replaces.
    pub fn permit(&mut self, permissions: u32) {
        self.set_permissions = Some(permissions);
    }

    fn begin(target: Target) -> io::Result<Self> {
        let mut connection = StoreLink::new(&target.folder).connection()?;
        let question = Question::Create {
            path: target.path.clone(),
            mode: target.mode,
            permissions: Some(target.permissions),
        };
        match accepted(connection.ask(&question)?)? {
            Reply::Created { created, block_bytes, mode } => Ok(Self {
                connection,
                begun: target.path.clone(),
                target,
                number: created,
                block_bytes,
                mode,
                size_bytes: 0,
                blocks: BTreeMap::new(),
                sealing: 0,
                is_in_order: true,
                full: None,
                under: None,
                set_permissions: None,
            }),
            reply => Err(other(&reply)),
        }
    }

    /// Returns the number of bytes so far.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns the path that it was created under.
    pub fn path(&self) -> &StorePath {
        &self.begun
    }

    /// Writes bytes at an offset; bytes before it that were never written are zero.
    ///
    /// # Errors
    /// I/O errors, after which bytes written before remain. `EFBIG` and `ENOSPC`, at once, for an
    /// offset that no file can have.
    pub fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let end = offset.checked_add(bytes.len() as u64);
        self.check_growth(end.unwrap_or(u64::MAX))?;
        self.is_in_order &= offset == self.size_bytes;
        let mut done = 0;
        while done < bytes.len() {
            let place = offset + done as u64;
            let (index, within) = (place / self.block_bytes, place % self.block_bytes);
            let count = (self.block_bytes - within).min((bytes.len() - done) as u64);
            let piece = &bytes[done..done + count as usize];
            self.write_piece(index, within, piece)?;
            done += piece.len();
            self.size_bytes = self.size_bytes.max(place + count);
            if self.is_in_order && within + count == self.block_bytes {
                self.full = Some(index);
            }
        }
        Ok(())
    }

    fn write_piece(&mut self, index: u64, within: u64, piece: &[u8]) -> io::Result<()> {
        if self.blocks.get(&index).is_some_and(|block| block.is_sealed) {
            self.write_again(self.target.mode, self.size_bytes)?;
        }
        let (file, start, is_memory) = self.block(index)?;
        match file.write_all_at(piece, start + within) {
            Err(error) if is_memory && is_full(&error) => {
                let (file, start, _) = self.past_memory(index, &file)?;
                file.write_all_at(piece, start + within)
            }
            written => written,
        }
    }

    /// Copies bytes from `offset` on to `into`, up to the end of the file; returns their number.
    ///
    /// # Errors
    /// I/O errors.
    pub fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let count = self.size_bytes.saturating_sub(offset).min(into.len() as u64);
        let into = &mut into[..count as usize];
        into.fill(0);
        let mut done = 0;
        while done < into.len() {
            let place = offset + done as u64;
            let (index, within) = (place / self.block_bytes, place % self.block_bytes);
            let count = (self.block_bytes - within).min((into.len() - done) as u64) as usize;
            if let Some(block) = self.blocks.get(&index) {
                let mut piece = &mut into[done..done + count];
                let mut from = block.start + within;
                while !piece.is_empty() {
                    let count = block.file.read_at(piece, from)?;
                    if count == 0 {
                        break;
                    }
                    from += count as u64;
                    piece = &mut piece[count..];
                }
            }
            done += count;
        }
        Ok(done)
    }

    /// Changes the size of the file; new bytes are zero.
    ///
    /// # Errors
    /// I/O errors; `EFBIG` and `ENOSPC`, at once, for a size that no file can have.
    pub fn resize(&mut self, size_bytes: u64) -> io::Result<()> {
        if size_bytes < self.size_bytes {
            return self.write_again(self.target.mode, size_bytes);
        }
        self.check_growth(size_bytes)?;
        self.is_in_order &= size_bytes == self.size_bytes;
        self.size_bytes = size_bytes;
        Ok(())
    }

    /// Sets another path, for a rewrite of a file that has lost its name and is never committed.
    pub fn unname(&mut self, path: &StorePath) {
        self.target.path = path.clone();
    }

    /// Rewrites the file at once, so that no part of it remains in the folder where it was created.
    ///
    /// # Errors
    /// I/O errors.
    pub fn relocate(&mut self) -> io::Result<()> {
        self.write_again(self.target.mode, self.size_bytes)
    }

    /// Gives the file its name, with the durability of its write mode. After an error nothing
    /// remains of it.
    ///
    /// # Errors
    /// I/O errors as the store reports them; `NotConnected` where it has ended.
    pub fn commit(mut self) -> io::Result<()> {
        let count = self.size_bytes.div_ceil(self.block_bytes);
        let mut index = 0;
        while index < count {
            let next = self.blocks.range(index..).next().map_or(count, |(&next, _)| next);
            if next - index >= HOLE_BLOCKS && self.mode != WriteMode::Memory {
                self.leave_hole(index, next - index)?;
                index = next;
            } else {
                // A block that was never written is zero. This call may rewrite the file to the
                // under level.
                self.block(index)?;
                index += 1;
            }
        }
        if let Some(under) = &self.under {
            under.set_len(self.size_bytes)?;
        }
        let indexes: Vec<u64> = self.blocks.keys().copied().collect();
        indexes.into_iter().try_for_each(|index| self.seal(index))?;
        let (number, bytes, permissions) = (self.number, self.size_bytes, self.set_permissions);
        let question = Question::Commit { number, bytes, is_new: false, permissions };
        self.ask(&question).map(|_| ())
    }

    /// Returns the file of a block, the block's offset there, and whether it is in memory.
    fn block(&mut self, index: u64) -> io::Result<(Arc<File>, u64, bool)> {
        if let Some(block) = self.blocks.get(&index) {
            return Ok((Arc::clone(&block.file), block.start, block.is_memory));
        }
        match self.take_place(index, false) {
            Err(error) if self.mode == WriteMode::Memory && is_full(&error) => {
                self.write_again(Some(WriteMode::Bypass), self.size_bytes)?;
                self.block(index)
            }
            accepted => accepted,
        }
    }

    fn take_place(&mut self, index: u64, past_memory: bool) -> io::Result<(Arc<File>, u64, bool)> {
        let number = self.number;
        let reply = self.ask(&Question::Place { number, index, past_memory })?;
        // The store checksums the full block while the next one is written.
        if let Some(full) = self.full.take().filter(|_| self.is_in_order) {
            self.seal(full)?;
        }
        let Reply::Placed { place, is_memory } = reply else { return Err(other(&reply)) };
        let open = || File::options().read(true).write(true).open(&place).map(Arc::new);
        let (file, start) = match &self.under {
            _ if is_memory => (Arc::new(open_checked(&place, OFlags::RDWR)?), 0),
            Some(under) => (Arc::clone(under), index * self.block_bytes),
            None => (open()?, index * self.block_bytes),
        };
        if !is_memory {
            self.under = Some(Arc::clone(&file));
        }
        let block = WrittenBlock { file: Arc::clone(&file), start, is_memory, is_sealed: false };
        self.blocks.insert(index, block);
        Ok((file, start, is_memory))
    }

    /// Moves a partly written block to the under level, as the memory of the system is full.
    fn past_memory(&mut self, index: u64, so_far: &File) -> io::Result<(Arc<File>, u64, bool)> {
        if self.mode == WriteMode::Memory {
            self.write_again(Some(WriteMode::Bypass), self.size_bytes)?;
            return self.block(index);
        }
        let placed = self.take_place(index, true)?;
        copy(so_far, &placed.0, placed.1)?;
        Ok(placed)
    }

    /// Reports to the store that a block in memory is complete, once.
    fn seal(&mut self, index: u64) -> io::Result<()> {
        let size_bytes = (self.size_bytes - index * self.block_bytes).min(self.block_bytes);
        let Some(block) = self.blocks.get_mut(&index) else { return Ok(()) };
        if block.is_sealed || !block.is_memory {
            return Ok(());
        }
        block.is_sealed = true;
        let file = Arc::clone(&block.file);
        let is_short = file.metadata()?.len() != size_bytes;
        if is_short {
            file.set_len(size_bytes)?;
        }
        // Bytes that were never written have no memory allocated yet.
        if is_short || !self.is_in_order {
            match allocate(&file, size_bytes) {
                Err(error) if is_full(&error) => {
                    return self.past_memory(index, &file).map(|_| ());
                }
                allocated => allocated?,
            }
        }
        while self.sealing >= SEALING_MAX {
            self.sealing -= 1;
            accepted(self.connection.answer()?)?;
        }
        self.sealing += 1;
        let question = Question::Seal { number: self.number, index, bytes: size_bytes };
        if self.connection.send(&question) { Ok(()) } else { accepted(None).map(|_| ()) }
    }

    fn ask(&mut self, question: &Question) -> io::Result<Reply> {
        while self.sealing > 0 {
            self.sealing -= 1;
            accepted(self.connection.answer()?)?;
        }
        accepted(self.connection.ask(question)?)
    }
}

fn copy(from: &File, to: &File, start: u64) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut place = 0;
    loop {
        let count = from.read_at(&mut piece, place)?;
        if count == 0 {
            return Ok(());
        }
        to.write_all_at(&piece[..count], start + place)?;
        place += count as u64;
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
