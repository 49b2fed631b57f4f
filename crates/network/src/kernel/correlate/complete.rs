//! Rows of the genes that have all values and vary, centred and scaled, in the layouts of the
//! kernel.

use cuesta_core::biweight::weighted_deviations;
use cuesta_core::fixed::Micro;
use cuesta_input::matrix::ExpressionMatrix;

use super::aligned::Aligned;
use super::rank::RankOrder;
use super::share::share;
use super::simd::Isa;
use super::vector::{CodeLane, LANE, Lane, Strip, TILE_COLUMNS};
use super::{CorrelationMethod, coefficient};

/// Largest code: 31 bits, as one bit is the sign.
const CODE_MAX: f64 = i32::MAX as f64;

/// 1.5 x 2^52: added to a number below 2^31, it leaves the nearest integer, half to even, in the
/// lowest bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Rounds of subtracting the mean: enough for 100,000 values that differ in their last digit.
pub(super) const CENTRING_ROUNDS: usize = 3;

/// Bound on the error of the sums of products of a double-precision row.
const SUM_ERROR: f64 = 1e-12;

/// Rows of complete genes. A row is a *place*; its gene is `genes[place]`.
///
/// Pearson: deviations from the mean, unit norm. Spearman: ranks. Bicor: biweight deviations, unit
/// norm.
#[derive(Debug)]
pub(super) struct Complete<'a> {
    matrix: &'a ExpressionMatrix,
    method: CorrelationMethod,
    isa: Isa,
    /// Genes (0-based), ascending.
    pub genes: Vec<u32>,
    /// Lanes of a row; the last lane is padded with zeros.
    lanes: usize,
    /// Sum of squares of each row: 1 but for Spearman.
    squares: Vec<f64>,
    /// Error of a row of codes in units of its scale.
    code_error: f64,
    layout: Layout,
}

#[derive(Debug)]
enum Layout {
    /// Layout for all pairs: rows in double precision.
    Exact { rows: Aligned<f64> },
    /// Layout for pairs that reach a threshold.
    Filter {
        /// Rows of unit norm, `TILE_COLUMNS` places to a panel, sample-major.
        strips: Aligned<f32>,
        /// Rows as integers: half the bytes of double precision, and accurate enough for most
        /// scores.
        codes: Aligned<i32>,
        /// Factor of the codes of each row.
        scales: Vec<f64>,
    },
}

impl<'a> Complete<'a> {
    /// Lays out the rows of `genes`, for all pairs or for those that reach a threshold.
    pub fn new(
        matrix: &'a ExpressionMatrix,
        genes: Vec<u32>,
        (method, isa): (CorrelationMethod, Isa),
        all_pairs: bool,
        threads: usize,
    ) -> Self {
        let lanes = matrix.samples.len().div_ceil(LANE);
        let squares = vec![1.0; genes.len()];
        let layout = Layout::Exact { rows: Aligned::new(0) };
        // Slightly more than half a unit, for the rounding of the code itself.
        let code_error = 0.51 * (matrix.samples.len() as f64).sqrt();
        let mut complete = Self { matrix, method, isa, genes, lanes, squares, code_error, layout };
        if all_pairs {
            complete.lay_out_exact(threads);
        } else {
            complete.lay_out_filter(threads);
        }
        complete
    }

    /// Whether the rows are laid out for all pairs.
    pub fn is_for_all_pairs(&self) -> bool {
        matches!(self.layout, Layout::Exact { .. })
    }

    /// Returns the row of a place, in the layout for all pairs.
    pub fn row(&self, place: usize) -> &[Lane] {
        match &self.layout {
            Layout::Exact { rows } => &rows.pieces()[place * self.lanes..][..self.lanes],
            Layout::Filter { .. } => &[],
        }
    }

    /// Returns a panel of `TILE_COLUMNS` places, with a strip for each sample, in the layout for a
    /// threshold.
    pub fn panel(&self, panel: usize) -> &[Strip] {
        let samples = self.matrix.samples.len();
        match &self.layout {
            Layout::Filter { strips, .. } => &strips.pieces()[panel * samples..][..samples],
            Layout::Exact { .. } => &[],
        }
    }

    /// Returns the codes of a place and their unit, in the layout for a threshold.
    pub fn codes(&self, place: usize) -> (&[CodeLane], f64) {
        match &self.layout {
            Layout::Filter { codes, scales, .. } => {
                (&codes.pieces()[place * self.lanes..][..self.lanes], scales[place])
            }
            Layout::Exact { .. } => (&[], 0.0),
        }
    }

    /// Returns the score of two places from the product of their rows.
    pub fn score(&self, place1: usize, place2: usize, product: f64) -> f64 {
        match self.method {
            CorrelationMethod::Pearson | CorrelationMethod::Bicor { .. } => {
                product.clamp(-1.0, 1.0)
            }
            CorrelationMethod::Spearman => {
                coefficient(self.squares[place1], product, self.squares[place2])
            }
        }
    }

    /// Returns the score of two places in millionths from the product of their codes, in units of
    /// `scale1 x scale2`; `None` if the error of the codes leaves the last digit undecided.
    ///
    /// The error of a code is at most half a unit, so that of a row of S samples is at most unit x
    /// sqrt(S) / 2; the rows have norm one, so the error of the product is at most the sum of both
    /// (Cauchy-Schwarz).
    pub fn rounded_score(
        &self,
        (place1, scale1): (usize, f64),
        (place2, scale2): (usize, f64),
        product: f64,
    ) -> Option<Micro> {
        if self.method == CorrelationMethod::Spearman {
            return Some(micro_of(self.score(place1, place2, product)));
        }
        let product = product * scale1 * scale2;
        let error = self.code_error * (scale1 + scale2) + SUM_ERROR;
        let micro = micro_of((product - error).clamp(-1.0, 1.0));
        (micro == micro_of((product + error).clamp(-1.0, 1.0))).then_some(micro)
    }

    /// Returns the score of two places in millionths, computed in double precision.
    #[cold]
    pub fn exact_score(&self, place1: usize, place2: usize) -> Micro {
        exact_score(self.method, self.isa, [self.values(place1), self.values(place2)])
    }

    fn values(&self, place: usize) -> &'a [f64] {
        self.matrix.row(self.genes[place] as usize)
    }

    fn lay_out_exact(&mut self, threads: usize) {
        let stride = self.lanes * LANE;
        let mut rows = Aligned::new(self.genes.len() * stride);
        let mut squares = std::mem::take(&mut self.squares);
        let mut work: Vec<_> = rows.all_mut().chunks_mut(stride.max(1)).zip(&mut squares).collect();
        share(&mut work, threads, |place, (row, squares)| {
            **squares = fill_row(self.method, self.values(place), row);
        });
        self.squares = squares;
        self.layout = Layout::Exact { rows };
    }

    fn lay_out_filter(&mut self, threads: usize) {
        let (places, stride) = (self.genes.len(), self.lanes * LANE);
        let panel_size = self.matrix.samples.len() * TILE_COLUMNS;
        let mut strips = Aligned::new(places.div_ceil(TILE_COLUMNS) * panel_size);
        let mut codes = Aligned::new(places * stride);
        let mut scales = vec![1.0; places];
        let mut squares = std::mem::take(&mut self.squares);
        let mut work: Vec<_> = (strips.all_mut().chunks_mut(panel_size.max(1)))
            .zip(codes.all_mut().chunks_mut((stride * TILE_COLUMNS).max(1)))
            .zip(scales.chunks_mut(TILE_COLUMNS).zip(squares.chunks_mut(TILE_COLUMNS)))
            .collect();
        share(&mut work, threads, |panel, ((strips, codes), (scales, squares))| {
            let mut row = vec![0.0; stride];
            let rows = codes.chunks_mut(stride).zip(scales.iter_mut().zip(squares.iter_mut()));
            for (column, (codes, (scale, squares))) in rows.enumerate() {
                let values = self.values(panel * TILE_COLUMNS + column);
                *squares = fill_row(self.method, values, &mut row);
                *scale = encode(self.method, &row, codes);
                let factor = 1.0 / squares.sqrt();
                for (strip, value) in strips.chunks_exact_mut(TILE_COLUMNS).zip(&row) {
                    strip[column] = (value * factor) as f32;
                }
            }
        });
        self.squares = squares;
        self.layout = Layout::Filter { strips, codes, scales };
    }
}

/// Converts a score to millionths, half to even.
pub(super) fn micro_of(score: f64) -> Micro {
    (score * 1e6 + ROUNDER).to_bits() as Micro
}

/// Returns the score of two genes of these values in millionths, computed in double precision. No
/// value may be missing, and those of either gene must not all be equal.
#[cold]
pub(super) fn exact_score(method: CorrelationMethod, isa: Isa, values: [&[f64]; 2]) -> Micro {
    let mut squares = [1.0; 2];
    let rows: [Aligned<f64>; 2] = std::array::from_fn(|gene| {
        let mut row = Aligned::new(values[gene].len().next_multiple_of(LANE));
        squares[gene] = fill_row(method, values[gene], row.all_mut());
        row
    });
    let product = isa.dot(rows[0].pieces(), rows[1].pieces());
    micro_of(match method {
        CorrelationMethod::Spearman => coefficient(squares[0], product, squares[1]),
        CorrelationMethod::Pearson | CorrelationMethod::Bicor { .. } => product.clamp(-1.0, 1.0),
    })
}

/// Writes the row of a gene and returns its sum of squares.
pub(super) fn fill_row(method: CorrelationMethod, values: &[f64], row: &mut [f64]) -> f64 {
    let row = &mut row[..values.len()];
    match method {
        CorrelationMethod::Pearson => {
            fill_unit_row(values, row);
            1.0
        }
        CorrelationMethod::Spearman => {
            let (everyone, count) = (vec![1; values.len()], values.len() as u32);
            let place = |sample: usize, rank: i32| row[sample] = f64::from(rank);
            RankOrder::new(values).each_rank(&everyone, count, place);
            // The terms are integers far below 2^53: the sum is exact.
            sum(row, |rank| rank * rank)
        }
        CorrelationMethod::Bicor { max_outliers } => {
            fill_biweight_row(values, max_outliers, row);
            1.0
        }
    }
}

/// Writes the biweight deviations, scaled to unit norm, or the row of Pearson if there are none.
/// The values must not all be equal, and none may be missing.
pub(super) fn fill_biweight_row(values: &[f64], max_outliers: f64, row: &mut [f64]) {
    if !weighted_deviations(values, max_outliers, row) {
        return fill_unit_row(values, row);
    }
    let scale = choose_scale(row);
    row.iter_mut().for_each(|value| *value *= scale);
    let factor = 1.0 / sum(row, |value| value * value).sqrt();
    row.iter_mut().for_each(|value| *value *= factor);
}

/// Returns the product of two rows in eight partial sums.
pub(super) fn product(row1: &[f64], row2: &[f64]) -> f64 {
    let mut sums = [0.0; LANE];
    let (lanes1, rest1) = row1.as_chunks::<LANE>();
    let (lanes2, rest2) = row2.as_chunks::<LANE>();
    for (x, y) in lanes1.iter().zip(lanes2) {
        (0..LANE).for_each(|lane| sums[lane] += x[lane] * y[lane]);
    }
    for (sum, (x, y)) in sums.iter_mut().zip(rest1.iter().zip(rest2)) {
        *sum += x * y;
    }
    total(sums)
}

/// Writes the deviations from the mean, scaled to unit norm.
fn fill_unit_row(values: &[f64], row: &mut [f64]) {
    let scale = choose_scale(values);
    row.iter_mut().zip(values).for_each(|(place, value)| *place = value * scale);
    // A difference of two numbers is exact to half a unit in its last place, but the mean of large
    // values is not: each further round removes the rounding error of the mean.
    for _ in 0..CENTRING_ROUNDS {
        let mean = sum(row, |value| value) / values.len() as f64;
        row.iter_mut().for_each(|value| *value -= mean);
    }
    let factor = 1.0 / sum(row, |value| value * value).sqrt();
    row.iter_mut().for_each(|value| *value *= factor);
}

/// Returns the sum over a row in eight partial sums.
pub(super) fn sum(row: &[f64], term: impl Fn(f64) -> f64) -> f64 {
    let mut sums = [0.0; LANE];
    let (lanes, rest) = row.as_chunks::<LANE>();
    for lane in lanes {
        sums.iter_mut().zip(lane).for_each(|(sum, value)| *sum += term(*value));
    }
    sums.iter_mut().zip(rest).for_each(|(sum, value)| *sum += term(*value));
    total(sums)
}

fn total([a, b, c, d, e, f, g, h]: [f64; LANE]) -> f64 {
    ((a + e) + (c + g)) + ((b + f) + (d + h))
}

/// Writes a row as integers and returns the unit of the codes.
fn encode(method: CorrelationMethod, row: &[f64], codes: &mut [i32]) -> f64 {
    let scale = match method {
        CorrelationMethod::Pearson | CorrelationMethod::Bicor { .. } => {
            row.iter().fold(0.0, |most: f64, value| most.max(value.abs())) / CODE_MAX
        }
        // Ranks are integers already.
        CorrelationMethod::Spearman => 1.0,
    };
    let factor = 1.0 / scale;
    for (code, value) in codes.iter_mut().zip(row) {
        *code = (value * factor + ROUNDER).to_bits() as i32;
    }
    scale
}

/// Returns a power of two that scales the largest of `values` to about one, so that squares neither
/// overflow nor underflow; multiplying by it is exact. Missing values do not count.
pub(super) fn choose_scale(values: &[f64]) -> f64 {
    let most = values.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let exponent = (most.to_bits() >> 52) as i64 - 1023;
    f64::from_bits(((1023 - exponent.clamp(-1000, 1000)) as u64) << 52)
}
