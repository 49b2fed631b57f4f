//! All of the way from an expression matrix to modules, in blocks of genes.

use cuesta_core::budget::Budget;
use cuesta_core::{Error, Result};

use crate::kernel::adjacency::{SoftNetwork, soften};
use crate::kernel::correlate::correlations;
use crate::kernel::cut::cut_tree;
use crate::kernel::eigengene::Eigengene;
use crate::kernel::expression::{Expression, GoodParts, good_parts};
use crate::kernel::linkage::{Tree, average_linkage};
use crate::kernel::merge::refine;
use crate::kernel::overlap::distances;
use crate::kernel::triangle::{StoredNumber, Triangle};
use crate::params::{BlockwiseParams, CutParams, RefineParams};

/// Modules of all genes, and what they were made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockwiseModules {
    /// Module of each gene before merging; 0 for none.
    pub unmerged: Vec<u32>,
    /// Module of each gene, from 1 by falling size; 0 for none.
    pub labels: Vec<u32>,
    /// Eigengene of each module, by label; NaN for samples that were left out.
    pub eigengenes: Vec<Eigengene>,
    /// Genes and samples that were used.
    pub good: GoodParts,
    /// Blocks in ascending order.
    pub blocks: Vec<GeneBlock>,
}

/// Genes that share a network, and their tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GeneBlock {
    /// Genes, ascending, from 0.
    pub genes: Vec<usize>,
    /// Tree of these genes, which it numbers from 1.
    pub tree: Tree,
}

/// Computes modules with adjacencies stored as `A` and distances as `D`.
///
/// The result is the same for any number of threads. Memory of a block of N genes: N^2/2 of `A` and
/// N^2/2 of `D`, then N^2 of `D`.
///
/// # Errors
/// `Input` when a parameter is out of range, no gene varies, or the budget has too little left.
pub fn blockwise_modules<A: StoredNumber, D: StoredNumber>(
    expression: &Expression,
    params: &BlockwiseParams,
    threads: usize,
    budget: &Budget,
) -> Result<BlockwiseModules> {
    let good = if params.checks_missing {
        good_parts(expression)?
    } else {
        let (genes, samples) = (vec![true; expression.genes()], vec![true; expression.samples()]);
        GoodParts { genes, samples }
    };
    let min_module_size = params.min_module_size.unwrap_or(20.min(expression.genes() / 2)).max(1);
    let cut_params = CutParams { min_cluster_size: min_module_size, ..params.cut };
    let mut cut = vec![0; expression.genes()];
    let (mut blocks, mut last_label) = (Vec::new(), 0);
    for genes in genes_of_blocks(params.blocks.as_deref(), &good)? {
        let (values, samples) = good.values(expression, &genes);
        let block = Expression::new(&values, samples)?;
        let (tree, labels) =
            modules_of_block::<A, D>(&block, params, &cut_params, threads, budget)?;
        let largest = labels.iter().copied().max().unwrap_or(0);
        for (&gene, &label) in genes.iter().zip(&labels).filter(|(_, label)| **label > 0) {
            cut[gene] = last_label + label;
        }
        last_label += largest;
        blocks.push(GeneBlock { genes, tree });
    }
    let refine_params = RefineParams {
        measure: params.measure,
        network: params.network,
        min_module_size,
        ..params.refine
    };
    let genes: Vec<usize> = (0..expression.genes()).filter(|&gene| good.genes[gene]).collect();
    let (values, samples) = good.values(expression, &genes);
    let cut: Vec<u32> = genes.iter().map(|&gene| cut[gene]).collect();
    let of_good =
        refine(&Expression::new(&values, samples)?, &cut, &refine_params, threads, budget)?;
    let spread = |labels: &[u32]| {
        let mut all = vec![0; expression.genes()];
        genes.iter().zip(labels).for_each(|(&gene, &label)| all[gene] = label);
        all
    };
    let eigengenes = of_good.eigengenes.into_iter().map(|module| good.spread(module)).collect();
    let (unmerged, labels) = (spread(&of_good.unmerged), spread(&of_good.labels));
    Ok(BlockwiseModules { unmerged, labels, eigengenes, good, blocks })
}

/// Returns the good genes of each block, by the number of the block.
fn genes_of_blocks(blocks: Option<&[u32]>, good: &GoodParts) -> Result<Vec<Vec<usize>>> {
    let genes = (0..good.genes.len()).filter(|&gene| good.genes[gene]);
    let Some(blocks) = blocks else { return Ok(vec![genes.collect()]) };
    if blocks.len() != good.genes.len() {
        let text = format!("{} blocks are named for {} genes", blocks.len(), good.genes.len());
        return Err(Error::input("modules", text));
    }
    let mut numbered = std::collections::BTreeMap::<u32, Vec<usize>>::new();
    for gene in genes {
        numbered.entry(blocks[gene]).or_default().push(gene);
    }
    Ok(numbered.into_values().collect())
}

fn modules_of_block<A: StoredNumber, D: StoredNumber>(
    expression: &Expression,
    params: &BlockwiseParams,
    cut: &CutParams,
    threads: usize,
    budget: &Budget,
) -> Result<(Tree, Vec<u32>)> {
    let mut adjacency: Triangle<A> = correlations(expression, params.measure, threads, budget)?;
    let (network, power) = (params.network, params.power);
    soften(
        &mut adjacency,
        SoftNetwork { network, power, keeps_sign: params.keeps_sign() },
        threads,
    )?;
    let distances: Triangle<D> =
        distances(&adjacency, (params.overlap, params.suppressed), threads, budget)?;
    drop(adjacency);
    let mut work = distances.copy(budget, "the distances of clusters")?;
    let tree = average_linkage(&mut work)?;
    drop(work);
    let labels = cut_tree(&tree, &distances, cut)?;
    Ok((tree, labels))
}

impl GoodParts {
    /// Returns the values of some genes over the good samples, and the number of these.
    fn values(&self, expression: &Expression, genes: &[usize]) -> (Vec<f64>, usize) {
        let samples: Vec<usize> =
            (0..self.samples.len()).filter(|&sample| self.samples[sample]).collect();
        let value = |gene: usize| {
            let row = expression.row(gene);
            samples.iter().map(move |&sample| row[sample])
        };
        (genes.iter().flat_map(|&gene| value(gene)).collect(), samples.len())
    }

    /// Spreads an eigengene over all samples.
    fn spread(&self, module: Eigengene) -> Eigengene {
        let mut of_good = module.values.iter();
        let value = |good: &bool| {
            if *good { of_good.next().copied().unwrap_or(f64::NAN) } else { f64::NAN }
        };
        Eigengene { values: self.samples.iter().map(value).collect(), ..module }
    }
}
