//! Reads through a store return the content of the under level: one version of a file, or an error.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::common::{BLOCK, Setting, at, bytes, read, read_open};
use cuesta_store::cache::BlockKey;
use cuesta_store::cache::policy::PolicyName;
use cuesta_store::name_text::name_of;
use cuesta_store::steps::Steps;
use cuesta_store::store::{BlockLease, Freshness};
use cuesta_store::under::fault::FaultyUnder;
use cuesta_store::writeback::WriteMode;

#[test]
fn a_file_is_loaded_into_memory_once() {
    let setting = Setting::new(10);
    let content = bytes(1, 3500);
    setting.write("a", &content);
    setting.write("empty", b"");
    let store = setting.store();
    for _ in 0..3 {
        assert_eq!(read(&store, "a").unwrap(), content);
        assert_eq!(read(&store, "empty").unwrap(), b"");
    }
    let counts = store.counts();
    assert_eq!((counts.misses, counts.hits, counts.leases), (4, 8, 0));
    assert_eq!((counts.miss_bytes, counts.hit_bytes), (3500, 7000));
    assert_eq!((counts.blocks, counts.used_bytes), (4, 3500));
    assert_eq!(store.bytes_in_memory(&at("a")), 3500);
    assert_eq!(store.free(&at("a")).unwrap(), 3500);
    assert_eq!((store.counts().used_bytes, setting.block_files().len()), (0, 0));
}

#[test]
fn memory_is_never_exceeded_and_leased_blocks_are_retained() {
    for policy in PolicyName::ALL {
        let mut setting = Setting::new(3);
        setting.options.policy = policy;
        let (one, two) = (bytes(1, 2000), bytes(2, 9500));
        setting.write("one", &one);
        setting.write("two", &two);
        let store = setting.store();
        let file = store.open_file(&at("one")).unwrap();
        let key = BlockKey { file: file.number, index: 1 };
        let BlockLease::Memory(_, path) = store.lease(key).unwrap() else { panic!("it has room") };
        for _ in 0..3 {
            assert_eq!(read(&store, "two").unwrap(), two, "{policy}");
            assert!(store.counts().used_bytes <= 3 * BLOCK);
            assert_eq!(fs::read(&path).unwrap(), one[1000..]);
        }
        store.release(key);
        store.close(file.number);
        assert!(store.counts().evictions > 0);
        assert_eq!(setting.block_files().len() as u64, store.counts().blocks);
    }
}

#[test]
fn without_room_reads_bypass_the_memory() {
    let setting = Setting::new(2);
    let content = bytes(3, 4000);
    setting.write("a", &content);
    let store = setting.store();
    let file = store.open_file(&at("a")).unwrap();
    let keys = [0, 1, 2].map(|index| BlockKey { file: file.number, index });
    assert!(matches!(store.lease(keys[0]).unwrap(), BlockLease::Memory(..)));
    assert!(matches!(store.lease(keys[1]).unwrap(), BlockLease::Memory(..)));
    assert_eq!(store.lease(keys[2]).unwrap(), BlockLease::Bypass);
    assert_eq!(read(&store, "a").unwrap(), content);
    store.release(keys[0]);
    assert!(matches!(store.lease(keys[2]).unwrap(), BlockLease::Memory(..)));
    assert_eq!(store.counts().bypassed, 3);
}

#[test]
fn pinned_files_are_retained_until_they_are_unpinned() {
    let setting = Setting::new(4);
    let (one, two) = (bytes(1, 2000), bytes(2, 6000));
    setting.write("one", &one);
    setting.write("two", &two);
    let store = setting.store();
    assert_eq!(store.pin(&at("one")).unwrap(), 2000);
    assert_eq!(store.load(&at("two")).unwrap(), 2000);
    assert_eq!((store.bytes_in_memory(&at("one")), store.counts().pinned_bytes), (2000, 2000));
    store.unpin(&at("one"));
    assert_eq!(read(&store, "two").unwrap(), two);
    assert_eq!(store.bytes_in_memory(&at("one")), 0);
}

#[test]
fn a_file_that_changes_while_it_is_open_is_an_error_and_then_another_file() {
    let setting = Setting::new(10);
    let (old, new) = (bytes(1, 3000), bytes(2, 3000));
    setting.write("a", &old);
    let store = setting.store();
    let file = store.open_file(&at("a")).unwrap();
    let first = BlockKey { file: file.number, index: 0 };
    let BlockLease::Memory(_, path) = store.lease(first).unwrap() else { panic!("it has room") };
    setting.write("a", &new);
    // Blocks in memory are of the opened version; other blocks can no longer be read.
    assert_eq!(fs::read(&path).unwrap(), old[..1000]);
    let error = store.lease(BlockKey { index: 1, ..first }).unwrap_err();
    assert!(error.message().contains("cuesta:///a was changed"), "{}", error.message());
    assert_eq!(read(&store, "a").unwrap(), new);
    store.release(first);
    store.close(file.number);
    assert_eq!(setting.block_files().len(), 3);
    // A shorter file, and another file that takes its name.
    setting.write("a", &new[..1500]);
    assert_eq!(read(&store, "a").unwrap(), new[..1500]);
    setting.write("b", &old);
    let under = setting.folder.path().join("under");
    fs::rename(under.join("b"), under.join("a")).unwrap();
    assert_eq!(read(&store, "a").unwrap(), old);
    fs::remove_file(under.join("a")).unwrap();
    assert!(read(&store, "a").unwrap_err().message().contains("check the path"));
}

/// Two changes within a tick of the clock have the same time: neither hides the other.
#[test]
fn changes_in_quick_succession_are_all_visible() {
    let setting = Setting::new(10);
    let path = setting.folder.path().join("under/a");
    let store = setting.store();
    for seed in 0..300 {
        let content = bytes(seed, 1500);
        fs::write(&path, &content).unwrap();
        assert_eq!(read(&store, "a").unwrap(), content, "change {seed}");
    }
    assert!(store.counts().used_bytes <= 10 * BLOCK);
}

#[test]
fn an_old_version_is_used_for_as_long_as_configured() {
    for (freshness, sees) in [
        (Freshness::Immutable, 0),
        (Freshness::MaxAge(Duration::from_secs(1000)), 0),
        (Freshness::MaxAge(Duration::ZERO), 1),
        (Freshness::OnOpen, 1),
    ] {
        let mut setting = Setting::new(10);
        setting.options.freshness = freshness;
        let contents = [bytes(1, 3000), bytes(2, 3000)];
        setting.write("a", &contents[0]);
        let store = setting.store();
        assert_eq!(read(&store, "a").unwrap(), contents[0]);
        setting.write("a", &contents[1]);
        assert_eq!(read(&store, "a").unwrap(), contents[sees], "{freshness:?}");
    }
}

#[test]
fn a_store_adopts_and_checks_the_blocks_of_an_earlier_store() {
    let setting = Setting::new(10);
    let (one, two) = (bytes(1, 3000), bytes(2, 2500));
    setting.write("one", &one);
    setting.write("two", &two);
    let store = setting.store();
    read(&store, "one").unwrap();
    read(&store, "two").unwrap();
    drop(store);
    let files = setting.block_files();
    let damaged = files.iter().find(|path| fs::read(path).unwrap() == one[1000..2000]).unwrap();
    fs::set_permissions(damaged, fs::Permissions::from_mode(0o600)).unwrap();
    let mut wrong = one[1000..2000].to_vec();
    wrong[500] ^= 4;
    fs::write(damaged, &wrong).unwrap();
    fs::write(setting.folder.path().join("memory/blocks/77-0-10-00000000-0"), "whose?").unwrap();
    setting.write("two", &two[..2400]);
    let store = setting.store();
    assert_eq!(store.counts().used_bytes, 5500);
    assert_eq!(read(&store, "one").unwrap(), one);
    assert_eq!(read(&store, "two").unwrap(), two[..2400]);
    let counts = store.counts();
    assert_eq!((counts.damaged, counts.hits, counts.misses), (1, 2, 4));
    assert_eq!((counts.hit_bytes, counts.miss_bytes), (2000, 3400));
    // The file that the store did not create still exists.
    assert_eq!(setting.block_files().len(), 7);
}

#[test]
fn a_store_adopts_only_blocks_that_fit_it() {
    let mut setting = Setting::new(10);
    let content = bytes(1, 8500);
    setting.write("a", &content);
    for (memory_bytes, block_bytes, used_bytes) in
        [(10_000, 1000, 8500), (3000, 1000, 3000), (10_000, 500, 0)]
    {
        setting.options.block_bytes = 1000;
        setting.options.memory_bytes = 10_000;
        assert_eq!(read(&setting.store(), "a").unwrap(), content);
        setting.options.memory_bytes = memory_bytes;
        setting.options.block_bytes = block_bytes;
        let store = setting.store();
        assert_eq!(store.counts().used_bytes, used_bytes);
        let mut buffer = vec![0; 8500];
        let file = store.open_file(&at("a")).unwrap();
        store.read(file.number, &mut buffer, 0).unwrap();
        assert!(buffer == content, "{memory_bytes} {block_bytes}");
        drop(store);
    }
}

#[test]
fn scrubbing_detects_changed_blocks() {
    let setting = Setting::new(10);
    let content = bytes(1, 3000);
    setting.write("a", &content);
    let store = setting.store();
    read(&store, "a").unwrap();
    assert_eq!(store.scrub(), []);
    let path = &setting.block_files()[0];
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(path, bytes(2, 1000)).unwrap();
    let [(damaged, _)] = &store.scrub()[..] else { panic!("one is damaged") };
    assert_eq!((damaged, store.counts().damaged), (&at("a"), 1));
    assert_eq!(read(&store, "a").unwrap(), content);
}

#[test]
fn a_memory_that_cannot_be_written_is_bypassed() {
    let setting = Setting::new(10);
    let content = bytes(1, 3000);
    setting.write("a", &content);
    let store = setting.store();
    // The name of the second block while it is filled.
    fs::create_dir(setting.folder.path().join("memory/blocks/0-1.cuesta-part")).unwrap();
    assert_eq!(read(&store, "a").unwrap(), content);
    let counts = store.counts();
    assert_eq!((counts.blocks, counts.bypassed, counts.used_bytes), (2, 1, 2000));
}

#[test]
fn an_under_level_that_fails_once_does_no_lasting_harm() {
    let setting = Setting::new(3);
    let content = bytes(1, 4500);
    setting.write("a", &content);
    let mut failing = 1;
    loop {
        let counter = Steps::default();
        let store =
            setting.store_over(Box::new(FaultyUnder::new(setting.under(), counter.clone())));
        counter.fail(failing);
        let result = read(&store, "a");
        let has_failed = counter.done() >= failing;
        assert_eq!(result.is_err(), has_failed, "operation {failing}");
        assert!(result.is_err() || result.unwrap() == content);
        counter.fail(0);
        assert_eq!(read(&store, "a").unwrap(), content, "after operation {failing}");
        let counts = store.counts();
        assert_eq!((counts.leases, counts.used_bytes <= 3 * BLOCK), (0, true));
        assert_eq!(setting.block_files().len() as u64, counts.blocks);
        store.free(&at("a")).unwrap();
        if !has_failed {
            break;
        }
        failing += 1;
    }
    assert!(failing > 10);
}

/// Names that were not UTF-8 were changed on their way to a list, so that no file had them, and
/// were left out: a copy of the folder succeeded without the file.
#[test]
fn a_file_of_any_name_is_listed_read_renamed_and_removed() {
    let setting = Setting::new(10);
    let store = setting.store();
    let stream = cuesta_core::random::Stream::new(9, 0);
    let mut names = std::collections::BTreeSet::new();
    for number in 0..200_u64 {
        let length = 1 + stream.bits(2 * number) % 12;
        let byte = |place| match stream.bits(1000 + 100 * number + place) as u8 {
            0 | b'/' => b'x',
            byte => byte,
        };
        let name: Vec<u8> = (0..length).map(byte).collect();
        // Names of dots may be folders, or hide the name of a part.
        names.insert(OsString::from_vec([b"n".as_slice(), &name].concat()));
    }
    for name in &names {
        let path = setting.folder.path().join("under").join(name);
        fs::write(path, name.as_bytes()).unwrap();
    }
    let root = at("");
    let listed = store.list(&root).unwrap();
    let mut returned: Vec<OsString> = listed.iter().map(|name| name_of(name)).collect();
    returned.sort_unstable();
    assert_eq!(returned, names.iter().cloned().collect::<Vec<_>>());
    for name in &names {
        let path = root.join_system(name).unwrap();
        let file = store.open_file(&path).unwrap();
        let size_bytes = file.version.size_bytes;
        assert_eq!(read_open(&store, file.number, size_bytes).unwrap(), name.as_bytes());
        store.close(file.number);
        let other = [name.as_bytes(), b"\xe9"].concat();
        let other = root.join_system(OsStr::from_bytes(&other)).unwrap();
        let number = store.create(&other, WriteMode::Back).unwrap();
        store.commit(number, 0).unwrap();
        store.flush(Some(&other)).unwrap();
        store.remove_name(&other).unwrap();
        store.remove_name(&path).unwrap();
    }
    assert_eq!(fs::read_dir(setting.folder.path().join("under")).unwrap().count(), 0);
}
