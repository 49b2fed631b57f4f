//! No wrong answer made from a right answer passes the verification. `CUESTA_MUTANTS=10000` makes
//! this many mutants for each workload instead of a few hundred.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{Workspace, run_and_verify};
use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::mutation::{RowFormat, mutant};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_input::generate::matrix;
use cuesta_input::matrix::ExpressionMatrix;
use cuesta_input::matrix::sparse::{NonzeroOrder, to_bytes};
use cuesta_network::verify::verify;
use serde_json::json;

/// Default number of mutants of a workload.
const MUTANTS: u64 = 300;

/// Whether lines are only reordered: the digest, and the documents of some workloads, allow any
/// order.
fn is_reordered(before: &[u8], after: &[u8]) -> bool {
    let sorted = |text: &[u8]| {
        let mut lines: Vec<Vec<u8>> =
            text.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        lines.sort();
        lines
    };
    sorted(before) == sorted(after)
}

/// Mutates each file of an answer in turn; `reorders` states that rows may be in any order in
/// `pairs.txt`.
fn check(workload: &str, request: &Request, reorders: bool) {
    run_and_verify(workload, request);
    let files = all_files(&request.output);
    let wanted = std::env::var("CUESTA_MUTANTS").ok();
    let wanted = wanted.map_or(MUTANTS, |count| count.parse().unwrap());
    let each = wanted.div_ceil(files.len() as u64);
    let (mut made, mut equal) = (0, 0);
    for (name, right) in &files {
        let in_matrix = name.contains(".zarr/");
        let rows = if in_matrix { RowFormat::Fixed(16) } else { RowFormat::Lines };
        // Some numbers yield no mutant; the files of a workload get the same number of mutants.
        let mutants = (0..).filter_map(|index| mutant(right, rows, 5, index)).take(each as usize);
        let path = request.output.join(name);
        for (change, wrong) in mutants {
            fs::write(&path, &wrong).unwrap();
            made += 1;
            let verdict = verify(workload, request, &Progress::default());
            if verdict.is_ok_and(|verdict| verdict.verified) {
                assert!(
                    reorders && name == "pairs.txt" && is_reordered(right, &wrong),
                    "{workload} {}: {name}: {change}",
                    request.parameters
                );
                equal += 1;
            }
        }
        fs::write(&path, right).unwrap();
    }
    assert!(verify(workload, request, &Progress::default()).unwrap().verified);
    println!(
        "{workload} {}: {made} mutants of {} files refused but {equal}, which are the same rows in \
         another order",
        request.parameters,
        files.len()
    );
}

fn all_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            files.insert(name, fs::read(&path).unwrap());
        }
    }
    files
}

/// Runs [`check`] on an answer with names and, if the workload makes one, the network.
fn check_named(workload: &str, request: &mut Request, workspace: &Workspace, reorders: bool) {
    request.names = Some(workspace.names(60));
    if matches!(workload, "scan" | "communities") {
        request.parameters["graph"] = json!("graphml");
    }
    check(workload, request, reorders);
}

fn request(workspace: &Workspace, inputs: &[&Path], parameters: serde_json::Value) -> Request {
    let mut request = workspace.request(inputs, parameters);
    request.threads = 1;
    request.budget = Budget::new(32 << 20).into();
    request
}

fn network(workspace: &Workspace, name: &str, variant: u64) -> std::path::PathBuf {
    workspace.make(name, |params| {
        params.genes = 12;
        params.samples = 9;
        params.clusters = 2;
        params.variant = variant;
    })
}

/// Returns requests for communities by each method, and by each quality of Leiden.
fn communities(workspace: &Workspace) -> [Request; 5] {
    let input = workspace.make("a.txt", |params| {
        params.genes = 40;
        params.samples = 5;
    });
    [
        json!({ "method": "components" }),
        json!({ "method": "label-propagation" }),
        json!({ "method": "louvain" }),
        json!({ "method": "leiden", "weights": "score" }),
        json!({ "method": "leiden", "quality": "cpm", "resolution": 0.3 }),
    ]
    .map(|mut parameters| {
        parameters["min_abs_score"] = json!(0.5);
        parameters["genes"] = json!(45);
        request(workspace, &[&input], parameters)
    })
}

#[test]
fn no_wrong_scan_passes() {
    let workspace = Workspace::new();
    let input = network(&workspace, "a.txt", 0);
    check("scan", &request(&workspace, &[&input], json!({ "min_abs_score": 0.1 })), true);
}

#[test]
fn no_wrong_join_passes() {
    let workspace = Workspace::new();
    let (a, b) = (network(&workspace, "a.txt", 0), network(&workspace, "b.txt", 1));
    for how in ["inner", "left", "outer"] {
        let parameters = json!({ "min_abs_score": 0.05, "how": how });
        check("join", &request(&workspace, &[&a, &b], parameters), false);
    }
    let parameters = json!({ "test": true, "max_q": 0.8 });
    check("join", &request(&workspace, &[&a, &b], parameters), false);
}

#[test]
fn no_wrong_degrees_pass() {
    let workspace = Workspace::new();
    let input = network(&workspace, "a.txt", 0);
    let parameters = json!({ "min_abs_score": 0.1, "genes": 14 });
    check("degrees", &request(&workspace, &[&input], parameters), false);
}

#[test]
fn no_wrong_communities_pass() {
    let workspace = Workspace::new();
    for request in communities(&workspace) {
        check("communities", &request, false);
    }
}

#[test]
fn no_wrong_pair_matrix_passes() {
    let workspace = Workspace::new();
    let input = network(&workspace, "a.txt", 0);
    check("load", &request(&workspace, &[&input], json!({})), false);
}

#[test]
fn no_wrong_correlations_pass() {
    let workspace = Workspace::new();
    let path = workspace.path("gem.txt");
    let params = matrix::Params {
        output: path.clone(),
        genes: 9,
        samples: 12,
        modules: 2,
        missing: 0.1,
        seed: 3,
        threads: 1,
    };
    matrix::write(&params, &Progress::default()).unwrap();
    for (format, reorders) in [("text", true), ("pairs", false)] {
        let parameters = json!({ "format": format, "min_abs_score": 0.2, "min_samples": 3 });
        check("correlate", &request(&workspace, &[&path], parameters), reorders);
    }
    let parameters = json!({ "p_values": true, "min_abs_score": 0.2, "min_samples": 3 });
    check("correlate", &request(&workspace, &[&path], parameters), true);
}

#[test]
fn no_wrong_correlations_of_a_sparse_matrix_pass() {
    let workspace = Workspace::new();
    let stream = Stream::new(6, 0);
    let value = |index: u64| stream.below(index, 6).saturating_sub(3) as f64;
    let matrix = ExpressionMatrix {
        genes: (0..9).map(|gene| format!("g{gene}")).collect(),
        samples: (0..40).map(|cell| format!("c{cell}")).collect(),
        values: (0..9 * 40).map(value).collect(),
        left_out: 0,
    };
    let path = workspace.write("m.sparse", to_bytes(&matrix, NonzeroOrder::Samples));
    for (method, format, reorders) in
        [("spearman", "text", true), ("spearman", "pairs", false), ("pearson", "text", true)]
    {
        let parameters = json!({ "method": method, "format": format, "min_abs_score": 0.05 });
        check("correlate", &request(&workspace, &[&path], parameters), reorders);
    }
    let parameters = json!({ "method": "spearman", "p_values": true, "min_abs_score": 0.1 });
    check("correlate", &request(&workspace, &[&path], parameters), true);
}

#[test]
fn no_wrong_names_and_no_wrong_network_of_a_scan_pass() {
    let workspace = Workspace::new();
    let input = network(&workspace, "a.txt", 0);
    let mut request = request(&workspace, &[&input], json!({ "min_abs_score": 0.1 }));
    check_named("scan", &mut request, &workspace, false);
    assert_eq!(all_files(&request.output).len(), 4);
}

#[test]
fn no_wrong_names_of_a_join_of_degrees_and_of_a_pair_matrix_pass() {
    let workspace = Workspace::new();
    let (a, b) = (network(&workspace, "a.txt", 0), network(&workspace, "b.txt", 1));
    for how in ["inner", "outer"] {
        let parameters = json!({ "min_abs_score": 0.05, "how": how });
        check_named("join", &mut request(&workspace, &[&a, &b], parameters), &workspace, false);
    }
    let parameters = json!({ "test": true, "method": "spearman", "max_q": 0.8 });
    check_named("join", &mut request(&workspace, &[&a, &b], parameters), &workspace, false);
    let parameters = json!({ "min_abs_score": 0.1, "genes": 14 });
    check_named("degrees", &mut request(&workspace, &[&a], parameters), &workspace, false);
    let mut load = request(&workspace, &[&a], json!({}));
    load.budget = Budget::new(2 * load.budget.limit_bytes()).into();
    check_named("load", &mut load, &workspace, false);
}

#[test]
fn no_wrong_names_and_no_wrong_network_of_communities_pass() {
    let workspace = Workspace::new();
    for mut request in communities(&workspace) {
        check_named("communities", &mut request, &workspace, false);
    }
}
