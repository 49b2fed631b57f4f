//! Counter-based random numbers: the i-th value depends on the seed and i only, so any thread,
//! partition or language makes the same data.

use crate::digest::mix;

/// A stream of random numbers addressed by index.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    key: u64,
}

impl Stream {
    /// The stream number `stream` of `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        Self { key: mix(mix(seed ^ 0x9E37_79B9_7F4A_7C15).wrapping_add(stream)) }
    }

    /// The 64 random bits at `index`.
    #[inline(always)]
    pub fn bits(&self, index: u64) -> u64 {
        let z = self.key.wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        mix(mix(z) ^ self.key)
    }

    /// A uniform number in [0, 1) at `index`.
    pub fn uniform(&self, index: u64) -> f64 {
        (self.bits(index) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A uniform integer in [0, bound) at `index`; `bound` must not be 0.
    pub fn below(&self, index: u64, bound: u64) -> u64 {
        ((u128::from(self.bits(index)) * u128::from(bound)) >> 64) as u64
    }

    /// A standard normal number at `index`: sum of twelve uniforms (Irwin-Hall), which needs no
    /// transcendental function and is therefore the same on every machine.
    pub fn normal(&self, index: u64) -> f64 {
        let (a, b, c) = (self.bits(3 * index), self.bits(3 * index + 1), self.bits(3 * index + 2));
        let sum: u64 = [a, b, c]
            .iter()
            .flat_map(|bits| (0..4).map(move |part| (bits >> (16 * part)) & 0xFFFF))
            .sum();
        sum as f64 / 65_536.0 - 6.0 + 6.0 / 65_536.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_indices_have_equal_values() {
        let (a, b) = (Stream::new(7, 1), Stream::new(7, 1));
        assert!((0..100).all(|i| a.bits(i) == b.bits(i)));
        assert_ne!(a.bits(0), Stream::new(8, 1).bits(0));
        assert_ne!(a.bits(0), Stream::new(7, 2).bits(0));
    }

    #[test]
    fn normals_have_mean_0_and_variance_1() {
        let stream = Stream::new(1, 0);
        let values: Vec<f64> = (0..100_000).map(|i| stream.normal(i)).collect();
        let mean = values.iter().sum::<f64>() / 1e5;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
    }

    #[test]
    fn below_is_less_than_the_bound() {
        let stream = Stream::new(3, 0);
        assert!((0..1000).all(|i| stream.below(i, 7) < 7));
    }

    /// Generated data and samples are the same for ever: these are the numbers of this definition.
    #[test]
    fn numbers_of_a_seed_never_change() {
        let stream = Stream::new(7, 1);
        let bits = [0, 1, u64::MAX].map(|index| stream.bits(index));
        assert_eq!(
            bits,
            [15_060_738_580_236_591_037, 6_102_899_368_151_393_387, 952_368_618_287_474_043]
        );
        assert_eq!(
            [0, 1].map(|index| stream.uniform(index)),
            [0.8164442743964381, 0.3308388376705076]
        );
        assert_eq!(
            [0, 1].map(|index| stream.normal(index)),
            [1.3053131103515625, -0.467803955078125]
        );
        assert_eq!([0, 1].map(|index| stream.below(index, 1000)), [816, 330]);
    }

    #[test]
    fn uniform_numbers_are_from_0_to_1() {
        let stream = Stream::new(2, 0);
        let values: Vec<f64> = (0..10_000).map(|index| stream.uniform(index)).collect();
        assert!(values.iter().all(|value| (0.0..1.0).contains(value)));
        assert!((values.iter().sum::<f64>() / 1e4 - 0.5).abs() < 0.02);
    }
}
