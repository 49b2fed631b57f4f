//! Fast path of reading a file of the store: reads that need only a leased block.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use cuesta_bindings::buffers::{Block, slice_mut};
use cuesta_runtime::parallel::lock;
use cuesta_store::client::block::StoredBlock;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

/// Largest copy that does not release the lock of Python's threads.
const ALONE_BYTES_MAX: usize = 64 << 10;

/// A position in a file of the store, and the leased blocks of the file.
///
/// Python's buffered reader calls `readinto`, which calls `miss(view, place)` for bytes that are
/// not all in a single leased block.
#[pyclass(module = "cuesta_store._native", frozen)]
pub struct HeldBlocks {
    size_bytes: u64,
    block_bytes: u64,
    inner: Mutex<Inner>,
    miss: Mutex<Option<Py<PyAny>>>,
}

struct Inner {
    place: u64,
    /// Index and content of blocks; the most recently used one is last.
    blocks: Vec<(u64, Arc<StoredBlock>)>,
}

impl Inner {
    fn find(&mut self, index: u64) -> Option<&Arc<StoredBlock>> {
        let last = self.blocks.len().checked_sub(1)?;
        let at = self.blocks.iter().rposition(|(key, _)| *key == index)?;
        if at != last {
            let block = self.blocks.remove(at);
            self.blocks.push(block);
        }
        self.blocks.last().map(|(_, block)| block)
    }
}

impl HeldBlocks {
    /// Copies a piece of a block; returns whether that block is leased.
    fn copied(&self, py: Python<'_>, into: &mut [u8], offset: u64) -> io::Result<bool> {
        let within = offset % self.block_bytes;
        let Some(block) = lock(&self.inner).find(offset / self.block_bytes).cloned() else {
            return Ok(false);
        };
        if into.len() <= ALONE_BYTES_MAX {
            block.copy(into, within)?;
        } else {
            py.detach(|| block.copy(into, within))?;
        }
        Ok(true)
    }

    /// Fills a buffer from the position on; the number of bytes, or `None` unless all are leased.
    fn filled(&self, py: Python<'_>, buffer: &mut PyBuffer<u8>) -> PyResult<Option<usize>> {
        let place = lock(&self.inner).place;
        let left = usize::try_from(self.size_bytes.saturating_sub(place)).unwrap_or(usize::MAX);
        let into = slice_mut(buffer)?;
        let count = into.len().min(left);
        if count == 0 {
            return Ok(Some(0));
        }
        let is_in_block = place % self.block_bytes + count as u64 <= self.block_bytes;
        // A failure here, such as a removed block, is handled by the slow path.
        if !is_in_block || !matches!(self.copied(py, &mut into[..count], place), Ok(true)) {
            return Ok(None);
        }
        lock(&self.inner).place = place + count as u64;
        Ok(Some(count))
    }
}

/// A block of the store that is mapped, and never changes.
struct MappedBlock(Arc<StoredBlock>);

impl AsRef<[u8]> for MappedBlock {
    fn as_ref(&self) -> &[u8] {
        self.0.mapped().unwrap_or_default()
    }
}

#[pymethods]
impl HeldBlocks {
    #[new]
    fn new(size_bytes: u64, block_bytes: u64, miss: Option<Py<PyAny>>) -> PyResult<Self> {
        if block_bytes == 0 {
            return Err(PyValueError::new_err("a block has at least one byte"));
        }
        let inner = Mutex::new(Inner { place: 0, blocks: Vec::new() });
        Ok(Self { size_bytes, block_bytes, inner, miss: Mutex::new(miss) })
    }

    fn __len__(&self) -> usize {
        lock(&self.inner).blocks.len()
    }

    fn __contains__(&self, index: u64) -> bool {
        lock(&self.inner).blocks.iter().any(|(key, _)| *key == index)
    }

    /// Hold a block, whose file exists.
    fn hold(&self, index: u64, path: PathBuf) -> PyResult<()> {
        let begin = index.saturating_mul(self.block_bytes);
        let size_bytes = self.block_bytes.min(self.size_bytes.saturating_sub(begin));
        let block = StoredBlock::open(&path, size_bytes)?;
        lock(&self.inner).blocks.push((index, Arc::new(block)));
        Ok(())
    }

    /// Release the least recently used block; its index.
    fn let_go(&self) -> Option<u64> {
        let mut inner = lock(&self.inner);
        (!inner.blocks.is_empty()).then(|| inner.blocks.remove(0).0)
    }

    /// Release all blocks, and the handler of misses.
    fn close(&self) {
        lock(&self.inner).blocks.clear();
        let miss = lock(&self.miss).take();
        drop(miss);
    }

    /// A block as memory, without a copy; `None` for a block that is not leased.
    fn block(&self, index: u64) -> PyResult<Option<Block>> {
        let Some(block) = lock(&self.inner).find(index).cloned() else { return Ok(None) };
        block.mapped()?;
        Ok(Some(Block::new(MappedBlock(block))))
    }

    /// Fill a buffer with a piece of a block; whether that block is leased.
    fn copy(&self, py: Python<'_>, mut buffer: PyBuffer<u8>, offset: u64) -> PyResult<bool> {
        let into = slice_mut(&mut buffer)?;
        if offset % self.block_bytes + into.len() as u64 > self.block_bytes {
            return Err(PyValueError::new_err("a piece goes past its block"));
        }
        Ok(self.copied(py, into, offset)?)
    }

    /// The position.
    #[pyo3(name = "tell")]
    fn position(&self) -> u64 {
        lock(&self.inner).place
    }

    /// Set the position, relative to the beginning (0), the position (1) or the end (2).
    #[pyo3(signature = (offset, whence = 0))]
    fn seek(&self, offset: i64, whence: u32) -> PyResult<u64> {
        let mut inner = lock(&self.inner);
        let from = match whence {
            0 => 0,
            1 => inner.place,
            2 => self.size_bytes,
            _ => {
                let message = format!("a place is counted from 0, 1 or 2, not from {whence}");
                return Err(PyValueError::new_err(message));
            }
        };
        let place = from.checked_add_signed(offset);
        inner.place =
            place.ok_or_else(|| PyValueError::new_err("a place before the file begins"))?;
        Ok(inner.place)
    }

    /// Fill a buffer from the position on, up to the end of the file; the number of bytes.
    fn readinto(&self, py: Python<'_>, buffer: &Bound<'_, PyAny>) -> PyResult<usize> {
        let mut bytes = PyBuffer::<u8>::get(buffer)?;
        if let Some(count) = self.filled(py, &mut bytes)? {
            return Ok(count);
        }
        drop(bytes);
        let miss = lock(&self.miss).as_ref().map(|miss| miss.clone_ref(py));
        let Some(miss) = miss else {
            return Err(PyValueError::new_err("I/O operation on closed file."));
        };
        let place = lock(&self.inner).place;
        let count: usize = miss.call1(py, (buffer, place))?.extract(py)?;
        lock(&self.inner).place = place + count as u64;
        Ok(count)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match lock(&self.miss).as_ref() {
            Some(miss) => visit.call(miss),
            None => Ok(()),
        }
    }

    fn __clear__(&self) {
        self.close();
    }
}
