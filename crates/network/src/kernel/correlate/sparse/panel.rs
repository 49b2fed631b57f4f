//! Products of panels of genes with the nonzeros of all smaller genes.

use std::ops::Range;

use cuesta_core::cpu::fastest;

use super::super::band::{Counts, Scratch};
use super::blocks::{BLOCK, Blocks, Nonzero};
use super::{Layout, SparsePrepared};

/// Genes of a panel.
pub const PANEL: usize = 32;

/// Memory of a thread.
#[derive(Debug, Default)]
pub struct SparseWorkspace {
    /// Products of each smaller gene with the genes of the panel.
    sums: Vec<[f64; PANEL]>,
}

/// Scores the pairs whose first gene is in `rows`; returns the numbers of pairs.
pub fn band(prepared: &SparsePrepared<'_>, rows: Range<usize>, scratch: &mut Scratch) -> Counts {
    let mut counts = Counts::default();
    for row in rows.clone() {
        counts.pairs += row as u64;
    }
    if prepared.matrix.samples.len() < prepared.min_samples {
        counts.too_few_samples = counts.pairs;
        return counts;
    }
    match &prepared.layout {
        Layout::Ranks(blocks) => panels(prepared, blocks, (rows, &mut counts), scratch),
        Layout::Values(blocks) => panels(prepared, blocks, (rows, &mut counts), scratch),
    }
    counts
}

fn panels<V: Nonzero>(
    prepared: &SparsePrepared<'_>,
    blocks: &Blocks<V>,
    (rows, counts): (Range<usize>, &mut Counts),
    scratch: &mut Scratch,
) {
    let Scratch { selected, sparse: SparseWorkspace { sums }, .. } = scratch;
    let mut panel = vec![[V::default(); PANEL]; BLOCK];
    for first in rows.clone().step_by(PANEL) {
        let genes = first..rows.end.min(first + PANEL);
        sums.clear();
        sums.resize(genes.end, [0.0; PANEL]);
        for block in 0..blocks.count {
            fill(prepared, blocks, (block, &genes), &mut panel);
            let (panel, sums) = (&panel, &mut sums[..genes.end - 1]);
            fastest(
                #[inline(always)]
                || multiply(blocks, block, panel, sums),
            );
        }
        for (place, gene1) in genes.enumerate() {
            let selected = &mut selected[gene1 - rows.start];
            let column1 = prepared.columns[gene1];
            for (gene2, sums) in sums[..gene1].iter().enumerate() {
                if !column1.varies || !prepared.columns[gene2].varies {
                    counts.undefined += 1;
                    continue;
                }
                let micro = prepared.micro(gene1, gene2, sums[place]);
                if micro.abs() >= prepared.min_abs_micro {
                    selected.push((gene2 as u32, micro));
                }
            }
        }
    }
}

/// Fills the panel with the columns of its genes in a block of samples.
fn fill<V: Nonzero>(
    prepared: &SparsePrepared<'_>,
    blocks: &Blocks<V>,
    (block, genes): (usize, &Range<usize>),
    panel: &mut [[V; PANEL]],
) {
    let mut background = [V::default(); PANEL];
    for (value, gene) in background.iter_mut().zip(genes.clone()) {
        *value = V::of(prepared.columns[gene].background);
    }
    panel.fill(background);
    for (place, gene) in genes.clone().enumerate() {
        let column = prepared.columns[gene];
        let (samples, values) = blocks.nonzeros(block, gene);
        for (&sample, &value) in samples.iter().zip(values) {
            let value: f64 = value.into();
            panel[usize::from(sample)][place] = V::of(value * column.factor + column.background);
        }
    }
}

/// Adds the products of the nonzeros of genes in a block with the genes of the panel.
#[inline(always)]
fn multiply<V: Nonzero>(
    blocks: &Blocks<V>,
    block: usize,
    panel: &[[V; PANEL]],
    sums: &mut [[f64; PANEL]],
) {
    let Some(panel) = panel.first_chunk::<BLOCK>() else { return };
    for (gene, sums) in sums.iter_mut().enumerate() {
        let (samples, values) = blocks.nonzeros(block, gene);
        let mut block_sums = [0.0; PANEL];
        for (&sample, &value) in samples.iter().zip(values) {
            let (row, value): (_, f64) = (&panel[usize::from(sample) % BLOCK], value.into());
            for (sum, &number) in block_sums.iter_mut().zip(row) {
                let number: f64 = number.into();
                *sum += value * number;
            }
        }
        for (sum, block_sum) in sums.iter_mut().zip(block_sums) {
            *sum += block_sum;
        }
    }
}
