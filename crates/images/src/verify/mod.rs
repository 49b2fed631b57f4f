//! Proves an answer: every image again by other methods than the kernel's, every line of the table
//! written anew and compared byte by byte, so that no wrong answer passes.
//!
//! The threshold is found by other sums and fractions ([`levels`]), objects by strips of two rows
//! as bits instead of runs of one ([`strips`]). The table is read some lines at a time; with the
//! room of each thread that takes no more memory than the work.

mod analyse;
mod cut;
mod levels;
mod lines;
mod strips;

use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::budget::Budget;
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

/// What the widest counts take less here than in the kernel: half of 512 KiB, of which some goes
/// into the counts of bytes.
const SPARED_BYTES: u64 = 128 << 10;

const METHOD: &str = "every threshold by other sums, objects by strips of two rows as bits, every \
                      line written anew";

/// Verifies the answer in `request.output`.
///
/// [`VerificationLevel::Sample`] looks at all of the table, with the sizes of the images from their
/// headers, but computes the threshold and the counts of one image in
/// [`cuesta_core::job::SAMPLE_GROUP_SIZE`] only.
///
/// # Errors
/// `Input` when the table cannot be read; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    let plan = plan(request)?;
    let stack = Stack::open(&request.inputs, kernel::needed_bytes)?;
    progress.expect((0..stack.images).map(|image| stack.bytes_of(image)).sum());
    let mut lines = Lines::open(request.output.join(table::FEATURES_FILE))?;
    let budget = Budget::new(request.memory_bytes);
    let (each_bytes, beside_bytes) = (thread_bytes(&stack), lines::NEEDED_BYTES);
    let fitting = budget.free_bytes().saturating_sub(beside_bytes) / each_bytes;
    let threads = request.threads.min(usize::try_from(fitting).unwrap_or(usize::MAX)).max(1);
    let _lease = budget.take(threads as u64 * each_bytes + beside_bytes, "the largest image")?;
    let sample =
        (request.verify == VerificationLevel::Sample).then(|| Sample::random(stack.images));
    let job = Job { stack: &stack, plan: &plan, sample, threads, progress };
    let mut workers = Vec::new();
    let (mut images, mut ends) = (0, false);
    while images < stack.images && !ends {
        let count = lines.next(stack.images - images)?;
        ends = lines.is_all(count - 1);
        let rows = count - usize::from(ends);
        workers = job.look(workers, &lines, images, rows)?;
        images += rows as u64;
    }
    let found = workers.into_iter().fold(Seen::default(), |all, worker| all.with(worker.seen));
    let is_whole = images == stack.images && (ends || lines.next(1)? == 1 && lines.is_all(0));
    let mut verdict = verdict(found, &mut lines)?;
    verdict.require(is_whole, "its rows are more or fewer than the images");
    verdict.counts.insert("images", images);
    Ok(verdict)
}

/// What a thread takes: no more than one that works, which has wider counts.
fn thread_bytes(stack: &Stack) -> u64 {
    stack.needed_bytes - SPARED_BYTES
}

/// The verdict on rows that were looked at, and on the line of all images, which was read last.
fn verdict(found: Seen, lines: &mut Lines) -> Result<Verdict> {
    let Seen { mut given, mut right, sums, wrong } = found;
    let (number, line) = lines.last();
    if let Some(all) =
        std::str::from_utf8(line).ok().and_then(|line| parsed(line, table::parse_all))
    {
        all.add_all(&mut given);
    }
    sums.add_all(&mut right);
    let mut last = String::new();
    sums.append_all(&mut last);
    let is_right = line == last.as_bytes();
    let is_over = lines.is_over()?;
    let mut verdict = Verdict::new(given, right, METHOD).covers(&[table::FEATURES_FILE]);
    verdict.require(is_over, "something comes after the line of all images");
    verdict.require(is_right, &format!("line {number} does not have the sums of the others"));
    if let Some((number, what)) = wrong {
        verdict.require(false, &format!("line {number} of {} {what}", table::FEATURES_FILE));
    }
    verdict.counts.insert("objects", sums.objects);
    Ok(verdict)
}

/// Reads a line without its end.
fn parsed<T>(line: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
    line.strip_suffix('\n').and_then(parse)
}

/// A verification.
struct Job<'a> {
    stack: &'a Stack,
    plan: &'a Plan,
    /// What chooses the images that are computed, unless all are.
    sample: Option<Sample>,
    threads: usize,
    progress: &'a Progress,
}

/// What was seen of rows.
#[derive(Default)]
struct Seen {
    given: Digest,
    right: Digest,
    sums: Counts,
    /// The first line that is wrong, and what of it.
    wrong: Option<(u64, String)>,
}

impl Seen {
    fn with(mut self, other: Self) -> Self {
        self.given.merge(&other.given);
        self.right.merge(&other.right);
        self.sums.add(&other.sums);
        self.wrong = self.wrong.into_iter().chain(other.wrong).min();
        self
    }

    fn note(&mut self, number: u64, what: &str) {
        if self.wrong.as_ref().is_none_or(|&(first, _)| number < first) {
            self.wrong = Some((number, what.to_owned()));
        }
    }
}

/// A thread.
struct Worker<'a> {
    reader: Reader<'a>,
    room: Scratch,
    line: String,
    seen: Seen,
}

impl<'a> Job<'a> {
    /// Looks at rows that are held, of images from number `first` on.
    fn look(
        &self,
        workers: Vec<Worker<'a>>,
        lines: &Lines,
        first: u64,
        rows: usize,
    ) -> Result<Vec<Worker<'a>>> {
        let kept = Mutex::new(workers);
        let make = || {
            parallel::lock(&kept).pop().unwrap_or_else(|| Worker {
                reader: Reader::new(self.stack),
                room: Scratch::default(),
                line: String::new(),
                seen: Seen::default(),
            })
        };
        let task = |worker: &mut Worker<'_>, index: usize| {
            let image = first + index as u64;
            self.look_at(worker, image, lines, index)?;
            self.progress.advance(self.stack.bytes_of(image))
        };
        let mut workers = parallel::run(self.threads, rows, make, task, |_| {})?;
        workers.append(&mut parallel::lock(&kept));
        Ok(workers)
    }

    fn look_at(
        &self,
        worker: &mut Worker<'_>,
        image: u64,
        lines: &Lines,
        index: usize,
    ) -> Result<()> {
        let Worker { reader, room, line, seen } = worker;
        let (number, given_line) = lines.get(index);
        let given = std::str::from_utf8(given_line).ok().and_then(|line| parsed(line, Row::parse));
        let given = given.ok_or_else(|| lines.bad(number, "is not what is in an image"))?;
        given.add(&mut seen.given);
        let (shape, found) = if self.computes(image) {
            let (shape, samples) = reader.read(image)?;
            let found = analyse(samples, &shape, self.plan, room);
            (shape, found.map_err(|what| refuse(self.stack, image, &what))?)
        } else {
            let shape = reader.shape(image)?;
            match self.as_given(&given, &shape) {
                Some(found) => (shape, found),
                None => {
                    seen.note(number, "has numbers that no image of its size has");
                    return Ok(());
                }
            }
        };
        let right = row(self.stack, image, &shape, &found);
        right.add(&mut seen.right);
        seen.sums.add(&right.counts);
        line.clear();
        right.append(line);
        if line.as_bytes() != given_line {
            let (given_line, right) = (String::from_utf8_lossy(given_line), line.trim_end());
            let fields = given_line.trim_end().split('\t').zip(right.split('\t'));
            let column = fields.zip(table::HEADER).find(|((given, right), _)| given != right);
            let name = column.map_or("end", |(_, name)| name);
            seen.note(number, &format!("has another {name} than it should have"));
        }
        Ok(())
    }

    /// Whether the threshold and the counts of an image are computed.
    fn computes(&self, image: u64) -> bool {
        self.sample.as_ref().is_none_or(|sample| sample.has(image))
    }

    /// What a row says, if an image of this size may have it.
    fn as_given(&self, given: &Row, shape: &ImageShape) -> Option<ImageMeasures> {
        let Counts { pixels, objects, largest } = given.counts;
        let found = ImageMeasures { threshold: given.threshold, pixels, objects, largest };
        let whole = matches!(shape.kind, SampleType::U8 | SampleType::U16);
        let level_max = if shape.kind == SampleType::U8 { 255.0 } else { 65_535.0 };
        let is_level = |x: f64| (0.0..=level_max).contains(&x) && x.fract() == 0.0;
        let threshold = match self.plan.threshold {
            Some(threshold) => threshold == given.threshold,
            None if whole => is_level(given.threshold),
            None => given.threshold.is_finite(),
        };
        let least = objects.checked_mul(self.plan.min_pixels)?;
        let is_right = threshold
            && pixels <= shape.pixels() as u64
            && (objects == 0) == (largest == 0)
            && (objects == 0 || largest >= self.plan.min_pixels)
            // The largest, and at least so many pixels of each of the others.
            && least.max(largest) <= pixels
            && (objects == 0 || least - self.plan.min_pixels <= pixels - largest)
            && (self.plan.min_pixels > 1 || objects.saturating_mul(largest) >= pixels);
        is_right.then_some(found)
    }
}
