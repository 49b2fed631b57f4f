//! Sweep of part files that dead stores left on the under level: they are distinguished from parts
//! that are still being written, and removed; no other file is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::common::{Setting, at, read, write};
use cuesta_core::random::Stream;
use cuesta_store::store::Store;
use cuesta_store::store::names::sweep::{SweepOptions, SweepOutcome};
use cuesta_store::writeback::WriteMode;

/// Returns the numbers in the name of a part of a store of this process: host, boot, process space,
/// process, its start, file, time.
fn numbers(setting: &Setting, store: &Store) -> Vec<u64> {
    let number = store.create(&at("probe"), WriteMode::Through).unwrap();
    let names = fs::read_dir(setting.folder.path().join("under")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let part = names.into_iter().find(|name| name.ends_with(".cuesta-part")).unwrap();
    store.abandon(number);
    let inner = part.strip_prefix('.').unwrap().strip_suffix(".cuesta-part").unwrap();
    inner.split('-').map(|number| u64::from_str_radix(number, 16).unwrap()).collect()
}

fn part(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|number| format!("{number:x}")).collect();
    format!(".{}.cuesta-part", numbers.join("-"))
}

/// Returns names of parts: of a running store, of a store whose process has ended, of another host
/// with the same name, in another container, and of an older version.
fn parts(numbers: &[u64]) -> [String; 5] {
    let changed = |place: usize| {
        let mut numbers = numbers.to_vec();
        numbers[place] ^= 1;
        part(&numbers)
    };
    [part(numbers), changed(4), changed(1), changed(2), part(&numbers[5..])]
}

fn left(folder: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    use std::os::unix::ffi::OsStrExt;
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.file_type().unwrap().is_file());
    files.map(|e| (e.file_name().as_bytes().to_vec(), fs::read(e.path()).unwrap())).collect()
}

/// A store whose node died left its hidden file for ever, and the folder could not be removed: it
/// was not empty, although it showed no file.
#[test]
fn a_part_is_swept_where_its_store_is_certainly_dead_and_nowhere_else() {
    let setting = Setting::new(10);
    let store = setting.store();
    let names = parts(&numbers(&setting, &store));
    store.make_folder(&at("d")).unwrap();
    let folder = setting.folder.path().join("under/d");
    for name in &names {
        fs::write(folder.join(name), name).unwrap();
    }
    assert!(store.list(&at("d")).unwrap().is_empty());
    // A listed part is not removed.
    let dry = SweepOptions { is_dry: true, ..SweepOptions::default() };
    let listed = store.sweep(&at(""), dry).unwrap();
    assert_eq!((listed.len(), left(&folder).len()), (5, 5));
    let refused = store.remove_name(&at("d")).unwrap_err();
    assert_eq!(refused.errno, Some(libc::ENOTEMPTY));
    assert!(refused.message().contains("4 parts of files"), "{}", refused.message());
    assert!(refused.message().contains("cuesta store sweep"), "{}", refused.message());
    let now: Vec<Vec<u8>> = left(&folder).into_keys().collect();
    assert!(!now.contains(&names[1].clone().into_bytes()));
    // Unknown parts are removed by their age or by name; the part of a running store is not.
    let old = SweepOptions { is_dry: false, older_than: Some(Duration::from_secs(3600)) };
    let outcomes = |swept: Vec<_>| -> Vec<SweepOutcome> {
        swept.into_iter().map(|p: cuesta_store::store::names::sweep::SweptPart| p.outcome).collect()
    };
    assert_eq!(outcomes(store.sweep(&at(""), old).unwrap()), vec![SweepOutcome::Retained; 4]);
    let by_name = store.sweep(&at("d").join(&names[2]).unwrap(), SweepOptions::default()).unwrap();
    assert_eq!(outcomes(by_name), [SweepOutcome::Removed]);
    let all = SweepOptions { is_dry: false, older_than: Some(Duration::ZERO) };
    store.sweep(&at(""), all).unwrap();
    assert_eq!(left(&folder).into_keys().collect::<Vec<_>>(), [names[0].clone().into_bytes()]);
    fs::remove_file(folder.join(&names[0])).unwrap();
    // A folder with only parts of dead stores is empty.
    fs::write(folder.join(&names[1]), "").unwrap();
    store.remove_name(&at("d")).unwrap();
    assert!(!folder.exists());
}

/// A store that dies while it checks an exchange leaves another file under its hidden name, such as
/// that of another program.
#[test]
fn a_file_that_was_taken_out_by_an_exchange_has_a_name_again() {
    let setting = Setting::new(10);
    let store = setting.store();
    let mut dead = numbers(&setting, &store);
    dead[4] ^= 1;
    let start = part(&dead);
    let start = start.strip_suffix(".cuesta-part").unwrap();
    let under = setting.folder.path().join("under");
    fs::write(under.join("a"), "newest").unwrap();
    fs::write(under.join(format!("{start}-7.a.cuesta-part")), "of a colleague").unwrap();
    let swept = store.sweep_known();
    assert_eq!(swept.len(), 1);
    let files = left(&under);
    assert_eq!(files.len(), 2, "{files:?}");
    assert_eq!(files[b"a".as_slice()], b"newest");
    let (name, content) = files.iter().find(|(name, _)| *name != b"a").unwrap();
    assert!(name.starts_with(b"a.conflict-"), "{name:?}");
    assert_eq!(content, b"of a colleague");
}

#[test]
fn nothing_is_swept_in_a_thousand_foreign_folders() {
    let setting = Setting::new(10);
    let store = setting.store();
    let numbers = numbers(&setting, &store);
    let under = setting.folder.path().join("under");
    let stream = Stream::new(14, 0);
    let mut made = 0;
    for tree in 0..1000_u64 {
        let draw = |place: u64| stream.bits(tree * 100 + place);
        let folder = under.join(format!("t{tree}"));
        fs::create_dir(&folder).unwrap();
        for file in 0..1 + draw(0) % 6 {
            let near = part(&numbers);
            let cut = (draw(10 + file) as usize) % near.len();
            let name = match draw(20 + file) % 7 {
                0 => near.replace(".cuesta-part", ".part"),
                1 => near.trim_start_matches('.').to_owned(),
                2 => near.to_uppercase(),
                3 => format!("{}x{}", &near[..cut], &near[cut..]),
                4 => format!(".notes-{file}.cuesta-part"),
                5 => format!(".-{file}.cuesta-part"),
                _ => format!("{near}{file}"),
            };
            made += u64::from(fs::write(folder.join(name), tree.to_string()).is_ok());
        }
        let before = left(&folder);
        let all = SweepOptions { is_dry: false, older_than: Some(Duration::ZERO) };
        assert!(store.sweep(&at(&format!("t{tree}")), all).unwrap().is_empty(), "{before:?}");
        assert_eq!(left(&folder), before);
        // A file that is no part is listed, whatever its name ends with.
        assert_eq!(store.list(&at(&format!("t{tree}"))).unwrap().len(), before.len());
    }
    assert!(made > 2000, "{made} files");
}

#[test]
fn a_store_that_runs_writes_on_while_another_sweeps() {
    let setting = Setting::new(10);
    let store = setting.store();
    let number = store.create(&at("a"), WriteMode::Through).unwrap();
    crate::common::write_blocks(&store, number, b"whole").unwrap();
    let memory = setting.folder.path().join("other");
    let other = Store::open(Box::new(setting.under()), &memory, setting.options.clone()).unwrap();
    let all = SweepOptions { is_dry: false, older_than: Some(Duration::ZERO) };
    assert_eq!(other.sweep(&at(""), all).unwrap().len(), 1);
    store.commit(number, 5).unwrap();
    assert_eq!(read(&other, "a").unwrap(), b"whole");
    write(&store, "b", b"more", WriteMode::Back).unwrap();
}
