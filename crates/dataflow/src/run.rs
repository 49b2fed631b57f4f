//! Runs the dataflow on threads and writes its table. Every phase ends when its last thread does.

use std::sync::atomic::{AtomicI64, Ordering};

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::job::{Context, Request, Response, timed};
use cuesta_core::progress::Progress;
use cuesta_runtime::parallel;
use cuesta_runtime::scratch;

use crate::kernel::{self, AXES, Vector};
use crate::params::{DataflowParams, Keep, Plan, Stages, VECTOR_BYTES};
use crate::reduce;
use crate::source::{FUSED_VECTORS, VectorSource};
use crate::stored::{self, BlockStore};
use crate::table;

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(request: &Request, progress: &Progress) -> Result<Response> {
    let context = Context::new(request, progress);
    let source = VectorSource::open(&request.inputs, request.seed)?;
    let plan = context.parameters::<DataflowParams>()?.check(source.vectors())?;
    let sums = BlockSums::new(plan.blocks, context.budget)?;
    let dataflow = Dataflow { context: &context, plan, source, sums };
    let mut response = Response::default();
    match plan.stages {
        Stages::Fused => dataflow.fused(&mut response)?,
        Stages::Separate => dataflow.separate(&mut response)?,
    }
    let total = timed(&mut response, "reduce", || {
        let total = reduce::total(plan.blocks, request.threads, |block| dataflow.sums.of(block))?;
        Ok((total, plan.blocks * VECTOR_BYTES, plan.blocks))
    })?;
    timed(&mut response, "write", || {
        let sums = |block| dataflow.sums.of(block);
        Ok(((), table::write(&request.output, &plan, sums, total)?, plan.blocks))
    })?;
    response.counts.insert("blocks", plan.blocks);
    response.counts.insert("vectors", plan.vectors);
    Ok(response)
}

/// Sums of the blocks, in units; any thread may add to them.
pub(crate) struct BlockSums<'a> {
    blocks: Vec<[AtomicI64; AXES]>,
    _lease: Lease<'a>,
}

impl<'a> BlockSums<'a> {
    fn new(blocks: u64, budget: &'a Budget) -> Result<Self> {
        let lease = budget.take(blocks * VECTOR_BYTES, "the sums of the blocks")?;
        Ok(Self { blocks: (0..blocks).map(|_| Default::default()).collect(), _lease: lease })
    }

    pub(crate) fn add(&self, block: u64, sum: Vector) {
        for (total, more) in self.blocks[block as usize].iter().zip(kernel::units(sum)) {
            total.fetch_add(more, Ordering::Relaxed);
        }
    }

    fn of(&self, block: u64) -> [i64; AXES] {
        self.blocks[block as usize].each_ref().map(|sum| sum.load(Ordering::Relaxed))
    }
}

pub(crate) struct Dataflow<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) plan: Plan,
    pub(crate) source: VectorSource,
    pub(crate) sums: BlockSums<'a>,
}

impl Dataflow<'_> {
    /// Calls `work` for each block on all threads.
    fn each_block(&self, work: impl Fn(u64) -> Result<()> + Sync) -> Result<()> {
        let task = |_: &mut (), task: usize| {
            work(task as u64)?;
            self.context.progress.advance(self.plan.vectors_of(task as u64))
        };
        let threads = self.context.request.threads;
        parallel::run(threads, self.plan.blocks as usize, || (), task, |_| {}).map(|_| ())
    }

    fn fused(&self, response: &mut Response) -> Result<()> {
        let plan = &self.plan;
        let pieces = plan.block_vectors.div_ceil(FUSED_VECTORS);
        let threads = self.context.request.threads;
        let buffers_bytes = threads as u64 * FUSED_VECTORS.min(plan.vectors) * VECTOR_BYTES;
        let _lease = self.context.budget.take(buffers_bytes, "a piece a thread")?;
        self.context.progress.expect(plan.vectors);
        let task = |buffer: &mut Vec<f64>, task: usize| {
            let (block, start) = (task as u64 / pieces, task as u64 % pieces * FUSED_VECTORS);
            let vectors = FUSED_VECTORS.min(plan.vectors_of(block).saturating_sub(start));
            let first = plan.first(block) + start;
            self.sums.add(block, self.source.fused(first, vectors, plan, buffer)?);
            self.context.progress.advance(vectors)
        };
        timed(response, "pipeline", || {
            let tasks = (plan.blocks * pieces) as usize;
            parallel::run(threads, tasks, Vec::new, task, |_| {})?;
            Ok(((), self.source.file_bytes(), plan.vectors))
        })
    }

    fn separate(&self, response: &mut Response) -> Result<()> {
        match self.plan.keep {
            Keep::None => self.pipeline(response),
            Keep::Memory => {
                let purpose = "keeping all blocks in memory (--keep disk does not)";
                let _lease =
                    self.context.budget.take(self.plan.bytes(self.plan.vectors), purpose)?;
                let size = AXES * self.plan.block_vectors as usize;
                let mut values = vec![0.0; AXES * self.plan.vectors as usize];
                self.staged(&stored::InMemory::new(&mut values, size), response)
            }
            Keep::Disk => {
                let folder = &self.context.request.scratch;
                scratch::check_space(
                    folder,
                    self.plan.bytes(self.plan.vectors),
                    "keeping all blocks on disk",
                )?;
                self.staged(&stored::OnDisk::new(folder), response)
            }
        }
    }

    /// Runs each block through all stages, in one buffer for each thread.
    fn pipeline(&self, response: &mut Response) -> Result<()> {
        let plan = &self.plan;
        let threads = self.context.request.threads.min(plan.blocks as usize);
        let buffers_bytes = threads as u64 * plan.vectors_of(0) * VECTOR_BYTES;
        let _lease = self.context.budget.take(buffers_bytes, "a block a thread")?;
        self.context.progress.expect(plan.vectors);
        let task = |buffer: &mut Vec<f64>, task: usize| {
            let block = task as u64;
            self.sums.add(block, self.source.separate(block, plan, buffer)?);
            self.context.progress.advance(plan.vectors_of(block))
        };
        timed(response, "pipeline", || {
            parallel::run(threads, plan.blocks as usize, Vec::new, task, |_| {})?;
            Ok(((), self.source.file_bytes(), plan.vectors))
        })
    }

    /// Runs each stage over all blocks before the next stage.
    fn staged(&self, blocks: &impl BlockStore, response: &mut Response) -> Result<()> {
        let plan = &self.plan;
        self.context.progress.expect(3 * plan.vectors);
        let drawn = self.source.vectors().is_none();
        timed(response, if drawn { "generate" } else { "load" }, || {
            self.each_block(|block| {
                blocks.put(block, plan.values_of(block), |start, values| {
                    let first = plan.first(block) + (start / AXES) as u64;
                    self.source.fill(first, values, plan.limit())
                })
            })?;
            Ok(((), self.source.file_bytes() + self.plan.bytes(self.plan.vectors), plan.vectors))
        })?;
        timed(response, "shift", || {
            self.each_block(|block| {
                blocks.change(block, plan.values_of(block), |values| {
                    kernel::shift(values, plan.shift)
                })
            })?;
            Ok(((), 2 * self.plan.bytes(self.plan.vectors), plan.vectors))
        })?;
        timed(response, "average", || {
            self.each_block(|block| {
                let add = |values: &[f64]| self.sums.add(block, kernel::sum(values));
                blocks.read(block, plan.values_of(block), add)
            })?;
            Ok(((), self.plan.bytes(self.plan.vectors), plan.vectors))
        })
    }
}
