//! Memory mappings of files on a memory file system, and their huge pages.
//!
//! The only file of this crate with `unsafe`.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::ptr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cuesta_runtime::parallel::lock;
use rustix::mm::{MapFlags, ProtFlags};

/// Bytes of a huge page, which is aligned to them in the file and in memory.
pub const HUGE_BYTES: usize = 2 << 20;
/// A huge page was mapped in 13 to 40 us, and as many bytes in small pages in 310 to 470.
const QUICK: Duration = Duration::from_micros(100);
/// Limit above which a huge page costs more than it saves: clearing one takes a hundredth of that,
/// but memory that a virtual machine touches for the first time takes longer, in small pages too.
const SLOW: Duration = Duration::from_millis(10);
/// Time without huge pages after a slow one.
const PAUSE_SLOW: Duration = Duration::from_millis(500);
/// Time without huge pages after one that the system refused.
const PAUSE_REFUSED: Duration = Duration::from_secs(60);

/// A read-only memory mapping of a file.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    size_bytes: usize,
}

// SAFETY: the memory is never written, so that any thread may read it.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first bytes of a file that is not changed any more, for reading.
    ///
    /// # Errors
    /// `UnexpectedEof` where it has fewer; I/O errors.
    pub fn new(file: &File, size_bytes: usize) -> io::Result<Self> {
        if file.metadata()?.len() < size_bytes as u64 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Self::with(file, 0, size_bytes, ProtFlags::READ, MapFlags::SHARED | MapFlags::POPULATE)
    }

    /// Returns whether a file is mapped fast, as in huge pages. The last page is measured: where
    /// the system had too few huge pages, those at the end are missing.
    pub fn is_quick(file: &File, size_bytes: usize) -> bool {
        let Some(last) = (size_bytes / HUGE_BYTES).checked_sub(1) else { return true };
        let begun = Instant::now();
        let flags = MapFlags::SHARED | MapFlags::POPULATE;
        let mapped = Self::with(file, last * HUGE_BYTES, HUGE_BYTES, ProtFlags::READ, flags);
        mapped.is_ok() && begun.elapsed() < QUICK
    }

    /// Maps a part of a file, with the alignment that huge pages need.
    fn with(
        file: &File,
        from: usize,
        size_bytes: usize,
        protection: ProtFlags,
        flags: MapFlags,
    ) -> io::Result<Self> {
        let slack = if size_bytes < HUGE_BYTES { 0 } else { HUGE_BYTES };
        let reserved = size_bytes + slack;
        let (none, private) = (ProtFlags::empty(), MapFlags::PRIVATE);
        // SAFETY: the system chooses a free address range for memory that may not be accessed.
        let place =
            unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), reserved, none, private)? };
        let place: *mut u8 = place.cast();
        let before = place.align_offset(HUGE_BYTES.min(slack.max(1)));
        let start = place.wrapping_add(before);
        // SAFETY: it replaces a part of the reserved range; the file has so many bytes.
        let mapped = unsafe {
            let flags = flags | MapFlags::FIXED;
            rustix::mm::mmap(start.cast(), size_bytes, protection, flags, file, from as u64)
        };
        let unmap = |start: *mut u8, count: usize| {
            if count > 0 {
                // SAFETY: a part of the reserved range that holds no mapping of the file.
                let _ = unsafe { rustix::mm::munmap(start.cast(), count) };
            }
        };
        if let Err(errno) = mapped {
            unmap(place, reserved);
            return Err(errno.into());
        }
        let page = rustix::param::page_size();
        let end = before + size_bytes.next_multiple_of(page);
        unmap(place, before);
        unmap(place.wrapping_add(end), reserved.next_multiple_of(page).saturating_sub(end));
        Ok(Self { start, size_bytes })
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `size_bytes` are mapped until this is dropped, and the bytes of a block never
        // change.
        unsafe { std::slice::from_raw_parts(self.start, self.size_bytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped by `with`, and no borrow of it exists any more.
        let _ = unsafe { rustix::mm::munmap(self.start.cast(), self.size_bytes) };
    }
}

/// Allocation of huge pages for files, where the system provides them without configuration by an
/// administrator: a fill, and a first scan of a mapping, take a fraction of the time.
#[derive(Debug, Default)]
pub struct HugePages {
    paused: Mutex<Option<Instant>>,
}

impl HugePages {
    /// Extends a file that is written next to its size, with huge pages as far as the system has
    /// them at once. Otherwise it gets small pages: nothing is lost but time.
    pub fn reserve(&self, file: &File, size_bytes: u64) {
        let count = size_bytes as usize / HUGE_BYTES;
        let is_paused = lock(&self.paused).is_some_and(|until| Instant::now() < until);
        if count == 0 || is_paused {
            return;
        }
        if let Err(pause) = reserve(file, count) {
            *lock(&self.paused) = Some(Instant::now() + pause);
        }
    }
}

/// Allocates `count` huge pages of a file, from its start on; fails with the time to wait before
/// the next try, where the system has them slowly or not at all.
pub fn reserve(file: &File, count: usize) -> Result<(), Duration> {
    let size_bytes = count * HUGE_BYTES;
    let refused = |_| PAUSE_REFUSED;
    file.set_len(size_bytes as u64).map_err(refused)?;
    // A page of each has to exist.
    for page in 0..count {
        file.write_all_at(&[0], (page * HUGE_BYTES) as u64).map_err(refused)?;
    }
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let mapping =
        Mapping::with(file, 0, size_bytes, protection, MapFlags::SHARED).map_err(refused)?;
    let begun = Instant::now();
    // SAFETY: these bytes are mapped; the advice changes none of them.
    let code = unsafe { libc::madvise(mapping.start.cast(), size_bytes, libc::MADV_COLLAPSE) };
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // Some page was in use at that moment: the others are done.
        _ if code == 0 => (),
        Some(libc::EAGAIN | libc::EBUSY) => (),
        Some(libc::ENOMEM) => return Err(PAUSE_SLOW),
        _ => return Err(PAUSE_REFUSED),
    }
    if begun.elapsed() > SLOW * count as u32 { Err(PAUSE_SLOW) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn files_of_any_size_are_mapped_and_unmapped() {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..3 * HUGE_BYTES + 777).map(|place| (place * 7 / 3) as u8).collect();
        file.write_all(&bytes).unwrap();
        for size_bytes in [1, 4096, 4097, HUGE_BYTES - 1, HUGE_BYTES, HUGE_BYTES + 1, bytes.len()] {
            for _ in 0..3 {
                let mapping = Mapping::new(&file, size_bytes).unwrap();
                assert!(*mapping == bytes[..size_bytes]);
                if size_bytes >= HUGE_BYTES {
                    assert_eq!(mapping.start.align_offset(HUGE_BYTES), 0);
                }
            }
        }
    }

    #[test]
    fn a_reserved_file_has_the_bytes_written_to_it() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let huge = HugePages::default();
        for size_bytes in [100, HUGE_BYTES, 2 * HUGE_BYTES + 5] {
            let path = folder.path().join(size_bytes.to_string());
            let mut file = File::create_new(&path).unwrap();
            huge.reserve(&file, size_bytes as u64);
            assert!(file.metadata().unwrap().len() <= size_bytes as u64);
            let bytes: Vec<u8> = (0..size_bytes).map(|place| (place * 7 / 3) as u8).collect();
            file.write_all(&bytes).unwrap();
            assert!(std::fs::read(&path).unwrap() == bytes);
        }
    }
}
