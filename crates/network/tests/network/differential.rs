//! Tested differences of a join: their numbers, their order, refusals, and the same bytes for any
//! threads and form of the inputs.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Workspace, files, run_and_verify, run_only};
use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_core::statistics::{normal_p_value, q_values, student_p_value};
use cuesta_network::reference::PlainRow;
use cuesta_network::run::annotate;
use cuesta_network::verify::verify;
use serde_json::json;

/// Row of KINC text.
fn line(pair: [u32; 2], samples: u32, score: &str) -> String {
    let [gene1, gene2] = pair;
    format!("{gene1}\t{gene2}\t1\t1\t{samples}\t0\t0\t0\t0\t{score}\t1\n")
}

fn table(request: &Request) -> Vec<Vec<String>> {
    let text = fs::read_to_string(request.output.join("differences.tsv")).unwrap();
    let rows = text.lines().map(|line| line.split('\t').map(str::to_owned).collect());
    rows.skip(1).collect()
}

fn groups(workspace: &Workspace) -> [PathBuf; 2] {
    [0, 1].map(|variant| {
        workspace.make(["a.txt", "b.txt"][variant], |params| {
            params.genes = 40;
            params.variant = variant as u64;
        })
    })
}

/// Rows of a file by gene 1, gene 2 and cluster.
fn plain(path: &Path) -> BTreeMap<[u32; 3], PlainRow> {
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().map(|line| PlainRow::read(line).unwrap().unwrap());
    rows.map(|row| ([row.numbers[0], row.numbers[1], row.numbers[2]], row)).collect()
}

#[test]
fn the_table_is_that_of_the_formulas() {
    let workspace = Workspace::new();
    let [a, b] = groups(&workspace);
    let parameters = json!({ "test": true, "method": "spearman", "max_q": 0.5 });
    let request = workspace.request(&[&a, &b], parameters);
    run_and_verify("join", &request);
    let (a, b) = (plain(&a), plain(&b));
    let mut expected = Vec::new();
    for (key, row) in &a {
        let Some(other) = b.get(key) else { continue };
        let sides = [row, other].map(|row| (f64::from(row.scores[0]) / 1e6, row.numbers[4]));
        if sides.iter().any(|&(r, n)| r.abs() >= 1.0 || n < 4) {
            continue;
        }
        let variance: f64 = sides.iter().map(|&(_, n)| 1.06 / f64::from(n - 3)).sum();
        let z = (sides[1].0.atanh() - sides[0].0.atanh()) / variance.sqrt();
        expected.push((*key, sides, z));
    }
    // By |z| in millionths, as it is written.
    let size = |z: f64| (z.abs() * 1e6).round();
    expected.sort_by(|x, y| size(y.2).total_cmp(&size(x.2)).then(x.0.cmp(&y.0)));
    let q = q_values(&expected.iter().map(|row| normal_p_value(row.2)).collect::<Vec<_>>());
    let rows = table(&request);
    assert!(rows.len() > 100 && rows.len() == expected.len());
    for ((row, (key, sides, z)), q) in rows.iter().zip(expected).zip(q) {
        let number = |column: usize| row[column].parse::<f64>().unwrap();
        assert_eq!([0, 1, 2].map(|column| row[column].parse::<u32>().unwrap()), key);
        for (column, (r, n)) in [3, 6].into_iter().zip(sides) {
            let p = student_p_value(r, n as usize);
            assert_eq!((number(column), number(column + 2)), (r, f64::from(n)));
            assert!((number(column + 1) - p).abs() <= 1e-5 * p, "{row:?}");
        }
        assert!((number(9) - z).abs() < 1e-6 && (number(11) - q).abs() <= 1e-4 * q, "{row:?}");
        assert_eq!(row[12] == "none", number(11) > 0.5, "{row:?}");
    }
}

#[test]
fn pairs_that_cannot_be_tested_are_left_out_and_counted() {
    let workspace = Workspace::new();
    let a = [
        line([3, 1], 30, "0.900000"),
        line([3, 2], 30, "1.000000"),
        line([4, 1], 3, "0.500000"),
        line([4, 2], 30, "0.500000"),
        line([5, 1], 30, "0.100000"),
    ];
    let b = [
        line([3, 1], 50, "-0.900000"),
        line([3, 2], 50, "0.100000"),
        line([4, 1], 50, "0.100000"),
        line([4, 2], 2, "0.100000"),
        line([4, 3], 50, "0.100000"),
        line([5, 1], 50, "0.100000"),
    ];
    let (a, b) = (workspace.write("a.txt", a.concat()), workspace.write("b.txt", b.concat()));
    let request = workspace.request(&[&a, &b], json!({ "test": true, "how": "outer" }));
    run_only("join", &request).unwrap();
    let response = annotate("join", &request, &Progress::default()).unwrap();
    let counts = ["pairs_tested", "pairs_not_tested", "pairs_different"];
    assert_eq!(counts.map(|name| response.counts[name]), [2, 3, 1]);
    let verdict = verify("join", &request, &Progress::default()).unwrap();
    assert!(verdict.verified, "{verdict:?}");
    assert_eq!(verdict.files, ["pairs.tsv", "differences.tsv"]);
    let rows = table(&request);
    assert_eq!(rows[0][12], "+/-");
    assert_eq!(
        rows[1].join(" ").split_once(" 50 "),
        Some(("5 1 1 0.100000 0.599048 30 0.100000 0.489593", "0.000000 1.00000 1.00000 none"))
    );
}

#[test]
fn a_join_without_common_pairs_has_an_empty_table() {
    let workspace = Workspace::new();
    let a = workspace.write("a.txt", line([3, 1], 30, "0.900000"));
    let b = workspace.write("b.txt", line([3, 2], 30, "0.900000"));
    let request = workspace.request(&[&a, &b], json!({ "test": true }));
    run_and_verify("join", &request);
    assert!(table(&request).is_empty());
}

#[test]
fn the_table_is_the_same_for_any_threads_form_and_join() {
    let workspace = Workspace::new();
    let [a, b] = groups(&workspace);
    let matrices = [&a, &b].map(|input| {
        let request = workspace.request(&[input], json!({}));
        run_and_verify("load", &request);
        let matrix = input.with_extension("zarr");
        fs::rename(request.output.join("pairs.zarr"), &matrix).unwrap();
        matrix
    });
    let mut answers = Vec::new();
    for (inputs, threads, how) in [
        ([&a, &b], 1, "inner"),
        ([&a, &b], 3, "outer"),
        ([&matrices[0], &b], 2, "left"),
        ([&matrices[0], &matrices[1]], 2, "inner"),
    ] {
        let parameters = json!({ "test": true, "how": how });
        let mut request = workspace.request(&[inputs[0], inputs[1]], parameters);
        request.threads = threads;
        run_and_verify("join", &request);
        answers.push(table(&request));
    }
    assert!(answers[0].len() > 100 && answers.iter().all(|rows| *rows == answers[0]));
}

#[test]
fn names_are_the_last_columns_and_no_part_of_the_digest() {
    let workspace = Workspace::new();
    let [a, b] = groups(&workspace);
    let mut request = workspace.request(&[&a, &b], json!({ "test": true }));
    let plain = run_and_verify("join", &request).1;
    request.names = Some(workspace.names(40));
    let named = run_and_verify("join", &request).1;
    assert_eq!(named.digest, plain.digest);
    let text = fs::read_to_string(request.output.join("differences.tsv")).unwrap();
    assert!(text.starts_with("gene1\t") && text.contains("\tclass\tname1\tname2\n"));
    request.names = None;
    request.parameters = json!({});
    let verdict = run_and_verify("join", &request).1;
    assert!(verdict.digest != plain.digest && verdict.files == ["pairs.tsv"]);
}

#[test]
fn a_test_beyond_the_memory_is_refused_by_its_name() {
    let workspace = Workspace::new();
    let [a, b] = groups(&workspace);
    let mut request = workspace.request(&[&a, &b], json!({ "test": true }));
    run_only("join", &request).unwrap();
    request.budget = Budget::new(10_000).into();
    let error = annotate("join", &request, &Progress::default()).unwrap_err().message();
    assert!(error.contains("the test of the matched pairs needs"), "{error}");
    assert!(error.ends_with("raise --memory"), "{error}");
    assert!(files(&request).iter().all(|(name, _)| name == "pairs.tsv"));
}

#[test]
fn a_table_of_other_numbers_is_wrong_with_the_reason() {
    let workspace = Workspace::new();
    let [a, b] = groups(&workspace);
    let request = workspace.request(&[&a, &b], json!({ "test": true, "max_q": 0.9 }));
    run_and_verify("join", &request);
    let path = request.output.join("differences.tsv");
    let right = fs::read_to_string(&path).unwrap();
    let fault = |text: &str| {
        fs::write(&path, text).unwrap();
        let verdict = verify("join", &request, &Progress::default()).unwrap();
        assert!(!verdict.verified);
        verdict.remark.unwrap()
    };
    let lines: Vec<&str> = right.split_inclusive('\n').collect();
    let without_last = lines[..lines.len() - 1].concat();
    assert!(fault(&without_last).contains("has another q-value"), "{}", fault(&without_last));
    let swapped = [&lines[..1], &[lines[2], lines[1]], &lines[3..]].concat().concat();
    assert!(fault(&swapped).contains("descending order") || fault(&swapped).contains("q-value"));
    let doubled = [&lines[..2], &lines[1..]].concat().concat();
    assert!(!fault(&doubled).is_empty());
    let fields: Vec<&str> = lines[1].trim_end().split('\t').collect();
    for (column, message) in [
        (3, "has another"),
        (4, "p-value"),
        (5, "has another"),
        (9, "has another z"),
        (10, "p-value"),
        (11, "q-value"),
        (12, "class"),
    ] {
        let mut changed: Vec<String> = fields.iter().map(|field| field.to_string()).collect();
        let last = changed[column].pop().unwrap();
        changed[column].push(if last == '3' { '4' } else { '3' });
        let row = changed.join("\t") + "\n";
        let text = lines[0].to_owned() + &row + &lines[2..].concat();
        let remark = fault(&text);
        assert!(remark.contains(message), "{column}: {remark}");
    }
    fs::write(&path, &right).unwrap();
    assert!(verify("join", &request, &Progress::default()).unwrap().verified);
    fs::remove_file(&path).unwrap();
    let verdict = verify("join", &request, &Progress::default()).unwrap();
    assert!(verdict.remark.unwrap().contains("differences.tsv is missing"));
}

#[test]
fn a_test_of_an_answer_of_another_kind_is_refused() {
    let workspace = Workspace::new();
    let [a, b] = groups(&workspace);
    let request = workspace.request(&[&a, &b], json!({ "test": true }));
    for (text, fault) in [
        ("gene\tin\n", "has another header; run the workload again"),
        ("gene1\tgene2\tcluster\tside\tscore_a\tscore_b\tdifference\nx\t1\n", "has the line x"),
    ] {
        fs::write(request.output.join("pairs.tsv"), text).unwrap();
        let error = annotate("join", &request, &Progress::default()).unwrap_err().message();
        assert!(error.contains(fault), "{error}");
    }
}
