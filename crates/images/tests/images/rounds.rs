//! Runs in rounds, by any engine, write the answer of the native run.

use crate::common::{Workspace, levels, run_verified};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_images::rounds::{lead, work};
use cuesta_runtime::rounds::{RandomEngine, Resources};
use serde_json::json;

#[test]
fn a_random_engine_writes_the_native_answer() {
    let workspace = Workspace::new();
    let sizes = [2u64, 6, 1];
    let paths: Vec<_> = sizes
        .iter()
        .enumerate()
        .map(|(index, count)| {
            let shape = format!("({count}, 8, 9)");
            workspace.npy(&format!("{index}.npy"), "|u1", &shape, &levels(72 * *count as usize, 7))
        })
        .collect();
    let inputs: Vec<&std::path::Path> = paths.iter().map(|path| path.as_path()).collect();
    let request = workspace.request(&inputs, json!({ "min_pixels": 2 }));
    run_verified(&request);
    let answer = std::fs::read(workspace.answer()).unwrap();
    for tasks in [1, 2, 3, 9, 20] {
        std::fs::remove_file(workspace.answer()).unwrap();
        let resources =
            Resources { slots: 2, memory_bytes: 1, tasks: Some(tasks), ..Resources::default() };
        let worker = || work(&request, resources);
        let engine = RandomEngine { worker: &worker, chance: Stream::new(tasks as u64, 0) };
        let mut leader = lead(&request, resources).unwrap();
        let response = engine.run(leader.as_mut(), &Progress::default()).unwrap();
        assert_eq!(response.counts["images"], 9);
        assert_eq!(std::fs::read(workspace.answer()).unwrap(), answer, "{tasks} tasks");
    }
}
