//! Definition of the answer, one point after the other: the oracle of the kernel.

use crate::kernel::Grid;

/// Returns the nearest centre of a point and its squared distance; the first of those equally near.
pub fn nearest(point: &[f64], centres: &[f64]) -> (u32, f64) {
    let mut best = (0, f64::INFINITY);
    for (cluster, centre) in centres.chunks_exact(point.len()).enumerate() {
        let mut square = 0.0;
        for (x, c) in point.iter().zip(centre) {
            square += (x - c) * (x - c);
        }
        if square < best.1 {
            best = (cluster as u32, square);
        }
    }
    best
}

/// Adds a point to the sums of its cluster.
pub fn add(point: &[f64], grid: &Grid, sums: &mut [i64], size: &mut i64) {
    for ((sum, x), scale) in sums.iter_mut().zip(point).zip(&grid.scales) {
        *sum += (x * scale).round_ties_even() as i64;
    }
    *size += 1;
}
