//! Names and networks added to an answer: their content, refusals, and unchanged digests.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Workspace, files, run_and_verify, run_only};
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_input::GeneNames;
use cuesta_network::run::annotate;
use cuesta_network::verify::verify;
use serde_json::json;

const ROWS: &str = "3\t1\t1\t2\t2\t0\t0\t0\t0\t0.900000\t10\n\
                    3\t1\t2\t2\t2\t0\t0\t0\t0\t-1.250000\t01\n\
                    5\t2\t1\t1\t2\t0\t0\t0\t0\t0.810000\t11\n\
                    5\t4\t1\t1\t2\t0\t0\t0\t0\t0.100000\t11\n";

fn small(workspace: &Workspace) -> (PathBuf, PathBuf) {
    (workspace.write("a.txt", ROWS), workspace.write("list.txt", "A\nB<&>\nC\nD\n\u{3b5} 5\n"))
}

fn text(request: &Request, name: &str) -> String {
    fs::read_to_string(request.output.join(name)).unwrap()
}

fn annotated(request: &Request, workload: &str) -> cuesta_core::Result<()> {
    run_only(workload, request).unwrap();
    annotate(workload, request, &Progress::default()).map(|_| ())
}

#[test]
fn a_scan_with_names_has_a_table_of_names_and_a_table_of_edges() {
    let workspace = Workspace::new();
    let (input, list) = small(&workspace);
    let mut request = workspace.request(&[&input], json!({ "min_abs_score": 0.8 }));
    let plain = run_and_verify("scan", &request).1;
    assert_eq!(plain.files, ["pairs.txt"]);
    request.names = Some(list);
    let named = run_and_verify("scan", &request).1;
    assert_eq!(named.digest, plain.digest);
    assert_eq!(named.files, ["pairs.txt", "genes.tsv", "edges.tsv"]);
    assert_eq!(
        text(&request, "genes.tsv"),
        "gene\tname\n1\tA\n2\tB<&>\n3\tC\n4\tD\n5\t\u{3b5} 5\n"
    );
    assert_eq!(
        text(&request, "edges.tsv"),
        "gene1\tgene2\tname1\tname2\tcluster\tscore\n\
         3\t1\tC\tA\t1\t0.900000\n3\t1\tC\tA\t2\t-1.250000\n\
         5\t2\t\u{3b5} 5\tB<&>\t1\t0.810000\n"
    );
}

#[test]
fn the_network_of_a_scan_has_the_genes_with_an_edge_and_parallel_edges() {
    let workspace = Workspace::new();
    let (input, list) = small(&workspace);
    let parameters = json!({ "min_abs_score": 0.8, "graph": "graphml" });
    let mut request = workspace.request(&[&input], parameters);
    request.names = Some(list);
    run_and_verify("scan", &request);
    let graph = text(&request, "network.graphml");
    let body = graph.split("edgedefault=\"undirected\">\n").nth(1).unwrap();
    let node = |gene, name| {
        let name = format!("<data key=\"name\">{name}</data>");
        format!("    <node id=\"n{gene}\"><data key=\"gene\">{gene}</data>{name}</node>\n")
    };
    let edge = |number, genes: [u32; 2], score, cluster| {
        let ends = format!("source=\"n{}\" target=\"n{}\"", genes[0], genes[1]);
        let data =
            format!("<data key=\"score\">{score}</data><data key=\"cluster\">{cluster}</data>");
        format!("    <edge id=\"e{number}\" {ends}>{data}</edge>\n")
    };
    let expected = [
        node(1, "A"),
        node(2, "B&lt;&amp;&gt;"),
        node(3, "C"),
        node(5, "\u{3b5} 5"),
        edge(1, [3, 1], "0.900000", 1),
        edge(2, [3, 1], "-1.250000", 2),
        edge(3, [5, 2], "0.810000", 1),
        "  </graph>\n</graphml>\n".to_owned(),
    ];
    assert_eq!(body, expected.concat());
}

/// Checks a network in SIF of two workloads, and that it does not verify with another line.
fn check_sif(request: &Request, expected: &str) {
    for workload in ["scan", "communities"] {
        let (_, verdict) = run_and_verify(workload, request);
        assert!(verdict.files.contains(&"network.sif"), "{:?}", verdict.files);
        assert_eq!(text(request, "network.sif"), expected);
        for changed in [
            expected.replacen("coexp", "pp", 1),
            expected.replacen('3', "4", 1),
            expected.trim_end().to_owned(),
            expected.lines().next().unwrap().to_owned() + "\n" + expected,
            String::new(),
        ] {
            fs::write(request.output.join("network.sif"), &changed).unwrap();
            let verdict = verify(workload, request, &Progress::default()).unwrap();
            assert!(!verdict.verified, "{workload}: {changed}");
        }
    }
}

#[test]
fn a_network_in_sif_has_a_line_for_each_edge() {
    let workspace = Workspace::new();
    let (input, _) = small(&workspace);
    let mut request = workspace.request(&[&input], json!({ "min_abs_score": 0.8, "graph": "sif" }));
    check_sif(&request, "3\tcoexp\t1\n3\tcoexp\t1\n5\tcoexp\t2\n");
    request.names = Some(workspace.write("names.txt", "A\nB<&>\nTP53 3\nD\n\u{3b5} 5\n"));
    let lines = "TP53 3\tcoexp\tA\nTP53 3\tcoexp\tA\n\u{3b5} 5\tcoexp\tB<&>\n";
    check_sif(&request, lines);
}

/// SIF has no numbers of genes: two genes of the same name would be the same node, and an edge
/// between them a loop. So their numbers follow their name, and no other name can look the same.
#[test]
fn genes_of_the_same_name_are_different_nodes_of_a_network_in_sif() {
    let workspace = Workspace::new();
    let (input, _) = small(&workspace);
    let parameters = json!({ "min_abs_score": 0.8, "graph": "sif" });
    let mut request = workspace.request(&[&input], parameters);
    request.names = Some(workspace.write("names.txt", "A\nA (gene 3)\nA\nD\nB (gene)\n"));
    check_sif(
        &request,
        "A (gene 3)\tcoexp\tA (gene 1)\nA (gene 3)\tcoexp\tA (gene 1)\n\
         B (gene)\tcoexp\tA (gene 3) (gene 2)\n",
    );
    let few = json!({ "min_abs_score": 0.8, "min_cluster_samples": 99, "graph": "sif" });
    request.parameters = few;
    let (response, _) = run_and_verify("scan", &request);
    assert_eq!(text(&request, "network.sif"), "");
    assert_eq!(response.counts["rows_kept"], 0);
}

#[test]
fn a_network_of_communities_has_the_community_of_each_gene() {
    let workspace = Workspace::new();
    let (input, list) = small(&workspace);
    let parameters = json!({ "min_abs_score": 0.8, "graph": "graphml", "genes": 5 });
    let mut request = workspace.request(&[&input], parameters);
    run_and_verify("communities", &request);
    let graph = text(&request, "network.graphml");
    assert!(!graph.contains("key id=\"name\""), "{graph}");
    let node = "<node id=\"n5\"><data key=\"gene\">5</data><data key=\"community\">2</data></node>";
    assert!(graph.contains(node), "{graph}");
    request.names = Some(list);
    run_and_verify("communities", &request);
    assert_eq!(
        text(&request, "communities.tsv"),
        "gene\tcommunity\tname\n1\t1\tA\n2\t2\tB<&>\n3\t1\tC\n4\t4\tD\n5\t2\t\u{3b5} 5\n"
    );
    let graph = text(&request, "network.graphml");
    assert!(
        graph.contains("</data><data key=\"name\">C</data><data key=\"community\">1<"),
        "{graph}"
    );
}

#[test]
fn tables_of_degrees_and_joins_end_in_names() {
    let workspace = Workspace::new();
    let (input, list) = small(&workspace);
    let mut request = workspace.request(&[&input], json!({ "min_abs_score": 0.8 }));
    request.names = Some(list.clone());
    run_and_verify("degrees", &request);
    let degrees = text(&request, "degrees.tsv");
    assert!(degrees.starts_with("gene\tin\tout\ttotal\tname\n1\t2\t0\t2\tA\n"), "{degrees}");
    let other = workspace.write("b.txt", ROWS.lines().next().unwrap().to_owned() + "\n");
    let mut request = workspace.request(&[&input, &other], json!({ "how": "left" }));
    request.names = Some(list);
    run_and_verify("join", &request);
    let pairs = text(&request, "pairs.tsv");
    assert!(pairs.contains("\tdifference\tname1\tname2\n"), "{pairs}");
    assert!(pairs.contains("\n5\t2\t1\tleft\t0.810000\t\t\t\u{3b5} 5\tB<&>\n"), "{pairs}");
}

#[test]
fn an_answer_without_rows_has_tables_and_a_network_without_rows() {
    let workspace = Workspace::new();
    let (input, list) = small(&workspace);
    let parameters = json!({ "min_abs_score": 0.95, "max_abs_score": 0.96, "graph": "graphml" });
    for workload in ["scan", "communities"] {
        let mut request = workspace.request(&[&input], parameters.clone());
        request.names = Some(list.clone());
        run_and_verify(workload, &request);
        assert!(!text(&request, "network.graphml").contains("<node"), "{workload}");
    }
}

#[test]
fn annotations_are_the_same_for_any_threads_layout_and_engine_order() {
    let workspace = Workspace::new();
    let input = workspace.make("a.txt", |params| {
        params.genes = 300;
        params.samples = 300;
        params.clusters = 2;
    });
    let request = |path: &Path, threads, parameters| {
        let mut request = workspace.request(&[path], parameters);
        request.names = Some(workspace.names(300));
        request.threads = threads;
        request
    };
    let load = request(&input, 2, json!({}));
    run_and_verify("load", &load);
    let matrix = workspace.path("pairs.zarr");
    fs::rename(load.output.join("pairs.zarr"), &matrix).unwrap();
    let names = GeneNames::read(&matrix, 1 << 20).unwrap();
    assert_eq!((names.len(), names.get(300)), (300, Some("AT300")));
    for workload in ["scan", "communities", "degrees"] {
        let mut answers = Vec::new();
        for (path, threads) in [(&input, 1), (&input, 3), (&matrix, 2)] {
            let mut parameters = json!({ "min_abs_score": 0.2 });
            if workload != "degrees" {
                parameters["graph"] = json!("graphml");
            }
            let request = request(path, threads, parameters);
            run_and_verify(workload, &request);
            answers.push(files(&request));
        }
        assert!(answers[0] == answers[1] && answers[0] == answers[2], "{workload}");
    }
}

#[test]
fn a_gene_beyond_the_names_is_an_error_that_leaves_the_answer_as_it_was() {
    let workspace = Workspace::new();
    let (input, _) = small(&workspace);
    let list = workspace.write("short.txt", "A\nB\nC\nD\n");
    let graph = json!({ "graph": "graphml" });
    let cases = [("scan", json!({})), ("degrees", json!({})), ("communities", graph)];
    for (workload, parameters) in cases {
        let mut request = workspace.request(&[&input], parameters);
        request.names = Some(list.clone());
        let error = annotated(&request, workload).unwrap_err();
        let expected = "gene 5 has no name: ";
        assert!(error.message().contains(expected), "{workload}: {}", error.message());
        let remedy = "short.txt names 4 genes; give a list with --genes that names all";
        assert!(error.message().ends_with(remedy), "{workload}: {}", error.message());
        request.names = None;
        request.parameters = json!({});
        assert!(verify(workload, &request, &Progress::default()).unwrap().verified);
        let left = files(&request).into_iter().filter(|(name, _)| name.contains("partial"));
        assert_eq!(left.count(), 0, "{workload}");
    }
    let mut request = workspace.request(&[&input], json!({ "genes": 9 }));
    request.names = Some(list);
    let error = run_only("load", &request).unwrap_err();
    assert!(error.message().contains("gene 9 has no name: "), "{}", error.message());
    request.parameters = json!({});
    let error = run_only("load", &request).unwrap_err();
    assert!(error.message().contains("gene 5 has no name: "), "{}", error.message());
}

#[test]
fn missing_or_unrequested_names_are_wrong() {
    let workspace = Workspace::new();
    let (input, list) = small(&workspace);
    for workload in ["scan", "degrees", "communities", "load"] {
        let mut request = workspace.request(&[&input], json!({}));
        run_only(workload, &request).unwrap();
        request.names = Some(list.clone());
        let verdict = verify(workload, &request, &Progress::default()).unwrap();
        assert!(!verdict.verified, "{workload}");
        if workload != "scan" {
            let mut request = workspace.request(&[&input], json!({}));
            request.names = Some(list.clone());
            run_and_verify(workload, &request);
            request.names = None;
            let verdict = verify(workload, &request, &Progress::default()).unwrap();
            assert!(!verdict.verified, "{workload}");
        }
    }
    let request = workspace.request(&[&input], json!({ "graph": "graphml" }));
    for workload in ["scan", "communities"] {
        run_only(workload, &request).unwrap();
        let verdict = verify(workload, &request, &Progress::default()).unwrap();
        let remark = verdict.remark.unwrap();
        assert!(!verdict.verified && remark.contains("network.graphml is missing"), "{remark}");
    }
}

#[test]
fn an_answer_of_another_kind_is_refused() {
    let workspace = Workspace::new();
    let (input, list) = small(&workspace);
    let mut request = workspace.request(&[&input], json!({}));
    request.names = Some(list);
    annotated(&request, "degrees").unwrap();
    let error = annotate("degrees", &request, &Progress::default()).unwrap_err();
    assert!(error.message().contains("has names; run the workload again"), "{}", error.message());
    fs::write(request.output.join("degrees.tsv"), "gene\tin\tout\ttotal\nx\t1\t1\t2\n").unwrap();
    let error = annotate("degrees", &request, &Progress::default()).unwrap_err();
    assert!(error.message().contains("has \"x\" for a gene"), "{}", error.message());
}
