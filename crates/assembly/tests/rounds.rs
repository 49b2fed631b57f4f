//! In rounds, whatever engine does their tasks, the answer is that of the native run.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use common::{reads, turned, write_reads};
use cuesta_assembly::rounds::{lead, work};
use cuesta_core::Result;
use cuesta_core::job::{Request, Response};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_runtime::rounds::{Means, RandomEngine};
use cuesta_testkit::ranks;
use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with reads, one for an answer and one for scratch.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new(reads: &[String]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_reads(folder.path(), reads);
        std::fs::create_dir(folder.path().join("scratch")).unwrap();
        Self { folder }
    }

    fn request(&self, answer: &str, parameters: &Value) -> Request {
        let output = self.folder.path().join(answer);
        std::fs::create_dir_all(&output).unwrap();
        Request {
            inputs: vec![self.folder.path().join("reads.fa")],
            parameters: parameters.clone(),
            output,
            seed: 0,
            threads: 2,
            memory_bytes: 1 << 30,
            scratch: self.folder.path().join("scratch"),
            verify: Default::default(),
            names: None,
        }
    }

    /// The files of the native answer.
    fn native(&self, parameters: &Value) -> BTreeMap<String, Vec<u8>> {
        let request = self.request("native", parameters);
        cuesta_assembly::run(&request, &Progress::default()).unwrap();
        files(&request.output)
    }

    /// The files of an answer in rounds, and what the leader said. Nothing is left in scratch but
    /// what workers kept there for each other, which the engine removes.
    fn in_rounds(
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

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let inner = files(&path).into_iter();
            found.extend(inner.map(|(inner, bytes)| (format!("{name}/{inner}"), bytes)));
        } else {
            found.insert(name, std::fs::read(&path).unwrap());
        }
    }
    found
}

/// Half of the memory for what leads, the other half for what does tasks.
fn divided(request: &Request, means: Means) -> (Request, Request, Means) {
    let (means, memory_bytes) = means.divided(2);
    let leading = Request { memory_bytes, ..request.clone() };
    (leading, Request { memory_bytes: means.worker_bytes(), ..request.clone() }, means)
}

/// Workers that keep nothing, do tasks twice and die.
fn by_chance(request: &Request, means: Means, seed: u64) -> Result<Response> {
    let (leading, working, means) = divided(request, means);
    let engine = RandomEngine { worker: &|| work(&working, means), chance: Stream::new(seed, 0) };
    engine.run(lead(&leading, means)?.as_mut(), &Progress::default())
}

/// Workers that keep what they have.
fn by_ranks(request: &Request, means: Means) -> Result<Response> {
    let (leading, working, means) = divided(request, means);
    let workers: Result<Vec<_>> = (0..means.slots).map(|_| work(&working, means)).collect();
    ranks::run(lead(&leading, means)?.as_mut(), &mut workers?)
}

fn means(slots: usize, memory_bytes: u64) -> Means {
    Means { slots, memory_bytes, ..Means::default() }
}

/// Sizes of k-mers, and how fragments become unitigs.
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
        ("paper", "auto"),
    ]);
    (sizes, programs, prop::option::of(1u32..4)).prop_map(
        |(sizes, (profile, chains), min_count)| {
            let is_paper = profile == "paper";
            let sizes = if is_paper { sizes.split(',').next().unwrap() } else { sizes };
            json!({
                "kmer_sizes": sizes, "profile": profile, "chains": chains, "min_count": min_count,
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_engine_gives_the_native_answer(
        reads in reads(),
        parameters in parameters(),
        (slots, parts) in (1usize..4, 1usize..9),
        share_bytes in 100u64..5000,
        seed in any::<u64>(),
    ) {
        let first = parameters["kmer_sizes"].as_str().unwrap().split(',').next().unwrap();
        prop_assume!(reads.iter().any(|read| read.len() >= first.parse().unwrap()));
        let place = Place::new(&reads);
        let expected = place.native(&parameters);
        let shares = Means { task_bytes: Some(share_bytes), ..means(slots, 1 << 30) };
        let some = Means { tasks: Some(parts), ..shares };
        let (found, response) =
            place.in_rounds(&parameters, |request| by_chance(request, some, seed));
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(response.counts["parts"], parts as u64);
        if parameters["profile"] == "paper" {
            let text = Means { text: true, ..some };
            let (found, _) = place.in_rounds(&parameters, |request| by_chance(request, text, seed));
            prop_assert_eq!(&found, &expected);
        }
        let kept = Means { keeps: true, ..shares };
        let (found, response) = place.in_rounds(&parameters, |request| by_ranks(request, kept));
        prop_assert_eq!(&found, &expected);
        prop_assert_eq!(response.counts["parts"], slots as u64);
    }
}

/// Pairs of reads of a genome with repeats, with a wrong base in most.
fn pairs_with_errors(bases: usize) -> Vec<String> {
    let chance = Stream::new(11, 4);
    let letter = |at: u64| char::from(b"ACGT"[(chance.bits(at) & 3) as usize]);
    let mut genome: String = (0..bases as u64).map(letter).collect();
    // Copies that are told apart by the second size, by the third, and by pairs alone.
    for (index, length) in [40, 50, 150, 400].into_iter().enumerate() {
        let copy = genome[1000 * index..][..length].to_owned();
        let other = if index % 2 == 0 { turned(&copy) } else { copy };
        genome.replace_range(bases / 2 + 1000 * index.., &other);
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
        for (mate, range) in ends.into_iter().enumerate() {
            let mut read = genome[range].to_owned();
            let place = draw(2 + mate as u64, 100);
            read.replace_range(place..=place, ["A", "C", "G", "T", "N"][draw(4, 5)]);
            reads.push(if mate == 0 { read } else { turned(&read) });
        }
    }
    reads
}

/// Natively, reads are laid along the contigs of the size before; elsewhere all are counted anew.
#[test]
fn later_sizes_are_those_of_all_reads_counted_anew() {
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
        let engine =
            |request: &Request| by_ranks(request, Means { keeps: true, ..means(3, 1 << 30) });
        let (expected, _) = place.in_rounds(&parameters, engine);
        for (threads, memory_bytes) in [(1, 1 << 30), (3, 1 << 30), (2, 16 << 20)] {
            let request = Request { threads, memory_bytes, ..place.request("again", &parameters) };
            cuesta_assembly::run(&request, &Progress::default()).unwrap();
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

/// Tasks place pairs of shares that begin anywhere, in one file or in two.
#[test]
fn pairs_that_tasks_place_give_the_native_answer() {
    let place = Place::new(&pairs_with_errors(20_000));
    let folder = place.folder.path();
    let text = std::fs::read_to_string(folder.join("reads.fa")).unwrap();
    let records: Vec<&str> = text.split_inclusive('>').collect();
    let records = records.iter().map(|one| one.trim_end_matches('>')).filter(|one| !one.is_empty());
    let mut mates = [String::new(), String::new()];
    for (index, record) in records.enumerate() {
        // Lines of other lengths, so that places in one file are not those in the other.
        let more = " ".to_owned() + &"a".repeat(index % 7 * (index % 2));
        let bases = record.trim_start_matches('r');
        mates[index % 2] += &format!(">r{}{more}{bases}", index / 2);
    }
    for (name, text) in ["one.fa", "two.fa"].into_iter().zip(mates) {
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
        cuesta_assembly::run(&native, &Progress::default()).unwrap();
        let expected = files(&native.output);
        assert!(expected.contains_key("scaffolds.fa"));
        for (keeps, share_bytes) in [(true, 3001), (false, 40_000), (true, 1 << 30)] {
            let task_bytes = Some(share_bytes);
            let means = Means { keeps, task_bytes, ..means(3, 1 << 30) };
            let (found, _) = place.in_rounds(&parameters, |request| {
                let request = with_files(request);
                if keeps { by_ranks(&request, means) } else { by_chance(&request, means, 5) }
            });
            assert!(found == expected, "{option} {keeps} {share_bytes}");
        }
        std::fs::remove_dir_all(&native.output).unwrap();
    }
}

/// Two files of pairs that are named one way, and one of single reads.
fn named_pairs(folder: &Path, [one, two]: [&str; 2], lost: Option<usize>) -> Vec<PathBuf> {
    let reads = pairs_with_errors(9000);
    let mut texts = [String::new(), String::new(), String::new()];
    for (index, pair) in reads.chunks(2).enumerate() {
        let name = |style: &str| style.replace("{}", &index.to_string());
        if lost != Some(index) {
            texts[0] += &format!(">{}\n{}\n", name(one), pair[0]);
        }
        if index + 1 < reads.len() / 2 || lost.is_none() {
            texts[1] += &format!(">{}\n{}\n", name(two), pair[1]);
        }
        if index % 3 == 0 {
            texts[2] += &format!(">s{index}\n{}\n", &pair[1][..60]);
        }
    }
    let write = |(name, text): (&str, &String)| {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    ["1.fa", "2.fa", "s.fa"].into_iter().zip(&texts).map(write).collect()
}

/// All that a native run and runs in rounds say of some files.
fn everywhere(place: &Place, inputs: &[PathBuf], parameters: &Value) -> Vec<Result<Response>> {
    let with_files = |answer: &str| {
        let request = place.request(answer, parameters);
        Request { inputs: inputs.to_vec(), ..request }
    };
    let shares = |keeps| Means { keeps, task_bytes: Some(9001), ..means(3, 1 << 30) };
    vec![
        cuesta_assembly::run(&with_files("native"), &Progress::default()),
        by_ranks(&with_files("ranks"), shares(true)),
        by_chance(&with_files("rounds"), shares(false), 5),
    ]
}

#[test]
fn pairs_out_of_step_are_refused_by_all_engines_at_the_first() {
    for (style, layout) in [
        (["p{}/1", "p{}/2"], "pairs"),
        (["p{} 1:N:0:AC", "p{} 2:N:0:AC"], "pairs"),
        (["S.{}.1 {}", "S.{}.2 {}"], "pairs"),
        (["p{}", "p{}"], "pairs"),
    ] {
        let place = Place::new(&[]);
        let folder = place.folder.path();
        let parameters = json!({ "kmer_sizes": "31", layout: true });
        for answer in everywhere(&place, &named_pairs(folder, style, None)[..2], &parameters) {
            answer.unwrap();
        }
        let inputs = &named_pairs(folder, style, Some(300))[..2];
        let errors: Vec<String> = everywhere(&place, inputs, &parameters)
            .into_iter()
            .map(|answer| answer.unwrap_err().message)
            .collect();
        assert!(errors[0].contains("1.fa, record 301: its name differs"), "{}", errors[0]);
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
        let unchecked = json!({ "kmer_sizes": "31", layout: true, "unchecked_mates": true });
        for answer in everywhere(&place, inputs, &unchecked) {
            answer.unwrap();
        }
    }
}

#[test]
fn an_orphan_among_pairs_in_turn_is_refused_and_mere_numbers_are_not() {
    let place = Place::new(&[]);
    let folder = place.folder.path();
    let parameters = json!({ "kmer_sizes": "31", "interleaved": true });
    let reads = pairs_with_errors(9000);
    let path = folder.join("turn.fa");
    let written = |name: fn(usize) -> String, lost: usize| {
        let records = reads.iter().enumerate().filter(|(index, _)| ![lost, 999].contains(index));
        let text: String =
            records.map(|(index, read)| format!(">{}\n{read}\n", name(index))).collect();
        std::fs::write(&path, text).unwrap();
    };
    for lost in [0, 500] {
        written(|index| format!("p{}", index / 2), lost);
        for answer in everywhere(&place, &[path.clone()], &parameters) {
            let error = answer.unwrap_err().message;
            let place = format!("records {} and {}", lost + 1, lost + 2);
            assert!(error.contains(&place), "{error}");
        }
    }
    written(|index| format!("r{index}"), 500);
    for answer in everywhere(&place, &[path.clone()], &parameters) {
        answer.unwrap();
    }
}

#[test]
fn single_reads_with_pairs_and_empty_files_give_the_native_answer() {
    let place = Place::new(&[]);
    let folder = place.folder.path();
    let mut inputs = named_pairs(folder, ["p{}/1", "p{}/2"], None);
    let empty = folder.join("empty.fa");
    std::fs::write(&empty, "").unwrap();
    inputs.push(empty);
    let parameters = json!({ "kmer_sizes": "31,43", "pairs": true, "singles": 2 });
    for answer in everywhere(&place, &inputs, &parameters) {
        answer.unwrap();
    }
    let answers = ["native", "ranks", "rounds"].map(|name| files(&folder.join(name)));
    assert!(answers[0].contains_key("scaffolds.fa"));
    assert!(answers[1] == answers[0] && answers[2] == answers[0]);
    let without = json!({ "kmer_sizes": "31,43", "pairs": true });
    everywhere(&place, &inputs[..2], &without).into_iter().for_each(|answer| _ = answer.unwrap());
    assert!(files(&folder.join("native")) != answers[0]);
}

#[test]
fn the_order_of_reads_and_files_chooses_no_size() {
    let place = Place::new(&[]);
    let folder = place.folder.path();
    let reads = pairs_with_errors(30_000);
    let short: Vec<String> =
        reads.iter().cycle().take(40_000).map(|read| read[..36].to_owned()).collect();
    let text =
        |reads: &[String]| -> String { reads.iter().map(|read| format!(">r\n{read}\n")).collect() };
    let (long, short) = (text(&reads), text(&short));
    assert!(short.len() > 1 << 20);
    let path = folder.join("one.fa");
    let mut answers = Vec::new();
    for text in [[&long[..], &short], [&short, &long]] {
        std::fs::write(&path, text.concat()).unwrap();
        for answer in everywhere(&place, &[path.clone()], &json!({})) {
            answer.unwrap();
        }
        answers.extend(["native", "ranks", "rounds"].map(|name| files(&folder.join(name))));
        everywhere(&place, &[path.clone()], &json!({ "kmer_sizes": "55" }))
            .into_iter()
            .for_each(|answer| _ = answer.unwrap());
    }
    assert!(answers[0].contains_key("before/79.fa"));
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}

/// Reads of a genome that is long enough for a peak of counts, and for blocks that do not fit.
fn long_reads(bases: u64) -> Vec<String> {
    let chance = Stream::new(3, 4);
    let letter = |at: u64| char::from(b"ACGT"[(chance.bits(at) & 3) as usize]);
    let genome: String = (0..bases).map(letter).collect();
    let last = genome.len() - 100;
    (0..last).step_by(4).map(|start| genome[start..start + 100].to_owned()).collect()
}

#[test]
fn blocks_that_do_not_fit_go_to_scratch() {
    let place = Place::new(&long_reads(150_000));
    let parameters = json!({ "kmer_sizes": "31,55" });
    let expected = place.native(&parameters);
    for keeps in [false, true] {
        let tight = Means { keeps, ..means(2, 12 << 20) };
        let engine = |request: &Request| {
            if keeps { by_ranks(request, tight) } else { by_chance(request, tight, 5) }
        };
        let (found, response) = place.in_rounds(&parameters, engine);
        assert!(found == expected);
        let names: Vec<&str> = response.phases.iter().map(|phase| &phase.name[..]).collect();
        let expected = ["glue", "write", "simplify", "pairs", "glue", "write", "simplify"];
        assert_eq!(names, expected);
        let mut request = place.request("rounds", &parameters);
        request.scratch = request.scratch.join("missing");
        let error = engine(&request).unwrap_err();
        assert!(error.message.contains("missing/super-k-mers"), "{}", error.message);
    }
}

/// Blocks of a task are in memory until they are sent.
#[test]
fn reads_in_one_large_member_are_refused_where_a_task_has_no_memory_for_them() {
    let place = Place::new(&long_reads(50_000));
    let mut request = place.request("rounds", &json!({ "kmer_sizes": "31" }));
    let packed = gzipped(&std::fs::read(&request.inputs[0]).unwrap(), 0);
    request.inputs = vec![place.folder.path().join("reads.fa.gz")];
    std::fs::write(&request.inputs[0], packed).unwrap();
    let error = by_ranks(&request, Means { keeps: true, ..means(2, 12 << 20) }).unwrap_err();
    assert!(error.message.contains("reads.fa.gz is packed in pieces too large"), "{error:?}");
    by_ranks(&request, Means { keeps: true, ..means(2, 1 << 30) }).unwrap();
}

#[test]
fn adjacency_lists_that_do_not_fit_go_to_scratch() {
    let place = Place::new(&long_reads(20_000));
    let parameters = json!({ "kmer_sizes": "31", "profile": "paper", "paper_jobs": 1 });
    let expected = place.native(&parameters);
    let tight = Means { text: true, ..means(8, 160 << 20) };
    let (found, _) = place.in_rounds(&parameters, |request| by_chance(request, tight, 5));
    assert!(found == expected);
    let mut request = place.request("rounds", &parameters);
    request.scratch = request.scratch.join("missing");
    let tight = Means { text: true, ..means(8, 2 << 20) };
    let error = by_chance(&request, tight, 5).unwrap_err();
    assert!(error.message.contains("missing/super-k-mers"), "{}", error.message);
}

#[test]
fn what_does_not_fit_in_the_memory_of_a_part_is_told() {
    let place = Place::new(&long_reads(60_000));
    let request = place.request("rounds", &json!({ "kmer_sizes": "31", "profile": "paper" }));
    let error = by_chance(&request, means(2, 16 << 20), 5).unwrap_err();
    assert!(error.message.contains("a part of the vertices needs"), "{}", error.message);
    assert!(error.message.contains("raise --memory"), "{}", error.message);
}

#[test]
fn a_request_without_reads_or_of_other_types_is_refused_at_once() {
    let place = Place::new(&["A".repeat(40)]);
    let mut request = place.request("rounds", &json!({ "kmer_sizes": 31 }));
    assert!(lead(&request, means(1, 1 << 30)).is_err());
    assert!(work(&request, means(1, 1 << 30)).is_err());
    (request.parameters, request.inputs) = (json!({}), Vec::new());
    let error = lead(&request, means(1, 1 << 30)).err().unwrap();
    assert!(error.message.contains("no input"), "{}", error.message);
}
