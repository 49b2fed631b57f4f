//! Records of a fixed size, stored in partitions: in memory if they fit, else in a scratch file
//! without a name, which disappears with the process, however it ends.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use cuesta_core::budget::{Budget, Lease};
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

/// Maximum and minimum size of the block that a thread collects for a partition, in bytes.
const BLOCK_BYTES_MAX: u64 = 16 << 10;
const BLOCK_BYTES_MIN: u64 = 1 << 10;

/// Memory and folder of a store.
#[derive(Clone, Copy)]
pub struct PartitionOptions<'a> {
    /// Budget of the memory.
    pub budget: &'a Budget,
    /// Maximum memory of the records, in bytes.
    pub memory_bytes: u64,
    /// Folder of the scratch file.
    pub scratch: &'a Path,
    /// Threads that add records.
    pub threads: usize,
}

/// Store of records of `N` bytes.
pub struct RecordStore<'a, const N: usize> {
    options: PartitionOptions<'a>,
    partitions: Vec<Mutex<Partition<'a>>>,
    block_bytes: usize,
    memory_bytes: AtomicU64,
    file: OnceLock<std::result::Result<File, Error>>,
    file_bytes: AtomicU64,
}

#[derive(Default)]
struct Partition<'a> {
    blocks: Vec<Block<'a>>,
    records: u64,
}

enum Block<'a> {
    Memory { bytes: Vec<u8>, _lease: Lease<'a> },
    Disk { offset: u64, size: usize },
}

/// Records of a thread that are not in the store yet.
pub struct StoreWriter<const N: usize> {
    blocks: Vec<Vec<u8>>,
}

impl<'a, const N: usize> RecordStore<'a, N> {
    /// Creates an empty store with `partitions` partitions.
    pub fn new(options: PartitionOptions<'a>, partitions: usize) -> Self {
        let share = options.memory_bytes / 4 / (partitions * options.threads) as u64;
        let block_bytes = share.clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX) as usize / N * N;
        Self {
            options,
            partitions: (0..partitions).map(|_| Mutex::default()).collect(),
            block_bytes,
            memory_bytes: AtomicU64::new(0),
            file: OnceLock::new(),
            file_bytes: AtomicU64::new(0),
        }
    }

    /// Returns the number of partitions.
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// Creates an empty sink for a thread.
    pub fn sink(&self) -> StoreWriter<N> {
        StoreWriter { blocks: vec![Vec::new(); self.partitions.len()] }
    }

    /// Adds a record to a partition.
    ///
    /// # Errors
    /// `System` if the scratch file cannot be written.
    #[inline(always)]
    pub fn add(&self, sink: &mut StoreWriter<N>, partition: usize, record: [u8; N]) -> Result<()> {
        let block = &mut sink.blocks[partition];
        block.extend_from_slice(&record);
        if block.len() >= self.block_bytes { self.hand_over(block, partition) } else { Ok(()) }
    }

    /// Adds the remaining records of a sink.
    ///
    /// # Errors
    /// `System` if the scratch file cannot be written.
    pub fn finish(&self, sink: &mut StoreWriter<N>) -> Result<()> {
        let blocks = sink.blocks.iter_mut().enumerate().filter(|(_, block)| !block.is_empty());
        blocks.into_iter().try_for_each(|(partition, block)| self.hand_over(block, partition))
    }

    /// Returns the number of records of a partition.
    pub fn records(&self, partition: usize) -> u64 {
        lock(&self.partitions[partition]).records
    }

    /// Calls `take` for each record of a partition.
    ///
    /// # Errors
    /// `System` if the scratch file cannot be read.
    pub fn each(&self, partition: usize, mut take: impl FnMut(&[u8; N])) -> Result<()> {
        let partition = lock(&self.partitions[partition]);
        let mut read = Vec::new();
        for block in &partition.blocks {
            let bytes = match block {
                Block::Memory { bytes, .. } => bytes,
                Block::Disk { offset, size } => {
                    read.resize(*size, 0);
                    let done = self.file()?.read_exact_at(&mut read, *offset);
                    done.map_err(|cause| self.failed("reading", &cause))?;
                    &read
                }
            };
            bytes.as_chunks::<N>().0.iter().for_each(&mut take);
        }
        Ok(())
    }

    #[inline(never)]
    fn hand_over(&self, block: &mut Vec<u8>, partition: usize) -> Result<()> {
        let size = block.len();
        let taken = self.memory_bytes.fetch_add(size as u64, Ordering::Relaxed) + size as u64;
        let fits = taken <= self.options.memory_bytes;
        let lease = if fits { self.options.budget.try_take(size as u64) } else { None };
        let stored_block = match lease {
            Some(lease) => {
                let bytes = std::mem::replace(block, Vec::with_capacity(self.block_bytes));
                Block::Memory { bytes, _lease: lease }
            }
            None => {
                self.memory_bytes.fetch_sub(size as u64, Ordering::Relaxed);
                let offset = self.file_bytes.fetch_add(size as u64, Ordering::Relaxed);
                let done = self.file()?.write_all_at(block, offset);
                done.map_err(|cause| self.failed("writing", &cause))?;
                block.clear();
                Block::Disk { offset, size }
            }
        };
        let mut partition = lock(&self.partitions[partition]);
        partition.records += (size / N) as u64;
        partition.blocks.push(stored_block);
        Ok(())
    }

    fn file(&self) -> Result<&File> {
        let made = self.file.get_or_init(|| {
            let name = format!("verify-{}-{:x}.scratch", std::process::id(), self.address());
            let path = self.options.scratch.join(name);
            let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path);
            let file = file.map_err(|cause| self.failed("creating", &cause))?;
            std::fs::remove_file(&path).map_err(|cause| self.failed("unlinking", &cause))?;
            Ok(file)
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// Returns a number that no other store of this process has now.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn failed(&self, doing: &str, cause: &std::io::Error) -> Error {
        Error::system("verify", doing, self.options.scratch, cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_from_memory_and_from_disk_and_nothing_is_left_over() {
        for memory_bytes in [0, 5000, 1 << 30] {
            let folder = tempfile::tempdir().unwrap();
            let budget = Budget::new(memory_bytes);
            let options = PartitionOptions {
                budget: &budget,
                memory_bytes,
                scratch: folder.path(),
                threads: 1,
            };
            let store = RecordStore::<8>::new(options, 3);
            let mut sink = store.sink();
            for number in 0..3000u64 {
                store.add(&mut sink, number as usize % 3, number.to_le_bytes()).unwrap();
            }
            store.finish(&mut sink).unwrap();
            for partition in 0..3 {
                assert_eq!(store.records(partition), 1000);
                let mut numbers = Vec::new();
                let mut take = |bytes: &[u8; 8]| numbers.push(u64::from_le_bytes(*bytes));
                store.each(partition, &mut take).unwrap();
                let expected = (0..1000).map(|index| 3 * index + partition as u64);
                assert!(numbers.into_iter().eq(expected));
            }
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
            drop(store);
            assert_eq!(budget.free_bytes(), memory_bytes);
        }
    }
}
