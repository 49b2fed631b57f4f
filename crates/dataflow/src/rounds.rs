//! The workload in rounds: every task has a range of the blocks, and only sums travel. Blocks that
//! are kept are in the memory of the worker that has them in all rounds, else in files of scratch,
//! which all workers share.

use std::ops::Range;

use cuesta_core::budget::Budget;
use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_runtime::rounds::{self, Blocks, Leader, Resources, Round, Task, Worker};
use cuesta_runtime::{scratch, wire};
use serde::{Deserialize, Serialize};

use crate::kept::BlockCache;
use crate::kernel::{self, AXES};
use crate::params::{DataflowParams, Keep, Plan};
use crate::source::VectorSource;
use crate::{reduce, table};

/// Sums of the coordinates of a block, in units.
type Sums = [i64; AXES];

/// What a round does with every block.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Stage {
    /// Everything, one block after the other.
    Pipeline,
    /// Generate or read it, and keep it.
    Make,
    /// Shift what was kept.
    Shift,
    /// Sum what was kept.
    Average,
}

/// What leads a run in rounds.
///
/// # Errors
/// `Input` naming the option.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn Leader>> {
    let params: DataflowParams = parameters(&request.parameters)?;
    Ok(Box::new(Steps { params, request: request.clone(), resources, last: None }))
}

/// What does the tasks of a run.
///
/// # Errors
/// `Input` naming the option.
pub fn work(request: &Request, resources: Resources) -> Result<Box<dyn Worker>> {
    let params: DataflowParams = parameters(&request.parameters)?;
    let in_memory = resources.keeps && params.keep == Keep::Memory;
    let kept = BlockCache::new((!in_memory).then_some(request.scratch.as_path()));
    Ok(Box::new(Work { params, request: request.clone(), room: Vec::new(), kept }))
}

struct Steps {
    params: DataflowParams,
    request: Request,
    resources: Resources,
    /// The stage of the last round, and what was planned at the start.
    last: Option<(Stage, Plan, Amounts)>,
}

/// What a run goes through.
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
        found: Vec<Vec<u8>>,
        response: &mut Response,
        _: &Progress,
    ) -> Result<Option<Round>> {
        let (stage, plan, amounts) = match self.last {
            None => self.open()?,
            Some((Stage::Make, plan, amounts)) => (Stage::Shift, plan, amounts),
            Some((Stage::Shift, plan, amounts)) => (Stage::Average, plan, amounts),
            Some((Stage::Pipeline | Stage::Average, plan, _)) => {
                self.write(&plan, &found, response)?;
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
        let budget = Budget::new(self.resources.all_bytes());
        let at_once = plan.blocks.min(self.resources.slots as u64);
        match (plan.keep, self.resources.keeps) {
            (Keep::Memory, true) => {
                budget
                    .take(amounts.memory, "keeping all blocks in memory (--keep disk does not)")?;
            }
            (Keep::Memory | Keep::Disk, _) => {
                // Shifted blocks are beside those that were made: a task may run twice.
                let size_bytes = 2 * amounts.memory;
                scratch::check_space(&self.request.scratch, size_bytes, "keeping all blocks")?;
            }
            (Keep::None, _) if plan.stores() => {
                let size_bytes = at_once * plan.bytes(plan.vectors_of(0));
                let purpose = "a block of every task at once (smaller --block-vectors take less)";
                budget.take(size_bytes, purpose)?;
            }
            (Keep::None, _) => {}
        }
        let first = if plan.keep == Keep::None { Stage::Pipeline } else { Stage::Make };
        Ok((first, plan, amounts))
    }

    fn round(&self, stage: Stage, plan: &Plan, amounts: Amounts) -> Result<Round> {
        let made = if self.request.inputs.is_empty() { "generate" } else { "load" };
        let (phase, bytes, ceiling) = match stage {
            Stage::Pipeline => ("pipeline", amounts.files, None),
            Stage::Make => (made, amounts.files + amounts.memory, None),
            Stage::Shift => ("shift", 2 * amounts.memory, Some("memory_copy_bytes_per_s")),
            Stage::Average => ("average", amounts.memory, Some("memory_read_bytes_per_s")),
        };
        let own = |blocks: Range<u64>| wire::to_bytes(&(blocks.start, blocks.end));
        let tasks = self.resources.task_count(plan.blocks);
        Ok(Round {
            phase: phase.to_owned(),
            bytes,
            rows: plan.vectors,
            ceiling,
            shared: wire::to_bytes(&stage)?,
            tasks: rounds::shares(plan.blocks, tasks).map(own).collect::<Result<_>>()?,
            ..Round::default()
        })
    }

    /// Writes the table from the sums that tasks found, in their order.
    fn write(&self, plan: &Plan, found: &[Vec<u8>], response: &mut Response) -> Result<()> {
        let mut sums: Vec<Sums> = Vec::with_capacity(plan.blocks as usize);
        for some in found {
            sums.extend(wire::from_bytes::<Vec<Sums>>(some)?);
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
    /// A block that is not kept, or a piece of it.
    room: Vec<f64>,
    kept: BlockCache,
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
    /// A stage of a block; its sums where they are known then.
    fn block(
        &mut self,
        stage: Stage,
        block: u64,
        plan: &Plan,
        source: &VectorSource,
    ) -> Result<Option<Sums>> {
        let sum = match stage {
            Stage::Pipeline => source.pipeline(block, plan, &mut self.room)?,
            Stage::Make => return self.kept.make(block, plan, source).map(|()| None),
            Stage::Shift => return self.kept.shift(block, plan, source).map(|()| None),
            Stage::Average => self.kept.sum(block, plan, source)?,
        };
        Ok(Some(kernel::units(sum)))
    }
}
