//! Pairs of genes with missing values, over the samples that both genes have.

use std::ops::Range;

use cuesta_core::fixed;

use super::band::Scratch;
use super::complete::{fill_biweight_row, product};
use super::gaps::{PresentValues, flags_of};
use super::prepare::Prepared;
use super::vector::{CodeLane, Moments};
use super::{CorrelationMethod, coefficient, reference};

/// Genes that all rows of the band are compared with before the next block: they stay in the cache.
const BLOCK: usize = 256;

/// Relative change of a sum of squares that the rounding of a mean may cause.
const SQUARES_ERROR: f64 = 1e-12;

/// Smallest sum of squares: the product of two such sums is a normal number.
const SQUARES_MIN: f64 = 1e-140;

/// Memory for the pairs of a row.
#[derive(Debug, Default)]
pub(super) struct MaskedWorkspace {
    /// Genes that share enough samples with the row, and the number of shared samples.
    partners: Vec<(u32, u32)>,
    scores: Vec<Option<f64>>,
    common: Vec<u8>,
    flags: Vec<u8>,
    ranks1: Vec<i32>,
    ranks2: Vec<i32>,
    rows: [BiweightRow; 2],
}

/// Row of a gene over the samples that its partner has too.
#[derive(Debug, Default)]
struct BiweightRow {
    values: Vec<f64>,
    row: Vec<f64>,
}

/// Scores the pairs with missing values whose first gene is in `rows`.
pub(super) fn band(prepared: &Prepared, rows: Range<usize>, scratch: &mut Scratch) {
    let partial = &prepared.partial;
    if partial.is_empty() {
        return;
    }
    let everyone: Vec<u32> = (0..rows.end as u32).collect();
    for block in everyone.chunks(BLOCK) {
        let next = block[0] + block.len() as u32;
        let with_gaps = partial.partition_point(|gene| *gene < block[0])
            ..partial.partition_point(|gene| *gene < next);
        for (place, gene1) in rows.clone().enumerate().skip_while(|row| row.1 < block[0] as usize) {
            let gene1 = gene1 as u32;
            let has_gaps = partial.binary_search(&gene1).is_ok();
            let partners = if has_gaps { block } else { &partial[with_gaps.clone()] };
            let partners = &partners[..partners.partition_point(|gene2| *gene2 < gene1)];
            select_partners(prepared, gene1, partners, scratch);
            score_partners(prepared, gene1, &mut scratch.masked);
            select(prepared, place, scratch);
        }
    }
}

fn select_partners(prepared: &Prepared, gene1: u32, candidates: &[u32], scratch: &mut Scratch) {
    let first = prepared.gaps.gene(gene1);
    scratch.masked.partners.clear();
    for &gene2 in candidates {
        let second = prepared.gaps.gene(gene2);
        let common = common_samples(&first.bits, &second.bits);
        if (common as usize) < prepared.min_samples {
            scratch.counts.too_few_samples += 1;
        } else if first.is_constant || second.is_constant {
            scratch.counts.undefined += 1;
        } else {
            scratch.masked.partners.push((gene2, common));
        }
    }
}

fn score_partners(prepared: &Prepared, gene1: u32, workspace: &mut MaskedWorkspace) {
    workspace.scores.clear();
    match prepared.method {
        CorrelationMethod::Pearson => {
            for partners in workspace.partners.chunks(4) {
                workspace.scores.extend(pearson(prepared, gene1, partners));
            }
        }
        CorrelationMethod::Spearman => {
            for index in 0..workspace.partners.len() {
                let partner = workspace.partners[index];
                let score = spearman(prepared, gene1, partner, workspace);
                workspace.scores.push(score);
            }
        }
        CorrelationMethod::Bicor { max_outliers } => {
            let MaskedWorkspace { partners, scores, rows, .. } = workspace;
            let score = |&partner| bicor(prepared, (gene1, partner), max_outliers, rows);
            scores.extend(partners.iter().map(score));
        }
    }
}

fn select(prepared: &Prepared, place: usize, scratch: &mut Scratch) {
    let MaskedWorkspace { partners, scores, .. } = &scratch.masked;
    for ((gene2, _), score) in partners.iter().zip(scores) {
        match score.and_then(fixed::from_f64) {
            None => scratch.counts.undefined += 1,
            Some(micro) if micro.abs() >= prepared.min_abs_micro => {
                scratch.selected[place].push((*gene2, micro));
            }
            Some(_) => {}
        }
    }
}

fn common_samples(a: &[u8], b: &[u8]) -> u32 {
    let words = a.as_chunks().0.iter().zip(b.as_chunks().0);
    words.map(|(a, b)| (u64::from_le_bytes(*a) & u64::from_le_bytes(*b)).count_ones()).sum()
}

/// Computes the scores of a gene with up to four partners.
fn pearson<'a>(
    prepared: &'a Prepared,
    gene1: u32,
    partners: &'a [(u32, u32)],
) -> impl Iterator<Item = Option<f64>> + 'a {
    let four: [(u32, u32); 4] = std::array::from_fn(|i| partners[i.min(partners.len() - 1)]);
    let gaps = &prepared.gaps;
    let ys = four.map(|(gene2, _)| gaps.gene(gene2).masked());
    let counts = four.map(|(_, common)| f64::from(common));
    let moments = prepared.isa.moments(gaps.gene(gene1).masked(), ys, counts);
    moments.into_iter().zip(partners).map(move |(moments, &(gene2, common))| {
        if is_doubtful(&moments, f64::from(common)) {
            return pearson_with_care(prepared, gene1, gene2);
        }
        Some(coefficient(moments.xx, moments.xy, moments.yy))
    })
}

/// Whether the rounding of a mean, at most count x epsilon x mean, may have changed a sum of
/// squares by more than the relative [`SQUARES_ERROR`], or squares are too small to be accurate.
/// True for all pairs with a gene that does not vary over the common samples.
fn is_doubtful(moments: &Moments, count: f64) -> bool {
    let bound =
        |mean: f64| count * (count * f64::EPSILON * mean).powi(2) / SQUARES_ERROR + SQUARES_MIN;
    moments.xx <= bound(moments.mean_x) || moments.yy <= bound(moments.mean_y)
}

#[cold]
fn pearson_with_care(prepared: &Prepared, gene1: u32, gene2: u32) -> Option<f64> {
    let row = |gene: u32| prepared.matrix.row(gene as usize);
    let pairs = row(gene1).iter().zip(row(gene2)).filter(|(x, y)| !x.is_nan() && !y.is_nan());
    let (x, y): (Vec<f64>, Vec<f64>) = pairs.unzip();
    reference::pearson(&x, &y)
}

fn spearman(
    prepared: &Prepared,
    gene1: u32,
    (gene2, count): (u32, u32),
    workspace: &mut MaskedWorkspace,
) -> Option<f64> {
    let (first, second) = (prepared.gaps.gene(gene1), prepared.gaps.gene(gene2));
    let MaskedWorkspace { common, flags, ranks1, ranks2, .. } = workspace;
    common.clear();
    common.extend(first.bits.iter().zip(&second.bits).map(|(a, b)| a & b));
    flags_of(common, flags);
    let ranks1 = ranks_within(first, flags, count, ranks1);
    let ranks2 = ranks_within(second, flags, count, ranks2);
    // Sums of integers below 2^53: exact in any order.
    let [xx, xy, ..] = prepared.isa.code_dots(ranks1, [ranks1, ranks2, ranks2, ranks2]);
    let [yy, ..] = prepared.isa.code_dots(ranks2, [ranks2; 4]);
    (xx > 0.0 && yy > 0.0).then(|| coefficient(xx, xy, yy))
}

/// Returns the ranks of a gene among the `count` flagged samples: its stored ranks if these are all
/// its samples.
fn ranks_within<'a>(
    gene: &'a PresentValues,
    common: &[u8],
    count: u32,
    ranks: &'a mut Vec<i32>,
) -> &'a [CodeLane] {
    if count == gene.present {
        return gene.ranks.as_chunks().0;
    }
    ranks.clear();
    ranks.resize(gene.ranks.len(), 0);
    gene.order.each_rank(common, count, |sample, rank| ranks[sample] = rank);
    ranks.as_chunks().0
}

fn bicor(
    prepared: &Prepared,
    (gene1, (gene2, count)): (u32, (u32, u32)),
    max_outliers: f64,
    [first, second]: &mut [BiweightRow; 2],
) -> Option<f64> {
    let row1 = first.within(prepared, (gene1, gene2), count, max_outliers)?;
    let row2 = second.within(prepared, (gene2, gene1), count, max_outliers)?;
    Some(product(row1, row2).clamp(-1.0, 1.0))
}

impl BiweightRow {
    /// Returns the row of a gene over the `count` samples that its partner has too: its stored row
    /// if these are all its samples; `None` if the values do not vary.
    fn within<'a>(
        &'a mut self,
        prepared: &'a Prepared,
        (gene, partner): (u32, u32),
        count: u32,
        max_outliers: f64,
    ) -> Option<&'a [f64]> {
        let stored = prepared.gaps.gene(gene);
        if count == stored.present {
            return Some(&stored.biweight).filter(|row| !row.is_empty()).map(Vec::as_slice);
        }
        let values = |gene: u32| prepared.matrix.row(gene as usize).iter();
        let pairs = values(gene).zip(values(partner));
        let common = pairs.filter(|(value, partner)| !value.is_nan() && !partner.is_nan());
        self.values.clear();
        self.values.extend(common.map(|(value, _)| *value));
        if self.values.windows(2).all(|pair| pair[0] == pair[1]) {
            return None;
        }
        self.row.resize(self.values.len(), 0.0);
        fill_biweight_row(&self.values, max_outliers, &mut self.row);
        Some(&self.row)
    }
}
