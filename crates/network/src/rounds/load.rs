//! `load`: cuts from a sample of the keys divide the chunks into parts; each task sends each part
//! the rows of its chunks, a part writes them as a piece of the matrix, and tasks join the pieces
//! into shards.

use cuesta_core::Result;
use cuesta_core::job::{Context, Request, Response, parameters, timed};
use cuesta_input::kinc::block::Counts;
use cuesta_input::pair_matrix::{
    BatchSummary, CHUNK_PAIRS, MatrixPiece, PieceMaker, PiecedMatrix, RowBatch, rank_of,
};
use cuesta_runtime::blocks::{Blocks, Bytes};
use cuesta_runtime::operation::{
    Operation, OperationWorker, RoundPlan, TaskContext, TaskOutcome, TaskResult,
};
use cuesta_runtime::rounds::{Leader, Resources, Worker};
use cuesta_runtime::sequential;
use serde::{Deserialize, Serialize};

use super::blocks::{pack, unpack};
use super::pieces::{self, JoinPieces};
use super::sample::{self, KeySample, SampleKeys};
use super::{Opened, RowSelection, add_rows, part_count, task_bytes};
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

pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    let (params, request) = (params(request)?, request.clone());
    Ok(sequential::leader(move |rounds| {
        let mut response = Response::default();
        let context = Context::new(&request, rounds.progress());
        let (matrix, opened, sampled) = open(&context, &params, resources, &mut response)?;
        let samples = match sampled {
            Some(sample) => vec![sample],
            None => {
                let operation = SampleKeys(RowSelection::EVERYTHING);
                rounds.run(opened.plan(operation), &mut response)?
            }
        };
        let maker = matrix.maker();
        let bytes = sample::rows(&samples) * maker.row_bytes() as u64;
        let keys = sample::cuts(&samples, part_count(resources, bytes, PART_BYTES));
        let cuts = chunk_cuts(keys);
        let parts = cuts.len() + 1;
        let plan = RoundPlan { parts, ..opened.plan(MakePieces { maker, cuts }) };
        let mut pieces = Vec::new();
        for (rows, piece) in rounds.run(plan, &mut response)? {
            add_rows(&mut response, MakePieces::NAME, rows);
            pieces.extend(piece);
        }
        let written = pieces::join(rounds, (matrix, pieces), resources, &mut response)?;
        response.counts.insert("rows", written.rows);
        response.counts.insert("genes", u64::from(written.genes));
        response.counts.insert("spilled_bytes", written.spilled_bytes);
        Ok(response)
    }))
}

pub fn work(request: &Request) -> Result<Box<dyn Worker>> {
    params(request)?;
    let worker = OperationWorker::new(request, ());
    Ok(worker.with::<SampleKeys>().with::<MakePieces>().with::<JoinPieces>().boxed())
}

fn params(request: &Request) -> Result<LoadParams> {
    let params: LoadParams = parameters(&request.parameters)?;
    check_genes(params.genes)?;
    Ok(params)
}

/// Creates the matrix, and cuts the input into shares; returns both with a sample of the input if
/// sampling is cheap.
fn open(
    context: &Context<'_>,
    params: &LoadParams,
    resources: Resources,
    response: &mut Response,
) -> Result<(PiecedMatrix, Opened, Option<KeySample>)> {
    let request = context.request;
    let pairs =
        timed(response, "open", || Ok((RowSelection::EVERYTHING.open(&request.inputs)?, 0, 0)))?;
    let names = read_names(context, response)?;
    let names = names.as_ref().map(|names| &names.names);
    let options = options(context, (params, names), &pairs)?;
    let matrix = PiecedMatrix::create(&request.output.join(PAIRS_FOLDER), options)?;
    let size_bytes = pairs.size_bytes();
    let most = (resources.worker_bytes() / TASK_PART).max(TASK_BYTES_MIN);
    let even = task_bytes(resources, size_bytes);
    let share_bytes = if resources.task_bytes.is_some() { even } else { even.min(most) };
    let (shares, skipped) = (pairs.shares(share_bytes), pairs.skipped());
    let sampled = sample::of_windows(&pairs, context.progress);
    Ok((matrix, Opened { shares, size_bytes, skipped }, sampled))
}

/// Returns the chunks before which rows are cut, at most one for each key.
fn chunk_cuts(keys: Vec<u64>) -> Vec<u64> {
    let chunk = |key| {
        let (gene1, gene2, _) = unkey(key);
        rank_of(gene1, gene2).div_ceil(CHUNK_PAIRS as u64)
    };
    let mut cuts: Vec<u64> = keys.into_iter().map(chunk).collect();
    cuts.dedup();
    cuts
}

/// Makes pieces of the matrix. A part returns the number of rows that were read, and its piece if
/// it has rows.
#[derive(Serialize, Deserialize)]
struct MakePieces {
    maker: PieceMaker,
    /// Chunks before which rows are cut.
    cuts: Vec<u64>,
}

impl Operation for MakePieces {
    const NAME: &'static str = "read";
    type State = ();
    type Input = Share;
    type Output = (u64, Option<MatrixPiece>);

    fn task(self, share: Share, context: TaskContext<'_, ()>) -> TaskOutcome<Self> {
        let pairs = RowSelection::EVERYTHING.of_share(share)?;
        self.divided(&context.job(), &pairs).map(TaskResult::Sent)
    }

    fn part(self, blocks: Vec<Bytes>, context: TaskContext<'_, ()>) -> Result<Self::Output> {
        let (mut lists, mut counts) = (Vec::new(), Counts::default());
        let mut facts = BatchSummary::default();
        for block in &blocks {
            for sent in unpack((**block).as_ref())? {
                counts.add(sent.counts);
                facts.add(&unmark(sent.mark));
                lists.push(sent.rows);
            }
        }
        let budget = &context.request.budget;
        let _lease =
            budget.take(lists.iter().map(|list| list.len() as u64).sum(), "the rows of a part")?;
        let has_rows = lists.iter().any(|list| !list.is_empty());
        let piece = if has_rows { Some(self.maker.write(&lists, facts, budget)?) } else { None };
        Ok((counts.rows_read, piece))
    }
}

impl MakePieces {
    /// Returns the rows of a share for the parts that own them.
    fn divided(&self, context: &Context<'_>, pairs: &Pairs) -> Result<Blocks> {
        let (params, names) = (context.parameters()?, LeasedNames::of(context)?);
        let names = names.as_ref().map(|names| &names.names);
        let Self { maker, cuts } = self;
        let visitor = Visitor {
            keep: &|batch: &mut RowBatch, _, row| push((&params, names), batch, row),
            flush: &|_, _, _| Ok(()),
            on_error: &|_| {},
        };
        let mut workers = pairs.visit(1, context.progress, || maker.batch(), &visitor)?;
        let (counts, _) = total(&workers);
        let batch = workers.pop().map_or_else(|| maker.batch(), |worker| worker.state);
        let part_of = |row: &[u8]| cuts.partition_point(|&cut| cut <= maker.chunk_of(row));
        let rows = batch.bytes().chunks_exact(maker.row_bytes()).map(|row| (part_of(row), row));
        Ok(pack((mark(batch.summary()), counts), (cuts.len() + 1, maker.row_bytes()), rows))
    }
}

/// Encodes the properties of rows that their numbers do not show.
fn mark(facts: &BatchSummary) -> u64 {
    u64::from(facts.counts_differ) | u64::from(facts.has_nan) << 1
}

fn unmark(mark: u64) -> BatchSummary {
    BatchSummary { counts_differ: mark & 1 != 0, has_nan: mark & 2 != 0, ..Default::default() }
}
