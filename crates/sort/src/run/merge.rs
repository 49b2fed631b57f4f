//! Sorted runs in a scratch file, and their merge: ranges of keys, each small enough for memory,
//! are read from all runs at once. All ranges are known beforehand, so all threads merge, and each
//! thread writes its range to its place in the answer.

use std::path::{Path, PathBuf};

use cuesta_core::Result;
use cuesta_core::job::Context;
use cuesta_input::records::{KEY_BYTES, RECORD_BYTES, Record};
use cuesta_runtime::parallel;

use super::buffers::{LeasedArray, RecordBuffer};
use super::inmemory::write_records;
use super::plan::SortPlan;
use crate::disk::{Disk, DiskFile};
use crate::kernel::{self, Entry};

/// Operation named at the start of messages about runs.
const SCRATCH: &str = "scratch";

/// Sorted runs, one after the other in a scratch file, which is removed at the end.
pub struct Runs<'a> {
    path: PathBuf,
    file: DiskFile<'a>,
    plan: SortPlan,
    records: u64,
    /// Keys at every `stride`-th place of each run.
    samples: Vec<Vec<u128>>,
}

impl<'a> Runs<'a> {
    /// Creates an empty file for runs of `records` records in total.
    ///
    /// # Errors
    /// `System`.
    pub fn create(disk: &'a Disk, path: &Path, plan: SortPlan, records: u64) -> Result<Self> {
        let file = disk.create(SCRATCH, path)?;
        Ok(Self { path: path.to_owned(), file, plan, records, samples: Vec::new() })
    }

    /// Returns the file: run `index` is at record `index * run_records`.
    pub fn file(&self) -> &DiskFile<'a> {
        &self.file
    }

    /// Stores the samples of the next run.
    pub fn add(&mut self, samples: Vec<u128>) {
        self.samples.push(samples);
    }

    fn len(&self, run: usize) -> u64 {
        self.plan.run_records.min(self.records - run as u64 * self.plan.run_records)
    }

    /// Returns the samples that divide all records into tasks of at most `task_records`.
    ///
    /// Between two samples `step` apart in the sorted order there are at most `step + runs` strides
    /// of records: for each run, a stride for each of its samples between them and one more.
    fn boundaries(&self) -> Vec<Boundary> {
        let step = self.plan.task_records / self.plan.stride - self.plan.runs;
        let of_run = |(run, keys): (usize, &Vec<u128>)| {
            let boundary = |(index, &key)| Boundary { key, run, index };
            keys.iter().enumerate().map(boundary).collect::<Vec<_>>()
        };
        let mut all: Vec<Boundary> = self.samples.iter().enumerate().flat_map(of_run).collect();
        all.sort_unstable();
        all.into_iter().step_by(step as usize).skip(1).collect()
    }

    /// Returns the number of records of each run before `boundary`.
    fn cuts(&self, boundary: Option<&Boundary>) -> Result<Vec<u64>> {
        let cut = |run: usize| match boundary {
            None => Ok(self.len(run)),
            Some(boundary) if boundary.run == run => Ok(boundary.index as u64 * self.plan.stride),
            // Equal keys of earlier runs are before the boundary, those of later runs after it.
            Some(boundary) => self.count_before(run, |key| {
                key < boundary.key || (key == boundary.key && run < boundary.run)
            }),
        };
        (0..self.samples.len()).map(cut).collect()
    }

    /// Returns the number of records at the start of a run whose key is `before`.
    fn count_before(&self, run: usize, before: impl Fn(u128) -> bool) -> Result<u64> {
        let samples = self.samples[run].partition_point(|&key| before(key)) as u64;
        if samples == 0 {
            return Ok(0);
        }
        let mut low = (samples - 1) * self.plan.stride + 1;
        let mut high = (samples * self.plan.stride).min(self.len(run));
        while low < high {
            let middle = (low + high) / 2;
            if before(self.key_at(run, middle)?) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    fn key_at(&self, run: usize, place: u64) -> Result<u128> {
        let mut record = [0; RECORD_BYTES];
        self.file.read(&mut record[..KEY_BYTES], self.offset(run, place))?;
        Ok(kernel::key(&record))
    }

    fn offset(&self, run: usize, place: u64) -> u64 {
        (run as u64 * self.plan.run_records + place) * RECORD_BYTES as u64
    }
}

impl Drop for Runs<'_> {
    fn drop(&mut self) {
        // The scratch folder is emptied in any case; this only frees the disk earlier.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Sampled record: all records are in the order of key, run and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Boundary {
    key: u128,
    run: usize,
    index: usize,
}

/// Buffers of a thread.
struct Worker<'a> {
    records: RecordBuffer<'a>,
    entries: LeasedArray<'a, Entry>,
    spare: LeasedArray<'a, Entry>,
    buffer: Vec<Record>,
}

/// Merges `runs` into `output`.
///
/// # Errors
/// `System`; `Cancelled`.
pub fn merge(context: &Context<'_>, runs: &Runs<'_>, output: &DiskFile<'_>) -> Result<()> {
    let boundaries = runs.boundaries();
    let most = runs.plan.task_records as usize;
    let budget = context.budget;
    let make = || {
        Ok(Worker {
            records: RecordBuffer::new(budget, most)?,
            entries: LeasedArray::new(budget, 0, most)?,
            spare: LeasedArray::new(budget, 0, most)?,
            buffer: Vec::new(),
        })
    };
    let work = |worker: &mut Result<Worker<'_>>, task: usize| {
        let worker = worker.as_mut().map_err(|error| error.clone())?;
        let from = match task.checked_sub(1) {
            None => vec![0; runs.samples.len()],
            Some(before) => runs.cuts(Some(&boundaries[before]))?,
        };
        let to = runs.cuts(boundaries.get(task))?;
        merge_range(context, runs, (&from, &to), worker, output)
    };
    let threads = context.request.threads;
    parallel::run(threads, boundaries.len() + 1, make, work, |_| {}).map(|_| ())
}

/// Reads records `from..to` of each run, merges and writes them.
fn merge_range(
    context: &Context<'_>,
    runs: &Runs<'_>,
    (from, to): (&[u64], &[u64]),
    worker: &mut Worker<'_>,
    output: &DiskFile<'_>,
) -> Result<()> {
    let (records, entries) = (worker.records.values(), worker.entries.values());
    let mut ends = Vec::with_capacity(from.len());
    let mut count = 0;
    for (run, (&from, &to)) in from.iter().zip(to).enumerate() {
        let end = count + (to - from) as usize;
        if count < end {
            let bytes = records[count..end].as_flattened_mut();
            runs.file.read(bytes, runs.offset(run, from))?;
            kernel::entries(&records[count..end], count as u64, &mut entries[count..end]);
            context.progress.advance(((end - count) * RECORD_BYTES) as u64)?;
            ends.push(end);
            count = end;
        }
    }
    let spare = &mut worker.spare.values()[..count];
    let moved = kernel::merge_pieces(&mut entries[..count], spare, &mut ends);
    let sorted = if moved { spare } else { &mut entries[..count] };
    let first = from.iter().sum();
    let place = (first, &mut worker.buffer);
    write_records(context.progress, output, records, sorted, place)
}
