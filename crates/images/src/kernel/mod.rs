//! Kernel from the samples of an image to counts, as pure functions on slices.

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

/// Threshold and counts of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageMeasures {
    /// Threshold between objects and background.
    pub threshold: f64,
    /// Pixels of all objects, those smaller than the minimum included.
    pub pixels: u64,
    /// Objects of at least the minimum size.
    pub objects: u64,
    /// Pixels of the largest of these objects; 0 if there are none.
    pub largest: u64,
}

/// Memory that is reused for each image.
#[derive(Debug, Default)]
pub struct Scratch {
    plane: Samples,
    counts: Vec<u64>,
    mask: Vec<u8>,
    forest: LabelForest,
}

/// Returns the bytes that processing an image takes, its samples included.
pub fn needed_bytes(shape: &ImageShape) -> u64 {
    let plane = if shape.channels > 1 { shape.pixels() * shape.kind.size_bytes() } else { 0 };
    (shape.size_bytes() + plane + otsu::COUNTS_BYTES_MAX) as u64
        + LabelForest::bytes_max(shape.height, shape.width)
}

/// Computes intensities, threshold and objects of an image.
///
/// # Errors
/// The reason why the image is refused, with the position of the pixel.
pub fn analyse(
    samples: &Samples,
    shape: &ImageShape,
    plan: &Plan,
    scratch: &mut Scratch,
) -> Result<ImageMeasures, Refused> {
    match samples {
        Samples::U8(values) => typed(values, shape, plan, scratch),
        Samples::U16(values) => typed(values, shape, plan, scratch),
        Samples::F32(values) => typed(values, shape, plan, scratch),
        Samples::F64(values) => typed(values, shape, plan, scratch),
    }
}

fn typed<T: Intensity>(
    values: &[T],
    shape: &ImageShape,
    plan: &Plan,
    scratch: &mut Scratch,
) -> Result<ImageMeasures, Refused> {
    let Scratch { plane, counts, mask, forest } = scratch;
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

/// Sets the mask to 1 for each pixel of an object, else to 0.
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

    /// Images of few levels, so that objects touch in all possible ways and levels tie.
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
        fn the_kernel_and_the_verification_equal_the_reference(
            images in prop::collection::vec(image(), 1..4),
            threshold in prop::option::of(-3.0..70.0),
            dark in any::<bool>(),
            min_pixels in 1u64..6,
        ) {
            let (mut scratch, mut bytes_max) = (Scratch::default(), 0);
            let mut verify_scratch = crate::verify::Scratch::default();
            for (shape, samples) in images {
                let colours = [Channel::Luma, Channel::Red, Channel::Green, Channel::Blue];
                let channel_count = if shape.channels > 2 { 4 } else { 1 };
                for channel in &colours[..channel_count] {
                    let plan = Plan { channel: *channel, threshold, dark, min_pixels };
                    let measures = analyse(&samples, &shape, &plan, &mut scratch).unwrap();
                    prop_assert_eq!(measures, reference::analyse(&samples, &shape, &plan));
                    let verified =
                        crate::verify::analyse(&samples, &shape, &plan, &mut verify_scratch);
                    prop_assert_eq!(verified, Ok(measures));
                    bytes_max = bytes_max.max(LabelForest::bytes_max(shape.height, shape.width));
                    prop_assert!(scratch.forest.bytes() <= bytes_max);
                    // In addition to the counts, which are half as wide.
                    prop_assert!(verify_scratch.strips_bytes() <= bytes_max);
                }
            }
        }
    }

    #[test]
    fn a_pixel_that_is_not_finite_is_reported_with_its_position() {
        let mut values = vec![0.5f32; 12];
        values[7] = f32::NAN;
        let plan = crate::params::ImagesParams::default().check().unwrap();
        let grey = shape(3, 4, 1, SampleType::F32);
        let mut scratch = Scratch::default();
        let error = analyse(&Samples::F32(values.clone()), &grey, &plan, &mut scratch).unwrap_err();
        assert_eq!(error.to_string(), "has NaN at row 1, column 3; give numbers");
        values[7] = f32::NEG_INFINITY;
        let error = analyse(&Samples::F32(values), &grey, &plan, &mut scratch).unwrap_err();
        assert_eq!(error.to_string(), "has -inf at row 1, column 3; give numbers");
        let huge = Samples::F64(vec![1.0, -1e151]);
        let error =
            analyse(&huge, &shape(2, 1, 1, SampleType::F64), &plan, &mut scratch).unwrap_err();
        assert!(error.to_string().contains("at row 1, column 0"), "{error}");
    }

    #[test]
    fn a_grey_image_has_no_red() {
        let plan = Plan { channel: Channel::Red, threshold: None, dark: false, min_pixels: 1 };
        let samples = Samples::U8(vec![1]);
        let error =
            analyse(&samples, &shape(1, 1, 1, SampleType::U8), &plan, &mut Scratch::default());
        let text = error.unwrap_err().to_string();
        assert_eq!(text, "is grey and has no red; give --channel luma");
    }
}
