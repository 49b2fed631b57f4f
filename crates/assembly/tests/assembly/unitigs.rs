//! Unitigs of random reads, compared with their definition, for any threads and memory.

use std::collections::HashSet;

use cuesta_assembly::kernel::glue::End;
use cuesta_assembly::kernel::kmer::{Base, Wide};
use cuesta_assembly::kernel::links::Links;
use cuesta_assembly::kernel::sequences::{PathSummary, Paths};
use cuesta_assembly::method::BuiltIn;
use cuesta_assembly::reference;
use cuesta_core::budget::Budget;
use proptest::prelude::*;

use crate::common::unitigs::{assembled, expected, run};
use crate::common::{code, reads};

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
            let unitigs =
                assembled::<BuiltIn>(&reads, counted, (threads, memory_bytes), ("none", chains));
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
            let resources = (threads, 1 << 30);
            let folder =
                run::<BuiltIn>(&reads, (k, min_count), resources, ("default", chains));
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
