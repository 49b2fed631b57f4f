//! First centres: the first points, points distant from each other, or those of a file.

use std::path::Path;

use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;
use cuesta_core::{Error, Result};
use cuesta_input::npy::Element;
use cuesta_input::points::{self, Coordinate, PointFiles};
use cuesta_input::table::{TableParams, shown_number};

use crate::amounts::Pass;
use crate::params::{Init, KMeansParams};
use crate::reference;

/// Minimum size of the sample from which k-means++ draws, in points.
const SAMPLE: u64 = 1 << 16;
/// Minimum number of points of the sample for each centre.
const SAMPLE_PER_CENTRE: u64 = 16;
/// Stream of [`Stream`] that chooses the sample; the next stream draws centres from it.
const STREAM: u64 = 1;

/// Returns the first centres, in row order. Drawing them advances the progress by the amount.
///
/// # Errors
/// `Input` if the file of centres does not fit; `System`; `Cancelled`.
pub fn centres(
    points: &PointFiles,
    params: &KMeansParams,
    seeds: (u64, &Path),
    progress: (&Progress, u64),
) -> Result<Vec<f64>> {
    let (seed, scratch) = seeds;
    let single = params.dtype.of(points.element()) == Element::F32;
    if let Some(path) = &params.centres {
        return from_file(path, points, params, scratch);
    }
    let count = points.count;
    match params.init {
        Init::First => rows(points, 0..params.clusters as u64, single),
        Init::PlusPlus => {
            let sample = sample(points, params);
            let stream = Stream::new(seed, STREAM);
            let start =
                |index: u64| (u128::from(index) * u128::from(count) / u128::from(sample)) as u64;
            let choose =
                |index| start(index) + stream.below(index, start(index + 1) - start(index));
            let rows = rows(points, (0..sample).map(choose), single)?;
            let draws = Stream::new(seed, STREAM + 1);
            spread(&rows, points.dimensions, params.clusters, (&draws, progress))
        }
    }
}

/// Returns the approximate memory of [`centres`], in bytes.
pub fn size_bytes(points: &PointFiles, params: &KMeansParams) -> u64 {
    let drawn = match (&params.centres, params.init) {
        (None, Init::PlusPlus) => sample(points, params),
        _ => 0,
    };
    // A row grows by doubling.
    8 * (2 * drawn + params.clusters as u64) * points.dimensions as u64
}

/// Returns the number of points from which k-means++ draws.
fn sample(points: &PointFiles, params: &KMeansParams) -> u64 {
    points.count.min(SAMPLE.max(SAMPLE_PER_CENTRE * params.clusters as u64))
}

fn rows(points: &PointFiles, numbers: impl Iterator<Item = u64>, single: bool) -> Result<Vec<f64>> {
    let mut all = Vec::new();
    let mut row = vec![0.0; points.dimensions];
    let mut bytes = Vec::new();
    for point in numbers {
        points.read(point, &mut row, &mut bytes)?;
        all.extend(row.iter().map(|&x| if single { f64::from(x as f32) } else { x }));
    }
    Ok(all)
}

/// Draws centres by k-means++ (Arthur and Vassilvitskii 2007) from a sample: the first centre is
/// drawn uniformly, each further centre with a probability proportional to its squared distance to
/// the nearest centre so far.
fn spread(
    sample: &[f64],
    dimensions: usize,
    clusters: usize,
    (draws, (progress, amount)): (&Stream, (&Progress, u64)),
) -> Result<Vec<f64>> {
    let all = Pass { amount, points: clusters as u64 };

    let row = |index: usize| &sample[index * dimensions..][..dimensions];
    let count = sample.len() / dimensions;
    let mut nearest = vec![f64::INFINITY; count];
    let mut chosen = draws.below(0, count as u64) as usize;
    let mut centres = Vec::with_capacity(clusters * dimensions);
    loop {
        centres.extend_from_slice(row(chosen));
        let drawn = centres.len() / dimensions;
        progress.advance(all.of(drawn as u64 - 1..drawn as u64))?;
        if drawn == clusters {
            return Ok(centres);
        }
        let mut total = 0.0;
        for (index, nearest) in nearest.iter_mut().enumerate() {
            *nearest = nearest.min(reference::nearest(row(index), row(chosen)).1);
            total += *nearest;
        }
        let aim = draws.uniform(drawn as u64) * total;
        let mut sum = 0.0;
        let reached = nearest.iter().position(|&square| {
            sum += square;
            sum > aim
        });
        // All remaining points equal a centre, or rounding passed the end: take the furthest, or
        // first.
        chosen = reached.unwrap_or_else(|| {
            (0..count)
                .fold(0, |most, index| if nearest[index] > nearest[most] { index } else { most })
        });
    }
}

/// Returns the options for a file of centres: an answer has all its coordinates, whatever
/// `--columns` chooses of the points.
pub(crate) fn of_centres(file: &Path, table: &TableParams) -> Result<TableParams> {
    let all = TableParams { columns: None, ..table.clone() };
    let is_answer =
        points::recognise(file, &all).is_ok_and(|form| form.is_some_and(|f| f.is_answer));
    Ok(if is_answer { all } else { table.clone() })
}

fn from_file(
    path: &Path,
    points: &PointFiles,
    params: &KMeansParams,
    scratch: &Path,
) -> Result<Vec<f64>> {
    let converted = scratch.join("centres.npy");
    let files = points::list(&[path.to_owned()])?;
    let mut arrays = Vec::new();
    for file in files {
        if points::is_text(&file)? {
            let progress = Progress::default();
            let table = of_centres(&file, &params.table)?;
            points::convert::<f64>(&file, &table, &converted, 1, &progress)?;
            arrays.push(converted.clone());
        } else {
            arrays.push(file);
        }
    }
    let centres = PointFiles::open(&arrays)?;
    let (wanted, dimensions) = (params.clusters as u64, points.dimensions);
    if centres.count != wanted || centres.dimensions != dimensions {
        let text = format!(
            "--centres {} has {} x {} numbers, expected {wanted} clusters x {dimensions} \
             dimensions; give a line of {dimensions} numbers for each cluster",
            path.display(),
            centres.count,
            centres.dimensions
        );
        return Err(Error::input("kmeans", text));
    }
    let rows = rows(&centres, 0..centres.count, false)?;
    match rows.iter().position(|value| value.is_nan() || value.abs() > LIMIT) {
        Some(at) => {
            let place = centres.place((at / dimensions) as u64);
            let value = shown_number(rows[at]);
            let text = format!(
                "{place} has the coordinate {value}; give numbers from -{LIMIT:e} to {LIMIT:e}"
            );
            Err(Error::input("kmeans", text))
        }
        None => Ok(rows),
    }
}

/// Largest coordinate whose square is a finite double.
pub const LIMIT: f64 = 1e150;

/// Least of the largest coordinates: far above the resolution of a `Grid`.
pub const LEAST: f64 = 1e-100;

/// Returns the largest coordinate of points of a precision.
pub fn limit<T: Coordinate>() -> f64 {
    match T::ELEMENT {
        Element::F32 => f64::from(f32::MAX),
        Element::F64 => LIMIT,
    }
}
