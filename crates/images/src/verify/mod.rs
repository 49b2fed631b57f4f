//! Verifies an answer: recomputes each image by other methods than the kernel's, writes each line
//! of the table again and compares it byte by byte, so that no wrong answer passes.
//!
//! The threshold is computed by other sums and fractions ([`levels`]), objects by strips of two
//! rows as bits instead of runs of one row ([`strips`]). The table is read in blocks of lines; with
//! the memory of each thread this takes no more memory than the run.

mod analyse;
mod cut;
mod levels;
mod lines;
mod strips;

use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::digest::Digest;
use cuesta_core::job::{Request, Verdict, VerificationLevel};
use cuesta_core::progress::Progress;
use cuesta_core::sample::Sample;
use cuesta_runtime::parallel;

use crate::kernel;
use crate::kernel::ImageMeasures;
use crate::params::Plan;
use crate::run::{plan, refuse, row};
use crate::table::{self, Counts, Row};
pub(crate) use analyse::{Scratch, analyse};
use cuesta_input::images::samples::{ImageShape, SampleType};
use cuesta_input::images::{Reader, Stack};
use lines::Lines;

/// Bytes by which the widest counts are smaller here than in the kernel: half of 512 KiB, of which
/// some is used for the counts of bytes.
const SPARED_BYTES: u64 = 128 << 10;

const METHOD: &str = "every threshold by other sums, objects by strips of two rows as bits, every \
                      line written anew";

/// Verifies the answer in `request.output`.
///
/// [`VerificationLevel::Sample`] checks all of the table, with the sizes of the images from their
/// headers, but computes the threshold and the counts of only one image in
/// [`cuesta_core::job::SAMPLE_GROUP_SIZE`].
///
/// # Errors
/// `Input` when the table cannot be read; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    let plan = plan(request)?;
    let stack = Stack::open(&request.inputs, kernel::needed_bytes)?;
    progress.expect((0..stack.images).map(|image| stack.bytes_of(image)).sum());
    let mut lines = Lines::open(request.output.join(table::FEATURES_FILE))?;
    let (each_bytes, lines_bytes) = (thread_bytes(&stack), lines::NEEDED_BYTES);
    let fitting = request.budget.free_bytes().saturating_sub(lines_bytes) / each_bytes;
    let threads = request.threads.min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1);
    let _lease =
        request.budget.take(threads as u64 * each_bytes + lines_bytes, "the largest image")?;
    let sample =
        (request.verify == VerificationLevel::Sample).then(|| Sample::random(stack.images));
    let job = Job { stack: &stack, plan: &plan, sample, threads, progress };
    let mut workers = Vec::new();
    let (mut images, mut ends) = (0, false);
    while images < stack.images && !ends {
        let count = lines.next(stack.images - images)?;
        ends = lines.is_all(count - 1);
        let rows = count - usize::from(ends);
        workers = job.check_rows(workers, &lines, images, rows)?;
        images += rows as u64;
    }
    let checks =
        workers.into_iter().fold(RowChecks::default(), |all, worker| all.with(worker.checks));
    let has_all_rows = images == stack.images && (ends || lines.next(1)? == 1 && lines.is_all(0));
    let mut verdict = verdict(checks, &mut lines)?;
    verdict.require(has_all_rows, "its rows are more or fewer than the images");
    verdict.counts.insert("images", images);
    Ok(verdict)
}

/// Returns the memory of a thread: no more than in the run, which has wider counts.
fn thread_bytes(stack: &Stack) -> u64 {
    stack.needed_bytes - SPARED_BYTES
}

/// Returns the verdict on the checked rows, and on the line of all images, which was read last.
fn verdict(checks: RowChecks, lines: &mut Lines) -> Result<Verdict> {
    let RowChecks { mut answer, mut right, sums, wrong } = checks;
    let (number, line) = lines.last();
    if let Some(all) =
        std::str::from_utf8(line).ok().and_then(|line| parsed(line, table::parse_all))
    {
        all.add_all(&mut answer);
    }
    sums.add_all(&mut right);
    let mut last = String::new();
    sums.append_all(&mut last);
    let is_right = line == last.as_bytes();
    let is_over = lines.is_over()?;
    let mut verdict = Verdict::new(answer, right, METHOD).covers(&[table::FEATURES_FILE]);
    verdict.require(is_over, "something comes after the line of all images");
    verdict.require(is_right, &format!("line {number} does not have the sums of the others"));
    if let Some((number, fault)) = wrong {
        verdict.require(false, &format!("line {number} of {} {fault}", table::FEATURES_FILE));
    }
    verdict.counts.insert("objects", sums.objects);
    Ok(verdict)
}

/// Parses a line without its line feed.
fn parsed<T>(line: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
    line.strip_suffix('\n').and_then(parse)
}

/// Context of a verification.
struct Job<'a> {
    stack: &'a Stack,
    plan: &'a Plan,
    /// Sample of the images that are computed; `None` computes all images.
    sample: Option<Sample>,
    threads: usize,
    progress: &'a Progress,
}

/// Results of the checks of rows.
#[derive(Default)]
struct RowChecks {
    answer: Digest,
    right: Digest,
    sums: Counts,
    /// The first wrong line, and its fault.
    wrong: Option<(u64, String)>,
}

impl RowChecks {
    fn with(mut self, part: Self) -> Self {
        self.answer.merge(&part.answer);
        self.right.merge(&part.right);
        self.sums.add(&part.sums);
        self.wrong = self.wrong.into_iter().chain(part.wrong).min();
        self
    }

    fn note(&mut self, number: u64, fault: &str) {
        if self.wrong.as_ref().is_none_or(|&(first, _)| number < first) {
            self.wrong = Some((number, fault.to_owned()));
        }
    }
}

/// State of a thread.
struct Worker<'a> {
    reader: Reader<'a>,
    scratch: Scratch,
    line: String,
    checks: RowChecks,
}

impl<'a> Job<'a> {
    /// Checks the rows of a block of lines, of images from number `first` on.
    fn check_rows(
        &self,
        workers: Vec<Worker<'a>>,
        lines: &Lines,
        first: u64,
        rows: usize,
    ) -> Result<Vec<Worker<'a>>> {
        let idle_workers = Mutex::new(workers);
        let make = || {
            parallel::lock(&idle_workers).pop().unwrap_or_else(|| Worker {
                reader: Reader::new(self.stack),
                scratch: Scratch::default(),
                line: String::new(),
                checks: RowChecks::default(),
            })
        };
        let task = |worker: &mut Worker<'_>, index: usize| {
            let image = first + index as u64;
            self.check_row(worker, image, lines, index)?;
            self.progress.advance(self.stack.bytes_of(image))
        };
        let mut workers = parallel::run(self.threads, rows, make, task, |_| {})?;
        workers.append(&mut parallel::lock(&idle_workers));
        Ok(workers)
    }

    fn check_row(
        &self,
        worker: &mut Worker<'_>,
        image: u64,
        lines: &Lines,
        index: usize,
    ) -> Result<()> {
        let Worker { reader, scratch, line, checks } = worker;
        let (number, answer_line) = lines.get(index);
        let answer_row =
            std::str::from_utf8(answer_line).ok().and_then(|line| parsed(line, Row::parse));
        let answer_row =
            answer_row.ok_or_else(|| lines.bad(number, "is not what is in an image"))?;
        answer_row.add(&mut checks.answer);
        let (shape, measures) = if self.computes(image) {
            let (shape, samples) = reader.read(image)?;
            let measures = analyse(samples, &shape, self.plan, scratch);
            (shape, measures.map_err(|reason| refuse(self.stack, image, &reason))?)
        } else {
            let shape = reader.shape(image)?;
            match self.plausible_measures(&answer_row, &shape) {
                Some(measures) => (shape, measures),
                None => {
                    checks.note(number, "has numbers that no image of its size has");
                    return Ok(());
                }
            }
        };
        let right = row(self.stack, image, &shape, &measures);
        right.add(&mut checks.right);
        checks.sums.add(&right.counts);
        line.clear();
        right.append(line);
        if line.as_bytes() != answer_line {
            let (answer_line, right) = (String::from_utf8_lossy(answer_line), line.trim_end());
            let fields = answer_line.trim_end().split('\t').zip(right.split('\t'));
            let column =
                fields.zip(table::HEADER).find(|((answer_row, right), _)| answer_row != right);
            let name = column.map_or("end", |(_, name)| name);
            checks.note(number, &format!("has another {name} than it should have"));
        }
        Ok(())
    }

    /// Whether the threshold and the counts of an image are computed.
    fn computes(&self, image: u64) -> bool {
        self.sample.as_ref().is_none_or(|sample| sample.has(image))
    }

    /// Returns the measures of a row, if an image of this size may have them.
    fn plausible_measures(&self, answer_row: &Row, shape: &ImageShape) -> Option<ImageMeasures> {
        let Counts { pixels, objects, largest } = answer_row.counts;
        let measures = ImageMeasures { threshold: answer_row.threshold, pixels, objects, largest };
        let has_levels = matches!(shape.kind, SampleType::U8 | SampleType::U16);
        let level_max = if shape.kind == SampleType::U8 { 255.0 } else { 65_535.0 };
        let is_level = |x: f64| (0.0..=level_max).contains(&x) && x.fract() == 0.0;
        let threshold = match self.plan.threshold {
            Some(threshold) => threshold == answer_row.threshold,
            None if has_levels => is_level(answer_row.threshold),
            None => answer_row.threshold.is_finite(),
        };
        let least = objects.checked_mul(self.plan.min_pixels)?;
        let is_right = threshold
            && pixels <= shape.pixels() as u64
            && (objects == 0) == (largest == 0)
            && (objects == 0 || largest >= self.plan.min_pixels)
            // The largest object, and at least `min_pixels` of each further object.
            && least.max(largest) <= pixels
            && (objects == 0 || least - self.plan.min_pixels <= pixels - largest)
            && (self.plan.min_pixels > 1 || objects.saturating_mul(largest) >= pixels);
        is_right.then_some(measures)
    }
}
