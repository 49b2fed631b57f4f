//! Proves an answer of `threshold`.
//!
//! The sweep is made again, and its pairs are counted by other methods on the way (`tally`);
//! correlations and connectivities of some genes come from their definitions. The files of the
//! answer must be those of the proven sweep, byte for byte, so no changed answer passes.

use std::sync::{Mutex, PoisonError};

use cuesta_core::Result;
use cuesta_core::digest::{Digest, Tag};
use cuesta_core::job::{Request, Response, Verdict, VerificationLevel, parameters};
use cuesta_core::progress::Progress;
use cuesta_runtime::parallel::{self, lock};

use super::random::RandomSearch;
use super::rows::{ThresholdRow, smallest_size};
use super::tally::{Counts, PairTally};
use super::{Answer, answer};
use crate::kernel::expression::Expression;
use crate::kernel::power::PowerRow;
use crate::params::ThresholdParams;
use crate::reference;
use crate::tables;
use crate::verify::definitions as plain;

const TAG: Tag = Tag::Named(*b"threshol");
const METHOD: &str = "a random combination of the correlations, all those of some genes from their \
                      definition, a spanning forest, and the distribution of Student by its finite \
                      series";
/// Genes up to which all correlations come from their definition.
const ALL_GENES: usize = 400;
/// Number of genes, where there are more, whose correlations do.
const SOME_GENES: usize = 32;
/// Number of such genes with `--verify sample`.
const SAMPLE_GENES: usize = 4;
/// Largest difference of two figures that are the same.
const TOLERANCE: f64 = 1e-9;

/// Verifies the answer in `request.output`.
///
/// # Errors
/// `Input` when the inputs cannot be read; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    let params: ThresholdParams = parameters(&request.parameters)?;
    let thresholds = params.thresholds()?;
    let resources = (request.threads, &*request.budget);
    let make_tally = |genes| PairTally::new(&thresholds, (genes, request.seed), resources);
    let mut response = Response::default();
    let (answer, tally, counts) = answer(request, progress, &mut response, make_tally)?;
    let expected = tables::digest(TAG, &answer.files);
    let difference = tables::first_difference(&request.output, &answer.files)?;
    let actual = if difference.is_none() { expected } else { Digest::default() };
    let names: Vec<&'static str> = answer.files.iter().map(|(name, _)| *name).collect();
    let mut verdict = Verdict::new(actual, expected, METHOD).covers(&names);
    if let Some(name) = difference {
        verdict.require(false, &format!("{name} is not that of the matrix"));
    }
    let mut counts = counts.into_iter();
    if let Some(mut total) = counts.next() {
        counts.for_each(|other| total.merge(other));
        total.reduce();
        let proof = Proof { request, params: &params, answer: &answer, counts: &total };
        let of_search = || answer.random.as_ref().and_then(RandomSearch::fault);
        if let Some(fault) = proof.fault(tally.signs())?.or_else(of_search) {
            verdict.require(false, &fault);
        }
    }
    verdict.counts.insert("cut_offs", answer.rows.len() as u64);
    Ok(verdict)
}

struct Proof<'a> {
    request: &'a Request,
    params: &'a ThresholdParams,
    answer: &'a Answer<'a>,
    counts: &'a Counts,
}

impl Proof<'_> {
    /// Returns the fault of a sweep, if it has one.
    fn fault(&self, signs: &[f64]) -> Result<Option<String>> {
        let expression = self.answer.input.expression()?;
        let is_complete = |gene: usize| expression.row(gene).iter().all(|value| !value.is_nan());
        let all_complete = self.counts.undefined == 0 && (0..expression.genes()).all(is_complete);
        if all_complete && let Some(fault) = self.combination_fault(&expression, signs)? {
            return Ok(Some(fault));
        }
        if let Some(fault) = self.definition_fault(&expression)? {
            return Ok(Some(fault));
        }
        for (number, row) in self.answer.rows.iter().enumerate() {
            if !self.is_right_row(number, row) {
                return Ok(Some(format!("cut-off number {}", number + 1)));
            }
        }
        let powers = self.answer.sweep.powers.iter().zip(&self.answer.sweep.connectivities);
        let wrong = powers.into_iter().find(|(row, degrees)| !is_right_power(row, degrees));
        Ok(wrong.map(|(row, _)| format!("the fit of power {}", row.power)))
    }

    /// Compares the random combination of each gene's correlations with that of the columns.
    fn combination_fault(&self, expression: &Expression, signs: &[f64]) -> Result<Option<String>> {
        let (genes, samples) = (expression.genes(), expression.samples());
        let measure = self.params.measure();
        let threads = self.request.threads;
        let combined = Mutex::new(vec![0.0; samples]);
        let add = |_: &mut (), gene: usize| {
            if let Some(column) = reference::unit(expression.row(gene), measure) {
                let mut combined = lock(&combined);
                let sums = combined.iter_mut().zip(column);
                sums.for_each(|(sum, value)| *sum += signs[gene] * value);
            }
            Ok(())
        };
        parallel::run(threads, genes, || (), add, |_| {})?;
        let combined = combined.into_inner().unwrap_or_else(PoisonError::into_inner);
        let tolerance = TOLERANCE * (1.0 + (genes as f64).sqrt());
        self.first_wrong("the correlations", genes, |gene| {
            let Some(column) = reference::unit(expression.row(gene), measure) else { return false };
            let product: f64 = column.iter().zip(combined.iter()).map(|(a, b)| a * b).sum();
            (product - signs[gene] - self.counts.signed_sums[gene]).abs() <= tolerance
        })
    }

    /// Compares the degrees and connectivities of genes with those of correlations from their
    /// definition.
    fn definition_fault(&self, expression: &Expression) -> Result<Option<String>> {
        let genes = expression.genes();
        let count = match (genes, self.request.verify) {
            (0..=ALL_GENES, _) => genes,
            (_, VerificationLevel::Sample) => SAMPLE_GENES,
            _ => SOME_GENES,
        };
        self.first_wrong("the network", count, |number| {
            // One of each part of the genes, so that each block of pairs has some.
            self.is_right_gene(expression, number * genes / count)
        })
    }

    fn is_right_gene(&self, expression: &Expression, gene: usize) -> bool {
        let measure = self.params.measure();
        let partners = (0..expression.genes()).filter(|&partner| partner != gene);
        let correlations: Vec<f64> = partners
            .map(|other| {
                reference::correlation(expression.row(gene), expression.row(other), measure)
            })
            .collect();
        let reaches = |size: f64| correlations.iter().filter(|r| r.abs() >= size).count() as f64;
        let thresholds = self.answer.rows.iter().map(|row| smallest_size(row.threshold));
        let are_degrees = thresholds.enumerate().all(|(number, size)| {
            let degree = self.counts.degree(gene, number);
            (reaches(size + TOLERANCE)..=reaches(size - TOLERANCE)).contains(&degree)
        });
        let sweep = &self.answer.sweep;
        let mut powers = sweep.powers.iter().zip(&sweep.connectivities);
        are_degrees
            && powers.all(|(row, connectivities)| {
                let adjacency = |r: &f64| reference::adjacency(self.params.network, row.power, *r);
                is_near(correlations.iter().map(adjacency).sum(), connectivities[gene])
            })
    }

    /// Returns the fault of the first of so many genes for which `is_right` does not hold.
    fn first_wrong(
        &self,
        what: &str,
        genes: usize,
        is_right: impl Fn(usize) -> bool + Sync,
    ) -> Result<Option<String>> {
        let wrong = Mutex::new(None::<usize>);
        let work = |_: &mut (), gene: usize| {
            if !is_right(gene) {
                let mut wrong = lock(&wrong);
                *wrong = Some(wrong.map_or(gene, |before| before.min(gene)));
            }
            Ok(())
        };
        parallel::run(self.request.threads, genes, || (), work, |_| {})?;
        let wrong = *lock(&wrong);
        Ok(wrong.map(|gene| format!("{what} of checked gene {}", gene + 1)))
    }

    /// Whether a row is that of its cut-off, by the second count.
    fn is_right_row(&self, number: usize, row: &ThresholdRow) -> bool {
        let network = &row.network;
        let mut degrees = self.counts.degrees(number);
        let edges = degrees.iter().sum::<f64>() / 2.0;
        let (r_squared, slope) = plain::fit(&degrees);
        let is_fit = r_squared.is_nan()
            || is_near(r_squared, network.fit.r_squared) && is_near(slope, network.fit.slope);
        let p = plain::p_value(f64::from(row.threshold) / 1e6, self.answer.input.used_samples());
        let with_edges = degrees.iter().filter(|degree| **degree > 0.0).count();
        let mean = plain::mean(&degrees);
        let median = median(&mut degrees);
        let all = degrees.len() as f64 * (degrees.len() as f64 - 1.0) / 2.0;
        // From the p-value of the row, which is near: that of the series is exact to 1e-16 only,
        // and there may be 1e7 pairs for each edge.
        let by_chance = if edges == 0.0 { f64::NAN } else { (row.p * all / edges).min(1.0) };
        edges == network.edges as f64
            && self.counts.components(number) == (network.components, network.largest_component)
            && with_edges == network.genes
            && is_near(edges / all, row.density)
            && is_near(mean, network.mean)
            && is_near(median, network.median)
            && degrees.last() == Some(&network.largest)
            && is_fit
            && is_near(p, row.p)
            && is_near(by_chance, row.fdr)
    }
}

fn is_right_power(row: &PowerRow, connectivities: &[f64]) -> bool {
    let (r_squared, slope) = plain::fit(connectivities);
    let mean = plain::mean(connectivities);
    let mut sorted = connectivities.to_vec();
    is_near(mean, row.mean)
        && is_near(median(&mut sorted), row.median)
        && sorted.last() == Some(&row.largest)
        && (is_near(r_squared, row.fit.r_squared) || r_squared.is_nan())
        && (is_near(slope, row.fit.slope) || slope.is_nan())
}

/// Returns the median of values, and sorts them.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    (values[(count - 1) / 2] + values[count / 2]) / 2.0
}

/// Whether two figures are the same, or both missing.
fn is_near(a: f64, b: f64) -> bool {
    a.is_nan() && b.is_nan() || (a - b).abs() <= TOLERANCE * (1.0 + a.abs())
}
