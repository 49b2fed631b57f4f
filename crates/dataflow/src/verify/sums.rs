//! Sums of vectors by another method than the kernel's: nothing is converted to coordinates and no
//! double is added. The fields of random words are added as integers, and scale, centre and shift
//! are applied once to the sum; numbers of files are rounded to the last place of a large double,
//! whose bits are added.

use cuesta_core::cpu;

use crate::kernel::{AXES, UNITS};

/// Words drawn together, each in its lane.
const LANES: usize = 8;
/// Difference between counters of adjacent words of the generator, and between words of a lane.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
const STRIDE: u64 = STEP.wrapping_mul(LANES as u64);
const STREAM: u64 = 5;
/// Bits of a word that form a coordinate, and the masks of one and two coordinates.
const BITS: u32 = 20;
const FIELD: u64 = (1 << BITS) - 1;
const PAIR: u64 = (1 << (2 * BITS)) - 1;
/// Maximum number of words whose sums of pairs of fields fit in 64 bits.
pub const WORDS_MAX: u64 = 1 << 24;
/// Units of a step of a field, and of the smallest coordinate.
const FIELD_UNITS: i64 = 125;
const CENTRE_UNITS: i64 = 1000 << 16;
/// 1.5 * 2^52: doubles near it are spaced by 1.
const ROUNDING_BIAS: f64 = 6_755_399_441_055_744.0;
/// Largest absolute value that, times 2^16, is close enough to [`ROUNDING_BIAS`].
const NEAR_MAX: f64 = 34_359_738_368.0;
/// Numbers of files that are added together: four AVX2 vectors for each axis.
const TOGETHER: usize = 16 * AXES;

/// Random words from which vectors are drawn.
pub struct Words {
    key: u64,
}

impl Words {
    /// Creates the generator of a seed.
    pub fn new(seed: u64) -> Self {
        let mut key = [seed ^ STEP];
        mix(&mut key);
        key[0] = key[0].wrapping_add(STREAM);
        mix(&mut key);
        Self { key: key[0] }
    }

    /// Returns the sum in units of `count` vectors, at most [`WORDS_MAX`], from number `first` on.
    pub fn sum(&self, first: u64, count: u64) -> [i64; AXES] {
        let (mut low, mut pair, mut high) = ([0; LANES], [0; LANES], [0; LANES]);
        let start = self.key.wrapping_add(first.wrapping_mul(STEP));
        let mut counters: [u64; LANES] =
            std::array::from_fn(|lane| start.wrapping_add((lane as u64).wrapping_mul(STEP)));
        cpu::fastest(
            #[inline(always)]
            || {
                for _ in 0..count / LANES as u64 {
                    let mut words = counters;
                    self.draw(&mut words);
                    for lane in 0..LANES {
                        low[lane] += words[lane] & FIELD;
                        pair[lane] += words[lane] & PAIR;
                        high[lane] += (words[lane] >> (2 * BITS)) & FIELD;
                        counters[lane] = counters[lane].wrapping_add(STRIDE);
                    }
                }
            },
        );
        self.draw(&mut counters);
        for &word in &counters[..(count % LANES as u64) as usize] {
            low[0] += word & FIELD;
            pair[0] += word & PAIR;
            high[0] += (word >> (2 * BITS)) & FIELD;
        }
        let [low, pair, high] = [low, pair, high].map(|lanes| lanes.iter().sum::<u64>());
        [low, (pair - low) >> BITS, high]
            .map(|fields| FIELD_UNITS * fields as i64 - CENTRE_UNITS * count as i64)
    }

    /// Replaces counters by their words.
    #[inline(always)]
    fn draw(&self, counters: &mut [u64; LANES]) {
        mix(counters);
        counters.iter_mut().for_each(|word| *word ^= self.key);
        mix(counters);
    }
}

/// `mix` of the specification, one step for all lanes at a time.
#[inline(always)]
fn mix<const N: usize>(lanes: &mut [u64; N]) {
    for (shift, factor) in [(30, 0xBF58_476D_1CE4_E5B9), (27, 0x94D0_49BB_1331_11EB), (31, 1)] {
        lanes.iter_mut().for_each(|z| *z = (*z ^ (*z >> shift)).wrapping_mul(factor));
    }
}

/// Returns the sum in units of vectors of files, each number rounded to the nearest unit, halves to
/// even; `None` if an absolute value is above `limit`, or NaN.
pub fn of_values(values: &[f64], limit: f64) -> Option<[i64; AXES]> {
    if limit <= NEAR_MAX { near(values, limit) } else { far(values, limit) }
}

fn near(values: &[f64], limit: f64) -> Option<[i64; AXES]> {
    let (mut bits, mut fit) = ([0i64; TOGETHER], true);
    let (chunks, rest) = values.as_chunks::<TOGETHER>();
    cpu::fastest(
        #[inline(always)]
        || {
            for values in chunks {
                for (sum, value) in bits.iter_mut().zip(values) {
                    fit &= value.abs() <= limit;
                    *sum = sum.wrapping_add(rounded_units(*value));
                }
            }
        },
    );
    for (sum, value) in bits.iter_mut().zip(rest) {
        fit &= value.abs() <= limit;
        *sum = sum.wrapping_add(rounded_units(*value));
    }
    let axes = std::array::from_fn(|axis| bits.iter().skip(axis).step_by(AXES).sum());
    fit.then_some(axes)
}

/// Converts a number to an integer number of units, from the last bits of a double.
#[inline(always)]
fn rounded_units(value: f64) -> i64 {
    (value * UNITS + ROUNDING_BIAS).to_bits().wrapping_sub(ROUNDING_BIAS.to_bits()) as i64
}

/// [`near`] for numbers above [`NEAR_MAX`].
fn far(values: &[f64], limit: f64) -> Option<[i64; AXES]> {
    let mut sums = [0; AXES];
    for (index, &value) in values.iter().enumerate() {
        if value.is_nan() || value.abs() > limit {
            return None;
        }
        sums[index % AXES] += (value * UNITS).round_ties_even() as i64;
    }
    Some(sums)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use cuesta_core::random::Stream;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_added_in_lanes_give_the_sum_of_the_reference(
            seed in any::<u64>(),
            first in 0u64..1 << 50,
            count in 0u64..400,
        ) {
            let stream = Stream::new(seed, crate::kernel::STREAM);
            let expected = reference::sum(&stream, first, count, [0; 3]);
            prop_assert_eq!(Words::new(seed).sum(first, count), expected);
        }

        #[test]
        fn numbers_of_files_are_rounded_and_added_as_by_the_reference(
            vectors in prop::collection::vec(
                prop::array::uniform3(prop_oneof![
                    -3.0e10f64..3.0e10,
                    -10.0f64..10.0,
                    (-1i64 << 20..1 << 20).prop_map(|halves| halves as f64 / 131_072.0),
                ]),
                0..200,
            ),
        ) {
            let values = vectors.as_flattened();
            let expected = reference::sum_of(values, [0; 3]);
            prop_assert_eq!(near(values, NEAR_MAX), Some(expected));
            prop_assert_eq!(far(values, NEAR_MAX), Some(expected));
        }
    }

    #[test]
    fn as_many_of_the_largest_words_as_are_taken_at_once_do_not_overflow() {
        assert!(PAIR.checked_mul(WORDS_MAX).is_some());
        let sum = Words::new(3).sum(0, 1 << 20);
        let stream = Stream::new(3, crate::kernel::STREAM);
        assert_eq!(sum, reference::sum(&stream, 0, 1 << 20, [0; 3]));
    }

    #[test]
    fn a_number_above_the_limit_or_nan_is_detected_at_any_place() {
        for bad in [f64::NAN, f64::INFINITY, -1000.5, 1e300] {
            for place in 0..3 * 40 {
                let mut values = vec![1.0; 3 * 40];
                values[place] = bad;
                assert_eq!(of_values(&values, 1000.0), None, "{bad} at {place}");
                assert_eq!(far(&values, 1000.0), None, "{bad} at {place}");
            }
        }
        assert_eq!(of_values(&[1000.0, -1000.0, 0.0], 1000.0), Some([65_536_000, -65_536_000, 0]));
        let most = [137_438_953_471.0, -137_438_953_471.0, 0.5 / 65_536.0];
        assert_eq!(of_values(&most, 137_438_953_472.0), Some([most[0], most[1], 0.0].map(units)));
    }

    fn units(value: f64) -> i64 {
        (value * UNITS) as i64
    }
}
