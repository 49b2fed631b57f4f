//! The stages of `dataflow` on arrays that Python holds: what ranks and executors call.
//!
//! The only file of this crate with `unsafe`: a buffer of Python seen as a slice.
#![allow(unsafe_code)]

use cuesta_core::random::Stream;
use cuesta_dataflow::kernel::{self, STREAM, Vector};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Sums in units of 2^-16.
type Sums = [i64; 3];

/// Fills a block with the vectors from number `first` on.
pub fn generate(py: Python<'_>, block: &PyBuffer<f64>, seed: u64, first: u64) -> PyResult<()> {
    let values = values_mut(py, block)?;
    py.detach(|| kernel::generate(&Stream::new(seed, STREAM), first, values));
    Ok(())
}

/// Adds `by` to each vector of a block.
pub fn shift(py: Python<'_>, block: &PyBuffer<f64>, by: Vector) -> PyResult<()> {
    let values = values_mut(py, block)?;
    py.detach(|| kernel::shift(values, by));
    Ok(())
}

/// The sums of a block.
pub fn sum(py: Python<'_>, block: &PyBuffer<f64>) -> PyResult<Sums> {
    let values = values(block)?;
    Ok(py.detach(|| kernel::units(kernel::sum(values))))
}

/// The sums of generated and shifted vectors that are never stored.
pub fn fused(py: Python<'_>, seed: u64, (first, vectors): (u64, u64), by: Vector) -> Sums {
    py.detach(|| kernel::units(kernel::fused(&Stream::new(seed, STREAM), first, vectors, by)))
}

fn check(block: &PyBuffer<f64>) -> PyResult<usize> {
    let count = block.item_count();
    if !block.is_c_contiguous() || !count.is_multiple_of(3) {
        return Err(PyValueError::new_err("a block is a C-contiguous array of 3 doubles a vector"));
    }
    Ok(count)
}

fn values(block: &PyBuffer<f64>) -> PyResult<&[f64]> {
    let count = check(block)?;
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: PyBuffer checked the type, `check` the layout; the buffer keeps the memory in place
    // as long as it lives, and callers do not write to a block while it is summed.
    Ok(unsafe { std::slice::from_raw_parts(block.buf_ptr().cast::<f64>(), count) })
}

#[allow(clippy::mut_from_ref)]
fn values_mut<'a>(_py: Python<'_>, block: &'a PyBuffer<f64>) -> PyResult<&'a mut [f64]> {
    let count = check(block)?;
    if block.readonly() {
        return Err(PyValueError::new_err("the block can't be written to"));
    }
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as in `values`; a block belongs to the one rank or task that works on it.
    Ok(unsafe { std::slice::from_raw_parts_mut(block.buf_ptr().cast::<f64>(), count) })
}
