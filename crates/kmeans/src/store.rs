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
use crate::kernel::{self, NONE, Points, Real, STRIP, Sums};
use crate::seeding::limit;

/// Bytes of a chunk of points in memory, about.
const CHUNK_BYTES: usize = 2 << 20;
/// Bytes of a chunk of points that is read anew, about.
const STREAMED_BYTES: usize = 512 << 10;
/// Most products of coordinates in a chunk, about: a tenth of a second.
const CHUNK_PRODUCTS: usize = 1 << 30;
/// Bytes of points that are read at once, about: they stay in the cache of a core.
const PIECE_BYTES: usize = 64 << 10;
/// Bytes of points that are laid into strips at once, about, where they do not stay: the first
/// cache of a core has room for them, their strips and the points that are asked for meanwhile.
const LAID_BYTES: usize = 8 << 10;
/// Bytes of a line of a cache, and of a register.
const LINE_BYTES: usize = 64;
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

/// Points in strips, and the cluster of each, or [`NONE`].
struct Chunk<T> {
    strips: Vec<T>,
    found: Vec<u32>,
}

impl<T> Default for Chunk<T> {
    fn default() -> Self {
        Self { strips: Vec::new(), found: Vec::new() }
    }
}

/// Some or all points of a run.
pub struct PointStore<T> {
    points: Arc<PointFiles>,
    range: Range<u64>,
    chunk_points: u64,
    /// Empty when points are read anew for every pass.
    kept: Vec<Mutex<Chunk<T>>>,
    /// The clusters of points that are read anew, where they fit, so that a pass counts only the
    /// points that changed theirs.
    clusters: Vec<Mutex<Vec<u32>>>,
    threads: usize,
    level: VectorLevel,
    pass: Pass,
}

struct Worker<T, W> {
    /// Points that are read anew.
    chunk: Chunk<T>,
    reader: Reader<T>,
    own: W,
}

/// What a thread reads with.
struct Reader<T> {
    rows: Vec<T>,
    bytes: Vec<u8>,
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
            budget.take(beside, "a chunk of points for each thread")?;
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

    /// Calls `work` with the number of a point and some points from it on, then `end` with that of
    /// a chunk and the clusters of all its points; on all threads. Returns what they own.
    ///
    /// # Errors
    /// Those of `work` and `end`; `System`; `Cancelled`.
    pub fn each<W: Send>(
        &self,
        own: impl Fn() -> W + Sync,
        work: impl Fn(&mut W, u64, Points<'_, T>) -> Result<()> + Sync,
        end: impl Fn(&mut W, u64, &[u32]) -> Result<()> + Sync,
        progress: &Progress,
    ) -> Result<Vec<W>> {
        let make = || Worker {
            chunk: Chunk::default(),
            reader: Reader { rows: Vec::new(), bytes: Vec::new() },
            own: own(),
        };
        let task = |worker: &mut Worker<T, W>, task: usize| {
            let Worker { chunk, reader, own } = worker;
            let range = self.range(task);
            if let Some(kept) = self.kept.get(task) {
                let Chunk { strips, found } = &mut *lock(kept);
                let count = (range.end - range.start) as usize;
                let strips = aligned(strips, self.numbers(count));
                if found.is_empty() {
                    found.resize(count, NONE);
                    self.lay(range.start, strips, count, reader)?;
                }
                work(own, range.start, Points { strips, found, next: &[] })?;
                end(own, range.start, found)?;
            } else {
                let mut known = self.clusters.get(task).map(lock);
                let Chunk { strips, found } = chunk;
                found.clear();
                let found = known.as_deref_mut().unwrap_or(found);
                found.resize((range.end - range.start) as usize, NONE);
                self.stream(range.start, found, (strips, reader), |first, points| {
                    work(own, first, points)
                })?;
                end(own, range.start, found)?;
            }
            progress.advance(self.pass.of(range))
        };
        let workers = parallel::run(self.threads, self.chunks(), make, task, |_| {})?;
        Ok(workers.into_iter().map(|worker| worker.own).collect())
    }

    /// Calls `work` with some points after the other from `first` on; the next are told of while it
    /// computes with some.
    fn stream(
        &self,
        mut first: u64,
        found: &mut [u32],
        (strips, reader): (&mut Vec<T>, &mut Reader<T>),
        mut work: impl FnMut(u64, Points<'_, T>) -> Result<()>,
    ) -> Result<()> {
        let dimensions = self.points.dimensions;
        let laid = chunk_points(LAID_BYTES, dimensions * size_of::<T>()) as usize;
        let strips = aligned(strips, self.numbers(laid));
        for found in found.chunks_mut(self.piece_points()) {
            let mapped = self.points.mapped(first)?;
            let mut rows = self.rows(first, found.len(), mapped.as_deref(), reader)?;
            for found in found.chunks_mut(laid) {
                let strips = &mut strips[..self.numbers(found.len())];
                let (now, next) = rows.split_at(found.len() * dimensions);
                T::lay(self.level, now, dimensions, strips);
                let count = found.len() as u64;
                work(first, Points { strips, found, next })?;
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

    /// Numbers of the strips of so many points.
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

    /// Numbers of points from `first` on: those in memory where they are so many, else as many.
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

    /// The error about the first coordinate of some points that can't be computed with.
    fn bad_point(&self, first: u64, points: &Points<'_, T>) -> Error {
        let dimensions = self.points.dimensions;
        let limit = limit::<T>();
        for point in 0..points.found.len() {
            let strip = &points.strips[point / STRIP * STRIP * dimensions..];
            for dimension in 0..dimensions {
                let value = strip[dimension * STRIP + point % STRIP].to_f64();
                if value.is_nan() || value.abs() > limit {
                    let place = self.points.place(first + point as u64);
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

/// So many numbers, of which the first begins a line of a cache.
fn aligned<T: Real>(numbers: &mut Vec<T>, count: usize) -> &mut [T] {
    numbers.resize(count + LINE_BYTES / size_of::<T>(), T::default());
    let before = numbers.as_ptr().align_offset(LINE_BYTES);
    &mut numbers[before..before + count]
}

/// Points of about so many bytes: a whole number of strips.
fn chunk_points(bytes: usize, row_bytes: usize) -> u64 {
    ((bytes / row_bytes / STRIP).max(1) * STRIP) as u64
}

/// Bytes of what a thread reads into.
fn buffers_bytes(row_bytes: usize) -> u64 {
    // The points may be doubles in the file; then they are laid into strips.
    4 * chunk_points(PIECE_BYTES, row_bytes) * row_bytes as u64
        + 4 * chunk_points(STREAMED_BYTES, row_bytes)
}
