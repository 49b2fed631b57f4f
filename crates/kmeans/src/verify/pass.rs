//! Passes over all points: stored in memory as rows, with their bounds, if they fit in the memory
//! limit; else read from the files again.

use std::sync::Mutex;

use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::points::{Coordinate, PointFiles};
use cuesta_runtime::parallel::{self, lock};

use super::bounds::Bounds;
use crate::amounts::Pass;
use crate::seeding::limit;

/// Approximate size of the points of a task, in bytes: they fit in the cache of a core.
const TASK_BYTES: usize = 256 << 10;
/// Approximate number of products of coordinates in a task: less than a tenth of a second.
const TASK_PRODUCTS: usize = 1 << 26;
/// Part of the memory limit for the interpreter and the code.
const RESERVED_BYTES: u64 = 64 << 20;

/// Points of a run, with the rows and bounds that stay in memory.
pub struct Passes<'a, T> {
    points: &'a PointFiles,
    threads: usize,
    progress: &'a Progress,
    pass: Pass,
    task_points: u64,
    rows: Vec<Mutex<Vec<T>>>,
    bounds: Vec<Mutex<Bounds>>,
}

/// Points of a task.
pub struct TaskPoints<'a, T> {
    /// Number of the first point.
    pub first: u64,
    /// Number of points.
    pub count: usize,
    /// Clusters and bounds of the points.
    pub bounds: &'a mut Bounds,
    /// Coordinates of the points.
    pub rows: TaskCoordinates<'a, T>,
}

/// Coordinates of the points of a task, read on demand.
pub struct TaskCoordinates<'a, T> {
    points: &'a PointFiles,
    first: u64,
    count: usize,
    rows: &'a mut Vec<T>,
    bytes: &'a mut Vec<u8>,
}

impl<T: Coordinate> TaskCoordinates<'_, T> {
    /// Returns the coordinates, point after point.
    ///
    /// # Errors
    /// `System`.
    pub fn get(&mut self) -> Result<&[T]> {
        if self.rows.is_empty() {
            self.rows.resize(self.count * self.points.dimensions, T::default());
            self.points.read(self.first, self.rows, self.bytes)?;
        }
        Ok(self.rows)
    }
}

/// State of a thread.
struct Worker<T, W> {
    rows: Vec<T>,
    bytes: Vec<u8>,
    bounds: Bounds,
    state: W,
}

impl<'a, T: Coordinate> Passes<'a, T> {
    /// Decides what stays in memory: points and bounds, bounds only, or nothing. `state_bytes` is
    /// the memory of the state of a thread.
    pub fn new(
        points: &'a PointFiles,
        clusters: usize,
        (threads, memory_bytes, state_bytes): (usize, u64, u64),
        (progress, pass): (&'a Progress, Pass),
    ) -> Self {
        let row_bytes = points.dimensions * size_of::<T>();
        let most = TASK_PRODUCTS / (clusters * points.dimensions);
        let task_points = (TASK_BYTES / row_bytes).min(most).max(1);
        let task_bytes = task_points * (3 * row_bytes + 2 * Bounds::POINT_BYTES);
        let reserved = RESERVED_BYTES.min(memory_bytes / 2);
        let reserved_bytes = reserved + threads as u64 * (task_bytes as u64 + state_bytes);
        let free_bytes = memory_bytes.saturating_sub(reserved_bytes);
        let fits =
            |point_bytes: usize| points.count.saturating_mul(point_bytes as u64) <= free_bytes;
        let tasks = points.count.div_ceil(task_points as u64) as usize;
        let of = |keeps: bool| if keeps { 0..tasks } else { 0..0 };
        let keeps_rows = fits(row_bytes + Bounds::POINT_BYTES);
        Self {
            points,
            threads,
            progress,
            pass,
            task_points: task_points as u64,
            rows: of(keeps_rows).map(|_| Mutex::default()).collect(),
            bounds: of(keeps_rows || fits(Bounds::POINT_BYTES)).map(|_| Mutex::default()).collect(),
        }
    }

    /// Whether clusters and bounds of points are known in the next pass.
    pub fn keeps_bounds(&self) -> bool {
        !self.bounds.is_empty()
    }

    /// Calls `work` with the points of each task on all threads; returns the states of the threads.
    ///
    /// # Errors
    /// Errors of `work`; `System`; `Cancelled`.
    pub fn each<W: Send>(
        &self,
        new_state: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, TaskPoints<'_, T>) -> Result<()> + Sync,
    ) -> Result<Vec<W>> {
        let task = |worker: &mut Worker<T, W>, task: usize| {
            let first = task as u64 * self.task_points;
            let count = self.task_points.min(self.points.count - first) as usize;
            let (mut stored_bounds, mut stored_rows);
            let Worker { rows, bytes, bounds, state } = worker;
            let bounds = match self.bounds.get(task) {
                Some(stored) => {
                    stored_bounds = lock(stored);
                    &mut *stored_bounds
                }
                None => {
                    bounds.clusters.clear();
                    bounds
                }
            };
            if bounds.clusters.is_empty() {
                bounds.reset(count);
            }
            let rows = match self.rows.get(task) {
                Some(stored) => {
                    stored_rows = lock(stored);
                    &mut *stored_rows
                }
                None => {
                    rows.clear();
                    rows
                }
            };
            let rows = TaskCoordinates { points: self.points, first, count, rows, bytes };
            work(state, TaskPoints { first, count, bounds, rows })?;
            self.progress.advance(self.pass.of(first..first + count as u64))
        };
        let make = || Worker {
            rows: Vec::new(),
            bytes: Vec::new(),
            bounds: Bounds::default(),
            state: new_state(),
        };
        let tasks = self.points.count.div_ceil(self.task_points) as usize;
        let workers = parallel::run(self.threads, tasks, make, task, |_| {})?;
        Ok(workers.into_iter().map(|worker| worker.state).collect())
    }

    /// Returns the largest absolute coordinate of each dimension.
    ///
    /// # Errors
    /// `Input` naming the first point of a task with an unusable coordinate;
    /// `System`; `Cancelled`.
    pub fn largest(&self) -> Result<Vec<f64>> {
        let dimensions = self.points.dimensions;
        let work = |largest: &mut Vec<f64>, mut piece: TaskPoints<'_, T>| {
            let rows = piece.rows.get()?;
            let mut good = true;
            for row in rows.chunks_exact(dimensions) {
                for (largest, x) in largest.iter_mut().zip(row) {
                    let size = x.to_f64().abs();
                    good &= size <= limit::<T>();
                    *largest = largest.max(size);
                }
            }
            if good { Ok(()) } else { Err(self.bad_point(piece.first, rows)) }
        };
        let mut all = vec![0.0f64; dimensions];
        for largest in self.each(|| vec![0.0f64; dimensions], work)? {
            all.iter_mut().zip(largest).for_each(|(all, largest)| *all = all.max(largest));
        }
        Ok(all)
    }

    fn bad_point(&self, first: u64, rows: &[T]) -> Error {
        let is_bad = |x: &T| x.to_f64().is_nan() || x.to_f64().abs() > limit::<T>();
        let index = rows.iter().position(is_bad).unwrap_or(0) / self.points.dimensions;
        let place = self.points.place(first + index as u64);
        Error::input("verify", format!("{place} has a coordinate that is no number or too large"))
    }
}
