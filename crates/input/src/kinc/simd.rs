//! Classification of the first 64 bytes of a line: tabs, and bytes that may precede the mask; and
//! conversion of 64 symbols of a mask to bit planes and back. Scalar, AVX2 and AVX-512 versions
//! return the same bits.
//!
//! The only file of this crate with `unsafe`: the vector loads.
#![allow(unsafe_code)]

/// Bytes that are classified at once.
pub const WIDTH: usize = 64;

/// Operations of a processor: classification of bytes, conversion of masks, n-th set bit.
pub trait Cpu: Copy {
    /// Bit i of the first result: byte i is a tab. Of the second: byte i may be part of a number
    /// list (`0-9 , - . / n a` or tab).
    fn classify(self, bytes: &[u8; WIDTH]) -> (u64, u64);
    /// Bits 0 to 3 of 64 symbols of a mask, and the bytes whose upper half is not that of a digit.
    fn symbol_bits(self, symbols: &[u8; WIDTH]) -> SymbolBits;
    /// 64 symbols: the digit 0, with the sum of `values` added whose bit is set for the symbol.
    fn symbols(self, bits: [u64; 3], values: [u8; 3]) -> [u8; WIDTH];
    /// Position of the n-th (0-based) set bit; 64 when there are fewer.
    fn nth(self, mask: u64, n: u32) -> u32;
    /// Runs `work` compiled for this processor; `work` must be `#[inline(always)]` throughout.
    fn enter<R>(self, work: impl FnOnce() -> R) -> R;
}

/// Bit i of each word belongs to symbol i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolBits {
    /// Bits 0 to 3 of the symbols.
    pub digit: [u64; 4],
    /// Bytes below `0` or above `?`.
    pub other: u64,
}

/// Any processor.
#[derive(Clone, Copy, Debug)]
pub struct Scalar;

impl Cpu for Scalar {
    #[inline(always)]
    fn classify(self, bytes: &[u8; WIDTH]) -> (u64, u64) {
        let (mut tabs, mut allowed) = (0u64, 0u64);
        for (index, &byte) in bytes.iter().enumerate() {
            let tab = byte == b'\t';
            let number = matches!(byte, b','..=b'9' | b'n' | b'a');
            tabs |= u64::from(tab) << index;
            allowed |= u64::from(tab | number) << index;
        }
        (tabs, allowed)
    }

    #[inline(always)]
    fn symbol_bits(self, symbols: &[u8; WIDTH]) -> SymbolBits {
        let mut bits = SymbolBits { digit: [0; 4], other: 0 };
        for (index, eight) in symbols.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*eight);
            for (bit, plane) in bits.digit.iter_mut().enumerate() {
                *plane |= lowest_bits(word >> bit) << (8 * index);
            }
            let high = (word >> 4) ^ (3 * LOWEST);
            let any = high | (high >> 1) | (high >> 2) | (high >> 3);
            bits.other |= lowest_bits(any) << (8 * index);
        }
        bits
    }

    #[inline(always)]
    fn symbols(self, bits: [u64; 3], values: [u8; 3]) -> [u8; WIDTH] {
        let mut symbols = [0; WIDTH];
        for (index, eight) in symbols.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let spread =
                |(word, value): (u64, u8)| spread((word >> (8 * index)) as u8) * u64::from(value);
            let sum: u64 = bits.into_iter().zip(values).map(spread).sum();
            *eight = (LOWEST * u64::from(b'0') + sum).to_le_bytes();
        }
        symbols
    }

    #[inline(always)]
    fn nth(self, mut mask: u64, n: u32) -> u32 {
        for _ in 0..n {
            mask &= mask.wrapping_sub(1);
        }
        mask.trailing_zeros()
    }

    #[inline(always)]
    fn enter<R>(self, work: impl FnOnce() -> R) -> R {
        work()
    }
}

const LOWEST: u64 = 0x0101_0101_0101_0101;

/// Gathers the lowest bits of eight bytes.
#[inline(always)]
fn lowest_bits(word: u64) -> u64 {
    (word & LOWEST).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// Spreads eight bits over the lowest bits of eight bytes.
#[inline(always)]
fn spread(byte: u8) -> u64 {
    let copies = (u64::from(byte) * LOWEST) & 0x8040_2010_0804_0201;
    ((copies + 0x7F7F_7F7F_7F7F_7F7F) >> 7) & LOWEST
}

#[cfg(target_arch = "x86_64")]
pub use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use cuesta_core::cpu;

    use super::{Cpu, LOWEST, SymbolBits, WIDTH};
    use std::arch::x86_64::*;

    /// AVX2 with BMI2. Only made after the processor was asked.
    #[derive(Clone, Copy, Debug)]
    pub struct Avx2(());

    impl Avx2 {
        /// This processor's AVX2, if it has it.
        pub fn detect() -> Option<Self> {
            cpu::has_avx2().then_some(Self(()))
        }
    }

    impl Cpu for Avx2 {
        #[inline(always)]
        fn classify(self, bytes: &[u8; WIDTH]) -> (u64, u64) {
            // SAFETY: `detect` found AVX2; both loads lie inside the 64 bytes.
            unsafe { classify_avx2(bytes) }
        }

        #[inline(always)]
        fn symbol_bits(self, symbols: &[u8; WIDTH]) -> SymbolBits {
            // SAFETY: `detect` found AVX2; both loads lie inside the 64 bytes.
            unsafe { symbol_bits_avx2(symbols) }
        }

        #[inline(always)]
        fn symbols(self, bits: [u64; 3], values: [u8; 3]) -> [u8; WIDTH] {
            // SAFETY: `detect` found AVX2.
            unsafe { symbols_avx2(bits, values) }
        }

        #[inline(always)]
        fn nth(self, mask: u64, n: u32) -> u32 {
            // SAFETY: `detect` found BMI2.
            unsafe { nth_bmi2(mask, n) }
        }

        #[inline(always)]
        fn enter<R>(self, work: impl FnOnce() -> R) -> R {
            // SAFETY: `detect` found the instructions.
            unsafe { enter_avx2(work) }
        }
    }

    /// AVX-512BW with BMI2. Only made after the processor was asked.
    #[derive(Clone, Copy, Debug)]
    pub struct Avx512(());

    impl Avx512 {
        /// This processor's AVX-512, if it has it.
        pub fn detect() -> Option<Self> {
            cpu::has_avx512().then_some(Self(()))
        }
    }

    impl Cpu for Avx512 {
        #[inline(always)]
        fn classify(self, bytes: &[u8; WIDTH]) -> (u64, u64) {
            // SAFETY: `detect` found AVX-512; the load is the 64 bytes.
            unsafe { classify_avx512(bytes) }
        }

        #[inline(always)]
        fn symbol_bits(self, symbols: &[u8; WIDTH]) -> SymbolBits {
            // SAFETY: `detect` found AVX-512; the load is the 64 bytes.
            unsafe { symbol_bits_avx512(symbols) }
        }

        #[inline(always)]
        fn symbols(self, bits: [u64; 3], values: [u8; 3]) -> [u8; WIDTH] {
            // SAFETY: `detect` found AVX-512.
            unsafe { symbols_avx512(bits, values) }
        }

        #[inline(always)]
        fn nth(self, mask: u64, n: u32) -> u32 {
            // SAFETY: `detect` found BMI2.
            unsafe { nth_bmi2(mask, n) }
        }

        #[inline(always)]
        fn enter<R>(self, work: impl FnOnce() -> R) -> R {
            // SAFETY: `detect` found the instructions.
            unsafe { enter_avx512(work) }
        }
    }

    #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
    fn enter_avx2<R>(work: impl FnOnce() -> R) -> R {
        work()
    }

    #[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,popcnt")]
    fn enter_avx512<R>(work: impl FnOnce() -> R) -> R {
        work()
    }

    #[inline]
    #[target_feature(enable = "bmi2,bmi1")]
    fn nth_bmi2(mask: u64, n: u32) -> u32 {
        _pdep_u64(1 << n, mask).trailing_zeros()
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn classify_avx2(bytes: &[u8; WIDTH]) -> (u64, u64) {
        let (mut tabs, mut allowed) = (0u64, 0u64);
        for half in 0..2 {
            // SAFETY: bytes 0..32 and 32..64 of a 64-byte array.
            let v = unsafe { _mm256_loadu_si256(bytes.as_ptr().add(32 * half).cast()) };
            let tab = _mm256_cmpeq_epi8(v, _mm256_set1_epi8(b'\t' as i8));
            let low = _mm256_sub_epi8(v, _mm256_set1_epi8(b',' as i8));
            let number = _mm256_cmpeq_epi8(_mm256_min_epu8(low, _mm256_set1_epi8(13)), low);
            let n = _mm256_cmpeq_epi8(v, _mm256_set1_epi8(b'n' as i8));
            let a = _mm256_cmpeq_epi8(v, _mm256_set1_epi8(b'a' as i8));
            let any = _mm256_or_si256(_mm256_or_si256(tab, number), _mm256_or_si256(n, a));
            tabs |= u64::from(_mm256_movemask_epi8(tab) as u32) << (32 * half);
            allowed |= u64::from(_mm256_movemask_epi8(any) as u32) << (32 * half);
        }
        (tabs, allowed)
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn classify_avx512(bytes: &[u8; WIDTH]) -> (u64, u64) {
        // SAFETY: the array has 64 bytes.
        let v = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
        let tabs = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(b'\t' as i8));
        let low = _mm512_sub_epi8(v, _mm512_set1_epi8(b',' as i8));
        let number = _mm512_cmple_epu8_mask(low, _mm512_set1_epi8(13));
        let n = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(b'n' as i8));
        let a = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(b'a' as i8));
        (tabs, tabs | number | n | a)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn symbol_bits_avx2(symbols: &[u8; WIDTH]) -> SymbolBits {
        let mut bits = SymbolBits { digit: [0; 4], other: 0 };
        for half in 0..2 {
            // SAFETY: bytes 0..32 and 32..64 of a 64-byte array.
            let v = unsafe { _mm256_loadu_si256(symbols.as_ptr().add(32 * half).cast()) };
            // A shift by 7 - n brings bit n of a byte to its top, whatever comes in from below.
            let tops = [
                _mm256_slli_epi64::<7>(v),
                _mm256_slli_epi64::<6>(v),
                _mm256_slli_epi64::<5>(v),
                _mm256_slli_epi64::<4>(v),
            ];
            for (plane, top) in bits.digit.iter_mut().zip(tops) {
                *plane |= u64::from(_mm256_movemask_epi8(top) as u32) << (32 * half);
            }
            let high = _mm256_and_si256(v, _mm256_set1_epi8(0xF0_u8 as i8));
            let good = _mm256_cmpeq_epi8(high, _mm256_set1_epi8(0x30));
            bits.other |= u64::from(!_mm256_movemask_epi8(good) as u32) << (32 * half);
        }
        bits
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn symbols_avx2(bits: [u64; 3], values: [u8; 3]) -> [u8; WIDTH] {
        let mut symbols = [0; WIDTH];
        // Byte i of a register gets byte i / 8 of 32 bits, in each half of it, and tests bit i % 8.
        let place = _mm256_setr_epi64x(0, LOWEST as i64, 2 * LOWEST as i64, 3 * LOWEST as i64);
        let bit = _mm256_set1_epi64x(0x8040_2010_0804_0201_u64 as i64);
        for half in 0..2 {
            let mut sum = _mm256_set1_epi8(b'0' as i8);
            for (word, value) in bits.into_iter().zip(values) {
                let copies = _mm256_set1_epi32((word >> (32 * half)) as i32);
                let bytes = _mm256_and_si256(_mm256_shuffle_epi8(copies, place), bit);
                let set = _mm256_cmpeq_epi8(bytes, bit);
                sum = _mm256_add_epi8(sum, _mm256_and_si256(set, _mm256_set1_epi8(value as i8)));
            }
            // SAFETY: bytes 0..32 and 32..64 of a 64-byte array.
            unsafe { _mm256_storeu_si256(symbols.as_mut_ptr().add(32 * half).cast(), sum) };
        }
        symbols
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn symbols_avx512(bits: [u64; 3], values: [u8; 3]) -> [u8; WIDTH] {
        let mut sum = _mm512_set1_epi8(b'0' as i8);
        for (word, value) in bits.into_iter().zip(values) {
            sum = _mm512_mask_add_epi8(sum, word, sum, _mm512_set1_epi8(value as i8));
        }
        let mut symbols = [0; WIDTH];
        // SAFETY: the array has 64 bytes.
        unsafe { _mm512_storeu_si512(symbols.as_mut_ptr().cast(), sum) };
        symbols
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn symbol_bits_avx512(symbols: &[u8; WIDTH]) -> SymbolBits {
        // SAFETY: the array has 64 bytes.
        let v = unsafe { _mm512_loadu_si512(symbols.as_ptr().cast()) };
        let digit = [
            _mm512_test_epi8_mask(v, _mm512_set1_epi8(1)),
            _mm512_test_epi8_mask(v, _mm512_set1_epi8(2)),
            _mm512_test_epi8_mask(v, _mm512_set1_epi8(4)),
            _mm512_test_epi8_mask(v, _mm512_set1_epi8(8)),
        ];
        let high = _mm512_and_si512(v, _mm512_set1_epi8(0xF0_u8 as i8));
        SymbolBits { digit, other: _mm512_cmpneq_epi8_mask(high, _mm512_set1_epi8(0x30)) }
    }
}

/// Calls `$body` with the best [`Cpu`] of this machine compiled for that machine's instructions.
#[macro_export]
#[doc(hidden)]
macro_rules! with_best_cpu {
    ($cpu:ident => $body:expr) => {{
        #[cfg(target_arch = "x86_64")]
        {
            if let Some($cpu) = $crate::kinc::simd::Avx512::detect() {
                $body
            } else if let Some($cpu) = $crate::kinc::simd::Avx2::detect() {
                $body
            } else {
                let $cpu = $crate::kinc::simd::Scalar;
                $body
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            let $cpu = $crate::kinc::simd::Scalar;
            $body
        }
    }};
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn twins_agree(bytes in proptest::collection::vec(any::<u8>(), WIDTH), n in 0u32..64) {
            let bytes: &[u8; WIDTH] = bytes.as_slice().try_into().unwrap();
            let expected = Scalar.classify(bytes);
            let place = Scalar.nth(expected.1, n);
            let bits = Scalar.symbol_bits(bytes);
            for (index, &byte) in bytes.iter().enumerate() {
                let digit: u64 = (0..4).map(|bit| (bits.digit[bit] >> index & 1) << bit).sum();
                prop_assert_eq!(digit, u64::from(byte & 0xF));
                prop_assert_eq!(bits.other >> index & 1 == 1, byte >> 4 != 3);
            }
            let planes = [bits.digit[0], bits.digit[1], bits.other];
            let values = [1, 6, n as u8];
            let symbols = Scalar.symbols(planes, values);
            for (index, &symbol) in symbols.iter().enumerate() {
                let bit = |word: u64| (word >> index & 1) as u8;
                let sum: u8 = planes.into_iter().zip(values).map(|(word, v)| bit(word) * v).sum();
                prop_assert_eq!(symbol, b'0' + sum);
            }
            #[cfg(target_arch = "x86_64")]
            {
                if let Some(cpu) = Avx2::detect() {
                    prop_assert_eq!(cpu.classify(bytes), expected);
                    prop_assert_eq!(cpu.symbol_bits(bytes), bits);
                    prop_assert_eq!(cpu.symbols(planes, values), symbols);
                    prop_assert_eq!(cpu.nth(expected.1, n), place);
                }
                if let Some(cpu) = Avx512::detect() {
                    prop_assert_eq!(cpu.classify(bytes), expected);
                    prop_assert_eq!(cpu.symbol_bits(bytes), bits);
                    prop_assert_eq!(cpu.symbols(planes, values), symbols);
                    prop_assert_eq!(cpu.nth(expected.1, n), place);
                }
            }
        }
    }
}
