//! Measures of an image, computed by other methods than the kernel's.

use cuesta_core::cpu;

use super::cut::Cut;
use super::levels::{Pixel, are_good};
use super::strips::{ObjectCounts, Strips};
use crate::kernel::ImageMeasures;
use crate::params::{Channel, Plan};
use cuesta_input::images::samples::{ImageShape, Samples};

/// Memory that is reused for each image.
#[derive(Debug, Default)]
pub struct Scratch {
    plane: Samples,
    counts: Vec<u32>,
    strips: Strips,
}

#[cfg(test)]
impl Scratch {
    /// Returns the bytes allocated for objects.
    pub fn strips_bytes(&self) -> u64 {
        self.strips.bytes()
    }
}

/// Computes intensities, threshold and objects of an image; returns the fault of a refused image.
pub fn analyse(
    samples: &Samples,
    shape: &ImageShape,
    plan: &Plan,
    scratch: &mut Scratch,
) -> Result<ImageMeasures, String> {
    match samples {
        Samples::U8(values) => typed(values, shape, plan, scratch),
        Samples::U16(values) => typed(values, shape, plan, scratch),
        Samples::F32(values) => typed(values, shape, plan, scratch),
        Samples::F64(values) => typed(values, shape, plan, scratch),
    }
}

fn typed<T: Pixel>(
    values: &[T],
    shape: &ImageShape,
    plan: &Plan,
    scratch: &mut Scratch,
) -> Result<ImageMeasures, String> {
    let Scratch { plane, counts, strips } = scratch;
    let plane = intensities(values, shape, plan.channel, T::of(plane))?;
    if !are_good(plane) {
        return Err("has pixels that are no numbers, which the work would have refused".to_owned());
    }
    let otsu = || T::otsu(plane, counts).ok_or_else(|| "has no pixel".to_owned());
    let threshold = plan.threshold.map_or_else(otsu, Ok)?;
    let cut = Cut::new(threshold, plan.dark);
    let ObjectCounts { pixels, objects, largest } =
        strips.count(plane, shape.width, cut, plan.min_pixels);
    Ok(ImageMeasures { threshold, pixels, objects, largest })
}

/// Returns the intensities of an image, in `plane` unless they are samples of the image.
fn intensities<'a, T: Pixel>(
    values: &'a [T],
    shape: &ImageShape,
    channel: Channel,
    plane: &'a mut Vec<T>,
) -> Result<&'a [T], String> {
    let place = match channel {
        Channel::Luma if shape.channels == 1 => return Ok(values),
        _ if shape.channels == 1 => return Err(format!("is grey and has no {}", channel.name())),
        Channel::Luma => None,
        Channel::Red => Some(0),
        Channel::Green => Some(1),
        Channel::Blue => Some(2),
    };
    let pixels = shape.pixels();
    match place {
        Some(place) if shape.planar => return Ok(&values[place * pixels..][..pixels]),
        _ => plane.resize(pixels, T::default()),
    }
    cpu::fastest(
        #[inline(always)]
        || match (shape.planar, shape.channels) {
            (true, _) => {
                let (red, rest) = values.split_at(pixels);
                let (green, blue) = rest.split_at(pixels);
                for (((value, r), g), b) in plane.iter_mut().zip(red).zip(green).zip(blue) {
                    *value = T::weighted([*r, *g, *b]);
                }
            }
            (false, 3) => interleaved::<T, 3>(values, place, plane),
            (false, _) => interleaved::<T, 4>(values, place, plane),
        },
    );
    Ok(plane)
}

/// Intensities of pixels of `N` adjacent samples: the sample at a place, or luma.
#[inline(always)]
fn interleaved<T: Pixel, const N: usize>(values: &[T], place: Option<usize>, plane: &mut [T]) {
    let pixels = plane.iter_mut().zip(values.as_chunks::<N>().0);
    match place {
        None => {
            pixels.for_each(|(value, pixel)| *value = T::weighted([pixel[0], pixel[1], pixel[2]]))
        }
        Some(0) => pixels.for_each(|(value, pixel)| *value = pixel[0]),
        Some(1) => pixels.for_each(|(value, pixel)| *value = pixel[1]),
        Some(_) => pixels.for_each(|(value, pixel)| *value = pixel[2]),
    }
}
