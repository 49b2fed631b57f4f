//! Proves an answer: the whole computation again by the definition, point by point.

use std::path::Path;
use std::str::FromStr;

use cuesta_core::digest::{Digest, Tag};
use cuesta_core::job::{Request, Response, Verdict, parameters};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::npy::Element;
use cuesta_input::parallel;
use cuesta_input::points::Points;

use crate::answer::{self, Assignments};
use crate::kernel::Grid;
use crate::params::KMeansParams;
use crate::{leader, reference, seeding};

/// How far a centre may be from the right one, relative to the largest coordinate of its dimension;
/// and an inertia or shift, relative to the right one.
pub const TOLERANCE: f64 = 1e-9;
/// Numbers that a thread looks at in one go, about.
const TASK_NUMBERS: usize = 1 << 15;
/// Products of coordinates in one go, about: less than a tenth of a second.
const TASK_PRODUCTS: usize = 1 << 26;
const METHOD: &str = "every distance in double precision by the definition, all sums anew";

/// Verifies the answer in `request.output`.
///
/// # Errors
/// `Input` when a file of the answer cannot be read; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    request.require_inputs()?;
    let params: KMeansParams = parameters(&request.parameters)?;
    params.check()?;
    let arrays = leader::arrays(request, &params, progress, &mut Response::default())?;
    let points = Points::open(&arrays)?;
    params.check_points(points.count)?;
    let again = Again {
        points: &points,
        clusters: params.clusters,
        threads: request.threads,
        single: params.dtype.of(points.element()) == Element::F32,
        progress,
    };
    let largest = again.largest()?;
    let grid = Grid::new(points.count, &largest);
    let seeds = (request.seed, request.scratch.as_path());
    let mut centres = seeding::centres(&points, &params, seeds, progress)?;
    let mut shifts = Vec::new();
    while shifts.len() < params.iterations as usize {
        let found = again.pass(&centres, &grid, None)?;
        shifts.push(grid.update(&mut centres, &found.sums, &found.sizes));
        if shifts.last().is_some_and(|&shift| shift <= params.tolerance) {
            break;
        }
    }
    let file = Assignments::open(&request.output, points.count)?;
    let last = again.pass(&centres, &grid, Some(&file))?;
    let mut verdict = Verdict::new(last.given, last.right, METHOD);
    let expected = Expected { centres: &centres, largest: &largest, found: &last, grid: &grid };
    check_centres(&request.output, &expected, &mut verdict)?;
    check_shifts(&request.output, &shifts, &mut verdict)?;
    verdict.counts.insert("points", points.count);
    verdict.counts.insert("clusters", params.clusters as u64);
    verdict.counts.insert("iterations", shifts.len() as u64);
    Ok(verdict)
}

struct Again<'a> {
    points: &'a Points,
    clusters: usize,
    threads: usize,
    single: bool,
    progress: &'a Progress,
}

/// What a pass over the points finds.
#[derive(Default)]
struct Found {
    sums: Vec<i64>,
    sizes: Vec<i64>,
    inertias: Vec<f64>,
    right: Digest,
    given: Digest,
}

#[derive(Default)]
struct Worker {
    rows: Vec<f64>,
    bytes: Vec<u8>,
    given: Vec<u32>,
    largest: Vec<f64>,
    found: Found,
}

impl Again<'_> {
    /// Calls `work` with some points and the number of the first, on all threads.
    fn each(
        &self,
        make: impl Fn() -> Worker + Sync,
        work: impl Fn(&mut Worker, u64) -> Result<()> + Sync,
    ) -> Result<Vec<Worker>> {
        let dimensions = self.points.dimensions;
        let most = TASK_PRODUCTS / (self.clusters * dimensions);
        let step = (TASK_NUMBERS / dimensions).min(most).max(1) as u64;
        let tasks = self.points.count.div_ceil(step) as usize;
        self.progress.expect(self.points.count);
        let task = |worker: &mut Worker, task: usize| {
            let first = task as u64 * step;
            let count = step.min(self.points.count - first);
            worker.rows.resize(count as usize * dimensions, 0.0);
            self.points.read(first, &mut worker.rows, &mut worker.bytes)?;
            if self.single {
                worker.rows.iter_mut().for_each(|x| *x = f64::from(*x as f32));
            }
            work(worker, first)?;
            self.progress.advance(count)
        };
        parallel::run(self.threads, tasks, make, task, |_| {})
    }

    fn largest(&self) -> Result<Vec<f64>> {
        let dimensions = self.points.dimensions;
        let make = || Worker { largest: vec![0.0; dimensions], ..Worker::default() };
        let workers = self.each(make, |worker, _| {
            for row in worker.rows.chunks_exact(dimensions) {
                for (largest, x) in worker.largest.iter_mut().zip(row) {
                    *largest = largest.max(x.abs());
                }
            }
            Ok(())
        })?;
        let mut all = vec![0.0f64; dimensions];
        for worker in workers {
            for (all, one) in all.iter_mut().zip(worker.largest) {
                *all = all.max(one);
            }
        }
        Ok(all)
    }

    fn pass(&self, centres: &[f64], grid: &Grid, file: Option<&Assignments>) -> Result<Found> {
        let dimensions = self.points.dimensions;
        let clusters = centres.len() / dimensions;
        let found = || Found {
            sums: vec![0; centres.len()],
            sizes: vec![0; clusters],
            inertias: vec![0.0; clusters],
            ..Found::default()
        };
        let make = || Worker { found: found(), ..Worker::default() };
        let workers = self.each(make, |worker, first| {
            let Worker { rows, bytes, given, found, .. } = worker;
            if let Some(file) = file {
                given.resize(rows.len() / dimensions, 0);
                file.get(first, given, bytes)?;
            }
            for (index, point) in rows.chunks_exact(dimensions).enumerate() {
                let (cluster, square) = reference::nearest(point, centres);
                let at = cluster as usize;
                let sums = &mut found.sums[at * dimensions..][..dimensions];
                reference::add(point, grid, sums, &mut found.sizes[at]);
                found.inertias[at] += square;
                if file.is_some() {
                    let number = first + index as u64;
                    found.right.add(Tag::KMeans, &[number, u64::from(cluster)]);
                    found.given.add(Tag::KMeans, &[number, u64::from(given[index])]);
                }
            }
            Ok(())
        })?;
        let mut all = found();
        for Worker { found, .. } in workers {
            all.sums.iter_mut().zip(found.sums).for_each(|(all, one)| *all += one);
            all.sizes.iter_mut().zip(found.sizes).for_each(|(all, one)| *all += one);
            all.inertias.iter_mut().zip(found.inertias).for_each(|(all, one)| *all += one);
            all.right.merge(&found.right);
            all.given.merge(&found.given);
        }
        Ok(all)
    }
}

struct Expected<'a> {
    centres: &'a [f64],
    largest: &'a [f64],
    found: &'a Found,
    grid: &'a Grid,
}

/// Lines of a table as numbers, of `width` each, without the header, which must be `header`.
fn table(folder: &Path, name: &str, header: &str) -> Result<Vec<Vec<f64>>> {
    let path = folder.join(name);
    let text = std::fs::read_to_string(&path)
        .map_err(|cause| Error::system("verify", "reading", &path, &cause))?;
    let bad = |line: usize| {
        let text = format!("line {line} of {} is not what it should be", path.display());
        Error::input("verify", text)
    };
    let mut lines = text.lines();
    if lines.next() != Some(header) {
        return Err(bad(1));
    }
    let width = header.split('\t').count();
    let parse = |(index, line): (usize, &str)| {
        let fields: Vec<f64> = line.split('\t').map_while(|x| f64::from_str(x).ok()).collect();
        if fields.len() == width { Ok(fields) } else { Err(bad(index + 2)) }
    };
    lines.enumerate().map(parse).collect()
}

fn check_centres(folder: &Path, expected: &Expected<'_>, verdict: &mut Verdict) -> Result<()> {
    let dimensions = expected.largest.len();
    let rows = table(folder, answer::CENTRES_FILE, &answer::centres_header(dimensions))?;
    verdict.require(rows.len() == expected.found.sizes.len(), "a cluster is missing or too many");
    // Squares are rounded to the grid point by point, too.
    let slack = |cluster: usize| expected.grid.square(expected.found.sizes[cluster]);
    for (cluster, row) in rows.iter().enumerate().take(expected.found.sizes.len()) {
        verdict.require(row[0] == cluster as f64, "the clusters are not in order");
        let size = expected.found.sizes[cluster] as f64;
        verdict.require(row[1] == size, "the size of a cluster is wrong");
        let inertia = expected.found.inertias[cluster];
        let near = (row[2] - inertia).abs() <= TOLERANCE * inertia + slack(cluster);
        verdict.require(near, "the inertia of a cluster is wrong");
        let right = &expected.centres[cluster * dimensions..][..dimensions];
        let fits =
            row[3..].iter().zip(right).zip(expected.largest).all(|((x, right), largest)| {
                (x - right).abs() <= TOLERANCE * largest.max(right.abs())
            });
        verdict.require(fits, "a centre is wrong");
    }
    Ok(())
}

fn check_shifts(folder: &Path, shifts: &[f64], verdict: &mut Verdict) -> Result<()> {
    let rows = table(folder, answer::ITERATIONS_FILE, answer::ITERATIONS_HEADER)?;
    verdict.require(rows.len() == shifts.len(), "there are more or fewer iterations than needed");
    let scale = shifts.first().copied().unwrap_or(0.0);
    let near = |(row, shift): (&Vec<f64>, &f64)| (row[1] - shift).abs() <= TOLERANCE * scale;
    let right = rows.iter().zip(shifts).all(near);
    verdict.require(right, "the shift of an iteration is wrong");
    Ok(())
}
