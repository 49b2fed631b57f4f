//! Sort in memory: reads the records, divides their entries into buckets, and sorts, gathers and
//! writes one bucket after the other.

use cuesta_core::Result;
use cuesta_core::job::Context;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_input::records::{RECORD_BYTES, Record, RecordFiles};
use cuesta_runtime::parallel;

use super::buffers::{LeasedArray, RecordBuffer};
use super::pieces::SlicePieces;
use super::plan::{STRIPE_RECORDS, SortPlan, WRITE_BYTES, buckets};
use crate::disk::{Disk, DiskFile};
use crate::kernel::{self, Entry, Splitters};

/// Operation named at the start of messages about the input.
pub const INPUT: &str = "input.records";
/// Bytes of progress for dividing a record, which takes a quarter of the time of reading it.
pub const DIVIDED_BYTES: u64 = RECORD_BYTES as u64 / 4;
/// Samples for each bucket: bucket sizes are then within a few tenths of the mean.
const BUCKET_SAMPLES: usize = 32;
/// Records that are gathered and written at once.
const WRITE_RECORDS: usize = WRITE_BYTES / RECORD_BYTES;

/// Sorter of one run after the other in the same memory.
pub struct Sorter<'a> {
    context: &'a Context<'a>,
    disk: &'a Disk,
    files: &'a RecordFiles,
    plan: SortPlan,
    records: RecordBuffer<'a>,
    entries: LeasedArray<'a, Entry>,
    divided: LeasedArray<'a, Entry>,
    /// Start of each bucket in each stripe.
    starts: Vec<Vec<u32>>,
    /// First record of the run, and its number of records.
    first: u64,
    count: usize,
}

impl<'a> Sorter<'a> {
    /// Allocates memory for a run of `plan`.
    ///
    /// # Errors
    /// `Input` if it exceeds the limit.
    pub fn new(
        context: &'a Context<'a>,
        disk: &'a Disk,
        files: &'a RecordFiles,
        plan: SortPlan,
    ) -> Result<Self> {
        let most = plan.run_records.min(files.records()) as usize;
        let budget = context.budget;
        Ok(Self {
            context,
            disk,
            files,
            plan,
            records: RecordBuffer::new(budget, most)?,
            entries: LeasedArray::new(budget, 0, most)?,
            divided: LeasedArray::new(budget, 0, most)?,
            starts: Vec::new(),
            first: 0,
            count: 0,
        })
    }

    /// Reads run number `index` and makes its entries.
    ///
    /// # Errors
    /// `System`; `Cancelled`.
    pub fn read(&mut self, index: u64) -> Result<()> {
        self.first = index * self.plan.run_records;
        self.count = self.plan.run_records.min(self.files.records() - self.first) as usize;
        let (files, disk, first) = (self.files, self.disk, self.first);
        let records = stripes(&mut self.records.values()[..self.count]);
        let entries = stripes(&mut self.entries.values()[..self.count]);
        let work = |_: &mut (), task: usize| {
            let (records, start) = (records.take(task), task * STRIPE_RECORDS);
            disk.read_records(INPUT, files, first + start as u64, records)?;
            kernel::entries(records, start as u64, entries.take(task));
            self.context.progress.advance(records.as_flattened().len() as u64)
        };
        let tasks = self.count.div_ceil(STRIPE_RECORDS);
        parallel::run(self.context.request.threads, tasks, || (), work, |_| {}).map(|_| ())
    }

    /// Divides the entries of every stripe into buckets.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn divide(&mut self) -> Result<()> {
        let entries = &self.entries.values()[..self.count];
        let wanted = buckets(self.count as u64);
        let mut sample = sample(entries, wanted * BUCKET_SAMPLES);
        let splitters = Splitters::choose(&mut sample, wanted);
        let tasks = self.count.div_ceil(STRIPE_RECORDS);
        self.starts.clear();
        self.starts.resize_with(tasks, || vec![0; splitters.buckets() + 1]);
        let divided = stripes(&mut self.divided.values()[..self.count]);
        let starts = SlicePieces::new(&mut self.starts, (0..tasks).map(|_| 1));
        let work = |places: &mut Vec<u16>, task: usize| {
            let start = task * STRIPE_RECORDS;
            let out = divided.take(task);
            let from = &entries[start..start + out.len()];
            splitters.divide(from, places, &mut starts.take(task)[0], out);
            self.context.progress.advance(from.len() as u64 * DIVIDED_BYTES)
        };
        let make = || Vec::with_capacity(STRIPE_RECORDS);
        parallel::run(self.context.request.threads, tasks, make, work, |_| {}).map(|_| ())
    }

    /// Sorts the buckets and writes their records to `output`, at the place of the run in the
    /// input; returns the keys at every `stride`-th place of the run.
    ///
    /// # Errors
    /// `System`; `Cancelled`.
    pub fn write(&mut self, output: &DiskFile<'_>) -> Result<Vec<u128>> {
        let buckets = self.starts.first().map_or(0, |row| row.len() - 1);
        let size = |bucket| -> usize {
            self.starts.iter().map(|row| (row[bucket + 1] - row[bucket]) as usize).sum()
        };
        let sizes: Vec<usize> = (0..buckets).map(size).collect();
        let mut ends = sizes.clone();
        for bucket in 1..buckets {
            ends[bucket] += ends[bucket - 1];
        }
        let (stride, progress) = (self.plan.stride as usize, self.context.progress);
        let (records, starts) = (self.records.values() as &[Record], &self.starts);
        let divided = &self.divided.values()[..self.count];
        // The entries in input order are not needed any more.
        let entries = SlicePieces::new(self.entries.values(), sizes.into_iter());
        let work = |(out, samples): &mut (Vec<Record>, Vec<Sample>), task: usize| {
            let bucket = entries.take(task);
            kernel::collect(divided, STRIPE_RECORDS, starts, task, bucket);
            bucket.sort_unstable();
            let start = ends[task] - bucket.len();
            let sampled = (start.next_multiple_of(stride)..ends[task]).step_by(stride);
            samples.extend(sampled.map(|place| (place, kernel::key_of(bucket[place - start]))));
            let place = (self.first + start as u64, out);
            write_records(progress, output, records, bucket, place)
        };
        let make = || (Vec::with_capacity(WRITE_RECORDS), Vec::new());
        let threads = self.context.request.threads;
        let workers = parallel::run(threads, buckets, make, work, |_| {})?;
        let mut samples: Vec<Sample> =
            workers.into_iter().flat_map(|(_, samples)| samples).collect();
        samples.sort_unstable();
        Ok(samples.into_iter().map(|(_, key)| key).collect())
    }
}

/// Place in a run, and the key at that place.
type Sample = (usize, u128);

/// Writes the records of `entries` to `output`, from record number `first` on, one buffer at a
/// time.
///
/// # Errors
/// `System`; `Cancelled`.
pub fn write_records(
    progress: &Progress,
    output: &DiskFile<'_>,
    records: &[Record],
    entries: &[Entry],
    (first, buffer): (u64, &mut Vec<Record>),
) -> Result<()> {
    let mut offset = first * RECORD_BYTES as u64;
    for batch in entries.chunks(WRITE_RECORDS) {
        buffer.resize(batch.len(), [0; RECORD_BYTES]);
        kernel::gather(records, batch, buffer);
        output.write(buffer.as_flattened(), offset)?;
        let size_bytes = buffer.as_flattened().len() as u64;
        offset += size_bytes;
        progress.advance(size_bytes)?;
    }
    Ok(())
}

fn stripes<T>(slice: &mut [T]) -> SlicePieces<'_, T> {
    let stripes = slice.len().div_ceil(STRIPE_RECORDS);
    let length = slice.len();
    SlicePieces::new(
        slice,
        (0..stripes).map(|stripe| (length - stripe * STRIPE_RECORDS).min(STRIPE_RECORDS)),
    )
}

/// Draws `count` entries at random, with a fixed seed.
fn sample(entries: &[Entry], count: usize) -> Vec<Entry> {
    let (stream, all) = (Stream::new(0, 6), entries.len() as u64);
    let count = if all == 0 { 0 } else { count as u64 };
    (0..count).map(|index| entries[stream.below(index, all) as usize]).collect()
}
