//! Test of the differences of a join: Fisher's z of each matched pair, p- and q-values, and the
//! class of the change. Runs on the answer of any engine, after it and before verification.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use cuesta_core::budget::Lease;
use cuesta_core::fixed::{Micro, append_integer, append_millionths};
use cuesta_core::job::{Context, Response, timed};
use cuesta_core::{Error, Result};
use cuesta_input::limits::SPLIT_BYTES;
use cuesta_input::pair_matrix::Need;
use cuesta_input::reader::LineBlocks;
use cuesta_input::source::{Split, TextFile, TextSource};
use cuesta_runtime::ordered::OrderedFile;
use cuesta_runtime::parallel::lock;
use cuesta_runtime::{atomic_file, parallel};

use super::join::{HEADER, PAIRS_FILE, inputs};
use super::pairs::{Pairs, SelectedRow, Visitor};
use crate::kernel::differential::{
    GroupScore, class, numeral, q_values_of_ascending, rounded, z_millionths, z_p_value,
};
use crate::kernel::join::{key, unkey};
use crate::params::JoinParams;

/// Name of the table of tested differences.
pub const DIFFERENCES_FILE: &str = "differences.tsv";
/// First line of that table.
pub const DIFFERENCES_HEADER: &str = "gene1\tgene2\tcluster\ta_score\ta_p\ta_samples\tb_score\t\
                                      b_p\tb_samples\tz\tp\tq\tclass";
/// Bytes of memory for a matched pair, here and in verification.
pub const PAIR_BYTES: u64 = 48;
/// Purpose of that memory, for messages.
pub const PURPOSE: &str = "the test of the matched pairs";
/// Rows that a task writes.
const TASK_ROWS: usize = 1 << 14;

/// Pair of a join that is in both versions.
struct MatchedPair {
    key: u64,
    scores: [Micro; 2],
    samples: [AtomicU32; 2],
    /// z of the difference, in millionths.
    z: i64,
}

impl MatchedPair {
    fn groups(&self) -> [GroupScore; 2] {
        [0, 1].map(|side| GroupScore {
            score: self.scores[side],
            samples: self.samples[side].load(Ordering::Relaxed),
        })
    }
}

/// Writes the table of tested differences next to the join in the folder of the answer.
///
/// # Errors
/// `Input` for an answer of another workload, or if the matched pairs do not fit in the memory
/// limit; `System`; `Cancelled`.
pub fn write(context: &Context<'_>, params: &JoinParams, response: &mut Response) -> Result<()> {
    let pairs = context.request.output.join(PAIRS_FILE);
    let (mut rows, _leases) = timed(response, "read pairs", || {
        let (rows, leases) = matched(context, &pairs)?;
        let count = rows.len() as u64;
        Ok(((rows, leases), file_size(&pairs)?, count))
    })?;
    let matched_count = rows.len() as u64;
    timed(response, "count samples", || {
        let mut bytes = 0;
        for (side, input) in inputs(context.request)?.iter().enumerate() {
            bytes += count_samples(context, params, (side, input), &rows)?;
        }
        Ok(((), bytes, 0))
    })?;
    let different = timed(response, "test", || {
        rows.retain_mut(|row| {
            z_millionths(row.groups(), params.method).map(|z| row.z = z).is_some()
        });
        // Largest |z| first; ties by genes and cluster.
        rows.sort_unstable_by_key(|row| (std::cmp::Reverse(row.z.unsigned_abs()), row.key));
        let path = context.request.output.join(DIFFERENCES_FILE);
        let (different, bytes) =
            atomic_file::write(&path, |partial| write_rows(context, params, &rows, partial))?;
        Ok((different, bytes, rows.len() as u64))
    })?;
    response.counts.insert("pairs_tested", rows.len() as u64);
    response.counts.insert("pairs_not_tested", matched_count - rows.len() as u64);
    response.counts.insert("pairs_different", different);
    Ok(())
}

/// Reads the rows of a join that are in both versions, in ascending order of their keys.
fn matched<'a>(context: &Context<'a>, path: &Path) -> Result<(Vec<MatchedPair>, Vec<Lease<'a>>)> {
    let size_bytes = file_size(path)?;
    let file = TextFile { path: path.to_owned(), size_bytes, is_packed: false, zone: None };
    let source = TextSource { files: vec![file], shape: None, files_skipped: 0 };
    let (file, splits) = (&source.files[0], source.splits(SPLIT_BYTES));
    context.progress.expect(size_bytes);
    let parts = Mutex::new(Vec::new());
    let work = |buffer: &mut Vec<u8>, task: usize| {
        let rows = matched_of_split(file, &splits[task], buffer)?;
        let lease = context.budget.take(PAIR_BYTES * rows.len() as u64, PURPOSE)?;
        lock(&parts).push((task, rows, lease));
        context.progress.advance(splits[task].size_bytes)
    };
    parallel::run(context.request.threads, splits.len(), Vec::new, work, |_| {})?;
    let mut parts = parts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    parts.sort_by_key(|&(task, ..)| task);
    let count = parts.iter().map(|(_, rows, _)| rows.len()).sum();
    let (mut all, mut leases) = (Vec::with_capacity(count), Vec::new());
    for (_, rows, lease) in parts {
        all.extend(rows);
        leases.push(lease);
    }
    if !all.is_sorted_by(|a: &MatchedPair, b| a.key < b.key) {
        return Err(foreign(path, "is not in ascending order of genes"));
    }
    Ok((all, leases))
}

fn matched_of_split(
    file: &TextFile,
    split: &Split,
    buffer: &mut Vec<u8>,
) -> Result<Vec<MatchedPair>> {
    let mut rows = Vec::new();
    let mut blocks = LineBlocks::open_with(file, split, std::mem::take(buffer))?;
    while let Some(block) = blocks.next_block()? {
        let mut lines = &block.bytes[..block.size_bytes];
        if block.offset == 0 {
            let below = lines.strip_prefix(HEADER.as_bytes());
            let below = below.and_then(|lines| lines.strip_prefix(b"\n"));
            lines = below.ok_or_else(|| foreign(&file.path, "has another header"))?;
        }
        for line in lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            match matched_of_line(line) {
                Some(Some(row)) => rows.push(row),
                Some(None) => {}
                None => {
                    let fault = format!("has the line {:.60}", line.escape_ascii());
                    return Err(foreign(&file.path, &fault));
                }
            }
        }
    }
    *buffer = blocks.into_buffer();
    rows.shrink_to_fit();
    Ok(rows)
}

/// Reads a line of a join; returns `None` for a damaged one, `Some(None)` for a row of one version.
fn matched_of_line(line: &[u8]) -> Option<Option<MatchedPair>> {
    let mut fields = line.split(|&byte| byte == b'\t').map(|field| std::str::from_utf8(field).ok());
    let mut next = || fields.next().flatten();
    let [gene1, gene2, cluster] = [next()?, next()?, next()?].map(|field| field.parse::<u32>());
    let key = key(gene1.ok()?, gene2.ok()?, cluster.ok().filter(|&cluster| cluster > 0)?);
    if next()? != "both" {
        return Some(None);
    }
    let [a, b] = [next()?, next()?].map(micro_of);
    let scores = [a?, b?];
    Some(Some(MatchedPair { key, scores, samples: Default::default(), z: 0 }))
}

/// Reads a score that is written with six decimals.
fn micro_of(text: &str) -> Option<Micro> {
    let (whole, decimals) = text.split_once('.')?;
    let digits = decimals.len() == 6 && decimals.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| format!("{whole}{decimals}").parse().ok()).flatten()
}

/// Stores the number of samples of each matched pair in a version; returns the bytes read.
fn count_samples(
    context: &Context<'_>,
    params: &JoinParams,
    (side, input): (usize, &std::path::PathBuf),
    rows: &[MatchedPair],
) -> Result<u64> {
    let filter = params.filter.check()?;
    let pairs = Pairs::open(std::slice::from_ref(input), &filter, Need::Row)?;
    let visitor = Visitor {
        keep: &|(), _, row| {
            let (gene1, gene2, cluster) = row.place();
            let key = key(gene1, gene2, cluster);
            if let Ok(place) = rows.binary_search_by_key(&key, |row| row.key) {
                let samples = match row {
                    SelectedRow::Line(hit) => hit.parse_but_mask()?.row().cluster_samples,
                    SelectedRow::Row(row, _) => row.cluster_samples,
                };
                rows[place].samples[side].store(samples, Ordering::Relaxed);
            }
            Ok(())
        },
        flush: &|(), _, _| Ok(()),
        on_error: &|_| {},
    };
    let workers = pairs.visit(context.request.threads, context.progress, || (), &visitor)?;
    Ok(workers.iter().map(|worker| worker.bytes).sum())
}

/// Writes the tested pairs; returns the number of different ones and the size of the file.
fn write_rows(
    context: &Context<'_>,
    params: &JoinParams,
    rows: &[MatchedPair],
    path: &Path,
) -> Result<(u64, u64)> {
    let q_values = q_values_of_ascending(rows.iter().map(|row| z_p_value(row.z)));
    let out = OrderedFile::create(path)?;
    out.finish_task(0, &mut format!("{DIFFERENCES_HEADER}\n").into_bytes())?;
    let tasks = rows.len().div_ceil(TASK_ROWS);
    let work = |(different, text): &mut (u64, Vec<u8>), task: usize| {
        let places = task * TASK_ROWS..rows.len().min((task + 1) * TASK_ROWS);
        for (row, &q) in rows[places.clone()].iter().zip(&q_values[places]) {
            *different += u64::from(append(row, q, params.max_q, text));
        }
        out.finish_task(task + 1, text)?;
        context.progress.advance(0)
    };
    let make = || (0, Vec::new());
    let fail = |task| out.fail(task + 1);
    let workers = parallel::run(context.request.threads, tasks, make, work, fail)?;
    Ok((workers.iter().map(|(different, _)| different).sum(), out.close()?))
}

/// Appends a row of the table; returns whether the pair is different.
fn append(row: &MatchedPair, q: f64, max_q: f64, out: &mut Vec<u8>) -> bool {
    let (gene1, gene2, cluster) = unkey(row.key);
    for number in [gene1, gene2, cluster] {
        append_integer(u64::from(number), out);
        out.push(b'\t');
    }
    let groups = row.groups();
    let p_values = groups.map(|group| group.p_value());
    for (group, p) in groups.iter().zip(p_values) {
        append_millionths(i64::from(group.score), out);
        out.extend_from_slice(format!("\t{}\t{}\t", numeral(p), group.samples).as_bytes());
    }
    append_millionths(row.z, out);
    let signs = [0, 1].map(|side| (groups[side].score, rounded(p_values[side])));
    let class = class(signs, rounded(q), max_q);
    let (p, q) = (numeral(z_p_value(row.z)), numeral(q));
    out.extend_from_slice(format!("\t{p}\t{q}\t{class}\n").as_bytes());
    class != "none"
}

fn file_size(path: &Path) -> Result<u64> {
    let metadata = std::fs::metadata(path);
    Ok(metadata.map_err(|cause| Error::system("join", "opening", path, &cause))?.len())
}

fn foreign(path: &Path, fault: &str) -> Error {
    Error::input("join", format!("{} {fault}; run the workload again", path.display()))
}
