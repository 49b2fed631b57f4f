//! Cut-off by random matrix theory: its search, its table and the check of its steps.

use std::fmt::Write as _;

use cuesta_core::Result;
use cuesta_core::job::{Request, Response, timed};
use cuesta_core::progress::Progress;

use crate::kernel::threshold::edges::Edges;
use crate::kernel::threshold::random_matrix::{
    RandomMatrixParams, RandomMatrixResult, RandomMatrixStep, ScoredNetwork, random_matrix,
};
use crate::params::{RandomMatrixChoice, ThresholdParams};
use crate::tables::File;

/// Thresholds that the search tries.
pub const RANDOM_MATRIX_FILE: &str = "random_matrix.tsv";

/// Difference by which the rounding of a score to `f32` may change it.
const ROUNDING: f64 = 1e-6;

/// Search of a cut-off, with the edges that it looks at.
pub struct RandomSearch<'b> {
    result: RandomMatrixResult,
    edges: Edges<'b>,
    larger_genes_only: bool,
}

/// Returns the smallest |r| of the edges that a search looks at; none if the parameters request no
/// search.
pub fn smallest_score(params: &ThresholdParams) -> Option<f64> {
    (params.random_matrix != RandomMatrixChoice::None).then(|| lowest(params) - ROUNDING)
}

fn lowest(params: &ThresholdParams) -> f64 {
    params.low.max(f64::from(RandomMatrixParams::default().stop))
}

/// Searches the cut-off in a phase of its own, if the parameters request it, and counts it.
///
/// `find_edges` returns the pairs with |r| of at least a value, of [`smallest_score`].
///
/// # Errors
/// `Input` when the budget has too little left for the edges or for a component; `Cancelled`.
pub fn search<'b>(
    request: &'b Request,
    params: &ThresholdParams,
    genes: usize,
    find_edges: impl FnOnce(f64) -> Result<Edges<'b>>,
    (progress, response): (&Progress, &mut Response),
) -> Result<Option<RandomSearch<'b>>> {
    let Some(smallest) = smallest_score(params) else { return Ok(None) };
    let larger_genes_only = params.random_matrix == RandomMatrixChoice::Kinc;
    let rules = RandomMatrixParams { larger_genes_only, ..RandomMatrixParams::default() };
    let resources = (request.threads, &*request.budget);
    let search = timed(response, "random matrix", || {
        let edges = find_edges(smallest)?;
        let smallest = lowest(params) as f32;
        let network = ScoredNetwork { genes, edges: &edges.edges, smallest };
        let result = random_matrix(&network, &rules, resources, |_| progress.advance(0))?;
        let steps = result.steps.len() as u64;
        Ok((RandomSearch { result, edges, larger_genes_only }, 0, steps))
    })?;
    let counts = &mut response.counts;
    if let Some(threshold) = search.result.threshold {
        counts.insert(
            "threshold_by_random_matrix_millionths",
            (f64::from(threshold) * 1e6).round() as u64,
        );
    }
    counts.insert("threshold_by_random_matrix_confirmed", u64::from(search.result.is_confirmed));
    Ok(Some(search))
}

impl RandomSearch<'_> {
    /// Returns the table of the thresholds that were tried, falling.
    pub fn table(&self) -> File {
        let mut text = "threshold\tgenes\teigenvalues\tchi_square\n".to_owned();
        for step in &self.result.steps {
            let chi = step.chi.map_or_else(|| "NA".to_owned(), |chi| chi.to_string());
            let RandomMatrixStep { threshold, genes, eigenvalues, .. } = step;
            let _ = writeln!(text, "{threshold:.6}\t{genes}\t{eigenvalues}\t{chi}");
        }
        (RANDOM_MATRIX_FILE, text)
    }

    /// Returns the first threshold whose genes are not those of its edges, or whose eigenvalues
    /// have another sum, or another sum of squares, than its matrix.
    pub fn fault(&self) -> Option<String> {
        let wrong = self.result.steps.iter().find(|step| !self.is_right(step))?;
        Some(format!("the eigenvalues at {:.6}", wrong.threshold))
    }

    fn is_right(&self, step: &RandomMatrixStep) -> bool {
        let reaches = |score: f32| score.abs() >= step.threshold;
        let all = || self.edges.edges.iter().filter(|edge| reaches(edge.score));
        let mut genes: Vec<u32> = all().map(|edge| edge.second).collect();
        if !self.larger_genes_only {
            genes.extend(all().map(|edge| edge.first));
        }
        genes.sort_unstable();
        genes.dedup();
        let is_used = |gene: u32| genes.binary_search(&gene).is_ok();
        let squares: f64 = all()
            .filter(|edge| is_used(edge.first) && is_used(edge.second))
            .map(|edge| 2.0 * f64::from(edge.score) * f64::from(edge.score))
            .sum();
        let count = genes.len() as f64;
        let is_near = |a: f64, b: f64| (a - b).abs() <= ROUNDING * (1.0 + count + squares);
        step.genes == genes.len()
            && step.eigenvalues <= step.genes
            && is_near(step.sum, count)
            && is_near(step.sum_of_squares, count + squares)
    }
}
