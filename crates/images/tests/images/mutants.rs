//! No wrong answer made from a right answer passes the verification. `CUESTA_MUTANTS` sets the
//! number of mutants; the default suits a daily run.

use std::fs;

use crate::common::{Page, Workspace, levels, run, run_verified, tiff, verify};
use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, VerificationLevel};
use cuesta_core::mutation::{RowFormat, mutant};
use cuesta_core::progress::Progress;
use serde_json::{Value, json};
use tiff::encoder::Compression;

const DEFAULT: u64 = 400;

fn passes(request: &Request) -> bool {
    cuesta_images::verify(request, &Progress::default()).is_ok_and(|verdict| verdict.verified)
}

/// Returns a request with pages of each kind, equal ones among them, and a stack of levels.
fn request(workspace: &Workspace, parameters: Value) -> Request {
    let (small, large) = (levels(12 * 17, 1), levels(9 * 70, 2));
    let pages = [
        Page { width: 17, height: 12, values: &small },
        Page { width: 70, height: 9, values: &large },
    ];
    let pages = workspace.write("a/pages.tif", tiff(&pages, Compression::Lzw));
    let stack = workspace.npy("b/stack.npy", "|u1", "(4, 12, 17)", &small.repeat(4));
    workspace.request(&[&pages, &stack], parameters)
}

#[test]
fn no_mutant_of_an_answer_passes() {
    let mutant_count = std::env::var("CUESTA_MUTANTS").ok().and_then(|text| text.parse().ok());
    let wanted: u64 = mutant_count.unwrap_or(DEFAULT);
    let (mut made, mut index) = (0, 0);
    for parameters in [json!({}), json!({ "threshold": "90", "objects": "dark", "min_pixels": 3 })]
    {
        let workspace = Workspace::new();
        let request = request(&workspace, parameters);
        run_verified(&request);
        let right = fs::read(workspace.answer()).unwrap();
        let until = made + wanted.div_ceil(2);
        while made < until {
            index += 1;
            let Some((change, wrong)) = mutant(&right, RowFormat::Lines, 3, index) else {
                continue;
            };
            fs::write(workspace.answer(), wrong).unwrap();
            assert!(!passes(&request), "mutant {index}: {change}");
            made += 1;
        }
        fs::write(workspace.answer(), right).unwrap();
        assert!(passes(&request));
    }
    println!("images: {made} mutants, none passed");
}

#[test]
fn a_sample_detects_all_faults_that_need_no_pixels() {
    let workspace = Workspace::new();
    let path = workspace.npy("stack.npy", "|u1", "(200, 8, 9)", &levels(200 * 72, 7));
    let mut request = workspace.request(&[&path], json!({ "min_pixels": 2 }));
    let full = run_verified(&request);
    request.verify = VerificationLevel::Sample;
    let verdict = verify(&request);
    assert!(verdict.verified, "{verdict:?}");
    assert_eq!((verdict.digest, verdict.counts), (full.digest, full.counts));
    let good = fs::read_to_string(workspace.answer()).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let changed = |column: usize, value: &str| {
        let line = lines[7];
        let mut fields: Vec<&str> = line.split('\t').collect();
        fields[column] = value;
        good.replace(line, &fields.join("\t"))
    };
    let wrong_values = ["7", "x.npy", "9", "9", "8", "1.5", "73", "40", "60"];
    for (column, value) in wrong_values.into_iter().enumerate() {
        fs::write(workspace.answer(), changed(column, value)).unwrap();
        assert!(!passes(&request), "column {column}");
    }
    for (column, value) in [(5, "300"), (5, "-1"), (6, "007"), (7, "0"), (8, "0"), (8, "1")] {
        fs::write(workspace.answer(), changed(column, value)).unwrap();
        assert!(!passes(&request), "column {column}: {value}");
    }
    // All thresholds wrong by one: one image in 16 is computed.
    let shifted = |line: &&str| {
        let mut fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
        if let Ok(level) = fields[5].parse::<u64>() {
            fields[5] = (level.max(1) - 1).to_string();
        }
        fields.join("\t") + "\n"
    };
    fs::write(workspace.answer(), lines.iter().map(shifted).collect::<String>()).unwrap();
    assert!(!passes(&request));
}

#[test]
fn lines_beyond_the_images_and_names_beyond_the_limit_are_refused() {
    let workspace = Workspace::new();
    let path = workspace.npy("stack.npy", "|u1", "(3, 8, 9)", &levels(216, 7));
    let request = workspace.request(&[&path], json!({}));
    run_verified(&request);
    let good = fs::read_to_string(workspace.answer()).unwrap();
    let (rows, last) = good.trim_end().rsplit_once('\n').unwrap();
    let doubled = rows.lines().last().unwrap();
    let long = good.replace("stack.npy", &"n".repeat(20_000));
    let bad = [
        format!("{rows}\n{doubled}\n{last}\n"),
        format!("{good}{last}\n"),
        format!("{good}\n"),
        format!("{rows}\n{last}"),
        good.replace('\n', "\r\n"),
        long,
    ];
    for text in bad {
        fs::write(workspace.answer(), &text).unwrap();
        assert!(!passes(&request), "{text}");
    }
    fs::write(workspace.answer(), good).unwrap();
    assert!(passes(&request));
}

#[test]
fn memory_enough_for_the_run_is_enough_for_the_verification() {
    let workspace = Workspace::new();
    let bytes: Vec<u8> = levels(300 * 400 * 2, 3);
    let path = workspace.npy("x.npy", "<u2", "(2, 300, 200)", &bytes);
    let mut request = workspace.request(&[&path], json!({}));
    let mut least = None;
    for memory_bytes in (100..3000).map(|kibibytes| kibibytes << 10) {
        request.budget = Budget::new(memory_bytes).into();
        if cuesta_images::run(&request, &Progress::default()).is_ok() {
            least = Some(memory_bytes);
            break;
        }
    }
    assert!(least.is_some());
    assert!(passes(&request), "{least:?}");
    request.budget = Budget::new(64 << 10).into();
    let message = cuesta_images::verify(&request, &Progress::default()).unwrap_err().message();
    assert!(message.contains("raise --memory"), "{message}");
}

#[test]
fn progress_reaches_the_total_expected_at_the_start() {
    let workspace = Workspace::new();
    let mut request = request(&workspace, json!({}));
    run(&request);
    for level in [VerificationLevel::Full, VerificationLevel::Sample] {
        request.verify = level;
        let progress = Progress::default();
        assert!(cuesta_images::verify(&request, &progress).unwrap().verified);
        let (done, total) = progress.state();
        assert_eq!(done, total, "{level:?}");
    }
}
