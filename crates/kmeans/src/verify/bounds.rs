//! Bounds of the distances of points, known without computing the distances (G. Hamerly, *Making
//! k-means even faster*, SDM 2010): an upper bound of the distance to the point's centre, and a
//! lower bound of the distances to all further centres. They change by the distances that centres
//! move, and while the upper bound is below the lower bound, the point's centre is the nearest.
//!
//! Bounds are single-precision numbers in units of a [`Scale`], rounded away from the true value.
//! If the bounds show that a distance is smaller, it is smaller by more than a part in 10^6, while
//! a square by the definition has a relative error of less than 65 538 / 2^53, plus 10^-318. So the
//! centre is the nearest by the definition, too.

/// Cluster of a point that has none yet.
pub const NONE: u32 = u32::MAX;
/// Margin for the rounding of squares, of their roots and of single precision.
const MARGIN: f64 = 1e-6;
/// Upper bound of a distance whose square is lost to underflow in all of 65536 dimensions.
const LOST: f64 = 1e-157;
/// Factors that cover the two roundings of a changed bound.
const UP: f32 = 1.0 + 4.0 / (1 << 24) as f32;
const DOWN: f32 = 1.0 - 4.0 / (1 << 24) as f32;
/// Margin for the rounding of numbers too small for a relative margin.
const TINY: f32 = 1e-30;

/// Power of two by which distances are multiplied, so that all are at most 1.
#[derive(Clone, Copy, Debug)]
pub struct Scale(f64);

impl Scale {
    /// Returns the scale for points and centres whose coordinates are at most `largest`, by
    /// dimension.
    pub fn new(largest: &[f64]) -> Self {
        // Doubles of this size have squares; an exponent more is a factor of two.
        let most = largest.iter().fold(0.0f64, |most, &x| most.max(x));
        let spread = 2.0 * most * (largest.len() as f64).sqrt();
        Self((-(spread.log2().ceil() + 1.0)).clamp(-1000.0, 1000.0).exp2())
    }

    /// Returns the factor of distances.
    pub fn factor(self) -> f64 {
        self.0
    }

    /// Returns an upper bound of the loss of a scaled distance to underflow.
    pub fn lost(self) -> f64 {
        LOST * self.0
    }

    /// Returns an upper bound of a distance with this square.
    #[inline(always)]
    pub fn above(self, square: f64) -> f32 {
        ((square.sqrt() * (1.0 + MARGIN) + LOST) * self.0) as f32
    }

    /// Returns an upper and a lower bound of distances with these scaled squares.
    #[inline(always)]
    pub fn limits(self, near: f32, next: f32) -> (f32, f32) {
        let lost = self.lost() as f32;
        (near.max(0.0).sqrt() * UP + (TINY + lost), next.max(0.0).sqrt() * DOWN - (TINY + lost))
    }

    /// Returns a lower bound of a distance with this square.
    #[inline(always)]
    pub fn below(self, square: f64) -> f32 {
        ((square.sqrt() * (1.0 - MARGIN) - LOST) * self.0) as f32
    }
}

/// Change of the bounds of the points of a cluster from one iteration to the next.
#[derive(Clone, Copy, Debug)]
pub struct Carry {
    /// Upper bound of the distance that the centre moved.
    pub moved: f32,
    /// Upper bound of the distance that any further centre moved.
    pub rest_moved: f32,
    /// Lower bound of half the distance to the nearest further centre.
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

    /// Resets to `count` points without cluster or bounds.
    pub fn reset(&mut self, count: usize) {
        self.clusters.clear();
        self.clusters.resize(count, NONE);
        self.upper.clear();
        self.upper.resize(count, f32::INFINITY);
        self.lower.clear();
        self.lower.resize(count, 0.0);
    }

    /// Changes the bounds by the distances that the centres moved; `doubtful` gets the points whose
    /// cluster is not certain any more. `carries` has an element for each cluster.
    #[inline(always)]
    pub fn carry(&mut self, carries: &[Carry], doubtful: &mut Vec<u32>) {
        doubtful.resize(self.clusters.len(), 0);
        let mut count = 0;
        let bounds = self.upper.iter_mut().zip(&mut self.lower);
        for (index, (&cluster, (upper, lower))) in self.clusters.iter().zip(bounds).enumerate() {
            let mut certain = false;
            if let Some(carry) = carries.get(cluster as usize) {
                *upper = (*upper + carry.moved) * UP + TINY;
                *lower = (*lower - carry.rest_moved) * DOWN - TINY;
                certain = *upper < lower.max(carry.half);
            }
            doubtful[count] = index as u32;
            count += usize::from(!certain);
        }
        doubtful.truncate(count);
    }

    /// Sets the upper bound of a point; returns whether its cluster is certain again.
    #[inline(always)]
    pub fn tighten(&mut self, index: usize, upper: f32, carries: &[Carry]) -> bool {
        self.upper[index] = upper;
        let half = carries.get(self.clusters[index] as usize).map_or(0.0, |carry| carry.half);
        upper < self.lower[index].max(half)
    }

    /// Sets the computed cluster and bounds of a point.
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
        let carries = |moved, rest_moved| [Carry { moved, rest_moved, half: 0.05 }; 2];
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
