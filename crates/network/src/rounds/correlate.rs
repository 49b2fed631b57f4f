//! `correlate`: each task reads the matrix, and writes the pairs of some rows as text, which the
//! leader concatenates, or those of some chunks as a piece of a pair matrix.

use std::ops::Range;

use cuesta_core::Result;
use cuesta_core::job::{Context, Request, Response, parameters, timed};
use cuesta_input::generate::clusters::pairs_of;
use cuesta_input::pair_matrix::{CHUNK_PAIRS, MatrixPiece, PieceMaker, PiecedMatrix};
use cuesta_runtime::operation::{
    Operation, OperationWorker, RoundPlan, TaskContext, TaskOutcome, TaskResult,
};
use cuesta_runtime::rounds::{Leader, Resources, Worker, shares};
use cuesta_runtime::sequential;
use serde::{Deserialize, Serialize};

use super::parts;
use super::pieces::{self, JoinPieces};
use crate::kernel::correlate::{Counts, StrongestPairs, bands};
use crate::params::{CorrelateParams, Format};
use crate::run::correlate::{
    estimate, flops, folder_bytes, pairs_in, pairs_options, parse, report, strongest, write_genes,
    write_piece, write_rows,
};
use crate::run::load::PAIRS_FOLDER;
use crate::run::scan::PAIRS_FILE;

/// Minimum number of bands for each task, so that tasks end together.
const BANDS_A_TASK: usize = 16;
/// Phase of the rounds that multiply.
const PHASE: &str = "multiply";

pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    let (params, request) = (params(request)?, request.clone());
    Ok(sequential::leader(move |rounds| {
        let (output, mut response) = (&request.output, Response::default());
        let context = Context::new(&request, rounds.progress());
        let matrix = parse(&context, &params, &mut response)?;
        let shape = (matrix.genes().len(), matrix.samples().len());
        let work = (pairs_of(shape.0 as u32), flops(&matrix));
        estimate::check_space(output, &matrix, &params)?;
        let count = resources.tasks.unwrap_or(resources.slots);
        if params.top.is_some() {
            let _lease = strongest::reserve(&context, &params, shape.0)?;
            let plan = plan(FindStrongest, row_ranges(shape.0, count), work);
            let (counts, strongest) = rounds.combined(plan, &mut response)?.unwrap_or_default();
            let pairs = strongest.into_pairs();
            let bytes = timed(&mut response, "write", || {
                let bytes = strongest::write(&context, &params, &matrix, &pairs)?;
                Ok((bytes, bytes, 0))
            })?;
            let counts = Counts { selected: pairs.len() as u64, ..counts };
            report(shape, counts, bytes, &mut response);
            return Ok(response);
        }
        let (counts, bytes) = match params.format {
            Format::Text => {
                write_genes(&context, &matrix)?;
                drop(matrix);
                let rows = row_ranges(shape.0, count);
                let tasks = rows.len();
                let counts = rounds.run(plan(WriteText, rows, work), &mut response)?;
                let bytes = timed(&mut response, "write", || {
                    let bytes = parts::join(output, tasks, &output.join(PAIRS_FILE))?;
                    Ok((bytes, bytes, 0))
                })?;
                (counts, bytes)
            }
            Format::Pairs => {
                let place = output.join(PAIRS_FOLDER);
                let pieced = PiecedMatrix::create(&place, pairs_options(&context, &matrix))?;
                drop(matrix);
                let ranks = chunk_ranges(pairs_of(shape.0 as u32), count);
                let plan = plan(WritePieces(pieced.maker()), ranks, work);
                let (counts, pieces) = rounds.run(plan, &mut response)?.into_iter().unzip();
                pieces::join(rounds, (pieced, pieces), resources, &mut response)?;
                (counts, folder_bytes(&place))
            }
        };
        let mut all = Counts::default();
        counts.into_iter().for_each(|counts| all += counts);
        report(shape, all, bytes, &mut response);
        Ok(response)
    }))
}

pub fn work(request: &Request) -> Result<Box<dyn Worker>> {
    params(request)?;
    let worker = OperationWorker::new(request, ());
    let worker = worker.with::<WriteText>().with::<WritePieces>().with::<JoinPieces>();
    Ok(worker.with::<FindStrongest>().boxed())
}

fn params(request: &Request) -> Result<CorrelateParams> {
    let params: CorrelateParams = parameters(&request.parameters)?;
    params.check()?;
    Ok(params)
}

/// Plans the round that multiplies.
fn plan<O: Operation>(
    operation: O,
    inputs: Vec<O::Input>,
    (pairs, flops): (u64, u64),
) -> RoundPlan<O> {
    RoundPlan {
        phase: PHASE.to_owned(),
        rows: pairs,
        flops,
        ceiling: Some("gemm_f32_flops_per_s"),
        ..RoundPlan::new(operation, inputs)
    }
}

/// Divides the rows of the triangle of pairs into at most `tasks` ranges with about as many pairs
/// each: each task reads the complete matrix, so there is one for each slot.
fn row_ranges(genes: usize, tasks: usize) -> Vec<Range<usize>> {
    let even = pairs_of(genes as u32).div_ceil(tasks as u64);
    let mut row_ranges: Vec<Range<usize>> = Vec::new();
    for band in bands(genes, BANDS_A_TASK * tasks) {
        match row_ranges.last_mut() {
            Some(last) if pairs_in(last) < even => last.end = band.end,
            _ => row_ranges.push(band),
        }
    }
    row_ranges
}

/// Divides the ranks into ranges of complete chunks, for at most `tasks` tasks.
fn chunk_ranges(pairs: u64, tasks: usize) -> Vec<Range<u64>> {
    let chunk = CHUNK_PAIRS as u64;
    let chunks = pairs.div_ceil(chunk);
    let ranks = |range: Range<u64>| range.start * chunk..pairs.min(range.end * chunk);
    shares(chunks, chunks.min(tasks as u64)).map(ranks).collect()
}

/// Writes the pairs of a range of rows, as text.
#[derive(Serialize, Deserialize)]
struct WriteText;

impl Operation for WriteText {
    const NAME: &'static str = "text";
    type State = ();
    type Input = Range<usize>;
    type Output = Counts;

    fn task(self, rows: Range<usize>, context: TaskContext<'_, ()>) -> TaskOutcome<Self> {
        let job = context.job();
        let (counts, _) = parts::write(&context.request.output, context.number, |path| {
            write_rows(&job, &job.parameters()?, &rows, path)
        })?;
        Ok(TaskResult::Output(counts))
    }
}

/// Writes the pairs of a range of ranks, as a piece of the matrix.
#[derive(Serialize, Deserialize)]
struct WritePieces(PieceMaker);

impl Operation for WritePieces {
    const NAME: &'static str = "pieces";
    type State = ();
    type Input = Range<u64>;
    type Output = (Counts, MatrixPiece);

    fn task(self, ranks: Range<u64>, context: TaskContext<'_, ()>) -> TaskOutcome<Self> {
        let job = context.job();
        write_piece(&job, &job.parameters()?, &ranks, &self.0).map(TaskResult::Output)
    }
}

/// Finds the strongest pairs of a range of rows.
#[derive(Serialize, Deserialize)]
struct FindStrongest;

impl Operation for FindStrongest {
    const NAME: &'static str = "strongest";
    type State = ();
    type Input = Range<usize>;
    type Output = (Counts, StrongestPairs);

    fn task(self, rows: Range<usize>, context: TaskContext<'_, ()>) -> TaskOutcome<Self> {
        let job = context.job();
        strongest::in_rows(&job, &job.parameters()?, &rows).map(TaskResult::Output)
    }

    fn combine(left: Self::Output, right: Self::Output) -> Result<Self::Output> {
        let mut counts = left.0;
        counts += right.0;
        Ok((counts, left.1.merge(right.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_all_rows_in_order_and_about_as_many_pairs() {
        for (genes, tasks) in [(5000, 1), (5000, 3), (20_000, 7), (3, 5), (1, 1)] {
            let row_ranges = row_ranges(genes, tasks);
            assert!(!row_ranges.is_empty() && row_ranges.len() <= tasks, "{genes} {tasks}");
            assert!(row_ranges.windows(2).all(|two| two[0].end == two[1].start));
            assert_eq!((row_ranges[0].start, row_ranges[row_ranges.len() - 1].end), (0, genes));
            let even = pairs_of(genes as u32) / tasks as u64;
            let most = row_ranges.iter().map(pairs_in).max().unwrap_or(0);
            assert!(genes < 5000 || most < even + even / 4, "{most} of {even}");
        }
    }
}
