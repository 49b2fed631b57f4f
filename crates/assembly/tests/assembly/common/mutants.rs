//! Mutants of answers, none of which may pass the verification.
#![allow(clippy::print_stderr)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cuesta_assembly::method::Method;
use cuesta_assembly::verify;
use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, VerificationLevel};
use cuesta_core::mutation::{RowFormat, mutant};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::turned;

const MUTANTS: &str = "CUESTA_MUTANTS";
const MUTANTS_DEFAULT: u64 = 120;

/// An assembly of reads of a small genome, and its folder.
pub struct Answer {
    _folder: TempDir,
    pub request: Request,
}

fn letters(chance: &Stream, first: u64, count: usize) -> String {
    (0..count as u64)
        .map(|place| char::from(b"ACGT"[(chance.bits(first + place) & 3) as usize]))
        .collect()
}

/// Returns a circle with a repeat on either strand, of which one copy differs in a base.
pub fn genome(chance: &Stream, bases: usize) -> String {
    let repeat = letters(chance, 0, bases / 12);
    let mut copy = repeat.clone().into_bytes();
    let middle = copy.len() / 2;
    copy[middle] = if copy[middle] == b'A' { b'C' } else { b'A' };
    let copy = String::from_utf8(copy).unwrap();
    let part = |first: u64| letters(chance, first << 32, bases / 4);
    [part(1), repeat.clone(), part(2), turned(&repeat), part(3), copy].concat()
}

/// Returns reads, or pairs of reads, from either strand, with some wrong bases.
pub fn reads(
    chance: &Stream,
    genome: &str,
    (count, bases): (u64, usize),
    span: Option<usize>,
) -> Vec<String> {
    let double = [genome, genome].concat();
    let mut all = Vec::new();
    for index in 0..count {
        let draw = |what: u64, below: usize| {
            chance.below((9 << 40) + index * 64 + what, below as u64) as usize
        };
        let start = draw(0, genome.len());
        let length = span.map_or(bases, |span| span - 10 + draw(1, 20));
        let mut stretch = double[start..start + length].to_owned();
        if draw(2, 2) == 0 {
            stretch = turned(&stretch);
        }
        let both = [stretch[..bases].to_owned(), turned(&stretch)[..bases].to_owned()];
        for (side, mut read) in
            both.into_iter().take(if span.is_some() { 2 } else { 1 }).enumerate()
        {
            if draw(3 + side as u64, 6) == 0 {
                let place = draw(5 + side as u64, bases);
                read.replace_range(place..=place, ["A", "G", "N"][draw(7, 3)]);
            }
            all.push(read);
        }
    }
    all
}

pub fn answer<M: Method>(parameters: &Value, reads: &[String]) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let text: String =
        reads.iter().map(|read| format!("@r\n{read}\n+\n{}\n", "I".repeat(read.len()))).collect();
    fs::write(folder.path().join("reads.fq"), text).unwrap();
    let output = folder.path().join("answer");
    fs::create_dir(&output).unwrap();
    let request = Request {
        inputs: vec![folder.path().join("reads.fq")],
        parameters: parameters.clone(),
        output,
        seed: 0,
        threads: 1,
        budget: Budget::new(64 << 20).into(),
        scratch: folder.path().to_owned(),
        verify: VerificationLevel::Full,
        names: None,
    };
    cuesta_assembly::run::<M>(&request, &Progress::default()).unwrap();
    Answer { _folder: folder, request }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// Verifies mutants of an answer, and prints how many were made of which file.
pub fn no_mutant_passes<M: Method>(name: &str, answer: &Answer) {
    let request = &answer.request;
    let verdict = verify::<M>(request, &Progress::default()).unwrap();
    assert!(verdict.verified, "{name}: {:?}", verdict.remark);
    let all = files(&request.output);
    let covered = |path: &Path| {
        let inside = path.strip_prefix(&request.output).unwrap();
        verdict.files.iter().any(|file| inside.starts_with(file))
    };
    assert!(all.iter().all(|path| covered(path)), "{name}: {:?} of {all:?}", verdict.files);
    let mutant_count = std::env::var(MUTANTS).map_or(MUTANTS_DEFAULT, |text| text.parse().unwrap());
    let mut made = BTreeMap::new();
    let mut index = 0;
    while made.values().sum::<u64>() < mutant_count {
        for path in &all {
            let content = fs::read(path).unwrap();
            let Some((what, wrong)) = mutant(&content, RowFormat::Lines, 7, index) else {
                continue;
            };
            fs::write(path, wrong).unwrap();
            let passes =
                verify::<M>(request, &Progress::default()).is_ok_and(|verdict| verdict.verified);
            assert!(!passes, "{name}: {} passes with {what}", path.display());
            fs::write(path, content).unwrap();
            *made.entry(path.file_name().unwrap().to_owned()).or_insert(0) += 1;
        }
        index += 1;
    }
    eprintln!("{name}: {} mutants, none passes: {made:?}", made.values().sum::<u64>());
}

pub fn single<M: Method>(k: &str, more: &Value, bases: usize, count: u64) -> Answer {
    let chance = Stream::new(3, bases as u64);
    let mut parameters = json!({ "kmer_sizes": k, "min_contig": 0 });
    parameters.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    answer::<M>(&parameters, &reads(&chance, &genome(&chance, bases), (count, 60), None))
}
