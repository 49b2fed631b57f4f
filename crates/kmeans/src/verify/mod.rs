//! Verifies an answer: repeats all iterations, by bounds of distances and the definition.
//!
//! The kernel computes all products of points and centres in each iteration; this module computes
//! squares of distances by the definition, and only for points whose nearest centre may have
//! changed according to bounds that follow the centres ([`bounds`]). Sums are integers as in the
//! definition. So all numbers of the answer are known to the last bit, and the files are compared
//! byte by byte: no wrong answer passes.

mod bounds;
mod centres;
mod pass;
mod quick;
mod sample;
mod tables;

use cuesta_core::cpu;
use cuesta_core::digest::{COLUMNS, Digest, Tag};
use cuesta_core::job::{Request, Response, Verdict, VerificationLevel, parameters};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::npy::Element;
use cuesta_input::points::{Coordinate, PointFiles};

use crate::amounts::{self, Pass};
use crate::answer::{self, Assignments, Iteration};
use crate::kernel::{Grid, SquareSum};
use crate::params::KMeansParams;
use crate::{leader, seeding};
use bounds::{Bounds, NONE, Scale};
use centres::{GroupedCentres, square, with_centres};
use pass::{Passes, TaskPoints};
use quick::{Lanes, POINTS};
use tables::first_difference;

const METHOD: &str = "distances by the definition wherever bounds leave a doubt, all sums anew";
/// Minimum number of clusters for which the distance to the point's centre is computed before all
/// others.
const TIGHTEN_MIN: usize = 128;
/// 1.5 * 2^52: added to an integer below 2^51, it leaves the integer in the low bits.
const ROUNDING_BIAS: f64 = 6_755_399_441_055_744.0;
/// Files of an answer.
const FILES: [&str; 3] = [answer::CENTRES_FILE, answer::ASSIGNMENTS_FILE, answer::ITERATIONS_FILE];

/// Verifies the answer in `request.output`.
///
/// [`VerificationLevel::Sample`] reads the tables, counts the clusters of all points, and checks
/// for a part of the points in [`cuesta_core::job::SAMPLE_GROUP_SIZE`] that their clusters are
/// those of the nearest of the answer's centres; it does not repeat the iterations, so a wrong
/// centre that is the nearest of the right points, a wrong inertia and a wrong shift pass.
///
/// # Errors
/// `Input` if a file of the answer cannot be read; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    request.require_inputs()?;
    let params: KMeansParams = parameters(&request.parameters)?;
    params.check()?;
    let amount = amounts::announce(request, &params, progress)?;
    let arrays = leader::arrays(request, &params, progress, &mut Response::default())?;
    let points = PointFiles::open(&arrays)?;
    params.check_points(points.count)?;
    let pass = Pass { amount, points: points.count };
    let job = Job { request, params: &params, points: &points, pass, progress };
    let single = params.dtype.of(points.element()) == Element::F32;
    let verdict = match (request.verify, single) {
        (VerificationLevel::Full, true) => job.full::<f32>(),
        (VerificationLevel::Full, false) => job.full::<f64>(),
        (VerificationLevel::Sample, true) => sample::verify::<f32>(&job),
        (VerificationLevel::Sample, false) => sample::verify::<f64>(&job),
    };
    let mut verdict = verdict?.covers(&FILES);
    verdict.counts.insert("points", points.count);
    verdict.counts.insert("clusters", params.clusters as u64);
    Ok(verdict)
}

/// Context of a verification.
struct Job<'a> {
    request: &'a Request,
    params: &'a KMeansParams,
    points: &'a PointFiles,
    pass: Pass,
    progress: &'a Progress,
}

/// Sums and digests of a thread, and its buffers.
struct WorkerState {
    coordinates: Vec<i64>,
    sizes: Vec<i64>,
    inertias: Vec<SquareSum>,
    right: Digest,
    actual: Digest,
    point: Vec<f64>,
    lanes: Vec<Lanes>,
    doubtful: Vec<u32>,
    clusters: Vec<u32>,
    bytes: Vec<u8>,
}

impl WorkerState {
    fn new(clusters: usize, dimensions: usize) -> Self {
        Self {
            coordinates: vec![0; clusters * dimensions],
            sizes: vec![0; clusters],
            inertias: vec![SquareSum::default(); clusters],
            right: Digest::default(),
            actual: Digest::default(),
            point: vec![0.0; dimensions],
            lanes: vec![[0.0; POINTS]; dimensions],
            doubtful: Vec::new(),
            clusters: Vec::new(),
            bytes: Vec::new(),
        }
    }

    fn size_bytes(clusters: usize, dimensions: usize) -> u64 {
        8 * (clusters as u64 + 1) * (dimensions as u64 + 3) + 128 * dimensions as u64
    }

    fn merge(&mut self, state: &Self) {
        let add = |to: &mut [i64], from: &[i64]| {
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        };
        add(&mut self.coordinates, &state.coordinates);
        add(&mut self.sizes, &state.sizes);
        self.inertias.iter_mut().zip(&state.inertias).for_each(|(to, from)| to.add(*from));
        self.right.merge(&state.right);
        self.actual.merge(&state.actual);
    }

    /// Moves the point from the cluster `from`, unless it has none, to `to`.
    #[inline(always)]
    fn change(&mut self, grid: &Grid, from: u32, to: u32) {
        let dimensions = self.point.len();
        for (cluster, sign) in [(from, -1), (to, 1)] {
            if cluster == NONE {
                continue;
            }
            let sums = &mut self.coordinates[cluster as usize * dimensions..][..dimensions];
            for ((sum, x), scale) in sums.iter_mut().zip(&self.point).zip(&grid.scales) {
                *sum += sign * round_to_integer(x * scale);
            }
            self.sizes[cluster as usize] += sign;
        }
    }
}

/// Returns the nearest integer of a double below 2^51, half to even.
#[inline(always)]
fn round_to_integer(value: f64) -> i64 {
    // The sum is exact, so this is faster than a cast, which also handles infinities.
    (value.round_ties_even() + ROUNDING_BIAS).to_bits() as i64 - ROUNDING_BIAS.to_bits() as i64
}

impl Job<'_> {
    fn full<T: Coordinate>(&self) -> Result<Verdict> {
        let (clusters, dimensions) = (self.params.clusters, self.points.dimensions);
        let count = self.points.count;
        let seeds = (self.request.seed, self.request.scratch.as_path());
        let progress = (self.progress, self.pass.amount);
        let mut rows = seeding::centres(self.points, self.params, seeds, progress)?;
        let state_bytes = 2 * WorkerState::size_bytes(clusters, dimensions);
        let limits = (self.request.threads, self.request.budget.limit_bytes(), state_bytes);
        let progress = (self.progress, self.pass);
        let passes = Passes::<T>::new(self.points, clusters, limits, progress);
        let largest = passes.largest()?;
        let grid = Grid::new(count, &largest);
        let scale = Scale::new(&with_centres(&largest, &rows));
        let (mut before, mut total) = (None::<Vec<f64>>, WorkerState::new(clusters, dimensions));
        let mut done: Vec<Iteration> = Vec::new();
        let all = self.params.iterations as usize;
        while done.len() < all {
            let centres = GroupedCentres::new(rows, dimensions, before.as_deref(), scale);
            self.pass(&passes, (&centres, &grid), None, &mut total)?;
            rows = centres.rows;
            before = Some(rows.clone());
            let shift = grid.update(&mut rows, &total.coordinates, &total.sizes);
            done.push(Iteration { shift, sizes: total.sizes.clone() });
            if shift <= self.params.tolerance {
                break;
            }
        }
        self.progress.advance(self.pass.amount.saturating_mul((all - done.len()) as u64))?;
        let file = Assignments::open(&self.request.output, count)?;
        let centres = GroupedCentres::new(rows, dimensions, before.as_deref(), scale);
        self.pass(&passes, (&centres, &grid), Some(&file), &mut total)?;
        let mut verdict = Verdict::new(total.actual, total.right, METHOD);
        let of = |cluster: usize| (total.sizes[cluster], grid.inertia(total.inertias[cluster]));
        let text = answer::centres(&centres.rows, dimensions, of);
        self.compare(answer::CENTRES_FILE, &text, &mut verdict)?;
        self.compare(answer::ITERATIONS_FILE, &answer::iterations(&done), &mut verdict)?;
        verdict.counts.insert("iterations", done.len() as u64);
        Ok(verdict)
    }

    /// Assigns all points to the nearest of `centres`; `total` gets the sums of the clusters, and
    /// with a file of assignments the digests and inertias.
    fn pass<T: Coordinate>(
        &self,
        passes: &Passes<'_, T>,
        (centres, grid): (&GroupedCentres, &Grid),
        file: Option<&Assignments>,
        total: &mut WorkerState,
    ) -> Result<()> {
        let empty_state = || WorkerState::new(centres.count(), self.points.dimensions);
        let work = |state: &mut WorkerState, mut piece: TaskPoints<'_, T>| {
            assign(state, &mut piece, centres, grid)?;
            match file {
                Some(file) => finish(state, &mut piece, (centres, grid), file),
                None => Ok(()),
            }
        };
        let all = passes.each(empty_state, work)?;
        if !passes.keeps_bounds() {
            *total = empty_state();
        }
        all.iter().for_each(|state| total.merge(state));
        Ok(())
    }

    /// Compares a table of the answer with the right text.
    fn compare(&self, name: &'static str, right: &str, verdict: &mut Verdict) -> Result<()> {
        let path = self.request.output.join(name);
        let actual = std::fs::read(&path)
            .map_err(|cause| Error::system("verify", "reading", &path, &cause))?;
        if let Some(line) = first_difference(&actual, right.as_bytes()) {
            verdict.require(false, &format!("line {line} of {name} is wrong"));
        }
        Ok(())
    }
}

/// Assigns the points of a task, and adds the changes to the sums.
fn assign<T: Coordinate>(
    state: &mut WorkerState,
    piece: &mut TaskPoints<'_, T>,
    centres: &GroupedCentres,
    grid: &Grid,
) -> Result<()> {
    let mut doubtful = std::mem::take(&mut state.doubtful);
    let bounds = &mut *piece.bounds;
    cpu::fastest(
        #[inline(always)]
        || bounds.carry(&centres.carries, &mut doubtful),
    );
    if !doubtful.is_empty() {
        let rows = piece.rows.get()?;
        let mut settle = Settle { state, bounds, rows, centres, grid };
        if centres.count() >= TIGHTEN_MIN {
            settle.tighten(&mut doubtful);
        }
        if has_fused() {
            cpu::fastest(
                #[inline(always)]
                || settle.all::<true>(&doubtful),
            );
        } else {
            settle.all::<false>(&doubtful);
        }
    }
    state.doubtful = doubtful;
    Ok(())
}

/// Whether this processor has a fused multiply-add instruction: without it, `mul_add` is a call.
fn has_fused() -> bool {
    #[cfg(target_arch = "x86_64")]
    return cpu::has_avx2();
    #[cfg(not(target_arch = "x86_64"))]
    cfg!(target_arch = "aarch64")
}

/// Search of the nearest centres of points in doubt.
struct Settle<'a, T> {
    state: &'a mut WorkerState,
    bounds: &'a mut Bounds,
    rows: &'a [T],
    centres: &'a GroupedCentres,
    grid: &'a Grid,
}

impl<T: Coordinate> Settle<'_, T> {
    #[inline(always)]
    fn row(&self, index: u32) -> &[T] {
        let dimensions = self.state.point.len();
        &self.rows[index as usize * dimensions..][..dimensions]
    }

    /// Retains the points whose recomputed distance does not prove that their cluster is right.
    fn tighten(&mut self, doubtful: &mut Vec<u32>) {
        doubtful.retain(|&index| {
            let cluster = self.bounds.clusters[index as usize];
            cluster == NONE || {
                let square = square(self.row(index), self.centres.row(cluster));
                let upper = self.centres.scale.above(square);
                !self.bounds.tighten(index as usize, upper, &self.centres.carries)
            }
        });
    }

    #[inline(always)]
    fn all<const FUSED: bool>(&mut self, doubtful: &[u32]) {
        let quick = &self.centres.quick;
        for batch in doubtful.chunks(POINTS) {
            for (lane, &index) in batch.iter().enumerate() {
                let dimensions = self.state.point.len();
                let row = &self.rows[index as usize * dimensions..][..dimensions];
                quick.put(row.iter().map(|x| x.to_f64()), lane, &mut self.state.lanes);
            }
            let guesses = quick.guess::<FUSED>(&self.state.lanes);
            for (lane, &index) in batch.iter().enumerate() {
                if guesses.is_sure(lane) {
                    let limits = (guesses.upper[lane], guesses.lower[lane]);
                    self.set(index, guesses.clusters[lane], limits);
                } else {
                    self.exact(index);
                }
            }
        }
    }

    /// Decides by the definition.
    #[inline(never)]
    fn exact(&mut self, index: u32) {
        self.widen(index);
        let nearest = cpu::fastest(
            #[inline(always)]
            || self.centres.nearest(&self.state.point),
        );
        self.set(index, nearest.cluster, self.centres.limits(&nearest));
    }

    #[inline(always)]
    fn set(&mut self, index: u32, cluster: u32, limits: (f32, f32)) {
        let old_cluster = self.bounds.clusters[index as usize];
        self.bounds.set(index as usize, cluster, limits);
        if cluster != old_cluster {
            self.widen(index);
            self.state.change(self.grid, old_cluster, cluster);
        }
    }

    #[inline(always)]
    fn widen(&mut self, index: u32) {
        let dimensions = self.state.point.len();
        let row = &self.rows[index as usize * dimensions..][..dimensions];
        self.state.point.iter_mut().zip(row).for_each(|(to, x)| *to = x.to_f64());
    }
}

/// Adds the inertias of the points of a task, and compares their clusters with those of a file.
fn finish<T: Coordinate>(
    state: &mut WorkerState,
    piece: &mut TaskPoints<'_, T>,
    (centres, grid): (&GroupedCentres, &Grid),
    file: &Assignments,
) -> Result<()> {
    let clusters = &piece.bounds.clusters;
    let rows = piece.rows.get()?;
    let dimensions = state.point.len();
    cpu::fastest(
        #[inline(always)]
        || {
            for (&cluster, row) in clusters.iter().zip(rows.chunks_exact(dimensions)) {
                let square = square(row, centres.row(cluster));
                let (scaled, sum) =
                    (square * grid.square_scale, &mut state.inertias[cluster as usize]);
                sum.units += round_to_integer(scaled);
                sum.rests +=
                    round_to_integer((scaled - scaled.round_ties_even()) * grid.rest_scale);
            }
        },
    );
    state.clusters.resize(piece.count, 0);
    file.get(piece.first, &mut state.clusters, &mut state.bytes)?;
    let mut actual = Digest::default();
    digest(&mut actual, piece.first, &state.clusters);
    state.actual.merge(&actual);
    if state.clusters == *clusters {
        state.right.merge(&actual);
    } else {
        digest(&mut state.right, piece.first, clusters);
    }
    Ok(())
}

/// Adds the clusters of points from number `first` on.
fn digest(digest: &mut Digest, first: u64, clusters: &[u32]) {
    let (chunks, rest) = clusters.as_chunks::<COLUMNS>();
    let mut point = first;
    for chunk in chunks {
        let numbers = std::array::from_fn(|index| point + index as u64);
        digest.add_columns(Tag::KMeans, &[numbers, chunk.map(u64::from)]);
        point += COLUMNS as u64;
    }
    for (&cluster, point) in rest.iter().zip(point..) {
        digest.add(Tag::KMeans, &[point, u64::from(cluster)]);
    }
}
