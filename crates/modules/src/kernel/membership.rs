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
/// lose so many genes that they become too small, whatever they gain.
pub fn reassign(
    expression: &Expression,
    labels: &mut [u32],
    eigengenes: &[Eigengene],
    params: &RefineParams,
) {
    let before = members(labels);
    let mut too_small = Vec::new();
    for (own, module) in eigengenes.iter().enumerate() {
        let genes = before.get(module.label as usize).map_or(&[][..], Vec::as_slice);
        let mut moved = 0;
        for &gene in genes {
            let of_modules = memberships(expression.row(gene), eigengenes, params.measure);
            if let Some(best) = better(&of_modules, own, expression.samples(), params) {
                let by_column = params.reassign_by_column;
                labels[gene] = if by_column { best as u32 + 1 } else { eigengenes[best].label };
                moved += 1;
            }
        }
        if moved > 0 && genes.len() - moved < params.min_module_size {
            too_small.push(module.label);
        }
    }
    labels.iter_mut().filter(|label| too_small.contains(label)).for_each(|label| *label = 0);
}

/// Returns the module of which a gene is clearly more a member than of its own, if there is one;
/// the first of equal ones.
fn better(memberships: &[f64], own: usize, samples: usize, params: &RefineParams) -> Option<usize> {
    let oriented: Vec<f64> = memberships.iter().map(|value| oriented(*value, params)).collect();
    if oriented.iter().any(|value| value.is_nan()) {
        return None;
    }
    let best =
        (1..oriented.len()).fold(0, |best, i| if oriented[i] > oriented[best] { i } else { best });
    if oriented[best] <= oriented[own] {
        return None;
    }
    let samples = params.p_value_samples.unwrap_or(samples);
    let p_value = |module: usize| fisher_p_value(oriented[module], samples);
    (p_value(best) / p_value(own) < params.reassign_threshold).then_some(best)
}

/// Returns the two-sided p-value of a correlation over `samples` by Fisher's transformation; NaN
/// for a missing one.
pub fn fisher_p_value(correlation: f64, samples: usize) -> f64 {
    let z = libm::atanh(correlation.abs()) * (samples.saturating_sub(3) as f64).sqrt();
    libm::erfc(z / std::f64::consts::SQRT_2)
}
