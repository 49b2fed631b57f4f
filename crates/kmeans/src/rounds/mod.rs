//! Workload in rounds. Each task has a range of the points; only integer sums and centres travel,
//! so neither the tasks nor their order can change a centre.

mod assign;
mod read;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::{Error, Result};
use cuesta_input::points::PointFiles;
use cuesta_runtime::operation::{Operation, OperationWorker, RoundPlan, TaskContext};
use cuesta_runtime::rounds::{self, Resources, Worker};
use cuesta_runtime::sequential::{self, Rounds};

use crate::amounts::Pass;
use crate::kernel::SquareSum;
use crate::leader::Leader;
use crate::params::{KMeansParams, PointCaching};
use crate::share::{self, Share};
use crate::store::StoreSettings;
use assign::Assign;
use read::ReadPoints;

/// Minimum size of the points of a task, in bytes.
const TASK_BYTES_MIN: u64 = 4 << 20;
/// Iterations with a separate phase.
const PHASES_MAX: usize = 100;
const READ: &str = "file_read_warm_bytes_per_s";
/// Operations for each byte above which a pass is bound by arithmetic instead of memory.
const BALANCE_FLOPS: u64 = 8;

/// Creates the leader of a run in rounds.
///
/// # Errors
/// Errors of the parameters; the inputs are opened before the first round.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn rounds::Leader>> {
    let params: KMeansParams = parameters(&request.parameters)?;
    let request = request.clone();
    Ok(sequential::leader(move |rounds| {
        let (progress, mut response) = (rounds.progress(), Response::default());
        let mut leader = Leader::open(&request, params, progress, &mut response)?;
        timed(&mut response, "seed", || {
            Ok((leader.seed(&request, progress)?, 0, leader.params.clusters as u64))
        })?;
        let tasks = Tasks::new(rounds, &leader, resources);
        tasks.cluster(&mut leader, &mut response)?;
        response.counts.extend([
            ("points", leader.points.count),
            ("dimensions", leader.points.dimensions as u64),
            ("clusters", leader.params.clusters as u64),
            ("iterations", leader.iterations() as u64),
        ]);
        Ok(response)
    }))
}

/// Creates a worker, which runs the tasks of a run; it holds points in memory if `resources` send
/// it the same tasks again.
///
/// # Errors
/// Errors of the parameters.
pub fn work(request: &Request, resources: Resources) -> Result<Box<dyn Worker>> {
    let params: KMeansParams = parameters(&request.parameters)?;
    let keeps = resources.keeps && params.keep == PointCaching::All;
    let shares = Shares { params, keeps, by_task: BTreeMap::new() };
    let worker = OperationWorker::new(request, shares);
    Ok(worker.with::<ReadPoints>().with::<Assign>().boxed())
}

/// The tasks of all rounds, each of which has a range of the points.
struct Tasks<'a> {
    rounds: &'a Rounds,
    ranges: Vec<Range<u64>>,
    points: u64,
    /// Bytes of all points.
    bytes: u64,
    /// Operations of an iteration.
    flops: u64,
}

impl<'a> Tasks<'a> {
    fn new(rounds: &'a Rounds, leader: &Leader, resources: Resources) -> Self {
        let (points, dimensions) = (leader.points.count, leader.points.dimensions as u64);
        let element = leader.params.dtype.of(leader.points.element());
        let bytes = points * dimensions * element.size_bytes() as u64;
        let tasks = match resources.task_bytes {
            Some(task_bytes) => bytes.div_ceil(task_bytes).max(1),
            None => resources.task_count(bytes / TASK_BYTES_MIN),
        };
        let flops = 2 * points * dimensions * leader.params.clusters as u64;
        Self { rounds, ranges: rounds::shares(points, tasks).collect(), points, bytes, flops }
    }

    /// Runs all rounds.
    fn cluster(&self, leader: &mut Leader, response: &mut Response) -> Result<()> {
        let arrays = leader.arrays.clone();
        let plan = self.plan(ReadPoints { arrays: arrays.clone() });
        let read = self.run(RoundPlan { ceiling: Some(READ), ..plan }, response)?;
        let grid = leader.grid(&read.largest)?;
        let assign = |leader: &Leader, is_last| {
            let (largest, centres) = (read.largest.clone(), leader.centres.clone());
            self.plan(Assign { arrays: arrays.clone(), largest, centres, is_last })
        };
        loop {
            let (phase, ceiling) = self.phase(leader.iterations() + 1, read.cached);
            let (plan, flops) = (assign(leader, false), self.flops);
            let sums = self.run(RoundPlan { phase, ceiling, flops, ..plan }, response)?;
            if leader.update(&grid, &sums.coordinates, &sums.sizes) {
                break;
            }
        }
        leader.create()?;
        let plan = assign(leader, true);
        let sums = self.run(RoundPlan { bytes: 4 * self.points, ..plan }, response)?;
        let inertias = sums.units.into_iter().zip(sums.rests);
        let inertias: Vec<_> = inertias.map(|(units, rests)| SquareSum { units, rests }).collect();
        leader.write(&grid, &sums.sizes, &inertias)?;
        Ok(())
    }

    /// Returns the phase of an iteration, and the ceiling that bounds it.
    fn phase(&self, number: usize, cached: bool) -> (String, Option<&'static str>) {
        let (phase, ceiling) = match cached {
            true if self.flops > BALANCE_FLOPS * self.bytes => {
                (format!("iteration {number}"), "fma_f32_flops_per_s")
            }
            true => (format!("iteration {number}"), "memory_read_bytes_per_s"),
            false => (format!("streamed iteration {number}"), READ),
        };
        let is_late = number > PHASES_MAX;
        (if is_late { "later iterations".to_owned() } else { phase }, Some(ceiling))
    }

    fn plan<O: Operation<Input = Range<u64>>>(&self, operation: O) -> RoundPlan<O> {
        let plan = RoundPlan::new(operation, self.ranges.clone());
        RoundPlan { bytes: self.bytes, rows: self.points, ..plan }
    }

    fn run<O: Operation>(&self, plan: RoundPlan<O>, response: &mut Response) -> Result<O::Output> {
        let combined = self.rounds.combined(plan, response)?;
        combined.ok_or_else(|| Error::defect("kmeans", "a round without tasks"))
    }
}

/// Points of the tasks of a worker.
pub struct Shares {
    params: KMeansParams,
    /// Whether it holds the points of its tasks.
    keeps: bool,
    /// Points that were read, by the number of their task.
    by_task: BTreeMap<usize, Box<dyn Share>>,
}

/// Opens the points of a task, or takes those of the last round, and does `work` with all points
/// and this share.
fn with_share<T>(
    arrays: &[PathBuf],
    range: Range<u64>,
    context: TaskContext<'_, Shares>,
    work: impl FnOnce(&PointFiles, &mut dyn Share) -> Result<T>,
) -> Result<T> {
    let TaskContext { number, request, state, .. } = context;
    let points = Arc::new(PointFiles::open(arrays)?);
    let mut share = match state.by_task.remove(&number) {
        Some(cached) => cached,
        None if range.end > points.count => {
            let text = format!("there are only {} points now; run again", points.count);
            return Err(Error::input("kmeans", text));
        }
        None => {
            let job = StoreSettings {
                clusters: state.params.clusters,
                threads: request.threads,
                budget: &request.budget,
                keep: state.keeps,
                pass: Pass::default(),
            };
            share::share(&points, range, state.params.dtype, &job)?
        }
    };
    let result = work(&points, share.as_mut())?;
    if state.keeps {
        state.by_task.insert(number, share);
    }
    Ok(result)
}
