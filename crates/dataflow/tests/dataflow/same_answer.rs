//! Number of threads, stages and storage of blocks do not change the table, and verification
//! detects every wrong table.

use std::fs;
use std::path::{Path, PathBuf};

use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Verdict, VerificationLevel};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_dataflow::{run, table, verify};
use cuesta_input::npy;
use proptest::prelude::*;
use serde_json::{Value, json};

fn new_request(folder: &Path, parameters: Value, threads: usize) -> Request {
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
        budget: Budget::new(1 << 30).into(),
        scratch: folder.join("scratch"),
        verify: Default::default(),
        names: None,
    }
}

fn table_of(request: &Request) -> String {
    run(request, &Progress::default()).unwrap();
    fs::read_to_string(request.output.join(table::AVERAGES_FILE)).unwrap()
}

fn verdict_of(request: &Request) -> Result<Verdict> {
    verify(request, &Progress::default())
}

fn refused(parameters: Value, change: impl FnOnce(&mut Request)) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let mut request = new_request(folder.path(), parameters, 2);
    change(&mut request);
    run(&request, &Progress::default()).unwrap_err()
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
            let request = new_request(folder.path(), parameters, threads);
            tables.push(table_of(&request));
            let verdict = verdict_of(&request).unwrap();
            prop_assert!(verdict.verified, "{:?}", verdict);
        }
        tables.dedup();
        prop_assert_eq!(tables.len(), 1);
    }
}

#[test]
fn the_table_equals_the_golden_table_of_all_engines() {
    let folder = tempfile::tempdir().unwrap();
    let parameters = json!({ "blocks": 2, "block_vectors": 1000, "shift": "1,0,-0.5" });
    let request = new_request(folder.path(), parameters, 2);
    let table = table_of(&request);
    let golden = include_str!("../../../../spec/workloads/dataflow/cases/averages.tsv");
    assert_eq!(table, golden);
}

#[test]
fn a_changed_sum_or_mean_is_detected() {
    let folder = tempfile::tempdir().unwrap();
    let request = new_request(folder.path(), json!({ "blocks": 3, "block_vectors": 100 }), 1);
    let good = table_of(&request);
    let path = request.output.join(table::AVERAGES_FILE);
    let last = good.lines().last().unwrap();
    let mut fields: Vec<String> = last.split('\t').map(str::to_owned).collect();
    for (column, value) in [(2, "5"), (5, "0.000001")] {
        let right_value = std::mem::replace(&mut fields[column], value.to_owned());
        fs::write(&path, good.replace(last, &fields.join("\t"))).unwrap();
        assert!(!verdict_of(&request).unwrap().verified);
        fields[column] = right_value;
    }
    let without: Vec<&str> = good.lines().filter(|line| !line.starts_with("1\t")).collect();
    fs::write(&path, without.join("\n")).unwrap();
    assert!(!verdict_of(&request).unwrap().verified);
    let swapped = good.replace("\n0\t", "\n9\t").replace("\n1\t", "\n0\t");
    for bad in [
        "",
        "block\n",
        &good[..good.len() - 1],
        &good.lines().take(4).fold(String::new(), |text, line| text + line + "\n"),
        &good.replace("all\t300", "all\t0"),
        &good.replace("all\t300", "all\t299"),
        &good.replace("\t100\t", "\tx\t"),
        &(good.clone() + last + "\n"),
        &swapped.replace("\n9\t", "\n1\t"),
    ] {
        fs::write(&path, bad).unwrap();
        let verdict = verdict_of(&request).unwrap();
        assert!(!verdict.verified && verdict.remark.is_some(), "{bad}");
    }
}

/// Returns a table whose sums are those of the vectors of another seed, added correctly.
fn of_another_seed(request: &mut Request) -> String {
    request.seed += 1;
    let table = table_of(request);
    request.seed -= 1;
    table
}

#[test]
fn all_wrong_blocks_are_detected_and_a_sample_detects_some() {
    let folder = tempfile::tempdir().unwrap();
    let mut request = new_request(folder.path(), json!({ "blocks": 320, "block_vectors": 10 }), 2);
    let wrong_table = of_another_seed(&mut request);
    let good = table_of(&request);
    let path = request.output.join(table::AVERAGES_FILE);
    request.verify = VerificationLevel::Sample;
    assert!(verdict_of(&request).unwrap().verified);
    // All lines are consistent, and every sum is wrong.
    fs::write(&path, &wrong_table).unwrap();
    assert!(!verdict_of(&request).unwrap().verified);
    let broken = good.replace("\nall\t3200\t", "\nall\t3200\t1");
    fs::write(&path, broken).unwrap();
    assert!(!verdict_of(&request).unwrap().verified);

    let single_block = json!({ "blocks": 1, "block_vectors": 300_000 });
    let mut request = new_request(folder.path(), single_block, 2);
    let wrong_table = of_another_seed(&mut request);
    table_of(&request);
    for level in [VerificationLevel::Full, VerificationLevel::Sample] {
        request.verify = level;
        assert!(verdict_of(&request).unwrap().verified);
        fs::write(request.output.join(table::AVERAGES_FILE), &wrong_table).unwrap();
        assert!(!verdict_of(&request).unwrap().verified);
        table_of(&request);
    }
}

#[test]
fn a_table_of_many_windows_is_verified_in_full() {
    let folder = tempfile::tempdir().unwrap();
    let request = new_request(folder.path(), json!({ "blocks": 60_000, "block_vectors": 3 }), 2);
    let good = table_of(&request);
    assert!(good.len() > 3 << 20);
    let verdict = verdict_of(&request).unwrap();
    assert!(verdict.verified, "{verdict:?}");
    assert_eq!((verdict.counts["blocks"], verdict.counts["vectors"]), (60_000, 180_000));
    let path = request.output.join(table::AVERAGES_FILE);
    for block in [0, 30_000, 59_999] {
        let line = good.lines().nth(block + 1).unwrap();
        let fields: Vec<&str> = line.split('\t').collect();
        let wrong = line.replace(fields[2], &format!("{}1", fields[2]));
        fs::write(&path, good.replacen(&format!("\n{line}\n"), &format!("\n{wrong}\n"), 1))
            .unwrap();
        let remark = verdict_of(&request).unwrap().remark.unwrap();
        assert!(remark.contains(&format!("block {block} ")), "{remark}");
    }
}

#[test]
fn the_reduction_is_a_separate_phase() {
    let folder = tempfile::tempdir().unwrap();
    for (keep, stages) in
        [("none", vec!["pipeline"]), ("disk", vec!["generate", "shift", "average"])]
    {
        let parameters = json!({
            "blocks": 3, "block_vectors": 10, "stages": "separate", "keep": keep
        });
        let request = new_request(folder.path(), parameters, 2);
        let phases = run(&request, &Progress::default()).unwrap().phases;
        let names: Vec<&str> = phases.iter().map(|phase| &*phase.name).collect();
        assert_eq!(names, [&*stages, &["reduce", "write"]].concat());
    }
}

#[test]
fn too_little_memory_or_disk_is_reported_before_the_work() {
    let in_memory =
        json!({ "blocks": 4, "block_vectors": 1 << 20, "stages": "separate", "keep": "memory" });
    let error = refused(in_memory, |request| request.budget = Budget::new(64 << 20).into());
    assert!(error.message().contains("--keep disk"), "{}", error.message());
    let lazy = json!({ "blocks": 4, "block_vectors": 1 << 20, "stages": "separate" });
    let error = refused(lazy, |request| request.budget = Budget::new(24 << 20).into());
    assert!(error.message().contains("a block a thread needs"), "{}", error.message());
    let spilled = json!({
        "blocks": 1 << 24, "block_vectors": 1 << 26, "stages": "separate", "keep": "disk"
    });
    let error = refused(spilled, |_| {});
    assert!(error.message().contains("--scratch"), "{}", error.message());
}

/// Writes an array of 3-vectors; returns its path.
fn array(folder: &Path, name: &str, descr: &str, values: &[f64]) -> PathBuf {
    let mut bytes = npy::header(descr, &format!("({}, 3)", values.len() / 3));
    for &value in values {
        if descr == "<f4" {
            bytes.extend((value as f32).to_le_bytes());
        } else {
            bytes.extend(value.to_le_bytes());
        }
    }
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn vectors_of_files_are_summed_exactly_however_they_are_cut(
        doubles in prop::collection::vec(-2000.0f64..2000.0, 3..300),
        floats in prop::collection::vec(-2.0f64..2.0, 3..300),
        block_vectors in 1u64..70,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let complete_vectors = |values: &[f64]| values[..values.len() / 3 * 3].to_vec();
        let inputs = vec![
            array(folder.path(), "one.npy", "<f8", &complete_vectors(&doubles)),
            array(folder.path(), "other.npy", "<f4", &complete_vectors(&floats)),
        ];
        let mut all = complete_vectors(&doubles);
        all.extend(complete_vectors(&floats).iter().map(|&value| f64::from(value as f32)));
        let mut tables = Vec::new();
        for (stages, keep) in
            [("fused", "none"), ("separate", "none"), ("separate", "memory"), ("separate", "disk")]
        {
            let parameters = json!({
                "block_vectors": block_vectors, "stages": stages, "keep": keep, "shift": "1,0,-0.5"
            });
            let mut request = new_request(folder.path(), parameters, 2);
            request.inputs = inputs.clone();
            tables.push(table_of(&request));
            let verdict = verdict_of(&request).unwrap();
            prop_assert!(verdict.verified, "{:?}", verdict);
        }
        tables.dedup();
        prop_assert_eq!(tables.len(), 1);
        let last: Vec<&str> = tables[0].lines().last().unwrap().split('\t').collect();
        prop_assert_eq!(last[1], (all.len() / 3).to_string());
        for (axis, shift) in [65_536, 0, -32_768].into_iter().enumerate() {
            let units = all.iter().skip(axis).step_by(3);
            let sum: i64 = units.map(|v| (v * 65_536.0).round_ties_even() as i64 + shift).sum();
            prop_assert_eq!(last[2 + axis], sum.to_string());
        }
    }
}

#[test]
fn files_that_hold_no_vectors_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let message_of = |path: PathBuf| {
        refused(json!({ "block_vectors": 1 << 20 }), |request| request.inputs = vec![path])
            .message()
    };
    let flat = folder.path().join("flat.npy");
    fs::write(&flat, [npy::header("<f8", "(2, 2)"), vec![0; 32]].concat()).unwrap();
    assert!(message_of(flat).contains("flat.npy have 2 dimensions"), "two numbers a vector");
    for (value, shown) in [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (-130_073.0, "-130073")] {
        let message =
            message_of(array(folder.path(), "bad.npy", "<f8", &[0.0, 0.0, 0.0, 1.0, value, 2.0]));
        let expected = format!("coordinate 2 of point 2 of {}", folder.path().display());
        assert!(message.contains(&expected) && message.contains(shown), "{message}");
    }
    // An answer for such a file could only be wrong: verification reports the same error as the
    // run.
    let good = array(folder.path(), "some.npy", "<f8", &[0.0, 0.0, 0.0]);
    let mut request = new_request(folder.path(), json!({ "block_vectors": 1 << 20 }), 1);
    request.inputs = vec![good.clone()];
    table_of(&request);
    array(folder.path(), "some.npy", "<f8", &[0.0, f64::NAN, 0.0]);
    let message = verdict_of(&request).unwrap_err().message();
    assert!(message.contains("coordinate 2 of point 1 of"), "{message}");
    let fits = array(folder.path(), "fits.npy", "<f8", &[130_072.0, 0.0, 0.0]);
    let mut request = new_request(folder.path(), json!({ "block_vectors": 1 << 20 }), 1);
    request.inputs = vec![fits];
    assert!(table_of(&request).contains("\nall\t1\t"));
    assert!(message_of("/nowhere/x.npy".into()).contains("/nowhere/x.npy"));
}

#[test]
fn a_missing_folder_is_reported() {
    let small = json!({ "blocks": 1, "block_vectors": 10 });
    let error = refused(small.clone(), |request| request.output = "/nowhere/at/all".into());
    assert!(error.message().contains("writing /nowhere/at/all"), "{}", error.message());
    let disk = json!({ "blocks": 1, "block_vectors": 10, "stages": "separate", "keep": "disk" });
    let error = refused(disk, |request| request.scratch = "/nowhere/at/all".into());
    assert!(error.message().contains("/nowhere/at/all"), "{}", error.message());
}

#[test]
fn a_cancelled_run_stops() {
    let folder = tempfile::tempdir().unwrap();
    let request = new_request(folder.path(), json!({ "blocks": 1 << 20 }), 2);
    let progress = Progress::default();
    progress.cancel();
    let error = run(&request, &progress).unwrap_err();
    assert_eq!(error.kind, cuesta_core::error::ErrorKind::Cancelled);
}
