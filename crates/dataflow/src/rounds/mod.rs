//! Workload in rounds: each task has a range of the blocks, and only sums travel. Blocks are cached
//! in the memory of the worker that has their tasks in all rounds, else in files of the scratch
//! folder, which all workers share.

mod stages;

use cuesta_core::budget;
use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::{Error, Result};
use cuesta_runtime::operation::{Operation, OperationWorker, RoundPlan};
use cuesta_runtime::rounds::{self, Leader, Resources, Worker};
use cuesta_runtime::scratch;
use cuesta_runtime::sequential::{self, Rounds};

use crate::block_cache::BlockCache;
use crate::params::{DataflowParams, Keep, Plan};
use crate::source::VectorSource;
use crate::{reduce, table};
use stages::{AverageBlocks, BlockRange, MakeBlocks, RunPipeline, ShiftBlocks, Sums, WorkerBlocks};

/// Creates the leader of a run in rounds.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    let params: DataflowParams = parameters(&request.parameters)?;
    let request = request.clone();
    Ok(sequential::leader(move |rounds| {
        let mut response = Response::default();
        let source = VectorSource::open(&request.inputs, request.seed)?;
        let (plan, file_bytes) = (params.check(source.vectors())?, source.file_bytes());
        drop(source);
        let steps = Steps { rounds, request: &request, resources, plan };
        steps.require_room()?;
        let sums = steps.sums(file_bytes, &mut response)?;
        steps.write(&sums, &mut response)?;
        Ok(response)
    }))
}

/// Creates a worker, which runs the tasks of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, resources: Resources) -> Result<Box<dyn Worker>> {
    let params: DataflowParams = parameters(&request.parameters)?;
    let in_memory = resources.keeps && params.keep == Keep::Memory;
    let cache = BlockCache::new((!in_memory).then_some(request.scratch.as_path()));
    let blocks = WorkerBlocks { params, buffer: Vec::new(), cache };
    let worker = OperationWorker::new(request, blocks).with::<RunPipeline>().with::<MakeBlocks>();
    Ok(worker.with::<ShiftBlocks>().with::<AverageBlocks>().boxed())
}

struct Steps<'a> {
    rounds: &'a Rounds,
    request: &'a Request,
    resources: Resources,
    plan: Plan,
}

impl Steps<'_> {
    /// Checks that there is memory or scratch space for the stored blocks.
    fn require_room(&self) -> Result<()> {
        let plan = &self.plan;
        let memory_bytes = plan.bytes(plan.vectors);
        let at_once = plan.blocks.min(self.resources.slots as u64);
        match (plan.keep, self.resources.keeps) {
            (Keep::Memory, true) => {
                self.require(memory_bytes, "keeping all blocks in memory (--keep disk does not)")
            }
            (Keep::Memory | Keep::Disk, _) => {
                // Unshifted and shifted blocks are stored together, because a task may run twice.
                let size_bytes = 2 * memory_bytes;
                scratch::check_space(&self.request.scratch, size_bytes, "keeping all blocks")
            }
            (Keep::None, _) if plan.stores() => {
                let size_bytes = at_once * plan.bytes(plan.vectors_of(0));
                let purpose = "a block of every task at once (smaller --block-vectors take less)";
                self.require(size_bytes, purpose)
            }
            (Keep::None, _) => Ok(()),
        }
    }

    /// Refuses what does not fit in the memory of all workers.
    fn require(&self, size_bytes: u64, purpose: &str) -> Result<()> {
        let limit_bytes = self.resources.all_bytes();
        if size_bytes > limit_bytes {
            return Err(budget::refusal(size_bytes, limit_bytes, purpose));
        }
        Ok(())
    }

    /// Runs all rounds; returns the sums of each block. The files of the numbers have `file_bytes`.
    fn sums(&self, file_bytes: u64, response: &mut Response) -> Result<Vec<Sums>> {
        let memory_bytes = self.plan.bytes(self.plan.vectors);
        if self.plan.keep == Keep::None {
            return Ok(self.rounds.run(self.plan(RunPipeline, file_bytes), response)?.concat());
        }
        let phase = if self.request.inputs.is_empty() { "generate" } else { "load" }.to_owned();
        let make = self.plan(MakeBlocks, file_bytes + memory_bytes);
        self.rounds.run(RoundPlan { phase, ..make }, response)?;
        let ceiling = Some("memory_copy_bytes_per_s");
        let shift = self.plan(ShiftBlocks, 2 * memory_bytes);
        self.rounds.run(RoundPlan { ceiling, ..shift }, response)?;
        let ceiling = Some("memory_read_bytes_per_s");
        let average = self.plan(AverageBlocks, memory_bytes);
        Ok(self.rounds.run(RoundPlan { ceiling, ..average }, response)?.concat())
    }

    /// Plans a round over all blocks.
    fn plan<O: Operation<Input = BlockRange>>(&self, operation: O, bytes: u64) -> RoundPlan<O> {
        let blocks = self.plan.blocks;
        let ranges = rounds::shares(blocks, self.resources.task_count(blocks)).collect();
        RoundPlan { bytes, rows: self.plan.vectors, ..RoundPlan::new(operation, ranges) }
    }

    /// Writes the table from the sums of each block.
    fn write(&self, sums: &[Sums], response: &mut Response) -> Result<()> {
        let plan = &self.plan;
        if sums.len() as u64 != plan.blocks {
            let text = format!("{} of {} blocks came through", sums.len(), plan.blocks);
            return Err(Error::defect("dataflow", text));
        }
        let sums = |block: u64| sums[block as usize];
        let total = timed(response, "reduce", || {
            let total = reduce::total(plan.blocks, self.request.threads, sums)?;
            Ok((total, plan.bytes(plan.blocks), plan.blocks))
        })?;
        timed(response, "write", || {
            Ok(((), table::write(&self.request.output, plan, sums, total)?, plan.blocks))
        })?;
        response.counts.insert("blocks", plan.blocks);
        response.counts.insert("vectors", plan.vectors);
        Ok(())
    }
}
