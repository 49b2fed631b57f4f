//! Runs a sort: in memory if it fits, else in runs on disk.

mod buffers;
mod inmemory;
mod merge;
mod pieces;
pub mod plan;
pub mod shares;

use std::time::Instant;

use cuesta_core::Result;
use cuesta_core::job::{Context, Phase, Request, Response};
use cuesta_core::progress::Progress;
use cuesta_input::records::{RECORD_BYTES, RecordFiles};
use cuesta_runtime::scratch;

use crate::disk::{Disk, DiskFile};
use crate::params::SortParams;
use inmemory::{DIVIDED_BYTES, Sorter};
use merge::Runs;
use plan::{Memory, SortPlan};

/// Name of the answer file.
pub const SORTED_FILE: &str = "sorted.dat";
/// Operation named at the start of messages about the answer.
const ANSWER: &str = "answer";

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(request: &Request, progress: &Progress) -> Result<Response> {
    run_on(&Disk::default(), resident_bytes(), request, progress)
}

/// Runs the workload on the given disk, in a process that already has `resident_bytes`.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run_on(
    disk: &Disk,
    resident_bytes: u64,
    request: &Request,
    progress: &Progress,
) -> Result<Response> {
    let context = Context::new(request, progress);
    let memory = Memory { limit_bytes: context.budget.limit_bytes(), resident_bytes };
    let other_bytes = memory.limit_bytes - memory.usable_bytes();
    let _lease = context.budget.take(other_bytes, "the program itself")?;
    let SortParams {} = context.parameters()?;
    let files = RecordFiles::open(&request.inputs)?;
    let plan = plan::plan(files.records(), request.threads, memory)?;
    let bytes = files.records() * RECORD_BYTES as u64;
    let output = disk.create(ANSWER, &request.output.join(SORTED_FILE))?;
    // With sharding, GlusterFS reports a wrong length for a file that several threads extend at
    // once.
    output.resize(bytes)?;
    let mut job = Job { context: &context, disk, files: &files, seconds: [0.0; 3] };
    let mut response = Response::default();
    progress.expect(files.records() * DIVIDED_BYTES);
    if plan.runs == 1 {
        progress.expect(2 * bytes);
        job.in_memory(plan, &output)?;
        job.report(&mut response, ["read", "sort", "write"], bytes);
    } else {
        progress.expect(4 * bytes);
        scratch::check_space(&request.scratch, bytes, "sorting in runs")?;
        let runs = job.spill(plan)?;
        job.report(&mut response, ["read", "sort", "spill"], bytes);
        let start = Instant::now();
        merge::merge(&context, &runs, &output)?;
        push(&mut response, "merge", start.elapsed().as_secs_f64(), bytes);
    }
    response.counts.insert("records", files.records());
    response.counts.insert("runs", plan.runs);
    Ok(response)
}

/// Returns the resident memory of this process: the limit applies to all of it, the interpreter
/// included.
pub(crate) fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0u64);
    pages * rustix::param::page_size() as u64
}

/// Context of a run, and the seconds of its phases.
struct Job<'a> {
    context: &'a Context<'a>,
    disk: &'a Disk,
    files: &'a RecordFiles,
    seconds: [f64; 3],
}

impl<'a> Job<'a> {
    fn sorter(&self, plan: SortPlan) -> Result<Sorter<'a>> {
        Sorter::new(self.context, self.disk, self.files, plan)
    }

    fn in_memory(&mut self, plan: SortPlan, output: &DiskFile<'_>) -> Result<()> {
        let mut sorter = self.sorter(plan)?;
        self.sort_run(&mut sorter, 0, output).map(|_| ())
    }

    /// Sorts run number `index` into its place in `output`; returns samples of its keys.
    fn sort_run(
        &mut self,
        sorter: &mut Sorter<'_>,
        index: u64,
        output: &DiskFile<'_>,
    ) -> Result<Vec<u128>> {
        let mut samples = Vec::new();
        let mut clock = Instant::now();
        for part in 0..3 {
            match part {
                0 => sorter.read(index)?,
                1 => sorter.divide()?,
                _ => samples = sorter.write(output)?,
            }
            self.seconds[part] += clock.elapsed().as_secs_f64();
            clock = Instant::now();
        }
        Ok(samples)
    }

    fn spill(&mut self, plan: SortPlan) -> Result<Runs<'a>> {
        let path = self.context.request.scratch.join("sort.runs");
        let mut runs = Runs::create(self.disk, &path, plan, self.files.records())?;
        let mut sorter = self.sorter(plan)?;
        for index in 0..plan.runs {
            let samples = self.sort_run(&mut sorter, index, runs.file())?;
            runs.add(samples);
        }
        Ok(runs)
    }

    fn report(&self, response: &mut Response, names: [&'static str; 3], bytes: u64) {
        for (name, seconds) in names.into_iter().zip(self.seconds) {
            push(response, name, seconds, bytes);
        }
    }
}

fn push(response: &mut Response, name: &'static str, seconds: f64, bytes: u64) {
    let rows = bytes / RECORD_BYTES as u64;
    response.phases.push(Phase { name: name.into(), seconds, bytes, rows, flops: 0 });
}
