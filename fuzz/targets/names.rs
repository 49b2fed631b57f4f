//! Names of genes: whatever file they come from, they are the same when they are written as a table
//! and read again.
#![no_main]

use cuesta_fuzz::{accepted, file, folder};
use cuesta_input::GeneNames;
use cuesta_input::names::{check, write_table};
use libfuzzer_sys::fuzz_target;

const MEMORY_BYTES: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let path = file("names", data);
    let Some(names) = accepted(GeneNames::read(&path, MEMORY_BYTES)) else { return };
    assert!(!names.is_empty() && names.size_bytes() <= MEMORY_BYTES);
    assert!(names.iter().all(|name| check(name).is_ok()));
    let table = folder().join("genes.tsv");
    let size_bytes = write_table(&table, names.iter()).expect("a small file can be written");
    assert_eq!(size_bytes, std::fs::metadata(&table).expect("it was written").len());
    let again = GeneNames::read(&table, 2 * MEMORY_BYTES).expect("it was written here");
    assert!(names.iter().eq(again.iter()));
});
