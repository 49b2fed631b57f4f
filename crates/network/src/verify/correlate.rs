//! Verifier of `correlate`: every pair of genes again, one by one, in double precision.

use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::digest::Digest;
use cuesta_core::fixed::{self, Micro};
use cuesta_core::job::{Context, Verdict};
use cuesta_input::generate::clusters::pairs_of;
use cuesta_input::matrix::ExpressionMatrix;
use cuesta_input::pair_matrix::rank_of;
use cuesta_input::parallel;

use super::inputs::each_row;
use crate::kernel::correlate::Match;
use crate::params::{CorrelateParams, Correlation, Format};
use crate::reference::PlainRow;
use crate::run::correlate::{Mask, read, row_of};
use crate::run::load::PAIRS_FOLDER;
use crate::run::scan::PAIRS_FILE;

/// How far, in millionths, a score may lie from half a millionth: the order of a sum may decide
/// there how it is rounded.
const ROUNDING: f64 = 0.5 + 1e-3;
/// Bytes of a row of the answer in memory.
const ROW_BYTES: u64 = 32;

/// Verifies `correlate`. The score of a row is right when it is the plainly computed one, rounded;
/// a row is missing when the plainly computed score is at or above the threshold.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn correlate(context: &Context<'_>) -> Result<Verdict> {
    let params: CorrelateParams = context.parameters()?;
    let matrix = read(context, &params)?;
    let answer = context.request.output.join(match params.format {
        Format::Text => PAIRS_FILE,
        Format::Pairs => PAIRS_FOLDER,
    });
    let empty = std::fs::metadata(&answer).is_ok_and(|file| file.is_file() && file.len() == 0);
    let (digest, rows) = if empty { Default::default() } else { digest_of(context, &answer)? };
    let genes = matrix.genes.len() as u64;
    let passes = (rows * ROW_BYTES).div_ceil((context.budget.limit_bytes() / 4).max(1)).max(1);
    let plain = Plain::new(&matrix, &params);
    let mut expected = Digest::default();
    for pass in 0..passes {
        let genes = genes * pass / passes..genes * (pass + 1) / passes;
        let found = if empty { Vec::new() } else { rows_of(context, &answer, &genes)? };
        expected.merge(&plain.digest(context, genes, &found)?);
    }
    let method = "every pair of genes computed again, one by one, in double precision";
    let mut verdict = Verdict::new(digest, expected, method);
    verdict.counts.insert("rows", rows);
    Ok(verdict)
}

fn digest_of(context: &Context<'_>, answer: &PathBuf) -> Result<(Digest, u64)> {
    let make = || (Digest::default(), 0u64);
    let paths = std::slice::from_ref(answer);
    let threads = context.request.threads;
    let parts = each_row(paths, threads, context.progress, make, |(digest, rows), row| {
        row.row().digest_into(digest);
        *rows += 1;
    })?;
    Ok(parts.into_iter().fold(make(), |(mut sum, rows), (digest, more)| {
        sum.merge(&digest);
        (sum, rows + more)
    }))
}

/// The rows of the answer whose first gene (from 0) is in `genes`: rank and score, by rank.
fn rows_of(
    context: &Context<'_>,
    answer: &PathBuf,
    genes: &std::ops::Range<u64>,
) -> Result<Vec<(u64, Micro)>> {
    let paths = std::slice::from_ref(answer);
    let keep = |rows: &mut Vec<(u64, Micro)>, row: &PlainRow| {
        let (gene1, gene2) = (row.numbers[0], row.numbers[1]);
        let valid = gene2 >= 1 && gene1 > gene2;
        if valid && genes.contains(&u64::from(gene1 - 1)) {
            rows.push((rank_of(gene1, gene2), row.scores[0]));
        }
    };
    let threads = context.request.threads;
    let parts = each_row(paths, threads, context.progress, Vec::new, keep)?;
    let mut rows = parts.concat();
    rows.sort_unstable();
    Ok(rows)
}

/// The matrix made ready for the plain method.
struct Plain<'a> {
    matrix: &'a ExpressionMatrix,
    masks: Mask,
    spearman: bool,
    min_samples: usize,
    min_abs: Micro,
    /// Centred and scaled values of the genes that lack none; empty for the others.
    units: Vec<Vec<f64>>,
}

impl<'a> Plain<'a> {
    fn new(matrix: &'a ExpressionMatrix, params: &CorrelateParams) -> Self {
        let spearman = params.method == Correlation::Spearman;
        let units = (0..matrix.genes.len()).map(|gene| {
            let values = matrix.row(gene);
            if values.iter().any(|value| value.is_nan()) {
                return Vec::new();
            }
            unit(if spearman { ranks(values) } else { values.to_vec() }).unwrap_or_default()
        });
        Self {
            matrix,
            masks: Mask::of(matrix),
            spearman,
            min_samples: params.min_samples,
            min_abs: fixed::lower_bound(params.min_abs_score),
            units: units.collect(),
        }
    }

    /// Digest of the rows that the answer must have for the first genes (from 0) in `genes`.
    fn digest(
        &self,
        context: &Context<'_>,
        genes: std::ops::Range<u64>,
        found: &[(u64, Micro)],
    ) -> Result<Digest> {
        let first = genes.start as usize;
        context.progress.expect(pairs_of(genes.end as u32) - pairs_of(genes.start as u32));
        let work = |digest: &mut Digest, task: usize| {
            let gene1 = (first + task) as u32 + 1;
            self.digest_row(gene1, found, digest);
            context.progress.advance(u64::from(gene1 - 1))
        };
        let tasks = (genes.end - genes.start) as usize;
        let threads = context.request.threads;
        let parts = parallel::run(threads, tasks, Digest::default, work, |_| {})?;
        let mut sum = Digest::default();
        parts.iter().for_each(|part| sum.merge(part));
        Ok(sum)
    }

    fn digest_row(&self, gene1: u32, found: &[(u64, Micro)], digest: &mut Digest) {
        let mut symbols = vec![b'1'; self.matrix.samples.len()];
        let mut next = match gene1 {
            1 => 0,
            _ => found.partition_point(|&(rank, _)| rank < rank_of(gene1, 1)),
        };
        for gene2 in 1..gene1 {
            let rank = rank_of(gene1, gene2);
            let given = found.get(next).filter(|&&(place, _)| place == rank).map(|row| row.1);
            next += usize::from(given.is_some());
            let exact = self.score(gene1 as usize - 1, gene2 as usize - 1);
            let Some(micro) = exact.and_then(|score| self.expected(score * 1e6, given)) else {
                continue;
            };
            let pair = Match { gene1, gene2, micro };
            let missing = self.masks.fill(&pair, &mut symbols);
            row_of(&pair, missing, &symbols).digest_into(digest);
        }
    }

    /// The score that the answer must have, in millionths, or none; where rounding may go either
    /// way, what the answer says is right.
    fn expected(&self, exact: f64, given: Option<Micro>) -> Option<Micro> {
        let least = f64::from(self.min_abs);
        match given {
            Some(micro) if (f64::from(micro) - exact).abs() <= ROUNDING => {
                (micro.abs() >= self.min_abs).then_some(micro)
            }
            None if exact.abs() - least < -0.5 + 1e-3 => None,
            _ => Some(exact.round_ties_even() as Micro).filter(|micro| micro.abs() >= self.min_abs),
        }
    }

    /// The correlation of two genes, counted from 0, if it has one.
    fn score(&self, gene1: usize, gene2: usize) -> Option<f64> {
        let (a, b) = (self.matrix.row(gene1), self.matrix.row(gene2));
        let (x, y) = (&self.units[gene1], &self.units[gene2]);
        let complete = |gene: usize| self.masks.is_complete(gene);
        if complete(gene1) && complete(gene2) {
            let scored = a.len() >= self.min_samples && !x.is_empty() && !y.is_empty();
            return scored.then(|| dot(x, y));
        }
        let common = a.iter().zip(b).filter(|(a, b)| !a.is_nan() && !b.is_nan());
        let (a, b): (Vec<f64>, Vec<f64>) = common.unzip();
        if a.len() < self.min_samples {
            return None;
        }
        let (a, b) = if self.spearman { (ranks(&a), ranks(&b)) } else { (a, b) };
        Some(dot(&unit(a)?, &unit(b)?))
    }
}

/// Values less their mean, scaled to length 1; `None` when all are equal.
fn unit(mut values: Vec<f64>) -> Option<Vec<f64>> {
    if values.windows(2).all(|pair| pair[0] == pair[1]) {
        return None;
    }
    let scale = values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    values.iter_mut().for_each(|value| *value /= scale);
    // Twice: the mean of large values is itself rounded.
    for _ in 0..2 {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter_mut().for_each(|value| *value -= mean);
    }
    let length = dot(&values, &values).sqrt();
    values.iter_mut().for_each(|value| *value /= length);
    Some(values)
}

/// Ranks from 1; equal values share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for same in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let mean = before as f64 + (same.len() as f64 + 1.0) / 2.0;
        same.iter().for_each(|&place| ranks[place] = mean);
        before += same.len();
    }
    ranks
}

/// Sum of products in eight running sums.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a8.zip(b8) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}
