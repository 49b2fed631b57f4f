//! The workload in rounds: a sample of all shares gives the cuts; every task divides its share at
//! them and sends each part its records; whoever has all of a part sorts it and writes it to its
//! place in the answer.
//!
//! Where a part begins is known once all are counted. Workers that keep their parts count them when
//! they have them, and write them in another round; for others each block begins with how many
//! records of its task go to parts before, so that a part that has all of its blocks knows.

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

/// Bytes of a share, where parts are not kept.
const SHARE_BYTES: u64 = 16 << 20;
/// Bytes of a part then, about.
const PART_BYTES: u64 = 32 << 20;
/// What a part takes of the memory of its worker where tasks take long to begin: its blocks, its
/// records one after the other, and their entries.
const PART_TIMES: u64 = 3;
/// Bytes before the records of a block: how many of its task go to parts before, and how many there
/// are. Blocks of several tasks may come one after the other.
const HEAD_BYTES: usize = 2 * size_of::<u64>();
/// Sampled records for each part: its size is then within some tenths of the mean.
const PART_SAMPLES: u64 = 128;
/// The same for parts that are kept, of which each slot has one: within a tenth.
const KEPT_SAMPLES: u64 = 1024;
/// Most samples that the leader takes itself: a job of an engine takes longer than these reads.
const OWN_SAMPLES_MAX: u64 = 1 << 16;
/// Buffers of a process that keeps a part.
const BESIDE_BYTES: u64 = 16 << 20;
/// Tenths of its share that such a process holds: what it sends and what it receives, parts being
/// uneven.
const HELD_TENTHS: u64 = 25;

/// What all of a round are told.
#[derive(Serialize, Deserialize)]
struct Asked {
    what: What,
    inputs: Vec<PathBuf>,
    cuts: Vec<Entry>,
    /// Number of the first record of each part that was kept, and of one behind the last.
    starts: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
enum What {
    /// Find entries at even distances.
    Sample,
    /// Send the records to the parts, which keep them and tell how many they are.
    Keep,
    /// Sort and write a part that was kept.
    Write,
    /// Send the records to the parts, which sort and write them.
    Sort,
}

/// What leads a run in rounds.
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
        what: None,
        records: 0,
        parts: 0,
        cuts,
        sizes: Vec::new(),
    }))
}

/// What does the tasks of a run.
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
    /// What the last round was for.
    what: Option<What>,
    records: u64,
    parts: usize,
    cuts: Vec<Entry>,
    /// Records of each part.
    sizes: Vec<u64>,
}

impl Leader for Steps {
    fn next(
        &mut self,
        found: Vec<Vec<u8>>,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Option<Round>> {
        let next = match self.what {
            None => match self.open(progress, response)? {
                Some(mut sample) => self.cut(&mut sample)?,
                None => What::Sample,
            },
            Some(What::Sample) => {
                let some: Vec<Vec<Entry>> =
                    found.iter().map(|some| wire::from_bytes(some)).collect::<Result<_>>()?;
                self.cut(&mut some.concat())?
            }
            Some(What::Keep) => {
                self.sizes = read(&found)?;
                What::Write
            }
            Some(What::Write | What::Sort) => {
                self.check(&read(&found)?)?;
                response.counts.insert("records", self.records);
                response.counts.insert("parts", self.parts as u64);
                let largest = self.sizes.iter().max().copied().unwrap_or_default();
                response.counts.insert("largest_part", largest);
                return Ok(None);
            }
        };
        self.what = Some(next);
        if matches!(next, What::Write | What::Sort) {
            shares::create(&self.request.output, self.records)?;
        }
        self.round(next).map(Some)
    }
}

impl Steps {
    /// Opens the records; returns a sample of them where it is small.
    fn open(&mut self, progress: &Progress, response: &mut Response) -> Result<Option<Vec<Entry>>> {
        let files = RecordFiles::open(&self.request.inputs)?;
        self.records = files.records();
        let (bytes, slots) = (self.records * RECORD_BYTES as u64, self.resources.slots as u64);
        if self.resources.keeps {
            let needed = bytes * HELD_TENTHS / 10 + slots * BESIDE_BYTES;
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
        if self.resources.keeps || samples > OWN_SAMPLES_MAX {
            return Ok(None);
        }
        timed(response, "sample", || {
            let all = (0, self.records);
            Ok((Some(shares::sample(&files, all, samples, progress)?), 0, 0))
        })
    }

    /// Decides where the parts begin and end; returns what is next.
    fn cut(&mut self, sample: &mut [Entry]) -> Result<What> {
        self.cuts = shares::cuts(sample, self.parts)?;
        self.parts = self.cuts.len() + 1;
        Ok(if self.resources.keeps { What::Keep } else { What::Sort })
    }

    fn round(&self, what: What) -> Result<Round> {
        let phase = match what {
            What::Sample => "sample",
            What::Keep => "exchange",
            What::Write => "write",
            What::Sort => "sort",
        };
        let (samples, sends) = (what == What::Sample, matches!(what, What::Keep | What::Sort));
        let asked = Asked {
            what,
            inputs: self.request.inputs.clone(),
            cuts: self.cuts.clone(),
            starts: self.starts(),
        };
        Ok(Round {
            phase: phase.to_owned(),
            bytes: if samples { 0 } else { self.records * RECORD_BYTES as u64 },
            rows: if samples { 0 } else { self.records },
            shared: wire::to_bytes(&asked)?,
            tasks: if what == What::Write { vec![Vec::new(); self.parts] } else { self.shares()? },
            parts: if sends { self.parts } else { 0 },
            ..Round::default()
        })
    }

    /// The shares of the tasks, and how many entries each gives to the sample.
    fn shares(&self) -> Result<Vec<Vec<u8>>> {
        let records = self.records;
        let step = if self.resources.keeps {
            records.div_ceil(self.resources.slots as u64)
        } else {
            self.resources.task_bytes.unwrap_or(SHARE_BYTES) / RECORD_BYTES as u64
        };
        let step = step.max(1);
        let each = if self.resources.keeps { KEPT_SAMPLES } else { PART_SAMPLES };
        let samples = u128::from(each * self.parts as u64);
        let share = |index: u64| {
            let first = index * step;
            let count = step.min(records - first);
            let samples = (samples * u128::from(count)).div_ceil(u128::from(records)) as u64;
            wire::to_bytes(&(first, count, samples))
        };
        (0..records.div_ceil(step)).map(share).collect()
    }

    fn starts(&self) -> Vec<u64> {
        let mut starts = vec![0; self.sizes.len() + 1];
        for (part, size) in self.sizes.iter().enumerate() {
            starts[part + 1] = starts[part] + size;
        }
        if self.sizes.is_empty() { Vec::new() } else { starts }
    }

    /// All records are in a part that was written, one part after the other.
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

/// Number of the first record of a part, and how many it has.
type Written = (u64, u64);

/// What each has found.
fn read<T: for<'a> Deserialize<'a>>(found: &[Vec<u8>]) -> Result<Vec<T>> {
    found.iter().map(|one| wire::from_bytes(one)).collect()
}

struct Work {
    request: Request,
    /// The blocks of parts, by the number of the task that sent them.
    parts: BTreeMap<usize, BTreeMap<usize, Bytes>>,
}

impl Worker for Work {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let asked: Asked = wire::from_bytes(task.shared)?;
        if asked.what == What::Write {
            let written = self.write(task.number, &asked, progress)?;
            return Ok((wire::to_bytes(&written)?, Blocks::default()));
        }
        let files = RecordFiles::open(&asked.inputs)?;
        let (first, records, samples): (u64, u64, u64) = wire::from_bytes(task.input)?;
        let share: Share = (first, records);
        if first.checked_add(records).is_none_or(|end| end > files.records()) {
            let text = format!("there are only {} records now; run again", files.records());
            return Err(Error::input("sort", text));
        }
        let mut blocks = Blocks::default();
        let found = match asked.what {
            What::Sample => wire::to_bytes(&shares::sample(&files, share, samples, progress)?)?,
            what => {
                let head_bytes = if what == What::Sort { HEAD_BYTES } else { 0 };
                blocks = shares::divide(&files, share, (asked.cuts, head_bytes), progress)?;
                if what == What::Sort {
                    put_heads(&mut blocks);
                }
                Vec::new()
            }
        };
        Ok((found, blocks))
    }

    fn take(&mut self, part: Task<'_>, from: usize, block: Bytes) -> Result<()> {
        self.parts.entry(part.number).or_default().insert(from, block);
        Ok(())
    }

    fn part(&mut self, part: Task<'_>, progress: &Progress) -> Result<Vec<u8>> {
        let asked: Asked = wire::from_bytes(part.shared)?;
        if asked.what == What::Keep {
            let blocks = self.parts.entry(part.number).or_default();
            let bytes: usize = blocks.values().map(|block| (**block).as_ref().len()).sum();
            return wire::to_bytes(&((bytes / RECORD_BYTES) as u64));
        }
        let blocks = self.parts.remove(&part.number).unwrap_or_default();
        let (first, bytes) = without_heads(blocks.into_values().collect())?;
        let records = bytes.as_chunks().0;
        shares::write(records, &self.request.output, first, progress)?;
        wire::to_bytes::<Written>(&(first, records.len() as u64))
    }
}

impl Work {
    /// Sorts and writes a part that was kept, whose blocks are forgotten.
    fn write(&mut self, part: usize, asked: &Asked, progress: &Progress) -> Result<Written> {
        let blocks: Vec<Bytes> =
            self.parts.remove(&part).unwrap_or_default().into_values().collect();
        let bytes = join(blocks);
        let (records, rest): (&[Record], &[u8]) = bytes.as_chunks();
        let (Some(&first), Some(&end)) = (asked.starts.get(part), asked.starts.get(part + 1))
        else {
            return Err(unexpected());
        };
        if !rest.is_empty() || end - first != records.len() as u64 {
            let (found, wanted) = (records.len(), end - first);
            let text = format!(
                "a part has {found} records, {wanted} before; leave the input alone, run again"
            );
            return Err(Error::input("sort", text));
        }
        shares::write(records, &self.request.output, first, progress)?;
        Ok((first, records.len() as u64))
    }
}

/// Writes the head of each block: how many records are in the blocks before, and in it.
fn put_heads(blocks: &mut Blocks) {
    let (mut start, mut before) = (0, 0u64);
    for &end in &blocks.ends {
        let (head, records) = blocks.bytes[start..end as usize].split_at_mut(HEAD_BYTES);
        let count = (records.len() / RECORD_BYTES) as u64;
        head.copy_from_slice([before.to_le_bytes(), count.to_le_bytes()].as_flattened());
        (start, before) = (end as usize, before + count);
    }
}

/// The records of all blocks one after the other, and how many are in parts before.
fn without_heads(blocks: Vec<Bytes>) -> Result<(u64, Vec<u8>)> {
    let (mut before, mut all) = (0, Vec::with_capacity(bytes_of(&blocks)));
    for block in blocks {
        let mut rest = (*block).as_ref();
        while !rest.is_empty() {
            let head = rest.split_first_chunk::<HEAD_BYTES>();
            let (head, after) = head.ok_or_else(unexpected)?;
            let (numbers, _) = head.as_chunks();
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

/// All blocks one after the other.
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
