//! Nearest centres and sums, as pure functions on slices.
//!
//! Points are stored in strips: [`STRIP`] points, coordinate by coordinate, so that a vector
//! register holds one coordinate of many points.

pub mod grid;
pub mod simd;
pub mod table;

use cuesta_input::points::Coordinate;

pub use grid::{Grid, SquareSum};
pub use table::CentreTable;

/// Points of a strip.
pub const STRIP: usize = 32;
/// Strips whose nearest centres are computed before their points are moved: they fit in the cache
/// of a core.
const PIECE: usize = 16;
/// Cluster of a point that has none yet.
pub const NONE: u32 = u32::MAX;

/// Number type of the kernel.
pub trait Real: Coordinate + PartialOrd {
    /// Half the distance from 1 to the next number.
    const ROUNDOFF: f64;
    /// Smallest normal number.
    const TINY: f64;
    /// Finds the nearest centres of the points of complete strips, see [`simd::NearestSearch`].
    fn nearest(level: simd::VectorLevel, job: &mut simd::NearestSearch<'_, Self>);
    /// Copies rows of points into strips; lanes without a point are zero.
    fn lay(level: simd::VectorLevel, rows: &[Self], dimensions: usize, strips: &mut [Self]);
}

impl Real for f32 {
    const ROUNDOFF: f64 = 1.0 / (1u64 << 24) as f64;
    const TINY: f64 = f32::MIN_POSITIVE as f64;

    fn nearest(level: simd::VectorLevel, job: &mut simd::NearestSearch<'_, Self>) {
        simd::nearest_f32(level, job);
    }

    fn lay(level: simd::VectorLevel, rows: &[Self], dimensions: usize, strips: &mut [Self]) {
        simd::lay_f32(level, rows, dimensions, strips);
    }
}

impl Real for f64 {
    const ROUNDOFF: f64 = 1.0 / (1u64 << 53) as f64;
    const TINY: f64 = f64::MIN_POSITIVE;

    fn nearest(level: simd::VectorLevel, job: &mut simd::NearestSearch<'_, Self>) {
        simd::nearest_f64(level, job);
    }

    fn lay(level: simd::VectorLevel, rows: &[Self], dimensions: usize, strips: &mut [Self]) {
        simd::lay_f64(level, rows, dimensions, strips);
    }
}

/// Centres of an iteration, in double precision and in the layout of the vector kernel.
pub struct Centres<T> {
    /// Coordinates of a centre.
    pub dimensions: usize,
    /// Coordinates of all centres, one centre after the other.
    pub rows: Vec<f64>,
    table: CentreTable<T>,
}

impl<T: Real> Centres<T> {
    /// Prepares centres; products are relative to `origin`, any point near the centres.
    pub fn new(rows: Vec<f64>, origin: &[f64]) -> Self {
        let table = CentreTable::new(&rows, origin);
        Self { dimensions: origin.len(), rows, table }
    }

    /// Returns the coordinates of a centre.
    pub fn row(&self, cluster: usize) -> &[f64] {
        &self.rows[cluster * self.dimensions..][..self.dimensions]
    }

    /// Returns the index of the centre nearest to the point in `lane` of `strip`, from all squared
    /// distances in double precision; the first of those at equal distance.
    pub fn exact(&self, strip: &[T], lane: usize) -> u32 {
        let mut best = (f64::INFINITY, 0);
        for (cluster, row) in self.rows.chunks_exact(self.dimensions).enumerate() {
            let distance = distance(strip, lane, row);
            if distance < best.0 {
                best = (distance, cluster as u32);
            }
        }
        best.1
    }
}

/// Returns the squared distance of a point to a centre: squares added in the order of dimensions.
#[inline(always)]
pub fn distance<T: Real>(strip: &[T], lane: usize, centre: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (at, &middle) in strip[lane..].iter().step_by(STRIP).zip(centre) {
        let difference = at.to_f64() - middle;
        sum += difference * difference;
    }
    sum
}

/// Sums of the points of a thread, with its buffers.
pub struct Sums {
    /// Sums of the coordinates of each cluster on the grid, or the changes of these sums.
    pub coordinates: Vec<i64>,
    /// Points of each cluster.
    pub sizes: Vec<i64>,
    /// Sums of squared distances of each cluster on the grid.
    pub inertias: Vec<SquareSum>,
    nearest: Vec<u32>,
    doubt: Vec<u32>,
    point: Vec<i64>,
}

impl Sums {
    /// Creates sums of zero.
    pub fn new(clusters: usize, dimensions: usize) -> Self {
        Self {
            coordinates: vec![0; clusters * dimensions],
            sizes: vec![0; clusters],
            inertias: vec![SquareSum::default(); clusters],
            nearest: vec![0; PIECE * STRIP],
            doubt: vec![0; PIECE],
            point: vec![0; dimensions],
        }
    }

    /// Returns the memory of an instance, in bytes.
    pub fn size_bytes(clusters: usize, dimensions: usize) -> u64 {
        8 * (clusters as u64 + 1) * (dimensions as u64 + 3) + 4 * (PIECE * STRIP) as u64
    }

    /// Adds the sums of another thread.
    pub fn merge(&mut self, sums: &Self) {
        let add = |to: &mut [i64], from: &[i64]| {
            for (to, from) in to.iter_mut().zip(from) {
                *to = to.wrapping_add(*from);
            }
        };
        add(&mut self.coordinates, &sums.coordinates);
        add(&mut self.sizes, &sums.sizes);
        self.inertias.iter_mut().zip(&sums.inertias).for_each(|(to, from)| to.add(*from));
    }

    #[inline(always)]
    fn take(&mut self, strip: &[impl Real], lane: usize, grid: &Grid) {
        for (at, &value) in self.point.iter_mut().zip(strip[lane..].iter().step_by(STRIP)) {
            *at = value.to_f64().to_bits() as i64;
        }
        for (at, &scale) in self.point.iter_mut().zip(&grid.scales) {
            *at = Grid::round(f64::from_bits(*at as u64) * scale);
        }
    }

    #[inline(always)]
    fn change(&mut self, cluster: u32, sign: i64) {
        let dimensions = self.point.len();
        let sums = &mut self.coordinates[cluster as usize * dimensions..][..dimensions];
        for (sum, &value) in sums.iter_mut().zip(&self.point) {
            *sum = sum.wrapping_add(sign * value);
        }
        self.sizes[cluster as usize] += sign;
    }
}

/// Points of a job: complete strips, of which `clusters.len()` points are real.
pub struct Points<'a, T> {
    /// The strips.
    pub strips: &'a [T],
    /// Cluster of each point so far, replaced by the nearest.
    pub clusters: &'a mut [u32],
    /// Numbers that are read next, prefetched meanwhile; empty if they are in `strips`.
    pub next: &'a [T],
}

/// Assigns each point to its nearest centre; `sums` gets each point whose cluster changed.
pub fn assign<T: Real>(
    level: simd::VectorLevel,
    points: &mut Points<'_, T>,
    centres: &Centres<T>,
    grid: &Grid,
    sums: &mut Sums,
) {
    let mut next = points.next.chunks(PIECE * STRIP * centres.dimensions);
    let strip_size = STRIP * centres.dimensions;
    let pieces = points.strips.chunks(PIECE * strip_size);
    for (strips, clusters) in pieces.zip(points.clusters.chunks_mut(PIECE * STRIP)) {
        let count = strips.len() / strip_size;
        T::nearest(
            level,
            &mut simd::NearestSearch {
                table: &centres.table,
                strips,
                next: next.next().unwrap_or_default(),
                nearest: &mut sums.nearest[..count * STRIP],
                doubt: &mut sums.doubt[..count],
            },
        );
        for (index, strip) in strips.chunks_exact(strip_size).enumerate() {
            let lanes = STRIP.min(clusters.len().saturating_sub(index * STRIP));
            let old = &mut clusters[index * STRIP..][..lanes];
            settle(strip, index, old, centres, sums);
            if sums.nearest[index * STRIP..][..lanes] == *old {
                continue;
            }
            level.run(
                #[inline(always)]
                || move_points(strip, index, old, grid, sums),
            );
        }
    }
}

/// Decides the points in doubt by the definition.
fn settle<T: Real>(strip: &[T], index: usize, old: &[u32], centres: &Centres<T>, sums: &mut Sums) {
    let mut doubt = sums.doubt[index];
    while doubt != 0 {
        let lane = doubt.trailing_zeros() as usize;
        doubt &= doubt - 1;
        if lane < old.len() {
            sums.nearest[index * STRIP + lane] = centres.exact(strip, lane);
        }
    }
}

#[inline(always)]
fn move_points<T: Real>(strip: &[T], index: usize, old: &mut [u32], grid: &Grid, sums: &mut Sums) {
    for (lane, cluster) in old.iter_mut().enumerate() {
        let new = sums.nearest[index * STRIP + lane];
        if new == *cluster {
            continue;
        }
        sums.take(strip, lane, grid);
        sums.change(new, 1);
        if *cluster != NONE {
            sums.change(*cluster, -1);
        }
        *cluster = new;
    }
}

/// Adds the squared distances of all points to the centres of their clusters.
pub fn measure<T: Real>(
    level: simd::VectorLevel,
    points: &Points<'_, T>,
    centres: &Centres<T>,
    grid: &Grid,
    sums: &mut Sums,
) {
    let strips = points.strips.chunks_exact(STRIP * centres.dimensions);
    for (strip, clusters) in strips.zip(points.clusters.chunks(STRIP)) {
        level.run(
            #[inline(always)]
            || {
                for (lane, &cluster) in clusters.iter().enumerate() {
                    let square = distance(strip, lane, centres.row(cluster as usize));
                    sums.inertias[cluster as usize].add(grid.square(square));
                }
            },
        );
    }
}

/// Raises `largest` to the largest absolute coordinates of some strips; returns false if a
/// coordinate is NaN or above `limit`.
pub fn extend<T: Real>(
    level: simd::VectorLevel,
    strips: &[T],
    largest: &mut [f64],
    limit: f64,
) -> bool {
    let mut good = true;
    for strip in strips.chunks_exact(STRIP * largest.len()) {
        for (lanes, largest) in strip.as_chunks::<STRIP>().0.iter().zip(largest.iter_mut()) {
            let (most, fine) = level.run(
                #[inline(always)]
                || {
                    let mut most = [0.0; 8];
                    let mut fine = true;
                    for part in lanes.as_chunks::<8>().0 {
                        for (most, value) in most.iter_mut().zip(part) {
                            let size = value.to_f64().abs();
                            fine &= size <= limit;
                            *most = if size > *most { size } else { *most };
                        }
                    }
                    (most, fine)
                },
            );
            good &= fine;
            *largest = most.into_iter().fold(*largest, f64::max);
        }
    }
    good
}
