//! Runs the workload: opens the points, iterates, writes the answer.

use std::path::PathBuf;

use cuesta_core::budget::Budget;
use cuesta_core::job::{Context, Phase, Request, Response, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::npy::Element;
use cuesta_input::points::{self, Points};
use cuesta_input::scratch;

use crate::answer::{self, Assignments, Iteration};
use crate::kernel::simd::Level;
use crate::kernel::{self, Centres, Grid, Real, Sums};
use crate::params::{KMeansParams, Precision};
use crate::seeding;
use crate::store::{Chunk, Store};

/// Iterations that have a phase of their own; the rest share one.
const PHASES_MAX: usize = 100;

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(request: &Request, progress: &Progress) -> Result<Response> {
    request.require_inputs()?;
    let budget = Budget::new(request.memory_bytes);
    let context = Context { request, budget: &budget, progress };
    let params: KMeansParams = context.parameters()?;
    params.check()?;
    let mut response = Response::default();
    let points = open(request, &params, progress, Some(&mut response))?;
    params.check_points(points.count)?;
    match params.dtype.of(points.element()) {
        Element::F32 => iterate::<f32>(&context, &params, &points, &mut response)?,
        Element::F64 => iterate::<f64>(&context, &params, &points, &mut response)?,
    }
    Ok(response)
}

/// Opens the points; text is brought into the scratch folder as numbers first.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn open(
    request: &Request,
    params: &KMeansParams,
    progress: &Progress,
    response: Option<&mut Response>,
) -> Result<Points> {
    let files = points::list(&request.inputs)?;
    let mut arrays: Vec<PathBuf> = Vec::new();
    let mut own = Response::default();
    let response = response.unwrap_or(&mut own);
    for (number, file) in files.into_iter().enumerate() {
        if !points::is_text(&file)? {
            arrays.push(file);
            continue;
        }
        let output = request.scratch.join(format!("points-{number}.npy"));
        let size = std::fs::metadata(&file)
            .map_err(|cause| Error::system("input.points", "reading", &file, &cause))?
            .len();
        // A number and what separates it take two bytes of text at least.
        scratch::check_space(&request.scratch, 4 * size, "the text as numbers")?;
        timed(response, "convert", || {
            let bytes = if params.dtype == Precision::Float32 {
                points::convert::<f32>(&[file], &output, request.threads, progress)?
            } else {
                points::convert::<f64>(&[file], &output, request.threads, progress)?
            };
            Ok(((), bytes, 0))
        })?;
        arrays.push(output);
    }
    Points::open(&arrays)
}

fn iterate<T: Real>(
    context: &Context<'_>,
    params: &KMeansParams,
    points: &Points,
    response: &mut Response,
) -> Result<()> {
    let Context { request, budget, progress } = context;
    let beside = 2 * Sums::size_bytes(params.clusters, points.dimensions);
    let work = (request.threads, *progress);
    let store = Store::<T>::new(points, budget, work, beside)?;
    let level = Level::best();
    let largest =
        timed(response, "read", || Ok((store.load(level)?, store.size_bytes(), points.count)))?;
    let first = timed(response, "seed", || {
        let seeds = (request.seed, request.scratch.as_path());
        Ok((seeding::centres(points, params, seeds, progress)?, 0, params.clusters as u64))
    })?;
    let grid = Grid::new(points.count, &largest);
    let job = Job { context, params, points, store, level, grid };
    let (centres, total, iterations) = job.iterations(first, response)?;
    timed(response, "assign", || {
        Ok(((), job.answer(&centres, total, &iterations)?, points.count))
    })?;
    response.counts.insert("points", points.count);
    response.counts.insert("dimensions", points.dimensions as u64);
    response.counts.insert("clusters", params.clusters as u64);
    response.counts.insert("iterations", iterations.len() as u64);
    Ok(())
}

struct Job<'a, T> {
    context: &'a Context<'a>,
    params: &'a KMeansParams,
    points: &'a Points,
    store: Store<'a, T>,
    level: Level,
    grid: Grid,
}

impl<T: Real> Job<'_, T> {
    fn nothing(&self) -> Sums {
        Sums::new(self.params.clusters, self.points.dimensions)
    }

    /// Iterates until no centre moves further than the tolerance, or often enough. Returns the
    /// centres, the sums of the clusters as the chunks know them, and what each iteration did.
    fn iterations(
        &self,
        first: Vec<f64>,
        response: &mut Response,
    ) -> Result<(Centres<T>, Sums, Vec<Iteration>)> {
        let origin = middle(&first, self.points.dimensions);
        let mut centres = Centres::new(first, &origin);
        let mut total = self.nothing();
        let mut done: Vec<Iteration> = Vec::new();
        let kind = if self.store.keeps() { "iteration" } else { "streamed iteration" };
        while done.len() < self.params.iterations as usize {
            let name = format!("{kind} {}", done.len() + 1);
            let shift = timed(response, name, || {
                let mut all = self.store.each(
                    || self.nothing(),
                    |sums, chunk| {
                        self.assign(&centres, sums, chunk);
                        Ok(())
                    },
                )?;
                if !self.store.keeps() {
                    total = self.nothing();
                }
                all.drain(..).for_each(|one| total.merge(&one));
                let mut rows = std::mem::take(&mut centres.rows);
                let shift = self.grid.update(&mut rows, &total.coordinates, &total.sizes);
                centres = Centres::new(rows, &origin);
                Ok((shift, self.store.size_bytes(), self.points.count))
            })?;
            self.count_flops(response);
            done.push(Iteration { shift, sizes: total.sizes.clone() });
            if shift <= self.params.tolerance {
                break;
            }
        }
        Ok((centres, total, done))
    }

    /// Says what the last phase computed; iterations past the first hundred share a phase.
    fn count_flops(&self, response: &mut Response) {
        let sizes = (2 * self.params.clusters * self.points.dimensions) as u64;
        let is_iteration = |phase: &Phase| phase.name.contains("iteration");
        let many = response.phases.iter().filter(|phase| is_iteration(phase)).count() > PHASES_MAX;
        if let Some(phase) = response.phases.last_mut() {
            phase.flops = sizes * self.points.count;
        }
        if many
            && let Some(last) = response.phases.pop()
            && let Some(before) = response.phases.last_mut()
        {
            before.name = "later iterations".into();
            before.seconds += last.seconds;
            before.bytes += last.bytes;
            before.rows += last.rows;
            before.flops += last.flops;
        }
    }

    fn assign(&self, centres: &Centres<T>, sums: &mut Sums, chunk: &mut Chunk<T>) {
        let points = kernel::Points { strips: &chunk.strips, found: &mut chunk.found };
        kernel::assign(self.level, points, centres, &self.grid, sums);
    }

    /// Assigns every point to the nearest of the last centres and writes the answer files;
    /// returns their bytes.
    fn answer(&self, centres: &Centres<T>, mut total: Sums, done: &[Iteration]) -> Result<u64> {
        let folder = &self.context.request.output;
        let size_bytes = 4 * self.points.count;
        scratch::check_space(folder, size_bytes, "the clusters of the points")?;
        let file = Assignments::create(folder, self.points.count)?;
        let all = self.store.each(
            || (self.nothing(), Vec::new()),
            |(sums, bytes), chunk| {
                self.assign(centres, sums, chunk);
                let points = kernel::Points { strips: &chunk.strips, found: &mut chunk.found };
                kernel::measure(self.level, &points, centres, &self.grid, sums);
                file.put(chunk.first, &chunk.found, bytes)
            },
        )?;
        if !self.store.keeps() {
            total = self.nothing();
        }
        all.iter().for_each(|(one, _)| total.merge(one));
        let mut text = answer::centres_header(self.points.dimensions);
        text.push('\n');
        for cluster in 0..self.params.clusters {
            let inertia = self.grid.square(total.inertias[cluster]);
            let of = (total.sizes[cluster], inertia);
            answer::append_centre(&mut text, cluster, of, centres.row(cluster));
        }
        let written = answer::write(folder, answer::CENTRES_FILE, &text)?
            + answer::write(folder, answer::ITERATIONS_FILE, &answer::iterations(done))?;
        Ok(size_bytes + written)
    }
}

/// The mean of the first centres.
fn middle(rows: &[f64], dimensions: usize) -> Vec<f64> {
    let mut sums = vec![0.0; dimensions];
    for row in rows.chunks_exact(dimensions) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value / (rows.len() / dimensions) as f64;
        }
    }
    sums
}
