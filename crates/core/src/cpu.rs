//! Runs plain loops with the widest vectors of this machine: the compiler makes a copy for each.
//!
//! With `pages`, the only file of this crate with `unsafe`: the calls of functions that need
//! instructions, which were asked for just before.
#![allow(unsafe_code)]

/// Runs `work` compiled for the instructions of this processor. `work` must be an
/// `#[inline(always)]` closure that calls nothing but inlined functions, or it gains nothing.
#[inline(always)]
pub fn fastest<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512vl")
        {
            // SAFETY: the processor has the instructions.
            return unsafe { avx512(work) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has the instructions.
            return unsafe { avx2(work) };
        }
    }
    work()
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
