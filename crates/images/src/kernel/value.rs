//! Samples of an image as levels or as real numbers.

use cuesta_input::images::samples::SampleValue;

/// Operations on a sample of an image.
pub trait Intensity: SampleValue {
    /// Returns the integer part; a level itself.
    fn level(self) -> usize;
    /// Returns 0.2125 red + 0.7154 green + 0.0721 blue, rounded to this type.
    fn luma(rgb: [Self; 3]) -> Self;
    /// Whether the sample is above a threshold.
    fn is_above(self, threshold: f64) -> bool;
}

macro_rules! intensity {
    ($type:ident, $luma:expr, $above:expr) => {
        impl Intensity for $type {
            #[inline(always)]
            fn level(self) -> usize {
                self as usize
            }

            #[inline(always)]
            fn luma(rgb: [Self; 3]) -> Self {
                $luma(rgb) as Self
            }

            #[inline(always)]
            fn is_above(self, threshold: f64) -> bool {
                $above(self, threshold)
            }
        }
    };
}

/// Returns 0.2125 red + 0.7154 green + 0.0721 blue of levels, rounded to the nearest integer, half
/// up.
#[inline(always)]
fn luma_of_levels<T: Into<u32>>([red, green, blue]: [T; 3]) -> u32 {
    (2125 * red.into() + 7154 * green.into() + 721 * blue.into() + 5000) / 10_000
}

#[inline(always)]
fn luma_of_doubles<T: Into<f64>>([red, green, blue]: [T; 3]) -> f64 {
    0.2125 * red.into() + 0.7154 * green.into() + 0.0721 * blue.into()
}

/// Whether a level is above the integer part of a threshold, which is equivalent.
#[inline(always)]
fn level_is_above<T: Into<i32>>(level: T, threshold: f64) -> bool {
    level.into() > threshold.floor().clamp(-1.0, 65_535.0) as i32
}

#[inline(always)]
fn double_is_above<T: Into<f64>>(value: T, threshold: f64) -> bool {
    value.into() > threshold
}

intensity!(u8, luma_of_levels, level_is_above);
intensity!(u16, luma_of_levels, level_is_above);
intensity!(f32, luma_of_doubles, double_is_above);
intensity!(f64, luma_of_doubles, double_is_above);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn luma_of_white_is_white_and_weights_are_those_of_the_definition() {
        assert_eq!(u8::luma([255; 3]), 255);
        assert_eq!(u16::luma([65_535; 3]), 65_535);
        assert_eq!(u16::luma([10_000, 0, 0]), 2125);
        assert_eq!(u16::luma([0, 10_000, 0]), 7154);
        assert_eq!(u16::luma([0, 0, 10_000]), 721);
        assert_eq!((u8::luma([2, 0, 0]), u8::luma([3, 0, 0])), (0, 1));
        assert!((f64::luma([1.0, 1.0, 1.0]) - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_level_is_held_against_any_threshold() {
        for (level, threshold, above) in
            [(0, -0.5, true), (0, 0.0, false), (3, 2.9, true), (3, 3.0, false), (255, 1e9, false)]
        {
            assert_eq!(u8::is_above(level, threshold), above, "{level} > {threshold}");
        }
        assert!(0u16.is_above(-1e9));
    }
}
