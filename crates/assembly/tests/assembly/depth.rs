//! Reads that are deeper than requested: a counter takes as many as give the depth, with their
//! mates, the same in all engines.

use std::path::{Path, PathBuf};

use crate::common::engines::{Place, assert_same_everywhere};
use crate::common::turned;
use cuesta_assembly::method::BuiltIn;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use serde_json::{Value, json};

const GENOME_BASES: usize = 6_000;
const READ_BASES: usize = 100;
const DEPTH: u64 = 40;

/// Draws pairs of a genome, one after another; their names have their numbers.
fn drawn_pairs(depth: usize) -> Vec<[String; 2]> {
    let chance = Stream::new(31, 4);
    let letter = |at: u64| char::from(b"ACGT"[(chance.bits(at) & 3) as usize]);
    let genome: String = (0..GENOME_BASES as u64).map(letter).collect();
    let pair = |index: u64| {
        let draw = |what: u64, below: u64| chance.below((1 << 40) + index * 4 + what, below);
        let span = 180 + draw(0, 60) as usize;
        let start = draw(1, (GENOME_BASES - span) as u64) as usize;
        let fragment = &genome[start..start + span];
        let reads = [fragment[..READ_BASES].to_owned(), turned(fragment)[..READ_BASES].to_owned()];
        if draw(2, 2) == 1 { [reads[1].clone(), reads[0].clone()] } else { reads }
    };
    (0..(GENOME_BASES * depth / 2 / READ_BASES) as u64).map(pair).collect()
}

fn fastq(name: &str, reads: impl Iterator<Item = (usize, String)>) -> String {
    let record = |(index, read): (usize, String)| {
        format!("@{name}{index}\n{read}\n+\n{}\n", "I".repeat(read.len()))
    };
    reads.map(record).collect()
}

/// Writes pairs in turn to one file, or to two files, and single reads to another.
fn written(
    folder: &Path,
    (pairs, in_turn): (&[[String; 2]], bool),
    singles: &[[String; 2]],
) -> Vec<PathBuf> {
    let side = |side: usize| pairs.iter().map(move |pair| pair[side].clone()).enumerate();
    let texts = if in_turn {
        let reads = pairs.iter().enumerate();
        let reads = reads.flat_map(|(at, pair)| pair.iter().map(move |read| (at, read.clone())));
        vec![fastq("p", reads)]
    } else {
        vec![fastq("p", side(0)), fastq("p", side(1))]
    };
    let singles = fastq("s", singles.iter().map(|pair| pair[0].clone()).enumerate());
    let write = |(at, text): (usize, String)| {
        let path = folder.join(format!("{in_turn}_{at}.fq"));
        std::fs::write(&path, text).unwrap();
        path
    };
    texts.into_iter().chain([singles]).enumerate().map(write).collect()
}

fn request(place: &Place, answer: &str, (inputs, parameters): (&[PathBuf], &Value)) -> Request {
    Request { inputs: inputs.to_vec(), ..place.request(answer, parameters) }
}

fn first_level(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("stats.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["levels"][0].take()
}

fn run(request: &Request) {
    cuesta_assembly::run::<BuiltIn>(request, &Progress::default()).unwrap();
}

fn is_verified(request: &Request) -> bool {
    cuesta_assembly::verify::<BuiltIn>(request, &Progress::default()).unwrap().verified
}

#[test]
fn deep_reads_are_sampled_alike_everywhere_and_verified() {
    let pairs = drawn_pairs(200);
    for (in_turn, trim) in [(false, "none"), (true, "none"), (false, "auto")] {
        let place = Place::new(&[]);
        let inputs = written(place.folder.path(), (&pairs[..5000], in_turn), &pairs[5000..]);
        let layout = if in_turn { "interleaved" } else { "pairs" };
        let parameters = json!({ layout: true, "singles": 1, "trim": trim, "depth": DEPTH });
        let native = request(&place, "native", (&inputs, &parameters));
        run(&native);
        assert!(is_verified(&native));
        let level = first_level(&native.output);
        let sampled = |what: &str| level["sampled"][what].as_u64().unwrap();
        assert_eq!(sampled("reads"), 11_000);
        assert_eq!(sampled("letters"), 1_100_000);
        assert!(sampled("genome").abs_diff(GENOME_BASES as u64) < 100);
        let bases = level["read_bases"].as_u64().unwrap();
        assert_eq!(sampled("taken") * READ_BASES as u64, bases);
        assert!(bases.abs_diff(DEPTH * sampled("genome")) < 4 * READ_BASES as u64);
        assert_same_everywhere::<BuiltIn>(&native);
        // A wrong number is noticed.
        let path = native.output.join("stats.json");
        let text = std::fs::read_to_string(&path).unwrap();
        let taken = sampled("taken");
        let wrong = text.replace(&format!("\"taken\": {taken}"), "\"taken\": 7");
        assert_ne!(text, wrong);
        std::fs::write(&path, wrong).unwrap();
        assert!(!is_verified(&native));
    }
}

#[test]
fn the_reads_that_are_taken_give_the_answer_of_these_alone() {
    let pairs = drawn_pairs(200);
    let place = Place::new(&[]);
    let all = written(place.folder.path(), (&pairs, false), &[]);
    let parameters = json!({ "pairs": true, "trim": "none", "depth": DEPTH });
    let sampled = request(&place, "sampled", (&all[..2], &parameters));
    run(&sampled);
    let level = first_level(&sampled.output);
    let number = |what: &str| level["sampled"][what].as_u64().unwrap();
    let (wanted, letters) = (DEPTH * number("genome"), number("letters"));
    let is_taken = |index: u64| (index + 1) * wanted / letters > index * wanted / letters;
    let taken: Vec<[String; 2]> =
        (0..).zip(pairs).filter(|(index, _)| is_taken(*index)).map(|(_, pair)| pair).collect();
    let folder = tempfile::tempdir().unwrap();
    let alone = written(folder.path(), (&taken, false), &[]);
    let parameters = json!({ "pairs": true, "trim": "none" });
    let alone = request(&place, "alone", (&alone[..2], &parameters));
    run(&alone);
    for name in ["contigs.fa", "graph.gfa", "unitigs.fa", "spectrum.tsv"] {
        let read = |request: &Request| std::fs::read(request.output.join(name)).unwrap();
        assert!(read(&sampled) == read(&alone), "{name}");
    }
}

#[test]
fn reads_that_are_no_deeper_are_all_taken_and_a_wrong_depth_refused() {
    let place = Place::new(&[]);
    let inputs = written(place.folder.path(), (&drawn_pairs(30), false), &[]);
    let parameters = json!({ "pairs": true, "trim": "none", "depth": DEPTH });
    let shallow = request(&place, "shallow", (&inputs[..2], &parameters));
    run(&shallow);
    let level = first_level(&shallow.output);
    assert_eq!(level["sampled"]["taken"], level["sampled"]["reads"]);
    assert!(is_verified(&shallow));
    for (parameters, cause) in [
        (json!({ "pairs": true, "depth": 0 }), "--depth is 0"),
        (json!({ "pairs": true, "depth": 9, "profile": "metagenome" }), "--profile metagenome"),
    ] {
        let refused = request(&place, "refused", (&inputs[..2], &parameters));
        let error = cuesta_assembly::run::<BuiltIn>(&refused, &Progress::default()).unwrap_err();
        assert!(error.message().contains(cause), "{}", error.message());
    }
}
