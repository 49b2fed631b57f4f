//! Intensities and Otsu's threshold by other methods than the kernel's: luma of levels in floating
//! point; bins of floats by a product where rounding cannot change the bin; and all levels by the
//! sum of both classes' squares in double precision, of which those too close for rounding are
//! compared exactly.

use std::cmp::Ordering;

use cuesta_core::cpu;
use cuesta_input::images::samples::SampleValue;

use crate::reference::compare;

/// Levels of 16 bits.
const LEVELS: usize = 1 << 16;
/// Bins of a floating-point image.
const BINS: usize = 256;
const TABLES: usize = 8;
/// Largest intensity of a floating-point image.
const VALUE_MAX: f64 = 1e150;
/// Numbers whose range, and whose bins, are computed together.
const LANES: usize = 32;
const BLOCK: usize = 1024;
/// Bound on the rounding error of a position in bins: three roundings of a number of at most 256.
const DOUBT: f64 = 1.0 / (1u64 << 40) as f64;
/// 2^52: added to an integer below 2^51, it leaves the integer in the low bits.
const TWO_TO_52: f64 = 4_503_599_627_370_496.0;
/// Bound on the relative rounding error of a sum of squares, which has three roundings of positive
/// numbers on either side of a comparison.
const MARGIN: f64 = 1.0 - 1.0 / (1u64 << 49) as f64;

/// Sample of an image.
pub trait Pixel: SampleValue {
    /// The smallest value of the type.
    const LOWEST: Self;
    /// Returns the smallest value above a threshold.
    fn above(threshold: f64) -> Option<Self>;
    /// Returns 0.2125 red + 0.7154 green + 0.0721 blue, rounded to the nearest value, half up.
    fn weighted(rgb: [Self; 3]) -> Self;
    /// Returns Otsu's threshold.
    fn otsu(plane: &[Self], counts: &mut Vec<u32>) -> Option<f64>;
}

impl Pixel for u8 {
    const LOWEST: Self = 0;

    fn above(threshold: f64) -> Option<Self> {
        (0..=Self::MAX).find(|&level| f64::from(level) > threshold)
    }

    #[inline(always)]
    fn weighted([red, green, blue]: [Self; 3]) -> Self {
        // Half a step above an integer, and at least as far from a multiple of 10 000; single
        // precision loses less than that for quotients of at most 255.5.
        let sum = 2125.0 * f32::from(red) + 7154.0 * f32::from(green) + 721.0 * f32::from(blue);
        ((sum + 5000.5) * 1e-4) as i32 as Self
    }

    fn otsu(plane: &[Self], counts: &mut Vec<u32>) -> Option<f64> {
        let mut tables = Tables::default();
        tables.add(plane);
        tables.sum(counts);
        let low = counts.iter().position(|&count| count > 0)?;
        let high = counts.iter().rposition(|&count| count > 0)?;
        Some((low + best(&counts[low..=high])) as f64)
    }
}

impl Pixel for u16 {
    const LOWEST: Self = 0;

    fn above(threshold: f64) -> Option<Self> {
        let low = threshold.floor() + 1.0;
        (low <= f64::from(Self::MAX)).then_some(low.max(0.0) as Self)
    }

    #[inline(always)]
    fn weighted([red, green, blue]: [Self; 3]) -> Self {
        let sum = 2125.0 * f64::from(red) + 7154.0 * f64::from(green) + 721.0 * f64::from(blue);
        ((sum + 5000.5) * 1e-4) as i32 as Self
    }

    fn otsu(plane: &[Self], counts: &mut Vec<u32>) -> Option<f64> {
        let (low, high) = cpu::fastest(
            #[inline(always)]
            || range(plane, Self::MAX, 0),
        );
        if counts.len() < LEVELS {
            *counts = vec![0; LEVELS];
        }
        let counts = &mut counts[..=usize::from(high.checked_sub(low)?)];
        counts.fill(0);
        for &level in plane {
            counts[usize::from(level - low)] += 1;
        }
        Some((usize::from(low) + best(counts)) as f64)
    }
}

impl Pixel for f32 {
    const LOWEST: Self = Self::NEG_INFINITY;

    fn above(threshold: f64) -> Option<Self> {
        let near = threshold as Self;
        Some(if f64::from(near) > threshold { near } else { near.next_up() })
    }

    #[inline(always)]
    fn weighted(rgb: [Self; 3]) -> Self {
        f64::weighted(rgb.map(f64::from)) as Self
    }

    fn otsu(plane: &[Self], counts: &mut Vec<u32>) -> Option<f64> {
        let (low, high) = cpu::fastest(
            #[inline(always)]
            || range(plane, Self::INFINITY, Self::NEG_INFINITY),
        );
        binned(plane, (low.into(), high.into()), counts)
    }
}

impl Pixel for f64 {
    const LOWEST: Self = Self::NEG_INFINITY;

    fn above(threshold: f64) -> Option<Self> {
        Some(threshold.next_up())
    }

    #[inline(always)]
    fn weighted([red, green, blue]: [Self; 3]) -> Self {
        // The specification computes luma in double precision in this order.
        (0.2125 * red + 0.7154 * green) + 0.0721 * blue
    }

    fn otsu(plane: &[Self], counts: &mut Vec<u32>) -> Option<f64> {
        let range = cpu::fastest(
            #[inline(always)]
            || range(plane, Self::INFINITY, Self::NEG_INFINITY),
        );
        binned(plane, range, counts)
    }
}

/// Whether an image may contain all these numbers.
pub fn are_good<T: Pixel>(plane: &[T]) -> bool {
    T::LEVELS
        || cpu::fastest(
            #[inline(always)]
            || {
                // No early exit, so that several numbers are compared together.
                plane.iter().fold(true, |good, x| good & (x.to_f64().abs() <= VALUE_MAX))
            },
        )
}

/// Returns the smallest and the largest number.
#[inline(always)]
fn range<T: Pixel>(plane: &[T], most: T, least: T) -> (T, T) {
    let (mut low, mut high) = ([most; LANES], [least; LANES]);
    let (chunks, rest) = plane.as_chunks::<LANES>();
    for lanes in chunks {
        for (lane, &value) in lanes.iter().enumerate() {
            low[lane] = if value < low[lane] { value } else { low[lane] };
            high[lane] = if value > high[lane] { value } else { high[lane] };
        }
    }
    let smaller = |a: T, &b: &T| if b < a { b } else { a };
    let larger = |a: T, &b: &T| if b > a { b } else { a };
    (low.iter().chain(rest).fold(most, smaller), high.iter().chain(rest).fold(least, larger))
}

/// Counts of each byte; equal neighbours count in different tables, so that none waits for the
/// previous one.
struct Tables([[u32; BINS]; TABLES]);

impl Default for Tables {
    fn default() -> Self {
        Self([[0; BINS]; TABLES])
    }
}

impl Tables {
    fn add(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<TABLES>();
        for eight in chunks {
            for (table, &byte) in self.0.iter_mut().zip(eight) {
                table[usize::from(byte)] += 1;
            }
        }
        rest.iter().for_each(|&byte| self.0[0][usize::from(byte)] += 1);
    }

    fn sum(&self, counts: &mut Vec<u32>) {
        counts.clear();
        counts.extend((0..BINS).map(|byte| self.0.iter().map(|table| table[byte]).sum::<u32>()));
    }
}

/// Returns the threshold of floats: the middle of a bin.
fn binned<T: Pixel>(plane: &[T], (a, b): (f64, f64), counts: &mut Vec<u32>) -> Option<f64> {
    if a >= b {
        return Some(a);
    }
    let mut tables = Tables::default();
    let mut bins = [0; BLOCK];
    for values in plane.chunks(BLOCK) {
        let bins = &mut bins[..values.len()];
        let is_sure = cpu::fastest(
            #[inline(always)]
            || by_product(values, (a, BINS as f64 / (b - a)), bins),
        );
        if !is_sure {
            for (bin, value) in bins.iter_mut().zip(values) {
                let place = ((value.to_f64() - a) / (b - a) * BINS as f64).floor();
                *bin = place.min(BINS as f64 - 1.0) as u8;
            }
        }
        tables.add(bins);
    }
    tables.sum(counts);
    let best = best(counts);
    let start = |bin: usize| {
        if bin == BINS { b } else { a + bin as f64 * ((b - a) / BINS as f64) }
    };
    Some((start(best) + start(best + 1)) / 2.0)
}

/// Sets the bins of values; returns whether all are surely those of the specification.
#[inline(always)]
fn by_product<T: Pixel>(values: &[T], (a, per_unit): (f64, f64), bins: &mut [u8]) -> bool {
    let mut is_sure = true;
    for (bin, value) in bins.iter_mut().zip(values) {
        let place = (value.to_f64() - a) * per_unit;
        // False for NaN too.
        is_sure &= (place - place.round_ties_even()).abs() > DOUBT;
        *bin = (place.floor() + TWO_TO_52).to_bits() as u8;
    }
    is_sure
}

/// Returns the first level, except the highest, that divides the pixels best. The first and the
/// last level have pixels.
fn best(counts: &[u32]) -> usize {
    let all = counts.iter().zip(0u64..).fold((0, 0), |(pixels, sum), (&count, level)| {
        (pixels + u64::from(count), sum + u64::from(count) * level)
    });
    // The class above a level is the complement of the class below; the first of equal levels has
    // pixels itself.
    let candidates = || {
        let (mut pixels, mut sum) = (0, 0);
        let until = counts.len().saturating_sub(1);
        counts[..until].iter().enumerate().filter(|&(_, &count)| count > 0).map(
            move |(level, &count)| {
                pixels += u64::from(count);
                sum += u64::from(count) * level as u64;
                (level, [(sum, pixels), (all.1 - sum, all.0 - pixels)])
            },
        )
    };
    let about = |classes: [(u64, u64); 2]| -> f64 {
        classes.iter().map(|&(sum, pixels)| sum as f64 * sum as f64 / pixels as f64).sum()
    };
    let most = candidates().map(|(_, classes)| about(classes)).fold(0.0, f64::max);
    let mut best_level = None::<(usize, (u128, u128))>;
    for (level, classes) in candidates() {
        if about(classes) < most * MARGIN {
            continue;
        }
        let fraction = exact_fraction(classes);
        if best_level.is_none_or(|(_, best)| compare(fraction, best) == Ordering::Greater) {
            best_level = Some((level, fraction));
        }
    }
    best_level.map_or(0, |(level, _)| level)
}

/// Returns the sum of both classes' squares divided by their pixels, as a fraction: sums are below
/// 2^45 and pixels at most 2^29.
fn exact_fraction([(sum, pixels), (sum_above, pixels_above)]: [(u64, u64); 2]) -> (u128, u128) {
    let square = |x: u64| u128::from(x) * u128::from(x);
    let (pixels, pixels_above) = (u128::from(pixels), u128::from(pixels_above));
    (square(sum) * pixels_above + square(sum_above) * pixels, pixels * pixels_above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Intensity;

    #[test]
    fn luma_in_floating_point_equals_that_of_integers() {
        for red in 0..=255u8 {
            for green in 0..=255u8 {
                for blue in 0..=255u8 {
                    let rgb = [red, green, blue];
                    assert_eq!(u8::weighted(rgb), u8::luma(rgb), "{rgb:?}");
                }
            }
        }
        for level in (0..=u16::MAX).step_by(5) {
            for rgb in [[level; 3], [level, 7, 65_535], [9, level, 300], [31, 65_000, level]] {
                assert_eq!(u16::weighted(rgb), u16::luma(rgb), "{rgb:?}");
            }
        }
    }

    #[test]
    fn half_a_step_from_a_multiple_is_enough_for_both_precisions() {
        // Sums at which the integer part changes.
        for integer in 1..=65_535u32 {
            for (sum, expected) in
                [(integer * 10_000 - 1, integer - 1), (integer * 10_000, integer)]
            {
                assert_eq!(((f64::from(sum) + 0.5) * 1e-4) as u32, expected, "{sum}");
                if integer < 256 {
                    assert_eq!(((sum as f32 + 0.5) * 1e-4) as u32, expected, "{sum}");
                }
            }
        }
    }

    #[test]
    fn ties_go_to_the_first_and_the_largest_image_does_not_overflow() {
        assert_eq!((best(&[5, 0, 0, 5]), best(&[1, 1, 1]), best(&[9, 1, 1, 9])), (0, 0, 1));
        assert_eq!((best(&[7]), best(&[])), (0, 0));
        let half = (crate::params::PIXELS_MAX / 2) as u32;
        let mut counts = vec![0; 1 << 16];
        (counts[0], counts[65_534], counts[65_535]) = (half, 1, half - 1);
        assert_eq!(best(&counts), 0);
        (counts[0], counts[1]) = (half / 2, half / 2);
        assert_eq!(best(&counts), 1);
    }

    #[test]
    fn floats_next_to_the_edge_of_a_bin_are_in_the_right_bin() {
        for (a, b) in [(0.0, 1.0), (-7.1, 3.3), (0.0, 255.0), (1e-300, 3e-300), (0.0, 5e-324)] {
            let edge = |bin: i32| a + f64::from(bin) * ((b - a) / 256.0);
            let near =
                (0..=256).flat_map(|bin| [edge(bin).next_down(), edge(bin), edge(bin).next_up()]);
            let mut plane: Vec<f64> = near.map(|x| x.clamp(a, b)).collect();
            plane.extend([a, b]);
            let bin = |x: f64| crate::kernel::bin(x, a, b);
            for &x in &plane {
                let mut bins = [0; 1];
                if by_product(&[x], (a, 256.0 / (b - a)), &mut bins) {
                    assert_eq!(usize::from(bins[0]), bin(x), "{x}");
                }
            }
            let threshold = f64::otsu(&plane, &mut Vec::new()).unwrap();
            assert_eq!(threshold, crate::kernel::threshold(&plane, a, b, &mut Vec::new()));
        }
    }

    #[test]
    fn a_number_that_is_not_finite_is_not_good() {
        for bad in [f64::NAN, f64::INFINITY, -1.1e150] {
            assert!(!are_good(&[1.0, bad, 2.0]));
        }
        assert!(are_good(&[1e150, -1e150]) && are_good(&[f32::MAX]) && are_good(&[7u8]));
    }
}
