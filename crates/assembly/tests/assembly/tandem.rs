//! Linear genomes with the copies of a tandem repeat, which are longer than reads: whatever comes
//! out is in the genome, and nothing is a circle.

use std::path::{Path, PathBuf};

use crate::common::engines::{Place, assert_same_everywhere, files};
use crate::common::turned;
use cuesta_assembly::method::BuiltIn;
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use proptest::prelude::*;
use serde_json::{Value, json};

/// A genome: lengths of what is before, of a unit, and of what is after, the number of units, and
/// the bases of one more that is not whole.
#[derive(Clone, Copy, Debug)]
struct Tandem {
    head: usize,
    unit: usize,
    copies: usize,
    partial: usize,
    tail: usize,
}

/// Reads of it: their length, that of what a pair spans, and their depth.
#[derive(Clone, Copy, Debug)]
struct Sequencing {
    read: usize,
    insert: usize,
    depth: usize,
}

fn drawn(seed: u64, bases: usize) -> String {
    let chance = Stream::new(seed, 9);
    (0..bases as u64).map(|at| char::from(b"ACGT"[(chance.bits(at) & 3) as usize])).collect()
}

impl Tandem {
    fn genome(self, seed: u64) -> String {
        let unit = drawn(3 * seed, self.unit);
        let [head, tail] =
            [(1, self.head), (2, self.tail)].map(|(more, bases)| drawn(3 * seed + more, bases));
        head + &unit.repeat(self.copies) + &unit[..self.partial] + &tail
    }
}

/// Writes pairs of a linear genome, whose ends are as deep as the rest, in turn.
fn written(folder: &Path, genome: &str, reads: Sequencing, seed: u64) -> PathBuf {
    let Sequencing { read, insert, depth } = reads;
    let chance = Stream::new(seed, 5);
    let last = genome.len() - insert;
    let mut text = String::new();
    for index in 0..(genome.len() * depth / 2 / read) as u64 {
        let start = chance.below(4 * index, (last + 2 * read) as u64) as usize;
        let fragment = &genome[start.saturating_sub(read).min(last)..][..insert];
        let mut pair = [fragment[..read].to_owned(), turned(fragment)[..read].to_owned()];
        pair.rotate_left(chance.below(4 * index + 1, 2) as usize);
        for read in pair {
            text += &format!(">p{index}\n{read}\n");
        }
    }
    let path = folder.join("tandem.fa");
    std::fs::write(&path, text).unwrap();
    path
}

/// Returns the assembly of a file, as it was asked for.
fn assembled(place: &Place, path: &Path, parameters: &Value) -> Request {
    let request = Request { inputs: vec![path.to_owned()], ..place.request("answer", parameters) };
    cuesta_assembly::run::<BuiltIn>(&request, &Progress::default()).unwrap();
    let verdict = cuesta_assembly::verify::<BuiltIn>(&request, &Progress::default()).unwrap();
    assert!(verdict.verified, "{:?}", verdict.remark);
    request
}

/// Returns the sequences of a file with their headers.
fn sequences(request: &Request, name: &str) -> Vec<(String, String)> {
    let contents = files(&request.output);
    let Some(bytes) = contents.get(name) else { return Vec::new() };
    let text = String::from_utf8(bytes.clone()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    lines.chunks(2).map(|two| (two[0].to_owned(), two[1].to_owned())).collect()
}

/// Asserts that all sequences are stretches of a linear genome, with all of its ends' 31-mers
/// but those that hardly any read has.
fn assert_of_genome(request: &Request, genome: &str, ends: [usize; 2]) {
    let other = turned(genome);
    for name in ["contigs.fa", "scaffolds.fa"] {
        for (header, bases) in sequences(request, name) {
            assert!(!header.contains("circular"), "{name}: {header}");
            for piece in bases.split('N').filter(|piece| !piece.is_empty()) {
                assert!(genome.contains(piece) || other.contains(piece), "{name}: {header}");
            }
        }
    }
    let contigs = sequences(request, "contigs.fa");
    let has = |kmer: &str| contigs.iter().any(|(_, bases)| bases.contains(kmer));
    for end in [&genome[..ends[0]], &genome[genome.len() - ends[1]..]] {
        let kmers = end.len() - 30;
        let present = (0..kmers).filter(|&at| {
            let kmer = &end[at..at + 31];
            has(kmer) || has(&turned(kmer))
        });
        assert!(5 * present.count() >= 4 * kmers, "an end of {} bases", end.len());
    }
}

fn check(tandem: Tandem, reads: Sequencing, seed: u64, parameters: &Value) {
    let place = Place::new(&[]);
    let genome = tandem.genome(seed);
    let path = written(place.folder.path(), &genome, reads, seed);
    let request = assembled(&place, &path, parameters);
    assert_of_genome(&request, &genome, [tandem.head, tandem.tail]);
    assert_same_everywhere::<BuiltIn>(&request);
}

#[test]
fn many_copies_are_not_joined_to_a_single_copy() {
    // By cause: pairs bridge a unit to its flanks, not to itself, since they would go around a
    // circle; at the last size the other way around was gone. Symptom: one contig of both flanks
    // and one copy, 8,700 bases short. Fix: a path that bridges pass by is continued.
    let tandem = Tandem { head: 4000, unit: 300, copies: 30, partial: 0, tail: 4000 };
    for seed in 1..3 {
        let reads = Sequencing { read: 100, insert: 450, depth: 30 };
        check(tandem, reads, seed, &json!({ "interleaved": true }));
    }
}

#[test]
fn the_copies_of_a_tandem_repeat_are_no_circle() {
    // By cause: pairs into the copies are a tenth of those between them, so only the latter made
    // bridges; the last graph had a unit that follows itself alone. Symptom: a linear repeat was a
    // circular replicon. Fix: ways into and out of a unit are continued as well.
    for (unit, copies, depth) in [(1000, 20, 60), (1000, 8, 60), (500, 20, 60), (3000, 12, 40)] {
        let tandem = Tandem { head: 4000, unit, copies, partial: 0, tail: 4000 };
        let reads = Sequencing { read: 100, insert: 200, depth };
        check(tandem, reads, 1, &json!({ "interleaved": true }));
    }
}

#[test]
fn flanks_of_a_tandem_repeat_are_no_tips() {
    // By cause: a dead end of less than 10 k bases beside a rival twice as deep was a tip. Symptom:
    // unique sequence of 1,000 bases on both sides of three copies was lost, and the unit left
    // alone was a circle. Fix: what is as deep as a single copy, and longer than an error, stays.
    for (copies, chains) in [(3, "auto"), (5, "auto"), (3, "ranking")] {
        let tandem = Tandem { head: 1000, unit: 500, copies, partial: 0, tail: 1000 };
        let reads = Sequencing { read: 150, insert: 450, depth: 60 };
        check(tandem, reads, 2, &json!({ "interleaved": true, "chains": chains }));
        check(tandem, reads, 2, &json!({ "chains": chains }));
    }
}

#[test]
fn a_bridge_does_not_leave_the_copies_of_a_unit() {
    // By cause: where the last copy is not whole, pairs join the rest of the unit to both flanks,
    // and never to itself. Symptom: two copies between the flanks in place of five. Fix: a bridge
    // that leaves a circle for a path far less deep is none.
    let tandem = Tandem { head: 3000, unit: 300, copies: 5, partial: 196, tail: 1000 };
    let reads = Sequencing { read: 100, insert: 450, depth: 60 };
    for seed in 1..4 {
        check(tandem, reads, seed, &json!({ "interleaved": true }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn contigs_of_a_linear_genome_are_in_it_and_no_circles(
        (head, tail) in (400usize..4000, 400usize..4000),
        (unit, copies, is_whole) in
            (prop_oneof![60usize..400, 400usize..3000], 2usize..20, any::<bool>()),
        (read, more) in (prop_oneof![Just(75), Just(100), Just(150)], 20usize..400),
        depth in prop_oneof![Just(30), Just(60), Just(100)],
        (is_paired, seed) in (any::<bool>(), 0u64..1000),
    ) {
        let copies = copies.min(20_000 / unit).max(2);
        let partial = if is_whole { 0 } else { unit / 3 };
        let tandem = Tandem { head, unit, copies, partial, tail };
        let reads = Sequencing { read, insert: read + more, depth };
        let place = Place::new(&[]);
        let genome = tandem.genome(seed);
        let path = written(place.folder.path(), &genome, reads, seed);
        let request = assembled(&place, &path, &json!({ "interleaved": is_paired }));
        assert_of_genome(&request, &genome, [head, tail]);
    }
}
