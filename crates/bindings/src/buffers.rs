//! Buffers of Python (NumPy arrays, bytes) seen as slices.
//!
//! The only file of this crate with `unsafe`.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;

/// Content of a buffer as a slice. Callers must not write to it meanwhile.
///
/// # Errors
/// `ValueError` for a buffer with gaps.
pub fn slice<T: Element>(buffer: &PyBuffer<T>) -> PyResult<&[T]> {
    let count = check(buffer)?;
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: PyBuffer checked the type, `check` the layout; the buffer keeps the memory in place
    // as long as it lives, and callers do not write to it while it is read.
    Ok(unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<T>(), count) })
}

/// Content of a buffer as a mutable slice.
///
/// # Errors
/// `ValueError` for a buffer with gaps; `BufferError` for a read-only buffer.
pub fn slice_mut(buffer: &mut PyBuffer<u8>) -> PyResult<&mut [u8]> {
    let count = check(buffer)?;
    if buffer.readonly() {
        return Err(PyBufferError::new_err("a buffer to read into must not be read-only"));
    }
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as in `slice`; it may be written to, and a caller that passes a buffer to be filled
    // does not read it meanwhile.
    Ok(unsafe { std::slice::from_raw_parts_mut(buffer.buf_ptr().cast::<u8>(), count) })
}

fn check<T: Element>(buffer: &PyBuffer<T>) -> PyResult<usize> {
    if !buffer.is_c_contiguous() {
        return Err(PyValueError::new_err("a buffer must be C-contiguous"));
    }
    Ok(buffer.item_count())
}

/// Read-only bytes as a Python buffer without a copy.
#[pyclass(frozen)]
pub struct Block(Box<dyn AsRef<[u8]> + Send + Sync>);

impl Block {
    /// A block of `bytes`, which stay in place and never change while it lives.
    pub fn new(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self(Box::new(bytes))
    }

    fn bytes(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

#[pymethods]
impl Block {
    fn __len__(&self) -> usize {
        self.bytes().len()
    }

    // SAFETY: called by Python with a view to be filled. The bytes of a frozen object do not move,
    // and the view, which is read-only, keeps the object alive.
    unsafe fn __getbuffer__(
        slf: &Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: c_int,
    ) -> PyResult<()> {
        let bytes = slf.get().bytes();
        let start = bytes.as_ptr().cast_mut().cast::<c_void>();
        // SAFETY: as above.
        let code = unsafe {
            ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, bytes.len() as isize, 1, flags)
        };
        if code == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }
}

/// A buffer of Python that is kept alive, and can be read on any thread.
pub struct Held(PyBuffer<u8>);

impl Held {
    /// Keeps a buffer.
    ///
    /// # Errors
    /// `ValueError` for a buffer with gaps.
    pub fn new(buffer: PyBuffer<u8>) -> PyResult<Self> {
        check(&buffer)?;
        Ok(Self(buffer))
    }
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        slice(&self.0).unwrap_or_default()
    }
}
