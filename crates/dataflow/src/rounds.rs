//! Workload in rounds: each task has a range of the blocks, and only sums travel. Blocks are cached
//! in the memory of the worker that has their tasks in all rounds, else in files of the scratch
//! folder, which all workers share.

use std::ops::Range;

use cuesta_core::budget;
use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::rounds::{self, Blocks, Leader, Resources, Round, Task, Worker};
use cuesta_runtime::{scratch, wire};
use serde::{Deserialize, Serialize};

use crate::block_cache::BlockCache;
use crate::kernel::{self, AXES};
use crate::params::{DataflowParams, Keep, Plan};
use crate::source::VectorSource;
use crate::{reduce, table};

/// Sums of the coordinates of a block, in units.
type Sums = [i64; AXES];

/// Stage that a round runs on all blocks.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Stage {
    /// All stages, one block after the other.
    Pipeline,
    /// Generate or read the block, and cache it.
    Make,
    /// Shift the cached block.
    Shift,
    /// Sum the cached block.
    Average,
}

/// Creates the leader of a run in rounds.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    let params: DataflowParams = parameters(&request.parameters)?;
    Ok(Box::new(Steps { params, request: request.clone(), resources, last: None }))
}

/// Creates a worker, which runs the tasks of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, resources: Resources) -> Result<Box<dyn Worker>> {
    let params: DataflowParams = parameters(&request.parameters)?;
    let in_memory = resources.keeps && params.keep == Keep::Memory;
    let cache = BlockCache::new((!in_memory).then_some(request.scratch.as_path()));
    Ok(Box::new(Work { params, request: request.clone(), buffer: Vec::new(), cache }))
}

struct Steps {
    params: DataflowParams,
    request: Request,
    resources: Resources,
    /// Stage of the last round, and the plan made at the start.
    last: Option<(Stage, Plan, Amounts)>,
}

/// Data volumes of a run.
#[derive(Clone, Copy)]
struct Amounts {
    /// Bytes of the numbers in files.
    files: u64,
    /// Bytes of all vectors in memory.
    memory: u64,
}

impl Leader for Steps {
    fn next(
        &mut self,
        results: Vec<Vec<u8>>,
        response: &mut Response,
        _: &Progress,
    ) -> Result<Option<Round>> {
        let (stage, plan, amounts) = match self.last {
            None => self.open()?,
            Some((Stage::Make, plan, amounts)) => (Stage::Shift, plan, amounts),
            Some((Stage::Shift, plan, amounts)) => (Stage::Average, plan, amounts),
            Some((Stage::Pipeline | Stage::Average, plan, _)) => {
                self.write(&plan, &results, response)?;
                return Ok(None);
            }
        };
        self.last = Some((stage, plan, amounts));
        self.round(stage, &plan, amounts).map(Some)
    }
}

impl Steps {
    fn open(&self) -> Result<(Stage, Plan, Amounts)> {
        let source = VectorSource::open(&self.request.inputs, self.request.seed)?;
        let plan = self.params.check(source.vectors())?;
        let amounts = Amounts { files: source.file_bytes(), memory: plan.bytes(plan.vectors) };
        let at_once = plan.blocks.min(self.resources.slots as u64);
        match (plan.keep, self.resources.keeps) {
            (Keep::Memory, true) => {
                self.require(
                    amounts.memory,
                    "keeping all blocks in memory (--keep disk does not)",
                )?;
            }
            (Keep::Memory | Keep::Disk, _) => {
                // Unshifted and shifted blocks are stored together, because a task may run twice.
                let size_bytes = 2 * amounts.memory;
                scratch::check_space(&self.request.scratch, size_bytes, "keeping all blocks")?;
            }
            (Keep::None, _) if plan.stores() => {
                let size_bytes = at_once * plan.bytes(plan.vectors_of(0));
                let purpose = "a block of every task at once (smaller --block-vectors take less)";
                self.require(size_bytes, purpose)?;
            }
            (Keep::None, _) => {}
        }
        let first = if plan.keep == Keep::None { Stage::Pipeline } else { Stage::Make };
        Ok((first, plan, amounts))
    }

    /// Refuses what does not fit in the memory of all workers.
    fn require(&self, size_bytes: u64, purpose: &str) -> Result<()> {
        let limit_bytes = self.resources.all_bytes();
        if size_bytes > limit_bytes {
            return Err(budget::refusal(size_bytes, limit_bytes, purpose));
        }
        Ok(())
    }

    fn round(&self, stage: Stage, plan: &Plan, amounts: Amounts) -> Result<Round> {
        let made = if self.request.inputs.is_empty() { "generate" } else { "load" };
        let (phase, bytes, ceiling) = match stage {
            Stage::Pipeline => ("pipeline", amounts.files, None),
            Stage::Make => (made, amounts.files + amounts.memory, None),
            Stage::Shift => ("shift", 2 * amounts.memory, Some("memory_copy_bytes_per_s")),
            Stage::Average => ("average", amounts.memory, Some("memory_read_bytes_per_s")),
        };
        let encode_range = |blocks: Range<u64>| wire::to_bytes(&(blocks.start, blocks.end));
        let tasks = self.resources.task_count(plan.blocks);
        Ok(Round {
            phase: phase.to_owned(),
            bytes,
            rows: plan.vectors,
            ceiling,
            shared: wire::to_bytes(&stage)?,
            tasks: rounds::shares(plan.blocks, tasks).map(encode_range).collect::<Result<_>>()?,
            ..Round::default()
        })
    }

    /// Writes the table from the results of the tasks, in task order.
    fn write(&self, plan: &Plan, results: &[Vec<u8>], response: &mut Response) -> Result<()> {
        let mut sums: Vec<Sums> = Vec::with_capacity(plan.blocks as usize);
        for result in results {
            sums.extend(wire::from_bytes::<Vec<Sums>>(result)?);
        }
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

struct Work {
    params: DataflowParams,
    request: Request,
    /// A block that is not cached, or a piece of it.
    buffer: Vec<f64>,
    cache: BlockCache,
}

impl Worker for Work {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let stage: Stage = wire::from_bytes(task.shared)?;
        let (first, end): (u64, u64) = wire::from_bytes(task.input)?;
        let source = VectorSource::open(&self.request.inputs, self.request.seed)?;
        let plan = self.params.check(source.vectors())?;
        if end > plan.blocks {
            return Err(Error::input("dataflow", format!("there are only {} blocks", plan.blocks)));
        }
        let mut sums = Vec::new();
        for block in first..end {
            sums.extend(self.block(stage, block, &plan, &source)?);
            progress.advance(plan.vectors_of(block))?;
        }
        Ok((wire::to_bytes(&sums)?, Blocks::default()))
    }
}

impl Work {
    /// Runs a stage of a block; returns its sums if the stage computes them.
    fn block(
        &mut self,
        stage: Stage,
        block: u64,
        plan: &Plan,
        source: &VectorSource,
    ) -> Result<Option<Sums>> {
        let sum = match stage {
            Stage::Pipeline => source.pipeline(block, plan, &mut self.buffer)?,
            Stage::Make => return self.cache.make(block, plan, source).map(|()| None),
            Stage::Shift => return self.cache.shift(block, plan, source).map(|()| None),
            Stage::Average => self.cache.sum(block, plan, source)?,
        };
        Ok(Some(kernel::units(sum)))
    }
}
