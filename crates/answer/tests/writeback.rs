//! The pages of a growing file are written to the disk, as the system reports them.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use cuesta_answer::writeback::WriteBack;

const CACHESTAT: libc::c_long = 451;
const PAGE_BYTES: u64 = 4096;

/// Result of `cachestat(2)`: pages in memory, pages not on the disk, and pages being written.
#[repr(C)]
#[derive(Debug, Default)]
struct Pages {
    cached: u64,
    dirty: u64,
    under_way: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Returns `None` where the system is older than Linux 6.5.
#[allow(unsafe_code)]
fn pages(file: &File) -> Option<Pages> {
    let range = [0_u64; 2];
    let mut pages = Pages::default();
    // SAFETY: both pointers are to values of the sizes that the call reads and writes.
    let code = unsafe {
        libc::syscall(CACHESTAT, file.as_raw_fd(), range.as_ptr(), &raw mut pages, 0_u32)
    };
    (code == 0).then_some(pages)
}

#[test]
fn a_file_that_grows_is_written_before_the_end() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("folder");
    let mut file = File::create(folder.path().join("grows")).expect("file");
    let size_bytes = 16_u64 << 20;
    file.write_all(&vec![7; size_bytes as usize]).expect("write");
    let Some(before) = pages(&file) else { return };
    if before.dirty < size_bytes / PAGE_BYTES / 2 {
        return; // A file system in memory, or a disk that somebody else made write all there is.
    }
    let looked_after = WriteBack::start(folder.path()).expect("thread");
    let started = Instant::now();
    loop {
        let now = pages(&file).expect("pages");
        if now.dirty < before.dirty / 4 {
            break;
        }
        // The system itself begins after 30 s.
        assert!(started.elapsed() < Duration::from_secs(25), "{now:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(looked_after);
}
