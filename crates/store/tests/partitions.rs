//! A job that is cut in two and whole again: of two files of one name, neither is lost.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::bytes;
use common::job::{Job, RunningStore, VARIABLE, wait_for};
use cuesta_core::progress::Progress;
use cuesta_store::store::promise::WriteMode;
use serde_json::{Value, json};

/// Request of a child of these tests: it is the daemon.
#[test]
fn a_store_of_another_test() {
    if let Ok(request) = std::env::var(VARIABLE) {
        cuesta_store::serve(&request, &Progress::default(), || ()).unwrap();
    }
}

/// Names in a folder, by a store.
fn list(store: &RunningStore, folder: &str) -> Vec<String> {
    let listed = store.ask(&json!({"do": "list", "path": folder}));
    let entries = listed["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

fn audit(store: &RunningStore) -> Value {
    store.ask(&json!({"do": "audit", "reads_bytes": true}))
}

/// The conflict name that every store has in `d`, once all have one.
fn conflict(job: &Job) -> String {
    wait_for(|| {
        let names: Vec<Vec<String>> = job.stores.iter().map(|store| list(store, "d")).collect();
        let name = names[0].iter().find(|name| name.starts_with("a.conflict-"))?;
        let is_known = |names: &Vec<String>| names.contains(name) && names.contains(&"a".into());
        names.iter().all(is_known).then(|| format!("d/{name}"))
    })
}

/// Two sides of a partition wrote a file of one name. Once the network was whole again, the file
/// closed last counted, and the other one was forgotten: its audit called it removed.
#[test]
fn of_two_files_of_one_name_the_one_closed_first_is_kept_under_another() {
    for first in [0, 2] {
        let job = Job::new(3);
        job.split(&[0]);
        let (early, late) = (bytes(1, 3000), bytes(2, 70_000));
        job.stores[first].write("d/a", &early, WriteMode::Memory).unwrap();
        job.stores[2 - first].write("d/a", &late, WriteMode::Memory).unwrap();
        job.heal();
        let kept = conflict(&job);
        for store in &job.stores {
            wait_for(|| (store.read("d/a").ok()? == late).then_some(()));
            assert_eq!(store.read(&kept).unwrap(), early);
        }
        let told = audit(&job.stores[first]);
        assert_eq!(told["conflicts"][0]["path"], kept.as_str(), "{told}");
        assert_eq!((&told["lost"], &told["changed"]), (&json!([]), &json!([])));
        let status = job.stores[first].ask(&json!({"do": "status"}));
        assert_eq!(status["conflicts"], json!([kept]));
        // Both go to the folder, under their names.
        job.stores[1].ask(&json!({"do": "flush", "path": kept}));
        job.stores[1].ask(&json!({"do": "flush", "path": "d/a"}));
        let under = job.folder.path().join("under");
        assert_eq!(fs::read(under.join(&kept)).unwrap(), early);
        assert_eq!(fs::read(under.join("d/a")).unwrap(), late);
    }
}

#[test]
fn of_two_files_that_are_flushed_on_both_sides_the_second_is_kept_under_another_name() {
    let job = Job::new(2);
    job.split(&[0]);
    let (early, late) = (bytes(1, 3000), bytes(2, 70_000));
    job.stores[0].write("d/a", &early, WriteMode::Back).unwrap();
    assert!(job.stores[0].ask(&json!({"do": "flush", "path": null}))["bytes"].is_u64());
    // It is closed on the other side before it is known there that the first is flushed.
    let under = job.folder.path().join("under");
    fs::rename(under.join("d/a"), under.join("d/moved")).unwrap();
    job.stores[1].write("d/a", &late, WriteMode::Memory).unwrap();
    fs::rename(under.join("d/moved"), under.join("d/a")).unwrap();
    job.heal();
    wait_for(|| {
        let flushed = job.stores[1].ask(&json!({"do": "flush", "path": "d/a"}));
        flushed["bytes"].as_u64()
    });
    let kept = conflict(&job);
    for store in &job.stores {
        assert_eq!(store.read("d/a").unwrap(), early);
        assert_eq!(store.read(&kept).unwrap(), late);
    }
    assert_eq!(audit(&job.stores[1])["conflicts"][0]["path"], kept.as_str());
    assert_eq!(fs::read(under.join(&kept)).unwrap(), late);
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
