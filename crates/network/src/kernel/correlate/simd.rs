//! Vector operations of `correlate` and their choice at run time: AVX-512, AVX2 with FMA, or
//! portable code. The only file of this crate with `unsafe` code besides `verify/text/simd.rs`.
//!
//! Each kernel is written once, in `vector.rs`, over the operations below, and each result is one
//! fixed sequence of IEEE operations, so the three levels agree bit for bit.
#![allow(unsafe_code)]

use cuesta_core::cpu;

use super::vector::{
    CodeLane, Lane, Masked, Moments, Slice, Strip, TILE_COLUMNS, TILE_ROWS, Tile, kernels,
};

/// Level of vector instructions that this processor supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Calls the kernel of the level, whose features were detected when the `Isa` was made.
macro_rules! dispatch {
    ($isa:expr, $name:ident ( $($argument:expr),* )) => {
        match $isa.0 {
            Level::Portable => portable::$name($($argument),*),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only `Isa::available` makes this level, after detecting AVX2 and FMA.
            Level::Avx2 => unsafe { avx2::$name($($argument),*) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only `Isa::available` makes this level, after detecting AVX-512F.
            Level::Avx512 => unsafe { avx512::$name($($argument),*) },
        }
    };
}

impl Isa {
    /// Returns all levels of this processor, slowest first.
    pub fn available() -> Vec<Self> {
        let mut levels = vec![Self(Level::Portable)];
        #[cfg(target_arch = "x86_64")]
        {
            if cpu::has_avx2() {
                levels.push(Self(Level::Avx2));
            }
            if cpu::has_avx512() {
                levels.push(Self(Level::Avx512));
            }
        }
        levels
    }

    /// Returns the fastest level of this processor.
    pub fn best() -> Self {
        Self::available().pop().unwrap_or(Self(Level::Portable))
    }

    /// Returns, for each row of a tile of products of unit rows, a bit for each column whose
    /// absolute product is at least `limit`. Each product is one chain of fused multiply-adds in
    /// the order of the samples.
    pub(super) fn candidates(self, a: &[Slice], b: &[Strip], limit: f32) -> [u32; TILE_ROWS] {
        dispatch!(self, candidates(a, b, limit))
    }

    /// Adds the products over further samples to a tile.
    pub(super) fn product(self, a: &[Slice], b: &[Strip], tile: &mut Tile) {
        dispatch!(self, product(a, b, tile));
    }

    /// As [`Isa::candidates`], for a tile of finished products.
    pub(super) fn exceeding(self, tile: &Tile, limit: f32) -> [u32; TILE_ROWS] {
        dispatch!(self, exceeding(tile, limit))
    }

    /// Returns the products of one row with four rows, in double precision as [`Isa::dot`].
    pub(super) fn code_dots(self, x: &[CodeLane], ys: [&[CodeLane]; 4]) -> [f64; 4] {
        dispatch!(self, code_dots(x, ys))
    }

    /// Returns the product of two rows in eight partial sums, which are added as a fixed tree.
    pub(super) fn dot(self, x: &[Lane], y: &[Lane]) -> f64 {
        dispatch!(self, dot(x, y))
    }

    /// Returns all products of four rows with four rows, equal to those of [`Isa::dot`].
    pub(super) fn grid(self, xs: [&[Lane]; 4], ys: [&[Lane]; 4]) -> [[f64; 4]; 4] {
        dispatch!(self, grid(xs, ys))
    }

    /// Returns sums of one row and four rows over their common samples; `counts` has the numbers of
    /// common samples.
    pub(super) fn moments(self, x: Masked, ys: [Masked; 4], counts: [f64; 4]) -> [Moments; 4] {
        dispatch!(self, moments(x, ys, counts))
    }
}

/// Eight samples at a time in plain Rust; the compiler uses the instructions of the target.
mod portable {
    use super::*;

    type Single = [f32; 4];
    type Double = [f64; 8];
    const WIDTH: usize = 4;

    fn single_load(from: &[f32]) -> Single {
        std::array::from_fn(|i| from[i])
    }

    fn single_store(value: Single, to: &mut [f32]) {
        to[..WIDTH].copy_from_slice(&value);
    }

    fn single_splat(value: f32) -> Single {
        [value; WIDTH]
    }

    fn single_fma(a: Single, b: Single, c: Single) -> Single {
        std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
    }

    fn single_exceeding(value: Single, limit: f32) -> u32 {
        (0..WIDTH).fold(0, |bits, i| bits | u32::from(value[i].abs() >= limit) << i)
    }

    fn zero() -> Double {
        [0.0; 8]
    }

    fn load(from: &Lane) -> Double {
        *from
    }

    fn load_codes(from: &CodeLane) -> Double {
        from.map(f64::from)
    }

    fn splat(value: f64) -> Double {
        [value; 8]
    }

    fn add(a: Double, b: Double) -> Double {
        std::array::from_fn(|i| a[i] + b[i])
    }

    fn sub(a: Double, b: Double) -> Double {
        std::array::from_fn(|i| a[i] - b[i])
    }

    fn fma(a: Double, b: Double, c: Double) -> Double {
        std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
    }

    fn keep(value: Double, bits: u8) -> Double {
        std::array::from_fn(|i| if bits >> i & 1 == 1 { value[i] } else { 0.0 })
    }

    fn sum(v: Double) -> f64 {
        ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
    }

    kernels!(rows 2, vectors 2, y_rows 1);
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::*;

    type Single = __m256;
    type Double = [__m256d; 2];
    const WIDTH: usize = 8;

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn single_load(from: &[f32]) -> Single {
        let from = &from[..WIDTH];
        // SAFETY: the slice has eight elements; the load needs no alignment.
        unsafe { _mm256_loadu_ps(from.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn single_store(value: Single, to: &mut [f32]) {
        let to = &mut to[..WIDTH];
        // SAFETY: the slice has eight elements; the store needs no alignment.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), value) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn single_splat(value: f32) -> Single {
        _mm256_set1_ps(value)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn single_fma(a: Single, b: Single, c: Single) -> Single {
        _mm256_fmadd_ps(a, b, c)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn single_exceeding(value: Single, limit: f32) -> u32 {
        let absolute = _mm256_andnot_ps(_mm256_set1_ps(-0.0), value);
        _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GE_OQ>(absolute, _mm256_set1_ps(limit))) as u32
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn zero() -> Double {
        [_mm256_setzero_pd(); 2]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn load(from: &Lane) -> Double {
        // SAFETY: a lane has eight elements; the loads need no alignment.
        unsafe { [_mm256_loadu_pd(from.as_ptr()), _mm256_loadu_pd(from.as_ptr().add(4))] }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn load_codes(from: &CodeLane) -> Double {
        // SAFETY: a lane has eight elements; the load needs no alignment.
        let codes = unsafe { _mm256_loadu_si256(from.as_ptr().cast()) };
        [
            _mm256_cvtepi32_pd(_mm256_castsi256_si128(codes)),
            _mm256_cvtepi32_pd(_mm256_extracti128_si256::<1>(codes)),
        ]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn splat(value: f64) -> Double {
        [_mm256_set1_pd(value); 2]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn add(a: Double, b: Double) -> Double {
        [_mm256_add_pd(a[0], b[0]), _mm256_add_pd(a[1], b[1])]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn sub(a: Double, b: Double) -> Double {
        [_mm256_sub_pd(a[0], b[0]), _mm256_sub_pd(a[1], b[1])]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn fma(a: Double, b: Double, c: Double) -> Double {
        [_mm256_fmadd_pd(a[0], b[0], c[0]), _mm256_fmadd_pd(a[1], b[1], c[1])]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn keep(value: Double, bits: u8) -> Double {
        let all = _mm256_set1_epi64x(i64::from(bits));
        let half = |value, places| {
            let chosen = _mm256_cmpeq_epi64(_mm256_and_si256(all, places), places);
            _mm256_and_pd(value, _mm256_castsi256_pd(chosen))
        };
        [
            half(value[0], _mm256_setr_epi64x(1, 2, 4, 8)),
            half(value[1], _mm256_setr_epi64x(16, 32, 64, 128)),
        ]
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn sum(value: Double) -> f64 {
        let four = _mm256_add_pd(value[0], value[1]);
        let two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd::<1>(four));
        _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two))
    }

    kernels!(#[target_feature(enable = "avx2,fma")], rows 6, vectors 2, y_rows 1);
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::*;

    type Single = __m512;
    type Double = __m512d;
    const WIDTH: usize = 16;

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn single_load(from: &[f32]) -> Single {
        let from = &from[..WIDTH];
        // SAFETY: the slice has sixteen elements; the load needs no alignment.
        unsafe { _mm512_loadu_ps(from.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn single_store(value: Single, to: &mut [f32]) {
        let to = &mut to[..WIDTH];
        // SAFETY: the slice has sixteen elements; the store needs no alignment.
        unsafe { _mm512_storeu_ps(to.as_mut_ptr(), value) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn single_splat(value: f32) -> Single {
        _mm512_set1_ps(value)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn single_fma(a: Single, b: Single, c: Single) -> Single {
        _mm512_fmadd_ps(a, b, c)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn single_exceeding(value: Single, limit: f32) -> u32 {
        let absolute = _mm512_abs_ps(value);
        u32::from(_mm512_cmp_ps_mask::<_CMP_GE_OQ>(absolute, _mm512_set1_ps(limit)))
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn zero() -> Double {
        _mm512_setzero_pd()
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(from: &Lane) -> Double {
        // SAFETY: a lane has eight elements; the load needs no alignment.
        unsafe { _mm512_loadu_pd(from.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load_codes(from: &CodeLane) -> Double {
        // SAFETY: a lane has eight elements; the load needs no alignment.
        _mm512_cvtepi32_pd(unsafe { _mm256_loadu_si256(from.as_ptr().cast()) })
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn splat(value: f64) -> Double {
        _mm512_set1_pd(value)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn add(a: Double, b: Double) -> Double {
        _mm512_add_pd(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn sub(a: Double, b: Double) -> Double {
        _mm512_sub_pd(a, b)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn fma(a: Double, b: Double, c: Double) -> Double {
        _mm512_fmadd_pd(a, b, c)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn keep(value: Double, bits: u8) -> Double {
        _mm512_maskz_mov_pd(bits, value)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn sum(value: Double) -> f64 {
        let high = _mm512_extractf64x4_pd::<1>(value);
        let four = _mm256_add_pd(_mm512_castpd512_pd256(value), high);
        let two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd::<1>(four));
        _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two))
    }

    kernels!(#[target_feature(enable = "avx512f")], rows 12, vectors 2, y_rows 4);
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_core::random::Stream;

    fn lanes(seed: u64, count: usize) -> Vec<Lane> {
        let stream = Stream::new(seed, 0);
        (0..count)
            .map(|lane| std::array::from_fn(|i| stream.normal((8 * lane + i) as u64)))
            .collect()
    }

    #[test]
    fn the_levels_agree_on_a_product_bit_for_bit_and_follow_the_order_of_samples() {
        let (stream, limit) = (Stream::new(5, 0), 1.5);
        for depth in [0, 1, 2, 7, 64, 475] {
            let value = |k: u64, i: usize| stream.normal(100 * k + i as u64) as f32;
            let a: Vec<Slice> = (0..depth).map(|k| std::array::from_fn(|i| value(k, i))).collect();
            let b: Vec<Strip> =
                (0..depth).map(|k| std::array::from_fn(|j| value(k, 50 + j))).collect();
            let mut expected = Tile::default();
            for (i, row) in expected.0.iter_mut().enumerate() {
                for (j, value) in row.iter_mut().enumerate() {
                    *value = a.iter().zip(&b).fold(0.0, |sum, (a, b)| a[i].mul_add(b[j], sum));
                }
            }
            let bits = expected
                .0
                .map(|row| (0..32).fold(0, |bits, j| bits | u32::from(row[j].abs() >= limit) << j));
            for isa in Isa::available() {
                let mut tile = Tile::default();
                let half = a.len() / 2;
                isa.product(&a[..half], &b[..half], &mut tile);
                isa.product(&a[half..], &b[half..], &mut tile);
                assert_eq!(tile, expected, "{isa:?} at depth {depth}");
                assert_eq!(isa.exceeding(&tile, limit), bits, "{isa:?} at depth {depth}");
                assert_eq!(isa.candidates(&a, &b, limit), bits, "{isa:?} at depth {depth}");
            }
        }
    }

    #[test]
    fn the_levels_agree_on_double_sums_bit_for_bit() {
        for count in [0, 1, 2, 9, 60] {
            let rows: Vec<Vec<Lane>> = (0..8).map(|seed| lanes(seed, count)).collect();
            let codes: Vec<Vec<CodeLane>> = rows
                .iter()
                .map(|row| row.iter().map(|lane| lane.map(|v| (v * 3e8) as i32)).collect())
                .collect();
            let bits: Vec<Vec<u8>> = (0..8)
                .map(|seed| (0..count as u64).map(|i| Stream::new(seed, 1).bits(i) as u8).collect())
                .collect();
            let xs: [&[Lane]; 4] = std::array::from_fn(|i| &rows[i][..]);
            let ys: [&[Lane]; 4] = std::array::from_fn(|i| &rows[4 + i][..]);
            let code_ys: [&[CodeLane]; 4] = std::array::from_fn(|i| &codes[4 + i][..]);
            let masked = |i: usize| Masked { lanes: &rows[i], bits: &bits[i] };
            let masked_ys = std::array::from_fn(|i| masked(4 + i));
            let counts: [f64; 4] = std::array::from_fn(|j| {
                (0..count).map(|i| (bits[0][i] & bits[4 + j][i]).count_ones()).sum::<u32>().into()
            });
            let all: Vec<_> = Isa::available()
                .into_iter()
                .map(|isa| {
                    let grid = isa.grid(xs, ys);
                    assert_eq!(grid[2][3], isa.dot(xs[2], ys[3]));
                    let products = isa.code_dots(&codes[0], code_ys);
                    (grid, products, format!("{:?}", isa.moments(masked(0), masked_ys, counts)))
                })
                .collect();
            assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{count} lanes: {all:?}");
        }
    }
}
