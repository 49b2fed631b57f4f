//! Mutants of answers, none of which may pass the verification: each file is changed in many ways.
//!
//! `CUESTA_MUTANTS=10000 cargo test --release --test mutants -- --nocapture` makes 10,000 mutants
//! of each answer.

use std::fs;

use crate::common::mutants::{answer, genome, no_mutant_passes, reads, single};
use cuesta_assembly::method::BuiltIn;
use cuesta_core::random::Stream;
use serde_json::json;

#[test]
fn no_wrong_answer_for_a_single_kmer_size_passes() {
    no_mutant_passes::<BuiltIn>(
        "k = 15",
        &single::<BuiltIn>("15", &json!({ "min_count": 2 }), 600, 120),
    );
    no_mutant_passes::<BuiltIn>(
        "k = 31",
        &single::<BuiltIn>("31", &json!({ "min_count": 1 }), 600, 120),
    );
    no_mutant_passes::<BuiltIn>(
        "k = 31, min_count by the spectrum",
        &single::<BuiltIn>("31", &json!({}), 2000, 600),
    );
    let none = json!({ "min_count": 2, "profile": "none", "min_contig": 40 });
    no_mutant_passes::<BuiltIn>(
        "k = 21, nothing taken out",
        &single::<BuiltIn>("21", &none, 600, 120),
    );
}

#[test]
fn no_wrong_answer_of_several_sizes_passes() {
    no_mutant_passes::<BuiltIn>(
        "k = 15, 21, 33",
        &single::<BuiltIn>("15,21,33", &json!({}), 600, 200),
    );
}

#[test]
fn no_wrong_answer_from_read_pairs_passes() {
    let chance = Stream::new(5, 6);
    let genome = genome(&chance, 2400);
    let reads = reads(&chance, &genome, (4000, 45), Some(140));
    let parameters = json!({ "kmer_sizes": "21,31", "interleaved": true, "min_contig": 0 });
    let answer = answer::<BuiltIn>(&parameters, &reads);
    let stats = fs::read_to_string(answer.request.output.join("stats.json")).unwrap();
    assert!(stats.contains("\"insert\""), "{stats}");
    no_mutant_passes::<BuiltIn>("mates", &answer);
}

#[test]
fn no_wrong_answer_of_a_metagenome_passes() {
    let many = json!({ "profile": "metagenome" });
    no_mutant_passes::<BuiltIn>(
        "metagenome, k = 31, 43",
        &single::<BuiltIn>("31,43", &many, 900, 150),
    );
}

#[test]
fn no_wrong_answer_of_vertex_programs_passes() {
    no_mutant_passes::<BuiltIn>(
        "ranking",
        &single::<BuiltIn>("15,21", &json!({ "chains": "ranking" }), 600, 120),
    );
}
