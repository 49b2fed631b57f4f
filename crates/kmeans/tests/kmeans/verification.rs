//! Verification agrees with the definition in any memory, and no wrong answer passes.
//! `CUESTA_MUTANTS` sets the number of wrong answers; the default suits a daily run.

use std::fs;

use crate::common::{Workspace, clouds, run, run_verified, verify};
use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, VerificationLevel};
use cuesta_core::mutation::{RowFormat, mutant};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use proptest::prelude::*;
use serde_json::json;

const DEFAULT: u64 = 400;

/// Splits a table into its doubles, or the text of other fields, with the separator of each.
fn numbers(content: &[u8]) -> Vec<(Result<u64, String>, String)> {
    let text = String::from_utf8_lossy(content);
    let number = |field: &str| match field.parse::<f64>() {
        Ok(number) if field.contains('.') => Ok(number.to_bits()),
        _ => Err(field.to_owned()),
    };
    let both = |field: &str| {
        let (value, end) = field.split_at(field.trim_end_matches(['\t', '\n']).len());
        (number(value), end.to_owned())
    };
    text.split_inclusive(['\t', '\n']).map(both).collect()
}

fn passes(request: &Request) -> bool {
    cuesta_kmeans::verify(request, &Progress::default()).is_ok_and(|verdict| verdict.verified)
}

#[test]
fn no_mutant_of_an_answer_passes() {
    let mutant_count = std::env::var("CUESTA_MUTANTS").ok().and_then(|text| text.parse().ok());
    let wanted: u64 = mutant_count.unwrap_or(DEFAULT);
    let workspace = Workspace::new();
    let path = workspace.singles("x.npy", &clouds(60, 3, 4, 1));
    let request = workspace.request(&[&path], json!({ "clusters": 5, "iterations": 6 }));
    run_verified(&request);
    let answer = workspace.answer();
    assert_eq!(answer.len(), 3);
    let (mut made, mut equal) = (0, 0);
    for (name, right) in &answer {
        let rows = if name.ends_with(".npy") { RowFormat::Fixed(4) } else { RowFormat::Lines };
        let mut index = 0;
        let mut of_file = 0;
        while of_file < wanted.div_ceil(3) {
            index += 1;
            let Some((change, wrong)) = mutant(right, rows, 5, index) else { continue };
            if numbers(&wrong) == numbers(right) {
                // One digit more or less of the same double.
                equal += 1;
                continue;
            }
            fs::write(request.output.join(name), wrong).unwrap();
            assert!(!passes(&request), "{name}, mutant {index}: {change}");
            of_file += 1;
        }
        made += of_file;
        fs::write(request.output.join(name), right).unwrap();
        assert!(passes(&request));
    }
    println!("kmeans: {made} mutants, none passed; {equal} more have the same numbers");
}

#[test]
fn memory_enough_for_the_run_is_enough_for_the_verification() {
    let workspace = Workspace::new();
    let path = workspace.doubles("x.npy", &clouds(100_000, 9, 6, 2));
    let mut request = workspace.request(&[&path], json!({ "clusters": 12, "iterations": 5 }));
    run(&request);
    let answer = workspace.answer();
    for memory_bytes in [1 << 20, 3 << 20, 6 << 20, 12 << 20, 1 << 30] {
        request.budget = Budget::new(memory_bytes).into();
        let works = cuesta_kmeans::run(&request, &Progress::default()).is_ok();
        assert!(works || memory_bytes < 12 << 20);
        assert_eq!(workspace.answer(), answer);
        assert!(passes(&request), "{memory_bytes}");
    }
}

#[test]
fn progress_reaches_the_total_expected_at_the_start() {
    let workspace = Workspace::new();
    let rows = clouds(3000, 4, 3, 5);
    let numbers = workspace.doubles("x.npy", &rows);
    let line = |row: &Vec<f64>| row.iter().map(f64::to_string).collect::<Vec<_>>().join(" ") + "\n";
    let text = workspace.write("x.txt", rows.iter().map(line).collect::<String>());
    for path in [numbers, text] {
        let parameters = json!({ "clusters": 3, "init": "kmeans++", "iterations": 300 });
        let mut request = workspace.request(&[&path], parameters);
        for level in [None, Some(VerificationLevel::Full), Some(VerificationLevel::Sample)] {
            let progress = Progress::default();
            match level {
                None => drop(cuesta_kmeans::run(&request, &progress).unwrap()),
                Some(level) => {
                    request.verify = level;
                    assert!(cuesta_kmeans::verify(&request, &progress).unwrap().verified);
                }
            }
            let (done, total) = progress.state();
            assert_eq!(done, total, "{level:?} {}", path.display());
        }
    }
}

#[test]
fn a_sample_detects_wrong_sizes_and_many_wrong_clusters() {
    let workspace = Workspace::new();
    let path = workspace.singles("x.npy", &clouds(40_000, 3, 4, 1));
    let mut request = workspace.request(&[&path], json!({ "clusters": 5, "iterations": 3 }));
    let full = run_verified(&request);
    request.verify = VerificationLevel::Sample;
    let verdict = verify(&request);
    assert!(verdict.verified, "{verdict:?}");
    assert_eq!((verdict.digest, verdict.counts), (full.digest, full.counts));
    let answer = workspace.answer();
    let mut wrong = answer["assignments.npy"].clone();
    let start = wrong.len() - 40_000 * 4;
    wrong[start..].reverse();
    wrong[start..].as_chunks_mut::<4>().0.iter_mut().for_each(|bytes| bytes.reverse());
    fs::write(request.output.join("assignments.npy"), wrong).unwrap();
    assert!(!passes(&request));
    fs::write(request.output.join("assignments.npy"), &answer["assignments.npy"]).unwrap();
    for name in ["centres.tsv", "iterations.tsv"] {
        let text = String::from_utf8(answer[name].clone()).unwrap();
        fs::write(request.output.join(name), text.replace('\t', "\t0")).unwrap();
        assert!(!passes(&request), "{name}");
        fs::write(request.output.join(name), text).unwrap();
    }
    assert!(passes(&request));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_answer_of_a_run_is_verified_for_any_points(
        seed in any::<u64>(),
        (count, dimensions, clusters) in (1usize..400, 1usize..6, 1usize..12),
        (values, iterations, single) in (2u64..30, 1u32..8, any::<bool>()),
        memory_bytes in prop::sample::select(vec![1u64 << 22, 1 << 30]),
    ) {
        // Few values on a lattice: many points and distances are equal.
        let stream = Stream::new(seed, 0);
        let value = |index: usize| stream.below(index as u64, values) as f64 * 0.5 - 3.0;
        let numbers: Vec<f64> = (0..count * dimensions).map(value).collect();
        let rows: Vec<Vec<f64>> = numbers.chunks(dimensions).map(<[f64]>::to_vec).collect();
        let workspace = Workspace::new();
        let path = if single {
            workspace.singles("x.npy", &rows)
        } else {
            workspace.doubles("x.npy", &rows)
        };
        let parameters = json!({ "clusters": clusters.min(count), "iterations": iterations });
        let mut request = workspace.request(&[&path], parameters);
        request.budget = Budget::new(memory_bytes).into();
        run_verified(&request);
    }
}
