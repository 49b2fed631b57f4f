//! Additional data for pairs of genes with missing values.

use cuesta_input::matrix::ExpressionMatrix;

use super::CorrelationMethod;
use super::complete::{choose_scale, fill_biweight_row};
use super::rank::RankOrder;
use super::share::share;
use super::vector::{LANE, Lane, Masked};

/// Properties of the values of a gene.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ValueTraits {
    pub missing: bool,
    pub constant: bool,
}

/// Present values of each gene, as its method needs them. Empty if no value is missing.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    genes: Vec<PresentValues>,
}

/// Present values of a gene, in the form that one method needs.
#[derive(Debug, Default)]
pub(super) struct PresentValues {
    /// Present samples: a bit for each sample, lowest first, with zeros up to a multiple of 64.
    pub bits: Vec<u8>,
    /// Number of present samples.
    pub present: u32,
    /// Whether all present values are equal.
    pub is_constant: bool,
    /// Values for Pearson, scaled by a power of two.
    lanes: Vec<Lane>,
    /// Order of the values for Spearman.
    pub order: RankOrder,
    /// Ranks within the present samples for Spearman; 0 for missing values, and zeros up to a
    /// multiple of `LANE`.
    pub ranks: Vec<i32>,
    /// Row over the present samples alone for bicor; empty if these values are all equal.
    pub biweight: Vec<f64>,
}

impl Gaps {
    pub fn new(
        matrix: &ExpressionMatrix,
        kinds: &[ValueTraits],
        method: CorrelationMethod,
        threads: usize,
    ) -> Self {
        let mut genes = Vec::new();
        genes.resize_with(kinds.len(), PresentValues::default);
        share(&mut genes, threads, |gene, row| {
            *row = PresentValues::new(matrix.row(gene), method);
            row.is_constant = kinds[gene].constant;
        });
        Self { genes }
    }

    pub fn gene(&self, gene: u32) -> &PresentValues {
        &self.genes[gene as usize]
    }
}

impl PresentValues {
    /// Prepares the values of a gene, of which the missing ones are NaN.
    fn new(values: &[f64], method: CorrelationMethod) -> Self {
        let mut row = Self { bits: present_bits(values), ..Self::default() };
        row.present = row.bits.iter().map(|byte| byte.count_ones()).sum();
        match method {
            CorrelationMethod::Pearson => {
                row.lanes = vec![[0.0; LANE]; values.len().div_ceil(LANE)];
                let scale = choose_scale(values);
                for (lane, values) in row.lanes.iter_mut().zip(values.chunks(LANE)) {
                    for (place, value) in lane.iter_mut().zip(values) {
                        *place = if value.is_nan() { 0.0 } else { value * scale };
                    }
                }
            }
            CorrelationMethod::Spearman => {
                let mut flags = Vec::new();
                let mut ranks = vec![0; values.len().next_multiple_of(LANE)];
                flags_of(&row.bits, &mut flags);
                row.order = RankOrder::new(values);
                row.order.each_rank(&flags, row.present, |sample, rank| ranks[sample] = rank);
                row.ranks = ranks;
            }
            CorrelationMethod::Bicor { max_outliers } => {
                let present: Vec<f64> =
                    values.iter().copied().filter(|value| !value.is_nan()).collect();
                if present.windows(2).any(|pair| pair[0] != pair[1]) {
                    row.biweight = vec![0.0; present.len()];
                    fill_biweight_row(&present, max_outliers, &mut row.biweight);
                }
            }
        }
        row
    }

    /// Returns the values and their presence bits, for Pearson.
    pub fn masked(&self) -> Masked<'_> {
        Masked { lanes: &self.lanes, bits: &self.bits }
    }
}

/// Writes a byte for each bit, lowest first.
pub(super) fn flags_of(bits: &[u8], flags: &mut Vec<u8>) {
    flags.clear();
    flags.extend(bits.iter().flat_map(|byte| std::array::from_fn::<u8, 8, _>(|i| byte >> i & 1)));
}

/// Returns a bit for each present value, lowest first, with zeros up to a multiple of 64.
fn present_bits(values: &[f64]) -> Vec<u8> {
    let mut bits = vec![0; values.len().div_ceil(64) * 8];
    for (index, value) in values.iter().enumerate() {
        bits[index / 8] |= u8::from(!value.is_nan()) << (index % 8);
    }
    bits
}
