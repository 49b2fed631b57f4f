//! Comparison of the paper's vertex program with a small sequential program by the same rules.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cuesta_assembly::{run, verify};
use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_pga::Pga;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{reads_of, turned, write_reads};
use crate::sequential::{Bounds, EDITS, Graph};

/// Results of a run: paths with counts; the tips and bubbles of its jobs; its level in
/// `stats.json`.
type RunResults = (BTreeSet<(String, u64)>, Vec<(u64, u64)>, Value);

/// Runs on threads, and verifies the answer.
fn assembled(reads: &[String], bounds: Bounds, threads: usize) -> RunResults {
    let folder = tempfile::tempdir().unwrap();
    write_reads(folder.path(), reads);
    let request = Request {
        inputs: vec![folder.path().join("reads.fa")],
        parameters: json!({
            "profile": "paper", "kmer_sizes": bounds.k.to_string(), "min_count": bounds.min_count,
            "paper_rounds": bounds.rounds, "paper_jobs": bounds.jobs, "paper_edits": EDITS,
            "min_contig": 0,
        }),
        output: folder.path().to_owned(),
        seed: 0,
        threads,
        budget: Budget::new(1 << 30).into(),
        scratch: folder.path().to_owned(),
        verify: Default::default(),
        names: None,
    };
    run::<Pga>(&request, &Progress::default()).unwrap();
    let verdict = verify::<Pga>(&request, &Progress::default()).unwrap();
    assert!(verdict.verified, "{:?}", verdict.remark);
    let level = level(folder.path());
    let jobs = level["rounds"].as_array().unwrap().iter();
    let number = |job: &Value, name: &str| job[name].as_u64().unwrap();
    let jobs = jobs.map(|job| (number(job, "tips"), number(job, "bubbles"))).collect();
    (paths(folder.path()), jobs, level)
}

fn level(folder: &Path) -> Value {
    let stats = std::fs::read(folder.join("stats.json")).unwrap();
    serde_json::from_slice::<Value>(&stats).unwrap()["levels"][0].clone()
}

fn paths(folder: &Path) -> BTreeSet<(String, u64)> {
    let graph = std::fs::read_to_string(folder.join("graph.gfa")).unwrap();
    let segments = graph.lines().filter(|line| line.starts_with("S\t"));
    segments
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            (fields[2].to_owned(), fields[4].strip_prefix("KC:i:").unwrap().parse().unwrap())
        })
        .collect()
}

/// Draws reads of either strand of a small circle or repeat, some with a wrong or ambiguous base.
fn reads() -> impl Strategy<Value = Vec<String>> {
    let genome = prop_oneof!["[ACGT]{60,250}", "(A|C|AC|ACGT){20,120}", "[AC]{60,200}"];
    reads_of(genome, 1..40, (&["A", "G", "C", "T", "N"], 12))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn jobs_retain_the_vertices_that_a_sequential_program_by_the_same_rules_retains(
        reads in reads(),
        k in prop_oneof![Just(15usize), Just(17), Just(33)],
        min_count in 1u32..3,
        (rounds, jobs) in (
            prop_oneof![2 => Just(None), 1 => (1u64..5).prop_map(Some)],
            prop_oneof![Just(1u64), Just(2), Just(15)],
        ),
        threads in 1usize..4,
    ) {
        prop_assume!(reads.iter().any(|read| read.len() >= k));
        let bounds = Bounds { k, min_count, rounds, jobs };
        let (vertices, by_job, level) = assembled(&reads, bounds, threads);
        let mut graph = Graph::new(&reads, bounds);
        let expected = graph.run();
        prop_assert_eq!(vertices, graph.remaining());
        prop_assert_eq!(by_job, expected);
        let (_, _, same) = assembled(&reads, bounds, threads % 3 + 1);
        prop_assert_eq!(same, level);
    }

    #[test]
    fn the_first_stage_is_counted_as_its_text_would_be(
        reads in prop::collection::vec("[ACGT]{1,60}|[AC]{280,600}|A{300,400}|[ACGTN]{40}", 1..20),
        k in prop_oneof![Just(15usize), Just(31), Just(33)],
    ) {
        prop_assume!(reads.iter().any(|read| read.len() >= k));
        let bounds = Bounds { k, min_count: 1, rounds: None, jobs: 1 };
        let (_, _, level) = assembled(&reads, bounds, 2);
        let (mut mapped, mut reduced) = (0, BTreeMap::<&str, BTreeSet<&str>>::new());
        for read in reads.iter().filter(|read| !read.contains('N')) {
            for start in 0..read.len().saturating_sub(k) {
                let (kmer, next) = (&read[start..start + k], &read[start + 1..start + k + 1]);
                mapped += format!("{kmer}\t{next}\n").len();
                reduced.entry(kmer).or_default().insert(next);
            }
        }
        let lines = reduced.iter().map(|(kmer, next)| {
            let all: Vec<&str> = next.iter().copied().collect();
            format!("{kmer}\t{}\n", all.join("\t")).len()
        });
        let first = &level["first_stage"];
        prop_assert_eq!(first["pair_bytes"].as_u64().unwrap(), mapped as u64);
        prop_assert_eq!(first["adjacency_bytes"].as_u64().unwrap(), lines.sum::<usize>() as u64);
        prop_assert_eq!(first["vertices"].as_u64().unwrap(), reduced.len() as u64);
    }
}

/// Returns bases in which all k-mers differ.
fn drawn(length: usize) -> String {
    let chance = cuesta_core::random::Stream::new(7, 8);
    (0..length as u64).map(|at| char::from(b"ACGT"[(chance.bits(at) & 3) as usize])).collect()
}

#[test]
fn a_round_sends_labels_to_both_neighbours_and_tails_to_their_heads() {
    let (k, kmers) = (15, 486);
    let bounds = Bounds { k, min_count: 1, rounds: Some(1), jobs: 1 };
    let (paths, jobs, level) = assembled(&[drawn(kmers + k - 1)], bounds, 2);
    // Both ends have one edge: they are tips, not part of a chain.
    assert_eq!(jobs, [(2, 0)]);
    let merges = kmers - 2 - paths.len();
    let of = |work: &str, what: &str| level["traffic"][work][what].as_u64().unwrap() as usize;
    // A label to each neighbour; then each tail sends itself to its head, and its new place to the
    // other neighbour.
    assert_eq!(of("chains", "messages"), 2 * (kmers - 2) + 2 * merges);
    // A quarter of the links lead from a head to a tail.
    assert!((kmers / 8..kmers / 2).contains(&merges), "{merges}");
    // The last superstep of each only receives messages.
    assert_eq!((of("chains", "supersteps"), of("bubbles", "supersteps")), (2 + 1, 2 + 1));
    assert_eq!((of("tips", "supersteps"), of("edges", "supersteps")), (2, 2 + 2));
}

#[test]
fn jobs_take_two_supersteps_for_each_round_and_two_for_tips_and_for_bubbles() {
    let bounds = Bounds { k: 15, min_count: 1, rounds: None, jobs: 15 };
    let (paths, jobs, level) = assembled(&[drawn(500)], bounds, 2);
    // The ends are removed as tips; one path remains, and the second job removes nothing.
    assert_eq!((paths.len(), &jobs[..]), (1, &[(2, 0), (0, 0)][..]));
    assert_eq!(paths.first().unwrap().0.len(), 498);
    let of = |work: &str| level["traffic"][work]["supersteps"].as_u64().unwrap();
    assert_eq!((of("tips"), of("bubbles"), of("edges")), (4, 4, 4));
    assert_eq!(of("chains") % 2, 0);
}

#[test]
fn a_bubble_loses_the_side_of_fewer_merges_whatever_its_count() {
    let (k, genome) = (15, drawn(400));
    let mut variant = genome.clone();
    let letter = if &genome[200..201] == "A" { "C" } else { "A" };
    variant.replace_range(200..201, letter);
    let sides = [&genome[190..210], &variant[190..210]];
    let retained = |counts: [usize; 2]| {
        let reads = [vec![genome.clone(); counts[0]], vec![variant.clone(); counts[1]]].concat();
        let (paths, jobs, _) =
            assembled(&reads, Bounds { k, min_count: 1, rounds: None, jobs: 15 }, 2);
        assert_eq!(jobs.iter().map(|job| job.1).sum::<u64>(), 1);
        let all: Vec<String> =
            paths.iter().flat_map(|(path, _)| [path.clone(), turned(path)]).collect();
        sides.map(|side| all.iter().any(|path| path.contains(side)))
    };
    // The coin tosses are the same, so the same side is retained.
    assert_eq!(retained([9, 1]), retained([1, 9]));
    assert_ne!(retained([9, 1])[0], retained([9, 1])[1]);
}
