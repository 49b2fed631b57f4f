//! Prefetching of records.
//!
//! The only file of this crate with `unsafe`.
#![allow(unsafe_code)]

use cuesta_input::records::Record;

/// Prefetches a record that will be read soon.
#[inline(always)]
pub fn fetch(record: &Record) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let first = record.as_ptr().cast::<i8>();
        // SAFETY: the prefetch is a hint; both addresses, of the first and the last byte, are
        // within the record.
        unsafe {
            _mm_prefetch(first, _MM_HINT_T0);
            _mm_prefetch(first.add(record.len() - 1), _MM_HINT_T0);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = record;
}
