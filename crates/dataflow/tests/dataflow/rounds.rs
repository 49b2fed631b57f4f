//! Runs in rounds, by any engine, write the table of the native run.

use std::fs;
use std::path::{Path, PathBuf};

use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Response};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_dataflow::rounds::{lead, work};
use cuesta_dataflow::{run, table};
use cuesta_input::npy;
use cuesta_runtime::rounds::{RandomEngine, Resources, Task};
use proptest::prelude::*;
use serde_json::{Value, json};

fn new_request(folder: &Path, parameters: Value, inputs: Vec<PathBuf>) -> Request {
    for name in ["answer", "scratch"] {
        let _ = fs::remove_dir_all(folder.join(name));
        fs::create_dir(folder.join(name)).unwrap();
    }
    Request {
        inputs,
        parameters,
        output: folder.join("answer"),
        seed: 7,
        threads: 2,
        budget: Budget::new(1 << 30).into(),
        scratch: folder.join("scratch"),
        verify: Default::default(),
        names: None,
    }
}

fn table_of(request: &Request) -> String {
    fs::read_to_string(request.output.join(table::AVERAGES_FILE)).unwrap()
}

const RESOURCES: Resources = Resources {
    slots: 3,
    nodes: 1,
    memory_bytes: 1 << 30,
    tasks: None,
    task_bytes: None,
    keeps: false,
    text: false,
    slow_to_begin: false,
};

/// Runs all tasks on a single worker that caches everything, the last task of each round twice.
fn by_a_single_worker(request: &Request) -> Response {
    let resources = Resources { keeps: true, ..RESOURCES };
    let (mut leader, mut worker) =
        (lead(request, resources).unwrap(), work(request, resources).unwrap());
    let (mut results, mut response, progress) =
        (Vec::new(), Response::default(), Progress::default());
    while let Some(round) = leader.next(results, &mut response, &progress).unwrap() {
        let mut done = |number: usize| {
            let task = Task { number, shared: &round.shared, input: &round.tasks[number] };
            worker.task(task, &progress).unwrap().0
        };
        done(round.tasks.len() - 1);
        results = (0..round.tasks.len()).map(done).collect();
    }
    response
}

fn vectors(folder: &Path, count: usize) -> Vec<PathBuf> {
    let path = folder.join("vectors.npy");
    let values: Vec<f64> = (0..3 * count).map(|index| (index * index % 977) as f64 / 3.0).collect();
    let mut bytes = npy::header("<f8", &format!("({count}, 3)"));
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    fs::write(&path, bytes).unwrap();
    vec![path]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_random_engine_writes_the_native_table(
        (blocks, block_vectors) in (1u64..9, prop_oneof![1u64..50, 65_530u64..65_545]),
        stages_and_keep in prop_oneof![
            Just(("fused", "none")),
            Just(("separate", "none")),
            Just(("separate", "memory")),
            Just(("separate", "disk")),
        ],
        stored in any::<bool>(),
        tasks in prop_oneof![Just(None), (1usize..12).prop_map(Some)],
        seed in any::<u64>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let parameters = json!({
            "blocks": blocks, "block_vectors": block_vectors, "shift": "1.5,-999.99,0",
            "stages": stages_and_keep.0, "keep": stages_and_keep.1,
        });
        let inputs = if stored { vectors(folder.path(), 300) } else { Vec::new() };
        let request = new_request(folder.path(), parameters.clone(), inputs.clone());
        let counts = run(&request, &Progress::default()).unwrap().counts;
        let native = table_of(&request);
        let request = new_request(folder.path(), parameters.clone(), inputs.clone());
        let resources = Resources { tasks, ..RESOURCES };
        let engine =
            RandomEngine { worker: &|| work(&request, resources), chance: Stream::new(seed, 0) };
        let mut leader = lead(&request, resources).unwrap();
        let response = engine.run(leader.as_mut(), &Progress::default()).unwrap();
        prop_assert_eq!(table_of(&request), native.clone());
        prop_assert_eq!(response.counts, counts.clone());
        let request = new_request(folder.path(), parameters, inputs);
        prop_assert_eq!(by_a_single_worker(&request).counts, counts);
        prop_assert_eq!(table_of(&request), native);
    }
}

#[test]
fn a_run_that_does_not_fit_is_refused_before_a_block_is_made() {
    let folder = tempfile::tempdir().unwrap();
    for (keep, keeps, expected) in [
        ("memory", true, "keeping all blocks in memory (--keep disk does not)"),
        ("none", false, "a block of every task at once (smaller --block-vectors take less)"),
    ] {
        let large = json!({
            "blocks": 64, "block_vectors": 1 << 25, "stages": "separate", "keep": keep,
        });
        let request = new_request(folder.path(), large, Vec::new());
        let mut leader = lead(&request, Resources { keeps, ..RESOURCES }).unwrap();
        let refused = leader.next(Vec::new(), &mut Response::default(), &Progress::default());
        let error = refused.unwrap_err();
        assert!(error.message().contains(expected), "{}", error.message());
    }
}
