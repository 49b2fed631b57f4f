//! Nearest centres on vectors, and the layout of points for them; the code is chosen at run time:
//! AVX-512, AVX2 with FMA, or portable.
//!
//! The levels may round scores differently; the bound in [`CentreTable`] holds for all levels, so
//! their answers agree once the points in doubt are decided.
#![allow(unsafe_code)]

use cuesta_core::cpu;

use super::{CentreTable, STRIP};

/// Distance of prefetches: the hardware prefetcher stops at page boundaries.
const AHEAD_BYTES: usize = 8 << 10;

/// Level of vector instructions that this processor supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorLevel(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl VectorLevel {
    /// Returns all levels of this processor, slowest first.
    pub fn available() -> Vec<Self> {
        let mut levels = vec![Self(Kind::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if cpu::has_avx2() {
                levels.push(Self(Kind::Avx2));
                if cpu::has_avx512() {
                    levels.push(Self(Kind::Avx512));
                }
            }
        }
        levels
    }

    /// Returns the fastest level of this processor.
    pub fn best() -> Self {
        Self::available().pop().unwrap_or(Self(Kind::Portable))
    }

    /// Runs `work`, an `#[inline(always)]` closure, compiled for the level.
    #[inline(always)]
    pub fn run<R>(self, work: impl FnOnce() -> R) -> R {
        match self.0 {
            Kind::Portable => work(),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only `available` makes this level, after detecting its instructions.
            Kind::Avx2 => unsafe { avx2(work) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kind::Avx512 => unsafe { avx512(work) },
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,bmi1,bmi2")]
fn avx512<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Points whose nearest centres are searched.
pub struct NearestSearch<'a, T> {
    /// The centres.
    pub table: &'a CentreTable<T>,
    /// Complete strips of points.
    pub strips: &'a [T],
    /// Numbers that are read next, prefetched meanwhile; empty if they follow the strips.
    pub next: &'a [T],
    /// Output: the nearest centre of each point.
    pub nearest: &'a mut [u32],
    /// Output: for each strip, a bit for each point for which another centre may be nearer.
    pub doubt: &'a mut [u32],
}

impl<T> NearestSearch<'_, T> {
    fn check(&self) {
        let (dimensions, strips) = (self.table.origin.len(), self.doubt.len());
        assert_eq!(self.strips.len(), strips * dimensions * STRIP);
        assert_eq!(self.nearest.len(), strips * STRIP);
        assert_eq!(self.table.rows.len(), self.table.starts.len() * dimensions);
        assert!(self.table.starts.len().is_multiple_of(self.table.group));
    }
}

/// Register of numbers. The functions must run where the processor has its instructions.
trait Vector: Copy {
    type Scalar: Copy + Default;
    const LANES: usize;
    unsafe fn load(from: *const Self::Scalar) -> Self;
    unsafe fn splat(value: Self::Scalar) -> Self;
    unsafe fn number(index: usize) -> Self;
    unsafe fn lowest() -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    /// Returns `self * factor + term`.
    unsafe fn fma(self, factor: Self, term: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    unsafe fn min(self, other: Self) -> Self;
    /// Returns the lanes of `yes` where self > other, else of `no`.
    unsafe fn choose(self, other: Self, yes: Self, no: Self) -> Self;
    /// Returns a bit for each lane where self > other.
    unsafe fn above(self, other: Self) -> u32;
    /// Stores lanes as integers.
    unsafe fn store_integers(self, to: *mut u32);
    /// Coordinates that [`transpose`](Self::transpose) transposes at once.
    const TILE: usize;
    /// Reads TILE coordinates of LANES points, which are `stride` numbers apart, and stores the
    /// lanes of each coordinate, [`STRIP`] numbers apart.
    unsafe fn transpose(points: *const Self::Scalar, stride: usize, to: *mut Self::Scalar);
    /// Prefetches the cache line at `from`, which may be any address.
    fn prefetch(_from: *const Self::Scalar) {}
}

/// Finds nearest centres with groups of G centres and N vectors of points at once.
///
/// # Safety
/// The processor must have the instructions of `V`.
#[inline(always)]
unsafe fn tiles<V: Vector, const G: usize, const N: usize>(job: &mut NearestSearch<'_, V::Scalar>) {
    job.check();
    let table = job.table;
    let strip_size = table.origin.len() * STRIP;
    let ahead_bytes = match job.next {
        [] => AHEAD_BYTES as isize,
        next => next.as_ptr().addr().wrapping_sub(job.strips.as_ptr().addr()) as isize,
    };
    for (strip, doubt) in job.doubt.iter_mut().enumerate() {
        let nearest = job.nearest[strip * STRIP..][..STRIP].as_mut_ptr();
        let mut sure = 0;
        for first in (0..STRIP).step_by(N * V::LANES) {
            // SAFETY: `check` compared the numbers of strips and flags, and `first` is within a
            // strip.
            let points = unsafe { job.strips.as_ptr().add(strip * strip_size + first) };
            // SAFETY: the vectors of a tile end within the strip, which has as many points as
            // `nearest`.
            let bits = unsafe { tile::<V, G, N>(table, points, ahead_bytes, nearest.add(first)) };
            sure |= bits << first;
        }
        *doubt = !sure;
    }
}

/// Processes a tile: writes the best centres, returns a bit for each point that has no other
/// candidate.
///
/// # Safety
/// The processor must have the instructions of `V`; `points` must be in a strip with as many
/// dimensions as the table, N vectors before its end, and `best_at` must have space for N vectors.
#[inline(always)]
unsafe fn tile<V: Vector, const G: usize, const N: usize>(
    table: &CentreTable<V::Scalar>,
    points: *const V::Scalar,
    ahead_bytes: isize,
    best_at: *mut u32,
) -> u32 {
    let dimensions = table.origin.len();
    // SAFETY: all reads are within the strip or, by the check of the job, within the table.
    unsafe {
        let mut best = [V::lowest(); N];
        let mut second = [V::lowest(); N];
        let mut index = [V::number(0); N];
        let mut size = [V::number(0); N];
        for group in 0..table.starts.len() / G {
            let starts = table.starts.as_ptr().add(group * G);
            let rows = table.rows.as_ptr().add(group * G * dimensions);
            let mut scores: [[V; N]; G] = std::array::from_fn(|g| [V::splat(*starts.add(g)); N]);
            size = [V::number(0); N];
            for dimension in 0..dimensions {
                let origin = V::splat(*table.origin.as_ptr().add(dimension));
                let at = points.add(dimension * STRIP);
                for n in 0..N {
                    V::prefetch(at.wrapping_byte_offset(ahead_bytes).wrapping_add(n * V::LANES));
                }
                let x: [V; N] = std::array::from_fn(|n| V::load(at.add(n * V::LANES)).sub(origin));
                for n in 0..N {
                    size[n] = x[n].fma(x[n], size[n]);
                }
                for (g, scores) in scores.iter_mut().enumerate() {
                    let centre = V::splat(*rows.add(dimension * G + g));
                    for n in 0..N {
                        scores[n] = x[n].fma(centre, scores[n]);
                    }
                }
            }
            for (g, scores) in scores.iter().enumerate() {
                let number = V::number(group * G + g);
                for n in 0..N {
                    second[n] = second[n].max(best[n].min(scores[n]));
                    index[n] = scores[n].choose(best[n], number, index[n]);
                    best[n] = best[n].max(scores[n]);
                }
            }
        }
        let (factor, base) = (V::splat(table.gap_factor), V::splat(table.gap_base));
        let mut sure = 0;
        for n in 0..N {
            let gap = best[n].sub(second[n]);
            sure |= gap.above(size[n].fma(factor, base)) << (n * V::LANES);
            index[n].store_integers(best_at.add(n * V::LANES));
        }
        sure
    }
}

/// Copies rows of points into strips; lanes without a point are zero.
///
/// # Safety
/// The processor must have the instructions of `V`.
#[inline(always)]
unsafe fn lay<V: Vector>(rows: &[V::Scalar], dimensions: usize, strips: &mut [V::Scalar]) {
    let strip_size = STRIP * dimensions;
    for (rows, strip) in rows.chunks(strip_size).zip(strips.chunks_exact_mut(strip_size)) {
        if rows.len() < strip_size {
            strip.fill(V::Scalar::default());
        }
        let points = rows.len() / dimensions;
        let turned = if dimensions < V::TILE { 0 } else { points / V::LANES * V::LANES };
        for first in (0..turned).step_by(V::LANES) {
            for start in (0..dimensions).step_by(V::TILE) {
                // The last two tiles of a point overlap.
                let start = start.min(dimensions - V::TILE);
                let from = first * dimensions + start;
                // SAFETY: `rows` and the strip have a tile of coordinates from `start` on, and
                // enough points from `first` on.
                unsafe {
                    let to = strip.as_mut_ptr().add(start * STRIP + first);
                    V::transpose(rows.as_ptr().add(from), dimensions, to);
                }
            }
        }
        for (lane, row) in rows.chunks_exact(dimensions).enumerate().skip(turned) {
            for (at, &value) in strip[lane..].iter_mut().step_by(STRIP).zip(row) {
                *at = value;
            }
        }
    }
}

macro_rules! by_group {
    ($job:expr, $vector:ty, $n:literal) => {
        // SAFETY: called only where the instructions of the level were detected.
        unsafe {
            match $job.table.group {
                2 => tiles::<$vector, 2, $n>($job),
                4 => tiles::<$vector, 4, $n>($job),
                6 => tiles::<$vector, 6, $n>($job),
                8 => tiles::<$vector, 8, $n>($job),
                10 => tiles::<$vector, 10, $n>($job),
                _ => tiles::<$vector, 12, $n>($job),
            }
        }
    };
}

macro_rules! level {
    ($name:ident, $features:literal, $single:ty, $double:ty, $n:literal) => {
        #[cfg(target_arch = "x86_64")]
        mod $name {
            use super::*;

            #[target_feature(enable = $features)]
            pub fn nearest_f32(job: &mut NearestSearch<'_, f32>) {
                by_group!(job, $single, $n);
            }

            #[target_feature(enable = $features)]
            pub fn nearest_f64(job: &mut NearestSearch<'_, f64>) {
                by_group!(job, $double, $n);
            }

            #[target_feature(enable = $features)]
            pub fn lay_f32(rows: &[f32], dimensions: usize, strips: &mut [f32]) {
                // SAFETY: the instructions are enabled for this function.
                unsafe { lay::<$single>(rows, dimensions, strips) }
            }

            #[target_feature(enable = $features)]
            pub fn lay_f64(rows: &[f64], dimensions: usize, strips: &mut [f64]) {
                // SAFETY: as above.
                unsafe { lay::<$double>(rows, dimensions, strips) }
            }
        }
    };
}

level!(on_avx512, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma", x86::__m512, x86::__m512d, 2);
level!(on_avx2, "avx2,fma", x86::__m256, x86::__m256d, 1);

macro_rules! dispatch {
    ($nearest:ident, $lay:ident, $scalar:ident, $portable:ty) => {
        /// Finds nearest centres in this precision.
        pub fn $nearest(level: VectorLevel, job: &mut NearestSearch<'_, $scalar>) {
            match level.0 {
                Kind::Portable => by_group!(job, $portable, 1),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: only `available` makes this level, after detecting its instructions.
                Kind::Avx2 => unsafe { on_avx2::$nearest(job) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Kind::Avx512 => unsafe { on_avx512::$nearest(job) },
            }
        }

        /// Copies rows of points into strips; lanes without a point are zero.
        pub fn $lay(
            level: VectorLevel,
            rows: &[$scalar],
            dimensions: usize,
            strips: &mut [$scalar],
        ) {
            match level.0 {
                // SAFETY: all processors have these instructions.
                Kind::Portable => unsafe { lay::<$portable>(rows, dimensions, strips) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: only `available` makes this level, after detecting its instructions.
                Kind::Avx2 => unsafe { on_avx2::$lay(rows, dimensions, strips) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Kind::Avx512 => unsafe { on_avx512::$lay(rows, dimensions, strips) },
            }
        }
    };
}

dispatch!(nearest_f32, lay_f32, f32, [f32; 4]);
dispatch!(nearest_f64, lay_f64, f64, [f64; 2]);

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;
