//! Reads: shares of a file have every read of it once, and in order, wherever they are cut.
#![no_main]

use std::path::{Path, PathBuf};

use cuesta_assembly::kernel::scan::code;
use cuesta_assembly::reads::shares::{open, split};
use cuesta_assembly::reads::{Pairing, ReadBatch, Reads};
use cuesta_core::Result;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&size_bytes, text)) = data.split_first() else { return };
    let path = std::env::temp_dir().join(format!("cuesta-fuzz-reads-{}", std::process::id()));
    std::fs::write(&path, text).expect("a small file can be written");
    let Ok(whole) = whole(&path) else { return };
    // What is no nucleotide is refused, whoever reads it.
    if whole.iter().flatten().any(|&letter| code(letter) > 4) {
        return;
    }
    assert_eq!(by_shares(&path, u64::from(size_bytes) + 1).expect("the file is good"), whole);
});

fn whole(path: &PathBuf) -> Result<Vec<Vec<u8>>> {
    all(&Reads::open(std::slice::from_ref(path), Pairing::None)?)
}

fn by_shares(path: &Path, size_bytes: u64) -> Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for share in split(&[path.to_owned()], size_bytes)? {
        found.extend(all(&open(&share)?)?);
    }
    Ok(found)
}

fn all(reads: &Reads) -> Result<Vec<Vec<u8>>> {
    let (mut batch, mut found) = (ReadBatch::default(), Vec::new());
    while reads.next(&mut batch)? {
        found.extend(batch.reads().map(<[u8]>::to_vec));
    }
    Ok(found)
}
