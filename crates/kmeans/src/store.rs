//! Storage of the points of a run: in memory as strips, or on disk, read again for each pass.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use cuesta_core::budget::Budget;
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::points::PointFiles;
use cuesta_input::table::shown_number;
use cuesta_runtime::parallel::{self, lock};

use crate::amounts::Pass;
use crate::kernel::simd::VectorLevel;
use crate::kernel::{self, NONE, Points, Real, STRIP, Sums};
use crate::seeding::limit;

/// Approximate size of a chunk of points in memory, in bytes.
const CHUNK_BYTES: usize = 2 << 20;
/// Approximate size of a chunk of points that is read again, in bytes.
const STREAMED_BYTES: usize = 512 << 10;
/// Approximate maximum number of products of coordinates in a chunk: a tenth of a second.
const CHUNK_PRODUCTS: usize = 1 << 30;
/// Approximate size of the points that are read at once, in bytes: they fit in the cache of a core.
const PIECE_BYTES: usize = 64 << 10;
/// Approximate size of the points copied into strips at once, in bytes, if they are not stored: the
/// first-level cache of a core has space for them, their strips and the points prefetched
/// meanwhile.
const LAID_BYTES: usize = 8 << 10;
/// Bytes of a cache line, and of a register.
const LINE_BYTES: usize = 64;
/// Part of the memory limit for the interpreter and the code.
const RESERVED_BYTES: u64 = 64 << 20;

/// Amount of work, and its resources.
#[derive(Clone, Copy, Debug)]
pub struct StoreSettings<'a> {
    /// Clusters.
    pub clusters: usize,
    /// Threads.
    pub threads: usize,
    /// The memory of the process.
    pub budget: &'a Budget,
    /// Whether points stay in memory from one pass to the next, if they fit.
    pub keep: bool,
    /// Progress of a pass.
    pub pass: Pass,
}

/// Points in strips, and the cluster of each, or [`NONE`].
struct Chunk<T> {
    strips: Vec<T>,
    clusters: Vec<u32>,
}

impl<T> Default for Chunk<T> {
    fn default() -> Self {
        Self { strips: Vec::new(), clusters: Vec::new() }
    }
}

/// Some or all points of a run.
pub struct PointStore<T> {
    points: Arc<PointFiles>,
    range: Range<u64>,
    chunk_points: u64,
    /// Chunks in memory; empty if points are read again for each pass.
    chunks_in_memory: Vec<Mutex<Chunk<T>>>,
    /// Clusters of points that are read again, if they fit in memory, so that a pass counts only
    /// the points whose cluster changed.
    clusters: Vec<Mutex<Vec<u32>>>,
    threads: usize,
    level: VectorLevel,
    pass: Pass,
}

struct Worker<T, W> {
    /// Points that are read again.
    chunk: Chunk<T>,
    reader: Reader<T>,
    state: W,
}

/// Read buffers of a thread.
struct Reader<T> {
    rows: Vec<T>,
    bytes: Vec<u8>,
}

impl<T: Real> PointStore<T> {
    /// Plans to hold the points of `range` in memory if they fit in the budget of `job`.
    ///
    /// # Errors
    /// `Input` if not even a chunk for each thread fits.
    pub fn new(
        points: Arc<PointFiles>,
        range: Range<u64>,
        job: &StoreSettings<'_>,
    ) -> Result<Self> {
        let row_bytes = points.dimensions * size_of::<T>() + 4;
        let reserved_bytes = 2 * Sums::size_bytes(job.clusters, points.dimensions);
        let reserved = RESERVED_BYTES.min(job.budget.limit_bytes() / 2);
        let reserved_bytes =
            reserved + job.threads as u64 * (reserved_bytes + buffers_bytes(row_bytes));
        let count = range.end - range.start;
        let all = count.next_multiple_of(STRIP as u64).saturating_mul(row_bytes as u64);
        let fits = job.keep && job.budget.try_take(reserved_bytes.saturating_add(all)).is_some();
        let mut keeps_clusters = false;
        if !fits {
            job.budget.take(reserved_bytes, "a chunk of points for each thread")?;
            keeps_clusters = job.budget.try_take(4 * count).is_some();
        }
        // A run can be cancelled between two chunks.
        let most = CHUNK_PRODUCTS / (job.clusters * points.dimensions) * row_bytes;
        let bytes = if fits { CHUNK_BYTES } else { STREAMED_BYTES };
        let chunk_points = chunk_points(bytes.min(most), row_bytes);
        let mut store = Self {
            points,
            range,
            chunk_points,
            chunks_in_memory: Vec::new(),
            clusters: Vec::new(),
            threads: job.threads,
            level: VectorLevel::best(),
            pass: job.pass,
        };
        if fits {
            store.chunks_in_memory = (0..store.chunks()).map(|_| Mutex::default()).collect();
        }
        if keeps_clusters {
            store.clusters = (0..store.chunks()).map(|_| Mutex::default()).collect();
        }
        Ok(store)
    }

    fn chunks(&self) -> usize {
        self.count().div_ceil(self.chunk_points) as usize
    }

    /// Whether the points and their clusters stay in memory.
    pub fn keeps(&self) -> bool {
        !self.chunks_in_memory.is_empty()
    }

    /// Whether the clusters of the points stay in memory, with or without the points.
    pub fn keeps_clusters(&self) -> bool {
        self.keeps() || !self.clusters.is_empty()
    }

    /// Returns the number of points.
    pub fn count(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// Returns the size of the points in memory, in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.count() * (self.points.dimensions * size_of::<T>()) as u64
    }

    /// Reads all points, stores them if they stay in memory, and returns the largest absolute
    /// coordinate of each dimension.
    ///
    /// # Errors
    /// `Input` naming the first point with a coordinate that is NaN or too large; `System`;
    /// `Cancelled`.
    pub fn load(&self, progress: &Progress) -> Result<Vec<f64>> {
        let largest = || vec![0.0; self.points.dimensions];
        let work = |largest: &mut Vec<f64>, first: u64, points: Points<'_, T>| {
            if kernel::extend(self.level, points.strips, largest, limit::<T>()) {
                return Ok(());
            }
            Err(self.bad_point(first, &points))
        };
        let mut all = largest();
        for worker in self.each(largest, work, |_, _, _| Ok(()), progress)? {
            for (all, one) in all.iter_mut().zip(worker) {
                *all = all.max(one);
            }
        }
        Ok(all)
    }

    /// Calls `work` with the number of a point and some points from it on, then `end` with the
    /// first number of a chunk and the clusters of all its points; on all threads. Returns the
    /// states of the threads, made by `new_state`.
    ///
    /// # Errors
    /// Errors of `work` and `end`; `System`; `Cancelled`.
    pub fn each<W: Send>(
        &self,
        new_state: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, u64, Points<'_, T>) -> Result<()> + Sync,
        end: impl Fn(&mut W, u64, &[u32]) -> Result<()> + Sync,
        progress: &Progress,
    ) -> Result<Vec<W>> {
        let make = || Worker {
            chunk: Chunk::default(),
            reader: Reader { rows: Vec::new(), bytes: Vec::new() },
            state: new_state(),
        };
        let task = |worker: &mut Worker<T, W>, task: usize| {
            let Worker { chunk, reader, state } = worker;
            let range = self.range(task);
            if let Some(stored_chunk) = self.chunks_in_memory.get(task) {
                let Chunk { strips, clusters } = &mut *lock(stored_chunk);
                let count = (range.end - range.start) as usize;
                let strips = aligned(strips, self.numbers(count));
                if clusters.is_empty() {
                    clusters.resize(count, NONE);
                    self.lay(range.start, strips, count, reader)?;
                }
                work(state, range.start, Points { strips, clusters, next: &[] })?;
                end(state, range.start, clusters)?;
            } else {
                let mut stored_clusters = self.clusters.get(task).map(lock);
                let Chunk { strips, clusters } = chunk;
                clusters.clear();
                let clusters = stored_clusters.as_deref_mut().unwrap_or(clusters);
                clusters.resize((range.end - range.start) as usize, NONE);
                self.stream(range.start, clusters, (strips, reader), |first, points| {
                    work(state, first, points)
                })?;
                end(state, range.start, clusters)?;
            }
            progress.advance(self.pass.of(range))
        };
        let workers = parallel::run(self.threads, self.chunks(), make, task, |_| {})?;
        Ok(workers.into_iter().map(|worker| worker.state).collect())
    }

    /// Calls `work` with groups of consecutive points from `first` on; the next group is prefetched
    /// meanwhile.
    fn stream(
        &self,
        mut first: u64,
        clusters: &mut [u32],
        (strips, reader): (&mut Vec<T>, &mut Reader<T>),
        mut work: impl FnMut(u64, Points<'_, T>) -> Result<()>,
    ) -> Result<()> {
        let dimensions = self.points.dimensions;
        let laid = chunk_points(LAID_BYTES, dimensions * size_of::<T>()) as usize;
        let strips = aligned(strips, self.numbers(laid));
        for clusters in clusters.chunks_mut(self.piece_points()) {
            let mapped = self.points.mapped(first)?;
            let mut rows = self.rows(first, clusters.len(), mapped.as_deref(), reader)?;
            for clusters in clusters.chunks_mut(laid) {
                let strips = &mut strips[..self.numbers(clusters.len())];
                let (now, next) = rows.split_at(clusters.len() * dimensions);
                T::lay(self.level, now, dimensions, strips);
                let count = clusters.len() as u64;
                work(first, Points { strips, clusters, next })?;
                first += count;
                rows = next;
            }
        }
        Ok(())
    }

    fn range(&self, task: usize) -> Range<u64> {
        let first = self.range.start + task as u64 * self.chunk_points;
        first..self.range.end.min(first + self.chunk_points)
    }

    /// Returns the count of numbers in the strips of `points` points.
    fn numbers(&self, points: usize) -> usize {
        points.next_multiple_of(STRIP) * self.points.dimensions
    }

    fn piece_points(&self) -> usize {
        chunk_points(PIECE_BYTES, self.points.dimensions * size_of::<T>()) as usize
    }

    /// Reads points into strips.
    fn lay(
        &self,
        mut first: u64,
        strips: &mut [T],
        mut count: usize,
        reader: &mut Reader<T>,
    ) -> Result<()> {
        let (dimensions, piece) = (self.points.dimensions, self.piece_points());
        for strips in strips.chunks_mut(piece * dimensions) {
            let now = piece.min(count);
            let mapped = self.points.mapped(first)?;
            let rows = self.rows(first, now, mapped.as_deref(), reader)?;
            T::lay(self.level, &rows[..now * dimensions], dimensions, strips);
            first += now as u64;
            count -= now;
        }
        Ok(())
    }

    /// Returns the numbers of points from `first` on: from mapped memory if it has enough, else
    /// read.
    fn rows<'a>(
        &self,
        first: u64,
        count: usize,
        mapped: Option<&'a [T]>,
        reader: &'a mut Reader<T>,
    ) -> Result<&'a [T]> {
        let numbers = count * self.points.dimensions;
        if let Some(mapped) = mapped.filter(|mapped| mapped.len() >= numbers) {
            return Ok(mapped);
        }
        reader.rows.resize(numbers, T::default());
        self.points.read(first, &mut reader.rows, &mut reader.bytes)?;
        Ok(&reader.rows)
    }

    /// Returns the error about the first unusable coordinate of some points.
    fn bad_point(&self, first: u64, points: &Points<'_, T>) -> Error {
        let dimensions = self.points.dimensions;
        let limit = limit::<T>();
        for point in 0..points.clusters.len() {
            let strip = &points.strips[point / STRIP * STRIP * dimensions..];
            for dimension in 0..dimensions {
                let value = strip[dimension * STRIP + point % STRIP].to_f64();
                if value.is_nan() || value.abs() > limit {
                    let place = self.points.place(first + point as u64);
                    let value = shown_number(value);
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

/// Returns `count` numbers, the first of which is at the start of a cache line.
fn aligned<T: Real>(numbers: &mut Vec<T>, count: usize) -> &mut [T] {
    numbers.resize(count + LINE_BYTES / size_of::<T>(), T::default());
    let before = numbers.as_ptr().align_offset(LINE_BYTES);
    &mut numbers[before..before + count]
}

/// Returns the number of points of about `bytes` bytes: a multiple of the strip size.
fn chunk_points(bytes: usize, row_bytes: usize) -> u64 {
    ((bytes / row_bytes / STRIP).max(1) * STRIP) as u64
}

/// Returns the size of the read buffers of a thread, in bytes.
fn buffers_bytes(row_bytes: usize) -> u64 {
    // The points may be doubles in the file; then they are copied into strips.
    4 * chunk_points(PIECE_BYTES, row_bytes) * row_bytes as u64
        + 4 * chunk_points(STREAMED_BYTES, row_bytes)
}
