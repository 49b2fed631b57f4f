//! Verifies an answer: recomputes each sum by another method, and checks each mean against its sum.
//!
//! The table is read in windows of lines, so memory does not grow with its length. For the blocks
//! of a window, all threads add the vectors as integers ([`sums`]), then read the lines ([`rows`]).

mod rows;
mod sums;

use std::ops::Range;
use std::sync::atomic::{AtomicI64, Ordering};

use cuesta_core::Result;
use cuesta_core::digest::{Digest, Tag};
use cuesta_core::job::{Request, Verdict, VerificationLevel, parameters};
use cuesta_core::progress::Progress;
use cuesta_core::sample::Sample;
use cuesta_runtime::parallel;

use crate::kernel::{AXES, UNITS};
use crate::params::{DataflowParams, Plan};
use crate::source::{Stored, VectorSource};
use crate::table;
use rows::{AnswerLines, Row};
use sums::Words;

/// Block number in the digest record of all blocks.
const ALL_BLOCKS: u64 = u64::MAX;
const METHOD: &str =
    "bits of the random words, or numbers of files, added as whole numbers; means multiplied out";
const SAMPLE_METHOD: &str =
    "sums of one block in 16 added as whole numbers; all means multiplied out, all sums added";
/// Fault of a line that should be that of a block, or of all blocks.
const NO_ROW: &str = "has no line in its place, or one in which a number is written in another way \
                      or a mean is not that of its sum";
/// Vectors of a task: some hundreds of microseconds.
const TASK_VECTORS: u64 = 1 << 16;
const _: () = assert!(TASK_VECTORS <= sums::WORDS_MAX);
/// Vectors of files that are in memory at once: they fit in the cache of a core.
const READ_VECTORS: u64 = 1 << 13;
/// Lines of a task.
const TASK_LINES: usize = 1 << 8;

/// Verifies the answer in `request.output`.
///
/// [`VerificationLevel::Sample`] checks every line, and adds the vectors of one block in
/// [`cuesta_core::job::SAMPLE_GROUP_SIZE`].
///
/// # Errors
/// `Input` for a number of a file too large for exact sums; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    let source = VectorSource::open(&request.inputs, request.seed)?;
    let plan = parameters::<DataflowParams>(&request.parameters)?.check(source.vectors())?;
    let vectors = match &source {
        VectorSource::Drawn(_) => Vectors::Drawn(Words::new(request.seed)),
        VectorSource::Stored(stored) => Vectors::Stored(stored),
    };
    let sampled = request.verify == VerificationLevel::Sample;
    let sample = sampled.then(|| Sample::random(plan.blocks));
    let job = Job { plan: &plan, vectors, sample, threads: request.threads, progress };
    progress.expect(job.vectors_to_add());
    let checked = job.check_table(&mut AnswerLines::open(&request.output)?)?;
    let method = if sampled { SAMPLE_METHOD } else { METHOD };
    let wrong = checked.wrong.map(|(_, remark)| remark);
    let mut verdict =
        Verdict::proven(checked.digest, wrong.is_none(), &wrong.unwrap_or_default(), method)
            .covers(&[table::AVERAGES_FILE]);
    verdict.counts.insert("blocks", checked.lines.saturating_sub(1));
    verdict.counts.insert("vectors", plan.vectors);
    Ok(verdict)
}

/// Source of the vectors.
enum Vectors<'a> {
    Drawn(Words),
    Stored(&'a Stored),
}

/// Context of a verification.
struct Job<'a> {
    plan: &'a Plan,
    vectors: Vectors<'a>,
    /// Sample of the blocks whose vectors are added; `None` adds all blocks.
    sample: Option<Sample>,
    threads: usize,
    progress: &'a Progress,
}

/// Results of the lines checked so far.
#[derive(Default)]
struct CheckedLines {
    digest: Digest,
    lines: u64,
    total: [i128; AXES],
    /// The first wrong line, and its fault.
    wrong: Option<(u64, String)>,
}

impl CheckedLines {
    fn refuse(&mut self, line: u64, why: String) {
        if self.wrong.as_ref().is_none_or(|&(first, _)| line < first) {
            self.wrong = Some((line, why));
        }
    }

    fn add(&mut self, row: &Row) {
        let [x, y, z] = row.sums;
        let halves = |sum: i128| [sum as u64, (sum >> 64) as u64];
        let ([x0, x1], [y0, y1], [z0, z1]) = (halves(x), halves(y), halves(z));
        let block = row.block.unwrap_or(ALL_BLOCKS);
        self.digest.add(Tag::Dataflow, &[block, row.vectors, x0, x1, y0, y1, z0, z1]);
    }

    fn merge(&mut self, part: Self) {
        self.digest.merge(&part.digest);
        self.lines += part.lines;
        self.total.iter_mut().zip(part.total).for_each(|(total, more)| *total += more);
        if let Some((line, why)) = part.wrong {
            self.refuse(line, why);
        }
    }
}

/// Buffers of a thread for vectors of files.
#[derive(Default)]
struct Buffers {
    values: Vec<f64>,
    bytes: Vec<u8>,
}

impl Job<'_> {
    /// Whether the vectors of a block are added.
    fn adds(&self, block: u64) -> bool {
        self.sample.as_ref().is_none_or(|sample| sample.has(block))
    }

    fn vectors_to_add(&self) -> u64 {
        let sampled =
            |sample: &Sample| (sample.len() * self.plan.block_vectors).min(self.plan.vectors);
        self.sample.as_ref().map_or(self.plan.vectors, sampled)
    }

    /// Checks the table, up to the first window with a wrong line.
    fn check_table(&self, table: &mut AnswerLines) -> Result<CheckedLines> {
        let header = table::HEADER.join("\t") + "\n";
        let mut checked = CheckedLines::default();
        let mut text = table.next()?;
        let Some(rows) = text.strip_prefix(header.as_bytes()) else {
            checked.refuse(0, format!("{} has another header", table::AVERAGES_FILE));
            return Ok(checked);
        };
        text = rows;
        loop {
            let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
            self.check_lines(&lines, &mut checked)?;
            if checked.wrong.is_some() {
                return Ok(checked);
            }
            text = table.next()?;
            if text.is_empty() {
                break;
            }
        }
        if checked.lines <= self.plan.blocks {
            let why = format!("{} has fewer lines than blocks", table::AVERAGES_FILE);
            checked.refuse(checked.lines, why);
        }
        Ok(checked)
    }

    /// Checks the lines that follow those `checked` so far.
    fn check_lines(&self, lines: &[&[u8]], checked: &mut CheckedLines) -> Result<()> {
        let first = checked.lines;
        let remaining = self.plan.blocks.saturating_sub(first);
        let (of_blocks, after_blocks) = lines.split_at(lines.len().min(remaining as usize));
        let sums = self.sums(first..first + of_blocks.len() as u64)?;
        let task = |part: &mut CheckedLines, task: usize| {
            let start = task * TASK_LINES;
            let end = of_blocks.len().min(start + TASK_LINES);
            for index in start..end {
                let sums = sums[index].each_ref().map(|sum| sum.load(Ordering::Relaxed));
                self.check_block_line((first + index as u64, sums), of_blocks[index], part);
            }
            Ok(())
        };
        let tasks = of_blocks.len().div_ceil(TASK_LINES);
        for part in parallel::run(self.threads, tasks, CheckedLines::default, task, |_| {})? {
            checked.merge(part);
        }
        for line in after_blocks {
            self.check_total_line(line, checked);
        }
        Ok(())
    }

    /// Checks the line of a block; `sums` are its true sums if its vectors were added.
    fn check_block_line(
        &self,
        (block, sums): (u64, [i64; AXES]),
        line: &[u8],
        part: &mut CheckedLines,
    ) {
        part.lines += 1;
        let Some(row) = Row::read(line).filter(|row| row.block == Some(block)) else {
            return part.refuse(block, format!("block {block} {NO_ROW}"));
        };
        part.add(&row);
        if row.vectors != self.plan.vectors_of(block) {
            part.refuse(block, format!("block {block} has a wrong number of vectors"));
        }
        if self.adds(block) && row.sums != sums.map(i128::from) {
            part.refuse(block, format!("a sum of block {block} is wrong"));
        }
        // Sums of 2^24 blocks below this bound do not overflow, and no larger sum is right.
        if row.sums.iter().any(|&sum| i64::try_from(sum).is_err()) {
            return part.refuse(block, format!("a sum of block {block} is too large"));
        }
        part.total.iter_mut().zip(row.sums).for_each(|(total, sum)| *total += sum);
    }

    /// Checks the line of all blocks, which must be the last.
    fn check_total_line(&self, line: &[u8], checked: &mut CheckedLines) {
        let number = checked.lines;
        checked.lines += 1;
        if number > self.plan.blocks {
            return checked.refuse(number, "lines follow the last one".to_owned());
        }
        let Some(row) = Row::read(line).filter(|row| row.block.is_none()) else {
            return checked.refuse(number, format!("all {NO_ROW}"));
        };
        checked.add(&row);
        if row.vectors != self.plan.vectors {
            checked.refuse(number, "all blocks have a wrong number of vectors".to_owned());
        }
        if row.sums != checked.total {
            checked.refuse(number, "the sums of all are not those of the blocks".to_owned());
        }
    }

    /// Returns the sums of blocks with their shift, in units; zeros for blocks outside the sample.
    fn sums(&self, blocks: Range<u64>) -> Result<Vec<[AtomicI64; AXES]>> {
        let first = blocks.start;
        let chosen: Vec<u64> = blocks.clone().filter(|&block| self.adds(block)).collect();
        let sums: Vec<[AtomicI64; AXES]> = blocks.map(|_| Default::default()).collect();
        let each = self.plan.block_vectors;
        let group = (TASK_VECTORS / each).max(1) as usize;
        let pieces = each.div_ceil(TASK_VECTORS) as usize;
        let task = |buffers: &mut Buffers, task: usize| {
            let start = (task % pieces) as u64 * TASK_VECTORS;
            let mut added = 0;
            for &block in chosen[task / pieces * group..].iter().take(group) {
                let count = TASK_VECTORS.min(self.plan.vectors_of(block).saturating_sub(start));
                let piece_sum = self.sum(self.plan.first(block) + start, count, buffers)?;
                for (sum, more) in sums[(block - first) as usize].iter().zip(piece_sum) {
                    sum.fetch_add(more, Ordering::Relaxed);
                }
                added += count;
            }
            self.progress.advance(added)
        };
        let tasks = chosen.len().div_ceil(group) * pieces;
        parallel::run(self.threads, tasks, Buffers::default, task, |_| {})?;
        Ok(sums)
    }

    /// Returns the sum of `count` vectors with their shift, in units.
    fn sum(&self, first: u64, count: u64, buffers: &mut Buffers) -> Result<[i64; AXES]> {
        let mut sums = match &self.vectors {
            Vectors::Drawn(words) => words.sum(first, count),
            Vectors::Stored(stored) => self.sum_of_files(stored, first..first + count, buffers)?,
        };
        for (sum, shift) in sums.iter_mut().zip(self.plan.shift) {
            *sum += (shift * UNITS) as i64 * count as i64;
        }
        Ok(sums)
    }

    fn sum_of_files(
        &self,
        stored: &Stored,
        numbers: Range<u64>,
        buffers: &mut Buffers,
    ) -> Result<[i64; AXES]> {
        let (mut sums, limit) = ([0; AXES], self.plan.limit());
        for first in numbers.clone().step_by(READ_VECTORS as usize) {
            let count = READ_VECTORS.min(numbers.end - first) as usize;
            buffers.values.resize(AXES * count, 0.0);
            stored.read(first, &mut buffers.values, &mut buffers.bytes)?;
            let Some(piece) = sums::of_values(&buffers.values, limit) else {
                return Err(stored.refusal(first, &buffers.values, limit));
            };
            for (sum, more) in sums.iter_mut().zip(piece) {
                *sum += more;
            }
        }
        Ok(sums)
    }
}
