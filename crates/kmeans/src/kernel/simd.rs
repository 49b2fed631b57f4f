//! The nearest centres on vectors, chosen at run time: AVX-512, AVX2 with FMA, portable code. The
//! only file of this crate with `unsafe` code.
//!
//! The levels may round scores differently; the bound in [`CentreTable`] holds for all, so that
//! their answers agree once the points in doubt are decided.
#![allow(unsafe_code)]

use cuesta_core::cpu;

use super::{CentreTable, STRIP};

/// How far ahead points are asked for: processors by themselves look no further than a page.
const AHEAD_BYTES: usize = 8 << 10;

/// A level of vector instructions that this processor has.
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
    /// All levels of this processor, slowest first.
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

    /// The fastest level of this processor.
    pub fn best() -> Self {
        Self::available().pop().unwrap_or(Self(Kind::Portable))
    }

    /// Runs `work`, an `#[inline(always)]` closure, compiled for the level.
    #[inline(always)]
    pub fn run<R>(self, work: impl FnOnce() -> R) -> R {
        match self.0 {
            Kind::Portable => work(),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `available` is the only maker of this level, after asking the processor.
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

/// Points whose nearest centres are wanted.
pub struct NearestSearch<'a, T> {
    /// The centres.
    pub table: &'a CentreTable<T>,
    /// Whole strips.
    pub strips: &'a [T],
    /// Gets a centre for each point.
    pub found: &'a mut [u32],
    /// Gets a bit for each point of a strip: whether another centre may be nearer.
    pub doubt: &'a mut [u32],
}

impl<T> NearestSearch<'_, T> {
    fn check(&self) {
        let (dimensions, strips) = (self.table.origin.len(), self.doubt.len());
        assert_eq!(self.strips.len(), strips * dimensions * STRIP);
        assert_eq!(self.found.len(), strips * STRIP);
        assert_eq!(self.table.rows.len(), self.table.starts.len() * dimensions);
        assert!(self.table.starts.len().is_multiple_of(self.table.group));
    }
}

/// A register of numbers. The functions must run where the processor has its instructions.
trait Vector: Copy {
    type Scalar: Copy + Default;
    const LANES: usize;
    unsafe fn load(from: *const Self::Scalar) -> Self;
    unsafe fn splat(value: Self::Scalar) -> Self;
    unsafe fn number(index: usize) -> Self;
    unsafe fn lowest() -> Self;
    unsafe fn sub(self, other: Self) -> Self;
    /// self * factor + term
    unsafe fn fma(self, factor: Self, term: Self) -> Self;
    unsafe fn max(self, other: Self) -> Self;
    unsafe fn min(self, other: Self) -> Self;
    /// Lanes of `yes` where self > other, else of `no`.
    unsafe fn choose(self, other: Self, yes: Self, no: Self) -> Self;
    /// A bit for each lane where self > other.
    unsafe fn above(self, other: Self) -> u32;
    /// Stores whole numbers.
    unsafe fn store_whole(self, to: *mut u32);
    /// Asks for the cache line at `from`, which may be anywhere.
    fn prefetch(_from: *const Self::Scalar) {}
}

/// Nearest centres with groups of G centres and N vectors of points at once.
///
/// # Safety
/// The processor must have the instructions of `V`.
#[inline(always)]
unsafe fn tiles<V: Vector, const G: usize, const N: usize>(job: &mut NearestSearch<'_, V::Scalar>) {
    job.check();
    let table = job.table;
    let strip_size = table.origin.len() * STRIP;
    for (strip, doubt) in job.doubt.iter_mut().enumerate() {
        let found = job.found[strip * STRIP..][..STRIP].as_mut_ptr();
        let mut sure = 0;
        for first in (0..STRIP).step_by(N * V::LANES) {
            // SAFETY: `check` found as many strips as flags, and `first` is within one.
            let points = unsafe { job.strips.as_ptr().add(strip * strip_size + first) };
            // SAFETY: the vectors of a tile end within the strip, which has as many points as
            // `found`.
            let bits = unsafe { tile::<V, G, N>(table, points, found.add(first)) };
            sure |= bits << first;
        }
        *doubt = !sure;
    }
}

/// One tile: writes the best centres, returns a bit for each point that is sure of it.
///
/// # Safety
/// The processor must have the instructions of `V`; `points` must be in a strip with as many
/// dimensions as the table, N vectors before its end, and `best_at` have room for N vectors.
#[inline(always)]
unsafe fn tile<V: Vector, const G: usize, const N: usize>(
    table: &CentreTable<V::Scalar>,
    points: *const V::Scalar,
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
                    V::prefetch(at.wrapping_byte_add(AHEAD_BYTES).wrapping_add(n * V::LANES));
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
            index[n].store_whole(best_at.add(n * V::LANES));
        }
        sure
    }
}

macro_rules! by_group {
    ($job:expr, $vector:ty, $n:literal) => {
        // SAFETY: only called where the level's instructions were detected.
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
            pub fn f32(job: &mut NearestSearch<'_, f32>) {
                by_group!(job, $single, $n);
            }

            #[target_feature(enable = $features)]
            pub fn f64(job: &mut NearestSearch<'_, f64>) {
                by_group!(job, $double, $n);
            }
        }
    };
}

level!(on_avx512, "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma", x86::__m512, x86::__m512d, 2);
level!(on_avx2, "avx2,fma", x86::__m256, x86::__m256d, 1);

macro_rules! dispatch {
    ($name:ident, $scalar:ident, $portable:ty) => {
        /// Nearest centres in this precision.
        pub fn $name(level: VectorLevel, job: &mut NearestSearch<'_, $scalar>) {
            match level.0 {
                Kind::Portable => by_group!(job, $portable, 1),
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `available` is the only maker of this level, after asking the processor.
                Kind::Avx2 => unsafe { on_avx2::$scalar(job) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: as above.
                Kind::Avx512 => unsafe { on_avx512::$scalar(job) },
            }
        }
    };
}

dispatch!(nearest_f32, f32, [f32; 4]);
dispatch!(nearest_f64, f64, [f64; 2]);

macro_rules! portable {
    ($scalar:ty, $lanes:literal) => {
        impl Vector for [$scalar; $lanes] {
            type Scalar = $scalar;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn load(from: *const $scalar) -> Self {
                // SAFETY: the caller has so many lanes there; the cast needs no alignment.
                unsafe { from.cast::<Self>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn splat(value: $scalar) -> Self {
                [value; $lanes]
            }
            #[inline(always)]
            unsafe fn number(index: usize) -> Self {
                [index as $scalar; $lanes]
            }
            #[inline(always)]
            unsafe fn lowest() -> Self {
                [<$scalar>::NEG_INFINITY; $lanes]
            }
            #[inline(always)]
            unsafe fn sub(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] - other[i])
            }
            #[inline(always)]
            unsafe fn fma(self, factor: Self, term: Self) -> Self {
                std::array::from_fn(|i| self[i] * factor[i] + term[i])
            }
            #[inline(always)]
            unsafe fn max(self, other: Self) -> Self {
                std::array::from_fn(|i| if self[i] > other[i] { self[i] } else { other[i] })
            }
            #[inline(always)]
            unsafe fn min(self, other: Self) -> Self {
                std::array::from_fn(|i| if self[i] < other[i] { self[i] } else { other[i] })
            }
            #[inline(always)]
            unsafe fn choose(self, other: Self, yes: Self, no: Self) -> Self {
                std::array::from_fn(|i| if self[i] > other[i] { yes[i] } else { no[i] })
            }
            #[inline(always)]
            unsafe fn above(self, other: Self) -> u32 {
                (0..$lanes).fold(0, |bits, i| bits | u32::from(self[i] > other[i]) << i)
            }
            #[inline(always)]
            unsafe fn store_whole(self, to: *mut u32) {
                // SAFETY: the caller has so many lanes there.
                unsafe { to.cast::<[u32; $lanes]>().write(self.map(|value| value as u32)) }
            }
        }
    };
}

portable!(f32, 4);
portable!(f64, 2);

#[cfg(target_arch = "x86_64")]
mod x86;
