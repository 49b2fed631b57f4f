//! Choice of vector instructions: all that this processor has, unless the variable
//! `CUESTA_VECTORS` selects fewer. Also runs plain loops with them: the compiler makes a copy for
//! each level.
//!
//! With `pages`, the only file of this crate with `unsafe`: calls of functions that need
//! instructions whose presence was checked before, and the prefetch of an item.
#![allow(unsafe_code)]

use std::sync::LazyLock;

/// The variable that lowers the level: `portable` or `avx2`. For tests, and for a processor that
/// is slower with wider vectors.
pub const VECTORS_VARIABLE: &str = "CUESTA_VECTORS";

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Portable,
    Avx2,
    Avx512,
}

static LEVEL: LazyLock<Level> = LazyLock::new(|| {
    let most = std::env::var_os(VECTORS_VARIABLE).map(|name| name.to_string_lossy().into_owned());
    allowed(most.as_deref()).min(detected())
});

fn allowed(most: Option<&str>) -> Level {
    match most {
        Some("portable") => Level::Portable,
        Some("avx2") => Level::Avx2,
        _ => Level::Avx512,
    }
}

#[cfg(target_arch = "x86_64")]
fn detected() -> Level {
    let has_avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt");
    let has_avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl");
    match (has_avx2, has_avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        _ => Level::Portable,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detected() -> Level {
    Level::Portable
}

/// Whether AVX2, FMA, BMI1, BMI2 and POPCNT are available and used.
#[inline]
pub fn has_avx2() -> bool {
    *LEVEL >= Level::Avx2
}

/// Whether AVX-512 F, DQ, BW and VL are available and used, and those of [`has_avx2`].
#[inline]
pub fn has_avx512() -> bool {
    *LEVEL >= Level::Avx512
}

/// Runs `work` compiled for the instructions of this processor. `work` must be an
/// `#[inline(always)]` closure that calls only inlined functions; else it gains nothing.
#[inline(always)]
pub fn fastest<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        if has_avx512() {
            // SAFETY: the processor has the instructions.
            return unsafe { avx512(work) };
        }
        if has_avx2() {
            // SAFETY: the processor has the instructions.
            return unsafe { avx2(work) };
        }
    }
    work()
}

/// Numbers that [`Avx2`] compares together.
pub const LANES: usize = 4;

/// Proof that AVX2 is available and used, for loops that the compiler does not vectorise.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    /// The proof, if [`has_avx2`].
    #[inline]
    pub fn get() -> Option<Self> {
        has_avx2().then_some(Self(()))
    }

    /// Bit mask of the numbers that equal either of `two`; the lowest bit is the first number's.
    /// Faster than a plain loop only within [`fastest`], where it is inlined.
    #[inline(always)]
    pub fn either(self, numbers: [u64; LANES], two: [u64; 2]) -> u32 {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the processor has the instructions.
            unsafe { either(numbers, two) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let numbers = numbers.iter().enumerate();
            numbers.map(|(place, number)| u32::from(two.contains(number)) << place).sum()
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn either(numbers: [u64; LANES], two: [u64; 2]) -> u32 {
    use std::arch::x86_64::{
        _mm256_castsi256_pd, _mm256_cmpeq_epi64, _mm256_movemask_pd, _mm256_or_si256,
        _mm256_set_epi64x, _mm256_set1_epi64x,
    };
    let [first, second, third, fourth] = numbers.map(u64::cast_signed);
    let numbers = _mm256_set_epi64x(fourth, third, second, first);
    let equal_first = _mm256_cmpeq_epi64(numbers, _mm256_set1_epi64x(two[0].cast_signed()));
    let equal_second = _mm256_cmpeq_epi64(numbers, _mm256_set1_epi64x(two[1].cast_signed()));
    _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_or_si256(equal_first, equal_second)))
        .cast_unsigned()
}

/// Prefetches an item that is read soon. Changes no value; `index` may be out of bounds.
#[inline(always)]
pub fn prefetch<T>(values: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = values.as_ptr().wrapping_add(index);
        // SAFETY: every processor of this kind has the instruction, which fails for no address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = (values, index);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,bmi1,bmi2")]
fn avx512<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<R>(work: impl FnOnce() -> R) -> R {
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_equal_to_either_of_two_are_marked() {
        let Some(avx2) = Avx2::get() else { return };
        let numbers = [7, u64::MAX, 1 << 63, 7];
        for (two, expected) in [([7, 8], 0b1001), ([1 << 63, u64::MAX], 0b0110), ([0, 1], 0)] {
            assert_eq!(avx2.either(numbers, two), expected);
        }
    }

    #[test]
    fn a_level_can_be_lowered() {
        assert!(allowed(Some("portable")) < allowed(Some("avx2")));
        assert!(allowed(Some("avx2")) < allowed(None));
    }
}
