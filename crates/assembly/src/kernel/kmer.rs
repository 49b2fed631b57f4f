//! K-mers as integers, two bits a base: A 0, C 1, G 2, T 3, the first base in the highest bits.
//!
//! So integers compare as texts do, and the complement of a base is its bits inverted. The
//! canonical form of a k-mer is the smaller of itself and its reverse complement, which is the same
//! stretch on the other strand. Where k is odd no k-mer is its own reverse complement.

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use cuesta_core::cpu::{Avx2, LANES};

/// A base as a number, 0 to 3.
pub type Base = u8;

/// The complement of a base.
#[inline(always)]
pub fn complement(base: Base) -> Base {
    3 - base
}

/// A hash for maps of k-mers: one multiplication per word, many times faster than the default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(size_of::<u64>()) {
            let mut word = [0; size_of::<u64>()];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ SPREAD) * u128::from(SPREAD);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A map from k-mers, or other integers.
pub type KmerMap<K, T> = HashMap<K, T, BuildHasherDefault<Mixer>>;
/// A set of k-mers.
pub type KmerSet<K> = HashSet<K, BuildHasherDefault<Mixer>>;

/// An integer type wide enough for k-mers up to some size.
pub trait Kmer: Copy + Debug + Hash + Ord + Send + Sync + 'static {
    /// Longest k-mer that fits, with two bits unused.
    const BASES_MAX: usize;
    /// No k-mer.
    const NONE: Self;
    /// The k-mer with zero bases.
    const ZERO: Self;
    /// A type with room for about twice as many bases, or the widest type.
    type Wider: Kmer;

    /// Adds a base at the end and drops the first one.
    fn append(self, base: Base, k: usize) -> Self;

    /// Adds a base at the start and drops the last one.
    fn prepend(self, base: Base, k: usize) -> Self;

    /// Returns the base `index` places before the last one.
    fn last_but(self, index: usize) -> Base;

    /// Returns the first `bases` bases, at most 31, as an integer.
    fn first(self, bases: usize, k: usize) -> u64;

    /// Returns the reverse complement.
    fn reverse_complement(self, k: usize) -> Self;

    /// Returns all bases but the last, as a (k-1)-mer.
    fn prefix(self) -> Self;

    /// Returns all bases but the first, as a (k-1)-mer.
    fn suffix(self, k: usize) -> Self;

    /// Returns a hash of 64 bits that depends on all bases.
    fn mixed(self) -> u64;

    /// Returns a mask of [`LANES`] bits: bit `i` is set if candidate `i` equals this k-mer, or is
    /// [`Kmer::NONE`]. Some types use `_vectors`: AVX2, if the CPU has it.
    #[inline(always)]
    fn is_or_none(self, candidates: [Self; LANES], _vectors: Option<Avx2>) -> u32 {
        is_or_none(self, candidates)
    }

    /// Creates a k-mer from the first `k` bases of `codes`.
    fn of(codes: &[Base], k: usize) -> Self {
        codes[..k].iter().fold(Self::ZERO, |kmer, &base| kmer.append(base, k))
    }

    /// Creates a k-mer from the first `k` bases of packed bytes, four a byte, the first base
    /// highest. `bytes` must be at least as long as an integer of this type.
    fn unpack(bytes: &[u8], k: usize) -> Self;

    /// Appends the k-mer as little-endian bytes.
    fn put(self, bytes: &mut Vec<u8>);

    /// Decodes the output of [`Kmer::put`].
    fn take(bytes: &[u8]) -> Self;

    /// Returns the smaller of the k-mer and its reverse complement.
    #[inline(always)]
    fn canonical(self, k: usize) -> Self {
        self.min(self.reverse_complement(k))
    }
}

/// [`Kmer::is_or_none`] without vector instructions and without a branch.
#[inline(always)]
fn is_or_none<K: Kmer>(kmer: K, candidates: [K; LANES]) -> u32 {
    let mut bits = 0;
    for (place, &candidate) in candidates.iter().enumerate() {
        bits |= u32::from((candidate == kmer) | (candidate == K::NONE)) << place;
    }
    bits
}

/// Odd constant of a multiplicative hash: 2^64 over the golden ratio.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

macro_rules! kmer_of_an_integer {
    ($type:ty, $wider:ty, $mixed:expr, {$($more:tt)*}) => {
        impl Kmer for $type {
            const BASES_MAX: usize = <$type>::BITS as usize / 2 - 1;
            const NONE: Self = <$type>::MAX;
            const ZERO: Self = 0;
            type Wider = $wider;

            #[inline(always)]
            fn append(self, base: Base, k: usize) -> Self {
                ((self << 2) | Self::from(base)) & ((1 << (2 * k)) - 1)
            }

            #[inline(always)]
            fn prepend(self, base: Base, k: usize) -> Self {
                (self >> 2) | (Self::from(base) << (2 * (k - 1)))
            }

            #[inline(always)]
            fn last_but(self, index: usize) -> Base {
                (self >> (2 * index)) as Base & 3
            }

            #[inline(always)]
            fn first(self, bases: usize, k: usize) -> u64 {
                (self >> (2 * (k - bases))) as u64
            }

            #[inline(always)]
            fn reverse_complement(self, k: usize) -> Self {
                // Bytes, then the halves of each, then the bases of each half.
                let (low, lowest) = (Self::MAX / 0x11, Self::MAX / 0x5);
                let bytes = self.swap_bytes();
                let halves = ((bytes >> 4) & low) | ((bytes & low) << 4);
                let reversed = ((halves >> 2) & lowest) | ((halves & lowest) << 2);
                (!reversed) >> (Self::BITS as usize - 2 * k)
            }

            #[inline(always)]
            fn unpack(bytes: &[u8], k: usize) -> Self {
                let mut array = [0; size_of::<Self>()];
                array.copy_from_slice(&bytes[..size_of::<Self>()]);
                Self::from_be_bytes(array) >> (Self::BITS as usize - 2 * k)
            }

            #[inline(always)]
            fn prefix(self) -> Self {
                self >> 2
            }

            #[inline(always)]
            fn suffix(self, k: usize) -> Self {
                self & ((1 << (2 * (k - 1))) - 1)
            }

            #[inline(always)]
            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend(self.to_le_bytes());
            }

            #[inline(always)]
            fn take(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<Self>()];
                array.copy_from_slice(bytes);
                Self::from_le_bytes(array)
            }

            #[inline(always)]
            fn mixed(self) -> u64 {
                let mixed: fn(Self) -> u64 = $mixed;
                mixed(self)
            }

            $($more)*
        }
    };
}

kmer_of_an_integer!(
    u64,
    u128,
    |kmer| {
        let product = kmer.wrapping_mul(SPREAD);
        product ^ (product >> 32)
    },
    {
        #[inline(always)]
        fn is_or_none(self, candidates: [Self; LANES], vectors: Option<Avx2>) -> u32 {
            match vectors {
                Some(vectors) => vectors.either(candidates, [self, Self::NONE]),
                None => is_or_none(self, candidates),
            }
        }
    }
);
kmer_of_an_integer!(
    u128,
    Wide<2>,
    |kmer| {
        let product = (kmer as u64 ^ ((kmer >> 64) as u64).rotate_left(29)).wrapping_mul(SPREAD);
        product ^ (product >> 32)
    },
    {}
);

/// An integer of 128 `N` bits, the highest word first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wide<const N: usize>([u128; N]);

/// Bases in a word of a [`Wide`].
const WORD_BASES: usize = 64;

impl<const N: usize> Wide<N> {
    /// Returns the mask of the bits of a word that k-mers of `k` bases use.
    #[inline(always)]
    fn used(word: usize, k: usize) -> u128 {
        let bases = k.saturating_sub((N - 1 - word) * WORD_BASES);
        if bases >= WORD_BASES { u128::MAX } else { (1 << (2 * bases)) - 1 }
    }

    /// Shifts all bits right, by 2 `bases`.
    #[inline(always)]
    fn down(self, bases: usize) -> Self {
        let (words, bits) = (bases / WORD_BASES, 2 * (bases % WORD_BASES) as u32);
        let at = |word: usize| if word < N { self.0[word] } else { 0 };
        Self(std::array::from_fn(|word| {
            let from = word.wrapping_sub(words);
            let above = at(from.wrapping_sub(1)).checked_shl(128 - bits).unwrap_or(0);
            at(from) >> bits | above
        }))
    }
}

impl<const N: usize> Kmer for Wide<N> {
    const BASES_MAX: usize = WORD_BASES * N - 1;
    const NONE: Self = Self([u128::MAX; N]);
    const ZERO: Self = Self([0; N]);
    type Wider = Wide<4>;

    #[inline(always)]
    fn append(self, base: Base, k: usize) -> Self {
        Self(std::array::from_fn(|word| {
            let below = if word + 1 < N { self.0[word + 1] >> 126 } else { u128::from(base) };
            (self.0[word] << 2 | below) & Self::used(word, k)
        }))
    }

    #[inline(always)]
    fn prepend(self, base: Base, k: usize) -> Self {
        let mut kmer = self.prefix();
        let word = N - 1 - (k - 1) / WORD_BASES;
        kmer.0[word] |= u128::from(base) << (2 * ((k - 1) % WORD_BASES));
        kmer
    }

    #[inline(always)]
    fn last_but(self, index: usize) -> Base {
        (self.0[N - 1 - index / WORD_BASES] >> (2 * (index % WORD_BASES))) as Base & 3
    }

    #[inline(always)]
    fn first(self, bases: usize, k: usize) -> u64 {
        self.down(k - bases).0[N - 1] as u64
    }

    #[inline(always)]
    fn reverse_complement(self, k: usize) -> Self {
        let turned = |word: usize| self.0[N - 1 - word].reverse_complement(WORD_BASES);
        Self(std::array::from_fn(turned)).down(WORD_BASES * N - k)
    }

    #[inline(always)]
    fn unpack(bytes: &[u8], k: usize) -> Self {
        let mut words = [[0; 16]; N];
        words.as_flattened_mut().copy_from_slice(&bytes[..16 * N]);
        Self(words.map(u128::from_be_bytes)).down(WORD_BASES * N - k)
    }

    #[inline(always)]
    fn prefix(self) -> Self {
        Self(std::array::from_fn(|word| {
            let above = if word > 0 { self.0[word - 1] << 126 } else { 0 };
            self.0[word] >> 2 | above
        }))
    }

    #[inline(always)]
    fn suffix(self, k: usize) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & Self::used(word, k - 1)))
    }

    #[inline(always)]
    fn put(self, bytes: &mut Vec<u8>) {
        self.0.iter().for_each(|word| word.put(bytes));
    }

    #[inline(always)]
    fn take(bytes: &[u8]) -> Self {
        let each = size_of::<u128>();
        Self(std::array::from_fn(|word| u128::take(&bytes[word * each..][..each])))
    }

    #[inline(always)]
    fn mixed(self) -> u64 {
        self.0.iter().fold(0u128, |mixed, word| mixed.rotate_left(43) ^ word).mixed()
    }
}

/// Runs `$work` with the narrowest k-mer type that has room for `$k` bases; no other code chooses
/// it.
#[macro_export]
macro_rules! with_kmer {
    ($k:expr, $kmer:ident => $work:expr) => {
        match $k {
            0..=31 => {
                type $kmer = u64;
                $work
            }
            32..=63 => {
                type $kmer = u128;
                $work
            }
            64..=127 => {
                type $kmer = $crate::kernel::kmer::Wide<2>;
                $work
            }
            _ => {
                type $kmer = $crate::kernel::kmer::Wide<4>;
                $work
            }
        }
    };
}
pub use with_kmer;

/// Iterates over all k-mers of a sequence, left to right.
pub fn kmers<K: Kmer>(codes: &[Base], k: usize) -> impl Iterator<Item = K> {
    let mut kmer = K::ZERO;
    codes.iter().enumerate().filter_map(move |(place, &base)| {
        kmer = kmer.append(base, k);
        (place + 1 >= k).then_some(kmer)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn agrees_with_text<K: Kmer>(codes: &[Base]) {
        let k = codes.len();
        let kmer = K::of(codes, k);
        let back: Vec<Base> = (0..k).rev().map(|index| kmer.last_but(index)).collect();
        assert_eq!(back, codes);
        let turned: Vec<Base> = codes.iter().rev().map(|&base| complement(base)).collect();
        assert_eq!(kmer.reverse_complement(k), K::of(&turned, k));
        assert_eq!(kmer.canonical(k), K::of(codes.min(&turned), k));
        let mut after = codes[1..].to_vec();
        after.push(2);
        assert_eq!(kmer.append(2, k), K::of(&after, k));
        let mut before = vec![1];
        before.extend(&codes[..k - 1]);
        assert_eq!(kmer.prepend(1, k), K::of(&before, k));
        let mut bytes: Vec<u8> = codes
            .chunks(4)
            .map(|four| (0..4).fold(0, |byte, at| byte << 2 | four.get(at).unwrap_or(&2)))
            .collect();
        bytes.resize(bytes.len() + 64, 255);
        assert_eq!(K::unpack(&bytes, k), kmer);
        assert_eq!(kmer.prefix(), K::of(&codes[..k - 1], k - 1));
        let first = k.min(7);
        assert_eq!(kmer.first(first, k), u64::of(codes, first));
        assert_eq!(kmer.suffix(k), K::of(&codes[1..], k - 1));
        assert!(kmer < K::NONE);
    }

    proptest! {
        #[test]
        fn numbers_do_what_texts_do(codes in prop::collection::vec(0u8..4, 2..=255)) {
            if codes.len() <= u64::BASES_MAX {
                agrees_with_text::<u64>(&codes);
            }
            if codes.len() <= u128::BASES_MAX {
                agrees_with_text::<u128>(&codes);
            }
            if codes.len() <= Wide::<2>::BASES_MAX {
                agrees_with_text::<Wide<2>>(&codes);
            }
            agrees_with_text::<Wide<4>>(&codes);
        }
    }
}
