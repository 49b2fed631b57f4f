//! Networks at a grid of powers and of cut-offs, in a single pass over the correlations.
//!
//! No pair is stored. Cost: N^2 S operations for the correlations and N^2 / 2 for each power.

use std::ops::Range;

use cuesta_core::budget::Budget;
use cuesta_core::score_counts::ScoreCounts;
use cuesta_core::{Error, Result};
use serde::{Deserialize, Serialize};

use super::components::Forests;
use crate::kernel::connectivity::{ConnectivitySums, GeneSums, PowerGrid, SumsOfBlocks};
use crate::kernel::correlate::Correlator;
use crate::kernel::expression::Expression;
use crate::kernel::power::{BINS, ConnectivityFacts, PowerRow};
use crate::kernel::product::{self, ProductBlock, block_counts};
use crate::kernel::scale_free::{PowerFit, fit};
use crate::params::{Measure, NetworkType, check_power};

/// Most steps of the size of a correlation, of all numbers of samples together.
const SCORES_MAX: usize = 1 << 24;

/// Grid of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepParams {
    /// Correlation.
    pub measure: Measure,
    /// Soft network of the powers.
    pub network: NetworkType,
    /// Powers, ascending.
    pub powers: Vec<u32>,
    /// Cut-offs of |r|, ascending.
    pub cutoffs: Vec<f64>,
    /// Whether pairs are counted by samples and size of the correlation, for p-values.
    pub counts_scores: bool,
}

/// Network of the pairs with |r| >= a cut-off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutoffRow {
    /// Cut-off.
    pub cutoff: f64,
    /// Number of edges.
    pub edges: u64,
    /// Part of all pairs that are edges.
    pub density: f64,
    /// Number of genes with an edge.
    pub genes: usize,
    /// Number of connected components of these genes.
    pub components: usize,
    /// Number of genes of the largest component; 0 without an edge.
    pub largest_component: usize,
    /// Mean number of edges of a gene, of all genes.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// Largest.
    pub largest: f64,
    /// Fit of the numbers of edges to a power law.
    pub fit: PowerFit,
}

/// Networks of a grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Soft networks by power.
    pub powers: Vec<PowerRow>,
    /// Networks by cut-off.
    pub cutoffs: Vec<CutoffRow>,
    /// Number of pairs with a correlation.
    pub pairs: u64,
    /// Pairs by samples and size of the correlation, if they were asked for.
    pub scores: Option<ScoreCounts>,
    /// Connectivity of each gene in the soft network of each power.
    pub connectivities: Vec<Vec<f64>>,
}

impl SweepParams {
    fn check(&self) -> Result<()> {
        self.powers.iter().try_for_each(|power| check_power(*power))?;
        let is_ascending = self.powers.is_sorted_by(|a, b| a < b)
            && self.cutoffs.is_sorted_by(|a, b| a < b)
            && self.cutoffs.iter().all(|cutoff| (0.0..=1.0).contains(cutoff));
        if is_ascending {
            return Ok(());
        }
        let text = "powers and cut-offs must ascend, cut-offs from 0 to 1";
        Err(Error::input("arguments", text))
    }
}

/// Observer of the correlations of a sweep, with a state for each thread.
pub trait SweepObserver: Sync {
    /// State of a thread.
    type State: Send;

    /// Creates the state of a thread.
    fn state(&self) -> Self::State;

    /// Looks at the correlations of gene `i` with the genes from `first` on; NaN where there is
    /// none.
    fn row(&self, state: &mut Self::State, i: usize, first: usize, correlations: &[f64]);
}

/// Observer that looks at nothing.
pub struct BlindSweep;

impl SweepObserver for BlindSweep {
    type State = ();

    fn state(&self) {}

    fn row(&self, (): &mut (), _: usize, _: usize, _: &[f64]) {}
}

/// Computes the networks of a grid, on threads.
///
/// The result is the same for any number of threads. Connectivities of soft networks are sums of
/// the sums of blocks.
///
/// # Errors
/// `Input` when the grid does not ascend or is out of range, or the budget has too little left.
pub fn sweep(
    expression: &Expression,
    params: &SweepParams,
    threads: usize,
    budget: &Budget,
) -> Result<Sweep> {
    Ok(observed_sweep(expression, params, (threads, budget), &BlindSweep)?.0)
}

/// Computes the networks of a grid as [`sweep`] does, and shows all correlations to an observer;
/// returns its states too.
///
/// # Errors
/// As [`sweep`].
pub fn observed_sweep<O: SweepObserver>(
    expression: &Expression,
    params: &SweepParams,
    (threads, budget): (usize, &Budget),
    observer: &O,
) -> Result<(Sweep, Vec<O::State>)> {
    params.check()?;
    let numbers = 0..block_counts(expression.genes()).1;
    let (part, observed) = observed_part(expression, params, numbers, (threads, budget), observer)?;
    Ok((part.finished(params), observed))
}

/// Counts and sums of some blocks of the correlations, which others add to.
#[derive(Debug, Serialize, Deserialize)]
pub struct SweepPart {
    counts: PairCounts,
    sums: SumsOfBlocks,
}

impl SweepPart {
    /// Adds those of other blocks.
    pub fn merge(&mut self, other: Self) {
        self.counts.merge(&other.counts);
        self.sums.extend(other.sums);
    }

    /// Returns the networks of a grid from the parts of all blocks.
    pub fn finished(self, params: &SweepParams) -> Sweep {
        let Self { mut counts, sums: of_blocks } = self;
        let mut sums = GeneSums::new(block_counts(counts.genes()).0, params.powers.len());
        sums.take(of_blocks);
        let connectivities = sums.connectivities();
        let rows = params.powers.iter().zip(&connectivities);
        Sweep {
            powers: rows.map(|(&power, degrees)| PowerRow::new(power, degrees)).collect(),
            pairs: counts.pairs,
            cutoffs: counts.cutoff_rows(&params.cutoffs),
            scores: counts.scores,
            connectivities,
        }
    }
}

/// Counts and sums the correlations of the blocks `numbers` of [`product::grid`], on threads.
///
/// The sum of all parts is the same however the blocks are divided.
///
/// # Errors
/// `Input` when the budget has too little left.
pub fn part(
    expression: &Expression,
    params: &SweepParams,
    numbers: Range<usize>,
    resources: (usize, &Budget),
) -> Result<SweepPart> {
    Ok(observed_part(expression, params, numbers, resources, &BlindSweep)?.0)
}

fn observed_part<O: SweepObserver>(
    expression: &Expression,
    params: &SweepParams,
    numbers: Range<usize>,
    (threads, budget): (usize, &Budget),
    observer: &O,
) -> Result<(SweepPart, Vec<O::State>)> {
    let correlator = Correlator::new(expression, params.measure, budget)?;
    let (sides, _) = block_counts(expression.genes());
    let (genes, levels) = (expression.genes(), params.cutoffs.len() + 1);
    let of_powers = GeneSums::size_bytes(genes, sides, params.powers.len());
    let of_scores = if params.counts_scores { 64 << 20 } else { 0 };
    let of_threads = threads * (4 * genes * (2 * levels) + of_scores);
    let _lease = budget.take((of_powers + of_threads) as u64, "the networks of a grid")?;
    let sums = GeneSums::new(sides, params.powers.len());
    let context = Context { params, correlator: &correlator, levels: Levels::new(&params.cutoffs) };
    let make_state = || (State::new(expression, params), observer.state());
    let resources = (threads, budget);
    let states =
        product::visit(correlator.units(), numbers, resources, make_state, |state, block| {
            context.add(state, block, observer);
            sums.add(block.side, &state.0.sums);
            Ok(())
        })?;
    let mut counts = State::new(expression, params).counts;
    let mut observed = Vec::with_capacity(states.len());
    for (state, of_observer) in states {
        counts.merge(&state.counts);
        observed.push(of_observer);
    }
    Ok((SweepPart { counts, sums: sums.into_blocks() }, observed))
}

/// Number of cut-offs that a value reaches.
struct Levels {
    cutoffs: Vec<f64>,
    /// Number of cut-offs up to each 1024th.
    starts: Vec<u32>,
}

const STARTS: usize = 1024;

impl Levels {
    fn new(cutoffs: &[f64]) -> Self {
        let below = |step: usize| {
            cutoffs.partition_point(|cutoff| *cutoff <= step as f64 / STARTS as f64) as u32
        };
        Self { cutoffs: cutoffs.to_vec(), starts: (0..=STARTS).map(below).collect() }
    }

    #[inline(always)]
    fn of(&self, size: f64) -> usize {
        let mut level = self.starts[(size * STARTS as f64) as usize] as usize;
        while level < self.cutoffs.len() && self.cutoffs[level] <= size {
            level += 1;
        }
        level
    }
}

struct Context<'a> {
    params: &'a SweepParams,
    correlator: &'a Correlator<'a, 'a>,
    levels: Levels,
}

/// State of a thread.
struct State {
    row: Vec<f64>,
    sums: ConnectivitySums,
    counts: PairCounts,
    samples: usize,
    is_complete: bool,
}

impl State {
    fn new(expression: &Expression, params: &SweepParams) -> Self {
        let (genes, cutoffs) = (expression.genes(), params.cutoffs.len());
        let is_complete =
            (0..genes).all(|gene| expression.row(gene).iter().all(|value| !value.is_nan()));
        let samples = expression.samples();
        let steps = SCORES_MAX / if is_complete { 1 } else { samples.max(1) };
        let steps = steps.clamp(1000, 1_000_000);
        let counts = PairCounts {
            pairs: 0,
            levels: cutoffs + 1,
            by_gene: vec![0; genes * (cutoffs + 1)],
            forests: Forests::new(genes, cutoffs),
            scores: params.counts_scores.then(|| ScoreCounts::new(steps)),
        };
        let (row, sums) = (Vec::new(), ConnectivitySums::default());
        Self { row, sums, counts, samples, is_complete }
    }
}

/// Counts of pairs; whole numbers, so their order is no part of the result.
#[derive(Debug, Serialize, Deserialize)]
struct PairCounts {
    pairs: u64,
    levels: usize,
    /// By gene, pairs that reach each number of cut-offs.
    by_gene: Vec<u32>,
    forests: Forests,
    /// Not sent: no run in rounds asks for them.
    #[serde(skip)]
    scores: Option<ScoreCounts>,
}

impl PairCounts {
    fn genes(&self) -> usize {
        self.by_gene.len() / self.levels
    }

    fn merge(&mut self, other: &Self) {
        self.pairs += other.pairs;
        self.by_gene.iter_mut().zip(&other.by_gene).for_each(|(sum, count)| *sum += count);
        let forests = self.forests.0.iter_mut().zip(&other.forests.0);
        forests.for_each(|(forest, other)| forest.merge(other));
        if let (Some(scores), Some(other)) = (&mut self.scores, &other.scores) {
            scores.merge(other);
        }
    }

    fn cutoff_rows(&mut self, cutoffs: &[f64]) -> Vec<CutoffRow> {
        let mut degrees = vec![0.0; self.genes()];
        let mut rows = Vec::new();
        for (level, &cutoff) in cutoffs.iter().enumerate().rev() {
            for (degree, counts) in degrees.iter_mut().zip(self.by_gene.chunks(self.levels)) {
                *degree += f64::from(counts[level + 1]);
            }
            let edges = degrees.iter().sum::<f64>() / 2.0;
            let sizes = self.forests.0[level].sizes();
            let ConnectivityFacts { mean, median, largest } = ConnectivityFacts::new(&degrees);
            rows.push(CutoffRow {
                cutoff,
                edges: edges as u64,
                density: if self.pairs > 0 { edges / self.pairs as f64 } else { 0.0 },
                genes: degrees.iter().filter(|degree| **degree > 0.0).count(),
                components: sizes.len(),
                largest_component: sizes.into_iter().max().unwrap_or(0),
                mean,
                median,
                largest,
                fit: fit(&degrees, BINS),
            });
        }
        rows.reverse();
        rows
    }
}

impl Context<'_> {
    /// Counts the pairs of a block, and sums them by power.
    fn add<O: SweepObserver>(
        &self,
        (state, observed): &mut (State, O::State),
        block: &ProductBlock,
        observer: &O,
    ) {
        let grid = PowerGrid { network: self.params.network, powers: &self.params.powers };
        state.sums.begin(grid.powers.len(), block.rows.len(), block.columns.len());
        let mut row = std::mem::take(&mut state.row);
        for i in block.rows.clone() {
            let first = block.row(i, &mut row);
            for (j, value) in (first..).zip(row.iter_mut()) {
                *value = self.correlator.finish(i, j, *value);
            }
            self.count(state, i, first, &row);
            observer.row(observed, i, first, &row);
            state.sums.add(grid, i - block.rows.start, first - block.columns.start, &row);
        }
        state.row = row;
    }

    fn count(&self, state: &mut State, i: usize, first: usize, row: &[f64]) {
        let (counts, levels) = (&mut state.counts, self.levels.cutoffs.len() + 1);
        for (j, value) in (first..).zip(row) {
            let size = value.abs();
            if size.is_nan() {
                continue;
            }
            counts.pairs += 1;
            let level = self.levels.of(size);
            if level > 0 {
                counts.by_gene[i * levels + level] += 1;
                counts.by_gene[j * levels + level] += 1;
                counts.forests.add(level, i as u32, j as u32);
            }
        }
        let Some(scores) = &mut counts.scores else { return };
        if state.is_complete {
            let mut counts = scores.of_samples(state.samples);
            row.iter().filter(|r| !r.is_nan()).for_each(|r| counts.add(r.abs()));
            return;
        }
        for (j, r) in (first..).zip(row).filter(|(_, r)| !r.is_nan()) {
            scores.of_samples(self.correlator.shared(i, j)).add(r.abs());
        }
    }
}
