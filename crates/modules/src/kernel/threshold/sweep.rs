//! Networks at a grid of powers and of cut-offs, in a single pass over the correlations.
//!
//! No pair is stored. Cost: N^2 S operations for the correlations and N^2 / 2 for each power.

use std::sync::Mutex;

use cuesta_core::budget::Budget;
use cuesta_core::{Error, Result};
use cuesta_runtime::parallel::lock;

use super::components::Forests;
use super::significance::ScoreCounts;
use crate::kernel::adjacency::{integer_power, similarity};
use crate::kernel::correlate::Correlator;
use crate::kernel::expression::Expression;
use crate::kernel::power::{BINS, ConnectivityFacts, PowerRow};
use crate::kernel::product::{self, ProductBlock, block_counts};
use crate::kernel::scale_free::{PowerFit, fit};
use crate::params::{Measure, NetworkType, check_power};

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
    params.check()?;
    let correlator = Correlator::new(expression, params.measure, budget)?;
    let (sides, _) = block_counts(expression.genes());
    let (genes, levels) = (expression.genes(), params.cutoffs.len() + 1);
    let of_powers = 8 * genes * sides * params.powers.len();
    let of_threads = threads * 4 * genes * (2 * levels) + threads * (64 << 20);
    let _lease = budget.take((of_powers + of_threads) as u64, "the networks of a grid")?;
    // By gene and block: the sums of all powers, each written once.
    let sums: Vec<Mutex<Vec<f64>>> = (0..sides * sides).map(|_| Mutex::default()).collect();
    let context = Context { params, correlator: &correlator, levels: Levels::new(&params.cutoffs) };
    let make_state = || State::new(expression, params);
    let states =
        product::visit(correlator.units(), threads, budget, make_state, |state, block| {
            let (of_rows, of_columns) = context.add(state, block);
            let (i, j) = block.side;
            *lock(&sums[i * sides + j]) = of_rows;
            if i == j {
                let mut both = lock(&sums[i * sides + j]);
                both.iter_mut().zip(of_columns).for_each(|(sum, value)| *sum += value);
            } else {
                *lock(&sums[j * sides + i]) = of_columns;
            }
            Ok(())
        })?;
    let mut states = states.into_iter();
    let mut state = states.next().unwrap_or_else(make_state);
    states.for_each(|other| state.merge(&other));
    let count = params.powers.len();
    let mut connectivity = vec![Vec::with_capacity(genes); count];
    for blocks in sums.chunks(sides.max(1)) {
        let mut total = std::mem::take(&mut *lock(&blocks[0]));
        for block in &blocks[1..] {
            total.iter_mut().zip(lock(block).iter()).for_each(|(sum, value)| *sum += value);
        }
        let width = total.len() / count.max(1);
        for (power, values) in total.chunks(width.max(1)).enumerate() {
            connectivity[power].extend_from_slice(values);
        }
    }
    let rows = params.powers.iter().zip(&connectivity);
    Ok(Sweep {
        powers: rows.map(|(&power, degrees)| PowerRow::new(power, degrees)).collect(),
        pairs: state.pairs,
        cutoffs: state.cutoff_rows(&params.cutoffs, genes),
        scores: state.scores,
    })
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

/// Counts of a thread; whole numbers, so their order is no part of the result.
struct State {
    row: Vec<f64>,
    power: Vec<f64>,
    pairs: u64,
    /// By gene, pairs that reach each number of cut-offs.
    counts: Vec<u32>,
    forests: Forests,
    scores: Option<ScoreCounts>,
    samples: usize,
    is_complete: bool,
}

impl State {
    fn new(expression: &Expression, params: &SweepParams) -> Self {
        let (genes, cutoffs) = (expression.genes(), params.cutoffs.len());
        let is_complete =
            (0..genes).all(|gene| expression.row(gene).iter().all(|value| !value.is_nan()));
        let samples = expression.samples();
        Self {
            row: Vec::new(),
            power: Vec::new(),
            pairs: 0,
            counts: vec![0; genes * (cutoffs + 1)],
            forests: Forests::new(genes, cutoffs),
            scores: params.counts_scores.then(|| ScoreCounts::new(samples, is_complete)),
            samples,
            is_complete,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.pairs += other.pairs;
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
        let forests = self.forests.0.iter_mut().zip(&other.forests.0);
        forests.for_each(|(forest, other)| forest.merge(other));
        if let (Some(scores), Some(other)) = (&mut self.scores, &other.scores) {
            scores.merge(other);
        }
    }

    fn cutoff_rows(&mut self, cutoffs: &[f64], genes: usize) -> Vec<CutoffRow> {
        let levels = cutoffs.len() + 1;
        let mut degrees = vec![0.0; genes];
        let mut rows = Vec::new();
        for (level, &cutoff) in cutoffs.iter().enumerate().rev() {
            for (degree, counts) in degrees.iter_mut().zip(self.counts.chunks(levels)) {
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
    /// Counts the pairs of a block; returns the sums of each power by row and by column.
    fn add(&self, state: &mut State, block: &ProductBlock) -> (Vec<f64>, Vec<f64>) {
        let powers = self.params.powers.len();
        let mut of_rows = vec![0.0; powers * block.rows.len()];
        let mut of_columns = vec![0.0; powers * block.columns.len()];
        let mut row = std::mem::take(&mut state.row);
        for i in block.rows.clone() {
            let first = block.row(i, &mut row);
            for (j, value) in (first..).zip(row.iter_mut()) {
                *value = self.correlator.finish(i, j, *value);
            }
            self.count(state, i, first, &row);
            for value in &mut row {
                *value = similarity(self.params.network, *value);
            }
            let place = first - block.columns.start;
            let sums = (&mut of_rows[i - block.rows.start..], &mut of_columns[place..]);
            let widths = (block.rows.len(), block.columns.len());
            self.add_powers(&row, &mut state.power, sums, widths);
        }
        state.row = row;
        (of_rows, of_columns)
    }

    fn count(&self, state: &mut State, i: usize, first: usize, row: &[f64]) {
        let levels = self.levels.cutoffs.len() + 1;
        for (j, value) in (first..).zip(row) {
            let size = value.abs();
            if size.is_nan() {
                continue;
            }
            state.pairs += 1;
            let level = self.levels.of(size);
            if level > 0 {
                state.counts[i * levels + level] += 1;
                state.counts[j * levels + level] += 1;
                state.forests.add(level, i as u32, j as u32);
            }
        }
        let Some(scores) = &mut state.scores else { return };
        if state.is_complete {
            let mut counts = scores.of_samples(state.samples);
            row.iter().filter(|r| !r.is_nan()).for_each(|r| counts.add(r.abs()));
            return;
        }
        for (j, r) in (first..).zip(row).filter(|(_, r)| !r.is_nan()) {
            scores.of_samples(self.correlator.shared(i, j)).add(r.abs());
        }
    }

    /// Adds the powers of similarities to the sums of a row and of the columns.
    fn add_powers(
        &self,
        similarities: &[f64],
        power: &mut Vec<f64>,
        (of_row, of_columns): (&mut [f64], &mut [f64]),
        (rows, columns): (usize, usize),
    ) {
        power.clear();
        power.resize(similarities.len(), 1.0);
        let mut last = 0;
        for (number, &exponent) in self.params.powers.iter().enumerate() {
            let step = exponent - last;
            for (power, &base) in power.iter_mut().zip(similarities) {
                *power *= if step == 1 { base } else { integer_power(base, step) };
            }
            last = exponent;
            let columns = &mut of_columns[number * columns..][..power.len()];
            columns.iter_mut().zip(power.iter()).for_each(|(sum, value)| *sum += value);
            of_row[number * rows] += lane_sum(power);
        }
    }
}

/// Returns the sum of values in eight lanes, then of these.
fn lane_sum(values: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (chunks, rest) = values.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += chunk[lane];
        }
    }
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
}
