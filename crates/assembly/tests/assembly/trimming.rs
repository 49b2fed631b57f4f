//! Trimming: by the rules at every place, the same in all engines, and of reads that run into their
//! adapters, as if they had none.

use std::path::{Path, PathBuf};

use crate::common::engines::{Place, assert_same_everywhere};
use crate::common::turned;
use cuesta_assembly::method::BuiltIn;
use cuesta_assembly::verify::trimming::{QualityRead, trim};
use cuesta_core::job::Request;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_input::reads::trim::{
    ADAPTER_MIN, ADAPTERS, MISMATCH_PART, POLY_G_MIN, POLY_G_OTHERS_MAX, ReadRecord, SEED_BASES,
    TrimCounts, trimmed,
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Draws a read of a fragment: its bases, then an adapter and what follows it, a few of them wrong.
fn of_fragment(
    fragment: &str,
    (adapter, more): (&str, &str),
    (bases, errors): (usize, &[(usize, char)]),
) -> Vec<u8> {
    let text: String = [fragment, adapter, more].concat().chars().take(bases).collect();
    let mut letters = text.into_bytes();
    for &(place, letter) in errors {
        if !letters.is_empty() {
            let place = place % letters.len();
            letters[place] = letter as u8;
        }
    }
    letters
}

fn errors() -> impl Strategy<Value = Vec<(usize, char)>> {
    prop::collection::vec((any::<usize>(), prop::sample::select(vec!['A', 'C', 'G', 'N'])), 0..9)
}

/// Draws two mates with qualities, of fragments that are shorter or longer than they are.
fn drawn_pair() -> impl Strategy<Value = [QualityRead; 2]> {
    let fragment = prop_oneof!["[ACGT]{0,120}", "(A|C|AT|ACG|G){0,60}", "[ACGTacgtN]{20,90}"];
    let adapters = prop_oneof![
        (0usize..3).prop_map(|kit| [0, 1]
            .map(|side| { String::from_utf8(ADAPTERS[2 * kit + side].letters.to_vec()).unwrap() })),
        "[ACGT]{20}".prop_map(|same| [same.clone(), same]),
        ["[ACGT]{0,20}", "[ACGT]{0,20}"],
    ];
    let more = prop_oneof!["G{0,90}", "[ACGT]{0,90}", "[GGGGGGGGA]{0,90}"];
    let sides = ([errors(), errors()], [20usize..110, 20usize..110], any::<bool>());
    let qualities = ["[!-J]{240}", "[!-J]{240}"];
    (fragment, adapters, more, sides, qualities).prop_map(
        |(fragment, adapters, more, (errors, bases, are_equal), qualities)| {
            let upper = fragment.to_uppercase();
            let strands = [fragment.clone(), turned(&upper)];
            let bases = if are_equal { [bases[0]; 2] } else { bases };
            [0, 1].map(|side| {
                let tail = (&adapters[side][..], &more[..]);
                let letters = of_fragment(&strands[side], tail, (bases[side], &errors[side]));
                let has_qualities = qualities[0].as_bytes()[0] % 4 > 0;
                let count = if has_qualities { letters.len() } else { 0 };
                QualityRead { qualities: qualities[side].as_bytes()[..count].to_vec(), letters }
            })
        },
    )
}

fn lengths<const N: usize>(records: &[QualityRead; N], counts: &mut TrimCounts) -> [usize; N] {
    let reads = std::array::from_fn(|index: usize| ReadRecord {
        letters: &records[index].letters,
        qualities: &records[index].qualities,
    });
    trimmed(reads, counts)
}

/// Returns the letters of a read without qualities or a mate that remain, by trying every place.
fn by_each_place(letters: &[u8]) -> usize {
    let unequal = |left: &[u8], right: &[u8]| {
        left.iter().zip(right).filter(|(left, right)| !left.eq_ignore_ascii_case(right)).count()
    };
    let is_adapter = |&place: &usize| {
        ADAPTERS.iter().any(|adapter| {
            let tail = &letters[place..];
            let bases = tail.len().min(adapter.letters.len());
            bases >= ADAPTER_MIN
                && unequal(&tail[..SEED_BASES], adapter.letters) <= 1
                && unequal(tail, adapter.letters) * MISMATCH_PART <= bases
        })
    };
    let end = (0..letters.len()).find(is_adapter).unwrap_or(letters.len());
    let is_poly_g = |&place: &usize| {
        let tail = &letters[place..end];
        let mismatches = unequal(tail, &vec![b'G'; tail.len()]);
        tail.len() >= POLY_G_MIN
            && tail[0].eq_ignore_ascii_case(&b'G')
            && mismatches <= POLY_G_OTHERS_MAX
            && mismatches * MISMATCH_PART <= tail.len()
    };
    (0..end).find(is_poly_g).unwrap_or(end)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn adapters_and_tails_of_g_are_those_at_any_place(pair in drawn_pair()) {
        for QualityRead { letters, .. } in pair {
            let expected = by_each_place(&letters);
            let read = QualityRead { letters, qualities: Vec::new() };
            let fast = lengths(std::array::from_ref(&read), &mut TrimCounts::default());
            let mut slow = [read];
            trim(&mut slow, &mut TrimCounts::default());
            prop_assert_eq!([fast[0], slow[0].letters.len()], [expected; 2]);
        }
    }

    #[test]
    fn the_verification_trims_reads_and_pairs_alike(pair in drawn_pair()) {
        let (mut counts, mut slow_counts) = (TrimCounts::default(), TrimCounts::default());
        let fast = lengths(&pair, &mut counts);
        let mut slow = pair.clone();
        trim(&mut slow, &mut slow_counts);
        prop_assert_eq!(fast, [0, 1].map(|side: usize| slow[side].letters.len()));
        for read in pair {
            let fast = lengths(std::array::from_ref(&read), &mut counts);
            let mut slow = [read];
            trim(&mut slow, &mut slow_counts);
            prop_assert_eq!(fast[0], slow[0].letters.len());
        }
        prop_assert_eq!(counts, slow_counts);
        prop_assert_eq!(TrimCounts::of(counts.numbers()), counts);
    }
}

/// Pairs of a genome, of which one in ten is of a fragment shorter than a read if `are_short`.
/// Reads without adapters end with their fragments.
struct Pairs {
    reads: Vec<[String; 2]>,
    /// Reads of short fragments.
    short: u64,
}

const READ_BASES: usize = 100;

fn pairs((bases, depth): (usize, usize), (are_short, have_adapters): (bool, bool)) -> Pairs {
    let chance = Stream::new(29, 4);
    let letter = |at: u64| char::from(b"ACGT"[(chance.bits(at) & 3) as usize]);
    let genome: String = (0..bases as u64).map(letter).collect();
    let mut pairs = Pairs { reads: Vec::new(), short: 0 };
    for index in 0..(bases * depth / 2 / READ_BASES) as u64 {
        let draw = |what: u64, below: usize| {
            chance.below((1 << 40) + index * 4 + what, below as u64) as usize
        };
        let is_short = are_short && index % 10 == 3;
        let span = if is_short { 40 + draw(0, 60) } else { 180 + draw(0, 60) };
        let start = draw(1, bases - span);
        let fragment = &genome[start..start + span];
        pairs.short += 2 * u64::from(is_short);
        let strands = [fragment.to_owned(), turned(fragment)];
        let random: String = (0..60).map(|at| letter((1 << 50) + index * 64 + at)).collect();
        let read = |side: usize| {
            let adapter = String::from_utf8(ADAPTERS[side].letters.to_vec()).unwrap();
            let tail = if have_adapters { adapter + &random } else { String::new() };
            let text = strands[side].clone() + &tail;
            text[..text.len().min(READ_BASES)].to_owned()
        };
        let reads = [read(0), read(1)];
        let turns = draw(2, 2) == 1;
        pairs.reads.push(if turns { [reads[1].clone(), reads[0].clone()] } else { reads });
    }
    pairs
}

/// Writes pairs to two files, or in turn to one, in FASTQ of good qualities.
fn written(folder: &Path, name: &str, pairs: &[[String; 2]], in_turn: bool) -> Vec<PathBuf> {
    let mut texts = [String::new(), String::new()];
    for (index, pair) in pairs.iter().enumerate() {
        for (side, read) in pair.iter().enumerate() {
            let qualities = "I".repeat(read.len());
            let text = &mut texts[if in_turn { 0 } else { side }];
            *text += &format!("@p{index}/{}\n{read}\n+\n{qualities}\n", side + 1);
        }
    }
    let count = if in_turn { 1 } else { 2 };
    let write = |(side, text): (usize, &String)| {
        let path = folder.join(format!("{name}_{side}.fq"));
        std::fs::write(&path, text).unwrap();
        path
    };
    texts.iter().enumerate().take(count).map(write).collect()
}

fn request(place: &Place, answer: &str, (inputs, parameters): (&[PathBuf], &Value)) -> Request {
    Request { inputs: inputs.to_vec(), ..place.request(answer, parameters) }
}

fn trim_counts(folder: &Path) -> Value {
    let text = std::fs::read_to_string(folder.join("stats.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["levels"][0]["trimmed"].take()
}

fn is_verified(request: &Request) -> bool {
    let verdict = cuesta_assembly::verify::<BuiltIn>(request, &Progress::default()).unwrap();
    verdict.verified
}

#[test]
fn reads_that_run_into_adapters_give_the_contigs_of_clean_reads() {
    let place = Place::new(&[]);
    let folder = place.folder.path();
    let run = |answer: &str, pairs: &Pairs, trim: &str| {
        let inputs = written(folder, answer, &pairs.reads, false);
        let parameters = json!({ "pairs": true, "trim": trim });
        let request = request(&place, answer, (&inputs, &parameters));
        cuesta_assembly::run::<BuiltIn>(&request, &Progress::default()).unwrap();
        request
    };
    let (with, without) = (pairs((20_000, 40), (true, true)), pairs((20_000, 40), (true, false)));
    let clean = run("clean", &without, "none");
    let cut = run("cut", &with, "auto");
    let uncut = run("uncut", &with, "none");
    let contigs = |request: &Request| std::fs::read(request.output.join("contigs.fa")).unwrap();
    assert_eq!(contigs(&cut), contigs(&clean));
    assert_ne!(contigs(&uncut), contigs(&clean));
    let counts = trim_counts(&cut.output);
    assert_eq!(counts["adapters"]["reads"], with.short);
    assert_eq!(counts["reads"], 2 * with.reads.len());
    assert!(trim_counts(&uncut.output).is_null());
    assert!([&clean, &cut, &uncut].into_iter().all(is_verified));
    // Reads without adapters lose nothing.
    let long = pairs((20_000, 40), (false, true));
    let counts = trim_counts(&run("long", &long, "auto").output);
    for what in ["adapters", "poly_g", "quality"] {
        assert_eq!(counts[what], json!({ "reads": 0, "letters": 0 }), "{what}");
    }
    // A wrong count is noticed.
    let path = cut.output.join("stats.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let wrong = text.replace(&format!("\"reads\": {}", with.short), "\"reads\": 7");
    assert_ne!(text, wrong);
    std::fs::write(&path, wrong).unwrap();
    assert!(!is_verified(&cut));
}

#[test]
fn trimmed_reads_give_the_same_answer_everywhere() {
    let pairs = pairs((6_000, 30), (true, true));
    for in_turn in [false, true] {
        let place = Place::new(&[]);
        let folder = place.folder.path();
        let mut inputs = written(folder, "p", &pairs.reads[..700], in_turn);
        let rest = pairs.reads[700..].iter().map(|[_, second]| [second.clone(), String::new()]);
        let rest: Vec<[String; 2]> = rest.collect();
        inputs.push(written(folder, "s", &rest, false).remove(0));
        let layout = if in_turn { "interleaved" } else { "pairs" };
        let parameters = json!({ layout: true, "singles": 1, "trim": "auto" });
        let native = request(&place, "native", (&inputs, &parameters));
        cuesta_assembly::run::<BuiltIn>(&native, &Progress::default()).unwrap();
        assert!(is_verified(&native));
        assert!(trim_counts(&native.output)["adapters"]["reads"].as_u64() > Some(100));
        assert_same_everywhere::<BuiltIn>(&native);
    }
}
