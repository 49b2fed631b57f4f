//! What is known of the distances of points without computing them (G. Hamerly, *Making k-means
//! even faster*, SDM 2010): one to the own centre that is no smaller than the true one, and one to
//! all other centres that is no larger. They change by how far centres move, and while the first is
//! below the second the own centre is the nearest.
//!
//! Bounds are single-precision numbers in units of a [`Scale`], rounded away from what they bound.
//! An own distance below the others by them is below by more than a part in 10^6, while a square by
//! the definition is off by less than 65 538 / 2^53 of itself and 10^-318. So it is the nearest by
//! the definition, too.

/// Stands for the cluster of a point that has none yet.
pub const NONE: u32 = u32::MAX;
/// Covers the rounding of squares, of their roots and of single precision.
const MARGIN: f64 = 1e-6;
/// More than a distance whose square is lost to underflow in all of 65536 dimensions.
const LOST: f64 = 1e-157;
/// Covers the two roundings of a changed bound.
const UP: f32 = 1.0 + 4.0 / (1 << 24) as f32;
const DOWN: f32 = 1.0 - 4.0 / (1 << 24) as f32;
/// Covers the rounding of numbers too small for a relative one.
const TINY: f32 = 1e-30;

/// A power of two by which distances are multiplied, so that all are at most 1.
#[derive(Clone, Copy, Debug)]
pub struct Scale(f64);

impl Scale {
    /// For points and centres whose coordinates are at most `largest`, by dimension.
    pub fn new(largest: &[f64]) -> Self {
        // Doubles of this size have squares; an exponent more is a factor of two.
        let most = largest.iter().fold(0.0f64, |most, &x| most.max(x));
        let spread = 2.0 * most * (largest.len() as f64).sqrt();
        Self((-(spread.log2().ceil() + 1.0)).clamp(-1000.0, 1000.0).exp2())
    }

    /// What distances are multiplied by.
    pub fn factor(self) -> f64 {
        self.0
    }

    /// More than underflow takes of a scaled distance.
    pub fn lost(self) -> f64 {
        LOST * self.0
    }

    /// A bound from above for a distance with this square.
    #[inline(always)]
    pub fn above(self, square: f64) -> f32 {
        ((square.sqrt() * (1.0 + MARGIN) + LOST) * self.0) as f32
    }

    /// Bounds of a distance from one of its scaled square, from above and from below.
    #[inline(always)]
    pub fn limits(self, near: f32, next: f32) -> (f32, f32) {
        let lost = self.lost() as f32;
        (near.max(0.0).sqrt() * UP + (TINY + lost), next.max(0.0).sqrt() * DOWN - (TINY + lost))
    }

    /// A bound from below for a distance with this square.
    #[inline(always)]
    pub fn below(self, square: f64) -> f32 {
        ((square.sqrt() * (1.0 - MARGIN) - LOST) * self.0) as f32
    }
}

/// How the bounds of the points of a cluster change from one iteration to the next.
#[derive(Clone, Copy, Debug)]
pub struct Carry {
    /// How far its centre moved, at most.
    pub moved: f32,
    /// How far any other centre moved, at most.
    pub others_moved: f32,
    /// Half the distance to the nearest other centre, at least.
    pub half: f32,
}

/// Bounds of some points, with their clusters.
#[derive(Default)]
pub struct Bounds {
    /// The cluster of each point, or [`NONE`].
    pub clusters: Vec<u32>,
    upper: Vec<f32>,
    lower: Vec<f32>,
}

impl Bounds {
    /// Bytes for each point.
    pub const POINT_BYTES: usize = 12;

    /// Nothing known of `count` points.
    pub fn reset(&mut self, count: usize) {
        self.clusters.clear();
        self.clusters.resize(count, NONE);
        self.upper.clear();
        self.upper.resize(count, f32::INFINITY);
        self.lower.clear();
        self.lower.resize(count, 0.0);
    }

    /// Changes the bounds as the centres moved; `doubtful` gets the points whose cluster is not
    /// known any more. `carries` has one for each cluster.
    #[inline(always)]
    pub fn carry(&mut self, carries: &[Carry], doubtful: &mut Vec<u32>) {
        doubtful.resize(self.clusters.len(), 0);
        let mut count = 0;
        let bounds = self.upper.iter_mut().zip(&mut self.lower);
        for (index, (&cluster, (upper, lower))) in self.clusters.iter().zip(bounds).enumerate() {
            let mut known = false;
            if let Some(carry) = carries.get(cluster as usize) {
                *upper = (*upper + carry.moved) * UP + TINY;
                *lower = (*lower - carry.others_moved) * DOWN - TINY;
                known = *upper < lower.max(carry.half);
            }
            doubtful[count] = index as u32;
            count += usize::from(!known);
        }
        doubtful.truncate(count);
    }

    /// Sets the upper bound of a point; whether its cluster is known again.
    #[inline(always)]
    pub fn tighten(&mut self, index: usize, upper: f32, carries: &[Carry]) -> bool {
        self.upper[index] = upper;
        let half = carries.get(self.clusters[index] as usize).map_or(0.0, |carry| carry.half);
        upper < self.lower[index].max(half)
    }

    /// Sets what was computed of a point.
    #[inline(always)]
    pub fn set(&mut self, index: usize, cluster: u32, (upper, lower): (f32, f32)) {
        self.clusters[index] = cluster;
        self.upper[index] = upper;
        self.lower[index] = lower;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_on_their_side_of_a_distance() {
        for size in [1e-300, 1e-150, 1e-20, 1.0, 1e20, 1e150] {
            let scale = Scale::new(&[size; 7]);
            for part in [1e-9, 0.1, 1.0] {
                let distance: f64 = part * size;
                let square = distance * distance;
                let exact = distance * scale.0;
                assert!(f64::from(scale.above(square)) > exact, "{size} {part}");
                assert!(f64::from(scale.below(square)) < exact, "{size} {part}");
                assert!(exact <= 1.0);
            }
        }
        assert!(Scale::new(&[0.0]).above(0.0) >= 0.0);
    }

    #[test]
    fn a_point_is_doubtful_when_centres_moved_by_the_gap() {
        let mut bounds = Bounds::default();
        bounds.reset(3);
        let carries = |moved, others_moved| [Carry { moved, others_moved, half: 0.05 }; 2];
        let mut doubtful = Vec::new();
        bounds.carry(&carries(0.0, 0.0), &mut doubtful);
        assert_eq!(doubtful, [0, 1, 2]);
        bounds.set(0, 1, (0.25, 0.5));
        bounds.set(1, 0, (0.25, 0.375));
        bounds.set(2, 0, (0.03125, 0.03125));
        bounds.carry(&carries(0.0, 0.0), &mut doubtful);
        assert!(doubtful.is_empty());
        bounds.carry(&carries(0.0625, 0.0625), &mut doubtful);
        assert_eq!(doubtful, [1, 2]);
        assert!(bounds.tighten(2, 0.04, &carries(0.0, 0.0)));
    }
}
