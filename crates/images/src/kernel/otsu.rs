//! Otsu's threshold (1979): the level that divides the pixels into the two classes with the largest
//! between-class variance. Fractions of integers are compared, never rounded.

use crate::kernel::Intensity;

/// Bins of a floating-point image.
pub const BINS: usize = 256;
/// Maximum number of levels for which pixels are counted in several tables, so that equal
/// neighbours do not wait for each other.
const NARROW: usize = 256;
const TABLES: usize = 4;
/// Maximum size of the counts of an image, in bytes.
pub const COUNTS_BYTES_MAX: usize = (1 << 16) * size_of::<u64>();

/// Returns the threshold of an image whose intensities are from `low` to `high`.
///
/// The threshold of integer levels is a level; that of a floating-point image is the middle of one
/// of 256 bins. If all intensities are equal, the threshold is that intensity.
pub fn threshold<T: Intensity>(plane: &[T], low: T, high: T, counts: &mut Vec<u64>) -> f64 {
    let (first, last) = (low.to_f64(), high.to_f64());
    if first >= last {
        return first;
    }
    if T::LEVELS {
        let levels = high.level() - low.level() + 1;
        count(plane, levels, |value| value.level() - low.level(), counts);
        return first + split(&counts[..levels]) as f64;
    }
    count(plane, BINS, |value| bin(value.to_f64(), first, last), counts);
    let best = split(&counts[..BINS]);
    (edge(best, first, last) + edge(best + 1, first, last)) / 2.0
}

/// Returns the bin of a value from `first` to `last`; `last` belongs to the last bin.
#[inline(always)]
pub fn bin(value: f64, first: f64, last: f64) -> usize {
    (((value - first) / (last - first) * BINS as f64) as usize).min(BINS - 1)
}

/// Returns the lower edge of a bin.
pub fn edge(bin: usize, first: f64, last: f64) -> f64 {
    if bin == BINS { last } else { first + bin as f64 * ((last - first) / BINS as f64) }
}

/// Counts the pixels at each of `levels` levels.
fn count<T: Intensity>(plane: &[T], levels: usize, at: impl Fn(T) -> usize, counts: &mut Vec<u64>) {
    let tables = if levels <= NARROW { TABLES } else { 1 };
    counts.clear();
    counts.resize(levels * tables, 0);
    for values in plane.chunks(TABLES) {
        for (index, &value) in values.iter().enumerate() {
            counts[(index & (tables - 1)) * levels + at(value)] += 1;
        }
    }
    let (sums, more_tables) = counts.split_at_mut(levels);
    for table in more_tables.chunks_exact(levels) {
        sums.iter_mut().zip(table).for_each(|(sum, count)| *sum += count);
    }
}

/// Division of the pixels into two classes: the between-class variance is `distance`^2 / `weight`,
/// up to a factor that all divisions share.
#[derive(Clone, Copy)]
struct Division {
    /// |sum below x all pixels - total sum x pixels below|: below 2^72.
    distance: u128,
    /// Pixels below x pixels above: at most 2^56.
    weight: u128,
}

impl Division {
    fn is_better(self, other: Self) -> bool {
        let side =
            |division: Self, weight: u128| product(division.distance, division.distance * weight);
        side(self, other.weight) > side(other, self.weight)
    }
}

/// Returns the first index, except the last, that divides best; its pixels are in the lower class.
/// There are pixels at the first and at the last index, at most [`crate::params::PIXELS_MAX`], and
/// at most 2^16 indexes.
pub fn split(counts: &[u64]) -> usize {
    let sum_to = |counts: &[u64]| {
        let each = counts.iter().enumerate();
        each.map(|(level, &count)| u128::from(count) * level as u128).sum::<u128>()
    };
    let (pixels, sum) = (counts.iter().sum::<u64>() as u128, sum_to(counts));
    let (mut below, mut sum_below) = (0, 0);
    let mut best = (0, Division { distance: 0, weight: 1 });
    for (level, &count) in counts[..counts.len() - 1].iter().enumerate() {
        // The classes are those of the previous level, and ties go to the first level.
        if count == 0 {
            continue;
        }
        below += u128::from(count);
        sum_below += u128::from(count) * level as u128;
        let distance = (sum_below * pixels).abs_diff(sum * below);
        let division = Division { distance, weight: below * (pixels - below) };
        if division.is_better(best.1) {
            best = (level, division);
        }
    }
    best.0
}

/// Returns the product of two numbers, high half first.
fn product(a: u128, b: u128) -> (u128, u128) {
    let halves = |x: u128| (x >> 64, x & u128::from(u64::MAX));
    let ((a1, a0), (b1, b0)) = (halves(a), halves(b));
    let (low, cross) = (a0 * b0, a0 * b1);
    // At most (2^64 - 1)^2 + 2 (2^64 - 1), which is 2^128 - 1.
    let middle = a1 * b0 + (low >> 64) + (cross & u128::from(u64::MAX));
    let high = a1 * b1 + (cross >> 64) + (middle >> 64);
    (high, (middle << 64) | (low & u128::from(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::params::PIXELS_MAX;

    proptest! {
        #[test]
        fn a_product_is_that_of_the_schoolbook(a in any::<u128>(), b in any::<u128>()) {
            let (high, low) = product(a, b);
            prop_assert_eq!(low, a.wrapping_mul(b));
            // Reduction modulo 2^61 - 1, where 2^128 is 64.
            let prime = (1u128 << 61) - 1;
            let product_mod = (high % prime * 64 + low % prime) % prime;
            prop_assert_eq!(product_mod, (a % prime) * (b % prime) % prime);
        }
    }

    #[test]
    fn two_levels_are_divided_and_ties_go_to_the_first() {
        assert_eq!(split(&[5, 5]), 0);
        assert_eq!(split(&[5, 0, 0, 5]), 0);
        // Symmetric: dividing after the first and after the second is equally good.
        assert_eq!(split(&[1, 1, 1]), 0);
        assert_eq!(split(&[9, 1, 1, 9]), 1);
    }

    #[test]
    fn the_largest_image_does_not_overflow() {
        let half = PIXELS_MAX / 2;
        let mut counts = vec![0; 1 << 16];
        counts[0] = half;
        counts[65_534] = 1;
        counts[65_535] = half - 1;
        assert_eq!(split(&counts), 0);
        counts[0] = half / 2;
        counts[1] = half / 2;
        assert_eq!(split(&counts), 1);
    }

    #[test]
    fn the_threshold_of_floats_is_the_middle_of_a_bin() {
        let plane: Vec<f64> = (0..512).map(|index| f64::from(index % 2)).collect();
        let middle = threshold(&plane, 0.0, 1.0, &mut Vec::new());
        assert_eq!(middle, 0.5 / 256.0);
        assert_eq!(threshold(&[2.5f32; 3], 2.5, 2.5, &mut Vec::new()), 2.5);
        assert_eq!((bin(0.0, 0.0, 1.0), bin(1.0, 0.0, 1.0)), (0, 255));
    }
}
