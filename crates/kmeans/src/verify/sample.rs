//! Partial verification: checks the tables by themselves, counts the clusters of all points, and
//! computes those of some points from the answer's centres.

use std::str::FromStr;

use cuesta_core::digest::Digest;
use cuesta_core::job::Verdict;
use cuesta_core::sample::Sample;
use cuesta_core::{Error, Result};
use cuesta_input::points::Coordinate;
use cuesta_runtime::parallel;

use super::bounds::Scale;
use super::centres::GroupedCentres;
use super::{Job, digest};
use crate::amounts;
use crate::answer::{self, Assignments};

/// Points of a block, which is in the sample as a unit.
const BLOCK_POINTS: u64 = 1 << 10;
const METHOD: &str =
    "the tables read, clusters counted, a sample of points assigned by the definition";

/// Rows of the table of centres.
struct Table {
    sizes: Vec<i64>,
    centres: Vec<f64>,
    canonical: bool,
}

/// State of a thread.
struct WorkerState {
    sizes: Vec<i64>,
    actual: Digest,
    wrong: Option<&'static str>,
    clusters: Vec<u32>,
    bytes: Vec<u8>,
}

/// Verifies a sample.
pub fn verify<T: Coordinate>(job: &Job<'_>) -> Result<Verdict> {
    let (count, dimensions) = (job.points.count, job.points.dimensions);
    let table = centres(job)?;
    let (iterations, iterations_valid) = iterations(job)?;
    let scale = Scale::new(&vec![1.0; dimensions]);
    let right = GroupedCentres::new(table.centres.clone(), dimensions, None, scale);
    let file = Assignments::open(&job.request.output, count)?;
    let tasks = count.div_ceil(BLOCK_POINTS);
    let sample = Sample::random(tasks);
    // Progress of the further steps of a full verification.
    let further_passes =
        u64::from(job.params.iterations) + 1 + u64::from(amounts::draws(job.params));
    job.progress.advance(job.pass.amount.saturating_mul(further_passes))?;
    let work = |state: &mut WorkerState, task: usize| {
        let first = task as u64 * BLOCK_POINTS;
        let block_points = BLOCK_POINTS.min(count - first) as usize;
        state.clusters.resize(block_points, 0);
        file.get(first, &mut state.clusters, &mut state.bytes)?;
        digest(&mut state.actual, first, &state.clusters);
        for &cluster in &state.clusters {
            match state.sizes.get_mut(cluster as usize) {
                Some(size) => *size += 1,
                None => state.wrong = Some("a point is in a cluster that is not there"),
            }
        }
        if sample.has(task as u64) {
            let mut rows = vec![T::default(); block_points * dimensions];
            job.points.read(first, &mut rows, &mut state.bytes)?;
            for (row, &cluster) in rows.chunks_exact(dimensions).zip(&state.clusters) {
                let point: Vec<f64> = row.iter().map(|x| x.to_f64()).collect();
                if right.nearest(&point).cluster != cluster {
                    state.wrong = Some("a point is not in the cluster of the nearest centre");
                }
            }
        }
        job.progress.advance(job.pass.of(first..first + block_points as u64))
    };
    let make = || WorkerState {
        sizes: vec![0; table.sizes.len()],
        actual: Digest::default(),
        wrong: None,
        clusters: Vec::new(),
        bytes: Vec::new(),
    };
    let all = parallel::run(job.request.threads, tasks as usize, make, work, |_| {})?;
    let (mut actual, mut sizes) = (Digest::default(), vec![0; table.sizes.len()]);
    for state in &all {
        actual.merge(&state.actual);
        sizes
            .iter_mut()
            .zip(&state.sizes)
            .for_each(|(all, sizes_of_thread)| *all += sizes_of_thread);
    }
    let wrong = all.iter().find_map(|state| state.wrong);
    let mut verdict = Verdict::proven(actual, wrong.is_none(), wrong.unwrap_or_default(), METHOD);
    verdict.require(sizes == table.sizes, "the size of a cluster is wrong");
    verdict.require(table.canonical, "a line of centres.tsv is not what it should be");
    verdict.require(iterations_valid, "a line of iterations.tsv is not what it should be");
    verdict.counts.insert("iterations", iterations);
    Ok(verdict)
}

fn read(job: &Job<'_>, name: &str) -> Result<String> {
    let path = job.request.output.join(name);
    std::fs::read_to_string(&path)
        .map_err(|cause| Error::system("verify", "reading", &path, &cause))
}

/// Parses numbers between tabs; zeros for fields that are not numbers, which then differ when
/// written again.
fn fields<X: FromStr + Default>(line: &str) -> Vec<X> {
    line.split('\t').map(|field| field.parse().unwrap_or_default()).collect()
}

/// Reads the table of centres; it is canonical if its numbers, written again, give the same text.
fn centres(job: &Job<'_>) -> Result<Table> {
    let (clusters, dimensions) = (job.params.clusters, job.points.dimensions);
    let text = read(job, answer::CENTRES_FILE)?;
    let lines: Vec<&str> = text.lines().skip(1).take(clusters).collect();
    let numbers: Vec<Vec<f64>> = lines.iter().map(|line| fields(line)).collect();
    let sizes: Vec<i64> = lines
        .iter()
        .map(|line| fields::<i64>(line).get(1).copied().unwrap_or_default())
        .chain(std::iter::repeat(0))
        .take(clusters)
        .collect();
    let mut centres = vec![0.0; clusters * dimensions];
    for (centre, row) in centres.chunks_exact_mut(dimensions).zip(&numbers) {
        centre.iter_mut().zip(row.iter().skip(3)).for_each(|(to, x)| *to = *x);
    }
    let inertia = |cluster: usize| -> f64 {
        numbers.get(cluster).and_then(|row| row.get(2)).copied().unwrap_or_default()
    };
    let rewritten =
        answer::centres(&centres, dimensions, |cluster| (sizes[cluster], inertia(cluster)));
    Ok(Table { sizes, centres, canonical: rewritten == text })
}

/// Returns the number of iterations of the table, and whether its lines equal their numbers written
/// again.
fn iterations(job: &Job<'_>) -> Result<(u64, bool)> {
    let text = read(job, answer::ITERATIONS_FILE)?;
    let mut rewritten = answer::ITERATIONS_HEADER.to_owned() + "\n";
    let mut count = 0;
    for line in text.lines().skip(1) {
        count += 1;
        let (shifts, sizes) = (fields::<f64>(line), fields::<u64>(line));
        let shift = shifts.get(1).copied().unwrap_or_default();
        let sizes: Vec<u64> = sizes.into_iter().skip(2).take(3).collect();
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        rewritten += &format!("{count}\t{shift:?}\t{}\n", sizes.join("\t"));
    }
    let is_allowed = (1..=u64::from(job.params.iterations)).contains(&count);
    Ok((count, is_allowed && rewritten == text))
}
