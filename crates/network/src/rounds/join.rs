//! `join`: cuts from a sample of the keys divide their order into parts; each task sends each part
//! its rows; the worker of a part sorts both versions and writes its piece of the answer.

use cuesta_core::Result;
use cuesta_core::job::{Context, Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_input::Filter;
use cuesta_input::kinc::block::Counts;
use cuesta_input::pair_matrix::Need;
use cuesta_runtime::rounds::{Blocks, Bytes, Leader, Resources, Round, Task, Worker};
use cuesta_runtime::wire;
use serde::{Deserialize, Serialize};

use super::blocks::{Received, pack, unpack};
use super::sample::{self, KeySample};
use super::{Reading, Rows, add_rows, counts, part_count, parts, rows, unexpected};
use crate::kernel::join::{Keyed, key};
use crate::params::{JoinKind, JoinParams};
use crate::run::join::{HEADER, JoinCounts, PAIRS_FILE, inputs, report, write};
use crate::run::pairs::{Pairs, Visitor, total};
use crate::run::share::Share;
use crate::run::sorted::SortedVersion;

/// Approximate bytes of the rows of a part.
const PART_BYTES: u64 = 32 << 20;
/// Bytes of a row in a message: its key and its score.
const ROW_BYTES: usize = 12;
const VERSIONS: [&str; 2] = ["a", "b"];

/// Input of all tasks of a round.
#[derive(Serialize, Deserialize)]
struct RoundInput {
    /// First key of each part except the first; `None` for the round that takes a sample.
    cuts: Option<Vec<u64>>,
}

/// Input of a task: the number of the version, and a share of it.
type TaskInput = (u64, Share);

pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    let (_, filter) = params(request)?;
    inputs(request)?;
    Ok(Box::new(Steps {
        request: request.clone(),
        filter,
        resources,
        stage: Stage::Start,
        tasks: Vec::new(),
        size_bytes: 0,
    }))
}

pub fn work(request: &Request) -> Result<Box<dyn Worker>> {
    let (how, filter) = params(request)?;
    Ok(Box::new(Work { request: request.clone(), how, filter, received: Received::default() }))
}

fn params(request: &Request) -> Result<(JoinKind, Filter)> {
    let params: JoinParams = parameters(&request.parameters)?;
    Ok((params.how, params.filter.check()?))
}

struct Steps {
    request: Request,
    filter: Filter,
    resources: Resources,
    stage: Stage,
    tasks: Vec<Vec<u8>>,
    size_bytes: u64,
}

enum Stage {
    Start,
    Sample,
    /// Number of parts of the round that joins.
    Join(usize),
}

impl Leader for Steps {
    fn next(
        &mut self,
        results: Vec<Vec<u8>>,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Option<Round>> {
        match self.stage {
            Stage::Start => match self.open(response, progress)? {
                Some(samples) => self.join(&samples).map(Some),
                None => {
                    self.stage = Stage::Sample;
                    self.round("sample", None, 0).map(Some)
                }
            },
            Stage::Sample => {
                let samples: Vec<KeySample> =
                    results.iter().map(|result| wire::from_bytes(result)).collect::<Result<_>>()?;
                self.join(&samples).map(Some)
            }
            Stage::Join(parts) => {
                self.finish(&results, parts, response)?;
                Ok(None)
            }
        }
    }
}

impl Steps {
    /// Cuts the versions into tasks; returns samples of them if sampling is cheap.
    fn open(
        &mut self,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Option<Vec<KeySample>>> {
        let mut samples = Some(Vec::new());
        let tasks = &mut self.tasks;
        self.size_bytes = timed(response, "open", || {
            let mut size_bytes = 0;
            for (version, input) in self.request.inputs.iter().enumerate() {
                let (inputs, filter) = (vec![input.clone()], self.filter);
                let pairs = Reading { inputs, filter, need: Need::Edge }.open()?;
                size_bytes += pairs.size_bytes();
                for share in pairs.shares(super::task_bytes(self.resources, pairs.size_bytes())) {
                    let task_input: TaskInput = (version as u64, share);
                    tasks.push(wire::to_bytes(&task_input)?);
                }
                let sampled = sample::of_windows(&pairs, progress);
                samples = samples.take().zip(sampled).map(|(mut samples, sampled)| {
                    samples.push(sampled);
                    samples
                });
            }
            Ok((size_bytes, 0, 0))
        })?;
        Ok(samples)
    }

    /// Returns the round that joins, with parts from the samples.
    fn join(&mut self, samples: &[KeySample]) -> Result<Round> {
        let bytes = sample::rows(samples) * size_of::<Keyed>() as u64;
        let cuts = sample::cuts(samples, part_count(self.resources, bytes, PART_BYTES));
        let parts = cuts.len() + 1;
        self.stage = Stage::Join(parts);
        self.round("join", Some(cuts), parts)
    }

    fn round(&self, phase: &str, cuts: Option<Vec<u64>>, parts: usize) -> Result<Round> {
        Ok(Round {
            phase: phase.to_owned(),
            bytes: self.size_bytes,
            shared: wire::to_bytes(&RoundInput { cuts })?,
            tasks: self.tasks.clone(),
            parts,
            ..Round::default()
        })
    }

    fn finish(&self, results: &[Vec<u8>], parts: usize, response: &mut Response) -> Result<()> {
        let (mut all, mut tally) = (Counts::default(), JoinCounts::default());
        for part in results {
            let (rows, part_tally): (Rows, JoinCounts) = wire::from_bytes(part)?;
            all.add(counts(rows));
            tally += part_tally;
        }
        add_rows(response, "join", all.rows_passed);
        timed(response, "write", || {
            let output = &self.request.output;
            Ok(((), parts::join(output, parts, &output.join(PAIRS_FILE))?, 0))
        })?;
        report(all, tally, response);
        Ok(())
    }
}

struct Work {
    request: Request,
    how: JoinKind,
    filter: Filter,
    received: Received,
}

impl Worker for Work {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let round_input: RoundInput = wire::from_bytes(task.shared)?;
        let (version, share): TaskInput = wire::from_bytes(task.input)?;
        let pairs = Pairs::of_share(share, &self.filter, Need::Edge)?;
        match round_input.cuts {
            None => {
                let (sample, _) = sample::take(&pairs, progress)?;
                Ok((wire::to_bytes(&sample)?, Blocks::default()))
            }
            Some(cuts) => Ok((Vec::new(), self.divided((version, &pairs), &cuts, progress)?)),
        }
    }

    fn take(&mut self, part: Task<'_>, from: usize, block: Bytes) -> Result<()> {
        self.received.take(part.number, from, block);
        Ok(())
    }

    fn part(&mut self, part: Task<'_>, progress: &Progress) -> Result<Vec<u8>> {
        let blocks = self.received.all_of(part.number);
        let (mut lists, mut counts) = ([Vec::new(), Vec::new()], Counts::default());
        for block in &blocks {
            for (head, rows) in unpack((**block).as_ref(), ROW_BYTES)? {
                counts.add(head.counts);
                let list = lists.get_mut(head.mark as usize).ok_or_else(unexpected)?;
                list.push(rows.as_chunks().0);
            }
        }
        let received = lists.iter().flatten().map(|list| list.len() as u64).sum::<u64>();
        // One copy as received, and two during the sort.
        let row_bytes = (ROW_BYTES + 2 * size_of::<Keyed>()) as u64;
        let _lease = self.request.budget.take(received * row_bytes, "the rows of a part")?;
        let mut versions = Vec::new();
        for (name, lists) in VERSIONS.into_iter().zip(lists) {
            let rows = lists.into_iter().flatten().map(unpacked).collect();
            versions.push(SortedVersion::in_memory(name, rows, Vec::new())?);
        }
        let [left, right] = &versions[..] else { return Err(unexpected()) };
        let context = Context::new(&self.request, progress);
        let head = if part.number == 0 { format!("{HEADER}\n") } else { String::new() };
        let (tally, _) = parts::write(&self.request.output, part.number, |path| {
            write(&context, (path, &head), (left, right), self.how)
        })?;
        wire::to_bytes(&(rows(counts), tally))
    }
}

impl Work {
    /// Reads a share and returns its rows for the parts that own them.
    fn divided(
        &self,
        (version, pairs): (u64, &Pairs),
        cuts: &[u64],
        progress: &Progress,
    ) -> Result<Blocks> {
        let visitor = Visitor {
            keep: &|rows: &mut Vec<Keyed>, _, row| {
                let (gene1, gene2, cluster) = row.place();
                rows.push(Keyed { key: key(gene1, gene2, cluster), score: row.score() });
                Ok(())
            },
            flush: &|_, _, _| Ok(()),
            on_error: &|_| {},
        };
        let mut workers = pairs.visit(1, progress, Vec::new, &visitor)?;
        let (counts, _) = total(&workers);
        let rows = workers.pop().map(|worker| worker.state).unwrap_or_default();
        let part_of = |row: &Keyed| cuts.partition_point(|&cut| cut <= row.key);
        let packed_row = |row: &Keyed| (part_of(row), packed(row));
        Ok(pack((version, counts), (cuts.len() + 1, ROW_BYTES), rows.iter().map(packed_row)))
    }
}

fn packed(row: &Keyed) -> [u8; ROW_BYTES] {
    let mut bytes = [0; ROW_BYTES];
    bytes[..8].copy_from_slice(&row.key.to_le_bytes());
    bytes[8..].copy_from_slice(&row.score.to_le_bytes());
    bytes
}

fn unpacked(&[a, b, c, d, e, f, g, h, i, j, k, l]: &[u8; ROW_BYTES]) -> Keyed {
    let key = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
    Keyed { key, score: i32::from_le_bytes([i, j, k, l]) }
}
