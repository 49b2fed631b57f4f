//! Genes as columns: centred values or ranks, and their distance from those of the zeros.

use cuesta_input::matrix::sparse::{SparseMatrix, SparseRow};

use super::super::CorrelationMethod;
use super::super::complete::{choose_scale, fill_row, sum};

/// Largest length of a column with its mean, in units of that without it, up to which the nonzeros
/// are multiplied as they are.
const LENGTHENING_MAX: f64 = 64.0;
/// Rounds of subtracting the mean.
const CENTRING_ROUNDS: usize = 3;

/// Column of a gene: `factor` times its nonzeros plus `background`, and `background` for a zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct CentredColumn {
    /// Whether not all values are equal.
    pub varies: bool,
    pub background: f64,
    pub factor: f64,
    /// Sum of squares of the column; 1 but for Spearman.
    pub squares: f64,
    /// Length of the nonzeros in units of that of the column.
    pub lengthening: f64,
}

/// Column of a gene, and its nonzeros.
#[derive(Debug, Default)]
pub struct List<V> {
    pub column: CentredColumn,
    /// Nonzeros in the order of the samples: those of the matrix, or all.
    pub values: Vec<V>,
    /// Whether `values` has all samples.
    pub is_full: bool,
}

/// Returns the doubled centred ranks of a gene (0-based), in which equal values share their mean
/// rank: all are integers.
pub fn ranked(matrix: &SparseMatrix, gene: usize) -> List<f32> {
    let row = matrix.row(gene);
    let samples = matrix.samples.len();
    if !varies(row, samples) {
        return List { values: vec![0.0; row.values.len()], ..List::default() };
    }
    let zeros = samples - row.values.len();
    let order = ascending(row.values);
    let negative = row.values.iter().filter(|value| **value < 0.0).count();
    // The rank of a group of equal values, doubled and centred.
    let rank = |before: usize, count: usize| (2 * before + count) as f64 - samples as f64;
    let background = if zeros > 0 { rank(negative, zeros) } else { 0.0 };
    let mut values = vec![0.0f32; row.values.len()];
    let mut squares = zeros as f64 * background * background;
    let mut nonzero_squares = 0.0;
    let mut before = 0;
    let is_same = |a: &u32, b: &u32| row.values[*a as usize] == row.values[*b as usize];
    for group in order.chunk_by(is_same) {
        let below = if before >= negative { zeros } else { 0 };
        let rank = rank(before + below, group.len());
        squares += group.len() as f64 * rank * rank;
        nonzero_squares += group.len() as f64 * (rank - background).powi(2);
        group.iter().for_each(|&place| values[place as usize] = (rank - background) as f32);
        before += group.len();
    }
    let lengthening = (nonzero_squares / squares).sqrt();
    let column = CentredColumn { varies: true, background, factor: 1.0, squares, lengthening };
    List { column, values, is_full: false }
}

/// Returns the deviations of a gene (0-based) from its mean, of norm 1.
pub fn centred(matrix: &SparseMatrix, gene: usize) -> List<f64> {
    let row = matrix.row(gene);
    let samples = matrix.samples.len();
    if !varies(row, samples) {
        return List { values: vec![0.0; row.values.len()], ..List::default() };
    }
    let scale = choose_scale(row.values);
    let values: Vec<f64> = row.values.iter().map(|value| value * scale).collect();
    let zeros = (samples - values.len()) as f64;
    let mut mean = 0.0;
    for _ in 0..CENTRING_ROUNDS {
        mean += (sum(&values, |value| value - mean) - zeros * mean) / samples as f64;
    }
    let squares = sum(&values, |value| (value - mean).powi(2)) + zeros * mean * mean;
    let lengthening = (sum(&values, |value| value * value) / squares).sqrt();
    if lengthening <= LENGTHENING_MAX {
        let factor = 1.0 / squares.sqrt();
        let background = -mean * factor;
        let column = CentredColumn { varies: true, background, factor, squares: 1.0, lengthening };
        return List { column, values, is_full: false };
    }
    // Nearly equal values of nearly all samples: their deviations, as of a dense matrix.
    let mut unit = vec![0.0; samples];
    fill_row(CorrelationMethod::Pearson, &matrix.dense_row(gene), &mut unit);
    let column = CentredColumn {
        varies: true,
        background: 0.0,
        factor: 1.0,
        squares: 1.0,
        lengthening: 1.0,
    };
    List { column, values: unit, is_full: true }
}

/// Whether the values of a gene are not all equal.
fn varies(row: SparseRow<'_>, samples: usize) -> bool {
    let differ = row.values.windows(2).any(|pair| pair[0] != pair[1]);
    differ || (!row.values.is_empty() && row.values.len() < samples)
}

/// Returns the places of values, none of which is zero, in ascending order of value.
fn ascending(values: &[f64]) -> Vec<u32> {
    let is_single = |value: &f64| f64::from(*value as f32) == *value;
    if values.iter().all(is_single) {
        // Value and place in one integer: sorted several times as fast.
        let key = |value: f64| {
            let bits = (value as f32).to_bits();
            u64::from(if bits >> 31 == 0 { bits | 1 << 31 } else { !bits })
        };
        let mut keyed: Vec<u64> =
            (0..).zip(values).map(|(place, &value)| key(value) << 32 | place).collect();
        keyed.sort_unstable();
        return keyed.into_iter().map(|key| key as u32).collect();
    }
    let mut order: Vec<u32> = (0..values.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| values[a as usize].total_cmp(&values[b as usize]));
    order
}
