//! Registers of AVX2 and AVX-512 as vectors.

pub use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

use std::arch::x86_64::*;

use super::{STRIP, Vector};

macro_rules! vector {
    (
        $vector:ty, $scalar:ty, $lanes:literal, $load:ident, $store_integers:expr, $splat:ident,
        $sub:ident, $fma:ident, $max:ident, $min:ident, $choose:expr, $above:expr,
        $tile:literal, $transpose:ident
    ) => {
        // SAFETY of every function: see the trait; loads and stores need no alignment.
        impl Vector for $vector {
            type Scalar = $scalar;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn load(from: *const $scalar) -> Self {
                unsafe { $load(from) }
            }
            #[inline(always)]
            unsafe fn splat(value: $scalar) -> Self {
                unsafe { $splat(value) }
            }
            #[inline(always)]
            unsafe fn number(index: usize) -> Self {
                unsafe { $splat(index as $scalar) }
            }
            #[inline(always)]
            unsafe fn lowest() -> Self {
                unsafe { $splat(<$scalar>::NEG_INFINITY) }
            }
            #[inline(always)]
            unsafe fn sub(self, other: Self) -> Self {
                unsafe { $sub(self, other) }
            }
            #[inline(always)]
            unsafe fn fma(self, factor: Self, term: Self) -> Self {
                unsafe { $fma(self, factor, term) }
            }
            #[inline(always)]
            unsafe fn max(self, other: Self) -> Self {
                unsafe { $max(self, other) }
            }
            #[inline(always)]
            unsafe fn min(self, other: Self) -> Self {
                unsafe { $min(self, other) }
            }
            #[inline(always)]
            unsafe fn choose(self, other: Self, yes: Self, no: Self) -> Self {
                unsafe { $choose(self, other, yes, no) }
            }
            #[inline(always)]
            unsafe fn above(self, other: Self) -> u32 {
                unsafe { $above(self, other) }
            }
            #[inline(always)]
            unsafe fn store_integers(self, to: *mut u32) {
                unsafe { $store_integers(to, self) }
            }
            const TILE: usize = $tile;
            #[inline(always)]
            unsafe fn transpose(points: *const $scalar, stride: usize, to: *mut $scalar) {
                let half = 32 / size_of::<$scalar>();
                for lane in (0..$lanes).step_by(half) {
                    unsafe { $transpose(points.add(lane * stride), stride, to.add(lane)) }
                }
            }
            #[inline(always)]
            fn prefetch(from: *const $scalar) {
                // SAFETY: a prefetch is a hint that accepts any address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
            }
        }
    };
}

vector!(
    __m512,
    f32,
    16,
    _mm512_loadu_ps,
    |to: *mut u32, v| _mm512_storeu_si512(to.cast(), _mm512_cvttps_epi32(v)),
    _mm512_set1_ps,
    _mm512_sub_ps,
    _mm512_fmadd_ps,
    _mm512_max_ps,
    _mm512_min_ps,
    |a, b, yes, no| _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b), no, yes),
    |a, b| u32::from(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b)),
    4,
    turn_256
);

vector!(
    __m512d,
    f64,
    8,
    _mm512_loadu_pd,
    |to: *mut u32, v| _mm256_storeu_si256(to.cast(), _mm512_cvttpd_epi32(v)),
    _mm512_set1_pd,
    _mm512_sub_pd,
    _mm512_fmadd_pd,
    _mm512_max_pd,
    _mm512_min_pd,
    |a, b, yes, no| _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b), no, yes),
    |a, b| u32::from(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b)),
    2,
    turn_256d
);

vector!(
    __m256,
    f32,
    8,
    _mm256_loadu_ps,
    |to: *mut u32, v| _mm256_storeu_si256(to.cast(), _mm256_cvttps_epi32(v)),
    _mm256_set1_ps,
    _mm256_sub_ps,
    _mm256_fmadd_ps,
    _mm256_max_ps,
    _mm256_min_ps,
    |a, b, yes, no| _mm256_blendv_ps(no, yes, _mm256_cmp_ps::<_CMP_GT_OQ>(a, b)),
    |a, b| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(a, b)) as u32,
    4,
    turn_256
);

vector!(
    __m256d,
    f64,
    4,
    _mm256_loadu_pd,
    |to: *mut u32, v| _mm_storeu_si128(to.cast(), _mm256_cvttpd_epi32(v)),
    _mm256_set1_pd,
    _mm256_sub_pd,
    _mm256_fmadd_pd,
    _mm256_max_pd,
    _mm256_min_pd,
    |a, b, yes, no| _mm256_blendv_pd(no, yes, _mm256_cmp_pd::<_CMP_GT_OQ>(a, b)),
    |a, b| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(a, b)) as u32,
    2,
    turn_256d
);

macro_rules! transpose {
    (
        $name:ident, $scalar:ty, $load:ident, $widen:ident, $insert:ident [$($part:literal),+],
        $store:ident, $turned:expr
    ) => {
        /// Transposes a tile: each register gets the coordinates of every TILE-th point, 16 bytes
        /// for each; transposed within these, they are the lanes of one coordinate.
        ///
        /// # Safety
        /// As for [`Vector::transpose`].
        #[inline(always)]
        unsafe fn $name(points: *const $scalar, stride: usize, to: *mut $scalar) {
            const TILE: usize = 16 / size_of::<$scalar>();
            // SAFETY: the caller guarantees TILE coordinates of this many points there, and space
            // for them.
            unsafe {
                let rows: [_; TILE] = std::array::from_fn(|row| {
                    let at = |part: usize| $load(points.add((row + part * TILE) * stride));
                    let all = $widen(at(0));
                    $(let all = $insert::<$part>(all, at($part));)+
                    all
                });
                let turned: [_; TILE] = $turned(rows);
                for (coordinate, lanes) in turned.into_iter().enumerate() {
                    $store(to.add(coordinate * STRIP), lanes);
                }
            }
        }
    };
}

macro_rules! turned_by_four {
    ($vector:ty, $low:ident, $high:ident, $pairs:ident) => {
        |[a, b, c, d]: [$vector; 4]| {
            let (ab, cd) = ($low(a, b), $low(c, d));
            let (ab_high, cd_high) = ($high(a, b), $high(c, d));
            [
                $pairs::<0x44>(ab, cd),
                $pairs::<0xEE>(ab, cd),
                $pairs::<0x44>(ab_high, cd_high),
                $pairs::<0xEE>(ab_high, cd_high),
            ]
        }
    };
}

transpose!(
    turn_256,
    f32,
    _mm_loadu_ps,
    _mm256_castps128_ps256,
    _mm256_insertf128_ps[1],
    _mm256_storeu_ps,
    turned_by_four!(__m256, _mm256_unpacklo_ps, _mm256_unpackhi_ps, _mm256_shuffle_ps)
);
transpose!(
    turn_256d,
    f64,
    _mm_loadu_pd,
    _mm256_castpd128_pd256,
    _mm256_insertf128_pd[1],
    _mm256_storeu_pd,
    |[a, b]: [__m256d; 2]| [_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b)]
);
