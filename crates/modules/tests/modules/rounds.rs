//! Runs of `threshold` in rounds, by any engine, write the answer of the native run.

use std::fs;
use std::path::Path;

use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_modules::threshold;
use cuesta_runtime::rounds::{RandomEngine, Resources};
use serde_json::json;

const MEMORY: u64 = 1 << 28;

/// A matrix of more genes than a block of correlations has, with a gap in a few.
fn matrix(genes: usize, samples: usize) -> String {
    let names = (0..samples).map(|sample| format!("s{sample}")).collect::<Vec<_>>();
    let mut text = format!("gene\t{}\n", names.join("\t"));
    for gene in 0..genes {
        let (shared, own) = (Stream::new(1, (gene / 40) as u64), Stream::new(2, gene as u64));
        let value = |sample: u64| match (gene % 97, sample) {
            (5, 3) => "NA".to_owned(),
            _ => format!("{:.4}", shared.normal(sample) + 0.3 * own.normal(sample)),
        };
        let values = (0..samples as u64).map(value).collect::<Vec<_>>();
        text += &format!("g{gene}\t{}\n", values.join("\t"));
    }
    text
}

fn answer(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let mut files: Vec<_> = entries.map(|path| (name(&path), fs::read(&path).unwrap())).collect();
    files.sort();
    files
}

#[test]
fn any_division_into_tasks_has_the_native_answer() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("matrix.tsv"), matrix(1700, 12)).unwrap();
    let request = |name: &str| {
        let output = folder.path().join(name);
        fs::create_dir(&output).unwrap();
        Request {
            inputs: vec![folder.path().join("matrix.tsv")],
            parameters: json!({"step": 0.1, "random_matrix": "all", "low": 0.9}),
            output,
            seed: 0,
            threads: 2,
            budget: Budget::new(MEMORY).into(),
            scratch: folder.path().to_owned(),
            verify: Default::default(),
            names: None,
        }
    };
    let native = request("native");
    let expected = threshold::run(&native, &Progress::default()).unwrap();
    for (seed, tasks) in [1, 2, 4, 6, 50].into_iter().enumerate() {
        let request = request(&format!("rounds-{tasks}"));
        let resources = Resources {
            slots: 3,
            memory_bytes: MEMORY,
            tasks: Some(tasks),
            ..Resources::default()
        };
        let work = || threshold::rounds::work(&request, resources);
        let engine = RandomEngine { worker: &work, chance: Stream::new(seed as u64, 0) };
        let mut leader = threshold::rounds::lead(&request, resources).unwrap();
        let response = engine.run(leader.as_mut(), &Progress::default()).unwrap();
        assert_eq!(response.counts, expected.counts, "{tasks} tasks");
        assert_eq!(answer(&request.output), answer(&native.output), "{tasks} tasks");
    }
    assert!(threshold::verify(&native, &Progress::default()).unwrap().verified);
}
