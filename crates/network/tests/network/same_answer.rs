//! Equality of the answers for any threads, memory limit, layout and notation of the input.

use cuesta_core::budget::Budget;
use std::fs;
use std::path::Path;

use crate::common::{Workspace, files, gzip, run_and_verify};
use serde_json::json;

const WORKLOADS: [(&str, &str); 6] = [
    ("scan", ""),
    ("degrees", ""),
    ("communities", "components"),
    ("communities", "label-propagation"),
    ("communities", "louvain"),
    ("communities", "leiden"),
];

fn parameters(method: &str, min_abs_score: f64) -> serde_json::Value {
    match method {
        "" => json!({ "min_abs_score": min_abs_score }),
        "leiden" => json!({ "min_abs_score": min_abs_score, "method": method, "weights": "score" }),
        method => json!({ "min_abs_score": min_abs_score, "method": method }),
    }
}

#[test]
fn any_number_of_threads_writes_the_same_files() {
    let workspace = Workspace::new();
    // Large enough for several splits.
    let input = workspace.make("a.txt", |params| {
        params.genes = 300;
        params.samples = 400;
        params.clusters = 1;
    });
    assert!(fs::metadata(&input).unwrap().len() > 2 * cuesta_input::limits::SPLIT_BYTES);
    for (workload, method) in WORKLOADS {
        let mut answers = Vec::new();
        for threads in [1, 2, 5] {
            let mut request = workspace.request(&[&input], parameters(method, 0.5));
            request.threads = threads;
            run_and_verify(workload, &request);
            answers.push(files(&request));
        }
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{workload} {method}");
    }
}

#[test]
fn a_single_file_many_files_gzip_tree_and_crlf_agree() {
    let workspace = Workspace::new();
    let input = workspace.make("a.txt", |_| {});
    let tree = workspace.make("tree", |params| params.tree = true);
    let text = fs::read(&input).unwrap();
    let zipped = workspace.write("a.txt.gz", gzip(&text));
    let crlf = String::from_utf8(text.clone()).unwrap().replace('\n', "\r\n");
    let crlf = workspace.write("crlf.txt", crlf);
    let cut = text.len() / 2 + text[text.len() / 2..].iter().position(|&b| b == b'\n').unwrap() + 1;
    workspace.write("many/1.txt", &text[..cut]);
    workspace.write("many/2.txt", [b"#Restarted\n", &text[cut..], b"#Done"].concat());
    let many = workspace.path("many");
    for (workload, method) in WORKLOADS {
        let digest = |path: &Path| {
            let request = workspace.request(&[path], parameters(method, 0.6));
            run_and_verify(workload, &request).1.digest
        };
        let expected = digest(&input);
        for path in [&tree, &zipped, &crlf, &many] {
            assert_eq!(digest(path), expected, "{workload} {method} {}", path.display());
        }
    }
}

#[test]
fn a_version_3_export_has_the_same_answer() {
    let workspace = Workspace::new();
    let v1 = workspace.make("a.txt", |_| {});
    let mut v3 = String::new();
    for line in fs::read_to_string(&v1).unwrap().lines() {
        let f: Vec<&str> = line.split('\t').collect();
        let number = |index: usize| f[index].parse::<u32>().unwrap() - 1;
        let row = format!("{}\t{}\t{}\t{}\t{}", number(0), number(1), number(2), f[3], f[4]);
        v3.push_str(&format!("{row}\t{}\t{}\n", f[9], f[10]));
    }
    let v3 = workspace.write("v3.txt", v3);
    for (workload, method) in WORKLOADS {
        let digest = |path: &Path| {
            let request = workspace.request(&[path], parameters(method, 0.6));
            run_and_verify(workload, &request).1.digest
        };
        assert_eq!(digest(&v1), digest(&v3), "{workload} {method}");
    }
}

#[test]
fn a_join_is_the_same_in_memory_and_spilled_sorted_and_unsorted() {
    let workspace = Workspace::new();
    let a = workspace.make("a.txt", |params| params.genes = 250);
    let b = workspace.make("b.txt", |params| {
        params.genes = 250;
        params.variant = 1;
    });
    let b_tree = workspace.make("b_tree", |params| {
        params.genes = 250;
        params.variant = 1;
        params.tree = true;
    });
    for how in ["inner", "left", "outer"] {
        let mut answers = Vec::new();
        for (memory_bytes, b) in [(1 << 30, &b), (500_000, &b), (1 << 30, &b_tree)] {
            let mut request =
                workspace.request(&[&a, b], json!({ "min_abs_score": 0.1, "how": how }));
            request.budget = Budget::new(memory_bytes).into();
            let entries = workspace.entries();
            run_and_verify("join", &request);
            assert_eq!(workspace.entries(), entries, "scratch files are left over");
            answers.push(files(&request));
        }
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{how}");
    }
}

#[test]
fn an_empty_answer_is_an_answer() {
    let workspace = Workspace::new();
    let input = workspace.make("a.txt", |_| {});
    for (workload, method) in WORKLOADS {
        let mut none = parameters(method, 0.9);
        none["min_cluster_samples"] = json!(100);
        let request = workspace.request(&[&input], none);
        run_and_verify(workload, &request);
    }
    let request = workspace.request(&[&input, &input], json!({ "min_cluster_samples": 100 }));
    let (response, _) = run_and_verify("join", &request);
    assert_eq!(response.counts["both"], 0);
}

#[test]
fn more_genes_than_the_file_names_are_listed_without_edges() {
    let workspace = Workspace::new();
    let input = workspace.make("a.txt", |_| {});
    for workload in ["degrees", "communities"] {
        let request = workspace.request(&[&input], json!({ "min_abs_score": 0.6, "genes": 150 }));
        let (response, _) = run_and_verify(workload, &request);
        assert_eq!(response.counts["genes"], 150);
    }
}

#[test]
fn a_loaded_pair_matrix_has_the_same_answers_as_its_text() {
    let workspace = Workspace::new();
    let a = workspace.make("a.txt", |_| {});
    let b = workspace.make("b.txt", |params| params.variant = 1);
    let tree = workspace.make("tree", |params| params.tree = true);
    let load = |text: &Path, name: &str| {
        let mut request = workspace.request(&[text], json!({}));
        request.output = workspace.path(name);
        fs::create_dir_all(&request.output).unwrap();
        run_and_verify("load", &request);
        request.output.join("pairs.zarr")
    };
    let (a_loaded, b_loaded) = (load(&a, "loaded-a"), load(&b, "loaded-b"));
    let tree_loaded = load(&tree, "loaded-tree");
    for (workload, method) in WORKLOADS {
        let answer = |path: &Path| {
            let request = workspace.request(&[path], parameters(method, 0.6));
            run_and_verify(workload, &request);
            files(&request)
        };
        let expected = answer(&a);
        assert_eq!(answer(&a_loaded), expected, "{workload} {method}");
        assert_eq!(answer(&tree_loaded), expected, "{workload} {method}");
    }
    for how in ["inner", "left", "outer"] {
        let answer = |a: &Path, b: &Path| {
            let request = workspace.request(&[a, b], json!({ "min_abs_score": 0.2, "how": how }));
            run_and_verify("join", &request);
            files(&request)
        };
        let expected = answer(&a, &b);
        assert_eq!(answer(&a_loaded, &b_loaded), expected, "{how}");
        assert_eq!(answer(&a, &b_loaded), expected, "{how}");
    }
}

#[test]
fn filters_on_samples_and_a_second_score_work_in_all_forms() {
    let workspace = Workspace::new();
    let mut text = String::new();
    for line in fs::read_to_string(workspace.make("one.txt", |_| {})).unwrap().lines() {
        let mut fields: Vec<String> = line.split('\t').map(str::to_owned).collect();
        fields[9] = format!("{},{}", fields[9], &fields[9].replace('-', "")[..8]);
        text.push_str(&(fields.join("\t") + "\n"));
    }
    let path = workspace.write("two.txt", &text);
    let mut request = workspace.request(&[&path], json!({}));
    request.output = workspace.path("loaded");
    fs::create_dir_all(&request.output).unwrap();
    run_and_verify("load", &request);
    let loaded = request.output.join("pairs.zarr");
    for parameters in [
        json!({ "score_index": 1, "min_abs_score": 0.02 }),
        json!({ "min_cluster_samples": 9, "min_abs_score": 0.1 }),
        json!({ "max_missing": 0, "max_abs_score": 0.5 }),
    ] {
        let [a, b] = [&path, &loaded].map(|path| {
            let request = workspace.request(&[path], parameters.clone());
            let (response, _) = run_and_verify("scan", &request);
            assert!(response.counts["rows_kept"] > 10, "{parameters}");
            files(&request)
        });
        assert_eq!(a, b, "{parameters}");
    }
}

/// Mutual information, which KINC version 1 also writes, can exceed 1.
#[test]
fn scores_beyond_1_are_read_and_pass_by_their_size() {
    let workspace = Workspace::new();
    let row = |gene: u32, score: &str| format!("{gene}\t1\t1\t1\t2\t0\t0\t0\t0\t{score}\t11\n");
    let rows = [row(2, "0.900000"), row(3, "1.250000"), row(4, "-1.000001"), row(5, "2000.000000")];
    let input = workspace.write("mi.txt", rows.concat());
    for (most, expected) in [(None, &rows[1..]), (Some(1.25), &rows[1..3])] {
        let parameters = json!({ "min_abs_score": 1.0, "max_abs_score": most });
        let request = workspace.request(&[&input], parameters);
        run_and_verify("scan", &request);
        let pairs = fs::read_to_string(request.output.join("pairs.txt")).unwrap();
        assert_eq!(pairs, expected.concat());
        let mut request = request;
        for workload in ["degrees", "communities"] {
            request.threads = 2;
            run_and_verify(workload, &request);
        }
        let load = workspace.request(&[&input], json!({}));
        run_and_verify("load", &load);
        request.inputs = vec![load.output.join("pairs.zarr")];
        run_and_verify("scan", &request);
        let pairs = fs::read_to_string(request.output.join("pairs.txt")).unwrap();
        assert_eq!(pairs, expected.concat());
    }
}
