//! Passes over all points: kept in memory as rows, with what is known of them, where that fits in
//! the memory limit; read from the files again where it does not.

use std::sync::Mutex;

use cuesta_core::budget::Budget;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::points::{Coordinate, PointFiles};
use cuesta_runtime::parallel::{self, lock};

use super::bounds::Bounds;
use crate::amounts::Pass;
use crate::seeding::limit;

/// Bytes of the points of a task, about: they stay in the cache of a core.
const TASK_BYTES: usize = 256 << 10;
/// Products of coordinates in a task, about: less than a tenth of a second.
const TASK_PRODUCTS: usize = 1 << 26;
/// What the interpreter and the code take of the memory limit.
const RESERVED_BYTES: u64 = 64 << 20;

/// The points, and what of them is kept.
pub struct Passes<'a, T> {
    points: &'a PointFiles,
    threads: usize,
    progress: &'a Progress,
    pass: Pass,
    task_points: u64,
    rows: Vec<Mutex<Vec<T>>>,
    bounds: Vec<Mutex<Bounds>>,
}

/// The points of a task.
pub struct TaskPoints<'a, T> {
    /// Number of the first.
    pub first: u64,
    /// How many they are.
    pub count: usize,
    /// What is known of them.
    pub bounds: &'a mut Bounds,
    /// Their coordinates.
    pub rows: TaskCoordinates<'a, T>,
}

/// Coordinates of the points of a task, which are read when they are asked for.
pub struct TaskCoordinates<'a, T> {
    points: &'a PointFiles,
    first: u64,
    count: usize,
    rows: &'a mut Vec<T>,
    bytes: &'a mut Vec<u8>,
}

impl<T: Coordinate> TaskCoordinates<'_, T> {
    /// The coordinates, point after point.
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

/// What a thread has.
struct Worker<T, W> {
    rows: Vec<T>,
    bytes: Vec<u8>,
    bounds: Bounds,
    own: W,
}

impl<'a, T: Coordinate> Passes<'a, T> {
    /// Decides what is kept: points and bounds, bounds only, or nothing. `own_bytes` is what a
    /// thread has beside.
    pub fn new(
        points: &'a PointFiles,
        clusters: usize,
        (threads, memory_bytes, own_bytes): (usize, u64, u64),
        (progress, pass): (&'a Progress, Pass),
    ) -> Self {
        let row_bytes = points.dimensions * size_of::<T>();
        let most = TASK_PRODUCTS / (clusters * points.dimensions);
        let task_points = (TASK_BYTES / row_bytes).min(most).max(1);
        let task_bytes = task_points * (3 * row_bytes + 2 * Bounds::POINT_BYTES);
        let reserved = RESERVED_BYTES.min(memory_bytes / 2);
        let beside = reserved + threads as u64 * (task_bytes as u64 + own_bytes);
        let budget = Budget::new(memory_bytes.saturating_sub(beside));
        let fits = |point_bytes: usize| {
            budget.try_take(points.count.saturating_mul(point_bytes as u64)).is_some()
        };
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

    /// Calls `work` with the points of each task on all threads; returns what they own.
    ///
    /// # Errors
    /// That of `work`; `System`; `Cancelled`.
    pub fn each<W: Send>(
        &self,
        own: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, TaskPoints<'_, T>) -> Result<()> + Sync,
    ) -> Result<Vec<W>> {
        let task = |worker: &mut Worker<T, W>, task: usize| {
            let first = task as u64 * self.task_points;
            let count = self.task_points.min(self.points.count - first) as usize;
            let (mut kept_bounds, mut kept_rows);
            let Worker { rows, bytes, bounds, own } = worker;
            let bounds = match self.bounds.get(task) {
                Some(kept) => {
                    kept_bounds = lock(kept);
                    &mut *kept_bounds
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
                Some(kept) => {
                    kept_rows = lock(kept);
                    &mut *kept_rows
                }
                None => {
                    rows.clear();
                    rows
                }
            };
            let rows = TaskCoordinates { points: self.points, first, count, rows, bytes };
            work(own, TaskPoints { first, count, bounds, rows })?;
            self.progress.advance(self.pass.of(first..first + count as u64))
        };
        let make = || Worker {
            rows: Vec::new(),
            bytes: Vec::new(),
            bounds: Bounds::default(),
            own: own(),
        };
        let tasks = self.points.count.div_ceil(self.task_points) as usize;
        let workers = parallel::run(self.threads, tasks, make, task, |_| {})?;
        Ok(workers.into_iter().map(|worker| worker.own).collect())
    }

    /// The largest absolute coordinate of each dimension.
    ///
    /// # Errors
    /// `Input` naming the first point of a task with a coordinate that can't be computed with;
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
        for one in self.each(|| vec![0.0f64; dimensions], work)? {
            all.iter_mut().zip(one).for_each(|(all, one)| *all = all.max(one));
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
