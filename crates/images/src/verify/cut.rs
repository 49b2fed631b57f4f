//! Threshold in the units of the pixels: the smallest sample above it.

use super::levels::Pixel;

/// Pixels of a word.
pub const BITS: usize = 64;

/// Multiplier that gathers the lowest bits of eight bytes in the highest byte of the product.
const GATHER: u64 = 0x0102_0408_1020_4080;

/// Pixels that belong to objects: those at or above `first`, or those below it.
#[derive(Clone, Copy, Debug)]
pub struct Cut<T> {
    first: T,
    below: bool,
}

impl<T: Pixel> Cut<T> {
    /// Selects the pixels above a threshold, or with `dark` the pixels at or below it.
    pub fn new(threshold: f64, dark: bool) -> Self {
        match T::above(threshold) {
            Some(first) => Self { first, below: dark },
            // No pixel is above the threshold, and none is below the smallest sample.
            None => Self { first: T::LOWEST, below: !dark },
        }
    }

    /// Sets the bits of the object pixels of a row; all further bits are 0.
    #[inline(always)]
    pub fn bits(self, row: &[T], bits: &mut [u64]) {
        let (chunks, rest) = row.as_chunks::<BITS>();
        for (word, pixels) in bits.iter_mut().zip(chunks) {
            *word = self.word(pixels);
        }
        if let Some(words) = bits.get_mut(chunks.len()..) {
            words.fill(0);
            for (index, &pixel) in rest.iter().enumerate() {
                words[0] |= u64::from((pixel >= self.first) != self.below) << index;
            }
        }
    }

    #[inline(always)]
    fn word(self, pixels: &[T; BITS]) -> u64 {
        let mut marks = [0; BITS];
        for (mark, &pixel) in marks.iter_mut().zip(pixels) {
            *mark = u8::from((pixel >= self.first) != self.below);
        }
        let mut word = 0;
        for (index, eight) in marks.as_chunks::<8>().0.iter().enumerate() {
            word |= (u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56) << (8 * index);
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Intensity;

    fn holds<T: Pixel + Intensity + std::fmt::Debug>(values: &[T], thresholds: &[f64]) {
        for &threshold in thresholds {
            for dark in [false, true] {
                let cut = Cut::new(threshold, dark);
                for &value in values {
                    for count in [1, BITS - 1, BITS, BITS + 1] {
                        let mut bits = [7; 3];
                        cut.bits(&vec![value; count], &mut bits);
                        let ones: u32 = bits.iter().map(|word| word.count_ones()).sum();
                        let expected = value.is_above(threshold) != dark;
                        let case = format!("{value:?} > {threshold}, {dark}");
                        assert_eq!(ones as usize, count * usize::from(expected), "{case}");
                    }
                }
            }
        }
    }

    #[test]
    fn pixels_are_divided_as_the_kernel_divides_them() {
        let thresholds = [-1e300, -1.0, -0.5, -0.0, 0.0, 0.1, 0.5, 1.0, 2.9, 3.0, 254.0, 255.0];
        let more = [254.5, 65_534.0, 65_535.0, 65_535.5, 1e30, 3.5e38, 1e300];
        for thresholds in [&thresholds[..], &more] {
            holds(&[0u8, 1, 2, 3, 254, 255], thresholds);
            holds(&[0u16, 1, 2, 3, 254, 255, 256, 65_534, 65_535], thresholds);
            holds(&[f32::MIN, -1.0, -0.0, 0.0, 0.1, 0.5, 3.0, 1e30, f32::MAX], thresholds);
            holds(&[-1e150, -1.0, -0.0, 0.0, 0.1, 0.5, 3.0, 1e30, 1e150], thresholds);
        }
    }

    #[test]
    fn bits_are_in_the_order_of_pixels() {
        let row: Vec<u16> = (0..130).map(|index| u16::from(index % 5 == 1)).collect();
        let mut bits = [0; 3];
        Cut::new(0.5, false).bits(&row, &mut bits);
        for (index, &pixel) in row.iter().enumerate() {
            assert_eq!(bits[index / BITS] >> (index % BITS) & 1, u64::from(pixel), "{index}");
        }
        assert_eq!(bits[2] >> 2, 0);
    }
}
