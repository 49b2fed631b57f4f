//! Large arrays, in large pages if the system has them.

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::pages::large_pages;
use cuesta_input::records::{RECORD_BYTES, Record};

/// Array of zeros, and the memory it takes from the budget.
pub struct LeasedArray<'a, T> {
    values: Vec<T>,
    _lease: Lease<'a>,
}

impl<'a, T: Clone> LeasedArray<'a, T> {
    /// Allocates `count` times `zero`, whose bits are all zero, without touching a page.
    ///
    /// # Errors
    /// `Input` if the budget has less memory.
    pub fn new(budget: &'a Budget, zero: T, count: usize) -> Result<Self> {
        let lease = budget.take((count * size_of::<T>()) as u64, "a sort")?;
        let mut values = vec![zero; count];
        large_pages(&mut values);
        Ok(Self { values, _lease: lease })
    }

    /// Returns the array.
    pub fn values(&mut self) -> &mut [T] {
        &mut self.values
    }
}

/// Buffer for records. It holds bytes, because `vec!` fills arrays of records on one thread, even
/// with zeros.
pub struct RecordBuffer<'a>(LeasedArray<'a, u8>);

impl<'a> RecordBuffer<'a> {
    /// Allocates a buffer for `count` records.
    ///
    /// # Errors
    /// `Input` if the budget has less memory.
    pub fn new(budget: &'a Budget, count: usize) -> Result<Self> {
        LeasedArray::new(budget, 0, count * RECORD_BYTES).map(Self)
    }

    /// Returns the records.
    pub fn values(&mut self) -> &mut [Record] {
        self.0.values().as_chunks_mut().0
    }
}
