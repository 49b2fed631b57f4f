//! Runs in rounds, by any engine, write the answer of the native run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Workspace, files, gzip, run_only};
use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Response};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_network::rounds::{lead, work};
use cuesta_runtime::rounds::{RandomEngine, Resources, Task};
use cuesta_testkit::ranks;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Form of a dataset of gene pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Text,
    Tree,
    Matrix,
    Mixture,
}

const FORMS: [Form; 4] = [Form::Text, Form::Tree, Form::Matrix, Form::Mixture];

fn dataset(workspace: &Workspace, name: &str, (form, genes): (Form, u32), variant: u64) -> PathBuf {
    let text = |name: &str, tree| {
        workspace.make(name, |params| {
            (params.genes, params.variant, params.tree) = (genes, variant, tree);
        })
    };
    match form {
        Form::Text => text(name, false),
        Form::Tree => text(name, true),
        Form::Matrix => {
            let request = workspace.request(&[&text(&format!("{name}.txt"), false)], json!({}));
            run_only("load", &request).unwrap();
            fs::rename(request.output.join("pairs.zarr"), workspace.path(name)).unwrap();
            workspace.path(name)
        }
        Form::Mixture => {
            let text = String::from_utf8(fs::read(text(&format!("{name}.txt"), false)).unwrap());
            let lines: Vec<String> =
                text.unwrap().lines().map(|line| format!("{line}\r\n")).collect();
            let (first, rest) = lines.split_at(lines.len() / 3);
            let (second, third) = rest.split_at(rest.len() / 2);
            workspace.write(&format!("{name}/a/empty.txt"), "");
            workspace.write(&format!("{name}/a/packed.txt.gz"), gzip(first.concat().as_bytes()));
            workspace.write(&format!("{name}/b.txt"), format!("#Restarted\n\n{}", second.concat()));
            workspace.write(&format!("{name}/c.txt"), third.concat().trim_end());
            workspace.path(name)
        }
    }
}

/// Returns the inputs of a workload.
fn inputs(workspace: &Workspace, workload: &str, first: (Form, u32), form: Form) -> Vec<PathBuf> {
    let mut inputs = vec![dataset(workspace, "a", first, 0)];
    if workload == "join" {
        inputs.push(dataset(workspace, "b", (form, first.1), 1));
    }
    inputs
}

/// Counts and files of an answer.
type Answer = (BTreeMap<&'static str, u64>, Vec<(String, Vec<u8>)>);

/// Returns the answer of the native run, and that of a run in rounds by `engine`.
fn both(
    workload: &str,
    request: &Request,
    engine: impl FnOnce() -> Result<Response>,
) -> [Answer; 2] {
    let clear = || {
        fs::remove_dir_all(&request.output).unwrap();
        fs::create_dir(&request.output).unwrap();
    };
    clear();
    let native = run_only(workload, request).unwrap().counts;
    let expected = files(request);
    clear();
    let counts = engine().unwrap().counts;
    [(native, expected), (counts, files(request))]
}

fn at_random(
    workload: &str,
    request: &Request,
    resources: Resources,
    seed: u64,
) -> Result<Response> {
    let worker = || work(workload, request, resources);
    let engine = RandomEngine { worker: &worker, chance: Stream::new(seed, 0) };
    engine.run(lead(workload, request, resources)?.as_mut(), &Progress::default())
}

fn resources(tasks: Option<usize>, task_bytes: Option<u64>) -> Resources {
    Resources {
        slots: 2,
        nodes: 1,
        memory_bytes: 1 << 30,
        tasks,
        task_bytes,
        keeps: false,
        text: false,
        slow_to_begin: false,
    }
}

/// Runs as MPI ranks do: the same rank runs all tasks and parts of one number.
fn on_ranks(workload: &str, request: &Request, slots: usize) -> Result<Response> {
    let resources = Resources { slots, tasks: Some(slots), keeps: true, ..resources(None, None) };
    let workers: Result<Vec<_>> = (0..slots).map(|_| work(workload, request, resources)).collect();
    ranks::run(lead(workload, request, resources)?.as_mut(), &mut workers?)
}

fn workloads() -> Vec<(&'static str, Value)> {
    vec![
        ("scan", json!({})),
        ("degrees", json!({})),
        ("degrees", json!({ "genes": 130 })),
        ("communities", json!({})),
        ("communities", json!({ "genes": 130 })),
        ("communities", json!({ "method": "label-propagation" })),
        ("communities", json!({ "method": "label-propagation", "genes": 130, "iterations": 2 })),
        ("join", json!({ "how": "inner" })),
        ("join", json!({ "how": "left" })),
        ("join", json!({ "how": "outer" })),
        ("load", json!({})),
        ("load", json!({ "genes": 130 })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_random_engine_writes_the_native_answer(
        (workload, mut parameters) in prop::sample::select(workloads()),
        (form, other_form) in
            (prop::sample::select(FORMS.to_vec()), prop::sample::select(FORMS.to_vec())),
        (min_abs_score, min_cluster_samples) in
            (prop_oneof![Just(0.0), 0.0..1.0], prop_oneof![4 => Just(0), 1 => 0..30]),
        (tasks, task_bytes) in
            (prop::option::of(1usize..30), prop::option::of(200u64..100_000)),
        (genes, seed) in (3u32..120, any::<u64>()),
    ) {
        let workspace = Workspace::new();
        let form = if workload == "load" && form == Form::Matrix { Form::Mixture } else { form };
        if workload != "load" {
            parameters["min_abs_score"] = json!(min_abs_score);
            parameters["min_cluster_samples"] = json!(min_cluster_samples);
        }
        let inputs = inputs(&workspace, workload, (form, genes), other_form);
        let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
        let request = workspace.request(&inputs, parameters);
        let resources = resources(tasks, task_bytes);
        let left_over = workspace.entries();
        let [native, in_rounds] =
            both(workload, &request, || at_random(workload, &request, resources, seed));
        prop_assert_eq!(&native.0, &in_rounds.0);
        prop_assert!(native.1 == in_rounds.1, "{} of {:?}", workload, form);
        prop_assert_eq!(workspace.entries(), left_over);
    }
}

#[test]
fn workers_that_hold_their_parts_write_the_native_answer() {
    for (form, ranks) in [(Form::Text, 3), (Form::Mixture, 2), (Form::Tree, 1), (Form::Matrix, 4)] {
        let workspace = Workspace::new();
        let inputs = inputs(&workspace, "join", (form, 100), Form::Text);
        for (workload, mut parameters) in workloads() {
            if workload != "load" {
                parameters["min_abs_score"] = json!(0.2);
            } else if form == Form::Matrix {
                continue;
            }
            let inputs = if workload == "join" { &inputs[..] } else { &inputs[..1] };
            let inputs: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
            let request = workspace.request(&inputs, parameters);
            let [native, in_rounds] =
                both(workload, &request, || on_ranks(workload, &request, ranks));
            assert_eq!(native.0, in_rounds.0, "{workload}");
            assert!(native.1 == in_rounds.1, "{workload} of {form:?} on {ranks} ranks");
        }
    }
}

#[test]
fn a_join_of_skewed_keys_has_many_parts_of_about_equal_size() {
    let workspace = Workspace::new();
    let input = workspace.make("a.txt", |params| params.genes = 250);
    let text = fs::read_to_string(input).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // In an order that is independent of the keys.
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|&line| Stream::new(1, 0).bits(line as u64));
    let lines: Vec<&str> = order.into_iter().map(|line| lines[line]).collect();
    let input = workspace.write("shuffled.txt", lines.join("\n"));
    let request = workspace.request(&[&input, &input], json!({}));
    let mut sizes = Vec::new();
    let resources = resources(Some(8), Some(100_000));
    let mut leader = lead("join", &request, resources).unwrap();
    let (mut response, progress) = (Response::default(), Progress::default());
    let round = leader.next(Vec::new(), &mut response, &progress).unwrap().unwrap();
    let mut worker = work("join", &request, resources).unwrap();
    for number in 0..round.tasks.len() {
        let task = Task { number, shared: &round.shared, input: &round.tasks[number] };
        let (_, blocks) = worker.task(task, &progress).unwrap();
        sizes.resize(round.parts, 0);
        sizes.iter_mut().enumerate().for_each(|(part, size)| *size += blocks.of_part(part).len());
    }
    assert_eq!(sizes.len(), 8);
    let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
    assert!(most < &(2 * least), "{sizes:?}");
}

/// Makes rows of a single sample for many pairs, in an order that is independent of the matrix.
fn shuffled(pairs: impl Iterator<Item = (u32, u32)>) -> String {
    let chance = Stream::new(9, 0);
    let mut rows: Vec<(u64, String)> = Vec::new();
    for (index, (gene1, gene2)) in pairs.enumerate() {
        let bits = chance.bits(index as u64);
        let clusters = 1 + bits % 16 / 14;
        rows.extend((1..=clusters).map(|cluster| {
            let order = chance.bits(1 << 40 | (2 * index as u64 + cluster));
            let mask = [0, 1, 6, 7, 8, 9][(bits / 16 % 6) as usize];
            let head = format!("{gene1}\t{gene2}\t{cluster}\t{clusters}");
            (order, format!("{head}\t1\t0\t0\t0\t0\t0.{}\t{mask}\n", bits % 1000))
        }));
    }
    rows.sort();
    rows.into_iter().map(|(_, row)| row).collect()
}

#[test]
fn pieces_of_a_matrix_of_many_shards_make_the_native_matrix() {
    let workspace = Workspace::new();
    // Rows in three shards of scores, and in two of masks.
    let sparse = (0..500).map(|index| (2 + index * 17, 1 + index * 7));
    let dense = (2..540).flat_map(|gene1| (1..gene1).map(move |gene2| (gene1, gene2)));
    for (name, text) in [("sparse", shuffled(sparse)), ("dense", shuffled(dense))] {
        let input = workspace.write(name, text);
        let request = workspace.request(&[&input], json!({}));
        for tasks in [1, 3, 40] {
            let resources = resources(Some(tasks), Some(1 << 20));
            let [native, in_rounds] =
                both("load", &request, || at_random("load", &request, resources, tasks as u64));
            assert_eq!(native.0, in_rounds.0);
            assert!(native.1 == in_rounds.1, "{name} in {tasks} parts");
        }
        let [native, in_rounds] = both("load", &request, || on_ranks("load", &request, 3));
        assert!(native == in_rounds, "{name} on ranks");
    }
}

#[test]
fn a_repeated_row_is_refused_as_natively() {
    let workspace = Workspace::new();
    let row = format!("200\t199\t3\t3\t5\t1\t0\t1\t0\t0.5\t{}\n", "1".repeat(21));
    let text = fs::read_to_string(workspace.make("a.txt", |_| {})).unwrap();
    let twice = workspace.write("twice.txt", format!("{row}{text}{row}"));
    let once = workspace.write("once.txt", format!("{text}{row}"));
    for inputs in [[&*twice, &*once], [&*once, &*twice]] {
        for how in ["inner", "left", "outer"] {
            let request = workspace.request(&inputs, json!({ "how": how }));
            let native = run_only("join", &request).unwrap_err();
            assert!(native.message().contains("has gene pair 200 199 cluster 3 twice"), "{native}");
            let error = at_random("join", &request, resources(None, Some(20_000)), 1).unwrap_err();
            assert_eq!(error, native);
        }
    }
    let request = workspace.request(&[&twice], json!({}));
    let native = run_only("load", &request).unwrap_err();
    assert!(native.message().contains("cluster 3 of the pair 200 199 is given twice"), "{native}");
    assert_eq!(at_random("load", &request, resources(None, Some(20_000)), 1).unwrap_err(), native);
}

/// Makes an expression matrix in which `missing` of a thousand values of each seventh gene are
/// missing.
fn matrix(genes: u64, samples: u64, missing: u64) -> String {
    let mut text = String::new();
    let chance = Stream::new(5, 0);
    for gene in 0..genes {
        let value = |sample: u64| match chance.bits(gene * 1000 + sample) % 1000 {
            bits if gene % 7 == 0 && bits < missing => "NA".to_owned(),
            bits => format!("{}.{}", bits % 97, bits / 10 + gene % 5 * sample),
        };
        let values: Vec<String> = (0..samples).map(value).collect();
        text.push_str(&format!("g{gene}\t{}\n", values.join("\t")));
    }
    text
}

#[test]
fn any_tasks_correlate_as_natively() {
    let workspace = Workspace::new();
    let input = workspace.write("m.txt", matrix(150, 40, 50));
    for mut parameters in [
        json!({ "method": "pearson" }),
        json!({ "method": "spearman", "min_abs_score": 0.2 }),
        json!({ "method": "bicor", "min_abs_score": 0.3, "max_p_outliers": 0.1 }),
        json!({ "method": "pearson", "min_abs_score": 1.0 }),
        json!({ "method": "pearson", "top": 1 }),
        json!({ "method": "spearman", "top": 500, "format": "pairs" }),
        json!({ "method": "bicor", "top": 1_000_000, "top_variable": 90, "log2": true }),
    ] {
        parameters["header"] = json!("absent");
        let request = workspace.request(&[&input], parameters.clone());
        for tasks in [1, 2, 5, 30] {
            let [native, in_rounds] = both("correlate", &request, || {
                at_random("correlate", &request, resources(Some(tasks), None), tasks as u64)
            });
            assert_eq!(native.0, in_rounds.0);
            assert!(native.1 == in_rounds.1, "{parameters} in {tasks} tasks");
        }
        let [native, in_rounds] =
            both("correlate", &request, || on_ranks("correlate", &request, 3));
        assert!(native == in_rounds, "{parameters} on ranks");
    }
}

#[test]
fn any_tasks_write_the_native_matrix_of_pairs() {
    let workspace = Workspace::new();
    for (genes, missing) in [(1, 0), (2, 0), (700, 0), (1200, 40)] {
        let input = workspace.write("m.txt", matrix(genes, 16, missing));
        for min_abs_score in [0.0, 0.9] {
            let parameters = json!({
                "format": "pairs", "min_abs_score": min_abs_score, "header": "absent",
            });
            let request = workspace.request(&[&input], parameters);
            for tasks in [1, 3, 30] {
                let [native, in_rounds] = both("correlate", &request, || {
                    at_random("correlate", &request, resources(Some(tasks), None), tasks as u64)
                });
                assert_eq!(native.0, in_rounds.0, "{genes} genes, {tasks} tasks");
                assert!(native.1 == in_rounds.1, "{genes} genes in {tasks} tasks");
            }
            let [native, in_rounds] =
                both("correlate", &request, || on_ranks("correlate", &request, 3));
            assert!(native == in_rounds, "{genes} genes on ranks");
        }
    }
}

#[test]
fn a_workload_without_rounds_or_memory_is_refused() {
    let workspace = Workspace::new();
    let input = workspace.make("a.txt", |_| {});
    let refused = |workload: &str, parameters: Value, memory_bytes: u64| {
        let mut request = workspace.request(&[&input, &input], parameters);
        request.budget = Budget::new(memory_bytes).into();
        at_random(workload, &request, resources(None, None), 1).unwrap_err().message()
    };
    for method in ["louvain", "leiden"] {
        let message = refused("communities", json!({ "method": method }), 1 << 30);
        assert!(message.contains(method), "{message}");
        assert!(message.contains("run it with --engine native"), "{message}");
    }
    let propagation = json!({ "method": "label-propagation" });
    assert!(refused("communities", propagation, 1000).contains("raise --memory"));
    assert!(refused("join", json!({}), 1000).contains("the rows of a part needs"));
    assert!(refused("scan", json!({ "min_abs_score": 7 }), 1 << 30).contains("--min-abs-score"));
    assert!(refused("degrees", json!({ "genes": 10 }), 1 << 30).contains("there are 10"));
    assert!(refused("nothing", json!({}), 1 << 30).contains("nothing has none"));
    let request = workspace.request(&[&input], json!({}));
    let error = at_random("join", &request, resources(None, None), 1).unwrap_err();
    assert_eq!(error, run_only("join", &request).unwrap_err());
}

#[test]
fn bad_lines_are_refused_as_natively() {
    let workspace = Workspace::new();
    let input = workspace.make("a.txt", |_| {});
    let text = fs::read_to_string(input).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[1000] = "7\t3";
    let input = workspace.write("damaged.txt", lines.join("\n"));
    for (workload, parameters) in workloads() {
        let inputs = if workload == "join" { vec![&*input, &*input] } else { vec![&*input] };
        let request = workspace.request(&inputs, parameters);
        let native = run_only(workload, &request).unwrap_err();
        assert!(native.message().contains("line 1001 of "), "{native}");
        let error = at_random(workload, &request, resources(None, Some(20_000)), 1).unwrap_err();
        assert_eq!(error, native);
    }
}
