//! Shared code of the tests: rows of all kinds, writing and reading them.

mod audit;
mod refusal;
mod round_trip;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use cuesta_core::budget::Budget;
use cuesta_core::digest::Digest;
use cuesta_core::fixed::NAN;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;

use super::*;
use crate::row::{MASK_SYMBOLS, Row};

const MIB: u64 = 1 << 20;
const ALL: Query = Query { filter: None, need: Need::Row };

/// A row that owns its lists.
#[derive(Clone, Debug, PartialEq)]
struct Owned {
    numbers: [u32; 9],
    scores: Vec<i32>,
    mask: Vec<u8>,
}

impl Owned {
    fn of(row: &Row<'_>) -> Self {
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
        Self { numbers, scores: row.scores.to_vec(), mask: row.mask.to_vec() }
    }

    fn row(&self) -> Row<'_> {
        let [gene1, gene2, cluster, num_clusters, cluster_samples, missing, ..] = self.numbers;
        let [.., outliers, pair_outliers, threshold] = self.numbers;
        Row {
            gene1,
            gene2,
            cluster,
            num_clusters,
            cluster_samples,
            missing,
            outliers,
            pair_outliers,
            threshold,
            scores: &self.scores,
            mask: &self.mask,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Kind {
    genes: u32,
    samples: u32,
    scores: usize,
    masks: bool,
    /// A pair in this many has rows.
    sparse: u64,
    clusters: u64,
    /// Whether the counts equal those of the masks.
    honest: bool,
}

const DENSE: Kind =
    Kind { genes: 620, samples: 21, scores: 1, masks: true, sparse: 1, clusters: 1, honest: true };
const CLUSTERS: Kind = Kind { sparse: 7, clusters: 4, scores: 2, genes: 700, ..DENSE };

/// The rows of a kind in ascending order.
fn rows_of(kind: &Kind, seed: u64) -> Vec<Owned> {
    let stream = Stream::new(seed, 1);
    let mut walker = Walker::default();
    let mut rows = Vec::new();
    for rank in 0..pairs_of(kind.genes) {
        if stream.below(2 * rank, kind.sparse) != 0 {
            continue;
        }
        let (gene1, gene2) = walker.genes_of(rank);
        let count = 1 + stream.below(2 * rank + 1, kind.clusters);
        // Some pairs start with another cluster than the first.
        let first = 1 + u64::from(kind.clusters > 1 && rank % 5 == 0);
        for cluster in first..first + count {
            let random = Stream::new(seed + 1 + rank, cluster);
            let score = |i: u64| match random.below(90 + i, 30) {
                0 => NAN,
                _ => random.below(100 + i, 2_000_001) as i32 - 1_000_000,
            };
            let symbol = |i: u64| MASK_SYMBOLS[random.below(200 + i, 6) as usize];
            let mask: Vec<u8> = (0..u64::from(kind.samples)).map(symbol).collect();
            let mut numbers = [gene1, gene2, cluster as u32, count as u32, 0, 0, 0, 0, 0];
            for (number, symbol) in numbers[4..].iter_mut().zip(b"19876") {
                let tally = mask.iter().filter(|&s| s == symbol).count() as u32;
                *number = tally + u32::from(!kind.honest);
            }
            let scores = (0..kind.scores as u64).map(score).collect();
            rows.push(Owned { numbers, scores, mask: if kind.masks { mask } else { Vec::new() } });
        }
    }
    rows
}

fn shuffled(rows: &[Owned], seed: u64) -> Vec<Owned> {
    let stream = Stream::new(seed, 77);
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&i| stream.bits(i as u64));
    order.into_iter().map(|i| rows[i].clone()).collect()
}

fn options(kind: &Kind, folder: &Path) -> WriterOptions {
    WriterOptions {
        genes: kind.genes,
        samples: kind.samples,
        scores: kind.scores,
        masks: if kind.masks { Masks::Stored } else { Masks::None },
        threads: 1,
        scratch: folder.join("scratch"),
        ..WriterOptions::default()
    }
}

fn write(path: &Path, options: WriterOptions, memory: u64, rows: &[Owned]) -> Result<WriteSummary> {
    let budget = Budget::new(memory);
    let writer = Writer::create(path, WriterOptions { memory_bytes: memory, ..options }, &budget)?;
    let mut batch = writer.batch();
    for row in rows {
        batch.push(&row.row()).unwrap();
        if batch.size_bytes() > 100_000 {
            writer.push_batch(&mut batch)?;
        }
    }
    writer.push_batch(&mut batch)?;
    writer.finish(&Progress::default())
}

type Result<T> = cuesta_core::Result<T>;

fn read(path: &Path, query: &Query) -> Result<Vec<Owned>> {
    let matrix = PairMatrix::open(path)?;
    let mut scratch = matrix.scratch()?;
    let mut rows = Vec::new();
    for chunk in 0..matrix.chunk_count() {
        let before = rows.len();
        let take = |row: &Row<'_>| {
            rows.push(Owned::of(row));
            Ok(())
        };
        let count = matrix.visit_chunk(chunk, query, &mut scratch, take)?;
        assert_eq!(count as usize, rows.len() - before);
    }
    Ok(rows)
}

fn digest(rows: &[Owned]) -> Digest {
    let mut digest = Digest::default();
    rows.iter().for_each(|row| row.row().digest_into(&mut digest));
    digest
}

/// Every file below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Memory that is just enough for five slots.
fn tiny(kind: &Kind) -> u64 {
    let shape = header::RowShape {
        scores: kind.scores,
        samples: kind.samples,
        masks: if kind.masks { MaskKind::Stored } else { MaskKind::None },
    };
    let slot = assemble::Assembler::slot_bytes(&shape);
    assemble::Assembler::memory_bytes(&shape, 1, 1) + 2 * MIB + 8 * slot
}
