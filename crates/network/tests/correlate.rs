//! `correlate` from file to answer: text and pair matrix agree, and both pass the verification.

#![allow(clippy::unwrap_used)]

mod common;

use std::fs;

use common::{Workspace, files, run_and_verify, run_only};
use cuesta_core::budget::Budget;
use cuesta_core::progress::Progress;
use cuesta_input::generate::matrix;
use cuesta_network::verify::verify;
use serde_json::json;

fn make(workspace: &Workspace, missing: f64) -> std::path::PathBuf {
    let path = workspace.path(&format!("gem-{missing}.txt"));
    let params = matrix::Params {
        output: path.clone(),
        genes: 130,
        samples: 37,
        modules: 4,
        missing,
        seed: 3,
        threads: 2,
    };
    matrix::write(&params, &Progress::default()).unwrap();
    path
}

#[test]
fn text_and_pair_matrix_have_the_same_digest_for_any_threads_and_memory() {
    let workspace = Workspace::new();
    for missing in [0.0, 0.1] {
        let input = make(&workspace, missing);
        for method in ["pearson", "spearman"] {
            for min_abs_score in [0.0, 0.5] {
                let mut digests = Vec::new();
                for (format, threads) in [("text", 1), ("text", 3), ("pairs", 2)] {
                    let parameters = json!({ "method": method, "format": format,
                        "min_abs_score": min_abs_score, "min_samples": 10 });
                    let mut request = workspace.request(&[&input], parameters);
                    request.threads = threads;
                    digests.push(run_and_verify("correlate", &request).1.digest);
                }
                assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{method} {digests:?}");
            }
        }
    }
}

#[test]
fn what_correlate_writes_the_other_workloads_read() {
    let workspace = Workspace::new();
    let input = make(&workspace, 0.05);
    let parameters = |format| json!({ "format": format, "min_abs_score": 0.2, "min_samples": 5 });
    let text = workspace.request(&[&input], parameters("text"));
    run_and_verify("correlate", &text);
    let pairs = workspace.request(&[&input], parameters("pairs"));
    run_and_verify("correlate", &pairs);
    for workload in ["scan", "degrees", "communities"] {
        let [a, b] = [text.output.join("pairs.txt"), pairs.output.join("pairs.zarr")].map(|path| {
            let request = workspace.request(&[&path], json!({ "min_abs_score": 0.4 }));
            run_and_verify(workload, &request);
            files(&request)
        });
        assert_eq!(a, b, "{workload}");
    }
}

#[test]
fn a_wrong_score_a_lost_row_and_a_row_too_many_are_detected() {
    let workspace = Workspace::new();
    let input = make(&workspace, 0.05);
    let request = workspace.request(&[&input], json!({ "min_abs_score": 0.3, "min_samples": 5 }));
    run_and_verify("correlate", &request);
    let answer = request.output.join("pairs.txt");
    let text = fs::read_to_string(&answer).unwrap();
    let first = text.lines().next().unwrap();
    let score = first.split('\t').nth(9).unwrap();
    let wrong = format!("{:.6}", score.parse::<f64>().unwrap() + 2e-6);
    for damaged in [
        text.replacen(score, &wrong, 1),
        text.replacen(&format!("{first}\n"), "", 1),
        format!("{text}{first}\n"),
        text.replacen("\t1\t1\t", "\t1\t2\t", 1),
    ] {
        assert_ne!(damaged, text);
        fs::write(&answer, damaged).unwrap();
        assert!(!verify("correlate", &request, &Progress::default()).unwrap().verified);
    }
}

#[test]
fn a_band_that_does_not_fit_is_refused() {
    let workspace = Workspace::new();
    let input = make(&workspace, 0.0);
    let mut request = workspace.request(&[&input], json!({}));
    request.budget = Budget::new(300_000).into();
    let error = run_only("correlate", &request).unwrap_err();
    assert!(error.message().contains("--memory"), "{}", error.message());
    let request = workspace.request(&[&input, &input], json!({}));
    let error = run_only("correlate", &request).unwrap_err();
    assert!(error.message().contains("takes one matrix"), "{}", error.message());
}
