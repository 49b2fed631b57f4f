//! Threshold by random matrix theory: the smallest at which spacings of eigenvalues of the
//! thresholded matrix are those of independent levels.
//!
//! Source: Luo et al. 2007; the rules of ties, spline and test are those of KINC 3.4.2. A matrix is
//! solved by connected component, and a component that a step does not change is solved once.

use std::collections::BTreeMap;
use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_runtime::parallel::{self, lock};

use super::akima::Akima;
use super::components::GeneForest;
use super::edges::GeneLink;
use super::eigenvalues::eigenvalues;

/// Rules of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomMatrixParams {
    /// First threshold.
    pub start: f32,
    /// Distance of two thresholds.
    pub step: f32,
    /// Smallest threshold.
    pub stop: f32,
    /// Chi-square below which spacings are those of independent levels.
    pub chi_independent: f32,
    /// Chi-square at which the search ends, once a threshold is found.
    pub chi_end: f32,
    /// Whether only genes with an edge to a smaller gene count, as in KINC 3.
    pub larger_genes_only: bool,
}

impl Default for RandomMatrixParams {
    fn default() -> Self {
        Self {
            start: 0.99,
            step: 0.001,
            stop: 0.5,
            chi_independent: 99.607,
            chi_end: 200.0,
            larger_genes_only: false,
        }
    }
}

/// Network at a threshold of the search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomMatrixStep {
    /// Threshold.
    pub threshold: f32,
    /// Number of genes.
    pub genes: usize,
    /// Number of distinct eigenvalues.
    pub eigenvalues: usize,
    /// Chi-square, if there are enough eigenvalues.
    pub chi: Option<f32>,
    /// Sum of all eigenvalues, which is the number of genes.
    pub sum: f64,
    /// Sum of their squares, which is that of the entries of the matrix.
    pub sum_of_squares: f64,
}

/// Result of the search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RandomMatrixResult {
    /// Smallest threshold below [`RandomMatrixParams::chi_independent`], if there is one.
    pub threshold: Option<f32>,
    /// Whether the chi-square passed the end; a threshold is uncertain otherwise.
    pub is_confirmed: bool,
    /// All thresholds that were tried, falling.
    pub steps: Vec<RandomMatrixStep>,
}

/// Smallest number of distinct eigenvalues.
const EIGENVALUES_MIN: usize = 50;

/// Difference up to which eigenvalues are equal.
const EQUAL: f32 = 1e-6;

/// Numbers of eigenvalues from one knot of the spline to the next.
const PACES: std::ops::RangeInclusive<usize> = 10..=40;

/// Smallest number of knots.
const KNOTS_MIN: usize = 5;

/// Bins of the spacings, and their width.
const BINS: usize = 60;
const BIN_WIDTH: f64 = 0.05;

/// Network that is searched.
#[derive(Clone, Copy, Debug)]
pub struct ScoredNetwork<'a> {
    /// Number of genes.
    pub genes: usize,
    /// All edges with a score of at least `smallest`.
    pub edges: &'a [GeneLink],
    /// Score at which the search ends, unconfirmed.
    pub smallest: f32,
}

/// Searches the threshold of a network, and calls `observe` with each network on the way.
///
/// A step costs the cube of the genes of each component that it changes, and 8 bytes for each pair
/// of them.
///
/// # Errors
/// `Input` when the budget has too little left for a component; errors of `observe`.
pub fn random_matrix(
    network: &ScoredNetwork<'_>,
    params: &RandomMatrixParams,
    (threads, budget): (usize, &Budget),
    mut observe: impl FnMut(&RandomMatrixStep) -> Result<()>,
) -> Result<RandomMatrixResult> {
    let ScoredNetwork { genes, edges, smallest } = *network;
    let size_bytes = 2 * size_of_val(edges) as u64;
    let _lease = budget.take(size_bytes, "the edges by score, and those of components")?;
    let mut sorted = edges.to_vec();
    sorted.sort_unstable_by(|a, b| {
        b.score.abs().total_cmp(&a.score.abs()).then((a.first, a.second).cmp(&(b.first, b.second)))
    });
    let mut result = RandomMatrixResult::default();
    let mut solved = BTreeMap::new();
    let mut threshold = params.start;
    while threshold >= params.stop.max(smallest) {
        let count = sorted.partition_point(|edge| edge.score.abs() >= threshold);
        let components = components(genes, &sorted[..count], params.larger_genes_only);
        let size = components.iter().map(|component| component.genes.len()).sum();
        solved = solve(components, solved, threads, budget)?;
        let values = || solved.values().flat_map(|known| known.values.iter().copied());
        let distinct = distinct(values());
        let chi = chi_square(&distinct);
        let step = RandomMatrixStep {
            threshold,
            genes: size,
            eigenvalues: distinct.len(),
            chi,
            sum: values().map(f64::from).sum(),
            sum_of_squares: values().map(|value| f64::from(value) * f64::from(value)).sum(),
        };
        observe(&step)?;
        result.steps.push(step);
        match chi {
            Some(chi) if chi < params.chi_independent => result.threshold = Some(threshold),
            Some(chi) if chi >= params.chi_end && result.threshold.is_some() => {
                result.is_confirmed = true;
                break;
            }
            _ => {}
        }
        threshold -= params.step;
    }
    Ok(result)
}

/// Connected genes and their edges.
struct Component {
    genes: Vec<u32>,
    edges: Vec<GeneLink>,
}

fn components(genes: usize, edges: &[GeneLink], larger_genes_only: bool) -> Vec<Component> {
    let mut is_used = vec![false; genes];
    for edge in edges {
        is_used[edge.second as usize] = true;
        is_used[edge.first as usize] |= !larger_genes_only;
    }
    let chosen = || {
        edges.iter().filter(|edge| is_used[edge.first as usize] && is_used[edge.second as usize])
    };
    let mut forest = GeneForest::new(genes);
    chosen().for_each(|edge| {
        forest.join(edge.first, edge.second);
    });
    let mut components = BTreeMap::<u32, Component>::new();
    for gene in (0..genes as u32).filter(|&gene| is_used[gene as usize]) {
        let empty = || Component { genes: Vec::new(), edges: Vec::new() };
        components.entry(forest.root(gene)).or_insert_with(empty).genes.push(gene);
    }
    for edge in chosen() {
        if let Some(component) = components.get_mut(&forest.root(edge.first)) {
            component.edges.push(*edge);
        }
    }
    components.into_values().collect()
}

/// Eigenvalues of a component; edges are only added, so numbers tell whether it has changed.
struct Solved {
    genes: usize,
    edges: usize,
    values: Vec<f32>,
}

/// Computes the eigenvalues of components by smallest gene; those in `known` are taken from there.
fn solve(
    components: Vec<Component>,
    mut known: BTreeMap<u32, Solved>,
    threads: usize,
    budget: &Budget,
) -> Result<BTreeMap<u32, Solved>> {
    let mut solved = BTreeMap::new();
    let mut open = Vec::new();
    for component in components {
        let key = component.genes[0];
        let size = (component.genes.len(), component.edges.len());
        match known.remove(&key).filter(|known| (known.genes, known.edges) == size) {
            Some(values) => drop(solved.insert(key, values)),
            None => open.push(Mutex::new((component, Vec::new()))),
        }
    }
    let work = |_: &mut (), task: usize| {
        let (component, values) = &mut *lock(&open[task]);
        let size = component.genes.len() as u64;
        let _lease = budget.take(8 * size * size, "the matrix of a component")?;
        *values = values_of(component);
        Ok(())
    };
    parallel::run(threads, open.len(), || (), work, |_| {})?;
    for slot in &open {
        let (component, values) = &mut *lock(slot);
        let (genes, edges) = (component.genes.len(), component.edges.len());
        solved.insert(component.genes[0], Solved { genes, edges, values: std::mem::take(values) });
    }
    Ok(solved)
}

fn values_of(component: &Component) -> Vec<f32> {
    let size = component.genes.len();
    let mut matrix = vec![0.0; size * size];
    (0..size).for_each(|i| matrix[i * size + i] = 1.0);
    let place = |gene: u32| component.genes.binary_search(&gene).unwrap_or_default();
    for edge in &component.edges {
        // The first gene is the smaller one, so this is below the diagonal.
        matrix[place(edge.second) * size + place(edge.first)] = f64::from(edge.score);
    }
    eigenvalues(matrix, size).into_iter().map(|value| value as f32).collect()
}

/// Sorts eigenvalues, and drops those that equal the last one before them.
fn distinct(values: impl Iterator<Item = f32>) -> Vec<f32> {
    let mut sorted: Vec<f32> = values.collect();
    sorted.sort_unstable_by(f32::total_cmp);
    let mut distinct: Vec<f32> = Vec::with_capacity(sorted.len());
    for value in sorted {
        if distinct.last().is_none_or(|last| (value - last).abs() > EQUAL) {
            distinct.push(value);
        }
    }
    distinct
}

/// Returns the mean chi-square of the spacings over all paces, if there are enough eigenvalues.
pub(crate) fn chi_square(eigenvalues: &[f32]) -> Option<f32> {
    if eigenvalues.len() < EIGENVALUES_MIN {
        return None;
    }
    let paces = PACES.take_while(|pace| eigenvalues.len() / pace >= KNOTS_MIN);
    let chis: Vec<f32> = paces.map(|pace| chi_of_spacings(&unfold(eigenvalues, pace))).collect();
    Some(chis.iter().sum::<f32>() / chis.len() as f32)
}

/// Returns the part of the eigenvalues up to each one, from a spline.
fn unfold(eigenvalues: &[f32], pace: usize) -> Vec<f32> {
    let count = eigenvalues.len();
    let knots = count / pace;
    let place = |knot: usize| if knot + 1 == knots { count - 1 } else { knot * pace };
    let x = (0..knots).map(|knot| f64::from(eigenvalues[place(knot)])).collect();
    let y = (0..knots).map(|knot| (place(knot) + 1) as f64 / count as f64).collect();
    let curve = Akima::new(x, y);
    let mut parts: Vec<f32> =
        eigenvalues.iter().map(|value| curve.at(f64::from(*value)) as f32).collect();
    (parts[0], parts[count - 1]) = (0.0, 1.0);
    parts
}

/// Returns the chi-square of spacings against those of independent levels.
fn chi_of_spacings(parts: &[f32]) -> f32 {
    let count = parts.len() as f64;
    let mut observed = [0.0; BINS];
    for pair in parts.windows(2) {
        let spacing = f64::from(pair[1] - pair[0]) * count;
        let bin = (spacing / BIN_WIDTH).floor();
        if bin >= 0.0 && (bin as usize) < BINS {
            observed[bin as usize] += 1.0;
        }
    }
    let chi = |(bin, observed): (usize, &f64)| {
        let edge = |bin: usize| libm::exp(-(bin as f64) * BIN_WIDTH);
        let expected = count * (edge(bin) - edge(bin + 1));
        (observed - expected) * (observed - expected) / expected
    };
    observed.iter().enumerate().map(chi).sum::<f64>() as f32
}
