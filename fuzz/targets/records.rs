//! Records: files of any sizes are refused or cut into pieces that have every record of a range
//! once, and in order.
#![no_main]

use std::path::PathBuf;

use cuesta_fuzz::{accepted, file};
use cuesta_input::records::{RECORD_BYTES, RecordFiles};
use libfuzzer_sys::fuzz_target;

const FILES_MAX: usize = 5;

fuzz_target!(|data: &[u8]| {
    let Some((&[files, first, count, odd], sizes)) = data.split_first_chunk() else { return };
    let sizes = sizes.iter().take(usize::from(files) % FILES_MAX + 1);
    let mut contents: Vec<Vec<u8>> = Vec::new();
    for (number, &records) in sizes.enumerate() {
        let surplus = if odd == number as u8 { 1 } else { 0 };
        let record = |at: u8| [[number as u8, at].as_slice(), &[7; RECORD_BYTES - 2]].concat();
        let mut content: Vec<u8> = (0..records % 16).flat_map(record).collect();
        content.resize(content.len() + surplus, b'\n');
        contents.push(content);
    }
    let named = |(number, content): (usize, &Vec<u8>)| file(&format!("part-{number}"), content);
    let paths: Vec<PathBuf> = contents.iter().enumerate().map(named).collect();
    let is_valid = contents.iter().all(|content| content.len() % RECORD_BYTES == 0);
    let files = accepted(RecordFiles::open(&paths));
    assert_eq!(files.is_some(), is_valid);
    let Some(files) = files else { return };
    let all = contents.concat();
    assert_eq!(files.records() as usize * RECORD_BYTES, all.len());
    let first = u64::from(first).min(files.records());
    let count = u64::from(count).min(files.records() - first) as usize;
    check(&files, &all, (first, count));
});

fn check(files: &RecordFiles, all: &[u8], (first, count): (u64, usize)) {
    let mut range: Vec<u8> = Vec::new();
    for piece in files.pieces(first, count) {
        assert_eq!(piece.range.start * RECORD_BYTES, range.len());
        let content = std::fs::read(piece.path).expect("it was opened");
        range.extend(&content[piece.offset as usize..][..piece.range.len() * RECORD_BYTES]);
    }
    assert_eq!(range, &all[first as usize * RECORD_BYTES..][..count * RECORD_BYTES]);
}
