//! Merging of modules whose eigengenes are close, and the whole way from a cut to modules.

use cuesta_core::Result;
use cuesta_core::budget::Budget;

use crate::kernel::correlate::correlations;
use crate::kernel::eigengene::{Eigengene, eigengenes};
use crate::kernel::expression::Expression;
use crate::kernel::labels;
use crate::kernel::linkage::{Tree, average_linkage};
use crate::kernel::membership::{filter, reassign};
use crate::kernel::triangle::Triangle;
use crate::params::{Measure, RefineParams};

/// Modules of genes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Modules {
    /// Module of each gene before merging; 0 for none.
    pub unmerged: Vec<u32>,
    /// Module of each gene, from 1 by falling size; 0 for none.
    pub labels: Vec<u32>,
    /// Eigengene of each module, by label.
    pub eigengenes: Vec<Eigengene>,
}

/// Makes modules of the labels of a cut: filters genes by membership, reassigns them, merges close
/// modules, and numbers them by size.
///
/// # Errors
/// `Input` when no gene of a module varies, or the budget has too little left.
pub fn refine(
    expression: &Expression,
    cut: &[u32],
    params: &RefineParams,
    threads: usize,
    budget: &Budget,
) -> Result<Modules> {
    let mut unmerged = cut.to_vec();
    let mut modules = eigengenes(expression, cut, threads)?;
    let remaining = filter(expression, &mut unmerged, &modules, params);
    modules.retain(|module| remaining.contains(&module.label));
    reassign(expression, &mut unmerged, &modules, params);
    let closeness = (params.measure, params.merge_height);
    let merged = merge_by(expression, &unmerged, closeness, threads, budget)?;
    let labels = labels::by_size_with(&merged, params.ties);
    let eigengenes = eigengenes(expression, &labels, threads)?;
    Ok(Modules { unmerged, labels, eigengenes })
}

/// Merges modules up to a height of the tree of Pearson's correlations of their eigengenes, as
/// [`merge_by`] does.
///
/// # Errors
/// `Input` when no gene of a module varies, or the budget has too little left.
pub fn merge_close(
    expression: &Expression,
    labels: &[u32],
    height: f64,
    threads: usize,
    budget: &Budget,
) -> Result<Vec<u32>> {
    merge_by(expression, labels, (Measure::Pearson, height), threads, budget)
}

/// Merges modules up to a height of the tree of the correlations of their eigengenes, until none is
/// left; a merged module takes the label of its first module in the order of their table.
///
/// # Errors
/// `Input` when no gene of a module varies, or the budget has too little left.
pub fn merge_by(
    expression: &Expression,
    labels: &[u32],
    (measure, height): (Measure, f64),
    threads: usize,
    budget: &Budget,
) -> Result<Vec<u32>> {
    let mut labels = labels.to_vec();
    loop {
        let unordered = eigengenes(expression, &labels, threads)?;
        if unordered.len() < 2 {
            return Ok(labels);
        }
        let order = eigengene_tree(&unordered, budget)?.order;
        let modules: Vec<Eigengene> =
            order.iter().map(|leaf| unordered[*leaf as usize - 1].clone()).collect();
        let groups = tree_by(&modules, measure, budget)?.groups(height);
        let mut image: Vec<u32> = (0..=labels.iter().copied().max().unwrap_or(0)).collect();
        let mut is_merged = false;
        // The group of a module is the number of its first module.
        for (module, group) in modules.iter().zip(groups) {
            let (label, target) = (module.label, modules[group].label);
            is_merged |= target != label;
            image[label as usize] = target;
        }
        if !is_merged {
            return Ok(labels);
        }
        labels.iter_mut().for_each(|label| *label = image[*label as usize]);
    }
}

/// Computes the tree of eigengenes with 1 - r as the distance; its order is that of the columns of
/// a table of eigengenes.
///
/// # Errors
/// `Input` when there is no eigengene, or the budget has too little left.
pub fn eigengene_tree(modules: &[Eigengene], budget: &Budget) -> Result<Tree> {
    tree_by(modules, Measure::Pearson, budget)
}

fn tree_by(modules: &[Eigengene], measure: Measure, budget: &Budget) -> Result<Tree> {
    let values: Vec<f64> = modules.iter().flat_map(|module| module.values.clone()).collect();
    let samples = modules.first().map_or(1, |module| module.values.len());
    let expression = Expression::new(&values, samples)?;
    let mut distances: Triangle<f64> = correlations(&expression, measure, 1, budget)?;
    distances.map(1, |correlation| 1.0 - correlation)?;
    average_linkage(&mut distances)
}
