//! Membership of genes in modules (kME): the correlation with their eigengenes.

use crate::kernel::correlate::{GeneColumn, pair};
use crate::kernel::eigengene::{Eigengene, members};
use crate::kernel::expression::Expression;
use crate::kernel::unit::unit_column;
use crate::params::{Measure, NetworkType, RefineParams};

/// Smallest number of values of a gene with a membership.
const VALUES_MIN: usize = 4;

/// Returns the correlations of a gene with eigengenes, in their order; NaN where there is none.
pub fn memberships(values: &[f64], eigengenes: &[Eigengene], measure: Measure) -> Vec<f64> {
    let mut gene = vec![0.0; values.len()];
    let present = values.iter().filter(|value| !value.is_nan()).count();
    if present < VALUES_MIN || !unit_column(measure, values, &mut gene) {
        return vec![f64::NAN; eigengenes.len()];
    }
    let is_reduced = present < values.len();
    let correlation = |eigengene: &Eigengene| {
        let mut unit = vec![0.0; values.len()];
        if !unit_column(measure, &eigengene.values, &mut unit) {
            return f64::NAN;
        }
        let gene = GeneColumn { values, unit: &gene, is_reduced: false };
        let module = GeneColumn { values: &eigengene.values, unit: &unit, is_reduced };
        pair(measure, gene, module)
    };
    eigengenes.iter().map(correlation).collect()
}

/// Removes modules without a core and genes that belong to them too little; returns the labels of
/// the modules that are left, ascending.
pub fn filter(
    expression: &Expression,
    labels: &mut [u32],
    eigengenes: &[Eigengene],
    params: &RefineParams,
) -> Vec<u32> {
    let core_size = params.min_core_size.unwrap_or(params.min_module_size as f64 / 3.0);
    let mut remaining = Vec::new();
    let genes_of = members(labels);
    for eigengene in eigengenes {
        let genes = &genes_of[eigengene.label as usize];
        let module = std::slice::from_ref(eigengene);
        let of_gene: Vec<f64> = genes
            .iter()
            .map(|&gene| {
                oriented(memberships(expression.row(gene), module, params.measure)[0], params)
            })
            .collect();
        let core = of_gene.iter().filter(|value| **value > params.min_core_membership).count();
        let is_member = |membership: f64| membership >= params.min_membership;
        let count = of_gene.iter().filter(|value| is_member(**value)).count();
        let dissolves = (core as f64) < core_size || count < params.min_module_size;
        for (&gene, &membership) in genes.iter().zip(&of_gene) {
            if dissolves || !is_member(membership) {
                labels[gene] = 0;
            }
        }
        if !dissolves {
            remaining.push(eigengene.label);
        }
    }
    remaining
}

fn oriented(membership: f64, params: &RefineParams) -> f64 {
    if params.network == NetworkType::Unsigned { membership.abs() } else { membership }
}

/// Moves genes to the module of which they are clearly closer members, and dissolves modules that
/// become too small.
pub fn reassign(
    expression: &Expression,
    labels: &mut [u32],
    eigengenes: &[Eigengene],
    params: &RefineParams,
) {
    let before = labels.to_vec();
    for (gene, label) in labels.iter_mut().enumerate().filter(|(_, label)| **label != 0) {
        let Some(own) = eigengenes.iter().position(|module| module.label == *label) else {
            continue;
        };
        let of_modules = memberships(expression.row(gene), eigengenes, params.measure);
        let Some(best) = best(&of_modules, params) else { continue };
        let p_value = |module: usize| fisher_p_value(of_modules[module], expression.samples());
        let ratio = p_value(best) / p_value(own);
        if best != own && ratio < params.reassign_threshold {
            *label =
                if params.reassign_by_column { best as u32 + 1 } else { eigengenes[best].label };
        }
    }
    if before == labels {
        return;
    }
    for genes in members(labels).iter().skip(1) {
        if genes.len() < params.min_module_size {
            genes.iter().for_each(|&gene| labels[gene] = 0);
        }
    }
}

/// Returns the module of the largest membership; the first of equal ones.
fn best(memberships: &[f64], params: &RefineParams) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (module, &membership) in memberships.iter().enumerate() {
        let membership = oriented(membership, params);
        if !membership.is_nan() && best.is_none_or(|(_, most)| membership > most) {
            best = Some((module, membership));
        }
    }
    best.map(|(module, _)| module)
}

/// Returns the two-sided p-value of a correlation over `samples` by Fisher's transformation; NaN
/// for a missing one.
pub fn fisher_p_value(correlation: f64, samples: usize) -> f64 {
    let z = libm::atanh(correlation.abs()) * (samples.saturating_sub(3) as f64).sqrt();
    libm::erfc(z / std::f64::consts::SQRT_2)
}
