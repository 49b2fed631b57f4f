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
    let merged = merge_close(expression, &unmerged, params.merge_height, threads, budget)?;
    let labels = labels::by_size_with(&merged, params.ties);
    let eigengenes = eigengenes(expression, &labels, threads)?;
    Ok(Modules { unmerged, labels, eigengenes })
}

/// Merges modules up to a height of the tree of their eigengenes, until none is left; a merged
/// module takes the label of its first module in the order of the leaves.
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
    let mut labels = labels.to_vec();
    loop {
        let modules = eigengenes(expression, &labels, threads)?;
        if modules.len() < 2 {
            return Ok(labels);
        }
        let tree = eigengene_tree(&modules, budget)?;
        let groups = tree.groups(height);
        let mut label_of_group = vec![None; modules.len()];
        let mut image: Vec<u32> = (0..=labels.iter().copied().max().unwrap_or(0)).collect();
        let mut is_merged = false;
        for leaf in &tree.order {
            let module = *leaf as usize - 1;
            let label = modules[module].label;
            let target = *label_of_group[groups[module]].get_or_insert(label);
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
    let values: Vec<f64> = modules.iter().flat_map(|module| module.values.clone()).collect();
    let samples = modules.first().map_or(1, |module| module.values.len());
    let expression = Expression::new(&values, samples)?;
    let mut distances: Triangle<f64> = correlations(&expression, Measure::Pearson, 1, budget)?;
    distances.map(1, |correlation| 1.0 - correlation)?;
    average_linkage(&mut distances)
}
