//! Eigenvector of the largest eigenvalue, by Lanczos' method with full reorthogonalisation.
//!
//! All sums are in one order, so the result is the same on each processor.

use cuesta_core::random::Stream;

use crate::kernel::correlate::dot;

/// Part of the eigenvalue below which a residual is rounding error.
const RESIDUAL: f64 = 1e-15;

/// Steps between two looks at the residual.
const STEPS: usize = 5;

/// Returns the unit eigenvector of the largest eigenvalue of a symmetric matrix with no negative
/// eigenvalue, of which `apply` makes products; `None` for the zero matrix.
pub fn largest(size: usize, mut apply: impl FnMut(&[f64]) -> Vec<f64>) -> Option<Vec<f64>> {
    let stream = Stream::new(0, 0);
    let random: Vec<f64> = (0..size as u64).map(|i| stream.normal(i)).collect();
    let mut basis = vec![normalised(apply(&random))?];
    let (mut diagonal, mut off_diagonal) = (Vec::new(), Vec::new());
    loop {
        let last = &basis[basis.len() - 1];
        let mut next = apply(last);
        diagonal.push(dot(last, &next));
        for _ in 0..2 {
            for vector in basis.iter().rev() {
                let part = dot(vector, &next);
                next.iter_mut().zip(vector).for_each(|(value, other)| *value -= part * other);
            }
        }
        let norm = dot(&next, &next).sqrt();
        let scale = diagonal.iter().copied().fold(0.0, f64::max);
        let is_complete = basis.len() >= size || norm <= RESIDUAL * scale;
        if is_complete || basis.len().is_multiple_of(STEPS) {
            let (value, vector) = tridiagonal(&diagonal, &off_diagonal);
            let residual = norm * vector[vector.len() - 1].abs();
            if is_complete || residual <= RESIDUAL * value {
                return combine(&basis, &vector);
            }
        }
        off_diagonal.push(norm);
        basis.push(normalised(next)?);
    }
}

fn normalised(mut vector: Vec<f64>) -> Option<Vec<f64>> {
    let largest = vector.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return None;
    }
    vector.iter_mut().for_each(|value| *value /= largest);
    let norm = dot(&vector, &vector).sqrt();
    vector.iter_mut().for_each(|value| *value /= norm);
    Some(vector)
}

fn combine(basis: &[Vec<f64>], parts: &[f64]) -> Option<Vec<f64>> {
    let mut sum = vec![0.0; basis[0].len()];
    for (vector, part) in basis.iter().zip(parts) {
        sum.iter_mut().zip(vector).for_each(|(sum, value)| *sum += part * value);
    }
    normalised(sum)
}

/// Returns the largest eigenvalue of a tridiagonal matrix by bisection, and its unit vector by
/// inverse iteration.
fn tridiagonal(diagonal: &[f64], off_diagonal: &[f64]) -> (f64, Vec<f64>) {
    let bound = |i: usize| {
        let before = if i > 0 { off_diagonal[i - 1] } else { 0.0 };
        (diagonal[i], before + off_diagonal.get(i).copied().unwrap_or(0.0))
    };
    let bounds = (0..diagonal.len()).map(bound);
    let mut high =
        bounds.fold(f64::NEG_INFINITY, |most, (centre, radius)| most.max(centre + radius));
    let mut low = diagonal.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if is_below(diagonal, off_diagonal, middle) { high = middle } else { low = middle }
    }
    let mut vector = vec![1.0; diagonal.len()];
    for _ in 0..3 {
        vector = solve(diagonal, off_diagonal, high, vector);
        vector = normalised(vector).unwrap_or_else(|| vec![1.0; diagonal.len()]);
    }
    (high, vector)
}

/// Whether all eigenvalues are below `value`: all pivots of the difference are negative.
fn is_below(diagonal: &[f64], off_diagonal: &[f64], value: f64) -> bool {
    let mut pivot = diagonal[0] - value;
    for i in 1..diagonal.len() {
        if pivot >= 0.0 {
            return false;
        }
        pivot = diagonal[i] - value - off_diagonal[i - 1] * off_diagonal[i - 1] / pivot;
    }
    pivot < 0.0
}

/// Solves (matrix - value) x = right by elimination with row exchanges; a zero pivot becomes tiny.
fn solve(diagonal: &[f64], off_diagonal: &[f64], value: f64, mut right: Vec<f64>) -> Vec<f64> {
    let size = diagonal.len();
    let tiny = f64::EPSILON * value.abs().max(f64::MIN_POSITIVE);
    let entry = |i: usize| off_diagonal.get(i).copied().unwrap_or(0.0);
    // By row: the entries of this and the next two columns.
    let mut rows: Vec<[f64; 3]> = Vec::with_capacity(size);
    let mut current = [diagonal[0] - value, entry(0), 0.0];
    for i in 1..size {
        let mut below = [off_diagonal[i - 1], diagonal[i] - value, entry(i)];
        if below[0].abs() > current[0].abs() {
            std::mem::swap(&mut current, &mut below);
            right.swap(i - 1, i);
        }
        if current[0] == 0.0 {
            current[0] = tiny;
        }
        let factor = below[0] / current[0];
        right[i] -= factor * right[i - 1];
        rows.push(current);
        current = [below[1] - factor * current[1], below[2] - factor * current[2], 0.0];
    }
    if current[0] == 0.0 {
        current[0] = tiny;
    }
    rows.push(current);
    for i in (0..size).rev() {
        let after = |step: usize| right.get(i + step).copied().unwrap_or(0.0);
        let rest = rows[i][1] * after(1) + rows[i][2] * after(2);
        right[i] = (right[i] - rest) / rows[i][0];
    }
    right
}
