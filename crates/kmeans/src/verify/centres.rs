//! Centres of an iteration: exact squares of distances to all of them, and the distances they
//! moved.

use cuesta_core::cpu;
use cuesta_input::points::Coordinate;

use super::bounds::{Carry, Scale};
use super::quick::Quick;

/// Centres whose squares are computed together: two or more vector registers.
const GROUP: usize = 16;
/// Maximum number of centres whose distances to each other are computed.
const PAIRS_MAX: usize = 1 << 11;

/// Centres in row order, and as groups of [`GROUP`], coordinate by coordinate.
pub struct GroupedCentres {
    /// Coordinates of all centres, one centre after the other.
    pub rows: Vec<f64>,
    dimensions: usize,
    /// Coordinates ordered by group, dimension and centre. Infinity for a missing centre.
    columns: Vec<[f64; GROUP]>,
    /// Change of the bounds of each cluster.
    pub carries: Vec<Carry>,
    /// Unit of the bounds.
    pub scale: Scale,
    /// Centres in single precision.
    pub quick: Quick,
}

/// Two nearest centres of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearest {
    /// Nearest centre, the first of those equally near.
    pub cluster: u32,
    /// Squared distance to the nearest centre.
    pub square: f64,
    /// Smallest squared distance to a further centre.
    pub second: f64,
}

impl GroupedCentres {
    /// Prepares centres that were at `before` in the last iteration, if there was one.
    pub fn new(rows: Vec<f64>, dimensions: usize, before: Option<&[f64]>, scale: Scale) -> Self {
        let clusters = rows.len() / dimensions;
        let groups = clusters.div_ceil(GROUP);
        let mut columns = vec![[f64::INFINITY; GROUP]; groups * dimensions];
        for (cluster, row) in rows.chunks_exact(dimensions).enumerate() {
            let group = &mut columns[cluster / GROUP * dimensions..][..dimensions];
            group.iter_mut().zip(row).for_each(|(column, &x)| column[cluster % GROUP] = x);
        }
        let quick = Quick::new(&rows, dimensions, scale);
        let mut centres = Self { rows, dimensions, columns, carries: Vec::new(), scale, quick };
        centres.carries = centres.carries(before);
        centres
    }

    /// Returns the coordinates of a centre.
    pub fn row(&self, cluster: u32) -> &[f64] {
        &self.rows[cluster as usize * self.dimensions..][..self.dimensions]
    }

    /// Returns the number of centres.
    pub fn count(&self) -> usize {
        self.rows.len() / self.dimensions
    }

    /// Returns an upper bound of the distance to the nearest centre, and a lower bound of that to
    /// all further centres.
    #[inline(always)]
    pub fn limits(&self, nearest: &Nearest) -> (f32, f32) {
        (self.scale.above(nearest.square), self.scale.below(nearest.second))
    }

    /// Returns the nearest centres of a point. Squares are added in the order of the dimensions,
    /// none of them fused, so they equal those of the definition to the last bit.
    #[inline(always)]
    pub fn nearest(&self, point: &[f64]) -> Nearest {
        let mut nearest = Nearest { cluster: 0, square: f64::INFINITY, second: f64::INFINITY };
        for (group, columns) in self.columns.chunks_exact(self.dimensions).enumerate() {
            let mut squares = [0.0; GROUP];
            for (x, column) in point.iter().zip(columns) {
                for (square, centre) in squares.iter_mut().zip(column) {
                    *square += (x - centre) * (x - centre);
                }
            }
            for (index, &square) in squares.iter().enumerate() {
                if square < nearest.square {
                    nearest.second = nearest.square;
                    nearest.square = square;
                    nearest.cluster = (group * GROUP + index) as u32;
                } else if square < nearest.second {
                    nearest.second = square;
                }
            }
        }
        nearest
    }

    fn carries(&self, before: Option<&[f64]>) -> Vec<Carry> {
        let rows = self.rows.chunks_exact(self.dimensions);
        let moves: Vec<f32> = match before {
            None => vec![0.0; self.count()],
            Some(before) => rows
                .clone()
                .zip(before.chunks_exact(self.dimensions))
                .map(|(now, before)| self.scale.above(square(now, before)))
                .collect(),
        };
        let by_move = |&a: &usize, &b: &usize| moves[a].total_cmp(&moves[b]);
        let furthest = (0..moves.len()).max_by(by_move).unwrap_or(0);
        let rest = (0..moves.len()).filter(|&cluster| cluster != furthest).max_by(by_move);
        let rest = rest.map_or(0.0, |cluster| moves[cluster]);
        let near = self.count() <= PAIRS_MAX;
        let to_next = |row: &[f64]| {
            let nearest = cpu::fastest(
                #[inline(always)]
                || self.nearest(row),
            );
            // The nearest centre of a centre is itself, or one that equals it.
            self.scale.below(nearest.second)
        };
        let carry = |(cluster, row): (usize, &[f64])| Carry {
            moved: moves[cluster],
            rest_moved: if cluster == furthest { rest } else { moves[furthest] },
            half: if near { to_next(row) / 2.0 } else { 0.0 },
        };
        rows.enumerate().map(carry).collect()
    }
}

/// Returns the square of a distance by the definition.
#[inline(always)]
pub fn square<T: Coordinate>(point: &[T], centre: &[f64]) -> f64 {
    point.iter().zip(centre).fold(0.0, |sum, (x, c)| {
        let difference = x.to_f64() - c;
        sum + difference * difference
    })
}

/// Returns the largest absolute coordinates of points and centres.
pub fn with_centres(largest: &[f64], rows: &[f64]) -> Vec<f64> {
    let mut all = largest.to_vec();
    for row in rows.chunks_exact(all.len()) {
        all.iter_mut().zip(row).for_each(|(all, x)| *all = all.max(x.abs()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reference;
    use cuesta_core::random::Stream;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_nearest_is_that_of_the_definition_with_any_ties(
            seed in any::<u64>(),
            clusters in 1usize..40,
            dimensions in 1usize..20,
            steps in 1u64..5,
            size in prop::sample::select(vec![1e-160, 1e-3, 1.0, 1e149]),
        ) {
            let stream = Stream::new(seed, 0);
            // Few values, so that many distances are equal.
            let value = |index: usize| (stream.below(index as u64, 2 * steps) as f64 - 2.0) * size;
            let rows: Vec<f64> = (0..clusters * dimensions).map(value).collect();
            let scale = Scale::new(&vec![10.0 * size; dimensions]);
            let centres = GroupedCentres::new(rows.clone(), dimensions, None, scale);
            for point in 0..20 {
                let x: Vec<f64> = (0..dimensions).map(|i| value(1000 + 20 * point + i)).collect();
                let nearest = centres.nearest(&x);
                prop_assert_eq!((nearest.cluster, nearest.square), reference::nearest(&x, &rows));
                prop_assert_eq!(square(&x, centres.row(nearest.cluster)), nearest.square);
                let clusters = rows.chunks_exact(dimensions).enumerate();
                let further = clusters.filter(|(cluster, _)| *cluster as u32 != nearest.cluster);
                let second = further.map(|(_, row)| square(&x, row)).fold(f64::INFINITY, f64::min);
                prop_assert_eq!(nearest.second, second);
            }
        }
    }
}
