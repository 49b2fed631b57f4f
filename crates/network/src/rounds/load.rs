//! `load`: cuts from a sample of the keys divide the chunks into parts; each task sends each part
//! the rows of its chunks, a part writes them as a piece of the matrix, and tasks join the pieces
//! into shards.

use cuesta_core::Result;
use cuesta_core::job::{Context, Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_input::Filter;
use cuesta_input::kinc::block::Counts;
use cuesta_input::pair_matrix::{
    BatchSummary, CHUNK_PAIRS, MatrixPiece, Need, PieceMaker, PiecedMatrix, RowBatch, rank_of,
};
use cuesta_runtime::rounds::{Blocks, Bytes, Leader, Resources, Round, Task, Worker};
use cuesta_runtime::wire;
use serde::{Deserialize, Serialize};

use super::blocks::{Received, pack, unpack};
use super::pieces::{JoinPieces, PieceJoin};
use super::sample::{self, KeySample};
use super::{READ, Reading, add_rows, part_count, task_bytes, unexpected};
use crate::kernel::join::unkey;
use crate::params::{LoadParams, check_genes};
use crate::run::annotate::{LeasedNames, read_names};
use crate::run::load::{PAIRS_FOLDER, options, push};
use crate::run::pairs::{Pairs, Visitor, total};
use crate::run::share::Share;

/// Approximate bytes of the rows of a part.
const PART_BYTES: u64 = 64 << 20;
/// Memory of a task as a multiple of the input it reads: rows exist twice.
const TASK_PART: u64 = 4;
const TASK_BYTES_MIN: u64 = 1 << 20;

/// Input of all tasks of a round.
#[derive(Serialize, Deserialize)]
enum RoundInput {
    /// Take a sample of the keys.
    Sample,
    /// Send the rows, cut before these chunks.
    Rows(PieceMaker, Vec<u64>),
    /// Join the pieces into shards.
    Pieces(JoinPieces),
}

pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    let params = params(request)?;
    let stage = Stage::Start;
    Ok(Box::new(Steps { request: request.clone(), params, resources, stage, opened: None }))
}

pub fn work(request: &Request) -> Result<Box<dyn Worker>> {
    let params = params(request)?;
    Ok(Box::new(Work { request: request.clone(), params, received: Received::default() }))
}

fn params(request: &Request) -> Result<LoadParams> {
    let params: LoadParams = parameters(&request.parameters)?;
    check_genes(params.genes)?;
    Ok(params)
}

struct Steps {
    request: Request,
    params: LoadParams,
    resources: Resources,
    stage: Stage,
    opened: Option<Opened>,
}

enum Stage {
    Start,
    Sample,
    Rows,
    Join(Box<PieceJoin>),
}

/// State of the open inputs.
struct Opened {
    matrix: PiecedMatrix,
    tasks: Vec<Vec<u8>>,
    size_bytes: u64,
}

impl Leader for Steps {
    fn next(
        &mut self,
        results: Vec<Vec<u8>>,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Option<Round>> {
        match std::mem::replace(&mut self.stage, Stage::Start) {
            Stage::Start => match self.open(response, progress)? {
                Some(sample) => self.rows(&[sample]).map(Some),
                None => {
                    self.stage = Stage::Sample;
                    self.read("sample", &RoundInput::Sample, 0).map(Some)
                }
            },
            Stage::Sample => {
                let samples = results.iter().map(|result| wire::from_bytes(result));
                self.rows(&samples.collect::<Result<Vec<KeySample>>>()?).map(Some)
            }
            Stage::Rows => self.join(&results, response),
            Stage::Join(joining) => finish(*joining, &results, response),
        }
    }
}

impl Steps {
    /// Cuts the input into tasks; returns a sample of it if sampling is cheap.
    fn open(&mut self, response: &mut Response, progress: &Progress) -> Result<Option<KeySample>> {
        let pairs = timed(response, "open", || {
            let inputs = self.request.inputs.clone();
            let reading = Reading { inputs, filter: Filter::EVERYTHING, need: Need::Row };
            Ok((reading.open()?, 0, 0))
        })?;
        let context = Context::new(&self.request, progress);
        let names = read_names(&context, response)?;
        let names = names.as_ref().map(|names| &names.names);
        let options = options(&context, (&self.params, names), &pairs)?;
        let matrix = PiecedMatrix::create(&self.request.output.join(PAIRS_FOLDER), options)?;
        let size_bytes = pairs.size_bytes();
        let most = (self.resources.worker_bytes() / TASK_PART).max(TASK_BYTES_MIN);
        let even = task_bytes(self.resources, size_bytes);
        let share_bytes = if self.resources.task_bytes.is_some() { even } else { even.min(most) };
        let tasks =
            pairs.shares(share_bytes).iter().map(wire::to_bytes).collect::<Result<Vec<_>>>()?;
        self.opened = Some(Opened { matrix, tasks, size_bytes });
        Ok(sample::of_windows(&pairs, progress))
    }

    fn opened(&self) -> Result<&Opened> {
        self.opened.as_ref().ok_or_else(unexpected)
    }

    /// Returns the round that makes pieces, as many as the samples require.
    fn rows(&mut self, samples: &[KeySample]) -> Result<Round> {
        let maker = self.opened()?.matrix.maker();
        let bytes = sample::rows(samples) * maker.row_bytes() as u64;
        let keys = sample::cuts(samples, part_count(self.resources, bytes, PART_BYTES));
        let chunk = |key| {
            let (gene1, gene2, _) = unkey(key);
            rank_of(gene1, gene2).div_ceil(CHUNK_PAIRS as u64)
        };
        let mut cuts: Vec<u64> = keys.into_iter().map(chunk).collect();
        cuts.dedup();
        self.stage = Stage::Rows;
        let parts = cuts.len() + 1;
        self.read("read", &RoundInput::Rows(maker, cuts), parts)
    }

    /// Returns a round over the input.
    fn read(&self, phase: &str, input: &RoundInput, parts: usize) -> Result<Round> {
        let opened = self.opened()?;
        Ok(Round {
            phase: phase.to_owned(),
            bytes: opened.size_bytes,
            ceiling: Some(READ),
            shared: wire::to_bytes(input)?,
            tasks: opened.tasks.clone(),
            parts,
            ..Round::default()
        })
    }

    /// Returns the round that joins the pieces.
    fn join(&mut self, results: &[Vec<u8>], response: &mut Response) -> Result<Option<Round>> {
        let mut pieces = Vec::new();
        for part in results {
            let (rows, piece): (u64, Option<MatrixPiece>) = wire::from_bytes(part)?;
            add_rows(response, "read", rows);
            pieces.extend(piece);
        }
        let matrix = self.opened.take().ok_or_else(unexpected)?.matrix;
        let joining = PieceJoin::new(matrix, pieces, self.resources);
        let Some(round) = joining.round(|pieces| wire::to_bytes(&RoundInput::Pieces(pieces)))?
        else {
            return finish(joining, &[], response);
        };
        self.stage = Stage::Join(Box::new(joining));
        Ok(Some(round))
    }
}

/// Publishes the matrix and reports its counts.
fn finish(
    joining: PieceJoin,
    results: &[Vec<u8>],
    response: &mut Response,
) -> Result<Option<Round>> {
    let written = joining.finish(results, response)?;
    response.counts.insert("rows", written.rows);
    response.counts.insert("genes", u64::from(written.genes));
    response.counts.insert("spilled_bytes", written.spilled_bytes);
    Ok(None)
}

struct Work {
    request: Request,
    params: LoadParams,
    received: Received,
}

impl Worker for Work {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        match wire::from_bytes(task.shared)? {
            RoundInput::Sample => {
                let (sample, _) = sample::take(&opened(task.input)?, progress)?;
                Ok((wire::to_bytes(&sample)?, Blocks::default()))
            }
            RoundInput::Rows(maker, cuts) => {
                Ok((Vec::new(), self.divided(&maker, &opened(task.input)?, &cuts, progress)?))
            }
            RoundInput::Pieces(pieces) => Ok((pieces.task(task.input)?, Blocks::default())),
        }
    }

    fn take(&mut self, part: Task<'_>, from: usize, block: Bytes) -> Result<()> {
        self.received.take(part.number, from, block);
        Ok(())
    }

    fn part(&mut self, part: Task<'_>, _: &Progress) -> Result<Vec<u8>> {
        let RoundInput::Rows(maker, _) = wire::from_bytes(part.shared)? else {
            return Err(unexpected());
        };
        let blocks = self.received.all_of(part.number);
        let (mut lists, mut counts) = (Vec::new(), Counts::default());
        let mut facts = BatchSummary::default();
        for block in &blocks {
            for (head, rows) in unpack((**block).as_ref(), maker.row_bytes())? {
                counts.add(head.counts);
                facts.add(&unmark(head.mark));
                lists.push(rows);
            }
        }
        let budget = &self.request.budget;
        let _lease =
            budget.take(lists.iter().map(|list| list.len() as u64).sum(), "the rows of a part")?;
        let has_rows = lists.iter().any(|list| !list.is_empty());
        let piece = if has_rows { Some(maker.write(&lists, facts, budget)?) } else { None };
        wire::to_bytes(&(counts.rows_read, piece))
    }
}

impl Work {
    /// Reads a share and returns its rows for the parts that own them.
    fn divided(
        &self,
        maker: &PieceMaker,
        pairs: &Pairs,
        cuts: &[u64],
        progress: &Progress,
    ) -> Result<Blocks> {
        let context = Context::new(&self.request, progress);
        let names = LeasedNames::of(&context)?;
        let names = names.as_ref().map(|names| &names.names);
        let visitor = Visitor {
            keep: &|batch: &mut RowBatch, _, row| push((&self.params, names), batch, row),
            flush: &|_, _, _| Ok(()),
            on_error: &|_| {},
        };
        let mut workers = pairs.visit(1, progress, || maker.batch(), &visitor)?;
        let (counts, _) = total(&workers);
        let batch = workers.pop().map_or_else(|| maker.batch(), |worker| worker.state);
        let part_of = |row: &[u8]| cuts.partition_point(|&cut| cut <= maker.chunk_of(row));
        let rows = batch.bytes().chunks_exact(maker.row_bytes()).map(|row| (part_of(row), row));
        Ok(pack((mark(batch.summary()), counts), (cuts.len() + 1, maker.row_bytes()), rows))
    }
}

fn opened(share: &[u8]) -> Result<Pairs> {
    let share: Share = wire::from_bytes(share)?;
    Pairs::of_share(share, &Filter::EVERYTHING, Need::Row)
}

/// Encodes the properties of rows that their numbers do not show.
fn mark(facts: &BatchSummary) -> u64 {
    u64::from(facts.counts_differ) | u64::from(facts.has_nan) << 1
}

fn unmark(mark: u64) -> BatchSummary {
    BatchSummary { counts_differ: mark & 1 != 0, has_nan: mark & 2 != 0, ..Default::default() }
}
