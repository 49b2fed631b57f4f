//! The workload in rounds: a sample of all shares gives the cuts; every task divides its share at
//! them and sends each part its records; whoever has all of a part sorts it and writes it to its
//! place in the answer.
//!
//! Where a part begins is known once all are counted. Workers that keep their parts count them when
//! they have them; for others the shares are read twice, and counted first.

use std::collections::BTreeMap;
use std::path::PathBuf;

use cuesta_core::budget::human;
use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::records::{RECORD_BYTES, Record, RecordFiles};
use cuesta_runtime::rounds::{Blocks, Bytes, Leader, Means, Round, Task, Worker};
use cuesta_runtime::wire;
use serde::{Deserialize, Serialize};

use crate::kernel::Entry;
use crate::params::SortParams;
use crate::run::shares::{self, PARTS_MAX, Share};

/// Bytes of a share, where parts are not kept.
const SHARE_BYTES: u64 = 16 << 20;
/// Bytes of a part then, about.
const PART_BYTES: u64 = 32 << 20;
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
const READ: &str = "file_read_warm_bytes_per_s";

/// What all of a round are told.
#[derive(Serialize, Deserialize)]
struct Asked {
    what: What,
    inputs: Vec<PathBuf>,
    cuts: Vec<Entry>,
    /// Number of the first record of each part, and of one behind the last; none before they are
    /// known.
    starts: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
enum What {
    /// Find entries at even distances.
    Sample,
    /// Count the records of each part.
    Count,
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
pub fn lead(request: &Request, means: Means) -> Result<Box<dyn Leader>> {
    request.require_inputs()?;
    let SortParams {} = parameters(&request.parameters)?;
    let (request, cuts) = (request.clone(), Vec::new());
    Ok(Box::new(Steps {
        request,
        means,
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
pub fn work(request: &Request, _: Means) -> Result<Box<dyn Worker>> {
    let SortParams {} = parameters(&request.parameters)?;
    Ok(Box::new(Work { request: request.clone(), parts: BTreeMap::new() }))
}

struct Steps {
    request: Request,
    means: Means,
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
            Some(What::Count) => {
                // Without records there is no task that counts.
                let none = vec![0; self.parts];
                self.sizes = found.first().map_or(Ok(none), |counts| wire::from_bytes(counts))?;
                What::Sort
            }
            Some(What::Keep) => {
                self.sizes = numbers(&found)?;
                What::Write
            }
            Some(What::Write | What::Sort) => {
                self.check(&numbers(&found)?)?;
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
        let (bytes, slots) = (self.records * RECORD_BYTES as u64, self.means.slots as u64);
        if self.means.keeps {
            let needed = bytes * HELD_TENTHS / 10 + slots * BESIDE_BYTES;
            if needed > self.means.all_bytes() {
                let (all, needed) = (human(bytes), human(needed));
                let limit = human(self.means.all_bytes());
                let text = format!(
                    "{slots} ranks that sort {all} hold up to {needed}, the limit leaves them \
                     {limit}; raise --memory, or use --engine native, which sorts in runs on disk"
                );
                return Err(Error::input("memory", text));
            }
        }
        let even = slots.max(bytes.div_ceil(PART_BYTES)) as usize;
        self.parts = self.means.tasks.unwrap_or(even).min(PARTS_MAX);
        let samples = PART_SAMPLES * self.parts as u64;
        if self.means.keeps || samples > OWN_SAMPLES_MAX {
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
        Ok(if self.means.keeps { What::Keep } else { What::Count })
    }

    fn round(&self, what: What) -> Result<Round> {
        let (phase, ceiling) = match what {
            What::Sample => ("sample", None),
            What::Count => ("count", Some(READ)),
            What::Keep => ("exchange", None),
            What::Write => ("write", None),
            What::Sort => ("sort", None),
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
            ceiling,
            shared: wire::to_bytes(&asked)?,
            tasks: if what == What::Write { vec![Vec::new(); self.parts] } else { self.shares()? },
            parts: if sends { self.parts } else { 0 },
            combines: what == What::Count,
            ..Round::default()
        })
    }

    /// The shares of the tasks, and how many entries each gives to the sample.
    fn shares(&self) -> Result<Vec<Vec<u8>>> {
        let records = self.records;
        let step = if self.means.keeps {
            records.div_ceil(self.means.slots as u64)
        } else {
            self.means.task_bytes.unwrap_or(SHARE_BYTES) / RECORD_BYTES as u64
        };
        let step = step.max(1);
        let each = if self.means.keeps { KEPT_SAMPLES } else { PART_SAMPLES };
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

    /// All records are in a part that was written.
    fn check(&self, written: &[u64]) -> Result<()> {
        if written == self.sizes && self.sizes.iter().sum::<u64>() == self.records {
            return Ok(());
        }
        let (count, all) = (written.iter().sum::<u64>(), self.records);
        let text = format!(
            "{count} of {all} records were written; run again while nobody changes the input"
        );
        Err(Error::input("sort", text))
    }
}

/// A number of each.
fn numbers(found: &[Vec<u8>]) -> Result<Vec<u64>> {
    found.iter().map(|number| wire::from_bytes(number)).collect()
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
        let (first, records, samples): (u64, u64, u64) = wire::from_bytes(task.own)?;
        let share: Share = (first, records);
        if first.checked_add(records).is_none_or(|end| end > files.records()) {
            let text = format!("there are only {} records now; run again", files.records());
            return Err(Error::input("sort", text));
        }
        let mut blocks = Blocks::default();
        let found = match asked.what {
            What::Sample => wire::to_bytes(&shares::sample(&files, share, samples, progress)?)?,
            What::Count => wire::to_bytes(&shares::count(&files, share, asked.cuts, progress)?)?,
            _ => {
                blocks.bytes = vec![0; records as usize * RECORD_BYTES];
                let out = blocks.bytes.as_chunks_mut().0;
                let counts = shares::divide(&files, first, asked.cuts, out, progress)?;
                let mut end = 0;
                blocks.ends.extend(counts.iter().map(|count| {
                    end += count * RECORD_BYTES as u64;
                    end
                }));
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
        let records = if asked.what == What::Keep {
            let blocks = self.parts.entry(part.number).or_default();
            blocks.values().map(|block| (**block).as_ref().len() / RECORD_BYTES).sum::<usize>()
                as u64
        } else {
            self.write(part.number, &asked, progress)?
        };
        wire::to_bytes(&records)
    }

    fn combine(&self, _: &[u8], one: Vec<u8>, other: &[u8]) -> Result<Vec<u8>> {
        let (mut one, other): (Vec<u64>, Vec<u64>) =
            (wire::from_bytes(&one)?, wire::from_bytes(other)?);
        if one.len() != other.len() {
            return Err(unexpected());
        }
        one.iter_mut().zip(other).for_each(|(a, b)| *a += b);
        wire::to_bytes(&one)
    }
}

impl Work {
    /// Sorts and writes a part, whose blocks are forgotten; returns how many records it has.
    fn write(&mut self, part: usize, asked: &Asked, progress: &Progress) -> Result<u64> {
        let blocks: Vec<Bytes> =
            self.parts.remove(&part).unwrap_or_default().into_values().collect();
        let joined;
        let bytes: &[u8] = match &blocks[..] {
            [one] => (**one).as_ref(),
            _ => {
                joined = join(blocks);
                &joined
            }
        };
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
        Ok(records.len() as u64)
    }
}

/// All blocks one after the other.
fn join(blocks: Vec<Bytes>) -> Vec<u8> {
    let all = blocks.iter().map(|block| (**block).as_ref().len()).sum();
    let mut joined = Vec::with_capacity(all);
    for block in blocks {
        joined.extend_from_slice((*block).as_ref());
    }
    joined
}

fn unexpected() -> Error {
    Error::defect("sort", "a round found what it was not asked for")
}
