//! Unitigs of a run, and those of the definition.

use std::path::Path;

use cuesta_assembly::kernel::kmer::{Base, Kmer, kmers};
use cuesta_assembly::method::Method;
use cuesta_assembly::reference::{self, Solid, Unitig};
use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use serde_json::json;
use tempfile::TempDir;

use super::{code, write_reads};

fn request(folder: &Path, parameters: &serde_json::Value, threads: usize, memory: u64) -> Request {
    Request {
        inputs: vec![folder.join("reads.fa")],
        parameters: parameters.clone(),
        output: folder.to_owned(),
        seed: 0,
        threads,
        budget: Budget::new(memory).into(),
        scratch: folder.to_owned(),
        verify: Default::default(),
        names: None,
    }
}

/// Runs with a profile and a method that joins fragments; returns the folder.
pub fn run<M: Method>(
    reads: &[String],
    (k, min_count): (usize, u32),
    (threads, memory): (usize, u64),
    (profile, chains): (&str, &str),
) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_reads(folder.path(), reads);
    let parameters = json!({
        "kmer_sizes": k.to_string(), "min_count": min_count, "profile": profile, "chains": chains,
        "min_contig": 0, "trim": "none",
    });
    let request = request(folder.path(), &parameters, threads, memory);
    let progress = Progress::default();
    cuesta_assembly::run::<M>(&request, &progress).unwrap();
    let (done, all) = progress.state();
    assert!(all > 0 && done == all, "{done} of {all}");
    folder
}

/// Returns the unitigs of a run as in their file, before errors are removed.
pub fn assembled<M: Method>(
    reads: &[String],
    counted: (usize, u32),
    resources: (usize, u64),
    method: (&str, &str),
) -> Vec<Unitig> {
    let folder = run::<M>(reads, counted, resources, method);
    let answer = std::fs::read_to_string(folder.path().join("unitigs.fa")).unwrap();
    let mut lines = answer.lines();
    let mut unitigs = Vec::new();
    while let (Some(name), Some(bases)) = (lines.next(), lines.next()) {
        let sum = name.split(" KC:i:").nth(1).unwrap().split(' ').next().unwrap();
        let circular = name.ends_with("TP:Z:circular");
        unitigs.push((bases.bytes().map(code).collect(), sum.parse().unwrap(), circular));
    }
    unitigs.sort();
    unitigs
}

pub fn expected<K: Kmer>(reads: &[String], k: usize, min_count: u32) -> Vec<Unitig> {
    let mut counts = Solid::<K>::default();
    for read in reads {
        for stretch in read.split('N') {
            let codes: Vec<Base> = stretch.bytes().map(code).collect();
            for kmer in kmers::<K>(&codes, k) {
                *counts.entry(kmer.canonical(k)).or_insert(0) += 1;
            }
        }
    }
    counts.retain(|_, count| *count >= min_count);
    reference::unitigs(&counts, k)
}
