//! A full memory leads to an error or a slower path, never to SIGBUS in a reader that maps a block.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::common::{Setting, at, bytes, patient};
use cuesta_store::cache::BlockKey;
use cuesta_store::client::{Client, WrittenFile};
use cuesta_store::store::{BlockLease, Store, WritePlace};
use cuesta_store::writeback::WriteMode;
use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

const BLOCK: u64 = 1 << 16;
const MEMORY_BYTES: u64 = 2 << 20;

/// A store whose folder is a separate file system of a few bytes.
struct SmallMemory {
    setting: Setting,
}

impl SmallMemory {
    /// Mounts the memory; `None` without the permission to mount.
    fn new() -> Option<Self> {
        let mut setting = Setting::new(16);
        setting.options.block_bytes = BLOCK;
        setting.options.memory_bytes = 16 * BLOCK;
        let memory = setting.folder.path().join("memory");
        fs::create_dir(&memory).unwrap();
        let options = format!("size={MEMORY_BYTES},mode=700");
        let options = std::ffi::CString::new(options).unwrap();
        mount("tmpfs", &memory, "tmpfs", MountFlags::empty(), Some(options.as_c_str())).ok()?;
        Some(Self { setting })
    }

    fn memory(&self) -> PathBuf {
        self.setting.folder.path().join("memory")
    }

    /// Allocates all free bytes except `but_bytes`; returns the file to remove.
    fn fill(&self, but_bytes: u64) -> PathBuf {
        let facts = statvfs(self.memory()).unwrap();
        let free_bytes = facts.f_bavail * facts.f_frsize;
        let path = self.setting.folder.path().join("memory/blocks/filler");
        let file = File::create(&path).unwrap();
        fallocate(&file, FallocateFlags::empty(), 0, free_bytes - but_bytes).unwrap();
        path
    }

    fn with_daemon(&self, test: impl FnOnce(&Path)) {
        crate::common::with_daemon(&self.setting, test);
    }
}

impl Drop for SmallMemory {
    fn drop(&mut self) {
        let _ = unmount(self.memory(), UnmountFlags::DETACH);
    }
}

/// Creates a file of three blocks with bytes only at both ends.
fn sparse(memory: &Path, name: &str, mode: WriteMode) -> std::io::Result<WrittenFile> {
    let mut file = WrittenFile::create(memory, &at(name), Some(mode))?;
    file.write_at(b"begin", 0)?;
    file.write_at(b"end", 3 * BLOCK - 3)?;
    Ok(file)
}

fn sparse_bytes() -> Vec<u8> {
    let mut bytes = vec![0; 3 * BLOCK as usize];
    bytes[..5].copy_from_slice(b"begin");
    bytes[3 * BLOCK as usize - 3..].copy_from_slice(b"end");
    bytes
}

/// Reads a complete file, mapped where it is in memory.
fn read_mapped(memory: &Path, name: &str) -> std::io::Result<Vec<u8>> {
    let client = std::sync::Arc::new(Client::connect(memory, patient())?);
    let file = client.open(&at(name))?;
    let mut bytes = Vec::new();
    for index in 0..file.size_bytes().div_ceil(BLOCK) {
        if let Some(block) = file.block(index)? {
            bytes.extend_from_slice(&block);
        } else {
            let count = (file.size_bytes() - index * BLOCK).min(BLOCK) as usize;
            let mut piece = vec![0; count];
            file.read_at(&mut piece, index * BLOCK)?;
            bytes.extend(piece);
        }
    }
    Ok(bytes)
}

#[test]
fn a_file_with_holes_is_read_mapped_when_the_memory_is_full() {
    // A writer extended a block without writing it, and /dev/shm was full when a reader touched its
    // mapping: SIGBUS.
    let Some(small) = SmallMemory::new() else { return };
    small.with_daemon(|memory| {
        for (name, mode) in
            [("a", WriteMode::Through), ("b", WriteMode::Back), ("c", WriteMode::Memory)]
        {
            sparse(memory, name, mode).unwrap().commit().unwrap();
        }
        let filler = small.fill(0);
        for name in ["a", "b", "c"] {
            assert!(read_mapped(memory, name).unwrap() == sparse_bytes(), "{name}");
        }
        fs::remove_file(filler).unwrap();
    });
}

#[test]
fn a_file_whose_holes_have_no_room_is_written_to_the_under_level() {
    let Some(small) = SmallMemory::new() else { return };
    small.with_daemon(|memory| {
        for (name, mode) in
            [("a", WriteMode::Through), ("b", WriteMode::Back), ("c", WriteMode::Memory)]
        {
            let file = sparse(memory, name, mode).unwrap();
            // Room for records, and for less than a block.
            let filler = small.fill(BLOCK / 2);
            file.commit().unwrap();
            assert!(read_mapped(memory, name).unwrap() == sparse_bytes(), "{name}");
            fs::remove_file(filler).unwrap();
            assert!(read_mapped(memory, name).unwrap() == sparse_bytes(), "{name}");
        }
    });
}

#[test]
fn a_client_that_seals_a_hole_is_refused_where_the_memory_is_full() {
    let Some(small) = SmallMemory::new() else { return };
    let store = small.setting.store();
    for is_full in [false, true] {
        let number = store.create(&at("a"), WriteMode::Memory).unwrap();
        let key = BlockKey { file: number, index: 0 };
        let WritePlace::Memory(path) = store.place(key, false).unwrap() else { panic!("no room") };
        File::options().write(true).open(&path).unwrap().set_len(BLOCK).unwrap();
        let filler = is_full.then(|| small.fill(BLOCK / 2));
        let sealed = store.seal(key, BLOCK);
        match filler {
            None => sealed.unwrap(),
            Some(filler) => {
                let error = sealed.unwrap_err();
                assert_eq!(error.errno, Some(libc_enospc()), "{error}");
                fs::remove_file(filler).unwrap();
            }
        }
        if !is_full {
            store.commit(number, BLOCK).unwrap();
            for path in small.setting.block_files() {
                assert!(has_memory(&path));
            }
        }
    }
}

/// Returns whether all bytes of a block have memory.
fn has_memory(path: &Path) -> bool {
    fs::metadata(path).unwrap().blocks() * 512 >= BLOCK
}

fn libc_enospc() -> i32 {
    rustix::io::Errno::NOSPC.raw_os_error()
}

/// Makes a hole in the only block of a store, as in blocks sealed by older versions.
fn punch(small: &SmallMemory) {
    let [path] = &small.setting.block_files()[..] else { panic!("one block") };
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(0).unwrap();
    file.set_len(BLOCK).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o400)).unwrap();
}

fn lease(store: &Store) -> cuesta_core::Result<BlockLease> {
    let file = store.open_file(&at("a")).unwrap();
    store.lease(BlockKey { file: file.number, index: 0 })
}

#[test]
fn a_block_with_holes_that_an_older_store_left_gets_memory_before_it_is_leased() {
    let Some(small) = SmallMemory::new() else { return };
    let zeros = vec![0; BLOCK as usize];
    let store = small.setting.store();
    let number = store.create(&at("a"), WriteMode::Memory).unwrap();
    let key = BlockKey { file: number, index: 0 };
    let WritePlace::Memory(path) = store.place(key, false).unwrap() else { panic!("no room") };
    fs::write(path, &zeros).unwrap();
    store.seal(key, BLOCK).unwrap();
    store.commit(number, BLOCK).unwrap();
    drop(store);
    punch(&small);
    let filler = small.fill(BLOCK / 2);
    let store = small.setting.store();
    let error = lease(&store).unwrap_err();
    assert!(error.message().contains("No space"), "{error}");
    fs::remove_file(filler).unwrap();
    let BlockLease::Memory(_, path) = lease(&store).unwrap() else { panic!("it has room") };
    assert!(has_memory(&path));
    assert!(fs::read(path).unwrap() == zeros);
}

#[test]
fn what_is_read_while_the_memory_is_full_is_read_past_it() {
    let Some(small) = SmallMemory::new() else { return };
    let content = bytes(3, 5 * BLOCK as usize);
    small.setting.write("a", &content);
    small.with_daemon(|memory| {
        let filler = small.fill(BLOCK / 2);
        assert!(read_mapped(memory, "a").unwrap() == content);
        fs::remove_file(filler).unwrap();
        assert!(read_mapped(memory, "a").unwrap() == content);
    });
}
