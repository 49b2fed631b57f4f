//! Large arrays, in large pages where the system has them: fewer faults while they are filled and
//! fewer misses while records are gathered.
//!
//! The only file of this crate with `unsafe`: the advice about pages.
#![allow(unsafe_code)]

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use rustix::mm::Advice;

/// Bytes of a large page.
const PAGE_BYTES: usize = 2 << 20;

/// An array of zeros, and the memory it takes.
pub struct Room<'a, T> {
    values: Vec<T>,
    _lease: Lease<'a>,
}

impl<'a, T: Clone> Room<'a, T> {
    /// `count` times `zero`, whose bits are all zero: no page of it is touched yet.
    ///
    /// # Errors
    /// `Input` when the budget has less.
    pub fn new(budget: &'a Budget, zero: T, count: usize) -> Result<Self> {
        let lease = budget.take((count * size_of::<T>()) as u64, "a sort")?;
        let mut values = vec![zero; count];
        advise(&mut values);
        Ok(Self { values, _lease: lease })
    }

    /// The array.
    pub fn values(&mut self) -> &mut [T] {
        &mut self.values
    }
}

/// Asks for large pages where whole ones are within the array.
fn advise<T>(values: &mut [T]) {
    let range = values.as_mut_ptr_range();
    let (start, end) = (range.start.addr(), range.end.addr());
    let first = start.next_multiple_of(PAGE_BYTES);
    let size_bytes = (end / PAGE_BYTES * PAGE_BYTES).saturating_sub(first);
    if size_bytes == 0 {
        return;
    }
    let place = range.start.cast::<u8>().wrapping_add(first - start);
    // SAFETY: the pages lie within the array, and the advice changes no byte of them.
    // A system without large pages refuses, which changes nothing either.
    let _ = unsafe { rustix::mm::madvise(place.cast(), size_bytes, Advice::LinuxHugepage) };
}
