//! Files written through a store: the promise of each write mode holds.

use std::fs;

use crate::common::{BLOCK, Setting, at, bytes, read, write, write_blocks};
use cuesta_store::writeback::WriteMode;

fn under(setting: &Setting, name: &str) -> Option<Vec<u8>> {
    fs::read(setting.folder.path().join("under").join(name)).ok()
}

#[test]
fn each_mode_puts_a_file_where_it_promises() {
    for (mode, is_under, blocks) in [
        (WriteMode::Memory, false, 4),
        (WriteMode::Bypass, true, 0),
        (WriteMode::Through, true, 4),
        (WriteMode::Back, false, 4),
    ] {
        let setting = Setting::new(10);
        let store = setting.store();
        for content in [bytes(1, 3500), bytes(2, 3001)] {
            write(&store, "folder/a", &content, mode).unwrap();
            assert_eq!(under(&setting, "folder/a").is_some(), is_under, "{mode}");
            assert_eq!(store.counts().blocks, blocks, "{mode}");
            assert_eq!(setting.block_files().len() as u64, blocks);
            assert_eq!(read(&store, "folder/a").unwrap(), content, "{mode}");
            assert_eq!(
                store.facts(&at("folder/a")).unwrap().version.size_bytes,
                content.len() as u64
            );
            assert_eq!(store.list(&at("folder")).unwrap(), ["a"]);
        }
        let counts = store.counts();
        let dirty = if mode == WriteMode::Back { 3001 } else { 0 };
        assert_eq!(counts.dirty_bytes, dirty);
        assert_eq!(counts.memory_only_bytes, if mode == WriteMode::Memory { 3001 } else { 0 });
        assert_eq!(store.flush(None).unwrap(), dirty);
        assert_eq!(store.counts().dirty_bytes, 0);
        if mode != WriteMode::Memory {
            assert_eq!(under(&setting, "folder/a").unwrap(), bytes(2, 3001));
        }
        let audit = store.audit(true);
        assert_eq!((audit.files, audit.lost.len(), audit.changed.len()), (1, 0, 0), "{audit:?}");
    }
}

#[test]
fn a_written_file_is_read_from_memory_afterwards() {
    for mode in [WriteMode::Through, WriteMode::Back] {
        let setting = Setting::new(10);
        let store = setting.store();
        let content = bytes(1, 2500);
        write(&store, "a", &content, mode).unwrap();
        store.flush(None).unwrap();
        for _ in 0..2 {
            assert_eq!(read(&store, "a").unwrap(), content);
        }
        assert_eq!((store.counts().hits, store.counts().misses), (6, 0), "{mode}");
    }
}

#[test]
fn an_empty_file_is_a_file() {
    for mode in WriteMode::ALL {
        let setting = Setting::new(10);
        let store = setting.store();
        write(&store, "a", b"", mode).unwrap();
        store.flush(Some(&at("a"))).unwrap();
        assert_eq!(under(&setting, "a").unwrap(), b"", "{mode}");
        assert_eq!(read(&store, "a").unwrap(), b"");
    }
}

#[test]
fn a_file_that_is_not_closed_has_no_name_and_leaves_nothing() {
    for mode in WriteMode::ALL {
        let setting = Setting::new(10);
        let store = setting.store();
        write(&store, "a", &bytes(1, 1500), WriteMode::Through).unwrap();
        let number = store.create(&at("a"), mode).unwrap();
        write_blocks(&store, number, &bytes(2, 2500)).unwrap();
        assert_eq!(read(&store, "a").unwrap(), bytes(1, 1500), "{mode}");
        assert_eq!(store.list(&at("")).unwrap(), ["a"]);
        store.abandon(number);
        assert_eq!(read(&store, "a").unwrap(), bytes(1, 1500));
        let names = fs::read_dir(setting.folder.path().join("under")).unwrap().count();
        assert_eq!((names, setting.block_files().len()), (1, 2), "{mode}");
        assert_eq!(store.counts().used_bytes, 1500);
    }
}

#[test]
fn a_commit_with_a_wrong_size_is_refused() {
    for mode in WriteMode::ALL {
        for size_bytes in [2499, 2501, 0, 3500] {
            let setting = Setting::new(10);
            let store = setting.store();
            let number = store.create(&at("a"), mode).unwrap();
            write_blocks(&store, number, &bytes(2, 2500)).unwrap();
            assert!(store.commit(number, size_bytes).is_err(), "{mode} {size_bytes}");
            assert!(store.facts(&at("a")).is_err());
            assert_eq!(store.counts().used_bytes, 0);
            assert!(store.commit(number, 2500).is_err());
        }
    }
}

#[test]
fn a_file_that_is_only_in_memory_is_never_evicted() {
    let setting = Setting::new(5);
    let store = setting.store();
    write(&store, "memory", &bytes(1, 1500), WriteMode::Memory).unwrap();
    write(&store, "dirty", &bytes(2, 1500), WriteMode::Back).unwrap();
    setting.write("other", &bytes(3, 9000));
    for _ in 0..3 {
        assert_eq!(read(&store, "other").unwrap(), bytes(3, 9000));
        assert!(store.counts().used_bytes <= 5 * BLOCK);
    }
    assert!(store.free(&at("dirty")).unwrap_err().message().contains("in memory alone"));
    assert_eq!(read(&store, "memory").unwrap(), bytes(1, 1500));
    assert_eq!(read(&store, "dirty").unwrap(), bytes(2, 1500));
    assert_eq!(store.flush(None).unwrap(), 1500);
    assert_eq!(store.free(&at("dirty")).unwrap(), 1500);
    assert_eq!(read(&store, "dirty").unwrap(), bytes(2, 1500));
}

#[test]
fn a_file_without_room_in_memory_is_written_to_the_under_level_or_refused() {
    for mode in [WriteMode::Through, WriteMode::Back] {
        let setting = Setting::new(3);
        let store = setting.store();
        let content = bytes(1, 7500);
        write(&store, "a", &content, mode).unwrap();
        assert_eq!(under(&setting, "a").unwrap(), content, "{mode}");
        assert_eq!(store.counts().dirty_bytes, 0);
        assert_eq!(read(&store, "a").unwrap(), content);
    }
    let setting = Setting::new(3);
    let store = setting.store();
    let error = write(&store, "a", &bytes(1, 3500), WriteMode::Memory).unwrap_err();
    assert!(error.message().contains("no room for cuesta:///a"), "{}", error.message());
    assert_eq!(store.counts().used_bytes, 0);
}

#[test]
fn a_later_file_replaces_an_earlier_file_of_any_mode() {
    for first in WriteMode::ALL {
        for second in WriteMode::ALL {
            let setting = Setting::new(10);
            let store = setting.store();
            write(&store, "a", &bytes(1, 1500), first).unwrap();
            write(&store, "a", &bytes(2, 2500), second).unwrap();
            assert_eq!(read(&store, "a").unwrap(), bytes(2, 2500), "{first} {second}");
            store.flush(Some(&at("a"))).unwrap();
            assert_eq!(under(&setting, "a").unwrap(), bytes(2, 2500), "{first} {second}");
            assert_eq!(read(&store, "a").unwrap(), bytes(2, 2500));
            let audit = store.audit(true);
            assert_eq!((audit.files, audit.lost.len(), audit.changed.len()), (1, 0, 0));
            assert_eq!(setting.block_files().len() as u64, store.counts().blocks);
        }
    }
}

#[test]
fn files_are_renamed_and_removed_wherever_they_are() {
    for mode in WriteMode::ALL {
        for other in WriteMode::ALL {
            let setting = Setting::new(10);
            let store = setting.store();
            store.make_folder(&at("d")).unwrap();
            write(&store, "d/a", &bytes(1, 1500), mode).unwrap();
            write(&store, "b", &bytes(2, 2500), other).unwrap();
            store.rename(&at("d/a"), &at("b")).unwrap();
            assert_eq!(read(&store, "b").unwrap(), bytes(1, 1500), "{mode} {other}");
            assert!(read(&store, "d/a").is_err());
            let audit = store.audit(true);
            assert_eq!((audit.files, audit.lost.len(), audit.changed.len()), (1, 0, 0));
            store.remove_name(&at("b")).unwrap();
            store.remove_name(&at("d")).unwrap();
            assert!(store.list(&at("")).unwrap().is_empty(), "{mode} {other}");
            assert!(store.remove_name(&at("b")).is_err());
            assert_eq!((store.counts().used_bytes, store.audit(true).files), (0, 0));
        }
    }
}

#[test]
fn a_new_file_replaces_nothing() {
    for mode in WriteMode::ALL {
        for other in WriteMode::ALL {
            let setting = Setting::new(10);
            let store = setting.store();
            write(&store, "a", &bytes(1, 1500), mode).unwrap();
            let taken = Some(libc::EEXIST);
            let number = store.create(&at("a"), other).unwrap();
            assert_eq!(store.commit_as(number, 0, true).unwrap_err().errno, taken);
            write(&store, "b", &bytes(2, 500), other).unwrap();
            assert_eq!(store.rename_as(&at("b"), &at("a"), true).unwrap_err().errno, taken);
            assert_eq!(read(&store, "a").unwrap(), bytes(1, 1500), "{mode} {other}");
            store.rename_as(&at("b"), &at("c"), true).unwrap();
            assert_eq!(read(&store, "c").unwrap(), bytes(2, 500), "{mode} {other}");
            let audit = store.audit(true);
            assert_eq!((audit.files, audit.lost.len(), audit.changed.len()), (2, 0, 0));
        }
    }
}

#[test]
fn a_file_is_no_folder_wherever_it_is() {
    for mode in WriteMode::ALL {
        let setting = Setting::new(10);
        let store = setting.store();
        write(&store, "a", &bytes(1, 500), mode).unwrap();
        let errno = |done: cuesta_core::Result<()>| done.unwrap_err().errno;
        assert_eq!(errno(store.make_folder(&at("a"))), Some(libc::EEXIST), "{mode}");
        assert_eq!(errno(store.make_folder(&at("a/b"))), Some(libc::ENOTDIR), "{mode}");
        assert_eq!(errno(store.list(&at("a")).map(|_| ())), Some(libc::ENOTDIR), "{mode}");
        for other in WriteMode::ALL {
            let below = errno(store.create(&at("a/b"), other).map(|_| ()));
            assert_eq!(below, Some(libc::ENOTDIR), "{mode} {other}");
            // There was no folder of this name when the file was created.
            let number = store.create(&at("c"), other).unwrap();
            store.make_folder(&at("c")).unwrap();
            assert_eq!(errno(store.commit(number, 0)), Some(libc::EISDIR), "{mode} {other}");
            store.remove_name(&at("c")).unwrap();
        }
        assert_eq!(read(&store, "a").unwrap(), bytes(1, 500));
        assert_eq!(store.audit(true).files, 1);
    }
}

#[test]
fn a_file_retains_its_time_when_it_is_flushed() {
    for mode in [WriteMode::Memory, WriteMode::Back] {
        let setting = Setting::new(10);
        let store = setting.store();
        write(&store, "a", &bytes(1, 500), mode).unwrap();
        let before = store.facts(&at("a")).unwrap().version;
        store.flush(Some(&at("a"))).unwrap();
        let after = store.facts(&at("a")).unwrap().version;
        assert_ne!(after.device, 0);
        assert_eq!(after.modified_ns, before.modified_ns, "{mode}");
    }
}

#[test]
fn a_single_writer_of_many_creates_a_new_file() {
    let setting = Setting::new(64);
    let store = setting.store();
    for round in 0..20 {
        let path = at(&format!("d/{round}"));
        let made = std::thread::scope(|scope| {
            let make = |mode| {
                let number = store.create(&path, mode).unwrap();
                store.commit_as(number, 0, true).is_ok()
            };
            let tried = WriteMode::ALL.map(|mode| scope.spawn(move || make(mode)));
            tried.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(made.iter().filter(|&&is_made| is_made).count(), 1, "round {round}");
    }
}

#[test]
fn a_folder_is_renamed_with_its_dirty_files() {
    let setting = Setting::new(10);
    let store = setting.store();
    write(&store, "d/a", &bytes(1, 1500), WriteMode::Back).unwrap();
    write(&store, "d/e/b", &bytes(2, 1500), WriteMode::Through).unwrap();
    // The new folder exists through its memory-only file.
    write(&store, "g/c", &bytes(3, 500), WriteMode::Memory).unwrap();
    store.rename(&at("d"), &at("g/d")).unwrap();
    store.rename(&at("g/d"), &at("f")).unwrap();
    store.remove_name(&at("g/c")).unwrap();
    assert_eq!(read(&store, "f/a").unwrap(), bytes(1, 1500));
    assert_eq!(read(&store, "f/e/b").unwrap(), bytes(2, 1500));
    assert_eq!((store.audit(true).files, store.audit(true).lost.len()), (2, 0));
    write(&store, "f/c", &bytes(3, 500), WriteMode::Memory).unwrap();
    assert!(store.rename(&at("f"), &at("d")).unwrap_err().message().contains("f/c is in memory"));
}

#[test]
fn a_file_changed_by_another_program_is_not_overwritten() {
    let setting = Setting::new(10);
    let store = setting.store();
    setting.write("a", b"before");
    write(&store, "a", &bytes(1, 1500), WriteMode::Back).unwrap();
    setting.write("a", b"theirs");
    let error = store.flush(None).unwrap_err();
    assert!(error.message().contains("a was changed on the under level"), "{}", error.message());
    assert_eq!(under(&setting, "a").unwrap(), b"theirs");
    assert_eq!(read(&store, "a").unwrap(), bytes(1, 1500));
    fs::remove_file(setting.folder.path().join("under/a")).unwrap();
    store.flush(None).unwrap();
    assert_eq!(under(&setting, "a").unwrap(), bytes(1, 1500));
}

#[test]
fn an_audit_names_lost_files_and_files_that_other_programs_changed() {
    let setting = Setting::new(10);
    let store = setting.store();
    write(&store, "memory", &bytes(1, 1500), WriteMode::Memory).unwrap();
    write(&store, "gone", &bytes(2, 1500), WriteMode::Through).unwrap();
    write(&store, "theirs", &bytes(3, 1500), WriteMode::Through).unwrap();
    write(&store, "good", &bytes(4, 1500), WriteMode::Through).unwrap();
    fs::remove_file(setting.folder.path().join("under/gone")).unwrap();
    setting.write("theirs", b"changed");
    let audit = store.audit(true);
    let names = |files: &[cuesta_store::store::audit::AuditedFile]| -> Vec<String> {
        files.iter().map(|file| file.path.name().to_owned()).collect()
    };
    assert_eq!(
        (names(&audit.lost), names(&audit.changed)),
        (vec!["gone".into()], vec!["theirs".into()])
    );
    for path in setting.block_files() {
        let mut content = fs::read(&path).unwrap();
        content[3] ^= 1;
        fs::remove_file(&path).unwrap();
        fs::write(&path, content).unwrap();
    }
    assert_eq!(names(&store.audit(true).lost), ["gone", "memory"]);
    // A damaged block of a file that exists nowhere else is reported to all readers.
    assert_eq!(store.scrub().len(), 8);
    let error = read(&store, "memory").unwrap_err();
    assert!(error.message().contains("of cuesta:///memory was lost"), "{}", error.message());
    assert_eq!(read(&store, "good").unwrap(), bytes(4, 1500));
}

#[test]
fn many_commits_of_a_few_files_leave_a_short_ledger() {
    // The ledger in /dev/shm only grew, outside --memory, until commits were refused.
    let commits = if std::env::var_os("CUESTA_SOAK").is_some() { 300_000 } else { 10_000 };
    let setting = Setting::new(10);
    let store = setting.store();
    for commit in 0..commits {
        let number = store.create(&at(&format!("d/{}", commit % 3)), WriteMode::Memory).unwrap();
        store.commit(number, 0).unwrap();
    }
    assert!(store.ledger_bytes() < 80_000, "{} bytes", store.ledger_bytes());
    drop(store);
    let store = setting.store();
    let audit = store.audit(true);
    assert_eq!((audit.files, audit.lost.len()), (3, 0));
}
