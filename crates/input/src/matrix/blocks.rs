//! The text of a file in blocks of lines, decompressed as it is read.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::{Error, Result};
use memchr::memrchr;

use super::OPERATION;
use super::room::{Progress, Room};
use crate::limits::READ_BYTES;
use crate::storage::{self, Input};
use crate::table::{HEAD_BYTES, ends_in_returns, kinds};
use crate::unpack::{self, CompressionFormat, Unpacked};

/// Byte order mark that some programs write before UTF-8.
pub const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Bytes of text, of which the last line may be incomplete.
#[derive(Default)]
pub struct TextBlock {
    bytes: Vec<u8>,
    /// Bytes of complete lines.
    complete: usize,
    is_last: bool,
}

impl TextBlock {
    /// The complete lines; at the end of the text, its last line too.
    pub fn lines(&self) -> &[u8] {
        &self.bytes[..self.complete]
    }

    /// Whether the text ends here.
    pub fn is_last(&self) -> bool {
        self.is_last
    }

    /// Returns the memory.
    pub fn close(self, room: &Room) {
        room.release(self.bytes.capacity() as u64);
    }

    /// Room for `size_bytes`, those that are there included.
    fn grow(&mut self, size_bytes: usize, room: &Room) -> Result<()> {
        let more = size_bytes.saturating_sub(self.bytes.capacity());
        if more > 0 {
            // While it is moved, the buffer may be there twice.
            let moved = self.bytes.capacity() as u64;
            room.take(size_bytes as u64)?;
            self.bytes.reserve_exact(size_bytes - self.bytes.len());
            room.release(moved);
        }
        Ok(())
    }
}

/// Reads the blocks of a file in order.
pub struct TextBlocks {
    path: PathBuf,
    text: BufReader<Unpacked>,
    /// The beginning of the line that the last block ended within.
    carried: TextBlock,
    read_bytes: Arc<AtomicU64>,
    size_bytes: u64,
    at_start: bool,
    /// Whether lines end in carriage returns alone.
    has_returns: bool,
}

impl TextBlocks {
    /// Opens a file.
    ///
    /// # Errors
    /// `System`; `Input` for a truncated file of bgzip.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |cause: io::Error| unpack::failure(OPERATION, path, &cause);
        let size_bytes = storage::metadata(path).map_err(failed)?.size_bytes;
        let read_bytes = Arc::new(AtomicU64::new(0));
        let counted = |input| Counted { input, read_bytes: Arc::clone(&read_bytes) };
        let text = unpack::open_through(path, counted).map_err(failed)?;
        let text = BufReader::with_capacity(READ_BYTES, text);
        let carried = TextBlock::default();
        let path = path.to_owned();
        Ok(Self { path, text, carried, read_bytes, size_bytes, at_start: true, has_returns: false })
    }

    /// The share of the file that has been read.
    pub fn progress(&self) -> Progress {
        let (read_bytes, size_bytes) = (Arc::clone(&self.read_bytes), self.size_bytes);
        Box::new(move || read_bytes.load(Ordering::Relaxed) as f64 / size_bytes.max(1) as f64)
    }

    /// Reads the next lines, some `block_bytes` of them, or a longer line.
    ///
    /// # Errors
    /// `System`; `Input` where the memory ends, and for a damaged compressed file.
    pub fn read_into(
        &mut self,
        block: &mut TextBlock,
        block_bytes: usize,
        room: &Room,
    ) -> Result<()> {
        block.bytes.clear();
        block.grow(block_bytes.max(self.carried.bytes.len() + block_bytes / 2), room)?;
        block.bytes.append(&mut self.carried.bytes);
        self.fill(block)?;
        while block.complete == 0 && !block.is_last {
            self.extend_once(block, room)?;
        }
        self.carry(block, room)
    }

    /// Reads more lines behind those of a block.
    ///
    /// # Errors
    /// As [`TextBlocks::read_into`].
    pub fn extend(&mut self, block: &mut TextBlock, room: &Room) -> Result<()> {
        let (complete, capacity) = (block.complete, block.bytes.capacity());
        block.grow(complete + self.carried.bytes.len() + capacity, room)?;
        block.bytes.append(&mut self.carried.bytes);
        self.fill(block)?;
        while block.complete == complete && !block.is_last {
            self.extend_once(block, room)?;
        }
        self.carry(block, room)
    }

    fn extend_once(&mut self, block: &mut TextBlock, room: &Room) -> Result<()> {
        block.grow(2 * block.bytes.capacity(), room)?;
        self.fill(block)
    }

    /// Fills the buffer, or reads up to the end of the text.
    fn fill(&mut self, block: &mut TextBlock) -> Result<()> {
        let failed = |cause: io::Error| unpack::failure(OPERATION, &self.path, &cause);
        let free = block.bytes.capacity() - block.bytes.len();
        let from = block.bytes.len();
        let count = (&mut self.text).take(free as u64).read_to_end(&mut block.bytes);
        block.is_last = count.map_err(failed)? < free;
        let at_start = std::mem::take(&mut self.at_start);
        if at_start {
            let packing = self.text.get_ref().packing();
            check_text(&self.path, &block.bytes, packing)?;
            self.has_returns = ends_in_returns(&block.bytes);
        }
        if self.has_returns {
            let ends = block.bytes[from..].iter_mut().filter(|byte| **byte == b'\r');
            ends.for_each(|byte| *byte = b'\n');
        }
        if at_start && block.bytes.starts_with(BYTE_ORDER_MARK) {
            block.bytes.drain(..BYTE_ORDER_MARK.len());
        }
        block.complete = match block.is_last {
            true => block.bytes.len(),
            false => memrchr(b'\n', &block.bytes).map_or(0, |place| place + 1),
        };
        Ok(())
    }

    /// Carries the incomplete line over to the next block.
    fn carry(&mut self, block: &mut TextBlock, room: &Room) -> Result<()> {
        let rest = &block.bytes[block.complete..];
        self.carried.grow(rest.len(), room)?;
        self.carried.bytes.extend_from_slice(rest);
        block.bytes.truncate(block.complete);
        Ok(())
    }
}

/// First bytes of matrices that are read if they are not compressed: HDF5, Parquet, Arrow, Feather.
const READABLE: [&[u8]; 4] = [b"\x89HDF", b"PAR1", b"ARROW1", b"FEA1"];

fn check_text(path: &Path, start: &[u8], packing: CompressionFormat) -> Result<()> {
    let start = &start[..start.len().min(HEAD_BYTES)];
    kinds::check_packed(start, packing, &READABLE)
        .and_then(|()| kinds::check_text(start))
        .map_err(|what| Error::input(OPERATION, format!("{} {what}", path.display())))
}

/// Counts the bytes of a file as they are read.
struct Counted {
    input: Input,
    read_bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        self.read_bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
