//! Runs natively, in rounds, and resumed; and their verification.

use std::fs;

use cuesta_assembly::rounds::lead;
use cuesta_assembly::run;
use cuesta_core::job::Response;
use cuesta_core::progress::Progress;
use cuesta_pga::Pga;
use cuesta_runtime::rounds::Resources;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::engines::{Place, by_chance, by_ranks, files, long_reads, resources};
use crate::common::mutants::{no_mutant_passes, single};
use crate::common::reads;
use crate::common::unitigs::{assembled, expected};

fn parameters(more: Value) -> Value {
    let mut all = json!({ "profile": "paper" });
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn answers_of_all_engines_equal_the_native_answer(
        reads in reads(),
        (k, min_count) in (prop_oneof![Just(15usize), Just(31)], prop::option::of(1u32..4)),
        (slots, parts) in (1usize..4, 1usize..9),
        share_bytes in 100u64..5000,
        seed in any::<u64>(),
    ) {
        prop_assume!(reads.iter().any(|read| read.len() >= k));
        let parameters = parameters(json!({ "kmer_sizes": k.to_string(), "min_count": min_count }));
        let place = Place::new(&reads);
        let expected = place.native::<Pga>(&parameters);
        let shares = Resources { task_bytes: Some(share_bytes), ..resources(slots, 1 << 30) };
        for text in [false, true] {
            let resources = Resources { tasks: Some(parts), text, ..shares };
            let (answer, response) =
                place.in_rounds(&parameters, |request| by_chance::<Pga>(request, resources, seed));
            prop_assert_eq!(&answer, &expected);
            prop_assert_eq!(response.counts["parts"], parts as u64);
        }
        let stateful = Resources { keeps: true, ..shares };
        let (answer, response) =
            place.in_rounds(&parameters, |request| by_ranks::<Pga>(request, stateful));
        prop_assert_eq!(&answer, &expected);
        prop_assert_eq!(response.counts["parts"], slots as u64);
    }

    #[test]
    fn unitigs_are_those_of_the_definition(
        reads in reads(),
        k in prop_oneof![Just(15usize), Just(31), Just(33)],
        min_count in 1u32..4,
        threads in 1usize..4,
    ) {
        let reads: Vec<String> = reads.into_iter().filter(|read| !read.contains('N')).collect();
        prop_assume!(reads.iter().any(|read| read.len() >= k));
        let of_definition = match k {
            0..=31 => expected::<u64>(&reads, k, min_count),
            _ => expected::<u128>(&reads, k, min_count),
        };
        let resources = (threads, 1 << 30);
        let unitigs = assembled::<Pga>(&reads, (k, min_count), resources, ("paper", "auto"));
        prop_assert_eq!(unitigs, of_definition);
    }

    #[test]
    fn a_run_resumes_after_any_stage(reads in prop::collection::vec("[ACGT]{20,60}", 1..30)) {
        let place = Place::new(&reads);
        let saved = place.folder.path().join("kept");
        let parameters = parameters(json!({ "kmer_sizes": "15", "resume": saved, "min_count": 1 }));
        let expected = place.native::<Pga>(&parameters);
        for (removed, restarts) in [("", false), ("0.paths", false), ("0.fragments", true)] {
            _ = fs::remove_file(saved.join(removed));
            let request = place.request("again", &parameters);
            let response = run::<Pga>(&request, &Progress::default()).unwrap();
            prop_assert_eq!(files(&request.output), expected.clone());
            let is_compact = response.phases.iter().any(|phase| phase.name == "compact");
            prop_assert_eq!(is_compact, restarts);
        }
    }
}

#[test]
fn adjacency_lists_that_do_not_fit_go_to_scratch() {
    let place = Place::new(&long_reads(20_000));
    let parameters = json!({ "kmer_sizes": "31", "profile": "paper", "paper_jobs": 1 });
    let expected = place.native::<Pga>(&parameters);
    let tight = Resources { text: true, ..resources(8, 160 << 20) };
    let (answer, _) = place.in_rounds(&parameters, |request| by_chance::<Pga>(request, tight, 5));
    assert!(answer == expected);
    let mut request = place.request("rounds", &parameters);
    request.scratch = request.scratch.join("missing");
    let tight = Resources { text: true, ..resources(8, 2 << 20) };
    let error = by_chance::<Pga>(&request, tight, 5).unwrap_err();
    assert!(error.message().contains("missing/super-k-mers"), "{}", error.message());
}

#[test]
fn vertices_that_exceed_the_memory_of_a_part_are_reported() {
    let place = Place::new(&long_reads(60_000));
    let request = place.request("rounds", &json!({ "kmer_sizes": "31", "profile": "paper" }));
    let error = by_chance::<Pga>(&request, resources(2, 16 << 20), 5).unwrap_err();
    assert!(error.message().contains("a part of the vertices needs"), "{}", error.message());
    assert!(error.message().contains("raise --memory"), "{}", error.message());
}

#[test]
fn engines_whose_shuffle_takes_text_run_the_first_stage_of_the_paper() {
    let place = Place::new(&["ACGTTGCAAC".repeat(6)]);
    let request = place.request("rounds", &parameters(json!({})));
    for (text, phase) in [(true, "first stage"), (false, "partition and compact")] {
        let resources = Resources { text, ..resources(2, 1 << 30) };
        let mut leader = lead::<Pga>(&request, resources).unwrap();
        let (mut response, progress) = (Response::default(), Progress::default());
        let round = leader.next(Vec::new(), &mut response, &progress).unwrap().unwrap();
        assert_eq!((&*round.phase, round.is_text), (phase, text));
    }
}

#[test]
fn no_wrong_answer_passes() {
    let answer = single::<Pga>("21", &json!({ "profile": "paper" }), 600, 120);
    no_mutant_passes::<Pga>("paper", &answer);
}
