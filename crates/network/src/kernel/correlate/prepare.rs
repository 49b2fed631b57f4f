//! An expression matrix made ready to be correlated: rows centred, scaled and laid out for vectors.

use cuesta_core::fixed::Micro;
use cuesta_core::{Error, Result};
use cuesta_input::matrix::ExpressionMatrix;

use super::gaps::{Gaps, present_bits};
use super::params::SAMPLES_MAX;
use super::rank;
use super::share::share;
use super::simd::Isa;
use super::vector::{Lane, Strip, TILE_COLUMNS};
use super::{Method, Params};

/// A matrix ready for [`super::band`]. Shared by reference among threads.
#[derive(Debug)]
pub struct Prepared<'a> {
    pub(super) matrix: &'a ExpressionMatrix,
    pub(super) method: Method,
    pub(super) min_abs_micro: Micro,
    pub(super) min_samples: usize,
    pub(super) isa: Isa,
    /// Lanes of a row; the last one is filled up with zeros.
    lanes: usize,
    /// Gene-major rows of `dense`, zeros elsewhere. Pearson: deviations from the mean, unit norm.
    /// Spearman: ranks.
    rows: Vec<Lane>,
    /// Sum of squares of every row: 1 for Pearson.
    squares: Vec<f64>,
    /// Genes (0-based) whose values are all present and not all equal.
    pub(super) dense: Vec<u32>,
    /// Genes whose values are all present and all equal.
    pub(super) flat: Vec<u32>,
    /// Genes with missing values.
    pub(super) partial: Vec<u32>,
    /// Rows of `dense` with unit norm, `TILE_COLUMNS` genes to a panel, sample-major.
    strips: Vec<Strip>,
    /// What pairs with missing values need; empty when no value is missing.
    pub(super) gaps: Gaps,
}

/// What the values of a gene are like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Kind {
    pub missing: bool,
    pub constant: bool,
}

impl<'a> Prepared<'a> {
    /// Prepares `matrix` on `threads` threads with the fastest vector instructions there are.
    ///
    /// # Errors
    /// `Input` when a parameter is out of range or the matrix has too many samples.
    pub fn new(matrix: &'a ExpressionMatrix, params: &Params, threads: usize) -> Result<Self> {
        Self::with_isa(matrix, params, threads, Isa::best())
    }

    /// As [`Prepared::new`], with chosen vector instructions; the answers are the same.
    ///
    /// # Errors
    /// As [`Prepared::new`].
    pub fn with_isa(
        matrix: &'a ExpressionMatrix,
        params: &Params,
        threads: usize,
        isa: Isa,
    ) -> Result<Self> {
        params.check()?;
        let samples = matrix.samples.len();
        if samples > SAMPLES_MAX {
            let text = format!("the matrix has {samples} samples, at most {SAMPLES_MAX} can be");
            return Err(Error::input("correlate", text));
        }
        let mut kinds = vec![Kind::default(); matrix.genes.len()];
        share(&mut kinds, threads, |gene, kind| *kind = kind_of(matrix.row(gene)));
        let chosen = |wanted: fn(&Kind) -> bool| -> Vec<u32> {
            (0..).zip(&kinds).filter(|(_, kind)| wanted(kind)).map(|(gene, _)| gene).collect()
        };
        let mut prepared = Self {
            matrix,
            method: params.method,
            min_abs_micro: params.min_abs_micro(),
            min_samples: params.min_samples,
            isa,
            lanes: samples.div_ceil(8),
            rows: Vec::new(),
            squares: vec![1.0; kinds.len()],
            dense: chosen(|kind| !kind.missing && !kind.constant),
            flat: chosen(|kind| !kind.missing && kind.constant),
            partial: chosen(|kind| kind.missing),
            strips: Vec::new(),
            gaps: Gaps::default(),
        };
        prepared.fill_rows(&kinds, threads);
        prepared.fill_strips(threads);
        if !prepared.partial.is_empty() {
            prepared.gaps = Gaps::new(matrix, &kinds, params.method, threads);
        }
        Ok(prepared)
    }

    /// Bytes that preparing a matrix takes, at most, besides the matrix.
    pub fn size_bytes(genes: usize, samples: usize, method: Method) -> u64 {
        let (genes, samples) = (genes as u64 + 32, samples as u64 + 8);
        let ranks = if method == Method::Spearman { 8 } else { 0 };
        genes * samples * (8 + 4 + 1 + ranks) + genes * 64
    }

    /// Number of genes.
    pub fn genes(&self) -> usize {
        self.matrix.genes.len()
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.matrix.samples.len()
    }

    /// The row of a gene.
    pub(super) fn row(&self, gene: u32) -> &[Lane] {
        &self.rows[gene as usize * self.lanes..][..self.lanes]
    }

    /// A panel of `TILE_COLUMNS` genes of `dense`, one strip a sample.
    pub(super) fn panel(&self, panel: usize) -> &[Strip] {
        &self.strips[panel * self.samples()..][..self.samples()]
    }

    /// The score of two genes of `dense` from the product of their rows.
    pub(super) fn score(&self, gene1: u32, gene2: u32, product: f64) -> f64 {
        let (xx, yy) = (self.squares[gene1 as usize], self.squares[gene2 as usize]);
        super::coefficient(xx, product, yy)
    }

    fn fill_rows(&mut self, kinds: &[Kind], threads: usize) {
        let (matrix, lanes, method) = (self.matrix, self.lanes.max(1), self.method);
        self.rows = vec![Lane::default(); kinds.len() * lanes];
        let mut work: Vec<_> = self.rows.chunks_mut(lanes).zip(&mut self.squares).collect();
        share(&mut work, threads, |gene, (row, squares)| match (method, kinds[gene]) {
            (_, Kind { missing: true, .. } | Kind { constant: true, .. }) => {}
            (Method::Pearson, _) => unit_row(matrix.row(gene), row),
            (Method::Spearman, _) => **squares = rank_row(matrix.row(gene), row),
        });
    }

    fn fill_strips(&mut self, threads: usize) {
        let samples = self.samples();
        let panels = self.dense.len().div_ceil(TILE_COLUMNS);
        let mut strips = vec![Strip([0.0; TILE_COLUMNS]); panels * samples];
        let mut work: Vec<_> = strips.chunks_mut(samples.max(1)).collect();
        share(&mut work, threads, |panel, strips| {
            let genes = self.dense.iter().skip(panel * TILE_COLUMNS).take(TILE_COLUMNS);
            for (column, &gene) in genes.enumerate() {
                let factor = 1.0 / self.squares[gene as usize].sqrt();
                let values = self.row(gene).iter().flat_map(|lane| lane.0);
                for (strip, value) in strips.iter_mut().zip(values) {
                    strip.0[column] = (value * factor) as f32;
                }
            }
        });
        self.strips = strips;
    }
}

fn kind_of(values: &[f64]) -> Kind {
    let (mut least, mut most, mut missing) = (f64::INFINITY, f64::NEG_INFINITY, false);
    for &value in values {
        missing |= value.is_nan();
        // Comparisons with NaN are false: a missing value changes neither.
        least = if value < least { value } else { least };
        most = if value > most { value } else { most };
    }
    Kind { missing, constant: least >= most }
}

/// Writes the deviations from the mean, scaled to unit norm.
fn unit_row(values: &[f64], row: &mut [Lane]) {
    let unit = unit_for(values);
    for (lane, values) in row.iter_mut().zip(values.chunks(8)) {
        lane.0.iter_mut().zip(values).for_each(|(place, value)| *place = value * unit);
    }
    // The second round takes away what rounding left of the mean.
    for _ in 0..2 {
        let mean = sum(row, |value| value) / values.len() as f64;
        for (lane, values) in row.iter_mut().zip(values.chunks(8)) {
            lane.0.iter_mut().zip(values).for_each(|(place, _)| *place -= mean);
        }
    }
    let factor = 1.0 / sum(row, |value| value * value).sqrt();
    row.iter_mut().for_each(|lane| lane.0.iter_mut().for_each(|value| *value *= factor));
}

/// Writes the ranks of all samples and gives their sum of squares.
fn rank_row(values: &[f64], row: &mut [Lane]) -> f64 {
    let (mut order, mut ranks) = (Vec::new(), vec![0; values.len()]);
    rank::sort(values, &mut order);
    let squares = rank::ranks_within(&order, &present_bits(values), &mut ranks);
    for (lane, ranks) in row.iter_mut().zip(ranks.chunks(8)) {
        lane.0.iter_mut().zip(ranks).for_each(|(place, &rank)| *place = f64::from(rank));
    }
    squares as f64
}

/// Sum over a row in eight partial sums.
fn sum(row: &[Lane], term: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    for lane in row {
        sums.iter_mut().zip(lane.0).for_each(|(sum, value)| *sum += term(value));
    }
    let [a, b, c, d, e, f, g, h] = sums;
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// A power of two that brings the largest of `values` near one, so that squares neither overflow nor
/// vanish; multiplying by it is exact. Missing values do not count.
pub(super) fn unit_for(values: &[f64]) -> f64 {
    let most = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let exponent = (most.to_bits() >> 52) as i64 - 1023;
    f64::from_bits(((1023 - exponent.clamp(-1000, 1000)) as u64) << 52)
}
