//! Grid on which coordinates and squared distances are summed as integers.

/// 1.5 * 2^52: added to a double below 2^51, it leaves the nearest integer in the low bits, half to
/// even.
const ROUNDING_BIAS: f64 = 6_755_399_441_055_744.0;
/// Maximum number of bits of a coordinate on the grid.
const BITS_MAX: i32 = 50;
/// Dimensions whose coordinates are all below 2 to this power are rounded to zero.
const EXPONENT_MIN: i32 = -400;
/// Least exponent of the bound of squared distances: below that of [`EXPONENT_MIN`] squared.
const SQUARE_EXPONENT_MIN: i32 = -900;

/// Units of a run: powers of two, chosen so that a sum over all points just fits in 63 bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// For each dimension, units in a coordinate of 1.
    pub scales: Vec<f64>,
    /// Units in a squared distance of 1.
    pub square_scale: f64,
    /// Fine units in a unit of squared distances, for their rests.
    pub rest_scale: f64,
}

/// Sum of squared distances in units of a [`Grid`], and of their rests in its fine units. Without
/// the rests, distances that are small beside the coordinates lose their digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SquareSum {
    /// Whole units.
    pub units: i64,
    /// Fine units.
    pub rests: i64,
}

impl SquareSum {
    /// Adds another sum.
    #[inline(always)]
    pub fn add(&mut self, other: Self) {
        self.units = self.units.wrapping_add(other.units);
        self.rests = self.rests.wrapping_add(other.rests);
    }
}

impl Grid {
    /// Makes the grid for `points` points whose coordinates are at most `largest` in each
    /// dimension.
    pub fn new(points: u64, largest: &[f64]) -> Self {
        let bits = bits(points);
        let exponents: Vec<i32> =
            largest.iter().map(|&value| exponent_above(value, EXPONENT_MIN)).collect();
        // A distance within a dimension is below twice the bound.
        let square: f64 = exponents.iter().map(|&exponent| power_of_two(2 * exponent + 2)).sum();
        Self {
            scales: exponents.iter().map(|&exponent| power_of_two(bits - exponent)).collect(),
            square_scale: power_of_two(bits - exponent_above(square, SQUARE_EXPONENT_MIN)),
            rest_scale: power_of_two(bits),
        }
    }

    /// Returns the nearest integer of a double below 2^50, half to even.
    #[inline(always)]
    pub fn round(value: f64) -> i64 {
        (value + ROUNDING_BIAS).to_bits() as i64 - ROUNDING_BIAS.to_bits() as i64
    }

    /// Returns the mean of `size` coordinates whose sum on the grid is `sum`.
    pub fn mean(&self, dimension: usize, sum: i64, size: i64) -> f64 {
        sum as f64 / size as f64 / self.scales[dimension]
    }

    /// Replaces the centres by the means of their clusters; an empty cluster keeps its centre.
    /// Returns the largest distance that a centre moved.
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

    /// Returns a squared distance in units and fine units.
    #[inline(always)]
    pub fn square(&self, value: f64) -> SquareSum {
        let scaled = value * self.square_scale;
        // Both differences are exact.
        let rest = scaled - ((scaled + ROUNDING_BIAS) - ROUNDING_BIAS);
        SquareSum { units: Self::round(scaled), rests: Self::round(rest * self.rest_scale) }
    }

    /// Returns a sum of squared distances as a double.
    pub fn inertia(&self, sum: SquareSum) -> f64 {
        (sum.units as f64 + sum.rests as f64 / self.rest_scale) / self.square_scale
    }
}

/// Returns the bits of a coordinate on the grid: 62 minus the bits of the number of points, at most
/// 50.
pub fn bits(points: u64) -> i32 {
    let counting = u64::BITS - points.saturating_sub(1).leading_zeros();
    (62 - counting as i32).min(BITS_MAX)
}

/// Returns the exponent of the smallest power of two above `value`, at least `min`.
fn exponent_above(value: f64, min: i32) -> i32 {
    (((value.to_bits() >> 52) & 0x7FF) as i32 - 1022).max(min)
}

/// Returns 2 to `exponent`, which must be that of a normal number.
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

    /// The unit of squared distances follows from the largest coordinates: of points around 1e8 it
    /// is 64, so the inertia of a cluster with a spread of 1 was 0, and verified. Rests are summed
    /// too.
    #[test]
    fn small_distances_between_large_coordinates_keep_their_digits() {
        for (size, spread) in [(1e8, 1.0), (1.7e9, 86_400.0), (1e-100, 1e-101), (1e150, 1e147)] {
            let grid = Grid::new(3, &[size, size]);
            let squares = [1.37, 0.21, 0.73].map(|part| part * spread * spread);
            let mut sum = SquareSum::default();
            squares.iter().for_each(|&square| sum.add(grid.square(square)));
            let (found, expected) = (grid.inertia(sum), squares.iter().sum::<f64>());
            assert!((found / expected - 1.0).abs() < 1e-9, "{size}: {found} {expected}");
        }
    }

    #[test]
    fn a_power_of_two_is_just_below_the_next() {
        let above = |value| exponent_above(value, EXPONENT_MIN);
        assert_eq!([0.0, 0.5, 0.9, 1.0, 1000.0].map(above), [-400, 0, 0, 1, 10]);
        let grid = Grid::new(3, &[1.0, 1000.0]);
        assert_eq!(grid.scales, [power_of_two(49), power_of_two(40)]);
        assert_eq!(grid.mean(0, Grid::round(0.75 * grid.scales[0]), 1), 0.75);
    }
}
