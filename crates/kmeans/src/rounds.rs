//! The workload in rounds. Every task has a range of the points; only whole-number sums and centres
//! travel, so that neither the tasks nor their order can change a centre.

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
use crate::kernel::{Grid, Sums};
use crate::leader::Leader;
use crate::params::{KMeansParams, KeptPoints};
use crate::share::{self, Share};
use crate::store::StoreSettings;

/// Least bytes of the points of a task.
const TASK_BYTES_MIN: u64 = 4 << 20;
/// Iterations that have a phase of their own.
const PHASES_MAX: usize = 100;
const READ: &str = "file_read_warm_bytes_per_s";
/// Operations for each byte above which arithmetic bounds a pass, and not memory.
const BALANCE_FLOPS: u64 = 8;

/// What all tasks of a round are told.
#[derive(Serialize, Deserialize)]
struct Asked {
    what: What,
    /// The files of the points.
    arrays: Vec<PathBuf>,
    /// The largest coordinates of all points; none before they are known.
    largest: Vec<f64>,
    centres: Vec<f64>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
enum What {
    /// Find the largest coordinates.
    Read,
    /// Sum the points of the nearest centres.
    Assign,
    /// That, and write the clusters.
    Finish,
}

/// What tasks find.
#[derive(Serialize, Deserialize)]
enum Found {
    /// The largest coordinates, and whether the points stay in memory.
    Largest(Vec<f64>, bool),
    /// Sums of the coordinates, sizes and inertias of the clusters.
    Sums([Vec<i64>; 3]),
}

/// What leads a run in rounds.
///
/// # Errors
/// Those of its parameters; none of its inputs, which are opened by the first step.
pub fn lead(request: &Request, resources: Resources) -> Result<Box<dyn rounds::Leader>> {
    let params: KMeansParams = parameters(&request.parameters)?;
    let steps = Steps { params: Some(params), request: request.clone(), resources, state: None };
    Ok(Box::new(steps))
}

/// What does the tasks of a run; it keeps points in memory where `resources` let it find them again.
///
/// # Errors
/// Those of its parameters.
pub fn work(request: &Request, resources: Resources) -> Result<Box<dyn Worker>> {
    let params: KMeansParams = parameters(&request.parameters)?;
    let keeps = resources.keeps && params.keep == KeptPoints::All;
    Ok(Box::new(Work { request: request.clone(), params, keeps, shares: BTreeMap::new() }))
}

struct Steps {
    params: Option<KMeansParams>,
    request: Request,
    resources: Resources,
    state: Option<State>,
}

/// What is known once the points are open.
struct State {
    leader: Leader,
    tasks: Vec<Vec<u8>>,
    number_bytes: u64,
    what: What,
    largest: Vec<f64>,
    grid: Option<Grid>,
    kept: bool,
}

impl rounds::Leader for Steps {
    fn next(
        &mut self,
        found: Vec<Vec<u8>>,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Option<Round>> {
        if let Some(params) = self.params.take() {
            let state = State::open(&self.request, params, self.resources, response, progress)?;
            return self.state.insert(state).round().map(Some);
        }
        let state = self.state.as_mut().ok_or_else(unexpected)?;
        let Some(found) = found.first() else { return Err(unexpected()) };
        state.take(wire::from_bytes(found)?, response)
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
        let own = |share: Range<u64>| wire::to_bytes(&(share.start, share.end - share.start));
        Ok(Self {
            tasks: rounds::shares(points.count, tasks).map(own).collect::<Result<_>>()?,
            leader,
            number_bytes,
            what: What::Read,
            largest: Vec::new(),
            grid: None,
            kept: false,
        })
    }

    /// The round that is due.
    fn round(&self) -> Result<Round> {
        let leader = &self.leader;
        let (points, dimensions) = (leader.points.count, leader.points.dimensions as u64);
        let bytes = points * dimensions * self.number_bytes;
        let flops = 2 * points * dimensions * leader.params.clusters as u64;
        let asked = Asked {
            what: self.what,
            arrays: leader.arrays.clone(),
            largest: self.largest.clone(),
            centres: leader.centres.clone(),
        };
        let number = leader.iterations() + 1;
        let (phase, ceiling) = match (self.what, self.kept) {
            (What::Read, _) => ("read".to_owned(), Some(READ)),
            (What::Finish, _) => ("assign".to_owned(), None),
            (What::Assign, true) if flops > BALANCE_FLOPS * bytes => {
                (format!("iteration {number}"), Some("fma_f32_flops_per_s"))
            }
            (What::Assign, true) => {
                (format!("iteration {number}"), Some("memory_read_bytes_per_s"))
            }
            (What::Assign, false) => (format!("streamed iteration {number}"), Some(READ)),
        };
        let is_late = self.what == What::Assign && number > PHASES_MAX;
        Ok(Round {
            phase: if is_late { "later iterations".to_owned() } else { phase },
            bytes: if self.what == What::Finish { 4 * points } else { bytes },
            rows: points,
            flops: if self.what == What::Assign { flops } else { 0 },
            ceiling,
            shared: wire::to_bytes(&asked)?,
            tasks: self.tasks.clone(),
            parts: 0,
            combines: true,
            ..Round::default()
        })
    }

    /// Goes on with what was found in the last round.
    fn take(&mut self, found: Found, response: &mut Response) -> Result<Option<Round>> {
        match (found, self.what, &self.grid) {
            (Found::Largest(largest, kept), What::Read, _) => {
                self.grid = Some(self.leader.grid(&largest));
                (self.largest, self.kept, self.what) = (largest, kept, What::Assign);
            }
            (Found::Sums([coordinates, sizes, _]), What::Assign, Some(grid)) => {
                if self.leader.update(grid, &coordinates, &sizes) {
                    self.what = What::Finish;
                    self.leader.create()?;
                }
            }
            (Found::Sums([_, sizes, inertias]), What::Finish, Some(grid)) => {
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
    fn open(&self, points: &Arc<PointFiles>, own: &[u8]) -> Result<Box<dyn Share>> {
        let (first, count): (u64, u64) = wire::from_bytes(own)?;
        if first.checked_add(count).is_none_or(|end| end > points.count) {
            let text = format!("there are only {} points now; run again", points.count);
            return Err(Error::input("kmeans", text));
        }
        let job = StoreSettings {
            clusters: self.params.clusters,
            threads: self.request.threads,
            memory_bytes: self.request.memory_bytes,
            keep: self.keeps,
            pass: Pass::default(),
        };
        share::share(points, first..first + count, self.params.dtype, &job)
    }
}

impl Worker for Work {
    fn task(&mut self, task: Task<'_>, progress: &Progress) -> Result<(Vec<u8>, Blocks)> {
        let asked: Asked = wire::from_bytes(task.shared)?;
        let points = Arc::new(PointFiles::open(&asked.arrays)?);
        let mut share = match self.shares.remove(&task.number) {
            Some(kept) => kept,
            None => self.open(&points, task.input)?,
        };
        let grid = || Grid::new(points.count, &asked.largest);
        let found = match asked.what {
            What::Read => {
                let kept = share.keeps() || share.count() == 0;
                Found::Largest(share.read(progress)?, kept)
            }
            What::Assign => sums(share.assign(&asked.centres, &grid(), progress)?),
            What::Finish => {
                let folder = &self.request.output;
                sums(share.finish(&asked.centres, &grid(), folder, progress)?)
            }
        };
        if self.keeps {
            self.shares.insert(task.number, share);
        }
        Ok((wire::to_bytes(&found)?, Blocks::default()))
    }

    fn combine(&self, _: &[u8], one: Vec<u8>, other: &[u8]) -> Result<Vec<u8>> {
        let both = match (wire::from_bytes(&one)?, wire::from_bytes(other)?) {
            (Found::Largest(one, kept), Found::Largest(other, others_kept)) => {
                let largest = one.iter().zip(&other).map(|(a, b)| a.max(*b)).collect();
                Found::Largest(largest, kept && others_kept)
            }
            (Found::Sums(mut one), Found::Sums(other)) => {
                for (one, other) in one.iter_mut().zip(&other) {
                    one.iter_mut().zip(other).for_each(|(a, b)| *a = a.wrapping_add(*b));
                }
                Found::Sums(one)
            }
            _ => return Err(unexpected()),
        };
        wire::to_bytes(&both)
    }
}

fn sums(sums: &Sums) -> Found {
    Found::Sums([sums.coordinates.clone(), sums.sizes.clone(), sums.inertias.clone()])
}

fn unexpected() -> Error {
    Error::defect("kmeans", "a round found what it was not asked for")
}
