//! The steps of `sort` that ranks and executors call: JSON, bytes and buffers of Python in, results
//! out.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::progress::Progress;
use cuesta_input::records::{Record, RecordFiles};
use cuesta_sort::kernel::Entry;
use cuesta_sort::run::shares::{self, Share};
use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

use crate::convert::from_json;

/// The files behind a list of paths.
pub fn files(inputs_json: &str) -> Result<RecordFiles> {
    let paths: Vec<PathBuf> = from_json(inputs_json)?;
    RecordFiles::open(&paths)
}

/// See [`shares::sample`].
pub fn sample(inputs: &str, share: Share, count: u64, progress: &Progress) -> Result<Vec<u8>> {
    Ok(to_bytes(&shares::sample(&files(inputs)?, share, count, progress)?))
}

/// See [`shares::cuts`].
pub fn cuts(sample: &[u8], parts: usize) -> Result<Vec<u8>> {
    Ok(to_bytes(&shares::cuts(&mut from_bytes(sample), parts)?))
}

/// See [`shares::count`].
pub fn count(inputs: &str, share: Share, cuts: &[u8], progress: &Progress) -> Result<Vec<u64>> {
    shares::count(&files(inputs)?, share, from_bytes(cuts), progress)
}

/// See [`shares::divide`].
pub fn divide(
    inputs: &str,
    first: u64,
    cuts: &[u8],
    out: &mut [Record],
    progress: &Progress,
) -> Result<Vec<u64>> {
    shares::divide(&files(inputs)?, first, from_bytes(cuts), out, progress)
}

/// Bytes as records.
pub fn whole(bytes: &[u8]) -> PyResult<&[Record]> {
    let (records, rest) = bytes.as_chunks();
    if rest.is_empty() { Ok(records) } else { Err(not_whole()) }
}

/// Bytes as records to write to.
pub fn whole_mut(bytes: &mut [u8]) -> PyResult<&mut [Record]> {
    let (records, rest) = bytes.as_chunks_mut();
    if rest.is_empty() { Ok(records) } else { Err(not_whole()) }
}

fn not_whole() -> pyo3::PyErr {
    PyValueError::new_err("a buffer holds whole records of 100 bytes")
}

fn to_bytes(entries: &[Entry]) -> Vec<u8> {
    entries.iter().flat_map(|entry| entry.to_le_bytes()).collect()
}

fn from_bytes(bytes: &[u8]) -> Vec<Entry> {
    bytes.as_chunks().0.iter().map(|&entry| Entry::from_le_bytes(entry)).collect()
}
