//! The grid on which coordinates and squares of distances are summed as whole numbers.

/// Added to a double below 2^51 it leaves the nearest whole number in the low bits, half to even.
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// Most bits of a coordinate on the grid.
const BITS_MAX: i32 = 50;
/// A dimension whose coordinates are all smaller than 2 to this is rounded to zero.
const EXPONENT_MIN: i32 = -400;

/// Units of a run: powers of two, so fine that a sum over all points just fits 63 bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// By dimension, units in 1.
    pub scales: Vec<f64>,
    /// Units of a squared distance in 1.
    pub square_scale: f64,
}

impl Grid {
    /// The grid for so many points whose coordinates are at most `largest` in each dimension.
    pub fn new(points: u64, largest: &[f64]) -> Self {
        let bits = bits(points);
        let exponents: Vec<i32> = largest.iter().map(|&value| exponent_above(value)).collect();
        // A distance within a dimension is below two times the bound.
        let square: f64 = exponents.iter().map(|&exponent| power_of_two(2 * exponent + 2)).sum();
        Self {
            scales: exponents.iter().map(|&exponent| power_of_two(bits - exponent)).collect(),
            square_scale: power_of_two(bits - exponent_above(square)),
        }
    }

    /// The nearest whole number of a double below 2^50, half to even.
    #[inline(always)]
    pub fn round(value: f64) -> i64 {
        (value + MAGIC).to_bits() as i64 - MAGIC.to_bits() as i64
    }

    /// The mean of `size` coordinates whose sum on the grid is `sum`.
    pub fn mean(&self, dimension: usize, sum: i64, size: i64) -> f64 {
        sum as f64 / size as f64 / self.scales[dimension]
    }

    /// Puts the means of the clusters in place of their centres; an empty cluster keeps its centre.
    /// Returns how far the centre that moved furthest moved.
    pub fn update(&self, centres: &mut [f64], sums: &[i64], sizes: &[i64]) -> f64 {
        let dimensions = self.scales.len();
        let mut furthest = 0.0f64;
        let rows = centres.chunks_exact_mut(dimensions).zip(sums.chunks_exact(dimensions));
        for ((centre, sums), &size) in rows.zip(sizes).filter(|(_, size)| **size > 0) {
            let mut square = 0.0;
            for (dimension, (value, &sum)) in centre.iter_mut().zip(sums).enumerate() {
                let mean = self.mean(dimension, sum, size);
                square += (mean - *value) * (mean - *value);
                *value = mean;
            }
            furthest = furthest.max(square);
        }
        furthest.sqrt()
    }

    /// A sum of squared distances.
    pub fn square(&self, sum: i64) -> f64 {
        sum as f64 / self.square_scale
    }
}

/// Bits of a coordinate on the grid: 62 less those that count the points, at most 50.
pub fn bits(points: u64) -> i32 {
    let counting = u64::BITS - points.saturating_sub(1).leading_zeros();
    (62 - counting as i32).min(BITS_MAX)
}

/// The smallest power of two above `value`, as its exponent, at least [`EXPONENT_MIN`].
fn exponent_above(value: f64) -> i32 {
    (((value.to_bits() >> 52) & 0x7FF) as i32 - 1022).max(EXPONENT_MIN)
}

/// 2 to `exponent`, which must be that of a normal number.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_leave_room_for_all_points() {
        for (points, expected) in [(1, 50), (4096, 50), (4097, 49), (1 << 22, 40), (1 << 48, 14)] {
            assert_eq!(bits(points), expected, "{points}");
        }
    }

    #[test]
    fn numbers_are_rounded_half_to_even() {
        for (value, expected) in
            [(2.5, 2), (3.5, 4), (-2.5, -2), (0.49, 0), (-1e15, -(10i64.pow(15)))]
        {
            assert_eq!(Grid::round(value), expected, "{value}");
        }
        let most = (1i64 << 50) as f64;
        assert_eq!((Grid::round(most), Grid::round(-most)), (1 << 50, -(1 << 50)));
    }

    #[test]
    fn a_power_of_two_is_just_below_the_next() {
        assert_eq!([0.0, 0.5, 0.9, 1.0, 1000.0].map(exponent_above), [-400, 0, 0, 1, 10]);
        let grid = Grid::new(3, &[1.0, 1000.0]);
        assert_eq!(grid.scales, [power_of_two(49), power_of_two(40)]);
        assert_eq!(grid.mean(0, Grid::round(0.75 * grid.scales[0]), 1), 0.75);
    }
}
