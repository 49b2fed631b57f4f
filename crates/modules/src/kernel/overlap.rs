//! Topological overlap: adjacency of two genes and of their neighbours.

use std::ops::Range;

use cuesta_core::Result;
use cuesta_core::budget::Budget;

use crate::kernel::product::{self, MatrixRows};
use crate::kernel::triangle::{StoredNumber, Triangle};
use crate::params::{Denominator, OverlapParams, OverlapType, Suppressed};

/// Adjacencies as the rows of a symmetric matrix with a diagonal of ones.
struct Symmetric<'a, 'b, T>(&'a Triangle<'b, T>);

impl<T: StoredNumber> MatrixRows for Symmetric<'_, '_, T> {
    type Value = T;

    fn count(&self) -> usize {
        self.0.count()
    }

    fn depth(&self) -> usize {
        self.0.count()
    }

    fn by_rows(
        &self,
        rows: Range<usize>,
        depth: Range<usize>,
        mut put: impl FnMut(usize, usize, &[T]),
    ) {
        for row in rows {
            if depth.contains(&row) {
                put(row, row, &[T::store(1.0)]);
            }
            let first = depth.start.max(row + 1);
            if first < depth.end {
                put(row, first, &self.0.row(row)[first - row - 1..depth.end - row - 1]);
            }
        }
    }

    fn by_terms(
        &self,
        rows: Range<usize>,
        depth: Range<usize>,
        mut put: impl FnMut(usize, usize, &[T]),
    ) {
        for term in depth {
            let first = rows.start.max(term + 1);
            if first < rows.end {
                put(term, first, &self.0.row(term)[first - term - 1..rows.end - term - 1]);
            }
        }
    }
}

/// Returns the sum of the absolute adjacencies of each gene in the order of genes, with 1 for
/// itself.
pub fn connectivity<T: StoredNumber>(adjacency: &Triangle<'_, T>) -> Vec<f64> {
    let count = adjacency.count();
    let mut sums = vec![0.0; count];
    for i in 0..count {
        let mut sum = sums[i] + 1.0;
        for (value, other) in adjacency.row(i).iter().zip(&mut sums[i + 1..]) {
            let size = value.load().abs();
            *other += size;
            sum += size;
        }
        sums[i] = sum;
    }
    sums
}

/// Computes the topological overlap of all pairs of genes from their adjacencies, on threads.
///
/// The sum over common neighbours is a chain in the order of genes, the same for any number of
/// threads. Cost: N^3 operations.
///
/// # Errors
/// `Input` when the budget has too little left.
pub fn overlap<'b, T: StoredNumber>(
    adjacency: &Triangle<'_, T>,
    params: OverlapParams,
    threads: usize,
    budget: &'b Budget,
) -> Result<Triangle<'b, T>> {
    let sums = connectivity(adjacency);
    let source = Symmetric(adjacency);
    product::pairs(&source, threads, (budget, "the topological overlap"), |i, j, shared| {
        pair(params, adjacency.get(i, j), shared, (sums[i], sums[j]))
    })
}

/// Computes 1 - topological overlap of all pairs, without those that `suppressed` names, as
/// [`overlap`] does.
///
/// # Errors
/// `Input` when the budget has too little left.
pub fn distances<'b, A: StoredNumber, D: StoredNumber>(
    adjacency: &Triangle<'_, A>,
    (params, suppressed): (OverlapParams, Suppressed),
    threads: usize,
    budget: &'b Budget,
) -> Result<Triangle<'b, D>> {
    let sums = connectivity(adjacency);
    let source = Symmetric(adjacency);
    product::pairs(&source, threads, (budget, "the distances of genes"), |i, j, shared| {
        let adjacency = adjacency.get(i, j);
        let overlap = pair(params, adjacency, shared, (sums[i], sums[j]));
        let is_zero = suppressed.zero_adjacencies && adjacency == 0.0;
        let is_negative = suppressed.negative && overlap < 0.0;
        1.0 - if is_zero || is_negative { 0.0 } else { overlap }
    })
}

/// Returns the overlap of a pair from its adjacency, the sum over its neighbours including both
/// themselves, and the connectivities including themselves.
#[inline(always)]
pub(crate) fn pair(
    params: OverlapParams,
    adjacency: f64,
    shared: f64,
    (first, second): (f64, f64),
) -> f64 {
    let most = match params.denominator {
        Denominator::Min => first.min(second),
        Denominator::Mean => (first + second) / 2.0,
    };
    let denominator = most - adjacency.abs();
    let absolute = |value: f64| match params.kind {
        OverlapType::Signed => value.abs(),
        OverlapType::Unsigned | OverlapType::SignedNowick => value,
    };
    if params.separate {
        let rest = denominator - 1.0;
        let neighbours = if rest <= 0.0 { 0.0 } else { (shared - 2.0 * adjacency) / rest };
        return absolute((adjacency + neighbours) / 2.0);
    }
    if denominator == 0.0 { 0.0 } else { absolute(shared - adjacency) / denominator }
}
