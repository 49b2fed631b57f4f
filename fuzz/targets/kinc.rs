//! Gene-pair text: the fast walk over a block finds what reading line by line finds.
#![no_main]

use cuesta_input::kinc::block::{PADDING, visit};
use cuesta_input::kinc::line::{is_blank, parse};
use cuesta_input::kinc::{LineShape, shape_of};
use cuesta_input::{Filter, FilterParams};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, text)) = data.split_first() else { return };
    let mut block = text.to_vec();
    if block.last().is_some_and(|&last| last != b'\n') {
        block.push(b'\n');
    }
    let Some(shape) = block.split(|&byte| byte == b'\n').find_map(|line| shape_of(line).ok())
    else {
        return;
    };
    let size_bytes = block.len();
    block.resize(size_bytes + PADDING, choice);
    compare(&block, size_bytes, &shape, &filter(choice));
});

/// A filter by `choice`, so that some rows pass and some fail.
fn filter(choice: u8) -> Filter {
    let params = FilterParams {
        min_abs_score: f64::from(choice & 3) * 0.3,
        max_abs_score: (choice & 4 != 0).then_some(0.95),
        score_index: usize::from(choice >> 3 & 1),
        min_cluster_samples: u32::from(choice >> 4 & 3),
        max_missing: (choice & 64 != 0).then_some(1),
    };
    params.check().expect("every choice is in range")
}

type Match = (u32, u32, u32, i32);

fn compare(block: &[u8], size_bytes: usize, shape: &LineShape, filter: &Filter) {
    let mut matches: Vec<Match> = Vec::new();
    let outcome = visit(block, size_bytes, shape, filter, |hit| {
        let row = hit.parse();
        if let Ok(parsed) = &row {
            let row = parsed.row();
            assert_eq!((row.gene1, row.gene2), (hit.gene1, hit.gene2));
        }
        matches.push((hit.gene1, hit.gene2, hit.cluster, hit.score));
        row.map(|_| ())
    });
    let mut expected: Vec<Match> = Vec::new();
    let mut rows_read = 0;
    for line in block[..size_bytes].split_inclusive(|&byte| byte == b'\n') {
        let line = &line[..line.len() - 1];
        if is_blank(line) {
            continue;
        }
        let Ok(parsed) = parse(line, shape) else { return };
        let row = parsed.row();
        rows_read += 1;
        let Some(&score) = row.scores.get(filter.score_index) else { return };
        if filter.keeps_score(score) && filter.keeps_samples(row.cluster_samples, row.missing) {
            expected.push((row.gene1, row.gene2, row.cluster, score));
        }
    }
    // Every line is in order, so the fast walk must say so too, and find the same.
    let counts = outcome.expect("lines that parse one by one");
    assert_eq!(matches, expected);
    assert_eq!((counts.rows_read, counts.rows_passed), (rows_read, expected.len() as u64));
}
