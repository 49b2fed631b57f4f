//! Vector operations of the product and their choice at run time: AVX-512, AVX2 with FMA, or
//! portable code. The only file of this crate with `unsafe` code.
//!
//! Each sum is one chain of fused multiply-adds, so the three levels agree bit for bit.
#![allow(unsafe_code)]

use cuesta_core::cpu;

use super::tile::{Column, ProductTile, Row, TILE_COLUMNS, TILE_ROWS, kernel};

/// Level of vector instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    /// Instructions of any processor.
    Portable,
    /// AVX2 with FMA; made only where they are detected.
    #[cfg(target_arch = "x86_64")]
    Avx2(Detected),
    /// AVX-512F; made only where it is detected.
    #[cfg(target_arch = "x86_64")]
    Avx512(Detected),
}

/// Proof that the instructions were detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Detected(());

impl Instructions {
    /// Returns the levels of this processor, slowest first.
    pub fn available() -> Vec<Self> {
        let mut levels = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if cpu::has_avx2() {
                levels.push(Self::Avx2(Detected(())));
            }
            if cpu::has_avx512() {
                levels.push(Self::Avx512(Detected(())));
            }
        }
        levels
    }

    /// Returns the fastest level of this processor.
    pub fn best() -> Self {
        Self::available().pop().unwrap_or(Self::Portable)
    }

    /// Adds the products of further terms to the sums of a tile, term by term.
    pub fn add(self, rows: &[Row], columns: &[Column], tile: &mut ProductTile) {
        match self {
            Self::Portable => portable::add(rows, columns, tile),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only `available` makes a proof, after detecting AVX2 and FMA.
            Self::Avx2(Detected(())) => unsafe { avx2::add(rows, columns, tile) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only `available` makes a proof, after detecting AVX-512F.
            Self::Avx512(Detected(())) => unsafe { avx512::add(rows, columns, tile) },
        }
    }
}

mod portable {
    use super::*;

    type Vector = [f64; 4];
    const WIDTH: usize = 4;

    fn load(from: &[f64]) -> Vector {
        std::array::from_fn(|i| from[i])
    }

    fn store(value: Vector, to: &mut [f64]) {
        to[..WIDTH].copy_from_slice(&value);
    }

    fn splat(value: f64) -> Vector {
        [value; WIDTH]
    }

    fn fma(a: Vector, b: Vector, c: Vector) -> Vector {
        std::array::from_fn(|i| a[i].mul_add(b[i], c[i]))
    }

    kernel!(rows 2, vectors 2);
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::*;

    type Vector = __m256d;
    const WIDTH: usize = 4;

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn load(from: &[f64]) -> Vector {
        let from = &from[..WIDTH];
        // SAFETY: the slice has four elements; the load needs no alignment.
        unsafe { _mm256_loadu_pd(from.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn store(value: Vector, to: &mut [f64]) {
        let to = &mut to[..WIDTH];
        // SAFETY: the slice has four elements; the store needs no alignment.
        unsafe { _mm256_storeu_pd(to.as_mut_ptr(), value) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn splat(value: f64) -> Vector {
        _mm256_set1_pd(value)
    }

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    fn fma(a: Vector, b: Vector, c: Vector) -> Vector {
        _mm256_fmadd_pd(a, b, c)
    }

    kernel!(#[target_feature(enable = "avx2,fma")], rows 6, vectors 2);
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    use super::*;

    type Vector = __m512d;
    const WIDTH: usize = 8;

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(from: &[f64]) -> Vector {
        let from = &from[..WIDTH];
        // SAFETY: the slice has eight elements; the load needs no alignment.
        unsafe { _mm512_loadu_pd(from.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(value: Vector, to: &mut [f64]) {
        let to = &mut to[..WIDTH];
        // SAFETY: the slice has eight elements; the store needs no alignment.
        unsafe { _mm512_storeu_pd(to.as_mut_ptr(), value) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn splat(value: f64) -> Vector {
        _mm512_set1_pd(value)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn fma(a: Vector, b: Vector, c: Vector) -> Vector {
        _mm512_fmadd_pd(a, b, c)
    }

    kernel!(#[target_feature(enable = "avx512f")], rows 12, vectors 2);
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuesta_core::random::Stream;

    #[test]
    fn the_levels_agree_bit_for_bit_and_follow_the_order_of_terms() {
        for depth in [0, 1, 2, 7, 64, 475] {
            let value = |k: usize, i: usize| Stream::new(5, k as u64).normal(i as u64);
            let rows: Vec<Row> = (0..depth).map(|k| std::array::from_fn(|i| value(k, i))).collect();
            let columns: Vec<Column> =
                (0..depth).map(|k| std::array::from_fn(|j| value(k, 50 + j))).collect();
            let mut expected = ProductTile::default();
            for (i, row) in expected.0.iter_mut().enumerate() {
                for (j, sum) in row.iter_mut().enumerate() {
                    let terms = rows.iter().zip(&columns);
                    *sum = terms.fold(0.0, |sum, (a, b)| a[i].mul_add(b[j], sum));
                }
            }
            for level in Instructions::available() {
                let mut tile = ProductTile::default();
                let half = depth / 2;
                level.add(&rows[..half], &columns[..half], &mut tile);
                level.add(&rows[half..], &columns[half..], &mut tile);
                assert_eq!(tile, expected, "{level:?} at depth {depth}");
            }
        }
    }
}
