//! Advice to the system about memory, which changes what is fast and nothing else.
//!
//! With `cpu`, the only file of this crate with `unsafe`.
#![allow(unsafe_code)]

use rustix::mm::Advice;

/// Bytes of a large page.
const PAGE_BYTES: usize = 2 << 20;

/// Requests large pages for the part of the array that they can cover: fewer page faults while it
/// is filled, fewer TLB misses while it is used. Changes no value.
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

/// An array of `count` values in large pages, for random access: with small pages each access is a
/// TLB miss too.
pub fn in_large_pages<T>(count: usize, value: impl FnMut() -> T) -> Vec<T> {
    let mut values = Vec::with_capacity(count);
    large_pages(values.spare_capacity_mut());
    values.resize_with(count, value);
    values
}

/// Returns freed memory that the allocator retains to the system, and makes the allocator return
/// arrays of a mebibyte or more as soon as they are freed: else it retains even those for later
/// arrays of up to their size, and a process outgrows the memory that it uses. Changes no value.
pub fn release_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        use std::ffi::c_int;
        const M_MMAP_THRESHOLD: c_int = -3;
        unsafe extern "C" {
            safe fn mallopt(option: c_int, value: c_int) -> c_int;
            safe fn malloc_trim(pad_bytes: usize) -> c_int;
        }
        mallopt(M_MMAP_THRESHOLD, 1 << 20);
        malloc_trim(0);
    }
}
