//! Leader of a run: opens the points, chooses the first centres, moves the centres by the sums of
//! all points, and writes the files that are not about single points.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::points::{self, PointFiles};
use cuesta_input::storage;
use cuesta_input::table::wording;
use cuesta_runtime::scratch;

use crate::amounts::{self, Pass};
use crate::answer::{self, Assignments, Iteration};
use crate::kernel::{Grid, SquareSum};
use crate::params::{KMeansParams, Precision};
use crate::seeding::{self, LEAST};

/// Leader of a run.
pub struct Leader {
    /// The parameters.
    pub params: KMeansParams,
    /// The points.
    pub points: Arc<PointFiles>,
    /// The files of the points, all `.npy`.
    pub arrays: Vec<PathBuf>,
    /// Centres so far, in row order; empty before they are chosen.
    pub centres: Vec<f64>,
    output: PathBuf,
    done: Vec<Iteration>,
    pass_amount: u64,
}

impl Leader {
    /// Opens the points; text files are first converted to numbers in the scratch folder.
    ///
    /// # Errors
    /// `Input`, `System`, `Cancelled`.
    pub fn open(
        request: &Request,
        params: KMeansParams,
        progress: &Progress,
        response: &mut Response,
    ) -> Result<Self> {
        request.require_inputs()?;
        params.check()?;
        let pass_amount = amounts::announce(request, &params, progress)?;
        let arrays = arrays(request, &params, progress, response)?;
        let points = PointFiles::open(&arrays)?;
        params.check_points(points.count)?;
        Ok(Self {
            params,
            points: Arc::new(points),
            arrays,
            centres: Vec::new(),
            output: request.output.clone(),
            done: Vec::new(),
            pass_amount,
        })
    }

    /// Returns the progress of a pass over all points.
    pub fn pass(&self) -> Pass {
        Pass { amount: self.pass_amount, points: self.points.count }
    }

    /// Chooses the first centres.
    ///
    /// # Errors
    /// `Input` if a file of centres does not fit, or the sample of k-means++ exceeds the memory;
    /// `System`; `Cancelled`.
    pub fn seed(&mut self, request: &Request, progress: &Progress) -> Result<()> {
        let size_bytes = seeding::size_bytes(&self.points, &self.params);
        let _lease = request.budget.take(size_bytes, "choosing the first centres")?;
        let seeds = (request.seed, request.scratch.as_path());
        let progress = (progress, self.pass_amount);
        self.centres = seeding::centres(&self.points, &self.params, seeds, progress)?;
        Ok(())
    }

    /// Returns the grid for points with these largest coordinates.
    ///
    /// # Errors
    /// `Input` where all coordinates are too small to be summed on a grid.
    pub fn grid(&self, largest: &[f64]) -> Result<Grid> {
        let all = largest.iter().fold(0.0f64, |before, value| before.max(*value));
        if all > 0.0 && all < LEAST {
            let text = format!(
                "the largest coordinate is {all:e}, below {LEAST:e}; multiply all coordinates by a \
                 power of ten"
            );
            return Err(Error::input("kmeans", text));
        }
        Ok(Grid::new(self.points.count, largest))
    }

    /// Moves the centres to the means of all points; returns true after the last iteration.
    pub fn update(&mut self, grid: &Grid, coordinates: &[i64], sizes: &[i64]) -> bool {
        let shift = grid.update(&mut self.centres, coordinates, sizes);
        self.done.push(Iteration { shift, sizes: sizes.to_vec() });
        shift <= self.params.tolerance || self.iterations() == self.params.iterations as usize
    }

    /// Returns the number of iterations so far.
    pub fn iterations(&self) -> usize {
        self.done.len()
    }

    /// Creates the file into which all shares write their clusters; returns its size in bytes.
    ///
    /// # Errors
    /// `Input` if there is no space for it; `System`.
    pub fn create(&self) -> Result<u64> {
        let size_bytes = 4 * self.points.count;
        scratch::check_space(&self.output, size_bytes, "the clusters of the points")?;
        Assignments::create(&self.output, self.points.count)?;
        Ok(size_bytes)
    }

    /// Writes the tables for these sizes and inertias of the clusters; returns their size in bytes.
    ///
    /// # Errors
    /// `System`.
    pub fn write(&self, grid: &Grid, sizes: &[i64], inertias: &[SquareSum]) -> Result<u64> {
        let dimensions = self.points.dimensions;
        let of = |cluster: usize| (sizes[cluster], grid.inertia(inertias[cluster]));
        let text = answer::centres(&self.centres, dimensions, of);
        Ok(answer::write(&self.output, answer::CENTRES_FILE, &text)?
            + answer::write(
                &self.output,
                answer::ITERATIONS_FILE,
                &answer::iterations(&self.done),
            )?)
    }
}

/// Returns sentences on the layout of texts with points.
///
/// # Errors
/// As [`arrays`], as far as the first lines show; `Input` for files that name coordinates
/// differently.
pub fn recognised(request: &Request) -> Result<Vec<String>> {
    let params: KMeansParams = parameters(&request.parameters)?;
    let mut sentences: Vec<String> = Vec::new();
    let mut named: Option<(PathBuf, Vec<String>)> = None;
    for file in points::list(&request.inputs)?.into_iter().chain(params.centres.clone()) {
        // Parquet files are converted earlier.
        if !points::is_text(&file).unwrap_or(false) {
            continue;
        }
        let is_centres = params.centres.as_ref() == Some(&file);
        let table = if is_centres {
            seeding::of_centres(&file, &params.table)?
        } else {
            params.table.clone()
        };
        let Some(form) = points::recognise(&file, &table)? else { continue };
        let sentence = wording::points(&form);
        // Most files of a folder have the same layout.
        if !sentences.iter().any(|before| before.ends_with(&sentence)) {
            sentences.push(format!("{}: {sentence}", file.display()));
        }
        // An answer numbers its coordinates.
        if form.names.is_empty() || (is_centres && form.is_answer) {
            continue;
        }
        match &named {
            None => named = Some((file, form.names)),
            Some((_, names)) if *names == form.names => (),
            Some((first, names)) => {
                return Err(named_differently((first, names), (&file, &form.names)));
            }
        }
    }
    Ok(sentences)
}

/// Refuses files whose coordinates have other names, or the same in another order.
fn named_differently(first: (&Path, &[String]), other: (&Path, &[String])) -> Error {
    let place = first.1.iter().zip(other.1).position(|(one, other)| one != other);
    let place = place.unwrap_or_else(|| first.1.len().min(other.1.len()));
    let name =
        |names: &[String]| names.get(place).map_or("none".to_owned(), |it| format!("{it:?}"));
    let text = format!(
        "{} and {} name coordinate {} differently, {} and {}; give all files the same columns in \
         the same order",
        first.0.display(),
        other.0.display(),
        place + 1,
        name(first.1),
        name(other.1)
    );
    Error::input("input.points", text)
}

/// Returns the files of the points as `.npy`, in order.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn arrays(
    request: &Request,
    params: &KMeansParams,
    progress: &Progress,
    response: &mut Response,
) -> Result<Vec<PathBuf>> {
    let mut arrays: Vec<PathBuf> = Vec::new();
    for (number, file) in points::list(&request.inputs)?.into_iter().enumerate() {
        if !points::is_text(&file)? {
            arrays.push(file);
            continue;
        }
        let output = request.scratch.join(format!("points-{number}.npy"));
        let size = storage::metadata(&file)
            .map_err(|cause| Error::system("input.points", "reading", &file, &cause))?
            .size_bytes;
        // A number and its separator take at least two bytes of text.
        scratch::check_space(&request.scratch, 4 * size, "the text as numbers")?;
        timed(response, "convert", || {
            let bytes = if params.dtype == Precision::Float32 {
                points::convert::<f32>(&file, &params.table, &output, request.threads, progress)?
            } else {
                points::convert::<f64>(&file, &params.table, &output, request.threads, progress)?
            };
            Ok(((), bytes, 0))
        })?;
        arrays.push(output);
    }
    Ok(arrays)
}
