//! Known adapters, and the search for them in a read: every place of many is compared at once with
//! the first bases of each.

use cuesta_core::cpu;

use super::{CODES, MISMATCH_PART};

/// Bases of which one may differ between two tails, or between a tail and an adapter.
pub const TAIL_MISMATCH_PART: usize = 4;
/// Bases of a tail that are compared with an adapter.
pub const TAIL_ADAPTER_BASES: usize = 16;
/// Fewest bases of an adapter that are found by its sequence.
pub const ADAPTER_MIN: usize = 12;
/// Bases at the start of an adapter, of which one may differ.
pub const SEED_BASES: usize = 8;

/// An adapter: the kit that it is of, and its first bases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// Index of its kit in [`KITS`].
    pub kit: usize,
    /// Its first bases.
    pub letters: &'static [u8],
}

/// Kits whose adapters are known.
pub const KITS: [&str; 3] = ["TruSeq", "Nextera", "MGI"];
/// Known adapters, of first and second reads.
pub const ADAPTERS: [Adapter; 6] = [
    Adapter { kit: 0, letters: b"AGATCGGAAGAGCACACGTCTGAACTCCAGTCA" },
    Adapter { kit: 0, letters: b"AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT" },
    Adapter { kit: 1, letters: b"CTGTCTCTTATACACATCTCCGAGCCCACGAGAC" },
    Adapter { kit: 1, letters: b"CTGTCTCTTATACACATCTGACGCTGCCGACGA" },
    Adapter { kit: 2, letters: b"AAGTCGGAGGCCAAGCGGTCTTAGGAAGACAA" },
    Adapter { kit: 2, letters: b"AAGTCGGATCGTAGCCATGTCGTTCTGTGAGCCAAGGAGTTG" },
];

/// Codes of the first bases of the adapters of each of [`KITS`].
const SEEDS: [[u8; SEED_BASES]; KITS.len()] = seeds();

const fn seeds() -> [[u8; SEED_BASES]; KITS.len()] {
    let mut seeds = [[u8::MAX; SEED_BASES]; KITS.len()];
    let mut index = 0;
    while index < ADAPTERS.len() {
        let Adapter { kit, letters } = ADAPTERS[index];
        let mut place = 0;
        while place < SEED_BASES {
            let code = CODES[letters[place] as usize];
            assert!(seeds[kit][place] == u8::MAX || seeds[kit][place] == code);
            seeds[kit][place] = code;
            place += 1;
        }
        index += 1;
    }
    seeds
}

/// Places that are compared with the seeds together.
const PLACES: usize = 64;

/// Returns the index of the first known adapter that a tail begins as.
pub(super) fn tail_adapter(tail: &[u8]) -> Option<usize> {
    ADAPTERS.iter().position(|adapter| {
        let count = tail.len().min(TAIL_ADAPTER_BASES);
        different(tail, adapter.letters, count) <= count / TAIL_MISMATCH_PART
    })
}

/// Returns the kit of what was cut off, if that is long enough to tell.
pub(super) fn kit(tail: &[u8]) -> Option<usize> {
    let adapter = if tail.len() < SEED_BASES { None } else { tail_adapter(tail) };
    adapter.map(|index| ADAPTERS[index].kit)
}

/// Returns in how many of their first `count` letters two texts differ. An ambiguous letter differs
/// from all.
pub(super) fn different(first: &[u8], second: &[u8], count: usize) -> usize {
    let is_same = |(first, second): &(&u8, &u8)| {
        let code = CODES[usize::from(**first)];
        code < 4 && code == CODES[usize::from(**second)]
    };
    count - first[..count].iter().zip(&second[..count]).filter(is_same).count()
}

/// Returns the place of the first known adapter in a read, or the end of the read.
pub(super) fn place_of_adapter(letters: &[u8]) -> usize {
    let places = (letters.len() + 1).saturating_sub(ADAPTER_MIN);
    for begin in (0..places).step_by(PLACES) {
        let mut window = [0; PLACES + SEED_BASES - 1];
        let end = letters.len().min(begin + window.len());
        window[..end - begin].copy_from_slice(&letters[begin..end]);
        let (least, counts) = cpu::fastest(
            #[inline(always)]
            || differing_from_seeds(&window),
        );
        if least > 1 {
            continue;
        }
        let mut starts = (begin..places).zip(counts).filter(|(_, count)| *count <= 1);
        if let Some((start, _)) = starts.find(|(start, _)| is_adapter(&letters[*start..])) {
            return start;
        }
    }
    letters.len()
}

/// Returns in how many bases letters at each place differ from the most similar seed, and the least
/// of these counts. An ambiguous letter is taken as a base, which only adds places.
#[inline(always)]
fn differing_from_seeds(letters: &[u8; PLACES + SEED_BASES - 1]) -> (u8, [u8; PLACES]) {
    let mut codes = [0; PLACES + SEED_BASES - 1];
    for (code, letter) in codes.iter_mut().zip(letters) {
        *code = (letter >> 1 ^ letter >> 2) & 3;
    }
    let (mut least, mut counts) = (u8::MAX, [u8::MAX; PLACES]);
    for (count, codes) in counts.iter_mut().zip(codes.windows(SEED_BASES)) {
        for seed in &SEEDS {
            let mut differing = 0;
            for (base, code) in seed.iter().zip(codes) {
                differing += u8::from(base != code);
            }
            *count = differing.min(*count);
        }
        least = least.min(*count);
    }
    (least, counts)
}

/// Whether a text begins as a known adapter.
fn is_adapter(text: &[u8]) -> bool {
    ADAPTERS.iter().any(|adapter| {
        let count = text.len().min(adapter.letters.len());
        count >= ADAPTER_MIN
            && different(text, adapter.letters, SEED_BASES) <= 1
            && different(text, adapter.letters, count) <= count / MISMATCH_PART
    })
}
