//! No wrong answer made from a right answer passes the verification. `CUESTA_MUTANTS` sets the
//! number of mutants; the default suits a daily run.

use std::fs;
use std::path::Path;

use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, VerificationLevel};
use cuesta_core::mutation::{RowFormat, mutant};
use cuesta_core::progress::Progress;
use cuesta_dataflow::{run, table, verify};
use cuesta_input::npy;
use serde_json::{Value, json};

const DEFAULT: u64 = 400;

fn passes(request: &Request) -> bool {
    verify(request, &Progress::default()).is_ok_and(|verdict| verdict.verified)
}

/// Returns a request whose answer is in `folder`.
fn answered(folder: &Path, parameters: Value, values: &[f64]) -> Request {
    fs::create_dir(folder).unwrap();
    let mut request = Request {
        inputs: Vec::new(),
        parameters,
        output: folder.to_owned(),
        seed: 3,
        threads: 1,
        budget: Budget::new(1 << 30).into(),
        scratch: folder.to_owned(),
        verify: VerificationLevel::Full,
        names: None,
    };
    if !values.is_empty() {
        let mut bytes = npy::header("<f8", &format!("({}, 3)", values.len() / 3));
        values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        let path = folder.with_extension("npy");
        fs::write(&path, bytes).unwrap();
        request.inputs.push(path);
    }
    run(&request, &Progress::default()).unwrap();
    request
}

#[test]
fn no_mutant_of_an_answer_passes() {
    let mutant_count = std::env::var("CUESTA_MUTANTS").ok().and_then(|text| text.parse().ok());
    let wanted: u64 = mutant_count.unwrap_or(DEFAULT);
    let folder = tempfile::tempdir().unwrap();
    let small = [0.25, -0.25, 0.0, 1e-5, -1e-5, 0.0, -3.0, 7.5, 0.0, 0.1, 0.2, 0.0];
    let cases = [
        ("drawn", json!({ "blocks": 12, "block_vectors": 40 }), &[][..]),
        ("files", json!({ "block_vectors": 2, "shift": "0,0,0" }), &small),
        // One block: its line and the line of all blocks have the same sums.
        ("one", json!({ "blocks": 1, "block_vectors": 1 }), &[]),
    ];
    let (mut made, mut index) = (0, 0);
    for (case, (name, parameters, values)) in cases.into_iter().enumerate() {
        let request = answered(&folder.path().join(name), parameters, values);
        let path = request.output.join(table::AVERAGES_FILE);
        let right = fs::read(&path).unwrap();
        assert!(passes(&request));
        while made < wanted * (case as u64 + 1) / 3 {
            index += 1;
            let Some((change, wrong)) = mutant(&right, RowFormat::Lines, 7, index) else {
                continue;
            };
            fs::write(&path, wrong).unwrap();
            assert!(!passes(&request), "{name}, mutant {index}: {change}");
            made += 1;
        }
    }
    println!("dataflow: {made} mutants, none passed");
}
