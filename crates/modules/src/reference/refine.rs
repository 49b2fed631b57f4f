//! Steps from the cut of a tree to modules, in the words of their definitions.

use std::collections::BTreeSet;

use super::{average_linkage, by_size, correlation, eigenvectors};
use crate::params::{Measure, NetworkType, RefineParams};

/// Returns genes without missing values: the mean of the ten nearest genes by mean squared
/// difference over shared samples, else of all genes.
pub fn imputed(rows: &[&[f64]]) -> Vec<Vec<f64>> {
    let samples = rows.first().map_or(0, |row| row.len());
    let missing = |row: &[f64]| row.iter().filter(|value| value.is_nan()).count();
    let mean = |values: Vec<f64>| {
        let present: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
        present.iter().sum::<f64>() / present.len() as f64
    };
    let usable = |gene: usize| 2 * missing(rows[gene]) <= samples;
    let nearest = |gene: usize| -> Vec<usize> {
        let distance = |other: usize| {
            mean(rows[gene].iter().zip(rows[other]).map(|(x, y)| (x - y) * (x - y)).collect())
        };
        let mut others: Vec<usize> =
            (0..rows.len()).filter(|&other| other != gene && usable(other)).collect();
        others.retain(|&other| !distance(other).is_nan());
        others.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        others.truncate(10.min(rows.len() - 1));
        others
    };
    let value = |gene: usize, sample: usize| {
        if !rows[gene][sample].is_nan() {
            return rows[gene][sample];
        }
        let near = if usable(gene) { nearest(gene) } else { Vec::new() };
        let of_near = mean(near.iter().map(|&other| rows[other][sample]).collect());
        let of_all = mean(rows.iter().map(|row| row[sample]).collect());
        let choice = if of_near.is_nan() { of_all } else { of_near };
        if choice.is_nan() { 0.0 } else { choice }
    };
    (0..rows.len()).map(|gene| (0..samples).map(|s| value(gene, s)).collect()).collect()
}

/// Module: its label, and its eigengene.
pub type Module = (u32, Vec<f64>);

/// Returns the eigengene of each label but 0: the first eigenvector of the Gram matrix of the
/// standardised genes, with the sign of their mean, or of the first where the mean is
/// orthogonal. Genes that do not vary are left out.
pub fn eigengenes(rows: &[&[f64]], labels: &[u32]) -> Vec<Module> {
    let modules: BTreeSet<u32> = labels.iter().copied().filter(|label| *label > 0).collect();
    let of_module = |label: u32| {
        let genes = rows.iter().zip(labels).filter(|(_, other)| **other == label);
        let complete = imputed(&genes.map(|(row, _)| *row).collect::<Vec<_>>());
        let samples = complete[0].len();
        let scores: Vec<Vec<f64>> = complete
            .iter()
            .filter(|row| row.iter().any(|value| *value != row[0]))
            .map(|row| {
                let mean = row.iter().sum::<f64>() / samples as f64;
                let norm = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>().sqrt();
                row.iter().map(|x| (x - mean) / norm).collect()
            })
            .collect();
        let product = |i: usize, j: usize| scores.iter().map(|row| row[i] * row[j]).sum();
        let gram = (0..samples).map(|i| (0..samples).map(|j| product(i, j)).collect()).collect();
        let all = eigenvectors(gram);
        let first = all.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or_default().1;
        let products: Vec<f64> =
            scores.iter().map(|row| row.iter().zip(&first).map(|(a, b)| a * b).sum()).collect();
        let sum: f64 = products.iter().sum();
        let is_cancelled = sum.abs() <= 1e-9 * products.iter().map(|x| x.abs()).sum::<f64>();
        let along = if is_cancelled {
            *products.iter().find(|x| x.abs() > 1e-9).unwrap_or(&sum)
        } else {
            sum
        };
        (label, first.iter().map(|value| if along < 0.0 { -value } else { *value }).collect())
    };
    modules.into_iter().map(of_module).collect()
}

fn membership(gene: &[f64], module: &Module, params: &RefineParams) -> f64 {
    let r = correlation(gene, &module.1, params.measure);
    let present = gene.iter().filter(|value| !value.is_nan()).count();
    match (present < 4, params.network) {
        (true, _) => f64::NAN,
        (_, NetworkType::Unsigned) => r.abs(),
        _ => r,
    }
}

/// Returns the labels without genes of low membership and modules without a core.
pub fn filter(
    rows: &[&[f64]],
    labels: &[u32],
    modules: &[Module],
    params: &RefineParams,
) -> Vec<u32> {
    let mut filtered = labels.to_vec();
    for module in modules {
        let genes: Vec<usize> = (0..rows.len()).filter(|&i| labels[i] == module.0).collect();
        let of = |gene: usize| membership(rows[gene], module, params);
        let core = genes.iter().filter(|&&i| of(i) > params.min_core_membership).count() as f64;
        let least = params.min_core_size.unwrap_or(params.min_module_size as f64 / 3.0);
        let stays = |gene: &&usize| of(**gene) >= params.min_membership;
        let is_dropped =
            core < least || genes.iter().filter(stays).count() < params.min_module_size;
        for gene in &genes {
            if is_dropped || !stays(&gene) {
                filtered[*gene] = 0;
            }
        }
    }
    filtered
}

/// Returns the labels after genes moved to a module of clearly larger membership.
pub fn reassign(
    rows: &[&[f64]],
    labels: &[u32],
    modules: &[Module],
    params: &RefineParams,
) -> Vec<u32> {
    let p_value = |membership: f64| {
        let n = params.p_value_samples.unwrap_or(rows[0].len()) as f64;
        libm::erfc(libm::atanh(membership.abs()) * (n - 3.0).sqrt() / std::f64::consts::SQRT_2)
    };
    let target = |gene: usize| -> Option<u32> {
        let own = modules.iter().position(|module| module.0 == labels[gene])?;
        let all: Vec<f64> = modules.iter().map(|m| membership(rows[gene], m, params)).collect();
        let best = (0..all.len()).rev().max_by(|&a, &b| all[a].total_cmp(&all[b]))?;
        let is_clear = p_value(all[best]) / p_value(all[own]) < params.reassign_threshold;
        let label = if params.reassign_by_column { best as u32 + 1 } else { modules[best].0 };
        (is_clear && best != own && all.iter().all(|r| !r.is_nan())).then_some(label)
    };
    let targets: Vec<Option<u32>> = (0..rows.len()).map(target).collect();
    let is_too_small = |label: u32| {
        let genes = || (0..rows.len()).filter(|&gene| labels[gene] == label);
        let stay = genes().filter(|&gene| targets[gene].is_none()).count();
        stay < genes().count() && stay < params.min_module_size
    };
    let dissolved: Vec<u32> =
        modules.iter().map(|module| module.0).filter(|&label| is_too_small(label)).collect();
    let moved = targets.iter().zip(labels).map(|(target, label)| target.unwrap_or(*label));
    moved.map(|label| if dissolved.contains(&label) { 0 } else { label }).collect()
}

/// Returns the partition into merged modules, by size; labels of equal sizes are arbitrary.
pub fn merged(rows: &[&[f64]], labels: &[u32], measure: Measure, height: f64) -> Vec<u32> {
    let mut labels = labels.to_vec();
    loop {
        let modules = eigengenes(rows, &labels);
        let distance = |a: &Module, b: &Module| 1.0 - correlation(&a.1, &b.1, measure);
        let distances =
            modules.iter().map(|a| modules.iter().map(|b| distance(a, b)).collect()).collect();
        let merges = average_linkage(distances);
        let close: Vec<_> = merges.into_iter().filter(|merge| merge.2 <= height).collect();
        if close.is_empty() {
            return by_size(&labels);
        }
        // A merged cluster is called by its largest number, so labels follow it.
        let mut targets: Vec<usize> = (0..modules.len()).collect();
        for (small, large, _) in close {
            targets.iter_mut().filter(|target| **target == small).for_each(|t| *t = large);
        }
        for label in labels.iter_mut().filter(|label| **label > 0) {
            let place = modules.iter().position(|module| module.0 == *label).unwrap_or_default();
            *label = modules[targets[place]].0;
        }
    }
}

/// Returns the coefficient of determination and the slope of the fit of degrees to a power law.
pub fn power_fit(degrees: &[f64], bins: usize) -> (f64, f64) {
    let low = degrees.iter().copied().fold(f64::INFINITY, f64::min);
    let high = degrees.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let width = (high - low) / bins as f64;
    let bin_of = |k: f64| (((k - low) / width).ceil() as usize).clamp(1, bins) - 1;
    let point = |bin: usize| {
        let inside: Vec<f64> = degrees.iter().copied().filter(|k| bin_of(*k) == bin).collect();
        let middle = low + width * (bin as f64 + 0.5);
        let mean = inside.iter().sum::<f64>() / inside.len() as f64;
        let x = if inside.is_empty() || mean == 0.0 { middle } else { mean };
        (x.log10(), (inside.len() as f64 / degrees.len() as f64 + 1e-9).log10())
    };
    let points: Vec<(f64, f64)> = (0..bins).map(point).collect();
    let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|(x, y)| f(*x, *y)).sum::<f64>();
    let n = bins as f64;
    let xx = sum(&|x, _| x * x) - sum(&|x, _| x).powi(2) / n;
    let yy = sum(&|_, y| y * y) - sum(&|_, y| y).powi(2) / n;
    let xy = sum(&|x, y| x * y) - sum(&|x, _| x) * sum(&|_, y| y) / n;
    (xy * xy / (xx * yy), xy / xx)
}
