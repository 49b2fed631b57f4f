//! Stages of the blocks of a task.

use std::ops::Range;

use cuesta_core::{Error, Result};
use cuesta_runtime::operation::{Operation, TaskContext, TaskOutcome, TaskResult};
use serde::{Deserialize, Serialize};

use crate::block_cache::BlockCache;
use crate::kernel::{self, AXES};
use crate::params::{DataflowParams, Plan};
use crate::source::VectorSource;

/// Blocks of a task.
pub type BlockRange = Range<u64>;

/// Sums of the coordinates of a block, in units.
pub type Sums = [i64; AXES];

/// Blocks of a worker.
pub struct WorkerBlocks {
    /// Parameters of the run.
    pub params: DataflowParams,
    /// A block that is not cached, or a piece of it.
    pub buffer: Vec<f64>,
    /// Cached blocks.
    pub cache: BlockCache,
}

/// Does `stage` with each block of a task; returns its results.
fn each<T>(
    blocks: BlockRange,
    context: TaskContext<'_, WorkerBlocks>,
    stage: impl Fn(&mut WorkerBlocks, u64, &Plan, &VectorSource) -> Result<T>,
) -> Result<TaskResult<Vec<T>>> {
    let TaskContext { request, progress, state, .. } = context;
    let source = VectorSource::open(&request.inputs, request.seed)?;
    let plan = state.params.check(source.vectors())?;
    if blocks.end > plan.blocks {
        return Err(Error::input("dataflow", format!("there are only {} blocks", plan.blocks)));
    }
    let mut results = Vec::new();
    for block in blocks {
        results.push(stage(state, block, &plan, &source)?);
        progress.advance(plan.vectors_of(block))?;
    }
    Ok(TaskResult::Output(results))
}

/// Runs all stages, one block after the other.
#[derive(Serialize, Deserialize)]
pub struct RunPipeline;

impl Operation for RunPipeline {
    const NAME: &'static str = "pipeline";
    type State = WorkerBlocks;
    type Input = BlockRange;
    type Output = Vec<Sums>;

    fn task(self, blocks: BlockRange, context: TaskContext<'_, WorkerBlocks>) -> TaskOutcome<Self> {
        each(blocks, context, |state, block, plan, source| {
            source.pipeline(block, plan, &mut state.buffer).map(kernel::units)
        })
    }
}

/// Generates or reads blocks, and caches them.
#[derive(Serialize, Deserialize)]
pub struct MakeBlocks;

impl Operation for MakeBlocks {
    const NAME: &'static str = "make";
    type State = WorkerBlocks;
    type Input = BlockRange;
    type Output = Vec<()>;

    fn task(self, blocks: BlockRange, context: TaskContext<'_, WorkerBlocks>) -> TaskOutcome<Self> {
        each(blocks, context, |state, block, plan, source| state.cache.make(block, plan, source))
    }
}

/// Shifts cached blocks.
#[derive(Serialize, Deserialize)]
pub struct ShiftBlocks;

impl Operation for ShiftBlocks {
    const NAME: &'static str = "shift";
    type State = WorkerBlocks;
    type Input = BlockRange;
    type Output = Vec<()>;

    fn task(self, blocks: BlockRange, context: TaskContext<'_, WorkerBlocks>) -> TaskOutcome<Self> {
        each(blocks, context, |state, block, plan, source| state.cache.shift(block, plan, source))
    }
}

/// Sums cached blocks.
#[derive(Serialize, Deserialize)]
pub struct AverageBlocks;

impl Operation for AverageBlocks {
    const NAME: &'static str = "average";
    type State = WorkerBlocks;
    type Input = BlockRange;
    type Output = Vec<Sums>;

    fn task(self, blocks: BlockRange, context: TaskContext<'_, WorkerBlocks>) -> TaskOutcome<Self> {
        each(blocks, context, |state, block, plan, source| {
            state.cache.sum(block, plan, source).map(kernel::units)
        })
    }
}
