//! Pair matrices: one that was written right is damaged in its metadata, side arrays, chunks and
//! indexes, also under right checksums. It is refused as bad input, or what an audit accepts is
//! what everybody reads.
#![no_main]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::fixed::NAN;
use cuesta_core::progress::Progress;
use cuesta_fuzz::{accepted, folder};
use cuesta_input::FilterParams;
use cuesta_input::pair_matrix::{
    AuditResources, Masks, Need, PairMatrix, Query, Writer, WriterOptions,
};
use cuesta_input::row::Row;
use libfuzzer_sys::fuzz_target;

const MEMORY_BYTES: u64 = 256 << 20;
const GENES: u32 = 6;
const EDITS_MAX: usize = 4;
const CRC_BYTES: usize = 4;
/// Bytes of a place in the index of a shard, and most of a chunk once it is unpacked.
const ENTRY_BYTES: usize = 16;
const CHUNK_BYTES_MAX: usize = 1 << 20;

/// Genes, cluster, scores, the other numbers and the mask.
type OwnedRow = ([u32; 9], Vec<i32>, Vec<u8>);
type Files = BTreeMap<PathBuf, Vec<u8>>;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, data)) = data.split_first() else { return };
    let (path, files) = written();
    let mut changed = Files::new();
    for edit in data.as_chunks::<6>().0.iter().take(EDITS_MAX) {
        let &[file, kind, low, high, value, more] = edit;
        let at = usize::from(u16::from_le_bytes([low, high]));
        let Some((name, before)) = files.iter().nth(usize::from(file) % files.len()) else {
            return;
        };
        let bytes = changed.entry(name.clone()).or_insert_with(|| before.clone());
        damage(bytes, (kind, at), (value, more));
    }
    for (name, bytes) in &changed {
        match bytes.is_empty() {
            true => fs::remove_file(name).expect("it is there"),
            false => fs::write(name, bytes).expect("a small file can be written"),
        }
    }
    accepted(read(path, choice));
    for name in changed.keys() {
        fs::write(name, &files[name]).expect("a small file can be written");
    }
});

/// A small matrix of two rows a pair, and its files.
fn written() -> &'static (PathBuf, Files) {
    static WRITTEN: OnceLock<(PathBuf, Files)> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let path = folder().join("pairs.zarr");
        let _ = fs::remove_dir_all(&path);
        write(&path).expect("it can be written");
        let mut files = Files::new();
        list(&path, &mut files);
        (0..4).for_each(|choice| read(&path, choice).expect("it is whole"));
        (path, files)
    })
}

fn write(path: &Path) -> Result<()> {
    let names = |count: u32| (0..count).map(|index| format!("name {index}")).collect();
    let options = WriterOptions {
        genes: GENES,
        samples: 5,
        scores: 2,
        masks: Masks::Stored,
        gene_names: names(GENES),
        sample_names: names(5),
        threads: 1,
        memory_bytes: MEMORY_BYTES,
        scratch: folder().join("scratch"),
        ..WriterOptions::default()
    };
    let budget = Budget::new(MEMORY_BYTES);
    let writer = Writer::create(path, options, &budget)?;
    for gene1 in 2..=GENES {
        for gene2 in 1..gene1 {
            for cluster in 1..=1 + gene2 % 2 {
                let score = 100_000 * (gene1 + gene2) as i32;
                writer.push(&Row {
                    gene1,
                    gene2,
                    cluster,
                    num_clusters: 2,
                    cluster_samples: 3,
                    missing: 1,
                    outliers: 1,
                    pair_outliers: 0,
                    threshold: gene1 % 2,
                    scores: &[score, -score],
                    mask: b"11198",
                })?;
            }
        }
    }
    writer.finish(&Progress::default()).map(|_| ())
}

fn list(folder: &Path, files: &mut Files) {
    for entry in fs::read_dir(folder).expect("it was written") {
        let path = entry.expect("it was written").path();
        if path.is_dir() {
            list(&path, files);
        } else {
            let bytes = fs::read(&path).expect("it was written");
            files.insert(path, bytes);
        }
    }
}

/// Damages a file; an empty one is gone.
fn damage(bytes: &mut Vec<u8>, (kind, at): (u8, usize), (value, more): (u8, u8)) {
    if bytes.is_empty() {
        return;
    }
    let place = at % bytes.len();
    match kind % 8 {
        0 => bytes[place] = value,
        1 => bytes.truncate(place),
        2 => bytes.clear(),
        3 => bytes.insert(place, value),
        4 => _ = bytes.remove(place),
        // What is behind the data of a file, such as the index of a shard, under a right checksum.
        5 => {
            let crc = bytes.len().saturating_sub(CRC_BYTES);
            let index = crc.saturating_sub(ENTRY_BYTES * (usize::from(more) + 1));
            if let Some(entry) = bytes.get_mut(index + at % ENTRY_BYTES) {
                *entry = value;
            }
            let start = crc.saturating_sub(ENTRY_BYTES * 128);
            let sum = crc32c::crc32c(&bytes[start..crc]).to_le_bytes();
            bytes.splice(crc.., sum);
        }
        // A number of the metadata.
        6 => number(bytes, at, u64::from(value) << (more % 64)),
        _ => packed(bytes, at, value),
    }
}

/// Replaces a number of a text.
fn number(bytes: &mut Vec<u8>, which: usize, value: u64) {
    let is_start = |&at: &usize| {
        bytes[at].is_ascii_digit() && (at == 0 || !bytes[at - 1].is_ascii_alphanumeric())
    };
    let starts: Vec<usize> = (0..bytes.len()).filter(is_start).collect();
    let Some(&start) = starts.get(which % starts.len().max(1)) else { return };
    let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    bytes.splice(start..start + digits, value.to_string().into_bytes());
}

/// Changes a byte of the first chunk before it is packed, in a side array or in a shard.
fn packed(bytes: &mut Vec<u8>, at: usize, value: u8) {
    let Some(size) = zstd::zstd_safe::find_frame_compressed_size(bytes).ok() else { return };
    let Ok(mut plain) = zstd::bulk::decompress(&bytes[..size], CHUNK_BYTES_MAX) else { return };
    let Some(place) = at.checked_rem(plain.len()) else { return };
    plain[place] = value;
    let mut chunk = zstd::bulk::compress(&plain, 1).expect("there is memory");
    let sum = crc32c::crc32c(&chunk).to_le_bytes();
    chunk.extend(sum);
    let (new_bytes, old_bytes) = (chunk.len(), size + CRC_BYTES);
    let Some(behind) = bytes.get(old_bytes..) else { return };
    let mut behind = behind.to_vec();
    // The index of a shard of one chunk says where that is.
    if let Some(end) = behind.len().checked_sub(CRC_BYTES) {
        if behind[..end.min(8)] != [0; 8] {
            return;
        }
        behind[8..16].copy_from_slice(&(new_bytes as u64).to_le_bytes());
        let sum = crc32c::crc32c(&behind[..end]).to_le_bytes();
        behind.splice(end.., sum);
    }
    *bytes = [chunk, behind].concat();
}

/// Reads all rows as an audit does, and in the way of `choice`.
fn read(path: &Path, choice: u8) -> Result<()> {
    let matrix = PairMatrix::open(path)?;
    assert!(matrix.header().genes <= 1 << 24);
    let names = matrix.gene_names()?;
    assert!(names.is_empty() || names.len() == matrix.header().genes as usize);
    let names = matrix.sample_names()?;
    assert!(names.is_empty() || names.len() == matrix.header().samples as usize);
    let params = FilterParams { min_abs_score: 0.5, ..FilterParams::default() };
    let filter = Some(params.check()?);
    let (filter, need) = match choice % 4 {
        0 => (None, Need::Row),
        1 => (None, Need::Edge),
        2 => (filter, Need::Row),
        _ => (filter, Need::Edge),
    };
    let rows = visited(&matrix, Query { filter, need })?;
    // Whatever an audit refuses may be read otherwise.
    let audited: Vec<OwnedRow> = audited(&matrix)?;
    let is_strong = |row: &&OwnedRow| row.1[0] != NAN && row.1[0].abs() >= 500_000;
    let expected = audited.iter().filter(|row| filter.is_none() || is_strong(row));
    if need == Need::Row {
        assert!(rows.iter().eq(expected));
    } else {
        let edge = |row: &OwnedRow| (row.0[..3].to_vec(), row.1[0]);
        assert!(rows.iter().map(edge).eq(expected.map(edge)));
    }
    Ok(())
}

fn audited(matrix: &PairMatrix) -> Result<Vec<OwnedRow>> {
    let progress = Progress::default();
    let resources = AuditResources {
        threads: 1,
        memory_bytes: MEMORY_BYTES,
        progress: &progress,
        size_bytes: 0,
    };
    let states = matrix.audit(&resources, Vec::new, |rows, row| {
        rows.push(owned(row));
        Ok(())
    });
    Ok(states?.concat())
}

fn visited(matrix: &PairMatrix, query: Query) -> Result<Vec<OwnedRow>> {
    let (mut scratch, mut rows) = (matrix.scratch()?, Vec::new());
    for chunk in 0..matrix.chunk_count() {
        matrix.visit_chunk(chunk, &query, &mut scratch, |row| {
            rows.push(owned(row));
            Ok(())
        })?;
    }
    Ok(rows)
}

fn owned(row: &Row<'_>) -> OwnedRow {
    let numbers = [
        row.gene1,
        row.gene2,
        row.cluster,
        row.num_clusters,
        row.cluster_samples,
        row.missing,
        row.outliers,
        row.pair_outliers,
        row.threshold,
    ];
    (numbers, row.scores.to_vec(), row.mask.to_vec())
}
