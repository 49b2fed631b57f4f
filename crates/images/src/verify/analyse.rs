//! What is in an image, found in another way than the kernel's.

use cuesta_core::cpu;

use super::cut::Cut;
use super::levels::{Pixel, are_good};
use super::strips::{ObjectCounts, Strips};
use crate::kernel::ImageMeasures;
use crate::params::{Channel, Plan};
use cuesta_input::images::samples::{ImageShape, Samples};

/// Memory that is used again for each image.
#[derive(Debug, Default)]
pub struct Scratch {
    plane: Samples,
    counts: Vec<u32>,
    strips: Strips,
}

#[cfg(test)]
impl Scratch {
    /// Bytes that objects take.
    pub fn strips_bytes(&self) -> u64 {
        self.strips.bytes()
    }
}

/// Transform, threshold, objects; what is wrong with an image that is refused.
pub fn analyse(
    samples: &Samples,
    shape: &ImageShape,
    plan: &Plan,
    room: &mut Scratch,
) -> Result<ImageMeasures, String> {
    match samples {
        Samples::U8(values) => typed(values, shape, plan, room),
        Samples::U16(values) => typed(values, shape, plan, room),
        Samples::F32(values) => typed(values, shape, plan, room),
        Samples::F64(values) => typed(values, shape, plan, room),
    }
}

fn typed<T: Pixel>(
    values: &[T],
    shape: &ImageShape,
    plan: &Plan,
    room: &mut Scratch,
) -> Result<ImageMeasures, String> {
    let Scratch { plane, counts, strips } = room;
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

/// The intensities of an image, in `plane` unless its own numbers are.
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
            (false, 3) => together::<T, 3>(values, place, plane),
            (false, _) => together::<T, 4>(values, place, plane),
        },
    );
    Ok(plane)
}

/// The intensities of pixels of `N` numbers each: that at a place, or luma.
#[inline(always)]
fn together<T: Pixel, const N: usize>(values: &[T], place: Option<usize>, plane: &mut [T]) {
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
