//! Reads: shares of a file have every read of it once, and in order, wherever they are cut; read
//! pairs come as the two reads that they are; the verification's reader, in blocks of any size,
//! finds the same reads.
#![no_main]

use std::path::{Path, PathBuf};

use cuesta_assembly::kernel::scan::code;
use cuesta_assembly::verify::reads::{ReadBlock, ReadSource};
use cuesta_core::Result;
use cuesta_fuzz::{accepted, check_refusal, file};
use cuesta_input::reads::shares::{open, split};
use cuesta_input::reads::{Pairing, ReadBatch, Reads};
use libfuzzer_sys::fuzz_target;

/// Pairs whatever their names are.
const INTERLEAVED: Pairing = Pairing { is_unchecked: true, ..Pairing::INTERLEAVED };
const IN_TWO_FILES: Pairing = Pairing { is_unchecked: true, ..Pairing::IN_TWO_FILES };
/// Stands between the reads of two files.
const BETWEEN: &[u8] = b"\n=\n";

fuzz_target!(|data: &[u8]| {
    let Some((&size_bytes, text)) = data.split_first() else { return };
    let path = file("reads", text);
    pairs(text);
    let blocks = accepted(by_blocks(&path, usize::from(size_bytes) + 1));
    let Some(whole) = accepted(all(&path, Pairing::NONE)) else { return };
    for pairing in [INTERLEAVED, Pairing::INTERLEAVED] {
        if let Err(error) = all(&path, pairing) {
            check_refusal(&error);
        }
    }
    // What is no nucleotide is refused, whoever reads it.
    if whole.iter().flatten().any(|&letter| code(letter) > 4) {
        return;
    }
    assert_eq!(by_shares(&path, u64::from(size_bytes) + 1).expect("the file is good"), whole);
    assert_eq!(blocks.expect("the file is good"), whole);
    let in_turn = accepted(all(&path, INTERLEAVED));
    assert_eq!(in_turn, whole.len().is_multiple_of(2).then_some(whole));
});

/// Reads of two files in pairs are those of each file, taken in turn.
fn pairs(text: &[u8]) {
    let Some(at) = text.windows(BETWEEN.len()).position(|window| window == BETWEEN) else { return };
    let paths = [file("left", &text[..=at]), file("right", &text[at + BETWEEN.len()..])];
    let sequences = accepted(Reads::open(&paths, IN_TWO_FILES).and_then(|reads| all_of(&reads)));
    let sides = paths.each_ref().map(|path| accepted(all(path, Pairing::NONE)));
    let expected = match sides {
        [Some(left), Some(right)] if left.len() == right.len() => {
            Some(left.into_iter().zip(right).flat_map(|(left, right)| [left, right]).collect())
        }
        _ => None,
    };
    assert_eq!(sequences, expected);
}

fn all(path: &Path, pairing: Pairing) -> Result<Vec<Vec<u8>>> {
    all_of(&Reads::open(&[path.to_owned()], pairing)?)
}

fn by_shares(path: &Path, size_bytes: u64) -> Result<Vec<Vec<u8>>> {
    let mut sequences = Vec::new();
    for share in split(&[path.to_owned()], size_bytes)? {
        sequences.extend(all_of(&open(&share, Pairing::NONE)?)?);
    }
    Ok(sequences)
}

fn all_of(reads: &Reads) -> Result<Vec<Vec<u8>>> {
    let (mut batch, mut sequences) = (ReadBatch::default(), Vec::new());
    while reads.next(&mut batch)? {
        sequences.extend(batch.reads().map(<[u8]>::to_vec));
    }
    Ok(sequences)
}

fn by_blocks(path: &PathBuf, block_bytes: usize) -> Result<Vec<Vec<u8>>> {
    let files = (std::slice::from_ref(path), Pairing::NONE);
    let source = ReadSource::open(files, block_bytes, None)?;
    let (mut block, mut sequences) = (ReadBlock::default(), Vec::new());
    while source.next(&mut block)? {
        block.each_read(|read| {
            sequences.push(read.to_vec());
            Ok(())
        })?;
    }
    Ok(sequences)
}
