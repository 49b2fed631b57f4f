//! Centres in the layout of the vector kernel, and the error bound of its scores.

use super::Real;

/// Maximum number of centres that the kernel takes at once: their scores stay in registers.
pub const GROUP_MAX: usize = 12;

/// Centres relative to an origin o: the score of a point x for a centre c is (x - o)(c - o) - |c -
/// o|^2 / 2, which is largest for the nearest centre.
///
/// With unit roundoff u and d dimensions, the error of a computed score is less than
/// (d + 8) u (B^2 + |x - o|^2), where B is the largest |c - o|: each of the d products and sums
/// contributes a factor 1 + u on terms whose absolute values sum to at most |x - o| B + B^2 / 2,
/// and rounding x - o, c - o and |c - o|^2 / 2 contributes a few more. The error of the definition
/// in double precision is smaller. A gap of more than four times the bound between the best scores
/// therefore decides as the definition does.
pub struct CentreTable<T> {
    /// Centres of a group: 2, 4, ... [`GROUP_MAX`].
    pub group: usize,
    /// c - o, ordered by group, dimension and centre.
    pub rows: Vec<T>,
    /// -|c - o|^2 / 2, ordered by group and centre; minus infinity for a missing centre, or one
    /// that equals an earlier one.
    pub starts: Vec<T>,
    /// o.
    pub origin: Vec<T>,
    /// Gaps up to `gap_base + gap_factor |x - o|^2` leave the nearest centre in doubt.
    pub gap_base: T,
    /// Factor of the bound, see `gap_base`.
    pub gap_factor: T,
}

impl<T: Real> CentreTable<T> {
    /// Makes the table of centres in row order.
    pub fn new(centres: &[f64], origin: &[f64]) -> Self {
        let dimensions = origin.len();
        let clusters = centres.len() / dimensions;
        let groups = clusters.div_ceil(GROUP_MAX);
        let group = clusters.div_ceil(groups).next_multiple_of(2);
        let origin: Vec<T> = origin.iter().map(|&value| T::from_f64(value)).collect();
        let mut rows = vec![T::default(); groups * group * dimensions];
        let mut starts = vec![T::from_f64(f64::NEG_INFINITY); groups * group];
        let mut reach = 0.0f64;
        for (index, centre) in without_repeats(centres, dimensions) {
            let (block, within) = (index / group, index % group);
            let mut square = 0.0;
            for (dimension, (value, origin)) in centre.iter().zip(&origin).enumerate() {
                let difference = value - origin.to_f64();
                square += difference * difference;
                rows[(block * dimensions + dimension) * group + within] = T::from_f64(difference);
            }
            starts[index] = T::from_f64(-0.5 * square);
            reach = reach.max(square);
        }
        let factor = 4.0 * (dimensions as f64 + 8.0) * T::ROUNDOFF;
        Self {
            group,
            rows,
            starts,
            origin,
            gap_base: T::from_f64(1.001 * factor * reach + T::TINY),
            gap_factor: T::from_f64(1.001 * factor),
        }
    }
}

/// Returns the centres that equal no earlier centre, with their numbers.
fn without_repeats(centres: &[f64], dimensions: usize) -> Vec<(usize, &[f64])> {
    let mut sorted: Vec<(usize, &[f64])> = centres.chunks_exact(dimensions).enumerate().collect();
    sorted.sort_by(|(i, a), (j, b)| {
        let order = a.iter().zip(*b).map(|(a, b)| a.total_cmp(b)).find(|order| order.is_ne());
        order.unwrap_or(i.cmp(j))
    });
    sorted.dedup_by(|(_, b), (_, a)| a == b);
    sorted
}
