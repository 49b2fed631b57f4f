//! The memory tier: blocks in private files of a folder on a memory file system.
//!
//! A block is written once under a temporary name, then made read-only and renamed to its final
//! name, which contains its key and the checksum of its bytes. After that it is never changed or
//! truncated, so a process that has mapped it can continue to read it; removing the block only
//! removes the name.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cuesta_core::{Error, Result};
use cuesta_runtime::removal::FolderHandle;

use crate::allocate::{allocate, has_hole};
use crate::cache::{BlockKey, SealedBlock};
use crate::folder;
use crate::folder::names::{BLOCKS, PARTIAL, is_block};
use crate::mapping::HugePages;
use crate::prepared::PreparedBlocks;
use crate::steps::Steps;

/// Bytes read and written at once.
pub const PIECE_BYTES: usize = 1 << 20;
/// End of the names of files that are allocated in advance.
pub const PREPARED: &str = "cuesta-ready";
/// Ends that older versions gave to the names of incomplete files.
const ENDS_BEFORE: [&str; 2] = ["part", "ready"];

impl SealedBlock {
    fn name(&self) -> String {
        let Self { key: BlockKey { file, index }, size_bytes, checksum, serial } = self;
        format!("{file:x}-{index:x}-{size_bytes:x}-{checksum:08x}-{serial:x}")
    }

    fn of_name(name: &str) -> Option<Self> {
        let mut numbers = [0; 5];
        let mut parts = name.split('-');
        for number in &mut numbers {
            *number = u64::from_str_radix(parts.next()?, 16).ok()?;
        }
        let [file, index, size_bytes, checksum, serial] = numbers;
        let block = Self {
            key: BlockKey { file, index },
            size_bytes,
            checksum: u32::try_from(checksum).ok()?,
            serial,
        };
        (block.name() == name).then_some(block)
    }
}

/// Meaning of a name in the folder of the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockName {
    /// A complete block.
    Sealed(SealedBlock),
    /// A block that is being written, or a file that is allocated in advance.
    Partial,
    /// A partial file of an older version.
    PartialBefore,
}

impl BlockName {
    /// Parses a name; `None` for a name that the store does not use.
    pub fn parse(name: &str) -> Option<Self> {
        let Some((numbers, end)) = name.split_once('.') else {
            let block = SealedBlock::of_name(name)?;
            let limit = u64::from(u32::MAX);
            let is_possible =
                block.key.file <= limit && block.key.index <= limit && block.serial < u64::MAX / 2;
            return is_possible.then_some(Self::Sealed(block));
        };
        let is_number = |text: &str| {
            u64::from_str_radix(text, 16).is_ok_and(|number| format!("{number:x}") == text)
        };
        let is_prepared = end == PREPARED || end == ENDS_BEFORE[1];
        let count = if is_prepared { 1 } else { 2 };
        if numbers.split('-').count() != count || !numbers.split('-').all(is_number) {
            return None;
        }
        match end {
            PARTIAL | PREPARED => Some(Self::Partial),
            _ if ENDS_BEFORE.contains(&end) => Some(Self::PartialBefore),
            _ => None,
        }
    }
}

/// The folder of the memory tier.
#[derive(Debug)]
pub struct MemoryTier {
    blocks: PathBuf,
    /// Serial number of the next block.
    serial: AtomicU64,
    steps: Steps,
    huge: HugePages,
    prepared: PreparedBlocks,
}

impl MemoryTier {
    /// Creates the folder, or opens it where it exists and is private to this user.
    ///
    /// # Errors
    /// `Input` for a folder that other users may enter, and for a link; `System`.
    pub fn open(folder: &Path, steps: Steps) -> Result<Self> {
        let blocks = folder::open_or_create_folder(&folder::open_or_make(folder)?, BLOCKS)?;
        let prepared = PreparedBlocks::new(blocks.clone());
        let (serial, huge) = (AtomicU64::new(0), HugePages::default());
        Ok(Self { blocks, serial, steps, huge, prepared })
    }

    /// Returns the files that are allocated in advance.
    pub fn prepared(&self) -> &PreparedBlocks {
        &self.prepared
    }

    /// Returns the path of a block.
    pub fn path(&self, block: &SealedBlock) -> PathBuf {
        self.blocks.join(block.name())
    }

    /// Begins a block of about `size_bytes`, to be written by a client; dropped before it is
    /// sealed, it is removed.
    ///
    /// # Errors
    /// I/O errors.
    pub fn begin(&self, key: BlockKey, size_bytes: u64) -> io::Result<PartialBlock> {
        self.steps.step()?;
        let path = self.blocks.join(format!("{:x}-{:x}.{PARTIAL}", key.file, key.index));
        let file = match self.prepared.get(&path, size_bytes) {
            Some(file) => file,
            None => {
                let mut options = File::options();
                options.read(true).write(true).create_new(true).mode(0o600);
                let file = options.open(&path)?;
                self.huge.reserve(&file, size_bytes);
                file
            }
        };
        Ok(PartialBlock { key, path, file, steps: self.steps.clone() })
    }

    /// Completes a block whose bytes have been written and have this checksum.
    ///
    /// # Errors
    /// I/O errors, after which nothing remains of the block.
    pub fn seal(
        &self,
        partial: PartialBlock,
        size_bytes: u64,
        checksum: u32,
    ) -> io::Result<SealedBlock> {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let block = SealedBlock { key: partial.key, size_bytes, checksum, serial };
        self.steps.step()?;
        partial.file.set_permissions(Permissions::from_mode(0o400))?;
        self.steps.step()?;
        fs::rename(&partial.path, self.path(&block))?;
        Ok(block)
    }

    /// Removes the name of a block; its memory is freed once no process has it mapped.
    ///
    /// # Errors
    /// I/O errors.
    pub fn remove(&self, block: &SealedBlock) -> io::Result<()> {
        self.steps.step()?;
        fs::remove_file(self.path(block))
    }

    /// Returns whether the bytes of a block still match its checksum.
    ///
    /// # Errors
    /// I/O errors.
    pub fn is_intact(&self, block: &SealedBlock) -> io::Result<bool> {
        let mut file = File::open(self.path(block))?;
        if file.metadata()?.len() != block.size_bytes {
            return Ok(false);
        }
        let mut piece = vec![0; PIECE_BYTES];
        let mut checksum = 0;
        loop {
            match io::Read::read(&mut file, &mut piece) {
                Ok(0) => return Ok(checksum == block.checksum),
                Ok(count) => checksum = crc32c::crc32c_append(checksum, &piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => (),
                Err(error) => return Err(error),
            }
        }
    }

    /// Allocates memory for all bytes of a block: older versions of the store sealed blocks with
    /// holes.
    ///
    /// # Errors
    /// `StorageFull` where the memory is full; I/O errors.
    pub fn fill_holes(&self, block: &SealedBlock) -> io::Result<()> {
        let path = self.path(block);
        if !has_hole(&File::open(&path)?, block.size_bytes)? {
            return Ok(());
        }
        let sealed = |mode| fs::set_permissions(&path, Permissions::from_mode(mode));
        sealed(0o600)?;
        let allocated = File::options().write(true).open(&path);
        let allocated = allocated.and_then(|file| allocate(&file, block.size_bytes));
        sealed(0o400)?;
        allocated
    }

    /// Returns the blocks in the folder, and removes partial ones. Files that the store did not
    /// create are left alone.
    ///
    /// # Errors
    /// `System`.
    pub fn scan(&self) -> Result<Vec<SealedBlock>> {
        let failed = |cause| Error::system("store", "reading", &self.blocks, &cause);
        let folder = FolderHandle::open(&self.blocks).map_err(failed)?;
        let mut blocks = Vec::new();
        for entry in folder.entries().map_err(failed)? {
            match entry.name.to_str().and_then(BlockName::parse) {
                _ if !is_block(&entry) => (),
                Some(BlockName::Sealed(block)) => blocks.push(block),
                _ => folder.remove_file(&entry.name).map_err(failed)?,
            }
        }
        blocks.sort_unstable_by_key(|block| (block.key, block.serial));
        let next = blocks.iter().map(|block| block.serial + 1).max().unwrap_or(0);
        self.serial.fetch_max(next, Ordering::Relaxed);
        Ok(blocks)
    }
}

/// A block that is being written.
#[derive(Debug)]
pub struct PartialBlock {
    /// Key of the block that it will be.
    pub key: BlockKey,
    /// Its path until it is sealed.
    pub path: PathBuf,
    /// The file.
    pub file: File,
    steps: Steps,
}

impl Drop for PartialBlock {
    fn drop(&mut self) {
        // Once it is sealed, this name no longer exists. A process that was killed does not clean
        // up.
        if !self.steps.is_dead() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::MetadataExt;

    const KEY: BlockKey = BlockKey { file: 3, index: 17 };

    fn filled(tier: &MemoryTier, bytes: &[u8]) -> io::Result<SealedBlock> {
        let partial = tier.begin(KEY, bytes.len() as u64)?;
        fs::write(&partial.path, bytes)?;
        tier.seal(partial, bytes.len() as u64, crc32c::crc32c(bytes))
    }

    #[test]
    fn a_block_is_complete_read_only_and_listed_again() {
        let folder = tempfile::tempdir().unwrap();
        let tier = MemoryTier::open(&folder.path().join("tier"), Steps::default()).unwrap();
        let bytes: Vec<u8> = (0..PIECE_BYTES + 77).map(|place| (place * 7 / 3) as u8).collect();
        let block = filled(&tier, &bytes).unwrap();
        assert_eq!(block.checksum, crc32c::crc32c(&bytes));
        assert_eq!(fs::read(tier.path(&block)).unwrap(), bytes);
        let mode = fs::metadata(tier.path(&block)).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o400);
        fs::write(tier.blocks.join("3-12.cuesta-part"), "half").unwrap();
        let foreign = tier.blocks.join("3-12-0-1-2");
        fs::write(&foreign, "no name of ours").unwrap();
        assert_eq!(tier.scan().unwrap(), [block]);
        assert_eq!(fs::read_dir(&tier.blocks).unwrap().count(), 2);
        assert_eq!(fs::read(foreign).unwrap(), b"no name of ours");
        assert!(tier.is_intact(&block).unwrap());
        tier.remove(&block).unwrap();
        assert_eq!(tier.scan().unwrap(), []);
    }

    #[test]
    fn an_abandoned_block_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let tier = MemoryTier::open(&folder.path().join("tier"), Steps::default()).unwrap();
        let partial = tier.begin(KEY, 3 << 20).unwrap();
        fs::write(&partial.path, "half").unwrap();
        drop(partial);
        assert_eq!(fs::read_dir(&tier.blocks).unwrap().count(), 0);
    }

    #[test]
    fn any_changed_bit_or_size_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let tier = MemoryTier::open(&folder.path().join("tier"), Steps::default()).unwrap();
        let bytes: Vec<u8> = (0..1000).map(|place| place as u8).collect();
        let block = filled(&tier, &bytes).unwrap();
        let path = tier.path(&block);
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        for place in (0..8000).step_by(97) {
            let mut wrong = bytes.clone();
            wrong[place / 8] ^= 1 << (place % 8);
            fs::write(&path, &wrong).unwrap();
            assert!(!tier.is_intact(&block).unwrap(), "bit {place}");
        }
        fs::write(&path, &bytes[..999]).unwrap();
        assert!(!tier.is_intact(&block).unwrap());
    }

    #[test]
    fn a_folder_that_other_users_may_enter_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let tier = folder.path().join("tier");
        fs::create_dir(&tier).unwrap();
        fs::set_permissions(&tier, Permissions::from_mode(0o755)).unwrap();
        let error = MemoryTier::open(&tier, Steps::default()).unwrap_err();
        assert!(error.message().contains("its owner alone"), "{}", error.message());
    }

    proptest! {
        #[test]
        fn a_name_identifies_its_block(numbers in any::<[u64; 4]>(), checksum in any::<u32>()) {
            let [file, index, size_bytes, serial] = numbers;
            let block = SealedBlock { key: BlockKey { file, index }, size_bytes, checksum, serial };
            prop_assert_eq!(SealedBlock::of_name(&block.name()), Some(block));
        }

        #[test]
        fn other_names_are_rejected(name in "[0-9a-f.-]{0,40}") {
            if let Some(block) = SealedBlock::of_name(&name) {
                prop_assert_eq!(block.name(), name);
            }
        }
    }
}
