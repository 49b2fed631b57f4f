//! Verifier of `correlate`: recomputes all pairs of genes, tile by tile, in double precision.

use std::ops::Range;
use std::path::PathBuf;

use cuesta_core::Result;
use cuesta_core::fingerprint::Key;
use cuesta_core::fixed::Micro;
use cuesta_core::job::{Context, Verdict, VerificationLevel};
use cuesta_input::generate::clusters::pairs_of;
use cuesta_input::matrix::GeneMatrix;
use cuesta_input::names::GENES_FILE;
use cuesta_input::pair_matrix::{MaskKind, Need, PairMatrix, pack_flags, rank_of};
use cuesta_input::row::Row;
use cuesta_runtime::parallel;

use super::columns::{ColumnForm, dot};
use super::cut::WeakestPair;
use super::gene_columns::{GeneColumns, Products};
use super::load::audited;
use super::products::BLOCK;
use super::rows::{RowScan, announce};
use super::scan::{RowSummary, rows_of_answer};
use super::significance::{TestedCounts, TestedTable};
use super::text::line::{Notation, WrittenRow};
use super::wanted::Wanted;
use super::{judge, names, refused};
use crate::kernel::correlate::Match;
use crate::params::{CorrelateParams, Format};
use crate::run::annotate::EDGES_FILE;
use crate::run::correlate::{Mask, read, row_of};
use crate::run::load::PAIRS_FOLDER;
use crate::run::scan::PAIRS_FILE;

const METHOD: &str = "every pair of genes computed again, tile by tile, in double precision; these \
                      rows and those of the answer have the same keyed fingerprints";
/// Bytes of a row of the answer in memory.
const ROW_BYTES: u64 = 32;

/// Verifies `correlate`. The score of a row is right if it is the recomputed score, rounded; a row
/// is missing if the recomputed score is at or above the threshold. Two different multisets of n
/// rows have the same fingerprints with a probability of at most n / 2^60. The rows of the answer
/// are compared with one range of genes after the other if memory is short.
///
/// # Errors
/// `Input` for a matrix that cannot be read; `System`; `Cancelled`.
pub fn correlate(context: &Context<'_>) -> Result<Verdict> {
    let params: CorrelateParams = context.parameters()?;
    let matrix = read(context, &params)?;
    let (name, text) = match params.format {
        Format::Text => (PAIRS_FILE, true),
        Format::Pairs => (PAIRS_FOLDER, false),
    };
    let answer = [context.request.output.join(name)];
    // The answer is read once for its rows and once for their scores.
    announce(context.progress, answer.iter().chain(&answer));
    let key = Key::random();
    let sampled = Wanted::answer().at(context.request.verify, &key);
    let choose = |row: &Row<'_>| sampled.sampled_gene(row.gene1);
    let summary = match text {
        true => rows_of_text(context, &key, &answer, choose),
        false => audited(context, &key, &answer[0], choose)
            .map(|(summary, pairs)| (summary, Some(pairs))),
    };
    let (summary, pairs) = match judge(&answer[0], summary)? {
        Ok(rows) => rows,
        Err(wrong) => return Ok(refused(&wrong, METHOD, &[name])),
    };
    let cut = WeakestPair::of(context, &params, (&answer, summary.count))?;
    let plain = Plain::new(&matrix, (&params, cut), context.request.threads)?;
    let is_complete = context.request.verify == VerificationLevel::Full;
    let tally = (params.p_values && is_complete).then(|| TestedCounts::new(context.budget));
    let task =
        Task { context, key: &key, sampled: &sampled, answer_rows: &[], tally: tally.as_ref() };
    let expected = plain.all_rows(task, (&answer, summary.count))?;
    let wrong = "rows are missing, too many or not those of the matrix";
    let mut verdict =
        Verdict::proven(summary.digest(), summary.rows == expected.rows, wrong, METHOD);
    verdict
        .require(summary.other_notation.rows() == 0, "a number is not written as KINC writes it");
    if let Some(pairs) = pairs {
        verdict.require(describes(&pairs, &matrix)?, "its names or masks are not the matrix's");
    }
    if let Some(top) = params.top {
        verdict.require(summary.count <= top, "it has more pairs than --top");
        verdict.counts.extend(cut.of_weakest().map(|least| ("least_millionths", least)));
    }
    verdict.counts.insert("rows", summary.count);
    verdict.counts.insert("min_samples", plain.min_samples as u64);
    let mut verdict = verdict.covers(&[name]);
    if text {
        verdict = with_table(context, &matrix, verdict)?;
    }
    if params.p_values && verdict.verified {
        let path = &context.request.output.join(EDGES_FILE);
        let (matrix, masks, key) = (&matrix, &plain.masks, &key);
        let table = TestedTable { context, path, matrix, masks, key, sampled, expected: &summary };
        table.judge(tally, &mut verdict)?;
        verdict = verdict.covers(&[EDGES_FILE]);
    }
    Ok(verdict)
}

/// Returns the samples that a scored pair needs: as given, else 30, and of fewer samples more than
/// half, at least four.
fn min_samples_of(params: &CorrelateParams, samples: usize) -> usize {
    let from_samples = match samples {
        0..=7 => 4,
        8..=29 => samples.div_ceil(2) + usize::from(samples.is_multiple_of(2)),
        _ => 30,
    };
    params.min_samples.unwrap_or(from_samples)
}

/// Adds the verdict on the table of names.
fn with_table(context: &Context<'_>, matrix: &GeneMatrix, mut verdict: Verdict) -> Result<Verdict> {
    let path = context.request.output.join(GENES_FILE);
    let names = matrix.genes().iter().map(String::as_str);
    if let Err(wrong) = judge(&path, names::table(&path, names))? {
        verdict.require(false, &wrong);
    }
    Ok(verdict.covers(&[GENES_FILE]))
}

fn rows_of_text(
    context: &Context<'_>,
    key: &Key,
    answer: &[PathBuf; 1],
    choose: impl Fn(&Row<'_>) -> bool + Sync,
) -> Result<(RowSummary, Option<PairMatrix>)> {
    rows_of_answer(context, key, answer, |written| choose(&written.row))
        .map(|summary| (summary, None))
}

/// Whether a pair matrix has the genes, samples and missing values of the matrix.
fn describes(pairs: &PairMatrix, matrix: &GeneMatrix) -> Result<bool> {
    let header = pairs.header();
    let none = vec![false; matrix.samples().len()];
    let missing = (0..matrix.genes().len()).flat_map(|gene| {
        let flags = matrix.missing(gene);
        pack_flags(if flags.is_empty() { &none } else { &flags })
    });
    Ok(header.masks == MaskKind::Genes
        && header.score_names.is_empty()
        && pairs.gene_names()? == matrix.genes()
        && pairs.sample_names()? == matrix.samples()
        && missing.eq(pairs.gene_missing().iter().copied()))
}

/// Returns rank and score of the rows of the answer whose first gene (from 0) is in `genes`, by
/// rank.
fn scores_of(
    context: &Context<'_>,
    answer: &[PathBuf; 1],
    genes: &Range<u64>,
) -> Result<Vec<(u64, Micro)>> {
    let rows = RowScan {
        paths: answer,
        wanted: Wanted::answer(),
        need: Need::Edge,
        threads: context.request.threads,
        progress: context.progress,
    };
    let parts = rows.each(Vec::new, |rows, written| {
        let (gene1, gene2) = (written.row.gene1, written.row.gene2);
        if genes.contains(&u64::from(gene1 - 1)) {
            rows.push((rank_of(gene1, gene2), written.row.scores[0]));
        }
        Ok(())
    })?;
    let mut rows = parts.concat();
    rows.sort_unstable();
    Ok(rows)
}

/// Rows to recompute, and the scores of the answer.
#[derive(Clone, Copy)]
struct Task<'a, 'b> {
    context: &'a Context<'a>,
    key: &'a Key,
    sampled: &'a Wanted,
    answer_rows: &'a [(u64, Micro)],
    /// Counts of the scores of all pairs, if these are tested.
    tally: Option<&'a TestedCounts<'b>>,
}

/// Matrix prepared for the plain method.
struct Plain<'a> {
    matrix: &'a GeneMatrix,
    masks: Mask,
    form: ColumnForm,
    min_samples: usize,
    cut: WeakestPair,
    columns: GeneColumns,
    /// Whether each gene varies and has no missing values.
    is_unit: Vec<bool>,
}

impl<'a> Plain<'a> {
    fn new(
        matrix: &'a GeneMatrix,
        (params, cut): (&CorrelateParams, WeakestPair),
        threads: usize,
    ) -> Result<Self> {
        let (columns, is_unit) = GeneColumns::of(matrix, params, threads)?;
        Ok(Self {
            matrix,
            masks: Mask::of(matrix),
            form: ColumnForm::of(params),
            min_samples: min_samples_of(params, matrix.samples().len()),
            cut,
            columns,
            is_unit,
        })
    }

    /// Returns the rows that the answer, of `count` rows, must have: for a range of genes after the
    /// other if memory is short.
    fn all_rows(
        &self,
        task: Task<'_, '_>,
        (answer, count): (&[PathBuf; 1], u64),
    ) -> Result<RowSummary> {
        let genes = self.matrix.genes().len() as u64;
        let memory_bytes = (task.context.budget.limit_bytes() / 4).max(1);
        let passes = (count * ROW_BYTES).div_ceil(memory_bytes).max(1);
        task.context.progress.expect(self.matrix.samples().len() as u64 * pairs_of(genes as u32));
        let mut expected = RowSummary::default();
        for pass in 0..passes {
            let genes = genes * pass / passes..genes * (pass + 1) / passes;
            let answer_rows = &scores_of(task.context, answer, &genes)?;
            expected = expected.merge(self.rows(&Task { answer_rows, ..task }, genes)?);
        }
        Ok(expected)
    }

    /// Returns the rows that the answer must have for the first genes (from 0) in `genes`.
    fn rows(&self, task: &Task<'_, '_>, genes: Range<u64>) -> Result<RowSummary> {
        let samples = self.matrix.samples().len() as u64;
        let is_sampled = |&gene: &usize| task.sampled.sampled_gene(gene as u32 + 1);
        let mut sampled: Vec<usize> =
            (genes.start as usize..genes.end as usize).filter(is_sampled).collect();
        // Genes with the most pairs first, so that all threads end together.
        sampled.reverse();
        let blocks: Vec<&[usize]> = sampled.chunks(BLOCK).collect();
        let pairs = |genes: &[usize]| genes.iter().map(|&gene| gene as u64).sum::<u64>();
        let work = |(summary, products): &mut (RowSummary, Products), number: usize| {
            self.rows_of_genes(blocks[number], task, (summary, products))?;
            task.context.progress.advance(samples * pairs(blocks[number]))
        };
        let make = || (RowSummary::default(), Products::default());
        let threads = task.context.request.threads;
        let parts = parallel::run(threads, blocks.len(), make, work, |_| {})?;
        let all = (genes.start..genes.end).sum::<u64>();
        task.context.progress.advance(samples * (all - pairs(&sampled)))?;
        Ok(parts
            .into_iter()
            .map(|(summary, _)| summary)
            .fold(RowSummary::default(), RowSummary::merge))
    }

    /// Adds the rows of at most [`BLOCK`] genes, counted from 0, the highest first.
    fn rows_of_genes(
        &self,
        genes: &[usize],
        task: &Task<'_, '_>,
        (summary, products): (&mut RowSummary, &mut Products),
    ) -> Result<()> {
        let mut symbols = vec![b'1'; self.matrix.samples().len()];
        let before = |rank| task.answer_rows.partition_point(|&(row_rank, _)| row_rank < rank);
        // Rows of the answer for the pairs of each gene.
        let mut answer_rows: Vec<&[(u64, Micro)]> = genes
            .iter()
            .map(|&gene| {
                &task.answer_rows[before(pairs_of(gene as u32))..before(pairs_of(gene as u32 + 1))]
            })
            .collect();
        let is_enough = self.matrix.samples().len() >= self.min_samples;
        let mut scores = Vec::new();
        let is_any = is_enough && genes.iter().any(|&gene| self.is_unit[gene]);
        if is_any {
            self.columns.begin(genes, products);
        }
        for first in (0..genes.first().copied().unwrap_or(0)).step_by(BLOCK) {
            let second_genes = first..genes[0].min(first + BLOCK);
            if is_any && self.is_unit[second_genes.clone()].contains(&true) {
                self.columns.multiply(genes, second_genes.clone(), products);
            }
            for ((&gene, answer_rows), products) in
                genes.iter().zip(&mut answer_rows).zip(products.block.chunks(BLOCK))
            {
                let pairs = (second_genes.start..second_genes.end.min(gene)).zip(products);
                for (second_gene, &product) in pairs {
                    let rank = pairs_of(gene as u32) + second_gene as u64;
                    let remaining = *answer_rows;
                    let row = remaining.split_first().filter(|(row, _)| row.0 == rank);
                    let micro = row.map(|(row, after)| {
                        *answer_rows = after;
                        row.1
                    });
                    let Some((exact, common)) = self.score((gene, second_gene), product) else {
                        continue;
                    };
                    if task.tally.is_some() {
                        scores.push((common, exact * 1e6, micro));
                    }
                    let Some(micro) = self.cut.expected(rank, exact * 1e6, micro) else {
                        continue;
                    };
                    let (gene1, gene2) = (gene as u32 + 1, second_gene as u32 + 1);
                    let pair = Match { gene1, gene2, micro };
                    let missing = self.masks.fill(&pair, &mut symbols);
                    let row = row_of(&pair, missing, &symbols);
                    summary.add(task.key, &WrittenRow { row, notation: Notation::Canonical });
                }
            }
            if let Some(tally) = task.tally {
                tally.add(scores.drain(..))?;
            }
        }
        Ok(())
    }

    /// Returns the correlation of two genes, counted from 0, if it is defined, and the number of
    /// samples that both have; `product` is that of their unit vectors.
    #[inline(always)]
    fn score(&self, (gene1, gene2): (usize, usize), product: f64) -> Option<(f64, u32)> {
        if self.is_unit[gene1] && self.is_unit[gene2] {
            let samples = self.matrix.samples().len();
            return (samples >= self.min_samples).then_some((product, samples as u32));
        }
        let complete = |gene: usize| self.masks.is_complete(gene);
        if complete(gene1) && complete(gene2) { None } else { self.partial_score(gene1, gene2) }
    }

    /// Returns the correlation of two genes with missing values, and their common samples.
    #[inline(never)]
    fn partial_score(&self, gene1: usize, gene2: usize) -> Option<(f64, u32)> {
        let (a, b) = (self.matrix.row(gene1), self.matrix.row(gene2));
        let common = a.iter().zip(b.iter()).filter(|(a, b)| !a.is_nan() && !b.is_nan());
        let (a, b): (Vec<f64>, Vec<f64>) = common.unzip();
        if a.len() < self.min_samples {
            return None;
        }
        Some((dot(&self.form.column(&a)?, &self.form.column(&b)?), a.len() as u32))
    }
}
