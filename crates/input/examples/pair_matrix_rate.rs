//! Rates of the pair matrix on synthetic rows: packing, writing, size, and scans at thresholds that
//! keep one row in a thousand and one in a hundred, edges only and whole rows with their masks.
//!
//! `cargo run --release -p cuesta-input --example pair_matrix_rate -- [GENES] [SAMPLES] [THREADS]
//! [SHUFFLED]`
//!
//! SHUFFLED 1 writes the batches in a random order. The CPU time, divided by the threads, is what a
//! run takes on a machine that does nothing else.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_input::FilterParams;
use cuesta_input::pair_matrix::{
    Masks, Need, PairMatrix, Query, RowBatch, Walker, Writer, WriterOptions, pairs_of,
};
use cuesta_input::row::Row;
use cuesta_runtime::parallel;

const BATCH_ROWS: u64 = 4096;
const MEMORY_BYTES: u64 = 1 << 30;
const SCANS: u32 = 40;
/// Clock ticks a second of `/proc/self/stat`.
const TICKS_PER_S: f64 = 100.0;

struct Setting {
    genes: u32,
    samples: usize,
    threads: usize,
    shuffled: bool,
}

fn main() -> Result<()> {
    let number = |index: usize, default: usize| -> usize {
        std::env::args().nth(index + 1).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let setting = Setting {
        genes: number(0, 2000) as u32,
        samples: number(1, 475),
        threads: number(2, threads),
        shuffled: number(3, 0) == 1,
    };
    let folder = std::env::temp_dir().join(format!("cuesta-rate-{}", std::process::id()));
    let path = folder.join("x.zarr");
    std::fs::create_dir_all(&folder).map_err(|_| cuesta_core::Error::cancelled())?;
    write(&setting, &folder, &path)?;
    let matrix = PairMatrix::open(&path)?;
    for (name, min_abs_score) in [("0.1 %", 0.632), ("1 %", 0.507)] {
        for need in [Need::Edge, Need::Row] {
            scan(&setting, &matrix, need, (name, min_abs_score))?;
        }
    }
    let started = Instant::now();
    (0..100).try_for_each(|_| PairMatrix::open(&path).map(|_| ()))?;
    println!("open: {:.2} ms", started.elapsed().as_secs_f64() * 10.0);
    let _ = cuesta_runtime::removal::remove_tree(&folder);
    Ok(())
}

fn write(setting: &Setting, folder: &Path, path: &Path) -> Result<()> {
    let options = WriterOptions {
        genes: setting.genes,
        samples: setting.samples as u32,
        scores: 1,
        masks: Masks::Stored,
        threads: setting.threads,
        memory_bytes: MEMORY_BYTES / 2,
        scratch: folder.join("scratch"),
        ..WriterOptions::default()
    };
    let budget = Budget::new(MEMORY_BYTES);
    let writer = Writer::create(path, options, &budget)?;
    let rows = pairs_of(setting.genes);
    let mut batches: Vec<RowBatch> = Vec::new();
    let mut packing = 0.0;
    let masks = masks(setting.samples);
    for first in (0..rows).step_by(BATCH_ROWS as usize) {
        let mut batch = writer.batch();
        let end = rows.min(first + BATCH_ROWS);
        let scores: Vec<i32> = (first..end).map(score).collect();
        let start = Instant::now();
        fill(&mut batch, first, &scores, &masks);
        packing += start.elapsed().as_secs_f64();
        batches.push(batch);
    }
    println!(
        "{rows} rows, {} samples, {} threads; packing {:.0} ns a row on one thread",
        setting.samples,
        setting.threads,
        packing * 1e9 / rows as f64,
    );
    if setting.shuffled {
        let random = Stream::new(1, 5);
        let mut keys = 0..;
        batches.sort_by_cached_key(|_| random.bits(keys.next().unwrap_or(0)));
    }
    let (started, cpu) = (Instant::now(), cpu_seconds());
    batches.iter_mut().try_for_each(|batch| writer.push_batch(batch))?;
    let written = writer.finish(&Progress::default())?;
    let (wall, cpu) = (started.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    println!("write: {wall:.2} s wall, {cpu:.2} s CPU, spilled {} B", written.spilled_bytes);
    for array in ["score", "cluster_samples", "missing", "threshold", "num_clusters", "mask"] {
        let bytes = size_of(&path.join(array));
        println!("  {array}: {bytes} B, {:.3} a row", bytes as f64 / rows as f64);
    }
    println!("  all: {:.1} B a row", size_of(path) as f64 / rows as f64);
    Ok(())
}

fn fill(batch: &mut RowBatch, first: u64, scores: &[i32], masks: &[(Vec<u8>, [u32; 5])]) {
    let mut walker = Walker::default();
    for (rank, score) in (first..).zip(scores) {
        let (gene1, gene2) = walker.genes_of(rank);
        let (mask, tally) = &masks[rank as usize % masks.len()];
        let [cluster_samples, missing, outliers, pair_outliers, threshold] = *tally;
        let row = Row {
            gene1,
            gene2,
            cluster: 1,
            num_clusters: 1 + (rank % 3) as u32,
            cluster_samples,
            missing,
            outliers,
            pair_outliers,
            threshold,
            scores: std::slice::from_ref(score),
            mask,
        };
        assert_eq!(batch.push(&row), Ok(()));
    }
}

/// Normal with standard deviation 0.2.
fn score(rank: u64) -> i32 {
    (Stream::new(1, 1).normal(rank) * 2e5) as i32
}

/// Masks as the synthetic text has them, and their tallies.
fn masks(samples: usize) -> Vec<(Vec<u8>, [u32; 5])> {
    let make = |number: u64| {
        let random = Stream::new(2, number);
        let symbol = |i: u64| match random.below(i, 256) {
            0..=5 => b'9',
            6..=7 => b'8',
            8..=9 => b'7',
            10 => b'6',
            other => b'0' + u8::from(other % (1 + number % 3) == 0),
        };
        let mask: Vec<u8> = (0..samples as u64).map(symbol).collect();
        let tally = [b'1', b'9', b'8', b'7', b'6']
            .map(|symbol| mask.iter().filter(|&&s| s == symbol).count() as u32);
        (mask, tally)
    };
    (0..4099).map(make).collect()
}

fn scan(setting: &Setting, matrix: &PairMatrix, need: Need, at: (&str, f64)) -> Result<()> {
    let filter = FilterParams { min_abs_score: at.1, ..FilterParams::default() }.check()?;
    let query = Query { filter: Some(filter), need };
    let (kept, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let once = || -> Result<()> {
        let chunks = matrix.chunks(Some(&filter));
        let work = |(scratch, text): &mut (Option<_>, Vec<u8>), task: usize| {
            let scratch = match scratch {
                Some(scratch) => scratch,
                None => scratch.insert(matrix.scratch()?),
            };
            text.clear();
            let rows = matrix.visit_chunk(chunks[task].index, &query, scratch, |row| {
                if need == Need::Row {
                    row.append_kinc_v1(text);
                }
                Ok(())
            })?;
            kept.fetch_add(rows, Ordering::Relaxed);
            bytes.fetch_add(text.len() as u64, Ordering::Relaxed);
            Ok(())
        };
        let worker = || (None, Vec::new());
        parallel::run(setting.threads, chunks.len(), worker, work, |_| {}).map(|_| ())
    };
    once()?;
    kept.store(0, Ordering::Relaxed);
    bytes.store(0, Ordering::Relaxed);
    let (started, cpu) = (Instant::now(), cpu_seconds());
    let mut best = f64::MAX;
    for _ in 0..SCANS {
        let start = Instant::now();
        once()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    let wall = started.elapsed().as_secs_f64() / f64::from(SCANS);
    let cpu = (cpu_seconds() - cpu) / f64::from(SCANS);
    let pairs = pairs_of(setting.genes) as f64;
    let share = kept.into_inner() as f64 / f64::from(SCANS) / pairs;
    println!(
        "scan {} {need:?}: kept {:.3} %, best {:.2} ms, mean {:.2} ms, CPU {:.2} ms; best {:.0}, \
         by CPU {:.0} M pairs/s; {} text B",
        at.0,
        100.0 * share,
        best * 1e3,
        wall * 1e3,
        cpu * 1e3,
        pairs / best / 1e6,
        pairs / cpu * setting.threads as f64 / 1e6,
        bytes.into_inner() / u64::from(SCANS)
    );
    Ok(())
}

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |field: usize| fields.get(field).and_then(|t| t.parse::<f64>().ok());
    (ticks(11).unwrap_or(0.0) + ticks(12).unwrap_or(0.0)) / TICKS_PER_S
}

fn size_of(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else {
        return std::fs::metadata(path).map_or(0, |file| file.len());
    };
    entries.flatten().map(|entry| size_of(&entry.path())).sum()
}
