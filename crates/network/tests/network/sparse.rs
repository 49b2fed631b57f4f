//! `correlate` on a sparse matrix writes the answer of the same matrix with its zeros.

use std::fs;
use std::path::PathBuf;

use crate::common::{Workspace, files, run_and_verify, run_only};
use cuesta_core::budget::Budget;
use cuesta_core::job::VerificationLevel;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_input::matrix::ExpressionMatrix;
use cuesta_input::matrix::sparse::{NonzeroOrder, to_bytes};
use cuesta_network::rounds::{lead, work};
use cuesta_network::verify::verify;
use cuesta_runtime::rounds::{RandomEngine, Resources};
use serde_json::{Value, json};

/// Counts of genes in cells: expressed rarely, in nearly all cells, in all, or in none.
fn counts(genes: usize, cells: usize) -> ExpressionMatrix {
    let stream = Stream::new(12, 0);
    let depth: Vec<f64> = (0..cells).map(|cell| stream.uniform(cell as u64) + 0.5).collect();
    let value = |index: usize| {
        let (gene, cell) = (index / cells, index % cells);
        let share = [0.05, 0.2, 0.6, 3.0, 0.01, 0.0][gene % 6] * depth[cell];
        let draw = stream.uniform((cells + index) as u64);
        (share / (draw + 1e-3) * if gene % 4 == 1 { 0.7 } else { 1.0 }).floor()
    };
    ExpressionMatrix {
        genes: (0..genes).map(|gene| format!("gene {gene}")).collect(),
        samples: (0..cells).map(|cell| format!("cell {cell}")).collect(),
        values: (0..genes * cells).map(value).collect(),
        left_out: 0,
    }
}

/// Writes a matrix as text, and as a sparse matrix in both orders.
fn write(workspace: &Workspace, matrix: &ExpressionMatrix) -> [PathBuf; 3] {
    let mut text = format!("gene\t{}\n", matrix.samples.join("\t"));
    for (gene, name) in matrix.genes.iter().enumerate() {
        let values: Vec<String> = matrix.row(gene).iter().map(|value| format!("{value}")).collect();
        text += &format!("{name}\t{}\n", values.join("\t"));
    }
    [
        workspace.write("m.txt", text),
        workspace.write("genes.sparse", to_bytes(matrix, NonzeroOrder::Genes)),
        workspace.write("cells.sparse", to_bytes(matrix, NonzeroOrder::Samples)),
    ]
}

#[test]
fn the_answer_is_that_of_the_matrix_with_its_zeros_for_all_options() {
    let workspace = Workspace::new();
    let inputs = write(&workspace, &counts(80, 150));
    let options = [
        json!({}),
        json!({ "min_abs_score": 0.2, "format": "pairs" }),
        json!({ "log2": true, "min_mean": 0.1, "top_variable": 50, "min_abs_score": 0.1 }),
        json!({ "top": 100, "p_values": true }),
        json!({ "top": 100, "format": "pairs" }),
        json!({ "min_samples": 151 }),
    ];
    for method in ["pearson", "spearman", "bicor"] {
        for options in &options {
            let mut parameters = options.clone();
            parameters["method"] = json!(method);
            let answers = [0, 1, 2].map(|input: usize| {
                let mut request = workspace.request(&[&inputs[input]], parameters.clone());
                request.threads = 1 + input;
                let (response, verdict) = run_and_verify("correlate", &request);
                (files(&request), response.counts, verdict.digest, verdict.counts)
            });
            assert!(answers[0] == answers[1] && answers[1] == answers[2], "{parameters}");
        }
    }
}

#[test]
fn any_tasks_and_memory_give_the_native_answer() {
    let workspace = Workspace::new();
    let inputs = write(&workspace, &counts(90, 60));
    for (format, top) in [("text", Value::Null), ("pairs", Value::Null), ("text", json!(70))] {
        let parameters = json!({ "method": "spearman", "format": format, "top": top,
            "min_abs_score": 0.1 });
        let mut request = workspace.request(&[&inputs[2]], parameters);
        run_and_verify("correlate", &request);
        let native = files(&request);
        for tasks in [1, 3, 7usize] {
            request.budget = Budget::new(16 << 20).into();
            fs::remove_dir_all(&request.output).unwrap();
            fs::create_dir_all(&request.output).unwrap();
            let resources = Resources {
                slots: 2,
                nodes: 1,
                memory_bytes: 16 << 20,
                tasks: Some(tasks),
                task_bytes: None,
                keeps: false,
                text: false,
                slow_to_begin: false,
            };
            let worker = || work("correlate", &request, resources);
            let engine = RandomEngine { worker: &worker, chance: Stream::new(tasks as u64, 0) };
            let mut leader = lead("correlate", &request, resources).unwrap();
            engine.run(leader.as_mut(), &Progress::default()).unwrap();
            assert!(files(&request) == native, "{format} {tasks}");
        }
    }
}

#[test]
fn a_sample_is_verified_and_a_wrong_score_is_detected() {
    let workspace = Workspace::new();
    let inputs = write(&workspace, &counts(80, 50));
    let mut request = workspace.request(&[&inputs[1]], json!({ "min_abs_score": 0.1 }));
    request.verify = VerificationLevel::Sample;
    run_and_verify("correlate", &request);
    request.verify = VerificationLevel::Full;
    let answer = request.output.join("pairs.txt");
    let text = fs::read_to_string(&answer).unwrap();
    for line in [0, 17, 40] {
        let line = text.lines().nth(line).unwrap();
        let score = line.split('\t').nth(9).unwrap();
        let near = format!("{:.6}", score.parse::<f64>().unwrap() + 1e-6);
        fs::write(&answer, text.replacen(line, &line.replacen(score, &near, 1), 1)).unwrap();
        assert!(!verify("correlate", &request, &Progress::default()).unwrap().verified);
    }
}

#[test]
fn a_damaged_matrix_never_yields_an_answer() {
    let workspace = Workspace::new();
    let right = to_bytes(&counts(20, 30), NonzeroOrder::Samples);
    for length in [7, 60, right.len() / 2, right.len() - 1] {
        let path = workspace.write("cut.sparse", &right[..length]);
        let request = workspace.request(&[&path], json!({}));
        assert!(run_only("correlate", &request).is_err(), "{length}");
    }
    let mut changed = right.clone();
    changed[right.len() - 40] ^= 1;
    let path = workspace.write("changed.sparse", changed);
    let error = run_only("correlate", &workspace.request(&[&path], json!({}))).unwrap_err();
    assert!(error.message().contains("make it again from its source"), "{error}");
    let path = workspace.write("right.sparse", right);
    let mut request = workspace.request(&[&path], json!({}));
    request.budget = Budget::new(2000).into();
    let error = run_only("correlate", &request).unwrap_err();
    assert!(error.message().contains("--memory"), "{error}");
}
