//! From the numbers of an image to counts, as pure functions on slices.

mod intensity;
mod objects;
mod otsu;
mod value;

pub use intensity::{Refused, VALUE_MAX};
pub use objects::LabelForest;
#[cfg(test)]
pub(crate) use otsu::{bin, threshold};
pub use value::Intensity;

use cuesta_core::cpu;

use crate::params::Plan;
use cuesta_input::images::samples::{ImageShape, Samples};

/// What was found in an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageMeasures {
    /// The threshold.
    pub threshold: f64,
    /// Pixels of features, those of objects that are too small included.
    pub pixels: u64,
    /// Objects that are large enough.
    pub objects: u64,
    /// Pixels of the largest of them; 0 when there is none.
    pub largest: u64,
}

/// Memory that is used again for each image.
#[derive(Debug, Default)]
pub struct Scratch {
    plane: Samples,
    counts: Vec<u64>,
    mask: Vec<u8>,
    forest: LabelForest,
}

/// Bytes that an image takes while it is worked on, its own numbers included.
pub fn needed_bytes(shape: &ImageShape) -> u64 {
    let plane = if shape.channels > 1 { shape.pixels() * shape.kind.size_bytes() } else { 0 };
    (shape.size_bytes() + plane + otsu::COUNTS_BYTES_MAX) as u64
        + LabelForest::bytes_max(shape.height, shape.width)
}

/// Transform, threshold, objects.
///
/// # Errors
/// What is no image to be worked on, with its place.
pub fn analyse(
    samples: &Samples,
    shape: &ImageShape,
    plan: &Plan,
    room: &mut Scratch,
) -> Result<ImageMeasures, Refused> {
    match samples {
        Samples::U8(values) => typed(values, shape, plan, room),
        Samples::U16(values) => typed(values, shape, plan, room),
        Samples::F32(values) => typed(values, shape, plan, room),
        Samples::F64(values) => typed(values, shape, plan, room),
    }
}

fn typed<T: Intensity>(
    values: &[T],
    shape: &ImageShape,
    plan: &Plan,
    room: &mut Scratch,
) -> Result<ImageMeasures, Refused> {
    let Scratch { plane, counts, mask, forest } = room;
    let plane = intensity::of(values, shape, plan.channel, T::of(plane))?;
    let (low, high) = intensity::range(plane, shape.width)?;
    let threshold = plan.threshold.unwrap_or_else(|| otsu::threshold(plane, low, high, counts));
    forest.clear();
    mask.resize(shape.width, 0);
    for row in plane.chunks_exact(shape.width) {
        mark(row, threshold, plan.dark, mask);
        forest.add_row(mask);
    }
    let (objects, largest) = forest.count(plan.min_pixels);
    Ok(ImageMeasures { threshold, pixels: forest.pixels(), objects, largest })
}

/// Sets the mask to 1 where a pixel is of a feature, else to 0.
fn mark<T: Intensity>(row: &[T], threshold: f64, dark: bool, mask: &mut [u8]) {
    cpu::fastest(
        #[inline(always)]
        || {
            for (mark, value) in mask.iter_mut().zip(row) {
                *mark = u8::from(value.is_above(threshold) != dark);
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::params::Channel;
    use crate::reference;
    use cuesta_input::images::samples::SampleType;

    fn shape(height: usize, width: usize, channels: usize, kind: SampleType) -> ImageShape {
        let planar = channels == 4 && width.is_multiple_of(2);
        ImageShape { height, width, channels, planar, kind }
    }

    /// Images of few levels, so that objects touch in all ways and levels tie.
    fn image() -> impl Strategy<Value = (ImageShape, Samples)> {
        let kinds = prop_oneof![
            Just(SampleType::U8),
            Just(SampleType::U16),
            Just(SampleType::F32),
            Just(SampleType::F64)
        ];
        let sizes = (
            1usize..20,
            1usize..140,
            prop_oneof![Just(1usize), Just(3), Just(4)],
            kinds,
            1u16..40,
            any::<bool>(),
        );
        sizes.prop_flat_map(|(height, width, channels, kind, levels, wide)| {
            let step = if wide { 1600 } else { 1 };
            let count = height * width * channels;
            prop::collection::vec(0..levels, count).prop_map(move |numbers| {
                let numbers = numbers.iter();
                let samples = match kind {
                    SampleType::U8 => Samples::U8(numbers.map(|&x| (x * 6) as u8).collect()),
                    SampleType::U16 => Samples::U16(numbers.map(|&x| x * step).collect()),
                    SampleType::F32 => Samples::F32(numbers.map(|&x| f32::from(x) / 3.0).collect()),
                    SampleType::F64 => Samples::F64(numbers.map(|&x| f64::from(x) - 7.1).collect()),
                };
                (shape(height, width, channels, kind), samples)
            })
        })
    }

    proptest! {
        #[test]
        fn the_kernel_and_the_verification_find_what_the_reference_finds(
            images in prop::collection::vec(image(), 1..4),
            threshold in prop::option::of(-3.0..70.0),
            dark in any::<bool>(),
            min_pixels in 1u64..6,
        ) {
            let (mut room, mut bytes_max) = (Scratch::default(), 0);
            let mut other = crate::verify::Scratch::default();
            for (shape, samples) in images {
                let colours = [Channel::Luma, Channel::Red, Channel::Green, Channel::Blue];
                let known = if shape.channels > 2 { 4 } else { 1 };
                for channel in &colours[..known] {
                    let plan = Plan { channel: *channel, threshold, dark, min_pixels };
                    let found = analyse(&samples, &shape, &plan, &mut room).unwrap();
                    prop_assert_eq!(found, reference::analyse(&samples, &shape, &plan));
                    let again = crate::verify::analyse(&samples, &shape, &plan, &mut other);
                    prop_assert_eq!(again, Ok(found));
                    bytes_max = bytes_max.max(LabelForest::bytes_max(shape.height, shape.width));
                    prop_assert!(room.forest.bytes() <= bytes_max);
                    // Beside the counts, which are half as wide.
                    prop_assert!(other.strips_bytes() <= bytes_max);
                }
            }
        }
    }

    #[test]
    fn a_pixel_that_is_no_number_is_told_with_its_place() {
        let mut values = vec![0.5f32; 12];
        values[7] = f32::NAN;
        let plan = crate::params::ImagesParams::default().check().unwrap();
        let grey = shape(3, 4, 1, SampleType::F32);
        let mut room = Scratch::default();
        let told = analyse(&Samples::F32(values.clone()), &grey, &plan, &mut room).unwrap_err();
        assert_eq!(told.to_string(), "has NaN at row 1, column 3; give numbers");
        values[7] = f32::NEG_INFINITY;
        let told = analyse(&Samples::F32(values), &grey, &plan, &mut room).unwrap_err();
        assert_eq!(told.to_string(), "has -inf at row 1, column 3; give numbers");
        let huge = Samples::F64(vec![1.0, -1e151]);
        let told = analyse(&huge, &shape(2, 1, 1, SampleType::F64), &plan, &mut room).unwrap_err();
        assert!(told.to_string().contains("at row 1, column 0"), "{told}");
    }

    #[test]
    fn a_grey_image_has_no_red() {
        let plan = Plan { channel: Channel::Red, threshold: None, dark: false, min_pixels: 1 };
        let samples = Samples::U8(vec![1]);
        let told =
            analyse(&samples, &shape(1, 1, 1, SampleType::U8), &plan, &mut Scratch::default());
        let text = told.unwrap_err().to_string();
        assert_eq!(text, "is grey and has no red; give --channel luma");
    }
}
