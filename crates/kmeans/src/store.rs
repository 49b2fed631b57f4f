//! Points where a run keeps them: in memory as strips, or on disk, read anew for every pass.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use cuesta_core::budget::Budget;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::points::PointFiles;
use cuesta_runtime::parallel::{self, lock};

use crate::amounts::Pass;
use crate::kernel::simd::VectorLevel;
use crate::kernel::{self, NONE, Real, STRIP, Sums};
use crate::seeding::limit;

/// Bytes of a chunk of points in memory, about.
const CHUNK_BYTES: usize = 2 << 20;
/// Bytes of a chunk of points that is read anew, about: it stays in the cache of a core.
const STREAMED_BYTES: usize = 512 << 10;
/// Most products of coordinates in a chunk, about: a tenth of a second.
const CHUNK_PRODUCTS: usize = 1 << 30;
/// Bytes of points that are read at once, about.
const PIECE_BYTES: usize = 128 << 10;
/// What the interpreter and the code take of the memory limit.
const RESERVED_BYTES: u64 = 64 << 20;

/// How much there is to do, and with what.
#[derive(Clone, Copy, Debug)]
pub struct StoreSettings {
    /// Clusters.
    pub clusters: usize,
    /// Threads.
    pub threads: usize,
    /// The memory limit.
    pub memory_bytes: u64,
    /// Whether points are to be kept from one pass to the next, where they fit.
    pub keep: bool,
    /// What a pass counts as in the progress.
    pub pass: Pass,
}

/// Some points in strips, with their clusters.
pub struct PointChunk<T> {
    /// Number of the first.
    pub first: u64,
    /// The strips.
    pub strips: Vec<T>,
    /// The cluster of each point, or [`NONE`].
    pub found: Vec<u32>,
}

impl<T> Default for PointChunk<T> {
    fn default() -> Self {
        Self { first: 0, strips: Vec::new(), found: Vec::new() }
    }
}

/// Some or all points of a run.
pub struct PointStore<T> {
    points: Arc<PointFiles>,
    range: Range<u64>,
    chunk_points: u64,
    /// Empty when points are read anew for every pass.
    kept: Vec<Mutex<PointChunk<T>>>,
    /// The clusters of points that are read anew, where they fit, so that a pass counts only the
    /// points that changed theirs.
    clusters: Vec<Mutex<Vec<u32>>>,
    threads: usize,
    level: VectorLevel,
    pass: Pass,
}

struct Worker<T, W> {
    chunk: PointChunk<T>,
    rows: Vec<T>,
    bytes: Vec<u8>,
    own: W,
}

impl<T: Real> PointStore<T> {
    /// Keeps the points of `range` in memory if they fit in the budget of `job`.
    ///
    /// # Errors
    /// `Input` when not even a chunk for each thread fits.
    pub fn new(points: Arc<PointFiles>, range: Range<u64>, job: &StoreSettings) -> Result<Self> {
        let row_bytes = points.dimensions * size_of::<T>() + 4;
        let beside = 2 * Sums::size_bytes(job.clusters, points.dimensions);
        let reserved = RESERVED_BYTES.min(job.memory_bytes / 2);
        let beside = reserved + job.threads as u64 * (beside + buffers_bytes(row_bytes));
        let count = range.end - range.start;
        let all = count.next_multiple_of(STRIP as u64).saturating_mul(row_bytes as u64);
        let budget = Budget::new(job.memory_bytes);
        let kept = job.keep && budget.try_take(beside.saturating_add(all)).is_some();
        let mut keeps_clusters = false;
        if !kept {
            let chunk = chunk_points(STREAMED_BYTES, row_bytes) * row_bytes as u64;
            let need = beside + job.threads as u64 * chunk;
            budget.take(need, "a chunk of points for each thread")?;
            keeps_clusters = budget.try_take(4 * count).is_some();
        }
        // Between two chunks the user may stop the run.
        let most = CHUNK_PRODUCTS / (job.clusters * points.dimensions) * row_bytes;
        let bytes = if kept { CHUNK_BYTES } else { STREAMED_BYTES };
        let chunk_points = chunk_points(bytes.min(most), row_bytes);
        let mut store = Self {
            points,
            range,
            chunk_points,
            kept: Vec::new(),
            clusters: Vec::new(),
            threads: job.threads,
            level: VectorLevel::best(),
            pass: job.pass,
        };
        if kept {
            store.kept = (0..store.chunks()).map(|_| Mutex::default()).collect();
        }
        if keeps_clusters {
            store.clusters = (0..store.chunks()).map(|_| Mutex::default()).collect();
        }
        Ok(store)
    }

    fn chunks(&self) -> usize {
        self.count().div_ceil(self.chunk_points) as usize
    }

    /// Whether the points stay in memory, and their clusters with them.
    pub fn keeps(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Whether the clusters of the points stay, be it without the points.
    pub fn keeps_clusters(&self) -> bool {
        self.keeps() || !self.clusters.is_empty()
    }

    /// How many points they are.
    pub fn count(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Bytes of the points in memory.
    pub fn size_bytes(&self) -> u64 {
        self.count() * (self.points.dimensions * size_of::<T>()) as u64
    }

    /// Reads all points, keeps them if they are to be kept, and returns the largest absolute
    /// coordinate of each dimension.
    ///
    /// # Errors
    /// `Input` naming the first point with a coordinate that is no number or too large; `System`;
    /// `Cancelled`.
    pub fn load(&self, progress: &Progress) -> Result<Vec<f64>> {
        let largest = || vec![0.0; self.points.dimensions];
        let work = |worker: &mut Worker<T, Vec<f64>>, task: usize| {
            let mut guard;
            let chunk = match self.kept.get(task) {
                Some(kept) => {
                    guard = lock(kept);
                    &mut *guard
                }
                None => &mut worker.chunk,
            };
            self.fill(task, chunk, &mut worker.rows, &mut worker.bytes)?;
            if !kernel::extend(self.level, &chunk.strips, &mut worker.own, limit::<T>()) {
                return Err(self.bad_point(chunk));
            }
            progress.advance(self.pass.of(self.range(task)))
        };
        let mut all = largest();
        for worker in self.run(largest, work)? {
            for (all, one) in all.iter_mut().zip(worker) {
                *all = all.max(one);
            }
        }
        Ok(all)
    }

    /// Calls `work` with each chunk on all threads; returns what they own.
    ///
    /// # Errors
    /// That of `work`; `System`; `Cancelled`.
    pub fn each<W: Send>(
        &self,
        own: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, &mut PointChunk<T>) -> Result<()> + Sync,
        progress: &Progress,
    ) -> Result<Vec<W>> {
        let task = |worker: &mut Worker<T, W>, task: usize| {
            match self.kept.get(task) {
                Some(kept) => {
                    let mut chunk = lock(kept);
                    if chunk.strips.is_empty() {
                        self.fill(task, &mut chunk, &mut worker.rows, &mut worker.bytes)?;
                    }
                    work(&mut worker.own, &mut chunk)?;
                }
                None => {
                    let chunk = &mut worker.chunk;
                    self.fill(task, chunk, &mut worker.rows, &mut worker.bytes)?;
                    let mut clusters = self.clusters.get(task).map(lock);
                    let known = clusters.as_deref_mut().filter(|known| !known.is_empty());
                    if let Some(known) = known {
                        chunk.found.copy_from_slice(known);
                    }
                    work(&mut worker.own, chunk)?;
                    if let Some(clusters) = &mut clusters {
                        clusters.clone_from(&chunk.found);
                    }
                }
            }
            progress.advance(self.pass.of(self.range(task)))
        };
        self.run(own, task)
    }

    fn run<W: Send>(
        &self,
        own: impl Fn() -> W + Sync,
        work: impl Fn(&mut Worker<T, W>, usize) -> Result<()> + Sync,
    ) -> Result<Vec<W>> {
        let make = || Worker {
            chunk: PointChunk::default(),
            rows: Vec::new(),
            bytes: Vec::new(),
            own: own(),
        };
        let workers = parallel::run(self.threads, self.chunks(), make, work, |_| {})?;
        Ok(workers.into_iter().map(|worker| worker.own).collect())
    }

    fn range(&self, task: usize) -> Range<u64> {
        let first = self.range.start + task as u64 * self.chunk_points;
        first..self.range.end.min(first + self.chunk_points)
    }

    /// Reads the points of a task into strips.
    fn fill(
        &self,
        task: usize,
        chunk: &mut PointChunk<T>,
        rows: &mut Vec<T>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        let range = self.range(task);
        let dimensions = self.points.dimensions;
        let count = (range.end - range.start) as usize;
        chunk.first = range.start;
        chunk.strips.resize(count.next_multiple_of(STRIP) * dimensions, T::default());
        chunk.found.clear();
        chunk.found.resize(count, NONE);
        let piece = chunk_points(PIECE_BYTES, dimensions * size_of::<T>()) as usize;
        let mut first = range.start;
        for strips in chunk.strips.chunks_mut(piece * dimensions) {
            let now = piece.min((range.end - first) as usize);
            rows.resize(now * dimensions, T::default());
            self.points.read(first, rows, bytes)?;
            kernel::lay(self.level, rows, dimensions, strips);
            first += now as u64;
        }
        Ok(())
    }

    /// The error about the first coordinate of a chunk that can't be computed with.
    fn bad_point(&self, chunk: &PointChunk<T>) -> Error {
        let dimensions = self.points.dimensions;
        let limit = limit::<T>();
        for point in 0..chunk.found.len() {
            let strip = &chunk.strips[point / STRIP * STRIP * dimensions..];
            for dimension in 0..dimensions {
                let value = strip[dimension * STRIP + point % STRIP].to_f64();
                if value.is_nan() || value.abs() > limit {
                    let place = self.points.place(chunk.first + point as u64);
                    let text = format!(
                        "coordinate {} of {place} is {value}; leave the point out, or give numbers \
                         from -{limit:e} to {limit:e}",
                        dimension + 1
                    );
                    return Error::input("kmeans", text);
                }
            }
        }
        Error::defect("kmeans", "every coordinate is a number after all")
    }
}

/// Points of about so many bytes: a whole number of strips.
fn chunk_points(bytes: usize, row_bytes: usize) -> u64 {
    ((bytes / row_bytes / STRIP).max(1) * STRIP) as u64
}

/// Bytes of what a thread reads into.
fn buffers_bytes(row_bytes: usize) -> u64 {
    // The points may be doubles in the file.
    3 * chunk_points(PIECE_BYTES, row_bytes) * row_bytes as u64
}
