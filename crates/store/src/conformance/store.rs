//! Checks of a store over an under level.

use std::path::Path;
use std::time::Duration;

use super::{at, bytes, content, read, write, write_file};
use crate::cache::policy::PolicyName;
use crate::store::{Freshness, Store, StoreOptions};
use crate::under::Under;
use crate::writeback::WriteMode;

const BLOCK_BYTES: u64 = 1000;
const MEMORY_BLOCKS: u64 = 8;
/// Age from which a change is surely before a tick of the clock of files.
const OLD: Duration = Duration::from_millis(101);

/// Checks stores over an under level; `make` creates an empty one for each check, and `folder`,
/// which is new or empty, takes their memory.
///
/// # Panics
/// If a store over the under level does not conform, with the line of the check.
pub fn check_store(make: impl Fn() -> Box<dyn Under>, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    let open = |name: &str| Store::open(make(), &folder.join(name), options()).unwrap();
    a_file_is_read_from_memory_until_it_is_replaced(&open("read"));
    a_file_larger_than_memory_is_read(&open("large"));
    a_written_file_is_in_the_under_level(&open("write"));
    names_are_those_of_the_under_level(&open("names"));
}

fn options() -> StoreOptions {
    StoreOptions {
        memory_bytes: MEMORY_BLOCKS * BLOCK_BYTES,
        block_bytes: BLOCK_BYTES,
        policy: PolicyName::Lru,
        freshness: Freshness::OnOpen,
        has_admission: false,
        rules: vec![],
        stripes: None,
        stripe_bytes: BLOCK_BYTES,
    }
}

fn a_file_is_read_from_memory_until_it_is_replaced(store: &Store) {
    write_file(store.under(), "a", &bytes(1, 2500));
    std::thread::sleep(OLD);
    assert_eq!(read(store, "a").unwrap(), bytes(1, 2500));
    let misses = store.counts().misses;
    assert_eq!(read(store, "a").unwrap(), bytes(1, 2500));
    assert_eq!(store.counts().misses, misses, "a block is read from the under level again");
    write_file(store.under(), "a", &bytes(2, 2500));
    assert_eq!(read(store, "a").unwrap(), bytes(2, 2500));
    write_file(store.under(), "a", b"");
    assert_eq!(read(store, "a").unwrap(), b"");
}

fn a_file_larger_than_memory_is_read(store: &Store) {
    let content = bytes(3, ((MEMORY_BLOCKS + 3) * BLOCK_BYTES + 17) as usize);
    write_file(store.under(), "a", &content);
    std::thread::sleep(OLD);
    for _ in 0..2 {
        assert_eq!(read(store, "a").unwrap(), content);
    }
    assert!(store.counts().used_bytes <= MEMORY_BLOCKS * BLOCK_BYTES);
}

fn a_written_file_is_in_the_under_level(store: &Store) {
    for (seed, mode) in (0..).zip(WriteMode::ALL) {
        let name = mode.name();
        write(store, name, &bytes(seed, 1700), mode).unwrap();
        assert_eq!(read(store, name).unwrap(), bytes(seed, 1700), "{mode}");
        if matches!(mode, WriteMode::Bypass | WriteMode::Through) {
            assert_eq!(content(store.under(), name), bytes(seed, 1700), "{mode}");
        }
    }
    for (seed, mode) in (0..).zip(WriteMode::ALL) {
        store.flush(Some(&at(mode.name()))).unwrap();
        assert_eq!(content(store.under(), mode.name()), bytes(seed, 1700), "{mode}, flushed");
    }
}

fn names_are_those_of_the_under_level(store: &Store) {
    store.make_folder(&at("d")).unwrap();
    write(store, "d/a", b"a", WriteMode::Through).unwrap();
    write_file(store.under(), "d/b", b"b");
    assert_eq!(store.list(&at("d")).unwrap(), ["a", "b"]);
    store.rename(&at("d/a"), &at("d/c")).unwrap();
    assert_eq!(store.under().list(&at("d")).unwrap(), ["b", "c"]);
    assert_eq!(read(store, "d/c").unwrap(), b"a");
    store.remove_name(&at("d/b")).unwrap();
    assert_eq!(store.under().list(&at("d")).unwrap(), ["c"]);
    assert!(read(store, "d/b").is_err());
}
