//! Synthetic points: normal clouds around uniform centres, as HiBench makes them for k-means.

use std::path::PathBuf;

use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_core::{Error, Result, cpu};
use serde::Deserialize;

use crate::npy::{Element, header};
use crate::points::DIMENSIONS_MAX;
use cuesta_runtime::ordered::OrderedFile;
use cuesta_runtime::parallel;

/// Points of one task, about: at least one.
const TASK_NUMBERS: u64 = 1 << 16;
/// Centres are uniform in 0 to this, in every dimension.
const RANGE: f64 = 1000.0;

/// Parameters of the generated points.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The `.npy` file to write.
    pub output: PathBuf,
    /// Points, at least 1.
    pub rows: u64,
    /// Dimensions, 1 to [`DIMENSIONS_MAX`].
    #[serde(default = "default_dimensions")]
    pub dimensions: usize,
    /// Clouds, 1 to 2^32.
    #[serde(default = "default_clusters")]
    pub clusters: u64,
    /// Standard deviation of a cloud in every dimension; centres are uniform in 0 to 1000.
    #[serde(default = "default_spread")]
    pub spread: f64,
    /// Double instead of single precision.
    #[serde(default)]
    pub float64: bool,
    /// Seed of everything random.
    #[serde(default)]
    pub seed: u64,
    /// Threads.
    #[serde(default = "single_thread")]
    pub threads: usize,
}

fn default_dimensions() -> usize {
    27
}

fn default_clusters() -> u64 {
    10
}

fn default_spread() -> f64 {
    100.0
}

fn single_thread() -> usize {
    1
}

impl Params {
    /// Checks the ranges.
    ///
    /// # Errors
    /// `Input` naming the option and its range.
    pub fn check(&self) -> Result<()> {
        let refuse = |text: String| Err(Error::input("data make points", text));
        if !(1..=1 << 48).contains(&self.rows) {
            return refuse(format!("--rows is {}, give 1 to 2^48", self.rows));
        }
        if !(1..=DIMENSIONS_MAX).contains(&self.dimensions) {
            let dimensions = self.dimensions;
            return refuse(format!("--dimensions is {dimensions}, give 1 to {DIMENSIONS_MAX}"));
        }
        if !(1..=1 << 32).contains(&self.clusters) {
            return refuse(format!("--clusters is {}, give 1 to 2^32", self.clusters));
        }
        if !(0.0..=1e6).contains(&self.spread) {
            return refuse(format!("--spread is {}, give 0 to 1000000", self.spread));
        }
        Ok(())
    }
}

/// Writes the file. Returns points and bytes.
///
/// # Errors
/// `Input` for bad parameters; `System`; `Cancelled`.
pub fn write(params: &Params, progress: &Progress) -> Result<(u64, u64)> {
    params.check()?;
    let element = if params.float64 { Element::F64 } else { Element::F32 };
    let task_rows = (TASK_NUMBERS / params.dimensions as u64).max(1);
    let out = OrderedFile::create(&params.output)?;
    progress.expect(params.rows);
    let streams = [1, 2, 3].map(|stream| Stream::new(params.seed, stream));
    let work = |bytes: &mut Vec<u8>, task: usize| {
        if task == 0 {
            let shape = format!("({}, {})", params.rows, params.dimensions);
            bytes.extend(header(element.descr(), &shape));
        }
        let first = task as u64 * task_rows;
        let last = params.rows.min(first + task_rows);
        for point in first..last {
            cpu::fastest(
                #[inline(always)]
                || append(params, &streams, point, bytes),
            );
        }
        out.finish_task(task, bytes)?;
        progress.advance(last - first)
    };
    let tasks = params.rows.div_ceil(task_rows) as usize;
    parallel::run(params.threads, tasks, Vec::new, work, |task| out.fail(task))?;
    Ok((params.rows, out.close()?))
}

/// Appends a point: its cloud from stream 1, centres from stream 2, its place from stream 3.
#[inline(always)]
fn append(params: &Params, [cloud, centre, place]: &[Stream; 3], point: u64, bytes: &mut Vec<u8>) {
    let dimensions = params.dimensions as u64;
    let cluster = cloud.below(point, params.clusters);
    for dimension in 0..dimensions {
        let middle = RANGE * centre.uniform(cluster * dimensions + dimension);
        let value = middle + params.spread * place.normal(point * dimensions + dimension);
        match params.float64 {
            true => bytes.extend_from_slice(&value.to_le_bytes()),
            false => bytes.extend_from_slice(&(value as f32).to_le_bytes()),
        }
    }
}
