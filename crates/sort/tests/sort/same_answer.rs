//! Equality of the sort and its reference on all inputs, for any threads and any memory.

use crate::common::{KINDS, Workspace, made, run, sorted, verify};
use cuesta_core::job::VerificationLevel;
use cuesta_core::progress::Progress;
use cuesta_input::records::{RECORD_BYTES, Record};
use proptest::prelude::*;

const PLENTY: u64 = 1 << 30;
/// Memory for a run of one stripe.
const LITTLE: u64 = 24 << 20;

#[test]
fn all_kinds_of_input_are_sorted_in_memory_and_in_runs_by_any_threads() {
    let workspace = Workspace::new();
    for kind in KINDS {
        let records = made(kind, 300_000, 3);
        let path = workspace.write("input", &records);
        let expected = sorted(&records);
        let mut digests = Vec::new();
        for (threads, memory_bytes, runs) in
            [(1, PLENTY, 1..=1), (3, PLENTY, 1..=1), (1, LITTLE, 2..=5), (2, LITTLE, 3..=5)]
        {
            let request = workspace.request(&[&path], threads, memory_bytes);
            let response = run(&request).unwrap();
            assert!(runs.contains(&response.counts["runs"]), "{kind:?} {:?}", response.counts);
            assert!(
                workspace.answer() == expected,
                "{kind:?}, {threads} threads, {memory_bytes} B"
            );
            assert_eq!(workspace.scratch(), 0);
            let verdict = verify(&request);
            assert!(verdict.verified, "{kind:?} {verdict:?}");
            digests.push(verdict.digest);
        }
        digests.dedup();
        assert_eq!(digests.len(), 1);
    }
}

#[test]
fn progress_reaches_the_total_expected_at_the_start() {
    let workspace = Workspace::new();
    let path = workspace.write("input", &made(KINDS[0], 200_000, 3));
    for memory_bytes in [PLENTY, LITTLE] {
        let request = workspace.request(&[&path], 2, memory_bytes);
        let progress = Progress::default();
        cuesta_sort::run_on(&cuesta_sort::Disk::default(), 0, &request, &progress).unwrap();
        let (done, total) = progress.state();
        assert_eq!(done, total);
        let progress = Progress::default();
        cuesta_sort::verify(&request, &progress).unwrap();
        assert_eq!(progress.state(), (40_000_000, 40_000_000));
    }
}

#[test]
fn many_files_are_a_single_input_in_the_order_of_the_arguments() {
    let workspace = Workspace::new();
    // Equal keys: the answer is the input, file after file.
    let records = made(crate::common::KINDS[5], 150_000, 1);
    let (a, rest) = records.split_at(70_001);
    let (b, c) = rest.split_at(3);
    let paths = [
        workspace.write("z", a),
        workspace.write("y", b),
        workspace.write("x", &[]),
        workspace.write("w", c),
    ];
    let inputs: Vec<_> = paths.iter().map(std::path::PathBuf::as_path).collect();
    for memory_bytes in [PLENTY, LITTLE] {
        let request = workspace.request(&inputs, 2, memory_bytes);
        run(&request).unwrap();
        assert!(workspace.answer() == records);
        assert!(verify(&request).verified);
    }
}

#[test]
fn an_empty_input_has_an_empty_answer() {
    let workspace = Workspace::new();
    let path = workspace.write("input", &[]);
    let request = workspace.request(&[&path], 2, PLENTY);
    assert_eq!(run(&request).unwrap().counts["records"], 0);
    assert!(workspace.answer().is_empty());
    let verdict = verify(&request);
    assert!(verdict.verified);
    assert_eq!(verdict.digest, "0".repeat(32));
}

#[test]
fn a_wrong_answer_is_refused_whatever_is_wrong_with_it() {
    let workspace = Workspace::new();
    let records = made(crate::common::KINDS[2], 50_000, 9);
    let path = workspace.write("input", &records);
    let request = workspace.request(&[&path], 2, PLENTY);
    let right = sorted(&records);
    let refuses = |what: &str, change: &dyn Fn(&mut Vec<Record>)| {
        let mut wrong = right.clone();
        change(&mut wrong);
        assert!(wrong != right, "{what}");
        workspace.write("answer/sorted.dat", &wrong);
        let verdict = verify(&request);
        assert!(!verdict.verified, "{what}");
        assert!(verdict.remark.is_some(), "{what}");
    };
    let equal = right.windows(2).position(|pair| pair[0][..10] == pair[1][..10]).unwrap();
    refuses("equal keys out of order", &|wrong| wrong.swap(equal, equal + 1));
    refuses("a record is missing", &|wrong| wrong.truncate(49_999));
    refuses("a record is there twice", &|wrong| wrong[30_000] = wrong[30_001]);
    refuses("a byte is different", &|wrong| wrong[123][99] ^= 1);
    refuses("keys out of order", &|wrong| wrong.swap(0, 49_999));
    refuses("equal keys far apart out of order", &|wrong| wrong[equal..equal + 9_000].reverse());
    workspace.write("answer/sorted.dat", &right);
    assert!(verify(&request).verified);
}

#[test]
fn verification_with_little_memory_compares_a_range_of_keys_at_a_time() {
    let workspace = Workspace::new();
    let mut records = made(crate::common::KINDS[1], 60_000, 4);
    let copies: Vec<Record> = records
        .iter()
        .map(|record| {
            let mut copy = *record;
            copy[50] = b'x';
            copy
        })
        .collect();
    records.extend(copies);
    let path = workspace.write("input", &records);
    let request = workspace.request(&[&path], 2, PLENTY);
    run(&request).unwrap();
    for memory_bytes in [1, 7 << 20, PLENTY] {
        let request = workspace.request(&[&path], 2, memory_bytes);
        let verdict = cuesta_sort::verify_on(0, &request, &Progress::default()).unwrap();
        assert!(verdict.verified, "{memory_bytes} {verdict:?}");
        assert_eq!(verdict.counts["repeated_keys"], 60_000);
    }
    // A run of equal keys, two of which are swapped, in the last of the ranges.
    let mut wrong = workspace.answer();
    let last = wrong.len() - 1;
    wrong.swap(last - 1, last);
    workspace.write("answer/sorted.dat", &wrong);
    for memory_bytes in [1, 7 << 20, PLENTY] {
        assert!(!verify(&workspace.request(&[&path], 2, memory_bytes)).verified, "{memory_bytes}");
    }
}

#[test]
fn a_sample_detects_wrong_order_and_many_wrong_records() {
    let workspace = Workspace::new();
    let records = made(crate::common::KINDS[2], 50_000, 9);
    let path = workspace.write("input", &records);
    let mut request = workspace.request(&[&path], 2, PLENTY);
    request.verify = VerificationLevel::Sample;
    let right = sorted(&records);
    workspace.write("answer/sorted.dat", &right);
    let verdict = verify(&request);
    assert!(verdict.verified, "{verdict:?}");
    request.verify = VerificationLevel::Full;
    assert_eq!(verify(&request).digest, verdict.digest);
    request.verify = VerificationLevel::Sample;
    let mut wrong = right.clone();
    wrong.swap(0, 49_999);
    workspace.write("answer/sorted.dat", &wrong);
    assert!(!verify(&request).verified);
    // The last byte of records of many keys.
    let mut wrong = right.clone();
    wrong.iter_mut().for_each(|record| record[99] ^= 1);
    workspace.write("answer/sorted.dat", &wrong);
    assert!(!verify(&request).verified);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_records_are_sorted_as_the_reference_does(
        count in 0usize..20_000,
        spread in 1u64..200_000,
        threads in 1usize..4,
        seed in 0u64..1 << 60,
    ) {
        let workspace = Workspace::new();
        let mut records = made(crate::common::KINDS[1], count, seed);
        for record in &mut records {
            // Keys that differ in any of their bytes, many of them equal.
            let number = u64::from_be_bytes(record[..8].try_into().unwrap()) % spread;
            let shift = (number % 10) as usize;
            record[..10].fill(0);
            record[9 - shift] = (number / 10) as u8;
        }
        let path = workspace.write("input", &records);
        let request = workspace.request(&[&path], threads, PLENTY);
        run(&request).unwrap();
        prop_assert!(workspace.answer() == sorted(&records));
        prop_assert!(verify(&request).verified);
        prop_assert_eq!(std::fs::metadata(&path).unwrap().len() as usize, count * RECORD_BYTES);
    }
}
