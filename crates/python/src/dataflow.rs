//! The stages of `dataflow` on arrays that Python holds: what ranks and executors call.

use cuesta_core::random::Stream;
use cuesta_dataflow::kernel::{self, STREAM, Vector};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::buffers::{slice, slice_mut};

/// Sums in units of 2^-16.
type Sums = [i64; 3];

/// Fills a block with the vectors from number `first` on.
pub fn generate(py: Python<'_>, block: &PyBuffer<f64>, seed: u64, first: u64) -> PyResult<()> {
    let values = whole(slice_mut(block)?, block.item_count())?;
    py.detach(|| kernel::generate(&Stream::new(seed, STREAM), first, values));
    Ok(())
}

/// Adds `by` to each vector of a block.
pub fn shift(py: Python<'_>, block: &PyBuffer<f64>, by: Vector) -> PyResult<()> {
    let values = whole(slice_mut(block)?, block.item_count())?;
    py.detach(|| kernel::shift(values, by));
    Ok(())
}

/// The sums of a block.
pub fn sum(py: Python<'_>, block: &PyBuffer<f64>) -> PyResult<Sums> {
    let values = whole(slice(block)?, block.item_count())?;
    Ok(py.detach(|| kernel::units(kernel::sum(values))))
}

/// The sums of generated and shifted vectors that are never stored.
pub fn fused(py: Python<'_>, seed: u64, (first, vectors): (u64, u64), by: Vector) -> Sums {
    py.detach(|| kernel::units(kernel::fused(&Stream::new(seed, STREAM), first, vectors, by)))
}

fn whole<T>(values: T, count: usize) -> PyResult<T> {
    if !count.is_multiple_of(3) {
        return Err(PyValueError::new_err("a block is a C-contiguous array of 3 doubles a vector"));
    }
    Ok(values)
}
