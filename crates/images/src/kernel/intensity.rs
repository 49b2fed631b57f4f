//! Transform of the samples of a pixel to one intensity.

use std::fmt;

use cuesta_core::cpu;

use crate::kernel::Intensity;
use crate::params::Channel;
use cuesta_input::images::samples::ImageShape;

/// Largest absolute value of an intensity in a floating-point image.
pub const VALUE_MAX: f64 = 1e150;

/// Reason why an image is refused; its text follows the name of the image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Refused {
    /// The image is grey, and a colour channel was requested.
    Grey(Channel),
    /// A pixel is NaN or too large.
    Value {
        /// Row of the pixel, from 0.
        row: usize,
        /// Column of the pixel, from 0.
        column: usize,
        /// Value of the pixel.
        value: f64,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grey(channel) => {
                write!(f, "is grey and has no {}; give --channel luma", channel.name())
            }
            Self::Value { row, column, value } if value.is_finite() => {
                write!(f, "has {value:e} at row {row}, column {column}; give at most {VALUE_MAX:e}")
            }
            Self::Value { row, column, value } => {
                write!(f, "has {value} at row {row}, column {column}; give numbers")
            }
        }
    }
}

/// Returns the intensities of an image: the samples themselves if each pixel has one, else `plane`.
///
/// # Errors
/// [`Refused::Grey`] if a colour of a grey image is requested.
pub fn of<'a, T: Intensity>(
    values: &'a [T],
    shape: &ImageShape,
    channel: Channel,
    plane: &'a mut Vec<T>,
) -> Result<&'a [T], Refused> {
    if shape.channels == 1 && channel != Channel::Luma {
        return Err(Refused::Grey(channel));
    }
    match shape.channels {
        1 => return Ok(values),
        _ if shape.planar => return Ok(planar(values, shape.pixels(), channel, plane)),
        3 => coloured(values.as_chunks::<3>().0, channel, plane, |pixel| pixel),
        _ => coloured(values.as_chunks::<4>().0, channel, plane, |[r, g, b, _]| [r, g, b]),
    }
    Ok(plane)
}

/// Intensities of channels stored one after the other, each of `pixels` samples.
fn planar<'a, T: Intensity>(
    values: &'a [T],
    pixels: usize,
    channel: Channel,
    plane: &'a mut Vec<T>,
) -> &'a [T] {
    let (red, rest) = values.split_at(pixels);
    let (green, rest) = rest.split_at(pixels);
    let blue = &rest[..pixels];
    match channel {
        Channel::Red => return red,
        Channel::Green => return green,
        Channel::Blue => return blue,
        Channel::Luma => plane.resize(pixels, T::default()),
    }
    cpu::fastest(
        #[inline(always)]
        || {
            for (((value, r), g), b) in plane.iter_mut().zip(red).zip(green).zip(blue) {
                *value = T::luma([*r, *g, *b]);
            }
        },
    );
    plane
}

fn coloured<T: Intensity, const N: usize>(
    pixels: &[[T; N]],
    channel: Channel,
    plane: &mut Vec<T>,
    rgb: impl Fn([T; N]) -> [T; 3],
) {
    match channel {
        Channel::Luma => fill(pixels, plane, |pixel| T::luma(rgb(pixel))),
        Channel::Red => fill(pixels, plane, |pixel| rgb(pixel)[0]),
        Channel::Green => fill(pixels, plane, |pixel| rgb(pixel)[1]),
        Channel::Blue => fill(pixels, plane, |pixel| rgb(pixel)[2]),
    }
}

fn fill<T: Intensity, const N: usize>(
    pixels: &[[T; N]],
    plane: &mut Vec<T>,
    intensity: impl Fn([T; N]) -> T,
) {
    plane.resize(pixels.len(), T::default());
    cpu::fastest(
        #[inline(always)]
        || {
            for (value, pixel) in plane.iter_mut().zip(pixels) {
                *value = intensity(*pixel);
            }
        },
    );
}

/// Returns the smallest and the largest intensity.
///
/// # Errors
/// [`Refused::Value`] for a number that is not finite or beyond [`VALUE_MAX`].
pub fn range<T: Intensity>(plane: &[T], width: usize) -> Result<(T, T), Refused> {
    let start = plane.first().copied().unwrap_or_default();
    let (mut low, mut high, mut good) = (start, start, true);
    cpu::fastest(
        #[inline(always)]
        || {
            for &value in plane {
                low = if value < low { value } else { low };
                high = if value > high { value } else { high };
                good &= T::LEVELS || value.to_f64().abs() <= VALUE_MAX;
            }
        },
    );
    if good {
        return Ok((low, high));
    }
    let bad = |value: &T| value.to_f64().abs() > VALUE_MAX || value.to_f64().is_nan();
    let at = plane.iter().position(bad).unwrap_or_default();
    Err(Refused::Value { row: at / width, column: at % width, value: plane[at].to_f64() })
}
