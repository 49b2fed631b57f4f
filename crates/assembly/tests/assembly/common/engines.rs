//! Native runs and runs in rounds on reads in a folder.
#![allow(missing_docs, dead_code, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::Path;

use cuesta_assembly::method::Method;
use cuesta_assembly::rounds::{lead, work};
use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Response};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_runtime::rounds::{RandomEngine, Resources};
use cuesta_testkit::ranks;
use serde_json::Value;
use tempfile::TempDir;

use super::{turned, write_reads};

/// A folder with reads, answers, and a subfolder for scratch.
pub struct Place {
    pub folder: TempDir,
}

impl Place {
    pub fn new(reads: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_reads(folder.path(), reads);
        std::fs::create_dir(folder.path().join("scratch")).unwrap();
        Self { folder }
    }

    pub fn request(&self, answer: &str, parameters: &Value) -> Request {
        let output = self.folder.path().join(answer);
        std::fs::create_dir_all(&output).unwrap();
        Request {
            inputs: vec![self.folder.path().join("reads.fa")],
            parameters: parameters.clone(),
            output,
            seed: 0,
            threads: 2,
            budget: Budget::new(1 << 30).into(),
            scratch: self.folder.path().join("scratch"),
            verify: Default::default(),
            names: None,
        }
    }

    /// Returns the files of the native answer.
    pub fn native<M: Method>(&self, parameters: &Value) -> BTreeMap<String, Vec<u8>> {
        let request = self.request("native", parameters);
        cuesta_assembly::run::<M>(&request, &Progress::default()).unwrap();
        files(&request.output)
    }

    /// Returns the files of an answer in rounds, and the response of the leader. Only data that
    /// workers share remain in scratch, which the engine removes.
    pub fn in_rounds(
        &self,
        parameters: &Value,
        engine: impl FnOnce(&Request) -> Result<Response>,
    ) -> (BTreeMap<String, Vec<u8>>, Response) {
        let request = self.request("rounds", parameters);
        let response = engine(&request).unwrap();
        assert!(files(&request.scratch).keys().all(|name| name.starts_with("state/")));
        (files(&request.output), response)
    }
}

pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut contents = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let inner = files(&path).into_iter();
            contents.extend(inner.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            contents.insert(name, std::fs::read(&path).unwrap());
        }
    }
    contents
}

/// Divides the memory: half for the leader, the other half for the workers.
pub fn divided(request: &Request, resources: Resources) -> (Request, Request, Resources) {
    let leader_bytes = resources.memory_bytes / 2;
    let memory_bytes = resources.memory_bytes - leader_bytes;
    let resources = Resources { memory_bytes, ..resources };
    let of = |bytes: u64| Request { budget: Budget::new(bytes).into(), ..request.clone() };
    (of(leader_bytes), of(resources.worker_bytes()), resources)
}

/// Runs on workers that keep no state, do tasks twice and die.
pub fn by_chance<M: Method>(
    request: &Request,
    resources: Resources,
    seed: u64,
) -> Result<Response> {
    let (leading, working, resources) = divided(request, resources);
    let worker = || work::<M>(&working, resources);
    let engine = RandomEngine { worker: &worker, chance: Stream::new(seed, 0) };
    engine.run(lead::<M>(&leading, resources)?.as_mut(), &Progress::default())
}

/// Runs on workers that keep their parts.
pub fn by_ranks<M: Method>(request: &Request, resources: Resources) -> Result<Response> {
    let (leading, working, resources) = divided(request, resources);
    let workers: Result<Vec<_>> =
        (0..resources.slots).map(|_| work::<M>(&working, resources)).collect();
    ranks::run(lead::<M>(&leading, resources)?.as_mut(), &mut workers?)
}

/// Asserts that one thread, ranks that keep their parts and workers without state give the files of
/// a native answer; their answers lie beside it.
pub fn assert_same_everywhere<M: Method>(native: &Request) {
    let of = |answer: &str| {
        let output = native.output.with_file_name(answer);
        std::fs::create_dir_all(&output).unwrap();
        Request { output, ..native.clone() }
    };
    let sequential = Request { threads: 1, ..of("sequential") };
    cuesta_assembly::run::<M>(&sequential, &Progress::default()).unwrap();
    let shares = |keeps| Resources { keeps, task_bytes: Some(9001), ..resources(3, 1 << 30) };
    let (ranks, chance) = (of("ranks"), of("chance"));
    by_ranks::<M>(&ranks, shares(true)).unwrap();
    by_chance::<M>(&chance, shares(false), 5).unwrap();
    let expected = files(&native.output);
    for other in [sequential, ranks, chance] {
        assert!(files(&other.output) == expected, "{}", other.output.display());
    }
}

pub fn resources(slots: usize, memory_bytes: u64) -> Resources {
    Resources { slots, memory_bytes, ..Resources::default() }
}

/// Returns read pairs of a genome with repeats, with a wrong base in most.
pub fn pairs_with_errors(bases: usize) -> Vec<String> {
    let chance = Stream::new(11, 4);
    let letter = |at: u64| char::from(b"ACGT"[(chance.bits(at) & 3) as usize]);
    let mut genome: String = (0..bases as u64).map(letter).collect();
    // Copies that the second size distinguishes, the third, or only pairs.
    for (index, length) in [40, 50, 150, 400].into_iter().enumerate() {
        let copy = genome[1000 * index..][..length].to_owned();
        let placed = if index % 2 == 0 { turned(&copy) } else { copy };
        genome.replace_range(bases / 2 + 1000 * index.., &placed);
        genome.extend((genome.len()..bases).map(|at| letter((1 << 50) + at as u64)));
    }
    let mut reads = Vec::new();
    for index in 0..bases as u64 / 10 {
        let draw = |what: u64, below: usize| {
            chance.below((1 << 40) + index * 16 + what, below as u64) as usize
        };
        let span = 280 + draw(0, 40);
        let start = draw(1, genome.len() - span);
        let ends = [start..start + 100, start + span - 100..start + span];
        for (side, range) in ends.into_iter().enumerate() {
            let mut read = genome[range].to_owned();
            let place = draw(2 + side as u64, 100);
            read.replace_range(place..=place, ["A", "C", "G", "T", "N"][draw(4, 5)]);
            reads.push(if side == 0 { read } else { turned(&read) });
        }
    }
    reads
}

/// Returns reads of a genome that is long enough for a peak of counts, and for blocks that do not
/// fit.
pub fn long_reads(bases: u64) -> Vec<String> {
    let chance = Stream::new(3, 4);
    let letter = |at: u64| char::from(b"ACGT"[(chance.bits(at) & 3) as usize]);
    let genome: String = (0..bases).map(letter).collect();
    let last = genome.len() - 100;
    (0..last).step_by(4).map(|start| genome[start..start + 100].to_owned()).collect()
}
