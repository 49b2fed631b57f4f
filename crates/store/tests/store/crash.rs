//! A kill or a failure of the system at each step of each scenario: no acknowledged file is lost,
//! and no partial file has a name.

use std::fs;

use crate::common::scenario::Action::{Flush, FlushAll, Remove, Rename, Write};
use crate::common::scenario::{Action, Allowed, Setting, copy, name, open};
use crate::common::{at, read};
use cuesta_store::steps::Steps;
use cuesta_store::store::Store;
use cuesta_store::under::model::{Crash, ModelUnder};
use cuesta_store::writeback::WriteMode::{Back, Bypass, Memory, Through};

/// Actions before each scenario, and those during which steps are counted.
const SCENARIOS: &[(&[Action], &[Action])] = &[
    (&[], &[Write("a", 1, Memory), Flush("a")]),
    (&[], &[Write("a", 1, Bypass)]),
    (&[], &[Write("a", 1, Through)]),
    (&[], &[Write("a", 1, Back), FlushAll]),
    (&[], &[Write("d/e/a", 1, Through), Write("d/b", 2, Back), FlushAll]),
    (&[Write("a", 1, Through)], &[Write("a", 2, Through)]),
    (&[Write("a", 1, Through)], &[Write("a", 2, Back), FlushAll]),
    (&[Write("a", 1, Through)], &[Write("a", 2, Memory)]),
    (&[Write("a", 1, Through)], &[Write("a", 2, Bypass)]),
    (&[Write("a", 1, Back)], &[Write("a", 2, Through)]),
    (&[Write("a", 1, Back)], &[Write("a", 2, Bypass), FlushAll]),
    (&[Write("a", 1, Back)], &[Write("a", 2, Back), FlushAll]),
    (&[Write("a", 1, Back)], &[Write("a", 2, Memory), Flush("a")]),
    (&[Write("a", 1, Memory)], &[Write("a", 2, Through)]),
    (&[Write("a", 1, Memory)], &[Write("a", 2, Back), FlushAll]),
    (&[Write("a", 1, Through)], &[Remove("a")]),
    (&[Write("a", 1, Back)], &[Remove("a"), Write("a", 2, Back), FlushAll]),
    (&[Write("a", 1, Memory)], &[Remove("a")]),
    (&[Write("a", 1, Through)], &[Write("a", 2, Back), Remove("a")]),
    (&[Write("a", 1, Through)], &[Rename("a", "b")]),
    (&[Write("a", 1, Back)], &[Rename("a", "b")]),
    (&[Write("a", 1, Through)], &[Rename("a", "d/b")]),
    (&[Write("a", 1, Memory)], &[Rename("a", "b"), Flush("b")]),
    (&[Write("a", 1, Through), Write("b", 2, Back)], &[Rename("a", "b"), FlushAll]),
    (&[Write("a", 1, Through), Write("a", 2, Memory)], &[Rename("a", "b")]),
    (&[Write("a", 1, Memory), Write("b", 2, Through)], &[Rename("a", "b")]),
    // The memory has no room for the third.
    (&[Write("a", 1, Back), Write("b", 2, Back)], &[Write("c", 3, Back), FlushAll]),
];

/// Checks that the files of a store are allowed; no step fails.
fn check(store: &Store, allowed: &Allowed, place: &str) {
    for (path, contents) in &allowed.in_all {
        let content = match store.facts(&at(path)) {
            Ok(_) => Some(read(store, path).unwrap_or_else(|error| panic!("{place}: {error}"))),
            Err(_) => None,
        };
        assert!(contents.contains(&content), "{place}: {path} is {}", name(&content));
    }
}

/// As [`check`], and again after a flush.
fn check_through_flush(store: &Store, under: &ModelUnder, allowed: &Allowed, place: &str) {
    check(store, allowed, place);
    store.flush(None).unwrap_or_else(|error| panic!("{place}: {error}"));
    check(store, allowed, place);
    let audit = store.audit(true);
    assert!(audit.lost.is_empty() && audit.changed.is_empty(), "{place}: {audit:?}");
    let hidden: Vec<String> = under.paths();
    assert!(
        hidden.iter().all(|path| !path.contains("cuesta-part")),
        "{place}: {hidden:?} {:?}",
        store.last_failure()
    );
}

fn check_disk(under: &ModelUnder, allowed: &Allowed, place: &str) {
    for (path, contents) in &allowed.on_disk {
        let content = under.content(path);
        assert!(contents.contains(&content), "{place}: {path} is {} on the disk", name(&content));
    }
}

#[test]
fn a_kill_at_any_step_loses_nothing_that_was_acknowledged() {
    let mut kills = 0;
    for (number, (before, actions)) in SCENARIOS.iter().enumerate() {
        for step in 0.. {
            let (mut setting, store) = Setting::new(before);
            setting.steps.die_after(step);
            let has_ended = setting.act(&store, actions);
            drop(store);
            setting.steps.fail(0);
            kills += 1;
            let Setting { folder, under, allowed, .. } = &setting;
            for crash in Crash::ALL {
                let place = format!("scenario {number}, killed after step {step}, {crash:?}");
                check_disk(&under.after(crash), allowed, &place);
                let (under, memory) =
                    (under.after(crash), folder.path().join(format!("{crash:?}")));
                copy(&folder.path().join("memory"), &memory);
                let store = open(&under, &memory, &Steps::default()).unwrap();
                check_through_flush(&store, &under, allowed, &place);
            }
            if has_ended {
                assert!(step > 2, "scenario {number} has {step} steps");
                break;
            }
        }
    }
    assert!(kills > 700, "{kills} kills");
}

#[test]
fn a_second_kill_during_recovery_loses_nothing() {
    // All pairs take minutes; `make soak` tests them.
    let stride = if std::env::var_os("CUESTA_SOAK").is_some() { 1 } else { 7 };
    for (number, (before, actions)) in SCENARIOS.iter().enumerate() {
        for step in (number as u64 % stride..).step_by(stride as usize) {
            let (mut setting, store) = Setting::new(before);
            setting.steps.die_after(step);
            let has_ended = setting.act(&store, actions);
            drop(store);
            let memory = setting.folder.path().join("memory");
            for second in 0.. {
                let (under, again) =
                    (setting.under.after(Crash::Nothing), memory.with_extension("2"));
                copy(&memory, &again);
                let steps = Steps::default();
                steps.die_after(second);
                let opened = open(&under, &again, &steps).and_then(|store| store.flush(None));
                let place = format!("scenario {number}, killed after {step}, then {second}");
                check_disk(&under.after(Crash::Everything), &setting.allowed, &place);
                steps.fail(0);
                let store = open(&under, &again, &steps).unwrap();
                check_through_flush(&store, &under, &setting.allowed, &place);
                drop(store);
                fs::remove_dir_all(&again).unwrap();
                if opened.is_ok() {
                    break;
                }
            }
            if has_ended {
                break;
            }
        }
    }
}

#[test]
fn a_failure_at_any_step_is_an_error_and_loses_nothing() {
    for (number, (before, actions)) in SCENARIOS.iter().enumerate() {
        for step in 1.. {
            let (mut setting, store) = Setting::new(before);
            setting.steps.fail(step);
            let has_ended = setting.act(&store, actions);
            let was_failed = setting.steps.done() >= step;
            setting.steps.fail(0);
            let place = format!("scenario {number}, step {step} failed");
            check_through_flush(&store, &setting.under, &setting.allowed, &place);
            let blocks = setting.folder.path().join("memory/blocks");
            let files = fs::read_dir(blocks).unwrap().count() as u64;
            assert!(files >= store.counts().blocks, "{place}");
            if has_ended && !was_failed {
                break;
            }
        }
    }
}

/// A disk writes unsynced sectors in any order, each completely or not at all.
#[test]
fn a_power_failure_at_any_step_leaves_no_partial_file_under_a_name() {
    let stride = if std::env::var_os("CUESTA_SOAK").is_some() { 1 } else { 3 };
    let mut losses = 0;
    for (number, (before, actions)) in SCENARIOS.iter().enumerate() {
        for step in (number as u64 % stride..).step_by(stride as usize) {
            let (mut setting, store) = Setting::new(before);
            setting.steps.die_after(step);
            let has_ended = setting.act(&store, actions);
            drop(store);
            setting.steps.fail(0);
            for seed in 0..8 {
                let under = setting.under.after(Crash::Power(seed));
                let place = format!("scenario {number}, power lost after {step}, seed {seed}");
                check_disk(&under, &setting.allowed, &place);
                losses += 1;
            }
            // The memory is lost as well: a new store begins with the folder as it is.
            let under = setting.under.after(Crash::Power(step));
            let memory = setting.folder.path().join("new");
            let store = open(&under, &memory, &Steps::default()).unwrap();
            for (path, contents) in &setting.allowed.on_disk {
                let content = read(&store, path).ok();
                assert!(contents.contains(&content), "scenario {number}, {step}: {path}");
            }
            if has_ended {
                break;
            }
        }
    }
    assert!(losses > 1500, "{losses} losses of power");
}
