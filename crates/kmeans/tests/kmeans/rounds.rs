//! Runs in rounds, by any engine, write the answer of the native run.

use crate::common::{Workspace, clouds, run};
use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_kmeans::rounds::{lead, work};
use cuesta_runtime::rounds::{RandomEngine, Resources};
use proptest::prelude::*;
use serde_json::json;

fn in_rounds(request: &Request, tasks: usize, seed: u64) -> u64 {
    let resources =
        Resources { slots: 3, memory_bytes: 1 << 30, tasks: Some(tasks), ..Resources::default() };
    let engine =
        RandomEngine { worker: &|| work(request, resources), chance: Stream::new(seed, 0) };
    let mut leader = lead(request, resources).unwrap();
    engine.run(leader.as_mut(), &Progress::default()).unwrap().counts["iterations"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_random_engine_writes_the_native_answer(
        (points, dimensions) in (12usize..3000, 1usize..6),
        (clusters, iterations) in (1usize..12, 1u32..7),
        double in any::<bool>(),
        tasks in 1usize..20,
        seed in any::<u64>(),
    ) {
        let workspace = Workspace::new();
        let rows = clouds(points, dimensions, 4, seed);
        let path = if double {
            workspace.doubles("x.npy", &rows)
        } else {
            workspace.singles("x.npy", &rows)
        };
        let parameters =
            json!({ "clusters": clusters, "iterations": iterations, "init": "kmeans++" });
        let request = workspace.request(&[&path], parameters);
        let counts = run(&request).counts;
        let answer = workspace.answer();
        answer.keys().for_each(|name| std::fs::remove_file(request.output.join(name)).unwrap());
        prop_assert_eq!(in_rounds(&request, tasks, seed), counts["iterations"]);
        prop_assert_eq!(workspace.answer(), answer);
    }
}

/// Returns the phases of a run in one task by a worker that holds its points if `memory_bytes`
/// suffice.
fn phases_with_memory(workspace: &Workspace, request: &Request, memory_bytes: u64) -> Vec<String> {
    run(request);
    let answer = workspace.answer();
    let resources =
        Resources { slots: 1, memory_bytes: 1 << 30, keeps: true, ..Resources::default() };
    let mut leader = lead(request, Resources { tasks: Some(1), ..resources }).unwrap();
    let mut worker =
        work(&Request { budget: Budget::new(memory_bytes).into(), ..request.clone() }, resources)
            .unwrap();
    let (mut results, mut phases) = (Vec::new(), Vec::new());
    let mut response = cuesta_core::job::Response::default();
    let progress = Progress::default();
    while let Some(round) = leader.next(results, &mut response, &progress).unwrap() {
        let task = cuesta_runtime::rounds::Task {
            number: 0,
            shared: &round.shared,
            input: &round.tasks[0],
        };
        results = vec![worker.task(task, &progress).unwrap().0];
        phases.push(round.phase);
    }
    assert_eq!(workspace.answer(), answer);
    phases
}

#[test]
fn a_worker_that_holds_its_points_writes_the_same_answer() {
    let workspace = Workspace::new();
    let path = workspace.singles("x.npy", &clouds(5000, 4, 5, 8));
    let request = workspace.request(&[&path], json!({ "clusters": 5, "iterations": 120 }));
    let phases = phases_with_memory(&workspace, &request, 1 << 30);
    assert!(phases.contains(&"iteration 1".to_owned()), "{phases:?}");
}

#[test]
fn a_worker_without_memory_for_its_points_reads_them_again() {
    let workspace = Workspace::new();
    let path = workspace.singles("x.npy", &clouds(120_000, 4, 5, 8));
    let request = workspace.request(&[&path], json!({ "clusters": 5, "iterations": 3 }));
    let phases = phases_with_memory(&workspace, &request, 4 << 20);
    assert!(phases.contains(&"streamed iteration 1".to_owned()), "{phases:?}");
}
