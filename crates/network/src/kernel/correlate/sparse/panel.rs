//! Products of panels of genes with the nonzeros of all smaller genes.
//!
//! With a threshold, a panel is multiplied in single precision first. A sum over a block has at
//! most [`BLOCK`] terms, and a sum over all blocks as many as there are blocks, so it errs by at
//! most that many units of the last place of the sum of the absolute terms, which Cauchy and
//! Schwarz bound. Pairs that cannot reach the threshold are left out; the others are computed in
//! double precision, alone or, if they are many, together with their panel: to the same bit.

use std::ops::Range;

use cuesta_core::cpu::fastest;
use cuesta_core::fixed::Micro;

use super::super::band::{Counts, Scratch};
use super::blocks::{BLOCK, Nonzero, SampleBlocks};
use super::{Layout, SparsePrepared};

/// Genes of a panel.
pub const PANEL: usize = 32;

/// Part of the pairs of a panel beyond which candidates are computed together.
const CANDIDATES_MAX: f64 = 0.04;

/// Memory of a thread.
#[derive(Debug, Default)]
pub struct SparseWorkspace {
    /// Products of each smaller gene with the genes of the panel.
    sums: Vec<[f64; PANEL]>,
    single_sums: Vec<[f32; PANEL]>,
    /// Places in the panel and smaller genes of the pairs that may reach the threshold.
    candidates: Vec<(u32, u32)>,
    /// Column of a gene.
    column: Vec<f64>,
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
    let varies = |gene: usize| prepared.columns[gene].varies;
    let mut smaller = (0..rows.start).filter(|&gene| varies(gene)).count() as u64;
    for row in rows.clone() {
        counts.undefined += row as u64 - if varies(row) { smaller } else { 0 };
        smaller += u64::from(varies(row));
    }
    match &prepared.layout {
        Layout::Ranks(blocks) => panels(prepared, blocks, rows, scratch),
        Layout::Values(blocks) => panels(prepared, blocks, rows, scratch),
    }
    counts
}

fn panels<V: Nonzero>(
    prepared: &SparsePrepared<'_>,
    blocks: &SampleBlocks<V>,
    rows: Range<usize>,
    scratch: &mut Scratch,
) {
    let Scratch { selected, sparse: workspace, .. } = scratch;
    for first in rows.clone().step_by(PANEL) {
        let genes = first..rows.end.min(first + PANEL);
        let selected = &mut selected[first - rows.start..][..genes.len()];
        let panel = Panel { prepared, blocks, genes };
        if prepared.min_abs_micro > 0 && panel.find_candidates(workspace) {
            panel.compute_candidates(workspace, selected);
        } else {
            panel.compute_all(workspace, selected);
        }
    }
}

/// Panel of some genes.
struct Panel<'p, V> {
    prepared: &'p SparsePrepared<'p>,
    blocks: &'p SampleBlocks<V>,
    genes: Range<usize>,
}

impl<V: Nonzero> Panel<'_, V> {
    /// Collects the pairs that may reach the threshold; false if they are too many.
    fn find_candidates(&self, workspace: &mut SparseWorkspace) -> bool {
        let SparseWorkspace { single_sums: sums, candidates, .. } = workspace;
        sums.clear();
        sums.resize(self.genes.end, [0.0; PANEL]);
        let mut panel = vec![[0.0f32; PANEL]; BLOCK];
        for block in 0..self.blocks.count {
            self.fill(block, &mut panel, |value| value as f32);
            let (panel, sums) = (&panel, &mut sums[..self.genes.end - 1]);
            fastest(
                #[inline(always)]
                || multiply_single(self.blocks, block, panel, sums),
            );
        }
        let columns = &self.prepared.columns;
        let lengths: Vec<f64> =
            columns[..self.genes.end].iter().map(|column| column.squares.sqrt()).collect();
        let terms = (BLOCK + self.blocks.count + 16) as f64;
        let error = terms * f64::from(f32::EPSILON);
        // Half a millionth less: a score just below the threshold may be rounded up to it.
        let least = (f64::from(self.prepared.min_abs_micro) - 0.5) * 1e-6;
        candidates.clear();
        let mut pairs = 0;
        for (place, gene1) in self.genes.clone().enumerate() {
            for (gene2, sums) in sums[..gene1].iter().enumerate() {
                let column2 = &columns[gene2];
                let product = f64::from(sums[place]).abs() * column2.factor;
                let score = product / (lengths[gene1] * lengths[gene2]);
                if score >= least - error * column2.lengthening {
                    candidates.push((place as u32, gene2 as u32));
                }
            }
            pairs += gene1;
        }
        candidates.len() as f64 <= CANDIDATES_MAX * pairs as f64
    }

    /// Computes the candidates, gene by gene.
    fn compute_candidates(
        &self,
        workspace: &mut SparseWorkspace,
        selected: &mut [Vec<(u32, Micro)>],
    ) {
        let SparseWorkspace { candidates, column, .. } = workspace;
        column.resize(self.blocks.count * BLOCK, 0.0);
        for of_gene in candidates.chunk_by(|a, b| a.0 == b.0) {
            let place = of_gene[0].0 as usize;
            let gene1 = self.genes.start + place;
            column.fill(self.prepared.columns[gene1].background);
            for (block, column) in column.chunks_mut(BLOCK).enumerate() {
                self.each_number(block, gene1, |sample, number| column[sample] = number);
            }
            for &(_, gene2) in of_gene {
                let mut sum = 0.0;
                for (block, column) in column.chunks(BLOCK).enumerate() {
                    let (samples, values) = self.blocks.nonzeros(block, gene2 as usize);
                    let terms = samples.iter().zip(values).map(|(&sample, &value)| {
                        let value: f64 = value.into();
                        value * column[usize::from(sample)]
                    });
                    sum += terms.sum::<f64>();
                }
                self.select((gene1, gene2 as usize), sum, &mut selected[place]);
            }
        }
    }

    /// Computes all pairs of the panel.
    fn compute_all(&self, workspace: &mut SparseWorkspace, selected: &mut [Vec<(u32, Micro)>]) {
        let sums = &mut workspace.sums;
        sums.clear();
        sums.resize(self.genes.end, [0.0; PANEL]);
        let mut panel = vec![[V::default(); PANEL]; BLOCK];
        for block in 0..self.blocks.count {
            self.fill(block, &mut panel, V::of);
            let (panel, sums) = (&panel, &mut sums[..self.genes.end - 1]);
            fastest(
                #[inline(always)]
                || multiply(self.blocks, block, panel, sums),
            );
        }
        for (place, gene1) in self.genes.clone().enumerate() {
            for (gene2, sums) in sums[..gene1].iter().enumerate() {
                self.select((gene1, gene2), sums[place], &mut selected[place]);
            }
        }
    }

    fn select(&self, genes: (usize, usize), sum: f64, selected: &mut Vec<(u32, Micro)>) {
        let columns = &self.prepared.columns;
        if !columns[genes.0].varies || !columns[genes.1].varies {
            return;
        }
        let micro = self.prepared.micro(genes.0, genes.1, sum);
        if micro.abs() >= self.prepared.min_abs_micro {
            selected.push((genes.1 as u32, micro));
        }
    }

    /// Fills the panel with the columns of its genes in a block of samples.
    fn fill<P: Copy + Default>(
        &self,
        block: usize,
        panel: &mut [[P; PANEL]],
        of: impl Fn(f64) -> P,
    ) {
        let mut background = [P::default(); PANEL];
        for (value, gene) in background.iter_mut().zip(self.genes.clone()) {
            *value = of(self.prepared.columns[gene].background);
        }
        panel.fill(background);
        for (place, gene) in self.genes.clone().enumerate() {
            self.each_number(block, gene, |sample, number| panel[sample][place] = of(number));
        }
    }

    /// Calls `take(sample, number)` for each nonzero of a gene in a block.
    fn each_number(&self, block: usize, gene: usize, mut take: impl FnMut(usize, f64)) {
        let column = self.prepared.columns[gene];
        let (samples, values) = self.blocks.nonzeros(block, gene);
        for (&sample, &value) in samples.iter().zip(values) {
            let value: f64 = value.into();
            take(usize::from(sample), value * column.factor + column.background);
        }
    }
}

/// Adds the products of the nonzeros of genes in a block with the genes of the panel.
#[inline(always)]
fn multiply<V: Nonzero>(
    blocks: &SampleBlocks<V>,
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

/// As [`multiply`], in single precision.
#[inline(always)]
fn multiply_single<V: Nonzero>(
    blocks: &SampleBlocks<V>,
    block: usize,
    panel: &[[f32; PANEL]],
    sums: &mut [[f32; PANEL]],
) {
    let Some(panel) = panel.first_chunk::<BLOCK>() else { return };
    for (gene, sums) in sums.iter_mut().enumerate() {
        let (samples, values) = blocks.nonzeros(block, gene);
        let mut block_sums = [0.0f32; PANEL];
        for (&sample, &value) in samples.iter().zip(values) {
            let (row, value) = (&panel[usize::from(sample) % BLOCK], value.single());
            for (sum, &number) in block_sums.iter_mut().zip(row) {
                *sum += value * number;
            }
        }
        for (sum, block_sum) in sums.iter_mut().zip(block_sums) {
            *sum += block_sum;
        }
    }
}
