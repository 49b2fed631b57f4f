//! K-mers as whole numbers, two bits a base: A 0, C 1, G 2, T 3, the first base highest.
//!
//! So numbers compare as texts do, and the complement of a base is its bits inverted. A k-mer and
//! its reverse complement are the same thing read on either strand; the smaller of the two is the
//! canonical one. Where k is odd no k-mer is its own reverse complement.

use std::fmt::Debug;
use std::hash::Hash;

/// A base as a number, 0 to 3.
pub type Base = u8;

/// The complement of a base.
#[inline(always)]
pub fn complement(base: Base) -> Base {
    3 - base
}

/// A number wide enough for k-mers up to some size.
pub trait Kmer: Copy + Debug + Hash + Ord + Send + Sync + 'static {
    /// Longest k-mer that it takes; two bits are left over.
    const BASES_MAX: usize;
    /// No k-mer.
    const NONE: Self;
    /// The k-mer of no base.
    const ZERO: Self;

    /// Adds a base after the last one and drops the first.
    fn append(self, base: Base, k: usize) -> Self;

    /// Adds a base before the first one and drops the last.
    fn prepend(self, base: Base, k: usize) -> Self;

    /// The base `index` places before the last one.
    fn last_but(self, index: usize) -> Base;

    /// The same stretch on the other strand.
    fn reverse_complement(self, k: usize) -> Self;

    /// All bases but the last, as a k-mer that is one shorter.
    fn prefix(self) -> Self;

    /// All bases but the first, as a k-mer that is one shorter.
    fn suffix(self, k: usize) -> Self;

    /// 64 bits that depend on all bases.
    fn mixed(self) -> u64;

    /// The first `k` bases of `codes`.
    fn of(codes: &[Base], k: usize) -> Self {
        codes[..k].iter().fold(Self::ZERO, |found, &base| found.append(base, k))
    }

    /// The first `k` bases of bytes that hold four each, the first one highest. There must be as
    /// many bytes as a number of this type has.
    fn unpack(bytes: &[u8], k: usize) -> Self;

    /// The smaller of it and its reverse complement.
    fn canonical(self, k: usize) -> Self {
        self.min(self.reverse_complement(k))
    }
}

/// Odd constant of a multiplicative hash: 2^64 over the golden ratio.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

macro_rules! kmer_of_an_integer {
    ($type:ty, $mixed:expr) => {
        impl Kmer for $type {
            const BASES_MAX: usize = <$type>::BITS as usize / 2 - 1;
            const NONE: Self = <$type>::MAX;
            const ZERO: Self = 0;

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
            fn reverse_complement(self, k: usize) -> Self {
                let odd = Self::MAX / 3;
                let reversed = self.reverse_bits();
                let reversed = ((reversed >> 1) & odd) | ((reversed & odd) << 1);
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
            fn mixed(self) -> u64 {
                let mixed: fn(Self) -> u64 = $mixed;
                mixed(self)
            }
        }
    };
}

kmer_of_an_integer!(u64, |kmer| {
    let product = kmer.wrapping_mul(SPREAD);
    product ^ (product >> 32)
});
kmer_of_an_integer!(u128, |kmer| {
    let product = (kmer as u64 ^ ((kmer >> 64) as u64).rotate_left(29)).wrapping_mul(SPREAD);
    product ^ (product >> 32)
});

/// A number of 256 bits: k-mers up to 127.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wide {
    high: u128,
    low: u128,
}

/// Bases of half a [`Wide`].
const HALF_BASES: usize = 64;

impl Kmer for Wide {
    const BASES_MAX: usize = 127;
    const NONE: Self = Self { high: u128::MAX, low: u128::MAX };
    const ZERO: Self = Self { high: 0, low: 0 };

    #[inline(always)]
    fn append(self, base: Base, k: usize) -> Self {
        let high = (self.high << 2) | (self.low >> 126);
        let low = (self.low << 2) | u128::from(base);
        if k < HALF_BASES {
            Self { high: 0, low: low & ((1 << (2 * k)) - 1) }
        } else {
            Self { high: high & ((1 << (2 * (k - HALF_BASES))) - 1), low }
        }
    }

    #[inline(always)]
    fn prepend(self, base: Base, k: usize) -> Self {
        let (mut high, mut low) = (self.high >> 2, (self.low >> 2) | (self.high << 126));
        if k <= HALF_BASES {
            low |= u128::from(base) << (2 * (k - 1));
        } else {
            high |= u128::from(base) << (2 * (k - 1 - HALF_BASES));
        }
        Self { high, low }
    }

    #[inline(always)]
    fn last_but(self, index: usize) -> Base {
        let half = if index < HALF_BASES { self.low } else { self.high };
        (half >> (2 * (index % HALF_BASES))) as Base & 3
    }

    #[inline(always)]
    fn reverse_complement(self, k: usize) -> Self {
        let odd = u128::MAX / 3;
        let turned = |half: u128| {
            let reversed = half.reverse_bits();
            !(((reversed >> 1) & odd) | ((reversed & odd) << 1))
        };
        let (high, low) = (turned(self.low), turned(self.high));
        let by = 2 * (2 * HALF_BASES - k);
        if by >= 128 {
            Self { high: 0, low: high >> (by - 128) }
        } else {
            Self { high: high >> by, low: (low >> by) | (high << (128 - by)) }
        }
    }

    #[inline(always)]
    fn unpack(bytes: &[u8], k: usize) -> Self {
        if k < HALF_BASES {
            return Self { high: 0, low: u128::unpack(bytes, k) };
        }
        let mut halves = [[0; 16]; 2];
        halves.as_flattened_mut().copy_from_slice(&bytes[..32]);
        let [high, low] = halves.map(u128::from_be_bytes);
        match 2 * (2 * HALF_BASES - k) {
            128 => Self { high: 0, low: high },
            by => Self { high: high >> by, low: (low >> by) | (high << (128 - by)) },
        }
    }

    #[inline(always)]
    fn prefix(self) -> Self {
        Self { high: self.high >> 2, low: (self.low >> 2) | (self.high << 126) }
    }

    #[inline(always)]
    fn suffix(self, k: usize) -> Self {
        if k <= HALF_BASES {
            Self { high: 0, low: self.low & ((1 << (2 * (k - 1))) - 1) }
        } else {
            Self { high: self.high & ((1 << (2 * (k - 1 - HALF_BASES))) - 1), low: self.low }
        }
    }

    #[inline(always)]
    fn mixed(self) -> u64 {
        (self.low ^ self.high.rotate_left(43)).mixed()
    }
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
        bytes.resize(bytes.len() + 32, 255);
        assert_eq!(K::unpack(&bytes, k), kmer);
        assert_eq!(kmer.prefix(), K::of(&codes[..k - 1], k - 1));
        assert_eq!(kmer.suffix(k), K::of(&codes[1..], k - 1));
        assert!(kmer < K::NONE);
    }

    proptest! {
        #[test]
        fn numbers_do_what_texts_do(codes in prop::collection::vec(0u8..4, 2..=127)) {
            if codes.len() <= u64::BASES_MAX {
                agrees_with_text::<u64>(&codes);
            }
            if codes.len() <= u128::BASES_MAX {
                agrees_with_text::<u128>(&codes);
            }
            agrees_with_text::<Wide>(&codes);
        }
    }
}
