//! Workload in rounds. Each task has a range of the points; only integer sums and centres travel,
//! so neither the tasks nor their order can change a centre.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::points::PointFiles;
use cuesta_runtime::rounds::{Blocks, Resources, Round, Task, Worker};
use cuesta_runtime::{rounds, wire};
use serde::{Deserialize, Serialize};

use crate::amounts::Pass;
use crate::kernel::{Grid, SquareSum, Sums};
use crate::leader::Leader;
use crate::params::{KMeansParams, PointCaching};
use crate::share::{self, Share};
use crate::store::StoreSettings;

/// Minimum size of the points of a task, in bytes.
const TASK_BYTES_MIN: u64 = 4 << 20;
/// Iterations with a separate phase.
const PHASES_MAX: usize = 100;
const READ: &str = "file_read_warm_bytes_per_s";
/// Operations for each byte above which a pass is bound by arithmetic instead of memory.
const BALANCE_FLOPS: u64 = 8;

/// Input of all tasks of a round.
#[derive(Serialize, Deserialize)]
struct RoundInput {
    step: Step,
    /// Files of the points.
    arrays: Vec<PathBuf>,
    /// Largest coordinates of all points; empty before they are computed.
    largest: Vec<f64>,
    centres: Vec<f64>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Step {
    /// Find the largest coordinates.
    Read,
    /// Assign each point to its nearest centre, and sum the points of each cluster.
    Assign,
    /// Assign as before, and write the clusters.
    Finish,
}

/// Result of a task.
#[derive(Serialize, Deserialize)]
enum TaskResult {
    /// Largest coordinates, and whether the points stay in memory.
    Largest(Vec<f64>, bool),
    /// Sums of the coordinates, sizes, and inertias of the clusters in units and fine units.
    Sums([Vec<i64>; 4]),
}

/// Creates the leader of a run in rounds.
///
/// # Errors
/// Errors of the parameters; the inputs are opened by the first step.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn rounds::Leader>> {
    let params: KMeansParams = parameters(&request.parameters)?;
    let steps = Steps { params: Some(params), request: request.clone(), resources, state: None };
    Ok(Box::new(steps))
}

/// Creates a worker, which runs the tasks of a run; it holds points in memory if `resources` send
/// it the same tasks again.
///
/// # Errors
/// Errors of the parameters.
pub fn work(request: &Request, resources: Resources) -> Result<Box<dyn Worker>> {
    let params: KMeansParams = parameters(&request.parameters)?;
    let keeps = resources.keeps && params.keep == PointCaching::All;
    Ok(Box::new(Work { request: request.clone(), params, keeps, shares: BTreeMap::new() }))
}

struct Steps {
    params: Option<KMeansParams>,
    request: Request,
    resources: Resources,
    state: Option<State>,
}

/// State of a run whose points are open.
struct State {
    leader: Leader,
    tasks: Vec<Vec<u8>>,
    number_bytes: u64,
    step: Step,
    largest: Vec<f64>,
    grid: Option<Grid>,
    cached: bool,
}

impl rounds::Leader for Steps {
    fn next(
        &mut self,
        results: Vec<Vec<u8>>,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Option<Round>> {
        if let Some(params) = self.params.take() {
            let state = State::open(&self.request, params, self.resources, response, progress)?;
            return self.state.insert(state).round().map(Some);
        }
        let state = self.state.as_mut().ok_or_else(unexpected)?;
        let Some(result) = results.first() else { return Err(unexpected()) };
        state.take(wire::from_bytes(result)?, response)
    }
}

impl State {
    fn open(
        request: &Request,
        params: KMeansParams,
        resources: Resources,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Self> {
        let mut leader = Leader::open(request, params, progress, response)?;
        timed(response, "seed", || {
            Ok((leader.seed(request, progress)?, 0, leader.params.clusters as u64))
        })?;
        let points = &leader.points;
        let number_bytes = leader.params.dtype.of(points.element()).size_bytes() as u64;
        let size_bytes = points.count * points.dimensions as u64 * number_bytes;
        let tasks = match resources.task_bytes {
            Some(bytes) => size_bytes.div_ceil(bytes).max(1),
            None => resources.task_count(size_bytes / TASK_BYTES_MIN),
        };
        let encode_share =
            |share: Range<u64>| wire::to_bytes(&(share.start, share.end - share.start));
        Ok(Self {
            tasks: rounds::shares(points.count, tasks).map(encode_share).collect::<Result<_>>()?,
            leader,
            number_bytes,
            step: Step::Read,
            largest: Vec::new(),
            grid: None,
            cached: false,
        })
    }

    /// Returns the next round.
    fn round(&self) -> Result<Round> {
        let leader = &self.leader;
        let (points, dimensions) = (leader.points.count, leader.points.dimensions as u64);
        let bytes = points * dimensions * self.number_bytes;
        let flops = 2 * points * dimensions * leader.params.clusters as u64;
        let input = RoundInput {
            step: self.step,
            arrays: leader.arrays.clone(),
            largest: self.largest.clone(),
            centres: leader.centres.clone(),
        };
        let number = leader.iterations() + 1;
        let (phase, ceiling) = match (self.step, self.cached) {
            (Step::Read, _) => ("read".to_owned(), Some(READ)),
            (Step::Finish, _) => ("assign".to_owned(), None),
            (Step::Assign, true) if flops > BALANCE_FLOPS * bytes => {
                (format!("iteration {number}"), Some("fma_f32_flops_per_s"))
            }
            (Step::Assign, true) => {
                (format!("iteration {number}"), Some("memory_read_bytes_per_s"))
            }
            (Step::Assign, false) => (format!("streamed iteration {number}"), Some(READ)),
        };
        let is_late = self.step == Step::Assign && number > PHASES_MAX;
        Ok(Round {
            phase: if is_late { "later iterations".to_owned() } else { phase },
            bytes: if self.step == Step::Finish { 4 * points } else { bytes },
            rows: points,
            flops: if self.step == Step::Assign { flops } else { 0 },
            ceiling,
            shared: wire::to_bytes(&input)?,
            tasks: self.tasks.clone(),
            parts: 0,
            combines: true,
            ..Round::default()
        })
    }

    /// Processes the result of the last round; returns the next round.
    fn take(&mut self, result: TaskResult, response: &mut Response) -> Result<Option<Round>> {
        match (result, self.step, &self.grid) {
            (TaskResult::Largest(largest, cached), Step::Read, _) => {
                self.grid = Some(self.leader.grid(&largest));
                (self.largest, self.cached, self.step) = (largest, cached, Step::Assign);
            }
            (TaskResult::Sums([coordinates, sizes, ..]), Step::Assign, Some(grid)) => {
                if self.leader.update(grid, &coordinates, &sizes) {
                    self.step = Step::Finish;
                    self.leader.create()?;
                }
            }
            (TaskResult::Sums([_, sizes, units, rests]), Step::Finish, Some(grid)) => {
                let inertias = units.into_iter().zip(rests);
                let inertias: Vec<_> =
                    inertias.map(|(units, rests)| SquareSum { units, rests }).collect();
                self.leader.write(grid, &sizes, &inertias)?;
                response.counts.extend([
                    ("points", self.leader.points.count),
                    ("dimensions", self.leader.points.dimensions as u64),
                    ("clusters", self.leader.params.clusters as u64),
                    ("iterations", self.leader.iterations() as u64),
                ]);
                return Ok(None);
            }
            _ => return Err(unexpected()),
        }
        self.round().map(Some)
    }
}

struct Work {
    request: Request,
    params: KMeansParams,
    keeps: bool,
    /// Points that were read, by the number of their task.
    shares: BTreeMap<usize, Box<dyn Share>>,
}

impl Work {
    fn open(&self, points: &Arc<PointFiles>, input: &[u8]) -> Result<Box<dyn Share>> {
        let (first, count): (u64, u64) = wire::from_bytes(input)?;
        if first.checked_add(count).is_none_or(|end| end > points.count) {
            let text = format!("there are only {} points now; run again", points.count);
            return Err(Error::input("kmeans", text));
        }
        let job = StoreSettings {
            clusters: self.params.clusters,
            threads: self.request.threads,
            budget: &self.request.budget,
            keep: self.keeps,
            pass: Pass::default(),
        };
        share::share(points, first..first + count, self.params.dtype, &job)
    }
}

impl Worker for Work {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let input: RoundInput = wire::from_bytes(task.shared)?;
        let points = Arc::new(PointFiles::open(&input.arrays)?);
        let mut share = match self.shares.remove(&task.number) {
            Some(cached) => cached,
            None => self.open(&points, task.input)?,
        };
        let grid = || Grid::new(points.count, &input.largest);
        let result = match input.step {
            Step::Read => {
                let cached = share.keeps() || share.count() == 0;
                TaskResult::Largest(share.read(progress)?, cached)
            }
            Step::Assign => sums(share.assign(&input.centres, &grid(), progress)?),
            Step::Finish => {
                let folder = &self.request.output;
                sums(share.finish(&input.centres, &grid(), folder, progress)?)
            }
        };
        if self.keeps {
            self.shares.insert(task.number, share);
        }
        Ok((wire::to_bytes(&result)?, Blocks::default()))
    }

    fn combine(&self, _: &[u8], first: Vec<u8>, second: &[u8]) -> Result<Vec<u8>> {
        let combined = match (wire::from_bytes(&first)?, wire::from_bytes(second)?) {
            (
                TaskResult::Largest(first, first_cached),
                TaskResult::Largest(second, second_cached),
            ) => {
                let largest = first.iter().zip(&second).map(|(a, b)| a.max(*b)).collect();
                TaskResult::Largest(largest, first_cached && second_cached)
            }
            (TaskResult::Sums(mut first), TaskResult::Sums(second)) => {
                for (first, second) in first.iter_mut().zip(&second) {
                    first.iter_mut().zip(second).for_each(|(a, b)| *a = a.wrapping_add(*b));
                }
                TaskResult::Sums(first)
            }
            _ => return Err(unexpected()),
        };
        wire::to_bytes(&combined)
    }
}

fn sums(sums: &Sums) -> TaskResult {
    let (units, rests) = sums.inertias.iter().map(|sum| (sum.units, sum.rests)).unzip();
    TaskResult::Sums([sums.coordinates.clone(), sums.sizes.clone(), units, rests])
}

fn unexpected() -> Error {
    Error::defect("kmeans", "a round found what it was not asked for")
}
