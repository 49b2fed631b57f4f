//! FASTA files of an answer as its verification reads them: the packed sequences, their claims and
//! their places are those that a plain reader finds.
#![no_main]

use cuesta_assembly::verify::text::{COUNT_MAX, Claim, Text};
use cuesta_core::budget::Budget;
use cuesta_fuzz::{accepted, file};
use libfuzzer_sys::fuzz_target;

const MEMORY_BYTES: u64 = 1 << 24;

fuzz_target!(|data: &[u8]| {
    let path = file("contigs.fa", data);
    let budget = Budget::new(MEMORY_BYTES);
    let read = accepted(Text::read(&path, &budget, claim));
    let expected = plain(data);
    assert_eq!(read.is_some(), expected.is_some());
    let (Some(read), Some(expected)) = (read, expected) else { return };
    assert_eq!(read.len(), expected.len());
    let mut place = 0;
    for (index, (claim, letters)) in expected.iter().enumerate() {
        let mut codes = Vec::new();
        read.unpack(index, &mut codes);
        let spelled: Vec<u8> = codes.iter().map(|&code| b"ACGT"[usize::from(code)]).collect();
        assert_eq!((read.claim(index), spelled.as_slice()), (*claim, letters.as_slice()));
        let end = place + letters.len();
        assert_eq!(read.range(index), (place, end));
        assert_eq!(read.end_after(place, usize::MAX), end);
        assert_eq!(read.start_before(end - 1, 0), place);
        place = end;
    }
});

/// A count, and whether ` circular` is behind it.
fn claim(name: &str) -> Option<Claim> {
    let (count, is_marked) = match name.strip_suffix(" circular") {
        Some(count) => (count, true),
        None => (name, false),
    };
    Some(Claim { count: count.parse().ok()?, is_marked })
}

/// A letter as the files of an answer have it; verification finds others where it compares these.
fn letter(letter: &u8) -> Option<u8> {
    match letter.to_ascii_uppercase() {
        b'U' => Some(b'T'),
        base @ (b'A' | b'C' | b'G' | b'T') => Some(base),
        _ => None,
    }
}

fn plain(text: &[u8]) -> Option<Vec<(Claim, Vec<u8>)>> {
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    lines.pop_if(|last| last.is_empty());
    lines
        .chunks(2)
        .map(|two| {
            let &[name, letters] = two else { return None };
            let claim = claim(std::str::from_utf8(name).ok()?.strip_prefix('>')?)?;
            if claim.count > COUNT_MAX {
                return None;
            }
            let letters: Vec<u8> = letters.iter().map(letter).collect::<Option<_>>()?;
            (!letters.is_empty()).then_some((claim, letters))
        })
        .collect()
}
