//! Runs in rounds, which have the native answer whatever engine does their tasks.

use std::io::Write;

use crate::common::engines::{
    Place, by_chance, by_ranks, files, long_reads, pairs_with_errors, resources,
};
use crate::common::{have_all_sizes, reads};
use cuesta_assembly::method::BuiltIn;
use cuesta_assembly::rounds::{lead, work};
use cuesta_core::budget::Budget;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_runtime::rounds::Resources;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Draws sizes of k-mers, rules for errors, and methods that join fragments.
fn parameters() -> impl Strategy<Value = Value> {
    let sizes = prop::sample::select(vec!["15", "31", "15,21", "21,33", "15,31,65"]);
    let programs = prop::sample::select(vec![
        ("default", "auto"),
        ("default", "auto"),
        ("none", "auto"),
        ("default", "ranking"),
        ("none", "ranking"),
        ("metagenome", "auto"),
        ("metagenome", "ranking"),
    ]);
    (sizes, programs, prop::option::of(1u32..4)).prop_map(
        |(sizes, (profile, chains), min_count)| {
            json!({
                "kmer_sizes": sizes, "profile": profile, "chains": chains, "min_count": min_count,
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn answers_of_all_engines_equal_the_native_answer(
        reads in reads(),
        parameters in parameters(),
        (slots, parts) in (1usize..4, 1usize..9),
        share_bytes in 100u64..5000,
        seed in any::<u64>(),
    ) {
        prop_assume!(have_all_sizes(&reads, parameters["kmer_sizes"].as_str().unwrap()));
        let place = Place::new(&reads);
        let expected = place.native::<BuiltIn>(&parameters);
        let shares = Resources { task_bytes: Some(share_bytes), ..resources(slots, 1 << 30) };
        let with_parts = Resources { tasks: Some(parts), ..shares };
        let (answer, response) =
            place.in_rounds(&parameters, |request| by_chance::<BuiltIn>(request, with_parts, seed));
        prop_assert_eq!(&answer, &expected);
        prop_assert_eq!(response.counts["parts"], parts as u64);
        let stateful = Resources { keeps: true, ..shares };
        let (answer, response) =
            place.in_rounds(&parameters, |request| by_ranks::<BuiltIn>(request, stateful));
        prop_assert_eq!(&answer, &expected);
        prop_assert_eq!(response.counts["parts"], slots as u64);
    }
}

/// Natively, reads are aligned to the contigs of the size before; in rounds all k-mers are counted.
#[test]
fn native_answers_of_later_sizes_equal_those_that_count_all_reads() {
    let place = Place::new(&pairs_with_errors(20_000));
    for (sizes, interleaved, min_count) in [
        ("31,43,55", false, None),
        ("21,33,65,91", false, Some(1)),
        ("31,43,55,67,79", true, None),
        ("41,61", true, Some(3)),
    ] {
        let parameters = json!({
            "kmer_sizes": sizes, "interleaved": interleaved, "min_count": min_count,
        });
        let engine = |request: &Request| {
            by_ranks::<BuiltIn>(request, Resources { keeps: true, ..resources(3, 1 << 30) })
        };
        let (expected, _) = place.in_rounds(&parameters, engine);
        for (threads, memory_bytes) in [(1, 1 << 30), (3, 1 << 30), (2, 16 << 20)] {
            let request = Request {
                threads,
                budget: Budget::new(memory_bytes).into(),
                ..place.request("again", &parameters)
            };
            cuesta_assembly::run::<BuiltIn>(&request, &Progress::default()).unwrap();
            assert!(files(&request.output) == expected, "{parameters} {threads} {memory_bytes}");
            std::fs::remove_dir_all(&request.output).unwrap();
        }
        std::fs::remove_dir_all(place.folder.path().join("rounds")).unwrap();
    }
}

fn gzipped(text: &[u8], level: u32) -> Vec<u8> {
    let mut member = GzEncoder::new(Vec::new(), Compression::new(level));
    member.write_all(text).unwrap();
    member.finish().unwrap()
}

/// Tasks place pairs from shares that begin at any position, in one file or in two.
#[test]
fn pairs_that_tasks_place_give_the_native_answer() {
    let place = Place::new(&pairs_with_errors(20_000));
    let folder = place.folder.path();
    let text = std::fs::read_to_string(folder.join("reads.fa")).unwrap();
    let records: Vec<&str> = text.split_inclusive('>').collect();
    let records = records
        .iter()
        .map(|record| record.trim_end_matches('>'))
        .filter(|record| !record.is_empty());
    let mut files_of_pairs = [String::new(), String::new()];
    for (index, record) in records.enumerate() {
        // Headers of different lengths, so that positions differ between the two files.
        let more = " ".to_owned() + &"a".repeat(index % 7 * (index % 2));
        let bases = record.trim_start_matches('r');
        files_of_pairs[index % 2] += &format!(">r{}{more}{bases}", index / 2);
    }
    for (name, text) in ["one.fa", "two.fa"].into_iter().zip(files_of_pairs) {
        std::fs::write(folder.join(name), &text).unwrap();
        let members = text.as_bytes().chunks(1499).flat_map(|part| gzipped(part, 6));
        std::fs::write(folder.join(name.to_owned() + ".gz"), members.collect::<Vec<_>>()).unwrap();
    }
    for (option, names) in [
        ("interleaved", &["reads.fa"][..]),
        ("pairs", &["one.fa", "two.fa"][..]),
        ("pairs", &["one.fa.gz", "two.fa.gz"][..]),
    ] {
        let parameters = json!({ "kmer_sizes": "31,43", option: true });
        let with_files = |request: &Request| {
            let inputs = names.iter().map(|name| folder.join(name)).collect();
            Request { inputs, ..request.clone() }
        };
        let native = with_files(&place.request("native", &parameters));
        cuesta_assembly::run::<BuiltIn>(&native, &Progress::default()).unwrap();
        let expected = files(&native.output);
        assert!(expected.contains_key("scaffolds.fa"));
        for (keeps, share_bytes) in [(true, 3001), (false, 40_000), (true, 1 << 30)] {
            let task_bytes = Some(share_bytes);
            let resources = Resources { keeps, task_bytes, ..resources(3, 1 << 30) };
            let (answer, _) = place.in_rounds(&parameters, |request| {
                let request = with_files(request);
                if keeps {
                    by_ranks::<BuiltIn>(&request, resources)
                } else {
                    by_chance::<BuiltIn>(&request, resources, 5)
                }
            });
            assert!(answer == expected, "{option} {keeps} {share_bytes}");
        }
        std::fs::remove_dir_all(&native.output).unwrap();
    }
}

#[test]
fn blocks_that_do_not_fit_go_to_scratch() {
    let place = Place::new(&long_reads(150_000));
    let parameters = json!({ "kmer_sizes": "31,55" });
    let expected = place.native::<BuiltIn>(&parameters);
    for keeps in [false, true] {
        let tight = Resources { keeps, ..resources(2, 12 << 20) };
        let engine = |request: &Request| {
            if keeps {
                by_ranks::<BuiltIn>(request, tight)
            } else {
                by_chance::<BuiltIn>(request, tight, 5)
            }
        };
        let (answer, response) = place.in_rounds(&parameters, engine);
        assert!(answer == expected);
        let names: Vec<&str> = response.phases.iter().map(|phase| &phase.name[..]).collect();
        let expected = ["glue", "write", "simplify", "pairs", "glue", "write", "simplify"];
        assert_eq!(names, expected);
        let mut request = place.request("rounds", &parameters);
        request.scratch = request.scratch.join("missing");
        let error = engine(&request).unwrap_err();
        assert!(error.message().contains("missing/super-k-mers"), "{}", error.message());
    }
}

/// Blocks of a task are in memory until they are sent.
#[test]
fn reads_in_a_large_gzip_member_are_refused_where_a_task_lacks_memory() {
    let place = Place::new(&long_reads(50_000));
    let mut request = place.request("rounds", &json!({ "kmer_sizes": "31" }));
    let packed = gzipped(&std::fs::read(&request.inputs[0]).unwrap(), 0);
    request.inputs = vec![place.folder.path().join("reads.fa.gz")];
    std::fs::write(&request.inputs[0], packed).unwrap();
    let error = by_ranks::<BuiltIn>(&request, Resources { keeps: true, ..resources(2, 12 << 20) })
        .unwrap_err();
    assert!(error.message().contains("reads.fa.gz is packed in pieces too large"), "{error:?}");
    by_ranks::<BuiltIn>(&request, Resources { keeps: true, ..resources(2, 1 << 30) }).unwrap();
}

#[test]
fn a_request_without_reads_or_of_other_types_is_refused_at_once() {
    let place = Place::new(&["A".repeat(40)]);
    let mut request = place.request("rounds", &json!({ "kmer_sizes": 31 }));
    assert!(lead::<BuiltIn>(&request, resources(1, 1 << 30)).is_err());
    assert!(work::<BuiltIn>(&request, resources(1, 1 << 30)).is_err());
    (request.parameters, request.inputs) = (json!({}), Vec::new());
    let error = lead::<BuiltIn>(&request, resources(1, 1 << 30)).err().unwrap();
    assert!(error.message().contains("no input"), "{}", error.message());
}
