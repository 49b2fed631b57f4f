//! Arithmetic loops compiled for the vector units of this machine; the only file with `unsafe`.
#![allow(unsafe_code)]

use std::hint::black_box;

use cuesta_core::{Result, cpu};

use crate::{Request, Response, team};

/// Multiply-adds of each accumulator in a pass.
const STEPS: usize = 1 << 16;

/// Measures fused multiply-adds of f32 on registers, with enough chains to hide their latency. They
/// bound every matrix product; a multiply-add counts as two operations.
pub fn fma(request: &Request) -> Result<Response> {
    let (name, kernel) = fma_kernel();
    let per_s = team::rates(request, |index| {
        let start = 1.0 + index as f32 * 0.25;
        Ok(move |passes: usize| Ok((0..passes).map(|_| kernel(black_box(start))).sum()))
    })?;
    Ok(Response { unit: "flops", per_s, detail: format!("multiply-adds in registers, {name}") })
}

/// A loop that returns the number of its operations.
type Kernel = fn(f32) -> u64;

#[cfg(target_arch = "x86_64")]
fn fma_kernel() -> (&'static str, Kernel) {
    if cpu::has_avx512() {
        return ("AVX-512", |start| {
            // SAFETY: the processor has AVX-512 F, as just asked.
            unsafe { x86::fma_avx512(start) }
        });
    }
    if cpu::has_avx2() {
        return ("AVX2", |start| {
            // SAFETY: the processor has AVX2 and FMA, as just asked.
            unsafe { x86::fma_avx2(start) }
        });
    }
    ("portable", fma_portable)
}

#[cfg(not(target_arch = "x86_64"))]
fn fma_kernel() -> (&'static str, Kernel) {
    ("portable", fma_portable)
}

/// Chains of the portable loop, in groups that a compiler turns into vectors.
const PORTABLE_LANES: usize = 32;

fn fma_portable(start: f32) -> u64 {
    let mut chains: [f32; PORTABLE_LANES] = std::array::from_fn(|lane| start + lane as f32);
    let (factor, term) = black_box((0.999_f32, 0.001_f32));
    for _ in 0..STEPS {
        for chain in &mut chains {
            *chain = if cfg!(target_feature = "fma") || cfg!(target_arch = "aarch64") {
                chain.mul_add(factor, term)
            } else {
                *chain * factor + term
            };
        }
    }
    black_box(chains);
    (2 * STEPS * PORTABLE_LANES) as u64
}

/// Returns the wrapping sum of the words, read with the widest vectors available.
pub fn sum(words: &[u64]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        if cpu::has_avx512() {
            // SAFETY: the processor has AVX-512 F, as just asked.
            return unsafe { x86::sum_avx512(words) };
        }
        if cpu::has_avx2() {
            // SAFETY: the processor has AVX2, as just asked.
            return unsafe { x86::sum_avx2(words) };
        }
    }
    sum_lanes::<8>(words)
}

/// The plain loop that is compiled for each width; `LANES` sums run side by side.
#[inline(always)]
fn sum_lanes<const LANES: usize>(words: &[u64]) -> u64 {
    let mut sums = [0_u64; LANES];
    let mut blocks = words.chunks_exact(LANES);
    for block in &mut blocks {
        for (sum, word) in sums.iter_mut().zip(block) {
            *sum = sum.wrapping_add(*word);
        }
    }
    let rest = blocks.remainder().iter().fold(0, |sum: u64, word| sum.wrapping_add(*word));
    sums.iter().fold(rest, |sum, lane| sum.wrapping_add(*lane))
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{STEPS, sum_lanes};
    use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_set1_ps, _mm512_fmadd_ps, _mm512_set1_ps};
    use std::hint::black_box;

    /// 24 chains: two units of latency four need eight, the rest hides the loop.
    const CHAINS_AVX512: usize = 24;
    /// 12 chains, so that they and the two constants stay in sixteen registers.
    const CHAINS_AVX2: usize = 12;

    #[target_feature(enable = "avx512f")]
    pub fn fma_avx512(start: f32) -> u64 {
        let (factor, term) = black_box((0.999_f32, 0.001_f32));
        let (factor, term) = (_mm512_set1_ps(factor), _mm512_set1_ps(term));
        let mut chains = [_mm512_set1_ps(start); CHAINS_AVX512];
        for _ in 0..STEPS {
            for chain in &mut chains {
                *chain = _mm512_fmadd_ps(*chain, factor, term);
            }
        }
        black_box(chains);
        (2 * 16 * STEPS * CHAINS_AVX512) as u64
    }

    #[target_feature(enable = "avx2,fma")]
    pub fn fma_avx2(start: f32) -> u64 {
        let (factor, term) = black_box((0.999_f32, 0.001_f32));
        let (factor, term) = (_mm256_set1_ps(factor), _mm256_set1_ps(term));
        let mut chains = [_mm256_set1_ps(start); CHAINS_AVX2];
        for _ in 0..STEPS {
            for chain in &mut chains {
                *chain = _mm256_fmadd_ps(*chain, factor, term);
            }
        }
        black_box(chains);
        (2 * 8 * STEPS * CHAINS_AVX2) as u64
    }

    #[target_feature(enable = "avx512f")]
    pub fn sum_avx512(words: &[u64]) -> u64 {
        sum_lanes::<64>(words)
    }

    #[target_feature(enable = "avx2")]
    pub fn sum_avx2(words: &[u64]) -> u64 {
        sum_lanes::<32>(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_widths_have_the_same_sum() {
        for length in [0, 1, 7, 8, 63, 64, 65, 1000, 4099] {
            let words: Vec<u64> =
                (0..length).map(|word: u64| word.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
            let expected = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word));
            assert_eq!(sum(&words), expected, "{length}");
            assert_eq!(sum_lanes::<8>(&words), expected, "{length}");
        }
    }

    #[test]
    fn the_portable_loop_counts_what_it_does() {
        assert_eq!(fma_portable(1.0), (2 * STEPS * PORTABLE_LANES) as u64);
    }
}
