//! No wrong answer made from a right answer passes the verification. `CUESTA_MUTANTS` sets the
//! number of mutants of each answer; the default suits a daily run.

use std::fs;

use crate::common::{KINDS, Workspace, made, sorted};
use cuesta_core::job::Request;
use cuesta_core::mutation::{RowFormat, mutant};
use cuesta_core::progress::Progress;
use cuesta_input::records::{RECORD_BYTES, Record};

const DEFAULT: u64 = 400;

fn passes(request: &Request) -> bool {
    cuesta_sort::verify(request, &Progress::default()).is_ok_and(|verdict| verdict.verified)
}

#[test]
fn no_mutant_of_an_answer_passes() {
    let mutant_count = std::env::var("CUESTA_MUTANTS").ok().and_then(|text| text.parse().ok());
    let wanted: u64 = mutant_count.unwrap_or(DEFAULT);
    let (mut made_in_all, mut index) = (0, 0);
    for kind in [KINDS[0], KINDS[2], KINDS[5]] {
        let workspace = Workspace::new();
        let mut records = made(kind, 60, 1);
        // Records that differ only in their last byte, so that the order of equal keys matters.
        let copies: Vec<Record> = records.iter().map(changed).collect();
        records.extend(copies);
        let path = workspace.write("input", &records);
        let right = sorted(&records).as_flattened().to_vec();
        let answer = workspace.path("answer/sorted.dat");
        fs::write(&answer, &right).unwrap();
        let request = workspace.request(&[&path], 1, 1 << 30);
        assert!(passes(&request));
        let until = made_in_all + wanted.div_ceil(3);
        while made_in_all < until {
            index += 1;
            let Some((change, wrong)) = mutant(&right, RowFormat::Fixed(RECORD_BYTES), 7, index)
            else {
                continue;
            };
            fs::write(&answer, wrong).unwrap();
            assert!(!passes(&request), "{kind:?}, mutant {index}: {change}");
            made_in_all += 1;
        }
    }
    println!("sort: {made_in_all} mutants, none passed");
}

fn changed(record: &Record) -> Record {
    let mut copy = *record;
    copy[RECORD_BYTES - 1] ^= 1;
    copy
}
