//! `kmeans` in parts, for engines of many processes: what leads a run, and what has some points.
//! Numbers travel as little-endian bytes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use cuesta_core::job::{self, Request, Response, parameters};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::parallel::lock;
use cuesta_input::points::Points;
use cuesta_kmeans::kernel::{Grid, Sums};
use cuesta_kmeans::leader::Leader;
use cuesta_kmeans::params::KMeansParams;
use cuesta_kmeans::share::{self, Share};
use cuesta_kmeans::{Job, Pass};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::{python_error, to_json};
use crate::watched;

/// What leads a run of `kmeans`: opens the points, moves the centres, writes the tables.
#[pyclass(module = "cuesta._native", frozen)]
pub struct KMeansLeader(Mutex<Leads>);

#[pymethods]
impl KMeansLeader {
    #[new]
    fn new(py: Python<'_>, request: &str) -> PyResult<Self> {
        let request = job::request(request).map_err(|error| python_error(py, &error))?;
        Ok(Self(Mutex::new(watched(py, None, |progress| Leads::new(&request, progress))?)))
    }

    /// Files, sizes and phases so far, as JSON.
    fn facts(&self, py: Python<'_>) -> PyResult<String> {
        to_json(&lock(&self.0).facts()).map_err(|error| python_error(py, &error))
    }

    /// The centres, row after row.
    fn centres<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &bytes(&lock(&self.0).leader.centres))
    }

    /// Takes the largest coordinates of all points.
    fn begin(&self, py: Python<'_>, largest: &[u8]) -> PyResult<()> {
        lock(&self.0).begin(largest).map_err(|error| python_error(py, &error))
    }

    /// Moves the centres by the sums of all points; whether that was the last time.
    fn update(&self, py: Python<'_>, sums: &[u8]) -> PyResult<bool> {
        lock(&self.0).update(sums).map_err(|error| python_error(py, &error))
    }

    /// Makes the file that all write their clusters into; returns its bytes.
    fn create(&self, py: Python<'_>) -> PyResult<u64> {
        lock(&self.0).leader.create().map_err(|error| python_error(py, &error))
    }

    /// Writes the tables, by the sums of all points; returns how many iterations there were.
    fn write(&self, py: Python<'_>, sums: &[u8]) -> PyResult<usize> {
        lock(&self.0).write(sums).map_err(|error| python_error(py, &error))
    }
}

/// Some of the points of a run of `kmeans`: what a rank or a task has.
#[pyclass(module = "cuesta._native", frozen)]
pub struct KMeansShare(Mutex<Has>);

#[pymethods]
impl KMeansShare {
    #[new]
    fn new(py: Python<'_>, request: &str, points: (u64, u64), keep: bool) -> PyResult<Self> {
        let request = job::request(request).map_err(|error| python_error(py, &error))?;
        let has = Has::new(&request, points, keep).map_err(|error| python_error(py, &error))?;
        Ok(Self(Mutex::new(has)))
    }

    /// Reads the points; returns their largest coordinates.
    fn read<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        self.pass(py, |has, progress| Ok(bytes(&has.share.read(progress)?)))
    }

    /// Takes the largest coordinates of all points.
    fn begin(&self, py: Python<'_>, largest: &[u8]) -> PyResult<()> {
        lock(&self.0).begin(largest).map_err(|error| python_error(py, &error))
    }

    /// The sums of the nearest centres.
    fn assign<'py>(&self, py: Python<'py>, centres: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        self.pass(py, |has, progress| has.assign(centres, progress))
    }

    /// The same for the last time; writes the clusters.
    fn finish<'py>(&self, py: Python<'py>, centres: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        self.pass(py, |has, progress| has.finish(centres, progress))
    }

    /// Whether the points stay in memory from one pass to the next.
    fn keeps(&self) -> bool {
        lock(&self.0).share.keeps()
    }
}

impl KMeansShare {
    fn pass<'py>(
        &self,
        py: Python<'py>,
        work: impl FnOnce(&mut Has, &Progress) -> Result<Vec<u8>> + Send,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let found = watched(py, None, |progress| work(&mut lock(&self.0), progress))?;
        Ok(PyBytes::new(py, &found))
    }
}

/// The part of the process that leads a run.
struct Leads {
    leader: Leader,
    response: Response,
    grid: Option<Grid>,
}

impl Leads {
    /// Opens the points and chooses the first centres.
    fn new(request: &Request, progress: &Progress) -> Result<Self> {
        let params: KMeansParams = parameters(&request.parameters)?;
        let mut response = Response::default();
        let mut leader = Leader::open(request, params, progress, &mut response)?;
        job::timed(&mut response, "seed", || {
            Ok((leader.seed(request, progress)?, 0, leader.params.clusters as u64))
        })?;
        Ok(Self { leader, response, grid: None })
    }

    /// Files, sizes and phases so far.
    fn facts(&self) -> serde_json::Value {
        let (points, params) = (&self.leader.points, &self.leader.params);
        let number_bytes = params.dtype.of(points.element()).size_bytes();
        serde_json::json!({
            "arrays": self.leader.arrays,
            "points": points.count,
            "dimensions": points.dimensions,
            "clusters": params.clusters,
            "row_bytes": points.dimensions * number_bytes,
            "phases": self.response.phases,
        })
    }

    /// Takes the largest coordinates of all points.
    fn begin(&mut self, largest: &[u8]) -> Result<()> {
        let largest = doubles(largest, self.leader.points.dimensions)?;
        self.grid = Some(self.leader.grid(&largest));
        Ok(())
    }

    /// Moves the centres by the sums of all points; whether that was the last time.
    fn update(&mut self, sums: &[u8]) -> Result<bool> {
        let sums = from_bytes(sums, &self.leader)?;
        let grid = self.grid.as_ref().ok_or_else(too_early)?;
        Ok(self.leader.update(grid, &sums.coordinates, &sums.sizes))
    }

    /// Writes the tables, by the sums of all points; returns how many iterations there were.
    fn write(&self, sums: &[u8]) -> Result<usize> {
        let sums = from_bytes(sums, &self.leader)?;
        self.leader.write(self.grid.as_ref().ok_or_else(too_early)?, &sums)?;
        Ok(self.leader.iterations())
    }
}

/// Some of the points.
struct Has {
    share: Box<dyn Share>,
    output: PathBuf,
    points: u64,
    clusters: usize,
    dimensions: usize,
    grid: Option<Grid>,
}

impl Has {
    /// Points `(first, how many)` of the files in the request.
    fn new(request: &Request, (first, count): (u64, u64), keep: bool) -> Result<Self> {
        let params: KMeansParams = parameters(&request.parameters)?;
        let points = Arc::new(Points::open(&request.inputs)?);
        if first.checked_add(count).is_none_or(|end| end > points.count) {
            return Err(Error::input("kmeans", format!("there are only {} points", points.count)));
        }
        let job = Job {
            clusters: params.clusters,
            threads: request.threads,
            memory_bytes: request.memory_bytes,
            keep,
            pass: Pass::default(),
        };
        Ok(Self {
            share: share::share(&points, first..first + count, params.dtype, &job)?,
            output: request.output.clone(),
            points: points.count,
            clusters: params.clusters,
            dimensions: points.dimensions,
            grid: None,
        })
    }

    /// Takes the largest coordinates of all points.
    fn begin(&mut self, largest: &[u8]) -> Result<()> {
        let largest = doubles(largest, self.dimensions)?;
        self.grid = Some(Grid::new(self.points, &largest));
        Ok(())
    }

    /// The sums of the nearest centres.
    fn assign(&mut self, centres: &[u8], progress: &Progress) -> Result<Vec<u8>> {
        let centres = doubles(centres, self.clusters * self.dimensions)?;
        let grid = self.grid.as_ref().ok_or_else(too_early)?;
        Ok(to_bytes(self.share.assign(&centres, grid, progress)?))
    }

    /// The same for the last time; writes the clusters.
    fn finish(&mut self, centres: &[u8], progress: &Progress) -> Result<Vec<u8>> {
        let centres = doubles(centres, self.clusters * self.dimensions)?;
        let grid = self.grid.as_ref().ok_or_else(too_early)?;
        Ok(to_bytes(self.share.finish(&centres, grid, &self.output, progress)?))
    }
}

fn too_early() -> Error {
    Error::input("kmeans", "the largest coordinates are not known yet")
}

fn bytes(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn doubles(bytes: &[u8], count: usize) -> Result<Vec<f64>> {
    let found: Vec<f64> =
        bytes.as_chunks().0.iter().map(|eight| f64::from_le_bytes(*eight)).collect();
    if found.len() == count {
        return Ok(found);
    }
    Err(Error::input("kmeans", format!("{} numbers, expected {count}", found.len())))
}

/// Sums of coordinates, sizes, inertias: what is summed over processes, number by number.
fn to_bytes(sums: &Sums) -> Vec<u8> {
    let all = sums.coordinates.iter().chain(&sums.sizes).chain(&sums.inertias);
    all.flat_map(|value| value.to_le_bytes()).collect()
}

fn from_bytes(bytes: &[u8], leader: &Leader) -> Result<Sums> {
    let (clusters, dimensions) = (leader.params.clusters, leader.points.dimensions);
    let mut sums = Sums::new(clusters, dimensions);
    let wanted = clusters * (dimensions + 2);
    let values: Vec<i64> =
        bytes.as_chunks().0.iter().map(|eight| i64::from_le_bytes(*eight)).collect();
    if values.len() != wanted {
        let text = format!("{} sums, expected {wanted}", values.len());
        return Err(Error::input("kmeans", text));
    }
    let (coordinates, rest) = values.split_at(clusters * dimensions);
    sums.coordinates.copy_from_slice(coordinates);
    sums.sizes.copy_from_slice(&rest[..clusters]);
    sums.inertias.copy_from_slice(&rest[clusters..]);
    Ok(sums)
}
