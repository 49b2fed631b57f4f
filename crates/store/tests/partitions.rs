//! A job whose network is partitioned and then healed: of two files with the same name, neither is
//! lost.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::bytes;
use common::job::{Job, RunningStore, VARIABLE, wait_for};
use cuesta_core::progress::Progress;
use cuesta_store::store::promise::WriteMode;
use serde_json::{Value, json};

/// The daemon of a store of these tests, run in a child process.
#[test]
fn a_store_of_another_test() {
    if let Ok(request) = std::env::var(VARIABLE) {
        cuesta_store::serve(&request, &Progress::default(), || ()).unwrap();
    }
}

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
