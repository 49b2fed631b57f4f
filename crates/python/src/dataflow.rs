//! The stages of `dataflow` on arrays that Python holds: what ranks and executors call.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::random::Stream;
use cuesta_dataflow::kernel::{self, STREAM, Vector};
use cuesta_dataflow::source::Stored;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::buffers::{slice, slice_mut};
use crate::convert::{from_json, python_error};

/// Sums in units of 2^-16.
type Sums = [i64; 3];

/// Fills a block with the vectors from number `first` on.
pub fn generate(py: Python<'_>, block: &PyBuffer<f64>, seed: u64, first: u64) -> PyResult<()> {
    let values = whole(slice_mut(block)?, block.item_count())?;
    py.detach(|| kernel::generate(&Stream::new(seed, STREAM), first, values));
    Ok(())
}

/// The files of vectors behind a list of paths, with how many each has; bytes of all numbers.
pub fn files(inputs_json: &str) -> Result<(Vec<(PathBuf, u64)>, u64)> {
    let stored = Stored::open(&from_json::<Vec<PathBuf>>(inputs_json)?)?;
    Ok((stored.files(), stored.bytes()))
}

/// Fills a block with vectors of files from number `first` on.
pub fn load(
    py: Python<'_>,
    block: &PyBuffer<f64>,
    inputs_json: &str,
    (first, limit): (u64, f64),
) -> PyResult<()> {
    let values = whole(slice_mut(block)?, block.item_count())?;
    let filled = py.detach(|| {
        let inputs: Vec<PathBuf> = from_json(inputs_json)?;
        Stored::open(&inputs)?.fill(first, values, limit)
    });
    filled.map_err(|error| python_error(py, &error))
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
