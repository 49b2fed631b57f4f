//! Large arrays, in large pages where the system has them.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::pages::large_pages;
use cuesta_input::records::{RECORD_BYTES, Record};

/// An array of zeros, and the memory it takes.
pub struct LeasedArray<'a, T> {
    values: Vec<T>,
    _lease: Lease<'a>,
}

impl<'a, T: Clone> LeasedArray<'a, T> {
    /// `count` times `zero`, whose bits are all zero: no page of it is touched yet.
    ///
    /// # Errors
    /// `Input` when the budget has less.
    pub fn new(budget: &'a Budget, zero: T, count: usize) -> Result<Self> {
        let lease = budget.take((count * size_of::<T>()) as u64, "a sort")?;
        let mut values = vec![zero; count];
        large_pages(&mut values);
        Ok(Self { values, _lease: lease })
    }

    /// The array.
    pub fn values(&mut self) -> &mut [T] {
        &mut self.values
    }
}

/// Room for records. Bytes, because `vec!` fills arrays of records on one thread, even with zeros.
pub struct RecordRoom<'a>(LeasedArray<'a, u8>);

impl<'a> RecordRoom<'a> {
    /// Room for `count` records.
    ///
    /// # Errors
    /// `Input` when the budget has less.
    pub fn new(budget: &'a Budget, count: usize) -> Result<Self> {
        LeasedArray::new(budget, 0, count * RECORD_BYTES).map(Self)
    }

    /// The records.
    pub fn values(&mut self) -> &mut [Record] {
        self.0.values().as_chunks_mut().0
    }
}
