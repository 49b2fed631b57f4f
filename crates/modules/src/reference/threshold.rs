//! Networks of a grid, pair by pair, and random matrix theory on the complete matrix.

use std::collections::BTreeSet;

use cuesta_core::score_counts::p_value;

use super::{Square, adjacency, correlation, eigenvectors};
use crate::params::{Measure, NetworkType};

/// Returns all correlations; the diagonal is 1.
pub fn correlations(rows: &[&[f64]], measure: Measure) -> Square {
    let value = |i: usize, j: usize| {
        if i == j { 1.0 } else { correlation(rows[i], rows[j], measure) }
    };
    (0..rows.len()).map(|i| (0..rows.len()).map(|j| value(i, j)).collect()).collect()
}

/// Returns the connectivities of a soft network.
pub fn connectivity(r: &Square, network: NetworkType, power: u32) -> Vec<f64> {
    let others = |i: usize| (0..r.len()).filter(move |&j| j != i);
    let sum = |i: usize| others(i).map(|j| adjacency(network, power, r[i][j])).sum();
    (0..r.len()).map(sum).collect()
}

/// Returns the number of edges of each gene at a cut-off, and the components with an edge.
pub fn network(r: &Square, cutoff: f64) -> (Vec<usize>, Vec<BTreeSet<usize>>) {
    let neighbours = |i: usize| -> Vec<usize> {
        (0..r.len()).filter(|&j| j != i && r[i][j].abs() >= cutoff).collect()
    };
    let mut components: Vec<BTreeSet<usize>> = Vec::new();
    for gene in 0..r.len() {
        if components.iter().any(|component| component.contains(&gene)) {
            continue;
        }
        let (mut reached, mut waiting) = (BTreeSet::from([gene]), vec![gene]);
        while let Some(next) = waiting.pop() {
            waiting.extend(neighbours(next).into_iter().filter(|&other| reached.insert(other)));
        }
        if reached.len() > 1 {
            components.push(reached);
        }
    }
    ((0..r.len()).map(|gene| neighbours(gene).len()).collect(), components)
}

/// Returns the number of pairs that a false discovery rate admits; p-values are those of |r|
/// rounded down to a multiple of `step`.
pub fn discoveries(pairs: &[(f64, usize)], rate: f64, step: f64) -> usize {
    let bins = (1.0 / step).round();
    let rounded = |r: f64| (r.abs() * bins).floor().min(bins - 1.0) / bins;
    let mut p: Vec<f64> = pairs.iter().map(|(r, n)| p_value(rounded(*r), *n)).collect();
    p.sort_by(f64::total_cmp);
    let count = p.len() as f64;
    (1..=p.len()).rev().find(|&k| p[k - 1] <= rate * k as f64 / count).unwrap_or(0)
}

/// Returns the distinct eigenvalues of the genes with an edge at a threshold, 0 elsewhere.
pub fn distinct_eigenvalues(r: &Square, threshold: f32) -> Vec<f32> {
    let score = |i: usize, j: usize| r[i][j] as f32;
    let is_edge = |i: usize, j: usize| i != j && score(i, j).abs() >= threshold;
    let genes: Vec<usize> = (0..r.len()).filter(|&i| (0..r.len()).any(|j| is_edge(i, j))).collect();
    let entry = |i: usize, j: usize| match (i == j, is_edge(i, j)) {
        (true, _) => 1.0,
        (_, true) => f64::from(score(i.min(j), i.max(j))),
        _ => 0.0,
    };
    let matrix = genes.iter().map(|&i| genes.iter().map(|&j| entry(i, j)).collect()).collect();
    let mut values: Vec<f32> =
        eigenvectors(matrix).into_iter().map(|(value, _)| value as f32).collect();
    values.sort_by(f32::total_cmp);
    let mut distinct: Vec<f32> = Vec::new();
    for value in values {
        if distinct.last().is_none_or(|last| (value - last).abs() > 1e-6) {
            distinct.push(value);
        }
    }
    distinct
}

/// Returns the curve of Akima through points at `at`, from the slopes of the points.
pub fn akima(x: &[f64], y: &[f64], at: f64) -> f64 {
    let count = x.len() as isize;
    let secant = |i: isize| {
        let inner = |i: isize| {
            let i = i as usize;
            (y[i + 1] - y[i]) / (x[i + 1] - x[i])
        };
        let (first, last) = (inner(0), inner(count - 2));
        let (step, end_step) = (first - inner(1), last - inner(count - 3));
        match i {
            -2 => first + 2.0 * step,
            -1 => first + step,
            i if i == count - 1 => last + end_step,
            i if i == count => last + 2.0 * end_step,
            i => inner(i),
        }
    };
    let slope = |i: isize, flat: isize| {
        let before = (secant(i - 1) - secant(i - 2)).abs();
        let after = (secant(i + 1) - secant(i)).abs();
        if before + after == 0.0 {
            return secant(flat);
        }
        (after * secant(i - 1) + before * secant(i)) / (before + after)
    };
    let interval = (0..count - 1).rev().find(|&i| x[i as usize] <= at).unwrap_or(0);
    let i = interval as usize;
    let width = x[i + 1] - x[i];
    let t = (at - x[i]) / width;
    let (a, b) = (slope(interval, interval), slope(interval + 1, interval));
    let is_line = (secant(interval - 1) - secant(interval - 2)).abs()
        + (secant(interval + 1) - secant(interval)).abs()
        == 0.0;
    if is_line {
        return y[i] + secant(interval) * (at - x[i]);
    }
    let (t2, t3) = (t * t, t * t * t);
    y[i] * (2.0 * t3 - 3.0 * t2 + 1.0)
        + width * a * (t3 - 2.0 * t2 + t)
        + y[i + 1] * (3.0 * t2 - 2.0 * t3)
        + width * b * (t3 - t2)
}
