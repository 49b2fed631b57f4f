//! Simplest computation of the answer: all pixels as doubles, all thresholds tried, objects filled
//! one after the other. Tests compare the kernel and the verification with it.

use std::cmp::Ordering;

use crate::kernel::ImageMeasures;
use crate::params::{Channel, Plan};
use cuesta_input::images::samples::{ImageShape, SampleType, Samples};

/// Bins of a floating-point image.
const BINS: f64 = 256.0;

/// Returns the threshold and the counts of an image without any number that would be refused.
pub fn analyse(samples: &Samples, shape: &ImageShape, plan: &Plan) -> ImageMeasures {
    let plane: Vec<f64> =
        (0..shape.pixels()).map(|pixel| intensity(samples, shape, plan.channel, pixel)).collect();
    let threshold = plan.threshold.unwrap_or_else(|| otsu(&plane, shape.kind));
    let mut remaining: Vec<bool> =
        plane.iter().map(|&value| (value > threshold) != plan.dark).collect();
    let pixels = remaining.iter().filter(|&&is| is).count() as u64;
    let (mut objects, mut largest) = (0, 0);
    for start in 0..remaining.len() {
        let size = fill(&mut remaining, shape.width, start);
        if size >= plan.min_pixels {
            objects += 1;
            largest = largest.max(size);
        }
    }
    ImageMeasures { threshold, pixels, objects, largest }
}

fn intensity(samples: &Samples, shape: &ImageShape, channel: Channel, pixel: usize) -> f64 {
    let sample = |place: usize| {
        let interleaved = pixel * shape.channels + place;
        let index = if shape.planar { place * shape.pixels() + pixel } else { interleaved };
        match samples {
            Samples::U8(values) => f64::from(values[index]),
            Samples::U16(values) => f64::from(values[index]),
            Samples::F32(values) => f64::from(values[index]),
            Samples::F64(values) => values[index],
        }
    };
    match (shape.channels, channel) {
        (1, _) | (_, Channel::Red) => sample(0),
        (_, Channel::Green) => sample(1),
        (_, Channel::Blue) => sample(2),
        (_, Channel::Luma) => {
            let luma = 0.2125 * sample(0) + 0.7154 * sample(1) + 0.0721 * sample(2);
            match shape.kind {
                // Integers of ten-thousandths, so no half is hidden by rounding.
                SampleType::U8 | SampleType::U16 => {
                    (((luma * 10_000.0).round() + 5000.0) / 10_000.0).floor()
                }
                SampleType::F32 => f64::from(luma as f32),
                SampleType::F64 => luma,
            }
        }
    }
}

/// Tries all levels but the highest as a threshold; returns the first with the largest
/// between-class variance.
fn otsu(plane: &[f64], kind: SampleType) -> f64 {
    let low = plane.iter().copied().fold(f64::INFINITY, f64::min);
    let high = plane.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if low >= high {
        return low;
    }
    let levels = matches!(kind, SampleType::U8 | SampleType::U16);
    let width = if levels { 1.0 } else { (high - low) / BINS };
    let bins = if levels { high - low + 1.0 } else { BINS };
    let mut counts = vec![0u128; bins as usize];
    for value in plane {
        let bin = if levels { value - low } else { (value - low) / (high - low) * BINS };
        counts[bin.min(bins - 1.0) as usize] += 1;
    }
    // From the top down, so that a sum is that of the pixels above the threshold.
    let pixels = plane.len() as u128;
    let sum: u128 = counts.iter().zip(0..).map(|(count, level)| count * level).sum();
    let (mut above, mut sum_above) = (0, 0);
    let mut best = (0, (0, 1));
    for level in (0..counts.len() - 1).rev() {
        above += counts[level + 1];
        sum_above += counts[level + 1] * (level as u128 + 1);
        let (below, sum_below) = (pixels - above, sum - sum_above);
        // The between-class variance, without the factor that all thresholds share.
        let numerator = sum_below * sum_below * above + sum_above * sum_above * below;
        let variance = (numerator, above * below);
        if compare(variance, best.1) != Ordering::Less {
            best = (level, variance);
        }
    }
    let edge = |bin: f64| if bin == BINS { high } else { low + bin * width };
    let level = best.0 as f64;
    if levels { low + level } else { (edge(level) + edge(level + 1.0)) / 2.0 }
}

/// Compares two fractions by their integer parts, then by the reciprocals of the remainders.
pub(crate) fn compare((a, b): (u128, u128), (c, d): (u128, u128)) -> Ordering {
    let integer_parts = (a / b).cmp(&(c / d));
    match (integer_parts, a % b, c % d) {
        (Ordering::Equal, left, right) if left > 0 && right > 0 => compare((d, right), (b, left)),
        (Ordering::Equal, left, right) => left.cmp(&right),
        _ => integer_parts,
    }
}

/// Removes the object at `start`; returns its pixels, 0 if there is none.
fn fill(remaining: &mut [bool], width: usize, start: usize) -> u64 {
    let (mut size, mut next) = (0, vec![start]);
    while let Some(pixel) = next.pop() {
        if !std::mem::replace(&mut remaining[pixel], false) {
            continue;
        }
        size += 1;
        let (row, column) = (pixel / width, pixel % width);
        for near_row in row.saturating_sub(1)..=(row + 1).min(remaining.len() / width - 1) {
            for near_column in column.saturating_sub(1)..=(column + 1).min(width - 1) {
                next.push(near_row * width + near_column);
            }
        }
    }
    size
}
