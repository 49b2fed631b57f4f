//! Verification of answers, at any memory at which their runs succeed.

use std::path::Path;

use cuesta_assembly::method::BuiltIn;
use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Verdict, VerificationLevel};
use cuesta_core::progress::Progress;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{have_all_sizes, reads, write_reads};

fn request(folder: &Path, parameters: &Value, (threads, memory_bytes): (usize, u64)) -> Request {
    Request {
        inputs: vec![folder.join("reads.fa")],
        parameters: parameters.clone(),
        output: folder.join("answer"),
        seed: 0,
        threads,
        budget: Budget::new(memory_bytes).into(),
        scratch: folder.to_owned(),
        verify: VerificationLevel::Full,
        names: None,
    }
}

fn run(request: &Request) -> Result<()> {
    _ = std::fs::remove_dir_all(&request.output);
    std::fs::create_dir(&request.output).unwrap();
    cuesta_assembly::run::<BuiltIn>(request, &Progress::default()).map(|_| ())
}

fn verified(request: &Request) -> Verdict {
    let verdict = cuesta_assembly::verify::<BuiltIn>(request, &Progress::default()).unwrap();
    assert!(verdict.verified, "{:?}", verdict.remark);
    verdict
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn all_answers_are_verified(
        reads in reads(),
        sizes in prop_oneof![
            Just("15"), Just("21"), Just("31"), Just("33"), Just("65"), Just("15,21"),
            Just("21,31,33"), Just("31,65,71"),
        ],
        (min_count, drop_reads_with_n) in (prop::option::of(1u32..4), any::<bool>()),
        (profile, chains) in prop_oneof![
            2 => Just(("default", "auto")),
            2 => Just(("none", "auto")),
            1 => Just(("default", "ranking")),
            2 => Just(("metagenome", "auto")),
            1 => Just(("metagenome", "ranking")),
        ],
        resources in (1usize..4, prop_oneof![Just(1u64 << 30), Just(24 << 20)]),
    ) {
        prop_assume!(have_all_sizes(&reads, sizes));
        let folder = tempfile::tempdir().unwrap();
        write_reads(folder.path(), &reads);
        let parameters = json!({
            "kmer_sizes": sizes, "min_count": min_count, "profile": profile, "chains": chains,
            "drop_reads_with_n": drop_reads_with_n, "min_contig": 40,
        });
        let mut request = request(folder.path(), &parameters, resources);
        run(&request).unwrap();
        let full = verified(&request);
        request.verify = VerificationLevel::Sample;
        let sample = verified(&request);
        prop_assert_eq!(full.digest, sample.digest);
        prop_assert_eq!(full.files, sample.files);
    }
}

/// Finds the least memory, in steps of 1/8, at which a run succeeds, and verifies the answers
/// there.
#[test]
fn an_answer_is_verified_at_the_least_memory_of_its_run() {
    let chance = cuesta_core::random::Stream::new(4, 4);
    let genome: String =
        (0..40_000).map(|place| char::from(b"ACGT"[(chance.bits(place) & 3) as usize])).collect();
    let errors: String = (0..30_000u64)
        .map(|index| {
            let start = chance.below((1 << 32) + index, 39_900) as usize;
            let mut read = genome[start..start + 100].to_owned();
            let place = chance.below((2 << 32) + index, 100) as usize;
            let letter = ["A", "C", "G", "T"][chance.below((3 << 32) + index, 4) as usize];
            read.replace_range(place..=place, letter);
            format!("@r\n{read}\n+\n{read}\n")
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("reads.fa"), errors).unwrap();
    for (sizes, min_count) in [("31", 1), ("31", 3), ("21,41", 2), ("65", 1)] {
        let parameters = json!({ "kmer_sizes": sizes, "min_count": min_count, "min_contig": 0 });
        for threads in [1, 2] {
            // With two threads chance decides at the least memory, so existing answers are not made
            // again.
            let at = |memory_bytes: u64| Request {
                output: folder.path().join(format!("answer-{memory_bytes}")),
                ..request(folder.path(), &parameters, (threads, memory_bytes))
            };
            let bytes = |step: i32| (f64::from(256 << 20) * 0.875_f64.powi(step)) as u64;
            // The last step is 430 KiB, where none succeeds.
            let (mut enough, mut little) = (0, 48);
            run(&at(bytes(enough))).unwrap();
            while little - enough > 1 {
                let step = i32::midpoint(enough, little);
                if run(&at(bytes(step))).is_ok() {
                    enough = step;
                } else {
                    little = step;
                }
            }
            verified(&at(bytes(enough)));
        }
    }
}
