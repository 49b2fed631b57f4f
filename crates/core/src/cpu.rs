//! Which vector instructions are used: those that this processor has, unless the variable
//! `CUESTA_VECTORS` says fewer. Also runs plain loops with them: the compiler makes a copy for
//! each level.
//!
//! With `pages`, the only file of this crate with `unsafe`: the calls of functions that need
//! instructions, which were asked for before, and what asks memory for an item.
#![allow(unsafe_code)]

use std::sync::LazyLock;

/// The variable that takes a level away: `portable` or `avx2`. For tests, and for a processor that
/// is slower with wider vectors.
pub const VARIABLE: &str = "CUESTA_VECTORS";

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Portable,
    Avx2,
    Avx512,
}

static LEVEL: LazyLock<Level> = LazyLock::new(|| {
    let most = std::env::var_os(VARIABLE).map(|name| name.to_string_lossy().into_owned());
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

/// Whether AVX2, FMA, BMI1, BMI2 and POPCNT are there and used.
#[inline]
pub fn has_avx2() -> bool {
    *LEVEL >= Level::Avx2
}

/// Whether AVX-512 F, DQ, BW and VL are there and used, and what [`has_avx2`] says.
#[inline]
pub fn has_avx512() -> bool {
    *LEVEL >= Level::Avx512
}

/// Runs `work` compiled for the instructions of this processor. `work` must be an
/// `#[inline(always)]` closure that calls nothing but inlined functions, or it gains nothing.
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

/// Proof that AVX2 is there and used, for what the compiler makes no vectors of by itself.
#[derive(Clone, Copy)]
pub struct Avx2(());

impl Avx2 {
    /// Where [`has_avx2`] says so.
    #[inline]
    pub fn get() -> Option<Self> {
        has_avx2().then_some(Self(()))
    }

    /// Which of some numbers are one of two, a bit each, the first one's lowest. It gains something
    /// within [`fastest`], where it is inlined.
    #[inline(always)]
    pub fn either(self, numbers: [u64; LANES], two: [u64; 2]) -> u32 {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the processor has the instructions.
            unsafe { either(numbers, two) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let found = numbers.iter().enumerate();
            found.map(|(place, number)| u32::from(two.contains(number)) << place).sum()
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
    let one = _mm256_cmpeq_epi64(numbers, _mm256_set1_epi64x(two[0].cast_signed()));
    let other = _mm256_cmpeq_epi64(numbers, _mm256_set1_epi64x(two[1].cast_signed()));
    _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_or_si256(one, other))).cast_unsigned()
}

/// Asks memory for an item that is read soon, so that it has come by then. Changes no value; there
/// need not be such an item.
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
    fn numbers_are_one_of_two() {
        let Some(avx2) = Avx2::get() else { return };
        let numbers = [7, u64::MAX, 1 << 63, 7];
        for (two, expected) in [([7, 8], 0b1001), ([1 << 63, u64::MAX], 0b0110), ([0, 1], 0)] {
            assert_eq!(avx2.either(numbers, two), expected);
        }
    }

    #[test]
    fn a_level_can_be_taken_away() {
        assert!(allowed(Some("portable")) < allowed(Some("avx2")));
        assert!(allowed(Some("avx2")) < allowed(None));
    }
}
