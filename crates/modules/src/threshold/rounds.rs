//! `threshold` in rounds: each task reads the matrix, and counts the pairs of some blocks of the
//! correlations. The leader adds up the counts, and searches the cut-off by random matrix theory
//! among the edges that a second round finds.

use std::ops::Range;

use cuesta_core::Result;
use cuesta_core::job::{Request, Response, parameters};
use cuesta_runtime::operation::{
    Operation, OperationWorker, RoundPlan, TaskContext, TaskOutcome, TaskResult,
};
use cuesta_runtime::rounds::{Leader, Resources, Worker, shares};
use cuesta_runtime::sequential;
use serde::{Deserialize, Serialize};

use super::{Plan, random, write};
use crate::kernel::product::block_counts;
use crate::kernel::threshold::edges::{Edges, GeneLink, edges};
use crate::kernel::threshold::sweep::{SweepPart, part};
use crate::params::ThresholdParams;

/// Creates the leader of a run in rounds.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    request.require_inputs()?;
    params(request)?;
    let request = request.clone();
    Ok(sequential::leader(move |rounds| {
        let mut response = Response::default();
        let plan = Plan::read(&request, &mut response)?;
        let blocks = block_counts(plan.input.used_genes()).1;
        let inputs = block_ranges(blocks, resources.tasks.unwrap_or(resources.slots));
        let flops = plan.flops();
        let counted = rounds.combined(round(CountPairs, &inputs, flops), &mut response)?;
        let Some(counted) = counted else { return Ok(response) };
        let sweep = counted.finished(&plan.grid);
        let links = match random::smallest_score(&plan.params) {
            Some(smallest) => {
                rounds.run(round(FindEdges(smallest), &inputs, flops), &mut response)?
            }
            None => Vec::new(),
        };
        let genes = plan.input.used_genes();
        let find_edges = |_| Edges::joined(links, &request.budget);
        let surroundings = (rounds.progress(), &mut response);
        let random = random::search(&request, &plan.params, genes, find_edges, surroundings)?;
        let answer = plan.answered(sweep, random, &mut response);
        write(&request, &answer, &mut response)?;
        Ok(response)
    }))
}

/// Creates a worker, which does the tasks.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, _: Resources) -> Result<Box<dyn Worker>> {
    params(request)?;
    Ok(OperationWorker::new(request, ()).with::<CountPairs>().with::<FindEdges>().boxed())
}

fn params(request: &Request) -> Result<ThresholdParams> {
    let params: ThresholdParams = parameters(&request.parameters)?;
    params.check()?;
    Ok(params)
}

/// Divides the blocks among at most `tasks` tasks: each reads the whole matrix, so that there is
/// one for each slot.
fn block_ranges(blocks: usize, tasks: usize) -> Vec<Range<usize>> {
    let tasks = blocks.min(tasks).max(1);
    let ranges = shares(blocks as u64, tasks as u64);
    ranges.map(|range| range.start as usize..range.end as usize).collect()
}

fn round<O: Operation<Input = Range<usize>>>(
    operation: O,
    inputs: &[Range<usize>],
    flops: u64,
) -> RoundPlan<O> {
    RoundPlan { flops, ..RoundPlan::new(operation, inputs.to_vec()) }
}

/// Counts the pairs of some blocks.
#[derive(Serialize, Deserialize)]
struct CountPairs;

impl Operation for CountPairs {
    const NAME: &'static str = "sweep";
    type State = ();
    type Input = Range<usize>;
    type Output = SweepPart;

    fn task(self, blocks: Range<usize>, context: TaskContext<'_, ()>) -> TaskOutcome<Self> {
        let request = context.request;
        let plan = Plan::read(request, &mut Response::default())?;
        let resources = (request.threads, &*request.budget);
        part(&plan.input.expression()?, &plan.grid, blocks, resources).map(TaskResult::Output)
    }

    fn combine(mut left: SweepPart, right: SweepPart) -> Result<SweepPart> {
        left.merge(right);
        Ok(left)
    }
}

/// Finds the pairs of some blocks with |r| of at least a value.
#[derive(Serialize, Deserialize)]
struct FindEdges(f64);

impl Operation for FindEdges {
    const NAME: &'static str = "edges";
    type State = ();
    type Input = Range<usize>;
    type Output = Vec<GeneLink>;

    fn task(self, blocks: Range<usize>, context: TaskContext<'_, ()>) -> TaskOutcome<Self> {
        let request = context.request;
        let plan = Plan::read(request, &mut Response::default())?;
        let (measure, resources) = (plan.grid.measure, (request.threads, &*request.budget));
        let edges = edges(&plan.input.expression()?, measure, self.0, blocks, resources)?;
        Ok(TaskResult::Output(edges.edges))
    }
}
