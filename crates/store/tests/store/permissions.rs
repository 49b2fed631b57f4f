//! Permission bits: those after the writer's umask, never more, wherever a file is.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::common::job::Job;
use crate::common::{BLOCK, Setting, at, bytes, read, write_blocks};
use cuesta_store::client::WrittenFile;
use cuesta_store::permissions::of_parents;
use cuesta_store::store::Store;
use cuesta_store::writeback::WriteMode;
use proptest::prelude::*;
use serde_json::json;

fn below(setting: &Setting, name: &str) -> PathBuf {
    setting.folder.path().join("under").join(name)
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Returns the files that are being written on the under level.
fn hidden(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.to_str().unwrap().ends_with(".cuesta-part")).collect()
}

/// A writer: the bits that it creates a file with, and those that it sets before the close.
#[derive(Clone, Copy, Debug)]
struct Writer {
    write: WriteMode,
    bits: u32,
    sets: Option<u32>,
    blocks: u64,
}

impl Writer {
    fn write(&self, setting: &Setting, store: &Store, name: &str) {
        let content = bytes(self.bits.into(), (self.blocks * BLOCK) as usize + 7);
        let number = store.create_as(&at(name), self.write, Some(self.bits)).unwrap();
        write_blocks(store, number, &content).unwrap();
        for path in hidden(below(setting, name).parent().unwrap()) {
            assert_eq!(mode_of(&path) & !0o600, 0, "{self:?}");
        }
        if let Some(bits) = self.sets {
            store.permit_written(number, bits).unwrap();
        }
        store.commit(number, content.len() as u64).unwrap();
    }
}

fn writers() -> impl Strategy<Value = Writer> {
    let write = prop::sample::select(WriteMode::ALL.to_vec());
    let sets = prop::option::of(0..0o1000_u32);
    (write, 0..0o1000_u32, 0..0o1000_u32, sets, 0..3_u64).prop_map(
        |(write, mode, umask, sets, blocks)| Writer { write, bits: mode & !umask, sets, blocks },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    // The daemon made files with its umask instead of the writer's: files written through `put`, a
    // pipe or a mount with umask 077 were readable by all users in the folder below, and the
    // execute bit was lost.
    #[test]
    fn a_file_has_the_bits_of_its_writer_or_of_what_it_replaces(
        writer in writers(),
        replaced in prop::option::of(0..0o1000_u32),
        other in prop::option::of(writers()),
        is_killed in any::<bool>(),
    ) {
        let setting = Setting::new(10);
        if let Some(bits) = replaced {
            fs::create_dir(below(&setting, "d")).unwrap();
            fs::write(below(&setting, "d/a"), "before").unwrap();
            set_mode(&below(&setting, "d/a"), bits);
        }
        let mut store = setting.store();
        let mut expected = replaced;
        for writer in [Some(writer), other].into_iter().flatten() {
            writer.write(&setting, &store, "d/a");
            expected = writer.sets.or(expected).or(Some(writer.bits));
            let permissions = store.facts(&at("d/a")).unwrap().permissions;
            prop_assert_eq!(Some(permissions), expected, "{:?}", writer);
        }
        if is_killed {
            std::mem::forget(store);
            store = setting.store();
            prop_assert_eq!(Some(store.facts(&at("d/a")).unwrap().permissions), expected);
        }
        store.flush(Some(&at("d/a"))).unwrap();
        prop_assert_eq!(Some(store.facts(&at("d/a")).unwrap().permissions), expected);
        prop_assert_eq!(Some(mode_of(&below(&setting, "d/a"))), expected);
        prop_assert_eq!(store.list_facts(&at("d")).unwrap()[0].1.permissions, expected.unwrap());
        if replaced.is_none() {
            let all = |writer: Writer| {
                of_parents(writer.bits) | of_parents(writer.sets.unwrap_or(0))
            };
            let most = all(writer) | other.map_or(0, all);
            prop_assert_eq!(mode_of(&below(&setting, "d")) & !most, 0);
        }
    }

    #[test]
    fn bits_are_changed_wherever_a_file_is_and_its_bytes_stay(
        writer in writers(),
        bits in 0..0o1000_u32,
        is_flushed in any::<bool>(),
        is_killed in any::<bool>(),
    ) {
        let setting = Setting::new(10);
        let mut store = setting.store();
        writer.write(&setting, &store, "a");
        let content = read(&store, "a").unwrap();
        if is_flushed {
            store.flush(Some(&at("a"))).unwrap();
        }
        store.permit(&at("a"), bits).unwrap();
        if is_killed {
            std::mem::forget(store);
            store = setting.store();
        }
        prop_assert_eq!(store.facts(&at("a")).unwrap().permissions, bits);
        prop_assert_eq!(read(&store, "a").unwrap(), content);
        store.flush(Some(&at("a"))).unwrap();
        prop_assert_eq!(mode_of(&below(&setting, "a")), bits);
        prop_assert!(store.audit(true).lost.is_empty());
        let special = store.permit(&at("a"), 0o4000 | bits).unwrap_err();
        prop_assert_eq!(special.errno, Some(libc::EPERM));
    }

    #[test]
    fn a_folder_has_the_bits_of_its_maker(mode in 0..0o1000_u32, umask in 0..0o1000_u32) {
        let setting = Setting::new(4);
        // Bits that a folder of a group passes on to its entries remain.
        set_mode(&setting.folder.path().join("under"), 0o2777);
        let bits = mode & !umask | 0o400;
        let store = setting.store();
        store.make_folder_as(&at("d"), Some(bits)).unwrap();
        prop_assert_eq!(mode_of(&below(&setting, "d")), 0o2000 | bits);
        prop_assert_eq!(store.facts(&at("d")).unwrap().permissions, 0o2000 | bits);
        store.make_folder_as(&at("d"), Some(0o777)).unwrap();
        prop_assert_eq!(mode_of(&below(&setting, "d")), 0o2000 | bits);
    }
}

#[test]
fn what_takes_fewer_bits_while_it_is_replaced_does_not_get_them_again() {
    for write in WriteMode::ALL {
        let setting = Setting::new(10);
        let path = below(&setting, "a");
        fs::write(&path, "before").unwrap();
        set_mode(&path, 0o664);
        let store = setting.store();
        let number = store.create_as(&at("a"), write, Some(0o666)).unwrap();
        write_blocks(&store, number, &bytes(1, 500)).unwrap();
        set_mode(&path, 0o600);
        store.commit(number, 500).unwrap();
        store.flush(Some(&at("a"))).unwrap();
        assert_eq!(mode_of(&path), 0o600, "{write}");
    }
}

#[test]
fn a_file_in_the_memory_of_another_store_has_the_bits_of_its_writer() {
    let job = Job::new(2);
    let [first, second] = &job.stores[..] else { unreachable!() };
    let check = |bits: u32| {
        for store in &job.stores {
            let entry = &store.ask(&json!({"do": "stat", "path": "d/a"}))["entries"][0];
            assert_eq!(entry["permissions"], bits);
            let entry = &store.ask(&json!({"do": "list", "path": "d"}))["entries"][0];
            assert_eq!(entry["permissions"], bits);
        }
    };
    let write = |memory: &Path, bits: u32| {
        let mode = Some(WriteMode::Memory);
        let file = WrittenFile::create_as(memory, &at("d/a"), mode, bits).unwrap();
        file.commit().unwrap();
    };
    write(&first.memory, 0o640);
    check(0o640);
    second.ask(&json!({"do": "permit", "path": "d/a", "permissions": 0o750}));
    check(0o750);
    // The file is moved, and retains them.
    write(&second.memory, 0o666);
    check(0o750);
    first.ask(&json!({"do": "flush", "path": "d/a"}));
    check(0o750);
    let below = fs::metadata(job.folder.path().join("under/d/a")).unwrap();
    assert_eq!(below.permissions().mode() & 0o777, 0o750);
}
