//! Distances of some points to all centres in single precision, with their error bounds.
//!
//! With o near the centres, |x - c|^2 is |x - o|^2 - 2 score, where the score is (x - o)(c - o) -
//! |c - o|^2 / 2. In units of a [`Scale`], where nothing overflows, with roundoff u = 2^-24 and d
//! dimensions, the error of a computed score is less than (d + 8) u (B^2 + |x - o|^2), where B is
//! the largest |c - o|: its d + 1 terms sum to at most |x - o| B + B^2 / 2 in absolute values, each
//! sum and product adds a factor 1 + u, and the numbers themselves are rounded. The relative error
//! of the computed |x - o|^2 is less than (d + 4) u. So the error of a square is less than (4 d +
//! 40) u (B^2 + |x - o|^2), plus the effect of underflow.

use super::bounds::Scale;

/// Points that are processed together, one in each lane of a few vector registers.
pub const POINTS: usize = 32;
/// Centres that are processed together.
const GROUP: usize = 4;
const ROUNDOFF: f32 = 1.0 / (1 << 24) as f32;
/// Upper bound of the loss of a scaled square to underflow.
const LEAST: f64 = 1e-30;

/// Numbers of [`POINTS`] points.
pub type Lanes = [f32; POINTS];

/// Centres relative to an origin, by group and dimension.
pub struct Quick {
    scale: Scale,
    origin: Vec<f64>,
    columns: Vec<[f32; GROUP]>,
    /// -|c - o|^2 / 2 by group; minus infinity for a missing centre.
    starts: Vec<[f32; GROUP]>,
    /// B^2.
    reach: f32,
    factor: f32,
    least: f32,
}

/// Nearest centres of [`POINTS`] points, with bounds of distances.
pub struct Guesses {
    /// Centre that seems to be the nearest.
    pub clusters: [u32; POINTS],
    /// Upper bound of the distance to this centre.
    pub upper: Lanes,
    /// Lower bound of the distance to any further centre.
    pub lower: Lanes,
}

impl Guesses {
    /// Whether no further centre can be as near as that of a point.
    #[inline(always)]
    pub fn is_sure(&self, lane: usize) -> bool {
        self.upper[lane] < self.lower[lane]
    }
}

impl Quick {
    /// Prepares centres in row order.
    pub fn new(rows: &[f64], dimensions: usize, scale: Scale) -> Self {
        let count = rows.len() / dimensions;
        let mut origin = vec![0.0; dimensions];
        for row in rows.chunks_exact(dimensions) {
            origin.iter_mut().zip(row).for_each(|(sum, x)| *sum += x / count as f64);
        }
        let groups = count.div_ceil(GROUP);
        let mut columns = vec![[0.0; GROUP]; groups * dimensions];
        let mut starts = vec![[f32::NEG_INFINITY; GROUP]; groups];
        let mut reach = 0.0f64;
        for (cluster, row) in rows.chunks_exact(dimensions).enumerate() {
            let (group, place) = (cluster / GROUP, cluster % GROUP);
            let mut square = 0.0;
            for (axis, (x, origin)) in row.iter().zip(&origin).enumerate() {
                let difference = (x - origin) * scale.factor();
                square += difference * difference;
                columns[group * dimensions + axis][place] = difference as f32;
            }
            starts[group][place] = (-0.5 * square) as f32;
            reach = reach.max(square);
        }
        Self {
            scale,
            origin,
            columns,
            starts,
            reach: (1.000_001 * reach) as f32,
            factor: (4 * dimensions + 40) as f32 * ROUNDOFF,
            // The definition also loses squares that are too small.
            least: (LEAST + scale.lost() * scale.lost()) as f32,
        }
    }

    /// Writes a point into a lane of `lanes`, which has [`Lanes`] for each dimension.
    #[inline(always)]
    pub fn put(&self, point: impl Iterator<Item = f64>, lane: usize, lanes: &mut [Lanes]) {
        let scale = self.scale.factor();
        for ((to, x), origin) in lanes.iter_mut().zip(point).zip(&self.origin) {
            to[lane] = ((x - origin) * scale) as f32;
        }
    }

    /// Returns the nearest centres and bounds of the points in `lanes`.
    #[inline(always)]
    pub fn guess<const FUSED: bool>(&self, lanes: &[Lanes]) -> Guesses {
        let mut size = [0.0; POINTS];
        for x in lanes {
            for lane in 0..POINTS {
                size[lane] = sum::<FUSED>(x[lane], x[lane], size[lane]);
            }
        }
        let mut most = [f32::NEG_INFINITY; POINTS];
        let mut next = [f32::NEG_INFINITY; POINTS];
        let mut clusters = [0; POINTS];
        let groups = self.columns.chunks_exact(lanes.len()).zip(&self.starts);
        for (group, (columns, starts)) in groups.enumerate() {
            // Separate variables, so that compilers hold them in registers.
            let [mut a, mut b, mut c, mut d] = starts.map(|start| [start; POINTS]);
            for (x, centres) in lanes.iter().zip(columns) {
                for lane in 0..POINTS {
                    a[lane] = sum::<FUSED>(x[lane], centres[0], a[lane]);
                    b[lane] = sum::<FUSED>(x[lane], centres[1], b[lane]);
                    c[lane] = sum::<FUSED>(x[lane], centres[2], c[lane]);
                    d[lane] = sum::<FUSED>(x[lane], centres[3], d[lane]);
                }
            }
            for (place, scores) in [a, b, c, d].iter().enumerate() {
                let cluster = (group * GROUP + place) as u32;
                for lane in 0..POINTS {
                    let (score, before) = (scores[lane], most[lane]);
                    let less = if score < before { score } else { before };
                    next[lane] = if less > next[lane] { less } else { next[lane] };
                    clusters[lane] = if score > before { cluster } else { clusters[lane] };
                    most[lane] = if score > before { score } else { before };
                }
            }
        }
        let (mut upper, mut lower) = (most, next);
        for lane in 0..POINTS {
            let off = self.factor * (self.reach + size[lane]) + self.least;
            let near = size[lane] - 2.0 * most[lane] + off;
            let rest = size[lane] - 2.0 * next[lane] - off;
            (upper[lane], lower[lane]) = self.scale.limits(near, rest);
        }
        Guesses { clusters, upper, lower }
    }
}

#[inline(always)]
fn sum<const FUSED: bool>(x: f32, factor: f32, term: f32) -> f32 {
    if FUSED { x.mul_add(factor, term) } else { x * factor + term }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use cuesta_core::random::Stream;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_sure_is_true_and_bounds_hold(
            seed in any::<u64>(),
            clusters in 1usize..60,
            dimensions in 1usize..20,
            size in prop::sample::select(vec![1e-155, 1e-30, 1.0, 1e30, 1e149]),
            offset in prop::sample::select(vec![0.0, 1.0, 1e4]),
        ) {
            let stream = Stream::new(seed, 0);
            let value = |index: usize| (stream.uniform(index as u64) - 0.5 + offset) * size / 1e4;
            let rows: Vec<f64> = (0..clusters * dimensions).map(value).collect();
            let scale = Scale::new(&vec![2.0 * size; dimensions]);
            let quick = Quick::new(&rows, dimensions, scale);
            let points: Vec<Vec<f64>> = (0..POINTS)
                .map(|point| (0..dimensions).map(|axis| value(5000 + 20 * point + axis)).collect())
                .collect();
            let mut lanes = vec![[0.0; POINTS]; dimensions];
            for (lane, point) in points.iter().enumerate() {
                quick.put(point.iter().copied(), lane, &mut lanes);
            }
            for guesses in [quick.guess::<false>(&lanes), quick.guess::<true>(&lanes)] {
                for (lane, point) in points.iter().enumerate() {
                    let (cluster, _) = reference::nearest(point, &rows);
                    prop_assert!(!guesses.is_sure(lane) || guesses.clusters[lane] == cluster);
                    for (candidate, row) in rows.chunks_exact(dimensions).enumerate() {
                        let scaled = |(x, c): (&f64, &f64)| ((x - c) * scale.factor()).powi(2);
                        let distance = point.iter().zip(row).map(scaled).sum::<f64>().sqrt();
                        if candidate as u32 == guesses.clusters[lane] {
                            prop_assert!(distance <= f64::from(guesses.upper[lane]));
                        } else {
                            prop_assert!(distance >= f64::from(guesses.lower[lane]));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn equal_centres_are_never_sure() {
        let quick = Quick::new(&[1.0, 5.0, 1.0], 1, Scale::new(&[5.0]));
        let mut lanes = vec![[0.0; POINTS]];
        quick.put([0.0].into_iter(), 0, &mut lanes);
        quick.put([5.0].into_iter(), 31, &mut lanes);
        let guesses = quick.guess::<false>(&lanes);
        assert!(!guesses.is_sure(0));
        assert!(guesses.is_sure(31) && guesses.clusters[31] == 1);
    }
}
