//! The same table for any number of threads, stages and places to keep blocks, and none that is
//! wrong without being found.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use cuesta_core::job::{Request, Verdict};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_dataflow::{run, table, verify};
use proptest::prelude::*;
use serde_json::{Value, json};

fn request(folder: &Path, parameters: Value, threads: usize) -> Request {
    for name in ["answer", "scratch"] {
        let _ = fs::remove_dir_all(folder.join(name));
        fs::create_dir(folder.join(name)).unwrap();
    }
    Request {
        inputs: Vec::new(),
        parameters,
        output: folder.join("answer"),
        seed: 7,
        threads,
        memory_bytes: 1 << 30,
        scratch: folder.join("scratch"),
    }
}

fn table_of(request: &Request) -> String {
    run(request, &Progress::default()).unwrap();
    fs::read_to_string(request.output.join(table::AVERAGES_FILE)).unwrap()
}

fn judged(request: &Request) -> Result<Verdict> {
    verify(request, &Progress::default())
}

fn refused(parameters: Value, change: impl FnOnce(&mut Request)) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let mut asked = request(folder.path(), parameters, 2);
    change(&mut asked);
    run(&asked, &Progress::default()).unwrap_err()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn stages_threads_and_places_do_not_change_the_table(
        blocks in 1u64..9,
        block_vectors in prop_oneof![1u64..50, 32_760u64..32_776, 65_530u64..65_545],
        threads in 1usize..4,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut tables = Vec::new();
        for (stages, keep) in
            [("fused", "none"), ("separate", "none"), ("separate", "memory"), ("separate", "disk")]
        {
            let parameters = json!({
                "blocks": blocks, "block_vectors": block_vectors, "stages": stages, "keep": keep
            });
            let asked = request(folder.path(), parameters, threads);
            tables.push(table_of(&asked));
            let verdict = judged(&asked).unwrap();
            prop_assert!(verdict.verified, "{:?}", verdict);
        }
        tables.dedup();
        prop_assert_eq!(tables.len(), 1);
    }
}

#[test]
fn the_table_is_the_one_every_engine_must_write() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = json!({ "blocks": 2, "block_vectors": 1000, "shift": "1,0,-0.5" });
    let asked = request(folder.path(), parameters, 2);
    let found = table_of(&asked);
    let golden = include_str!("../../../spec/workloads/dataflow/cases/averages.tsv");
    assert_eq!(found, golden);
}

#[test]
fn a_changed_sum_or_mean_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let asked = request(folder.path(), json!({ "blocks": 3, "block_vectors": 100 }), 1);
    let good = table_of(&asked);
    let path = asked.output.join(table::AVERAGES_FILE);
    let last = good.lines().last().unwrap();
    let mut fields: Vec<String> = last.split('\t').map(str::to_owned).collect();
    for (column, value) in [(2, "5"), (5, "0.000001")] {
        let kept = std::mem::replace(&mut fields[column], value.to_owned());
        fs::write(&path, good.replace(last, &fields.join("\t"))).unwrap();
        assert!(!judged(&asked).unwrap().verified);
        fields[column] = kept;
    }
    let without: Vec<&str> = good.lines().filter(|line| !line.starts_with("1\t")).collect();
    fs::write(&path, without.join("\n")).unwrap();
    assert!(!judged(&asked).unwrap().verified);
    for bad in
        ["", "block\n", &good.replace("all\t300", "all\t0"), &good.replace("\t100\t", "\tx\t")]
    {
        fs::write(&path, bad).unwrap();
        assert!(judged(&asked).is_err(), "{bad}");
    }
}

#[test]
fn too_little_memory_or_disk_is_told_before_the_work() {
    let kept =
        json!({ "blocks": 4, "block_vectors": 1 << 20, "stages": "separate", "keep": "memory" });
    let error = refused(kept, |asked| asked.memory_bytes = 64 << 20);
    assert!(error.message.contains("--keep disk"), "{}", error.message);
    let lazy = json!({ "blocks": 4, "block_vectors": 1 << 20, "stages": "separate" });
    let error = refused(lazy, |asked| asked.memory_bytes = 24 << 20);
    assert!(error.message.contains("a block a thread needs"), "{}", error.message);
    let spilled = json!({
        "blocks": 1 << 24, "block_vectors": 1 << 26, "stages": "separate", "keep": "disk"
    });
    let error = refused(spilled, |_| {});
    assert!(error.message.contains("--scratch"), "{}", error.message);
}

#[test]
fn an_input_and_a_lost_folder_are_told() {
    let error = refused(json!({ "blocks": 1 }), |asked| asked.inputs = vec!["x.npy".into()]);
    assert!(error.message.contains("x.npy was given"), "{}", error.message);
    let small = json!({ "blocks": 1, "block_vectors": 10 });
    let error = refused(small.clone(), |asked| asked.output = "/nowhere/at/all".into());
    assert!(error.message.contains("writing /nowhere/at/all"), "{}", error.message);
    let disk = json!({ "blocks": 1, "block_vectors": 10, "stages": "separate", "keep": "disk" });
    let error = refused(disk, |asked| asked.scratch = "/nowhere/at/all".into());
    assert!(error.message.contains("/nowhere/at/all"), "{}", error.message);
}

#[test]
fn a_stop_is_heard() {
    let folder = tempfile::tempdir().unwrap();
    let asked = request(folder.path(), json!({ "blocks": 1 << 20 }), 2);
    let progress = Progress::default();
    progress.cancel();
    let error = run(&asked, &progress).unwrap_err();
    assert_eq!(error.kind, cuesta_core::error::ErrorKind::Cancelled);
}
