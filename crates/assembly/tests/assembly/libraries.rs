//! Libraries of read pairs with different inserts and orientations, and evidence of single reads.

use std::fs;
use std::ops::Range;
use std::path::Path;

use cuesta_assembly::method::BuiltIn;
use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, VerificationLevel};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use serde_json::{Value, json};

use crate::common::turned;

const READ: usize = 90;

fn drawn(seed: u64, bases: usize) -> String {
    let chance = Stream::new(seed, 1);
    (0..bases as u64).map(|place| char::from(b"ACGT"[(chance.bits(place) & 3) as usize])).collect()
}

/// Returns up to `count` pairs over a genome that span about `span` bases and have no base of
/// `unread`. Their reads point towards each other, or away from each other.
fn pairs(
    genome: &str,
    (count, span, is_outward): (u64, usize, bool),
    unread: &Range<usize>,
) -> Vec<String> {
    let chance = Stream::new(span as u64, 2);
    let mut reads = Vec::new();
    for index in 0..count {
        let draw = |what: u64, below: usize| chance.below(index * 8 + what, below as u64) as usize;
        let span = span - 60 + draw(0, 61) + draw(1, 61);
        let start = draw(2, genome.len() - span);
        let ends = [start..start + READ, start + span - READ..start + span];
        if ends.iter().any(|end| end.start < unread.end && unread.start < end.end) {
            continue;
        }
        let [first, second] = ends.map(|range| genome[range].to_owned());
        let mut pair = [first, turned(&second)];
        if is_outward {
            pair = pair.map(|read| turned(&read));
        }
        if draw(3, 2) == 1 {
            pair.reverse();
        }
        reads.extend(pair);
    }
    reads
}

/// Runs an assembly and verifies the answer.
fn assembled(folder: &Path, files: &[&[String]], parameters: Value) -> Request {
    let mut inputs = Vec::new();
    for (index, reads) in files.iter().enumerate() {
        let path = folder.join(format!("reads-{index}.fa"));
        let text: String = reads.iter().map(|read| format!(">r\n{read}\n")).collect();
        fs::write(&path, text).unwrap();
        inputs.push(path);
    }
    let request = Request {
        inputs,
        parameters,
        output: folder.join(format!("answer-{}", fs::read_dir(folder).unwrap().count())),
        seed: 0,
        threads: 2,
        budget: Budget::new(1 << 30).into(),
        scratch: folder.to_owned(),
        verify: VerificationLevel::Full,
        names: None,
    };
    fs::create_dir(&request.output).unwrap();
    cuesta_assembly::run::<BuiltIn>(&request, &Progress::default()).unwrap();
    let verdict = cuesta_assembly::verify::<BuiltIn>(&request, &Progress::default()).unwrap();
    assert!(verdict.verified, "{:?}", verdict.remark);
    request
}

fn text(request: &Request, name: &str) -> String {
    fs::read_to_string(request.output.join(name)).unwrap()
}

fn sequences(fasta: &str) -> Vec<&str> {
    fasta.lines().skip(1).step_by(2).collect()
}

#[test]
fn mate_pairs_bridge_a_gap_that_paired_ends_do_not() {
    let unread = 20_000..20_600;
    let genome = drawn(7, 40_000);
    let near = pairs(&genome, (4500, 300, false), &unread);
    let far = pairs(&genome, (3000, 2500, true), &unread);
    let folder = tempfile::tempdir().unwrap();
    let parameters = json!({"kmer_sizes": "31", "interleaved": true, "min_contig": 100});
    let alone = assembled(folder.path(), &[&near], parameters.clone());
    assert_eq!(sequences(&text(&alone, "scaffolds.fa")).len(), 2);
    let half = near.len() / 4 * 2;
    let files = [&near[..half], &far, &near[half..]];
    let both = assembled(folder.path(), &files, parameters.clone());
    let scaffolds = text(&both, "scaffolds.fa");
    let sequences = sequences(&scaffolds);
    let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.len()).collect();
    assert_eq!(lengths.len(), 1, "{lengths:?}");
    let unknown = sequences[0].matches('N').count();
    assert!(unknown.abs_diff(unread.len()) <= 40, "{unknown}");
    let stats: Value = serde_json::from_str(&text(&both, "stats.json")).unwrap();
    let libraries = stats["scaffolds"]["libraries"].as_array().unwrap();
    let reported = |index: usize| {
        let library = &libraries[index];
        let insert = library["insert"].as_f64().unwrap().round() as i64;
        (library["orientation"].as_str().unwrap(), insert)
    };
    assert_eq!(libraries.len(), 2, "{libraries:?}");
    assert!(reported(0).0 == "fr" && (reported(0).1 - 300).abs() <= 3, "{libraries:?}");
    assert!(reported(1).0 == "rf" && (reported(1).1 - 2500).abs() <= 3, "{libraries:?}");
    // The order of the files, and the distribution of reads over them, do not matter.
    let turned = assembled(folder.path(), &[&far, &near], parameters);
    for name in ["contigs.fa", "scaffolds.fa", "graph.gfa", "stats.json"] {
        assert_eq!(text(&turned, name), text(&both, name), "{name}");
    }
}

/// Returns a circular genome and reads that all end at the places `thin`, except one read over each
/// of these.
fn circle_with_thin_places(thin: &[usize]) -> (String, Vec<String>) {
    let genome = drawn(5, 9000);
    let double = format!("{genome}{genome}");
    let chance = Stream::new(6, 2);
    let mut reads = Vec::new();
    for index in 0..9000u64 {
        let draw = |what: u64, below: u64| chance.below(index * 8 + what, below) as usize;
        let start = draw(0, genome.len() as u64);
        let is_over = |&place: &usize| (start + 1..start + READ).contains(&place);
        if thin.iter().any(is_over) {
            continue;
        }
        let read = &double[start..start + READ];
        reads.push(if draw(1, 2) == 1 { turned(read) } else { read.to_owned() });
    }
    let over = |&place: &usize| genome[place - READ / 2..place + READ / 2].to_owned();
    reads.extend(thin.iter().map(over));
    (genome, reads)
}

#[test]
fn a_single_read_closes_a_circle_where_all_reads_but_it_end() {
    // From the end of the only contig to its start, and from one contig to another.
    for thin in [&[2000][..], &[2000, 6500]] {
        let (genome, reads) = circle_with_thin_places(thin);
        let folder = tempfile::tempdir().unwrap();
        // Single reads are not placed for a deeply read genome.
        let parameters = json!({"kmer_sizes": "31,43", "min_count": 2});
        let apart = text(&assembled(folder.path(), &[&reads], parameters), "contigs.fa");
        assert_eq!(apart.matches('>').count(), thin.len());
        assert!(!apart.contains("circular"));
        let parameters = json!({"kmer_sizes": "31,43", "profile": "metagenome"});
        let circle = text(&assembled(folder.path(), &[&reads], parameters), "contigs.fa");
        assert!(circle.starts_with(">contig_1 length=9000 ") && circle.contains(" circular=true"));
        let (contig, double) = (&sequences(&circle)[0], format!("{genome}{genome}"));
        assert!(double.contains(contig) || double.contains(&turned(contig)));
    }
}

#[test]
fn a_metagenome_retains_thin_genomes_next_to_deep_ones() {
    let (deep, thin) = (drawn(8, 6000), drawn(9, 6000));
    let none = 0..0;
    let mut reads = pairs(&deep, (6000, 300, false), &none);
    reads.extend(pairs(&thin, (400, 301, false), &none));
    let folder = tempfile::tempdir().unwrap();
    let assembled_bases = |chains: &str| {
        let parameters = json!({
            "kmer_sizes": "31", "profile": "metagenome", "chains": chains, "interleaved": true,
        });
        let request = assembled(folder.path(), &[&reads], parameters);
        let contigs = text(&request, "contigs.fa");
        [&deep, &thin].map(|genome| {
            let is_of_genome =
                |contig: &&&str| genome.contains(**contig) || genome.contains(&turned(contig));
            sequences(&contigs)
                .iter()
                .filter(is_of_genome)
                .map(|contig| contig.len())
                .sum::<usize>()
        })
    };
    for chains in ["auto", "ranking"] {
        let [deep_bases, thin_bases] = assembled_bases(chains);
        assert!(deep_bases > 5800 && thin_bases > 4500, "{chains}: {deep_bases} {thin_bases}");
    }
}
