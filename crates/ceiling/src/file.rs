//! Files: write rate, and read rates with and without the page cache.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

use cuesta_core::random::Stream;
use cuesta_core::{Error, Result};
use rustix::fs::OFlags;

use crate::{Request, Response, team};

/// Bytes of a warm read: fits the second-level cache.
const WARM_READ_BYTES: usize = 256 << 10;
/// Bytes of a direct read.
const DIRECT_READ_BYTES: usize = 1 << 20;
/// Direct reads of a pass.
const DIRECT_READS: usize = 16;
/// Bytes of a random read, and the alignment of direct ones.
const PAGE_BYTES: usize = 4096;
/// Random reads of a pass.
const RANDOM_READS: usize = 64;
const OPERATION: &str = "ceiling";

/// Measures writing: writes the file anew at each repeat, and waits until it is on the device.
pub fn write(request: &Request) -> Result<Response> {
    let blocks = team::share(request.bytes, 1, DIRECT_READ_BYTES as u64)? as usize;
    let blocks = blocks / DIRECT_READ_BYTES;
    let mut block = noise(DIRECT_READ_BYTES);
    let mut per_s = Vec::with_capacity(request.repeats);
    for _ in 0..request.repeats {
        let start = Instant::now();
        write_blocks(&request.path, blocks, &mut block)
            .map_err(|cause| Error::system(OPERATION, "writing", &request.path, &cause))?;
        let bytes = (blocks * DIRECT_READ_BYTES) as f64;
        per_s.push(bytes / start.elapsed().as_secs_f64().max(1e-9));
    }
    Ok(Response { unit: "bytes", per_s, detail: "one thread, with fsync".to_owned() })
}

fn write_blocks(path: &Path, blocks: usize, block: &mut [u8]) -> std::io::Result<()> {
    let mut out = File::create(path)?;
    for index in 0..blocks {
        // All blocks differ, or a file system might store only one of them.
        for (offset, page) in block.chunks_exact_mut(PAGE_BYTES).enumerate() {
            page[..8].copy_from_slice(&((index << 32 | offset) as u64).to_le_bytes());
        }
        out.write_all(block)?;
    }
    out.sync_all()
}

/// Returns bytes that do not compress; `count` is a multiple of 8.
fn noise(count: usize) -> Vec<u8> {
    let stream = Stream::new(0, 0);
    (0..count as u64).step_by(8).flat_map(|word| stream.bits(word).to_le_bytes()).collect()
}

/// Measures warm reads: each thread reads its part of the file repeatedly, from the page cache.
/// This bounds a scan of text.
pub fn read_warm(request: &Request) -> Result<Response> {
    let part = part_of(request, WARM_READ_BYTES)?;
    let per_s = team::rates(request, |index| {
        let file = open(&request.path, OFlags::empty())?;
        let mut buffer = vec![0; WARM_READ_BYTES];
        Ok(move |passes: usize| {
            for _ in 0..passes {
                for offset in (0..part).step_by(WARM_READ_BYTES) {
                    read(&file, &mut buffer, index as u64 * part + offset, &request.path)?;
                }
            }
            Ok(passes as u64 * part)
        })
    })?;
    let detail = format!("pread of {WARM_READ_BYTES} bytes from the page cache");
    Ok(Response { unit: "bytes", per_s, detail })
}

/// Measures direct reads: each thread reads its part of the file in order, without the page cache.
pub fn read_direct(request: &Request) -> Result<Response> {
    let part = part_of(request, DIRECT_READ_BYTES)?;
    let per_s = team::rates(request, |index| {
        let file = open(&request.path, OFlags::DIRECT)?;
        let mut buffer = Aligned::new(DIRECT_READ_BYTES);
        let mut offset = 0;
        Ok(move |passes: usize| {
            for _ in 0..passes * DIRECT_READS {
                read(&file, buffer.bytes(), index as u64 * part + offset, &request.path)?;
                offset = (offset + DIRECT_READ_BYTES as u64) % part;
            }
            Ok((passes * DIRECT_READS * DIRECT_READ_BYTES) as u64)
        })
    })?;
    let detail = format!("direct pread of {DIRECT_READ_BYTES} bytes, in order");
    Ok(Response { unit: "bytes", per_s, detail })
}

/// Measures random reads: each thread reads pages all over the file, without the page cache, one at
/// a time.
pub fn read_random(request: &Request) -> Result<Response> {
    let part = part_of(request, PAGE_BYTES)?;
    let pages = part * request.threads as u64 / PAGE_BYTES as u64;
    let per_s = team::rates(request, |index| {
        let file = open(&request.path, OFlags::DIRECT)?;
        let mut buffer = Aligned::new(PAGE_BYTES);
        let (stream, mut read_index) = (Stream::new(1, index as u64), 0);
        Ok(move |passes: usize| {
            for _ in 0..passes * RANDOM_READS {
                let page = stream.below(read_index, pages);
                read_index += 1;
                read(&file, buffer.bytes(), page * PAGE_BYTES as u64, &request.path)?;
            }
            Ok((passes * RANDOM_READS * PAGE_BYTES) as u64)
        })
    })?;
    let detail = format!("direct pread of {PAGE_BYTES} bytes at random, one at a time a thread");
    Ok(Response { unit: "bytes", per_s, detail })
}

/// Returns the bytes of the file for each thread.
fn part_of(request: &Request, grain: usize) -> Result<u64> {
    let size = std::fs::metadata(&request.path)
        .map_err(|cause| Error::system(OPERATION, "reading", &request.path, &cause))?
        .len();
    team::share(size, request.threads, grain as u64)
}

fn open(path: &Path, flags: OFlags) -> Result<File> {
    let opened = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path);
    opened.map_err(|cause| {
        let how = if flags.is_empty() { "opening" } else { "opening for direct reads" };
        Error::system(OPERATION, how, path, &cause)
    })
}

fn read(file: &File, buffer: &mut [u8], offset: u64, path: &Path) -> Result<()> {
    let read = file.read_exact_at(buffer, offset);
    read.map_err(|cause| Error::system(OPERATION, "reading (direct or warm)", path, &cause))?;
    std::hint::black_box(buffer);
    Ok(())
}

/// A buffer aligned to a page, as direct reads require.
struct Aligned {
    store: Vec<u8>,
    start: usize,
    count: usize,
}

impl Aligned {
    fn new(count: usize) -> Self {
        let store = vec![0; count + PAGE_BYTES];
        let start = store.as_ptr().align_offset(PAGE_BYTES);
        Self { store, start, count }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.store[self.start..self.start + self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aligned_buffer_begins_at_a_page_and_has_its_length() {
        for count in [PAGE_BYTES, DIRECT_READ_BYTES] {
            let mut buffer = Aligned::new(count);
            let bytes = buffer.bytes();
            assert_eq!(bytes.len(), count);
            assert_eq!(bytes.as_ptr() as usize % PAGE_BYTES, 0);
        }
    }

    #[test]
    fn noise_is_not_constant() {
        let bytes = noise(PAGE_BYTES);
        assert_eq!(bytes.len(), PAGE_BYTES);
        let zeros = bytes.iter().filter(|byte| **byte == 0).count();
        assert!(zeros < 64, "{zeros}");
    }
}
