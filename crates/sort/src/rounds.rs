//! Workload in rounds: a sample of all shares determines the cuts; each task divides its share at
//! the cuts and sends the records of each part; the worker that receives a part sorts it and writes
//! it to its place in the answer.
//!
//! The start of a part is known when all records are counted. Workers that hold parts count the
//! records they received, and write them in another round; for other workers, each block begins
//! with the number of records of its task in earlier parts, so that a part with all its blocks
//! knows its start.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cuesta_core::budget::human;
use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::records::{RECORD_BYTES, Record, RecordFiles};
use cuesta_runtime::rounds::{Blocks, Bytes, Leader, Resources, Round, Task, Worker};
use cuesta_runtime::wire;
use serde::{Deserialize, Serialize};

use crate::kernel::Entry;
use crate::params::SortParams;
use crate::run::shares::{self, PARTS_MAX, Share};

/// Bytes of a share, if workers hold no parts.
const SHARE_BYTES: u64 = 16 << 20;
/// Approximate bytes of a part in this case.
const PART_BYTES: u64 = 32 << 20;
/// Memory of a part, as a multiple of its size, where tasks are slow to begin: its blocks, its
/// concatenated records, and their entries.
const PART_TIMES: u64 = 3;
/// Bytes of the header of a block: the number of records of its task in earlier parts, and in the
/// block. Blocks of several tasks may be concatenated.
const HEADER_BYTES: usize = 2 * size_of::<u64>();
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

/// Input of all tasks of a round.
#[derive(Serialize, Deserialize)]
struct RoundInput {
    step: Step,
    inputs: Vec<PathBuf>,
    cuts: Vec<Entry>,
    /// Number of the first record of each held part, and the total number of records.
    starts: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Step {
    /// Sample entries at even distances.
    Sample,
    /// Send the records to the parts, whose workers hold and count them.
    Keep,
    /// Sort and write a held part.
    Write,
    /// Send the records to the parts, whose workers sort and write them.
    Sort,
}

/// Creates the leader of a run in rounds.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    request.require_inputs()?;
    let SortParams {} = parameters(&request.parameters)?;
    let (request, cuts) = (request.clone(), Vec::new());
    Ok(Box::new(Steps {
        request,
        resources,
        step: None,
        records: 0,
        parts: 0,
        cuts,
        sizes: Vec::new(),
    }))
}

/// Creates a worker, which runs the tasks of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, _: Resources) -> Result<Box<dyn Worker>> {
    let SortParams {} = parameters(&request.parameters)?;
    Ok(Box::new(Work { request: request.clone(), parts: BTreeMap::new() }))
}

struct Steps {
    request: Request,
    resources: Resources,
    /// Step of the last round.
    step: Option<Step>,
    records: u64,
    parts: usize,
    cuts: Vec<Entry>,
    /// Records of each part.
    sizes: Vec<u64>,
}

impl Leader for Steps {
    fn next(
        &mut self,
        results: Vec<Vec<u8>>,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Option<Round>> {
        let next = match self.step {
            None => match self.open(progress, response)? {
                Some(mut sample) => self.cut(&mut sample)?,
                None => Step::Sample,
            },
            Some(Step::Sample) => {
                let samples: Vec<Vec<Entry>> = read(&results)?;
                self.cut(&mut samples.concat())?
            }
            Some(Step::Keep) => {
                self.sizes = read(&results)?;
                Step::Write
            }
            Some(Step::Write | Step::Sort) => {
                self.check(&read(&results)?)?;
                response.counts.insert("records", self.records);
                response.counts.insert("parts", self.parts as u64);
                let largest = self.sizes.iter().max().copied().unwrap_or_default();
                response.counts.insert("largest_part", largest);
                return Ok(None);
            }
        };
        self.step = Some(next);
        if matches!(next, Step::Write | Step::Sort) {
            shares::create(&self.request.output, self.records)?;
        }
        self.round(next).map(Some)
    }
}

impl Steps {
    /// Opens the records; returns a sample of them if it is small enough for the leader.
    fn open(&mut self, progress: &Progress, response: &mut Response) -> Result<Option<Vec<Entry>>> {
        let files = RecordFiles::open(&self.request.inputs)?;
        self.records = files.records();
        let (bytes, slots) = (self.records * RECORD_BYTES as u64, self.resources.slots as u64);
        if self.resources.keeps {
            let needed = bytes * MEMORY_TENTHS / 10 + slots * BUFFER_BYTES;
            if needed > self.resources.all_bytes() {
                let (all, needed) = (human(bytes), human(needed));
                let limit = human(self.resources.all_bytes());
                let text = format!(
                    "{slots} ranks that sort {all} hold up to {needed}, the limit leaves them \
                     {limit}; raise --memory, or use --engine native, which sorts in runs on disk"
                );
                return Err(Error::input("memory", text));
            }
        }
        let part_bytes = if self.resources.slow_to_begin {
            (self.resources.worker_bytes() / PART_TIMES).max(PART_BYTES)
        } else {
            PART_BYTES
        };
        let even = slots.max(bytes.div_ceil(part_bytes)) as usize;
        self.parts = self.resources.tasks.unwrap_or(even).min(PARTS_MAX);
        let samples = PART_SAMPLES * self.parts as u64;
        if self.resources.keeps || samples > LEADER_SAMPLES_MAX {
            return Ok(None);
        }
        timed(response, "sample", || {
            let all = (0, self.records);
            Ok((Some(shares::sample(&files, all, samples, progress)?), 0, 0))
        })
    }

    /// Sets the cuts between parts; returns the next step.
    fn cut(&mut self, sample: &mut [Entry]) -> Result<Step> {
        self.cuts = shares::cuts(sample, self.parts)?;
        self.parts = self.cuts.len() + 1;
        Ok(if self.resources.keeps { Step::Keep } else { Step::Sort })
    }

    fn round(&self, step: Step) -> Result<Round> {
        let phase = match step {
            Step::Sample => "sample",
            Step::Keep => "exchange",
            Step::Write => "write",
            Step::Sort => "sort",
        };
        let (samples, sends) = (step == Step::Sample, matches!(step, Step::Keep | Step::Sort));
        let input = RoundInput {
            step,
            inputs: self.request.inputs.clone(),
            cuts: self.cuts.clone(),
            starts: self.starts(),
        };
        Ok(Round {
            phase: phase.to_owned(),
            bytes: if samples { 0 } else { self.records * RECORD_BYTES as u64 },
            rows: if samples { 0 } else { self.records },
            shared: wire::to_bytes(&input)?,
            tasks: if step == Step::Write { vec![Vec::new(); self.parts] } else { self.shares()? },
            parts: if sends { self.parts } else { 0 },
            ..Round::default()
        })
    }

    /// Returns the shares of the tasks, and the number of entries that each adds to the sample.
    fn shares(&self) -> Result<Vec<Vec<u8>>> {
        let records = self.records;
        let share_records = if self.resources.keeps {
            records.div_ceil(self.resources.slots as u64)
        } else {
            self.resources.task_bytes.unwrap_or(SHARE_BYTES) / RECORD_BYTES as u64
        };
        let share_records = share_records.max(1);
        let each = if self.resources.keeps { HELD_SAMPLES } else { PART_SAMPLES };
        let samples = u128::from(each * self.parts as u64);
        let share = |index: u64| {
            let first = index * share_records;
            let count = share_records.min(records - first);
            let samples = (samples * u128::from(count)).div_ceil(u128::from(records)) as u64;
            wire::to_bytes(&(first, count, samples))
        };
        (0..records.div_ceil(share_records)).map(share).collect()
    }

    fn starts(&self) -> Vec<u64> {
        let mut starts = vec![0; self.sizes.len() + 1];
        for (part, size) in self.sizes.iter().enumerate() {
            starts[part + 1] = starts[part] + size;
        }
        if self.sizes.is_empty() { Vec::new() } else { starts }
    }

    /// Checks that the written parts are adjacent and contain all records.
    fn check(&mut self, written: &[Written]) -> Result<()> {
        let mut end = 0;
        let is_next = |&(first, count): &Written| {
            let is_next = first == end;
            end += count;
            is_next
        };
        if written.iter().all(is_next) && end == self.records {
            self.sizes = written.iter().map(|&(_, count)| count).collect();
            return Ok(());
        }
        let (count, all) = (written.iter().map(|&(_, count)| count).sum::<u64>(), self.records);
        let text = format!(
            "{count} of {all} records were written; run again while nobody changes the input"
        );
        Err(Error::input("sort", text))
    }
}

/// Number of the first record of a part, and its number of records.
type Written = (u64, u64);

/// Decodes the results of all tasks.
fn read<T: for<'a> Deserialize<'a>>(results: &[Vec<u8>]) -> Result<Vec<T>> {
    results.iter().map(|result| wire::from_bytes(result)).collect()
}

struct Work {
    request: Request,
    /// Blocks of the parts, by the number of the task that sent them.
    parts: BTreeMap<usize, BTreeMap<usize, Bytes>>,
}

impl Worker for Work {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let input: RoundInput = wire::from_bytes(task.shared)?;
        if input.step == Step::Write {
            let written = self.write(task.number, &input, progress)?;
            return Ok((wire::to_bytes(&written)?, Blocks::default()));
        }
        let files = RecordFiles::open(&input.inputs)?;
        let (first, records, samples): (u64, u64, u64) = wire::from_bytes(task.input)?;
        let share: Share = (first, records);
        if first.checked_add(records).is_none_or(|end| end > files.records()) {
            let text = format!("there are only {} records now; run again", files.records());
            return Err(Error::input("sort", text));
        }
        let mut blocks = Blocks::default();
        let result = match input.step {
            Step::Sample => wire::to_bytes(&shares::sample(&files, share, samples, progress)?)?,
            step => {
                let header_bytes = if step == Step::Sort { HEADER_BYTES } else { 0 };
                blocks = shares::divide(&files, share, (input.cuts, header_bytes), progress)?;
                if step == Step::Sort {
                    put_headers(&mut blocks);
                }
                Vec::new()
            }
        };
        Ok((result, blocks))
    }

    fn take(&mut self, part: Task<'_>, from: usize, block: Bytes) -> Result<()> {
        self.parts.entry(part.number).or_default().insert(from, block);
        Ok(())
    }

    fn part(&mut self, part: Task<'_>, progress: &Progress) -> Result<Vec<u8>> {
        let input: RoundInput = wire::from_bytes(part.shared)?;
        if input.step == Step::Keep {
            let blocks = self.parts.entry(part.number).or_default();
            let bytes: usize = blocks.values().map(|block| (**block).as_ref().len()).sum();
            return wire::to_bytes(&((bytes / RECORD_BYTES) as u64));
        }
        let blocks = self.parts.remove(&part.number).unwrap_or_default();
        let (first, bytes) = without_headers(blocks.into_values().collect())?;
        let records = bytes.as_chunks().0;
        shares::write(records, &self.request.output, first, progress)?;
        wire::to_bytes::<Written>(&(first, records.len() as u64))
    }
}

impl Work {
    /// Sorts and writes a held part, and removes its blocks.
    fn write(&mut self, part: usize, input: &RoundInput, progress: &Progress) -> Result<Written> {
        let blocks: Vec<Bytes> =
            self.parts.remove(&part).unwrap_or_default().into_values().collect();
        let bytes = join(blocks);
        let (records, rest): (&[Record], &[u8]) = bytes.as_chunks();
        let (Some(&first), Some(&end)) = (input.starts.get(part), input.starts.get(part + 1))
        else {
            return Err(unexpected());
        };
        if !rest.is_empty() || end - first != records.len() as u64 {
            let (count, wanted) = (records.len(), end - first);
            let text = format!(
                "a part has {count} records, {wanted} before; leave the input alone, run again"
            );
            return Err(Error::input("sort", text));
        }
        shares::write(records, &self.request.output, first, progress)?;
        Ok((first, records.len() as u64))
    }
}

/// Writes the header of each block: the numbers of records in the earlier blocks, and in this one.
fn put_headers(blocks: &mut Blocks) {
    let (mut start, mut before) = (0, 0u64);
    for &end in &blocks.ends {
        let (header, records) = blocks.bytes[start..end as usize].split_at_mut(HEADER_BYTES);
        let count = (records.len() / RECORD_BYTES) as u64;
        header.copy_from_slice([before.to_le_bytes(), count.to_le_bytes()].as_flattened());
        (start, before) = (end as usize, before + count);
    }
}

/// Concatenates the records of all blocks; returns the number of records in earlier parts, and the
/// records.
fn without_headers(blocks: Vec<Bytes>) -> Result<(u64, Vec<u8>)> {
    let (mut before, mut all) = (0, Vec::with_capacity(bytes_of(&blocks)));
    for block in blocks {
        let mut rest = (*block).as_ref();
        while !rest.is_empty() {
            let header = rest.split_first_chunk::<HEADER_BYTES>();
            let (header, after) = header.ok_or_else(unexpected)?;
            let (numbers, _) = header.as_chunks();
            let [first, count] = [0, 1].map(|index| u64::from_le_bytes(numbers[index]));
            let size_bytes = (count as usize).checked_mul(RECORD_BYTES);
            let records = size_bytes.and_then(|size_bytes| after.split_at_checked(size_bytes));
            let (records, after) = records.ok_or_else(unexpected)?;
            all.extend_from_slice(records);
            before = u64::checked_add(before, first).ok_or_else(unexpected)?;
            rest = after;
        }
    }
    Ok((before, all))
}

/// Concatenates all blocks.
fn join(blocks: Vec<Bytes>) -> Vec<u8> {
    let mut joined = Vec::with_capacity(bytes_of(&blocks));
    for block in blocks {
        joined.extend_from_slice((*block).as_ref());
    }
    joined
}

fn bytes_of(blocks: &[Bytes]) -> usize {
    blocks.iter().map(|block| (**block).as_ref().len()).sum()
}

fn unexpected() -> Error {
    Error::defect("sort", "a round found what it was not asked for")
}
