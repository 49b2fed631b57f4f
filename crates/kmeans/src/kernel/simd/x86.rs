//! The registers of AVX2 and AVX-512 as vectors.

pub use std::arch::x86_64::{__m256, __m256d, __m512, __m512d};

use std::arch::x86_64::*;

use super::Vector;

macro_rules! vector {
    (
        $vector:ty, $scalar:ty, $lanes:literal, $load:ident, $store_whole:expr, $splat:ident,
        $sub:ident, $fma:ident, $max:ident, $min:ident, $choose:expr, $above:expr
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
            unsafe fn store_whole(self, to: *mut u32) {
                unsafe { $store_whole(to, self) }
            }
            #[inline(always)]
            fn prefetch(from: *const $scalar) {
                // SAFETY: a hint, which no address makes fail.
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
    |a, b| u32::from(_mm512_cmp_ps_mask::<_CMP_GT_OQ>(a, b))
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
    |a, b| u32::from(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b))
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
    |a, b| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_GT_OQ>(a, b)) as u32
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
    |a, b| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GT_OQ>(a, b)) as u32
);
