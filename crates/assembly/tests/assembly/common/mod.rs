//! Functions shared by the integration tests: random reads, and their file.
#![allow(missing_docs, dead_code, clippy::unwrap_used)]

pub mod engines;
pub mod mutants;
pub mod unitigs;

use std::ops::Range;
use std::path::Path;

use cuesta_assembly::kernel::kmer::Base;
use proptest::prelude::*;

pub fn code(letter: u8) -> Base {
    b"ACGT".iter().position(|&other| other == letter).unwrap() as Base
}

/// Returns the reverse complement.
pub fn turned(text: &str) -> String {
    let turn = |base: u8| if base == b'N' { base } else { b"TGCA"[usize::from(code(base))] };
    text.bytes().rev().map(|base| char::from(turn(base))).collect()
}

pub fn write_reads(folder: &Path, reads: &[String]) {
    let text: String = reads.iter().map(|read| format!(">r\n{read}\n")).collect();
    std::fs::write(folder.join("reads.fa"), text).unwrap();
}

/// Whether a read has all sizes of k-mers, given as for `-k`; a run refuses one that no read has.
pub fn have_all_sizes(reads: &[String], sizes: &str) -> bool {
    let largest: usize = sizes.rsplit(',').next().unwrap().parse().unwrap();
    reads.iter().any(|read| read.len() >= largest)
}

/// Draws reads of a small genome with repeats, of either strand, with some errors.
pub fn reads() -> impl Strategy<Value = Vec<String>> {
    let genome = prop_oneof!["[ACGT]{60,400}", "(A|C|AC|ACGT){20,200}", "[AC]{60,300}"];
    reads_of(genome, 1..60, (&["A", "G", "N"], 20))
}

/// Draws reads of either strand of a circle; each of `letters` is put in one of `of` reads.
pub fn reads_of(
    genome: impl Strategy<Value = String>,
    count: Range<usize>,
    (letters, of): (&'static [&'static str], usize),
) -> impl Strategy<Value = Vec<String>> {
    let cut = (any::<u16>(), any::<u16>(), any::<bool>(), 0..of);
    (genome, prop::collection::vec(cut, count)).prop_map(move |(genome, cuts)| {
        let double = genome.repeat(2);
        let reverse = turned(&double);
        let read = |(start, length, is_reverse, error): (u16, u16, bool, usize)| {
            let from = if is_reverse { &reverse } else { &double };
            let start = usize::from(start) % genome.len();
            let end = (start + 30 + usize::from(length) % 90).min(from.len());
            let mut read = from[start..end].to_owned();
            if let Some(letter) = letters.get(error) {
                let place = usize::from(length) % read.len();
                read.replace_range(place..=place, letter);
            }
            read
        };
        cuts.into_iter().map(read).collect()
    })
}
