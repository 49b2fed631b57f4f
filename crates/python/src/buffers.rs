//! Buffers of Python (NumPy arrays, bytes) seen as slices.
//!
//! The only file of this crate with `unsafe`.
#![allow(unsafe_code)]

use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// What a buffer holds. Callers do not write to it meanwhile.
pub fn slice<T: Element>(buffer: &PyBuffer<T>) -> PyResult<&[T]> {
    let count = check(buffer)?;
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: PyBuffer checked the type, `check` the layout; the buffer keeps the memory in place
    // as long as it lives, and callers do not write to it while it is read.
    Ok(unsafe { std::slice::from_raw_parts(buffer.buf_ptr().cast::<T>(), count) })
}

/// What a buffer holds, to write to. It belongs to the one rank or task that works on it.
#[allow(clippy::mut_from_ref)]
pub fn slice_mut<T: Element>(buffer: &PyBuffer<T>) -> PyResult<&mut [T]> {
    let count = check(buffer)?;
    if buffer.readonly() {
        return Err(PyValueError::new_err("the buffer can't be written to"));
    }
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as in `slice`; nobody else uses the memory meanwhile.
    Ok(unsafe { std::slice::from_raw_parts_mut(buffer.buf_ptr().cast::<T>(), count) })
}

fn check<T: Element>(buffer: &PyBuffer<T>) -> PyResult<usize> {
    if !buffer.is_c_contiguous() {
        return Err(PyValueError::new_err("a buffer must be C-contiguous"));
    }
    Ok(buffer.item_count())
}
