//! A job whose network is partitioned and then healed: of two files with the same name, neither is
//! lost.

use std::fs;

use crate::common::bytes;
use crate::common::job::{Job, RunningStore, wait_for};
use cuesta_store::writeback::WriteMode;
use serde_json::{Value, json};

/// Most trials until one is judged: on a busy machine stores take each other for dead, or write to
/// the folder for want of memory.
const TRIES_MAX: usize = 50;

/// Returns the names in a folder, as a store lists them.
fn list(store: &RunningStore, folder: &str) -> Vec<String> {
    let listed = store.ask(&json!({"do": "list", "path": folder}));
    let entries = listed["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

fn audit(store: &RunningStore) -> Value {
    store.ask(&json!({"do": "audit", "reads_bytes": true}))
}

/// Waits until all stores have the same conflict name in `d`; returns it.
fn conflict(job: &Job) -> String {
    wait_for(|| {
        let names: Vec<Vec<String>> = job.stores.iter().map(|store| list(store, "d")).collect();
        let name = names[0].iter().find(|name| name.starts_with("a.conflict-"))?;
        let is_known = |names: &Vec<String>| names.contains(name) && names.contains(&"a".into());
        names.iter().all(is_known).then(|| format!("d/{name}"))
    })
}

/// Both sides of a partition wrote a file with the same name. After the partition, the file closed
/// last counted, and the other one was forgotten: its audit called it removed.
#[test]
fn of_two_files_with_the_same_name_the_earlier_is_renamed() {
    for first in [0, 2] {
        let job = Job::new(3);
        job.split(&[0]);
        let (early, late) = (bytes(1, 3000), bytes(2, 70_000));
        job.stores[first].write("d/a", &early, WriteMode::Memory).unwrap();
        job.stores[2 - first].write("d/a", &late, WriteMode::Memory).unwrap();
        job.heal();
        let renamed = conflict(&job);
        for store in &job.stores {
            wait_for(|| (store.read("d/a").ok()? == late).then_some(()));
            assert_eq!(store.read(&renamed).unwrap(), early);
        }
        let audited = audit(&job.stores[first]);
        assert_eq!(audited["conflicts"][0]["path"], renamed.as_str(), "{audited}");
        assert_eq!((&audited["lost"], &audited["changed"]), (&json!([]), &json!([])));
        let status = job.stores[first].ask(&json!({"do": "status"}));
        assert_eq!(status["conflicts"], json!([renamed]));
        // Both are written to the folder, under their names.
        job.stores[1].ask(&json!({"do": "flush", "path": renamed}));
        job.stores[1].ask(&json!({"do": "flush", "path": "d/a"}));
        let under = job.folder.path().join("under");
        assert_eq!(fs::read(under.join(&renamed)).unwrap(), early);
        assert_eq!(fs::read(under.join("d/a")).unwrap(), late);
    }
}

#[test]
fn of_two_files_that_are_flushed_on_both_sides_the_second_is_renamed() {
    let job = Job::new(2);
    job.split(&[0]);
    let (early, late) = (bytes(1, 3000), bytes(2, 70_000));
    job.stores[0].write("d/a", &early, WriteMode::Back).unwrap();
    assert!(job.stores[0].ask(&json!({"do": "flush", "path": null}))["bytes"].is_u64());
    // It is closed on the other side before the flush of the first is known there.
    let under = job.folder.path().join("under");
    fs::rename(under.join("d/a"), under.join("d/moved")).unwrap();
    job.stores[1].write("d/a", &late, WriteMode::Memory).unwrap();
    fs::rename(under.join("d/moved"), under.join("d/a")).unwrap();
    job.heal();
    wait_for(|| {
        let flushed = job.stores[1].ask(&json!({"do": "flush", "path": "d/a"}));
        flushed["bytes"].as_u64()
    });
    let renamed = conflict(&job);
    for store in &job.stores {
        assert_eq!(store.read("d/a").unwrap(), early);
        assert_eq!(store.read(&renamed).unwrap(), late);
    }
    assert_eq!(audit(&job.stores[1])["conflicts"][0]["path"], renamed.as_str());
    assert_eq!(fs::read(under.join(&renamed)).unwrap(), late);
}

#[test]
fn a_file_that_another_store_replaced_and_knew_leaves_nothing() {
    let job = Job::new(3);
    for round in 0..10 {
        let content = bytes(round, 3000);
        let store = &job.stores[(round % 3) as usize];
        store.write("d/a", &content, WriteMode::Memory).unwrap();
        for store in &job.stores {
            assert_eq!(store.read("d/a").unwrap(), content);
            assert_eq!(list(store, "d"), ["a"]);
        }
    }
}

/// A file that was on its way to the folder while another store replaced it was taken for the file
/// of a stranger once that store had written its own file again: it stayed in the folder when that
/// one was removed. Checked histories found it.
#[test]
fn a_file_that_was_flushed_while_it_was_replaced_does_not_come_back() {
    let job = Job::new(2);
    for round in 0..100 {
        let path = format!("d/{round}");
        job.stores[0].write(&path, &bytes(1, 3000), WriteMode::Back).unwrap();
        let last = if round % 2 == 0 { WriteMode::Memory } else { WriteMode::Through };
        for (content, mode) in [(2, WriteMode::Memory), (3, last)] {
            job.stores[1].write(&path, &bytes(content, 3000), mode).unwrap();
        }
        let removed = job.stores[0].ask(&json!({"do": "remove", "path": path}));
        assert_eq!(removed["error"], Value::Null, "{path}");
        for store in &job.stores {
            assert!(store.read(&path).is_err(), "{path} is there again");
        }
    }
    assert!(list(&job.stores[0], "d").is_empty());
}

/// A change of a name with two files, as after a partition, took the file that its store found,
/// and the second had the name from then on: a removed file was there again. Checked histories
/// found it.
#[test]
fn a_change_of_a_name_with_two_files_takes_the_last_and_renames_the_first() {
    let (early, late) = (bytes(1, 3000), bytes(2, 70_000));
    for changing in 0..3 {
        for change in ["remove", "rename", "flush", "write"] {
            let is_judged = || {
                let job = Job::new(3);
                job.split(&[0]);
                job.stores[0].write("d/a", &early, WriteMode::Memory).unwrap();
                job.stores[2].write("d/a", &late, WriteMode::Memory).unwrap();
                job.heal();
                // Where the machine runs short of memory, a store writes to the folder at once.
                if job.folder.path().join("under/d/a").exists() {
                    return false;
                }
                job.is_judged(|job| check_a_change(job, changing, change, [&early, &late]))
            };
            assert!((0..TRIES_MAX).any(|_| is_judged()), "no trial is judged");
        }
    }
}

/// Changes a name with two files by a store, and checks what all stores have then.
fn check_a_change(job: &Job, changing: usize, change: &str, [early, late]: [&[u8]; 2]) {
    let (changed, new) = (&job.stores[changing], bytes(3, 500));
    let mut question = json!({"do": change, "path": "d/a"});
    if change == "rename" {
        question["to"] = "d/moved".into();
    }
    match change {
        "write" => changed.write("d/a", &new, WriteMode::Memory).unwrap(),
        _ => assert_eq!(changed.ask(&question)["error"], Value::Null),
    }
    let expected = match change {
        "write" => Some(new),
        "flush" => Some(late.to_vec()),
        _ => None,
    };
    for store in &job.stores {
        assert!(store.read("d/a").ok() == expected, "{change} by {changing}");
        let names = list(store, "d");
        assert_eq!(names.contains(&"moved".to_owned()), change == "rename");
        let renamed = names.iter().filter(|name| name.starts_with("a.conflict-"));
        let [name] = renamed.collect::<Vec<_>>()[..] else {
            panic!("{change} by {changing} leaves {names:?}");
        };
        assert!(store.read(&format!("d/{name}")).unwrap() == early, "{change} by {changing}");
    }
}

/// A file that was renamed kept the time when it was closed: a file of the new name that was closed
/// after that, and met it later, won. Checked histories found it.
#[test]
fn a_renamed_file_is_later_than_the_file_it_replaces() {
    let job = Job::new(2);
    let (early, late) = (bytes(1, 3000), bytes(2, 70_000));
    let changed_ns = |path| {
        let reply = job.stores[0].ask(&json!({"do": "stat", "path": path}));
        reply["entries"][0]["modified_ns"].as_i64().unwrap()
    };
    job.stores[0].write("d/b", &early, WriteMode::Memory).unwrap();
    job.stores[1].write("d/a", &late, WriteMode::Memory).unwrap();
    let (before, replaced) = (changed_ns("d/b"), changed_ns("d/a"));
    assert!(before < replaced);
    job.stores[0].ask(&json!({"do": "rename", "path": "d/b", "to": "d/a"}));
    assert!(changed_ns("d/a") > replaced);
    for store in &job.stores {
        assert_eq!(store.read("d/a").unwrap(), early);
        assert_eq!(list(store, "d"), ["a"]);
    }
}
