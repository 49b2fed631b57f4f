//! Workload in rounds: a sample of all shares determines the cuts; each task divides its share at
//! the cuts and sends the records of each part; the worker that receives a part sorts it and writes
//! it to its place in the answer.
//!
//! The start of a part is known when all records are counted. Workers that hold parts count the
//! records they received ([`Exchange`]), and write them in another round ([`WriteHeld`]); for other
//! workers, each block begins with the number of records of its task in earlier parts, so that a
//! part with all its blocks knows its start ([`SortParts`]).

mod exchange;
mod sample;
mod sort;
mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;

use cuesta_core::budget::human;
use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::records::{RECORD_BYTES, RecordFiles};
use cuesta_runtime::blocks::Bytes;
use cuesta_runtime::operation::{Operation, OperationWorker, RoundPlan};
use cuesta_runtime::rounds::{Leader, Resources, Worker};
use cuesta_runtime::sequential::{self, Rounds};
use serde::{Deserialize, Serialize};

use crate::kernel::Entry;
use crate::params::SortParams;
use crate::run::shares::{self, PARTS_MAX, Share};
use exchange::Exchange;
use sample::{SampleShare, TakeSample};
use sort::SortParts;
use write::WriteHeld;

/// Bytes of a share, if workers hold no parts.
const SHARE_BYTES: u64 = 16 << 20;
/// Approximate bytes of a part in this case.
const PART_BYTES: u64 = 32 << 20;
/// Memory of a part, as a multiple of its size, where tasks are slow to begin: its blocks, its
/// concatenated records, and their entries.
const PART_TIMES: u64 = 3;
/// Sampled records for each part: part sizes are then within some tenths of the mean.
const PART_SAMPLES: u64 = 128;
/// Sampled records for each part that workers hold, one in each slot: part sizes are then within a
/// tenth of the mean.
const HELD_SAMPLES: u64 = 1024;
/// Maximum number of samples that the leader takes itself: a job of an engine takes longer than
/// these reads.
const LEADER_SAMPLES_MAX: u64 = 1 << 16;
/// Buffers of a process that holds a part.
const BUFFER_BYTES: u64 = 16 << 20;
/// Memory of such a process, in tenths of its share: the sent and the received records, with uneven
/// parts.
const MEMORY_TENTHS: u64 = 25;

/// Creates the leader of a run in rounds.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    request.require_inputs()?;
    let SortParams {} = parameters(&request.parameters)?;
    let request = request.clone();
    Ok(sequential::leader(move |rounds| {
        let mut response = Response::default();
        let files = RecordFiles::open(&request.inputs)?;
        let steps = Steps::new(rounds, &request, resources, files.records())?;
        let cuts = shares::cuts(&mut steps.sample(&files, &mut response)?, steps.parts)?;
        drop(files);
        let written = steps.sort(cuts, &mut response)?;
        steps.check(&written)?;
        response.counts.insert("records", steps.records);
        response.counts.insert("parts", written.len() as u64);
        let largest = written.iter().map(|part| part.records).max().unwrap_or_default();
        response.counts.insert("largest_part", largest);
        Ok(response)
    }))
}

/// Creates a worker, which runs the tasks of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, _: Resources) -> Result<Box<dyn Worker>> {
    let SortParams {} = parameters(&request.parameters)?;
    let worker = OperationWorker::new(request, HeldParts::default());
    let worker = worker.with::<TakeSample>().with::<Exchange>().with::<WriteHeld>();
    Ok(worker.with::<SortParts>().boxed())
}

/// Blocks of the parts that a worker holds, in the order of the tasks that sent them.
type HeldParts = BTreeMap<usize, Vec<Bytes>>;

/// Place of a part in the answer.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub struct PartPlace {
    /// Number of its first record.
    pub first: u64,
    /// Number of its records.
    pub records: u64,
}

struct Steps<'a> {
    rounds: &'a Rounds,
    request: &'a Request,
    resources: Resources,
    records: u64,
    /// Desired number of parts.
    parts: usize,
}

impl<'a> Steps<'a> {
    fn new(
        rounds: &'a Rounds,
        request: &'a Request,
        resources: Resources,
        records: u64,
    ) -> Result<Self> {
        let (bytes, slots) = (records * RECORD_BYTES as u64, resources.slots as u64);
        let needed = bytes * MEMORY_TENTHS / 10 + slots * BUFFER_BYTES;
        if resources.keeps && needed > resources.all_bytes() {
            let (all, needed) = (human(bytes), human(needed));
            let limit = human(resources.all_bytes());
            let text = format!(
                "{slots} ranks that sort {all} hold up to {needed}, the limit leaves them {limit}; \
                 raise --memory, or use --engine native, which sorts in runs on disk"
            );
            return Err(Error::input("memory", text));
        }
        let part_bytes = if resources.slow_to_begin {
            (resources.worker_bytes() / PART_TIMES).max(PART_BYTES)
        } else {
            PART_BYTES
        };
        let even = slots.max(bytes.div_ceil(part_bytes)) as usize;
        let parts = resources.tasks.unwrap_or(even).min(PARTS_MAX);
        Ok(Self { rounds, request, resources, records, parts })
    }

    /// Returns a sample of the records, which the leader takes if it is small enough.
    fn sample(&self, files: &RecordFiles, response: &mut Response) -> Result<Vec<Entry>> {
        let samples = PART_SAMPLES * self.parts as u64;
        if self.resources.keeps || samples > LEADER_SAMPLES_MAX {
            let operation = TakeSample { inputs: self.request.inputs.clone() };
            let plan = RoundPlan::new(operation, self.sample_shares());
            return Ok(self.rounds.run(plan, response)?.concat());
        }
        let (all, progress): (_, &Progress) = ((0, self.records), self.rounds.progress());
        timed(response, "sample", || Ok((shares::sample(files, all, samples, progress)?, 0, 0)))
    }

    /// Sorts and writes all parts; returns their places.
    fn sort(&self, cuts: Vec<Entry>, response: &mut Response) -> Result<Vec<PartPlace>> {
        let (inputs, parts) = (self.request.inputs.clone(), cuts.len() + 1);
        let create = || shares::create(&self.request.output, self.records);
        if !self.resources.keeps {
            create()?;
            let plan = self.plan(SortParts { inputs, cuts }, self.shares());
            return self.rounds.run(RoundPlan { parts, ..plan }, response);
        }
        let plan = self.plan(Exchange { inputs, cuts }, self.shares());
        let sizes = self.rounds.run(RoundPlan { parts, ..plan }, response)?;
        create()?;
        let mut first = 0;
        let place = |records| {
            first += records;
            PartPlace { first: first - records, records }
        };
        let places = sizes.into_iter().map(place).collect();
        self.rounds.run(self.plan(WriteHeld, places), response)
    }

    /// Plans a round over all records.
    fn plan<O: Operation>(&self, operation: O, inputs: Vec<O::Input>) -> RoundPlan<O> {
        let (bytes, rows) = (self.records * RECORD_BYTES as u64, self.records);
        RoundPlan { bytes, rows, ..RoundPlan::new(operation, inputs) }
    }

    /// Returns the shares of the tasks.
    fn shares(&self) -> Vec<Share> {
        let share_records = if self.resources.keeps {
            self.records.div_ceil(self.resources.slots as u64)
        } else {
            self.resources.task_bytes.unwrap_or(SHARE_BYTES) / RECORD_BYTES as u64
        };
        let share_records = share_records.max(1);
        let share = |index: u64| {
            let first = index * share_records;
            (first, share_records.min(self.records - first))
        };
        (0..self.records.div_ceil(share_records)).map(share).collect()
    }

    /// Returns the shares with the number of entries that each adds to the sample.
    fn sample_shares(&self) -> Vec<SampleShare> {
        let each = if self.resources.keeps { HELD_SAMPLES } else { PART_SAMPLES };
        let samples = u128::from(each * self.parts as u64);
        let of_share = |share: Share| {
            let samples = (samples * u128::from(share.1)).div_ceil(u128::from(self.records));
            SampleShare { share, samples: samples as u64 }
        };
        self.shares().into_iter().map(of_share).collect()
    }

    /// Checks that the written parts are adjacent and contain all records.
    fn check(&self, written: &[PartPlace]) -> Result<()> {
        let mut end = 0;
        let is_next = |part: &PartPlace| {
            let is_next = part.first == end;
            end += part.records;
            is_next
        };
        if written.iter().all(is_next) && end == self.records {
            return Ok(());
        }
        let (count, all) = (written.iter().map(|part| part.records).sum::<u64>(), self.records);
        let text = format!(
            "{count} of {all} records were written; run again while nobody changes the input"
        );
        Err(Error::input("sort", text))
    }
}

/// Opens the records, and checks that those of a share exist.
fn opened(inputs: &[PathBuf], (first, records): Share) -> Result<RecordFiles> {
    let files = RecordFiles::open(inputs)?;
    if first.checked_add(records).is_none_or(|end| end > files.records()) {
        let text = format!("there are only {} records now; run again", files.records());
        return Err(Error::input("sort", text));
    }
    Ok(files)
}

/// Returns the size of all blocks, in bytes.
fn bytes_of(blocks: &[Bytes]) -> usize {
    blocks.iter().map(|block| (**block).as_ref().len()).sum()
}
