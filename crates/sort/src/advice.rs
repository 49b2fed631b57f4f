//! Advice about memory, which changes what is fast and nothing else: large pages for arrays, and
//! records on their way to the processor before they are used.
//!
//! The only file of this crate with `unsafe`.
#![allow(unsafe_code)]

use cuesta_input::records::Record;
use rustix::mm::Advice;

/// Bytes of a large page.
const PAGE_BYTES: usize = 2 << 20;

/// Asks for large pages where whole ones are within the array: fewer faults while it is filled,
/// fewer misses while records are gathered.
pub fn large_pages<T>(values: &mut [T]) {
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

/// Fetches a record that will be read soon.
#[inline(always)]
pub fn fetch(record: &Record) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = record.as_ptr().cast::<i8>();
        // SAFETY: a hint; both addresses, of its first and its last byte, are within the record.
        unsafe {
            _mm_prefetch(first, _MM_HINT_T0);
            _mm_prefetch(first.add(record.len() - 1), _MM_HINT_T0);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = record;
}
