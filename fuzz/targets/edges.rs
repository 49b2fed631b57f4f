//! Gene-pair text as a verification reads it again: splits of any size give the lines once, the
//! fast walk finds the rows that the plain reader finds, and the kernels' reader finds the same.
#![no_main]

use cuesta_fuzz::{accepted, file};
use cuesta_input::FilterParams;
use cuesta_input::kinc::block::visit;
use cuesta_input::reader::LineBlocks;
use cuesta_input::source::{Split, TextFile, TextSource};
use cuesta_network::reference::PlainRow;
use cuesta_network::verify::text::line::{Notation, Plain};
use cuesta_network::verify::text::pieces::{Buffer, Pieces};
use cuesta_network::verify::text::walk;
use cuesta_network::verify::wanted::{Wanted, check_pair};
use libfuzzer_sys::fuzz_target;

/// A row, and whether it is written as an answer writes it.
type Row = (PlainRow, bool);

fuzz_target!(|data: &[u8]| {
    let Some((&[choice, split_bytes], text)) = data.split_first_chunk() else { return };
    let path = file("pairs.txt", text);
    let source = TextSource {
        files: vec![TextFile::new(&path, text.len() as u64)],
        shape: None,
        files_skipped: 0,
    };
    let splits = source.splits(u64::from(split_bytes) + 1);
    let lines = lines(text);
    assert_eq!(by_pieces(&source, &splits), lines);
    assert_eq!(by_blocks(&source, &splits), text);
    let params = filter(choice);
    let wanted = if choice & 128 == 0 { Wanted::passing(&params) } else { Wanted::answer() };
    let (expected, found) = (plain(&lines, &wanted), walked(&source, &splits, &wanted));
    assert_eq!(found.as_ref().ok(), expected.as_ref().ok(), "{found:?} {expected:?}");
    if let (Ok(rows), true) = (expected, choice & 128 == 0) {
        kernel(&path, &params, rows);
    }
});

fn filter(choice: u8) -> FilterParams {
    FilterParams {
        min_abs_score: f64::from(choice & 3) * 0.3,
        max_abs_score: (choice & 4 != 0).then_some(0.95),
        score_index: usize::from(choice >> 3 & 1),
        min_cluster_samples: u32::from(choice >> 4 & 3),
        max_missing: (choice & 64 != 0).then_some(1),
    }
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    // Nothing behind the last line feed is no line.
    lines.pop_if(|last| last.is_empty());
    lines
}

fn by_pieces(source: &TextSource, splits: &[Split]) -> Vec<Vec<u8>> {
    let (mut buffer, mut found) = (Buffer::default(), Vec::new());
    for split in splits {
        let pieces = Pieces::open(&source.files[split.file], split, &mut buffer);
        let mut pieces = pieces.expect("it was written");
        while let Some(piece) = pieces.next_piece().expect("its lines are short") {
            let text = &piece.buffer[piece.start..piece.end - 1];
            found.extend(text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec));
        }
    }
    found
}

fn by_blocks(source: &TextSource, splits: &[Split]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for split in splits {
        let blocks = LineBlocks::open(&source.files[split.file], split);
        let mut blocks = blocks.expect("it was written");
        while let Some(block) = blocks.next_block().expect("its lines are short") {
            bytes.extend(&block.bytes[..block.size_bytes]);
        }
    }
    bytes
}

fn plain(lines: &[&[u8]], wanted: &Wanted) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for line in lines {
        let Some(plain) = Plain::read(line)? else {
            if wanted.rows_only {
                return Err("has no row".to_owned());
            }
            continue;
        };
        let written = plain.written_row();
        if wanted.passes(&written.row) {
            check_pair(&written.row)?;
            rows.push((PlainRow::of(&written.row), written.notation == Notation::Canonical));
        }
    }
    Ok(rows)
}

fn walked(source: &TextSource, splits: &[Split], wanted: &Wanted) -> Result<Vec<Row>, String> {
    let (mut buffer, mut rows) = (Buffer::default(), Vec::new());
    for split in splits {
        let pieces = Pieces::open(&source.files[split.file], split, &mut buffer);
        let mut pieces = pieces.expect("it was written");
        while let Some(piece) = pieces.next_piece().expect("its lines are short") {
            let place = (piece.start, piece.end);
            walk(piece.buffer, place, wanted, &mut |written| {
                check_pair(&written.row)?;
                rows.push((PlainRow::of(&written.row), written.notation == Notation::Canonical));
                Ok(())
            })
            .map_err(|(_, what)| what)?;
        }
    }
    Ok(rows)
}

/// Input that the kernels' reader accepts has the rows of the verification.
fn kernel(path: &std::path::Path, params: &FilterParams, rows: Vec<Row>) {
    let filter = params.check().expect("every choice is in range");
    let Some(source) = accepted(TextSource::open(&[path.to_owned()], &filter)) else { return };
    let Some(shape) = source.shape else { return };
    let entire = Split { file: 0, offset: 0, size_bytes: u64::MAX };
    let mut blocks = LineBlocks::open(&source.files[0], &entire).expect("it was written");
    let mut pairs = Vec::new();
    while let Some(block) = blocks.next_block().expect("its lines are short") {
        let visited = visit(block.bytes, block.size_bytes, &shape, &filter, |hit| {
            pairs.push((hit.gene1, hit.gene2, hit.cluster, hit.score));
            Ok(())
        });
        if visited.is_err() {
            return;
        }
    }
    let index = params.score_index;
    let expected: Vec<_> = rows
        .iter()
        .map(|(row, _)| (row.numbers[0], row.numbers[1], row.numbers[2], row.scores[index]))
        .collect();
    assert_eq!(pairs, expected);
}
