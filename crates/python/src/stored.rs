//! Reading a file of the store: the reads that need nothing but a block that is held.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use cuesta_runtime::parallel::lock;
use cuesta_store::client::block::StoredBlock;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use crate::buffers::{Block, slice_mut};

/// Copies of more bytes let other threads of Python run meanwhile.
const ALONE_BYTES_MAX: usize = 64 << 10;

/// A place in a file of the store, and the blocks of the file that are leased.
///
/// `readinto` is what Python's own buffered reader calls: it asks `miss(view, place)` for bytes
/// that are not all in one block that is held.
#[pyclass(module = "cuesta._native", frozen)]
pub struct HeldBlocks {
    size_bytes: u64,
    block_bytes: u64,
    inner: Mutex<Inner>,
    miss: Mutex<Option<Py<PyAny>>>,
}

struct Inner {
    place: u64,
    /// The one that was used last is at the end.
    blocks: Vec<(u64, Arc<StoredBlock>)>,
}

impl Inner {
    fn find(&mut self, index: u64) -> Option<&Arc<StoredBlock>> {
        let last = self.blocks.len().checked_sub(1)?;
        let at = self.blocks.iter().rposition(|(own, _)| *own == index)?;
        if at != last {
            let found = self.blocks.remove(at);
            self.blocks.push(found);
        }
        self.blocks.last().map(|(_, block)| block)
    }
}

impl HeldBlocks {
    /// Copies a piece of one block; whether that block is held.
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

    /// Fills a buffer from where it stands; how many bytes, or none that are all held.
    fn filled(&self, py: Python<'_>, buffer: &mut PyBuffer<u8>) -> PyResult<Option<usize>> {
        let place = lock(&self.inner).place;
        let left = usize::try_from(self.size_bytes.saturating_sub(place)).unwrap_or(usize::MAX);
        let into = slice_mut(buffer)?;
        let count = into.len().min(left);
        if count == 0 {
            return Ok(Some(0));
        }
        let is_one_block = place % self.block_bytes + count as u64 <= self.block_bytes;
        // What fails here, such as a block that is gone, is tried in another way.
        if !is_one_block || !matches!(self.copied(py, &mut into[..count], place), Ok(true)) {
            return Ok(None);
        }
        lock(&self.inner).place = place + count as u64;
        Ok(Some(count))
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
        lock(&self.inner).blocks.iter().any(|(own, _)| *own == index)
    }

    /// Hold a block, whose file is there.
    fn hold(&self, index: u64, path: PathBuf) -> PyResult<()> {
        let begin = index.saturating_mul(self.block_bytes);
        let size_bytes = self.block_bytes.min(self.size_bytes.saturating_sub(begin));
        let block = StoredBlock::open(&path, size_bytes)?;
        lock(&self.inner).blocks.push((index, Arc::new(block)));
        Ok(())
    }

    /// Let go of the block that was used longest ago; its index.
    fn let_go(&self) -> Option<u64> {
        let mut inner = lock(&self.inner);
        (!inner.blocks.is_empty()).then(|| inner.blocks.remove(0).0)
    }

    /// Let go of all, and of who is asked for others.
    fn close(&self) {
        lock(&self.inner).blocks.clear();
        let asked = lock(&self.miss).take();
        drop(asked);
    }

    /// A block as memory, without a copy; `None` for one that is not held.
    fn block(&self, index: u64) -> PyResult<Option<Block>> {
        let Some(block) = lock(&self.inner).find(index).cloned() else { return Ok(None) };
        block.mapped()?;
        Ok(Some(Block::stored(block)))
    }

    /// Fill a buffer with a piece of one block; whether that block is held.
    fn copy(&self, py: Python<'_>, mut buffer: PyBuffer<u8>, offset: u64) -> PyResult<bool> {
        let into = slice_mut(&mut buffer)?;
        if offset % self.block_bytes + into.len() as u64 > self.block_bytes {
            return Err(PyValueError::new_err("a piece goes past its block"));
        }
        Ok(self.copied(py, into, offset)?)
    }

    /// The place that is next.
    fn tell(&self) -> u64 {
        lock(&self.inner).place
    }

    /// Go to a place, counted from the beginning (0), from here (1) or from the end (2).
    #[pyo3(signature = (offset, whence = 0))]
    fn seek(&self, offset: i64, whence: u32) -> PyResult<u64> {
        let mut inner = lock(&self.inner);
        let from = match whence {
            0 => 0,
            1 => inner.place,
            2 => self.size_bytes,
            _ => {
                let told = format!("a place is counted from 0, 1 or 2, not from {whence}");
                return Err(PyValueError::new_err(told));
            }
        };
        let place = from.checked_add_signed(offset);
        inner.place =
            place.ok_or_else(|| PyValueError::new_err("a place before the file begins"))?;
        Ok(inner.place)
    }

    /// Fill a buffer from the place on, as far as the file goes; how many bytes.
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
