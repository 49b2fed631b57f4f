//! Classification of 64 bytes of text at once: ends of fields and lines, and digits. Scalar, AVX2
//! and AVX-512 implementations return the same bits.
//!
//! The only file of this crate with `unsafe` code, for vector loads, besides
//! `kernel/correlate/simd.rs`.
#![allow(unsafe_code)]

/// Number of bytes classified at once.
pub const WIDTH: usize = 64;

/// Largest control character that ends a field: bytes of fields are ASCII and above it.
const LAST_BREAK: i8 = b'\r' as i8;

/// Positions of characters: bit i is byte i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Tabs.
    pub tabs: u64,
    /// Digits, 0 to 9.
    pub digits: u64,
    /// The digit 0.
    pub zeros: u64,
}

/// Classifier of bytes for a kind of processor.
pub trait ByteClassifier: Copy {
    /// Detects tabs and digits.
    fn classes(self, bytes: &[u8; WIDTH]) -> Classes;
    /// Detects bytes that end a field or cannot be in a field: up to carriage return, or not ASCII.
    fn breaks(self, bytes: &[u8; WIDTH]) -> u64;
    /// Runs `work` compiled for this processor; `work` must be `#[inline(always)]` throughout.
    fn enter<R>(self, work: impl FnOnce() -> R) -> R;
}

/// Classifier for any processor.
#[derive(Clone, Copy, Debug)]
pub struct ScalarClassifier;

impl ByteClassifier for ScalarClassifier {
    #[inline(always)]
    fn classes(self, bytes: &[u8; WIDTH]) -> Classes {
        Classes {
            tabs: bits(bytes, |byte| byte == b'\t'),
            digits: bits(bytes, |byte| byte.is_ascii_digit()),
            zeros: bits(bytes, |byte| byte == b'0'),
        }
    }

    #[inline(always)]
    fn breaks(self, bytes: &[u8; WIDTH]) -> u64 {
        bits(bytes, |byte| byte as i8 <= LAST_BREAK)
    }

    #[inline(always)]
    fn enter<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }
}

#[inline(always)]
fn bits(bytes: &[u8; WIDTH], is: impl Fn(u8) -> bool) -> u64 {
    bytes.iter().enumerate().fold(0, |sum, (place, &byte)| sum | (u64::from(is(byte)) << place))
}

#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use cuesta_core::cpu;

    use super::{ByteClassifier, Classes, LAST_BREAK, WIDTH};
    use std::arch::x86_64::*;

    /// Classifier for AVX2 with BMI. Made only after detecting the instructions.
    #[derive(Clone, Copy, Debug)]
    pub struct Avx2(());

    impl Avx2 {
        /// Returns the classifier if this processor supports AVX2 with BMI.
        pub fn detect() -> Option<Self> {
            cpu::has_avx2().then_some(Self(()))
        }
    }

    impl ByteClassifier for Avx2 {
        #[inline(always)]
        fn classes(self, bytes: &[u8; WIDTH]) -> Classes {
            // SAFETY: `detect` found AVX2; both loads are inside the 64 bytes.
            unsafe { classes_avx2(bytes) }
        }

        #[inline(always)]
        fn breaks(self, bytes: &[u8; WIDTH]) -> u64 {
            // SAFETY: `detect` found AVX2; both loads are inside the 64 bytes.
            unsafe { breaks_avx2(bytes) }
        }

        #[inline(always)]
        fn enter<R>(self, work: impl FnOnce() -> R) -> R {
            // SAFETY: `detect` found the instructions.
            unsafe { enter_avx2(work) }
        }
    }

    /// Classifier for AVX-512BW with BMI. Made only after detecting the instructions.
    #[derive(Clone, Copy, Debug)]
    pub struct Avx512(());

    impl Avx512 {
        /// Returns the classifier if this processor supports AVX-512BW with BMI.
        pub fn detect() -> Option<Self> {
            cpu::has_avx512().then_some(Self(()))
        }
    }

    impl ByteClassifier for Avx512 {
        #[inline(always)]
        fn classes(self, bytes: &[u8; WIDTH]) -> Classes {
            // SAFETY: `detect` found AVX-512; the load is the 64 bytes.
            unsafe { classes_avx512(bytes) }
        }

        #[inline(always)]
        fn breaks(self, bytes: &[u8; WIDTH]) -> u64 {
            // SAFETY: `detect` found AVX-512; the load is the 64 bytes.
            unsafe { breaks_avx512(bytes) }
        }

        #[inline(always)]
        fn enter<R>(self, work: impl FnOnce() -> R) -> R {
            // SAFETY: `detect` found the instructions.
            unsafe { enter_avx512(work) }
        }
    }

    #[target_feature(enable = "avx2,bmi1")]
    fn enter_avx2<R>(work: impl FnOnce() -> R) -> R {
        work()
    }

    #[target_feature(enable = "avx512f,avx512bw,bmi1")]
    fn enter_avx512<R>(work: impl FnOnce() -> R) -> R {
        work()
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn halves(bytes: &[u8; WIDTH], is: impl Fn(__m256i) -> __m256i) -> u64 {
        let mut mask = 0;
        for half in 0..2 {
            // SAFETY: bytes 0..32 and 32..64 of a 64-byte array.
            let v = unsafe { _mm256_loadu_si256(bytes.as_ptr().add(32 * half).cast()) };
            mask |= u64::from(_mm256_movemask_epi8(is(v)) as u32) << (32 * half);
        }
        mask
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn classes_avx2(bytes: &[u8; WIDTH]) -> Classes {
        // SAFETY: this function requires AVX2 too.
        unsafe {
            let equal =
                |to: u8| halves(bytes, |v| _mm256_cmpeq_epi8(v, _mm256_set1_epi8(to as i8)));
            let digits = halves(bytes, |v| {
                let low = _mm256_sub_epi8(v, _mm256_set1_epi8(b'0' as i8));
                _mm256_cmpeq_epi8(_mm256_min_epu8(low, _mm256_set1_epi8(9)), low)
            });
            Classes { tabs: equal(b'\t'), digits, zeros: equal(b'0') }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn breaks_avx2(bytes: &[u8; WIDTH]) -> u64 {
        // SAFETY: this function requires AVX2 too.
        unsafe { halves(bytes, |v| _mm256_cmpgt_epi8(_mm256_set1_epi8(LAST_BREAK + 1), v)) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn classes_avx512(bytes: &[u8; WIDTH]) -> Classes {
        // SAFETY: the array has 64 bytes.
        let v = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        let low = _mm512_sub_epi8(v, _mm512_set1_epi8(b'0' as i8));
        Classes {
            tabs: _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(b'\t' as i8)),
            digits: _mm512_cmple_epu8_mask(low, _mm512_set1_epi8(9)),
            zeros: _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(b'0' as i8)),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn breaks_avx512(bytes: &[u8; WIDTH]) -> u64 {
        // SAFETY: the array has 64 bytes.
        let v = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        _mm512_cmple_epi8_mask(v, _mm512_set1_epi8(LAST_BREAK))
    }
}

/// Calls `$body` with the best [`ByteClassifier`] of this machine.
macro_rules! with_cpu {
    ($cpu:ident => $body:expr) => {{
        #[cfg(target_arch = "x86_64")]
        {
            if let Some($cpu) = $crate::verify::text::simd::Avx512::detect() {
                $body
            } else if let Some($cpu) = $crate::verify::text::simd::Avx2::detect() {
                $body
            } else {
                let $cpu = $crate::verify::text::simd::ScalarClassifier;
                $body
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let $cpu = $crate::verify::text::simd::ScalarClassifier;
            $body
        }
    }};
}
pub(super) use with_cpu;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn twins_agree(bytes in proptest::collection::vec(any::<u8>(), WIDTH)) {
            let bytes: &[u8; WIDTH] = bytes.as_slice().try_into().unwrap();
            let classes = ScalarClassifier.classes(bytes);
            let breaks = ScalarClassifier.breaks(bytes);
            for (place, &byte) in bytes.iter().enumerate() {
                prop_assert_eq!(breaks >> place & 1 == 1, byte <= b'\r' || byte >= 0x80);
            }
            #[cfg(target_arch = "x86_64")]
            {
                if let Some(cpu) = Avx2::detect() {
                    prop_assert_eq!((cpu.classes(bytes), cpu.breaks(bytes)), (classes, breaks));
                }
                if let Some(cpu) = Avx512::detect() {
                    prop_assert_eq!((cpu.classes(bytes), cpu.breaks(bytes)), (classes, breaks));
                }
            }
        }
    }
}
