//! Runs the dataflow on threads and writes its table. Every phase ends when its last thread does.

use std::sync::atomic::{AtomicI64, Ordering};

use cuesta_core::budget::{Budget, Lease};
use cuesta_core::job::{Context, Request, Response, timed};
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_core::{Error, Result};
use cuesta_input::parallel;
use cuesta_input::scratch;

use crate::kernel::{self, STREAM, Vector};
use crate::params::{DataflowParams, Keep, Plan, Stages};
use crate::stored::{self, Blocks};
use crate::table;

/// Vectors of one task of the fused loop: some tens of microseconds.
const PIECE_VECTORS: u64 = 1 << 16;
/// Bytes of a stored vector.
pub const VECTOR_BYTES: u64 = 24;

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(request: &Request, progress: &Progress) -> Result<Response> {
    let budget = Budget::new(request.memory_bytes);
    let context = Context { request, budget: &budget, progress };
    let plan = context.parameters::<DataflowParams>()?.check()?;
    if let Some(path) = request.inputs.first() {
        let text = format!("{} was given, but vectors are generated; leave it out", path.display());
        return Err(Error::input("dataflow", text));
    }
    let dataflow = Dataflow {
        context: &context,
        plan,
        stream: Stream::new(request.seed, STREAM),
        sums: Sums::new(plan.blocks, &budget)?,
    };
    let mut response = Response::default();
    match plan.stages {
        Stages::Fused => dataflow.fused(&mut response)?,
        Stages::Separate => dataflow.separate(&mut response)?,
    }
    timed(&mut response, "reduce", || {
        let bytes = dataflow.reduce()?;
        Ok(((), bytes, plan.blocks))
    })?;
    response.counts.insert("blocks", plan.blocks);
    response.counts.insert("vectors", plan.blocks * plan.block_vectors);
    Ok(response)
}

/// The sums of the blocks, in units, added to by any thread.
pub(crate) struct Sums<'a> {
    blocks: Vec<[AtomicI64; 3]>,
    _lease: Lease<'a>,
}

impl<'a> Sums<'a> {
    fn new(blocks: u64, budget: &'a Budget) -> Result<Self> {
        let lease = budget.take(blocks * VECTOR_BYTES, "the sums of the blocks")?;
        Ok(Self { blocks: (0..blocks).map(|_| Default::default()).collect(), _lease: lease })
    }

    pub(crate) fn add(&self, block: u64, sum: Vector) {
        for (total, more) in self.blocks[block as usize].iter().zip(kernel::units(sum)) {
            total.fetch_add(more, Ordering::Relaxed);
        }
    }
}

pub(crate) struct Dataflow<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) plan: Plan,
    pub(crate) stream: Stream,
    pub(crate) sums: Sums<'a>,
}

impl Dataflow<'_> {
    fn vectors(&self) -> u64 {
        self.plan.blocks * self.plan.block_vectors
    }

    fn bytes(&self) -> u64 {
        self.vectors() * VECTOR_BYTES
    }

    /// Number of the first vector of a block.
    pub(crate) fn first(&self, block: u64) -> u64 {
        block * self.plan.block_vectors
    }

    /// Calls `work` for each block on all threads.
    fn each_block(&self, work: impl Fn(u64) -> Result<()> + Sync) -> Result<()> {
        let progress = self.context.progress;
        let task = |_: &mut (), task: usize| {
            work(task as u64)?;
            progress.advance(self.plan.block_vectors)
        };
        let threads = self.context.request.threads;
        parallel::run(threads, self.plan.blocks as usize, || (), task, |_| {}).map(|_| ())
    }

    fn fused(&self, response: &mut Response) -> Result<()> {
        let plan = &self.plan;
        let pieces = plan.block_vectors.div_ceil(PIECE_VECTORS);
        self.context.progress.expect(self.vectors());
        let task = |_: &mut (), task: usize| {
            let (block, piece) = (task as u64 / pieces, task as u64 % pieces);
            let start = piece * PIECE_VECTORS;
            let vectors = PIECE_VECTORS.min(plan.block_vectors - start);
            let first = self.first(block) + start;
            self.sums.add(block, kernel::fused(&self.stream, first, vectors, plan.shift));
            self.context.progress.advance(vectors)
        };
        timed(response, "pipeline", || {
            let tasks = (plan.blocks * pieces) as usize;
            parallel::run(self.context.request.threads, tasks, || (), task, |_| {})?;
            Ok(((), 0, self.vectors()))
        })
    }

    fn separate(&self, response: &mut Response) -> Result<()> {
        match self.plan.keep {
            Keep::None => self.pipeline(response),
            Keep::Memory => {
                let purpose = "keeping all blocks in memory (--keep disk does not)";
                let _lease = self.context.budget.take(self.bytes(), purpose)?;
                let size = 3 * self.plan.block_vectors as usize;
                let mut values = vec![0.0; size * self.plan.blocks as usize];
                self.staged(&stored::InMemory::new(&mut values, size), response)
            }
            Keep::Disk => {
                let folder = &self.context.request.scratch;
                scratch::check_space(folder, self.bytes(), "keeping all blocks on disk")?;
                self.staged(&stored::OnDisk::new(folder), response)
            }
        }
    }

    /// Each block through all stages, in one buffer a thread.
    fn pipeline(&self, response: &mut Response) -> Result<()> {
        let size = 3 * self.plan.block_vectors as usize;
        let threads = self.context.request.threads.min(self.plan.blocks as usize);
        let buffers_bytes = threads as u64 * self.plan.block_vectors * VECTOR_BYTES;
        let _lease = self.context.budget.take(buffers_bytes, "a block a thread")?;
        self.context.progress.expect(self.vectors());
        let task = |buffer: &mut Vec<f64>, task: usize| {
            buffer.resize(size, 0.0);
            kernel::generate(&self.stream, self.first(task as u64), buffer);
            kernel::shift(buffer, self.plan.shift);
            self.sums.add(task as u64, kernel::sum(buffer));
            self.context.progress.advance(self.plan.block_vectors)
        };
        timed(response, "pipeline", || {
            parallel::run(threads, self.plan.blocks as usize, Vec::new, task, |_| {})?;
            Ok(((), 0, self.vectors()))
        })
    }

    /// Every stage over all blocks before the next one.
    fn staged(&self, blocks: &impl Blocks, response: &mut Response) -> Result<()> {
        self.context.progress.expect(3 * self.vectors());
        let size = 3 * self.plan.block_vectors as usize;
        timed(response, "generate", || {
            self.each_block(|block| {
                blocks.put(block, size, |start, values| {
                    let first = self.first(block) + start as u64 / 3;
                    kernel::generate(&self.stream, first, values);
                })
            })?;
            Ok(((), self.bytes(), self.vectors()))
        })?;
        timed(response, "shift", || {
            self.each_block(|block| {
                blocks.change(block, size, |values| kernel::shift(values, self.plan.shift))
            })?;
            Ok(((), 2 * self.bytes(), self.vectors()))
        })?;
        timed(response, "average", || {
            self.each_block(|block| {
                blocks.read(block, size, |values| self.sums.add(block, kernel::sum(values)))
            })?;
            Ok(((), self.bytes(), self.vectors()))
        })
    }

    /// The mean of all blocks, and the table. Returns its bytes.
    fn reduce(&self) -> Result<u64> {
        let mut text = table::HEADER.join("\t");
        text.push('\n');
        let mut total = [0i128; 3];
        for (index, block) in self.sums.blocks.iter().enumerate() {
            let sums = block.each_ref().map(|sum| i128::from(sum.load(Ordering::Relaxed)));
            for (total, sum) in total.iter_mut().zip(sums) {
                *total += sum;
            }
            table::append(&mut text, &index.to_string(), self.plan.block_vectors, sums);
        }
        table::append(&mut text, table::ALL, self.vectors(), total);
        let path = self.context.request.output.join(table::AVERAGES_FILE);
        std::fs::write(&path, &text)
            .map_err(|cause| Error::system("answer", "writing", &path, &cause))?;
        Ok(text.len() as u64)
    }
}
