//! Checks of pairs by the names of their reads, and single reads in addition to pairs, in all
//! engines.

use std::path::{Path, PathBuf};

use crate::common::engines::{Place, by_chance, by_ranks, files, pairs_with_errors, resources};
use cuesta_assembly::method::BuiltIn;
use cuesta_core::Result;
use cuesta_core::job::{Request, Response};
use cuesta_core::progress::Progress;
use cuesta_runtime::rounds::Resources;
use serde_json::{Value, json};

/// Writes two files of pairs with names of these styles, and one of single reads.
fn named_pairs(folder: &Path, [first, second]: [&str; 2], lost: Option<usize>) -> Vec<PathBuf> {
    let reads = pairs_with_errors(20_000);
    let mut texts = [String::new(), String::new(), String::new()];
    for (index, pair) in reads.chunks(2).enumerate() {
        let name = |style: &str| style.replace("{}", &index.to_string());
        if lost != Some(index) {
            texts[0] += &format!(">{}\n{}\n", name(first), pair[0]);
        }
        if index + 1 < reads.len() / 2 || lost.is_none() {
            texts[1] += &format!(">{}\n{}\n", name(second), pair[1]);
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

/// Returns the results of a native run and of runs in rounds on some files.
fn everywhere(place: &Place, inputs: &[PathBuf], parameters: &Value) -> Vec<Result<Response>> {
    let with_files = |answer: &str| {
        let request = place.request(answer, parameters);
        Request { inputs: inputs.to_vec(), ..request }
    };
    let shares = |keeps| Resources { keeps, task_bytes: Some(9001), ..resources(3, 1 << 30) };
    vec![
        cuesta_assembly::run::<BuiltIn>(&with_files("native"), &Progress::default()),
        by_ranks::<BuiltIn>(&with_files("ranks"), shares(true)),
        by_chance::<BuiltIn>(&with_files("rounds"), shares(false), 5),
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
            .map(|answer| answer.unwrap_err().message())
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
        for answer in everywhere(&place, std::slice::from_ref(&path), &parameters) {
            let error = answer.unwrap_err().message();
            let place = format!("records {} and {}", lost + 1, lost + 2);
            assert!(error.contains(&place), "{error}");
        }
    }
    written(|index| format!("r{index}"), 500);
    for answer in everywhere(&place, std::slice::from_ref(&path), &parameters) {
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
    let reads = pairs_with_errors(90_000);
    let short: Vec<String> =
        reads.iter().cycle().take(27_000).map(|read| read[..36].to_owned()).collect();
    let text =
        |reads: &[String]| -> String { reads.iter().map(|read| format!(">r\n{read}\n")).collect() };
    let (long, short) = (text(&reads), text(&short));
    assert!(short.len() > 1 << 20);
    let path = folder.join("one.fa");
    let mut answers = Vec::new();
    for text in [[&long[..], &short], [&short, &long]] {
        std::fs::write(&path, text.concat()).unwrap();
        for answer in everywhere(&place, std::slice::from_ref(&path), &json!({})) {
            answer.unwrap();
        }
        answers.extend(["native", "ranks", "rounds"].map(|name| files(&folder.join(name))));
        everywhere(&place, std::slice::from_ref(&path), &json!({ "kmer_sizes": "55" }))
            .into_iter()
            .for_each(|answer| _ = answer.unwrap());
    }
    assert!(answers[0].contains_key("before/79.fa"));
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}

#[test]
fn a_few_longer_reads_choose_no_larger_size() {
    // By cause: the longest read chose the sizes. Symptom: one pair of 100 bases among thousands of
    // 36, or an N in each read, and the last size had next to no k-mer: depths were 0, 1 or 445.
    // Fix: a size that fewer than half of the bases have, in stretches without N, is not chosen.
    let reads = pairs_with_errors(30_000);
    let short = |read: &String| read[..36].to_owned();
    let cut = |read: &String| [&read[..50], "N", &read[51..]].concat();
    let mut few: Vec<String> = reads.iter().cycle().take(60_000).map(short).collect();
    few[7] = reads[7].clone();
    let same: Vec<String> = few.iter().rev().cloned().collect();
    let place = Place::new(&[]);
    let folder = place.folder.path();
    let sizes = |reads: &[String]| -> (Vec<u64>, Value) {
        let text: String = reads.iter().map(|read| format!(">r\n{read}\n")).collect();
        let path = folder.join("few.fa");
        std::fs::write(&path, text).unwrap();
        for answer in everywhere(&place, std::slice::from_ref(&path), &json!({})) {
            answer.unwrap();
        }
        let answers = ["native", "ranks", "rounds"].map(|name| files(&folder.join(name)));
        assert!(answers[1] == answers[0] && answers[2] == answers[0]);
        let request = place.request("native", &json!({}));
        let request = Request { inputs: vec![path], ..request };
        let verdict = cuesta_assembly::verify::<BuiltIn>(&request, &Progress::default()).unwrap();
        assert!(verdict.verified, "{:?}", verdict.remark);
        let stats: Value = serde_json::from_slice(&answers[0]["stats.json"]).unwrap();
        let levels = stats["levels"].as_array().unwrap();
        let sizes = levels.iter().map(|level| level["k"].as_u64().unwrap()).collect();
        (sizes, levels[0]["common_stretch"].clone())
    };
    assert_eq!(sizes(&few), (vec![31], json!(36)));
    assert_eq!(sizes(&same), (vec![31], json!(36)));
    assert_eq!(sizes(&reads.iter().map(cut).collect::<Vec<_>>()), (vec![31, 43], json!(49)));
    assert_eq!(sizes(&reads), (vec![31, 43, 55, 67, 79], Value::Null));
}
