//! Unitigs of random reads, compared with their definition, for any threads and memory.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::HashSet;
use std::path::Path;

use cuesta_assembly::kernel::glue::End;
use cuesta_assembly::kernel::kmer::{Base, Kmer, Wide, kmers};
use cuesta_assembly::kernel::links::Links;
use cuesta_assembly::kernel::sequences::{PathSummary, Paths};
use cuesta_assembly::reference::{self, Solid, Unitig};
use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use common::{code, reads, write_reads};

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
fn run(
    reads: &[String],
    (k, min_count): (usize, u32),
    (threads, memory): (usize, u64),
    (profile, chains): (&str, &str),
) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_reads(folder.path(), reads);
    let parameters = json!({
        "kmer_sizes": k.to_string(), "min_count": min_count, "profile": profile, "chains": chains,
        "min_contig": 0,
    });
    let request = request(folder.path(), &parameters, threads, memory);
    let progress = Progress::default();
    cuesta_assembly::run(&request, &progress).unwrap();
    let (done, all) = progress.state();
    assert!(all > 0 && done == all, "{done} of {all}");
    folder
}

/// Returns the unitigs of a run as in their file, before errors are removed.
fn assembled(
    reads: &[String],
    counted: (usize, u32),
    resources: (usize, u64),
    chains: &str,
) -> Vec<Unitig> {
    let method = if chains == "toss" { ("paper", "auto") } else { ("none", chains) };
    let folder = run(reads, counted, resources, method);
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

fn expected<K: Kmer>(reads: &[String], k: usize, min_count: u32) -> Vec<Unitig> {
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn unitigs_are_those_of_the_definition(
        reads in reads(),
        k in prop_oneof![Just(15usize), Just(21), Just(31), Just(33), Just(63), Just(65)],
        min_count in 1u32..4,
        threads in 1usize..4,
    ) {
        let expected_unitigs = match k {
            0..=31 => expected::<u64>(&reads, k, min_count),
            32..=63 => expected::<u128>(&reads, k, min_count),
            _ => expected::<Wide<2>>(&reads, k, min_count),
        };
        prop_assume!(reads.iter().any(|read| read.len() >= k));
        let counted = (k, min_count);
        let runs = [(1 << 30, "buckets"), (12 << 20, "buckets"), (1 << 30, "ranking")];
        for (memory_bytes, chains) in runs {
            let unitigs = assembled(&reads, counted, (threads, memory_bytes), chains);
            prop_assert_eq!(&unitigs, &expected_unitigs);
        }
    }

    #[test]
    fn vertex_programs_remove_what_a_single_machine_removes(
        reads in reads(),
        k in prop_oneof![Just(15usize), Just(17), Just(33)],
        min_count in 1u32..3,
        threads in 1usize..4,
    ) {
        prop_assume!(reads.iter().any(|read| read.len() >= k));
        let graph = |threads: usize, chains: &str| {
            let folder = run(&reads, (k, min_count), (threads, 1 << 30), ("default", chains));
            let stats = std::fs::read(folder.path().join("stats.json")).unwrap();
            let stats: serde_json::Value = serde_json::from_slice(&stats).unwrap();
            let rounds = stats["levels"][0]["rounds"].clone();
            let traffic = stats["levels"][0]["traffic"].clone();
            let graph = std::fs::read_to_string(folder.path().join("graph.gfa")).unwrap();
            (graph, rounds, traffic)
        };
        let (expected_graph, rounds, _) = graph(1, "buckets");
        let (answer, removed, traffic) = graph(threads, "ranking");
        prop_assert_eq!(&answer, &expected_graph);
        prop_assert_eq!(&removed, &rounds);
        prop_assert_eq!(traffic, graph(threads % 3 + 1, "ranking").2);
    }

    #[test]
    fn unitigs_of_the_paper_are_those_of_the_definition(
        reads in reads(),
        k in prop_oneof![Just(15usize), Just(31), Just(33)],
        min_count in 1u32..4,
        threads in 1usize..4,
    ) {
        let reads: Vec<String> = reads.into_iter().filter(|read| !read.contains('N')).collect();
        prop_assume!(reads.iter().any(|read| read.len() >= k));
        let expected_unitigs = match k {
            0..=31 => expected::<u64>(&reads, k, min_count),
            _ => expected::<u128>(&reads, k, min_count),
        };
        let unitigs = assembled(&reads, (k, min_count), (threads, 1 << 30), "toss");
        prop_assert_eq!(unitigs, expected_unitigs);
    }

    #[test]
    fn links_are_those_of_the_definition(
        sequences in prop::collection::vec("[AC]{0,2}(ACGT|AC|GT|TTTT){4,6}", 1..10),
    ) {
        let k = 9;
        let paths: Vec<Vec<Base>> =
            sequences.iter().map(|text| text.bytes().map(code).collect()).collect();
        prop_assume!(paths.iter().all(|codes: &Vec<Base>| codes.len() >= k));
        let budget = Budget::new(1 << 30);
        let mut all = Paths::new(&budget, "a test");
        for codes in &paths {
            all.push(PathSummary::default(), |to| to.extend_from_slice(codes)).unwrap();
        }
        let links = Links::find::<u64>(&all, k, &budget).unwrap();
        let mut pairs = HashSet::new();
        for end in 0..2 * paths.len() {
            for &other in links.after(end as End) {
                pairs.insert((end, other as usize));
            }
        }
        prop_assert_eq!(pairs, reference::links(&paths, k));
    }
}
