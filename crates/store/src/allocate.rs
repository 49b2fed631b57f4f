//! Allocation of memory for all bytes of a file, before a reader maps it.
//!
//! A file of a memory file system has holes after it is extended: a reader that maps one is killed
//! by SIGBUS if the memory is full by then. So no block is sealed before all of its bytes have
//! memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;

const ZEROS_BYTES: usize = 1 << 16;

/// Allocates memory for the first `size_bytes` of a file; its contents do not change.
///
/// # Errors
/// `StorageFull` where there is too little; I/O errors.
pub fn allocate(file: &File, size_bytes: u64) -> io::Result<()> {
    while has_hole(file, size_bytes)? {
        match fallocate(file, FallocateFlags::KEEP_SIZE, 0, size_bytes) {
            Err(Errno::INTR) => (),
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return fill_holes(file, size_bytes),
            // Allocated bytes that were never written count as a hole.
            allocated => return Ok(allocated?),
        }
    }
    Ok(())
}

/// Returns whether some of the first bytes of a file have no memory yet.
///
/// # Errors
/// I/O errors.
pub fn has_hole(file: &File, size_bytes: u64) -> io::Result<bool> {
    Ok(next_hole(file, 0)?.is_some_and(|hole| hole < size_bytes))
}

/// Returns the first hole from an offset on; `None` past the end of the file.
fn next_hole(file: &File, place: u64) -> io::Result<Option<u64>> {
    match seek(file, SeekFrom::Hole(place)) {
        Err(Errno::NXIO) => Ok(None),
        // A file system without support for holes reports none.
        Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(None),
        found => Ok(Some(found?)),
    }
}

/// Writes zeros to all holes.
fn fill_holes(file: &File, size_bytes: u64) -> io::Result<()> {
    let zeros = vec![0; ZEROS_BYTES];
    let mut place = 0;
    while let Some(hole) = next_hole(file, place)?.filter(|&hole| hole < size_bytes) {
        let end = match seek(file, SeekFrom::Data(hole)) {
            Err(Errno::NXIO) => size_bytes,
            found => found?.min(size_bytes),
        };
        place = hole;
        while place < end {
            let count = (end - place).min(ZEROS_BYTES as u64) as usize;
            file.write_all_at(&zeros[..count], place)?;
            place += count as u64;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    fn sparse(file: &File) -> Vec<u8> {
        file.set_len(1 << 20).unwrap();
        file.write_all_at(b"first", 70_000).unwrap();
        file.write_all_at(b"second", 500_000).unwrap();
        let mut bytes = vec![0; 1 << 20];
        bytes[70_000..70_005].copy_from_slice(b"first");
        bytes[500_000..500_006].copy_from_slice(b"second");
        bytes
    }

    #[test]
    fn a_file_with_holes_has_memory_for_all_its_bytes_afterwards() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let methods: [fn(&File, u64) -> io::Result<()>; 2] = [allocate, fill_holes];
        for (number, method) in methods.into_iter().enumerate() {
            let path = folder.path().join(number.to_string());
            let mut options = File::options();
            let file = options.read(true).write(true).create_new(true).open(&path).unwrap();
            let bytes = sparse(&file);
            assert!(has_hole(&file, 1 << 20).unwrap());
            method(&file, 1 << 20).unwrap();
            assert!(file.metadata().unwrap().blocks() * 512 >= 1 << 20);
            assert!(fs::read(&path).unwrap() == bytes);
            method(&file, 1 << 20).unwrap();
        }
    }
}
