//! What pairs of genes with missing values need besides the rows of complete genes.

use cuesta_input::matrix::ExpressionMatrix;

use super::CorrelationMethod;
use super::complete::unit_for;
use super::prepare::ValueTraits;
use super::rank::RankOrder;
use super::share::share;
use super::vector::{LANE, Lane, Masked};

/// The values that are present and, for Spearman, their order. Empty when no value is missing.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    genes: Vec<GeneGaps>,
}

/// One gene of [`Gaps`].
#[derive(Debug, Default)]
pub(super) struct GeneGaps {
    /// Which samples are present: a bit a sample, lowest first, zeros up to a multiple of 64.
    pub bits: Vec<u8>,
    /// Number of samples that are present.
    pub present: u32,
    /// Are all present values equal?
    pub is_constant: bool,
    /// Pearson: the values, scaled by a power of two.
    lanes: Vec<Lane>,
    /// Spearman: the order of the values.
    pub order: RankOrder,
    /// Spearman: ranks within the samples that are present; 0 where missing, and zeros up to a
    /// multiple of `LANE`.
    pub ranks: Vec<i32>,
}

impl Gaps {
    pub fn new(
        matrix: &ExpressionMatrix,
        kinds: &[ValueTraits],
        method: CorrelationMethod,
        threads: usize,
    ) -> Self {
        let mut genes = Vec::new();
        genes.resize_with(kinds.len(), GeneGaps::default);
        share(&mut genes, threads, |gene, gaps| {
            *gaps = GeneGaps::new(matrix.row(gene), method);
            gaps.is_constant = kinds[gene].constant;
        });
        Self { genes }
    }

    pub fn gene(&self, gene: u32) -> &GeneGaps {
        &self.genes[gene as usize]
    }
}

impl GeneGaps {
    fn new(values: &[f64], method: CorrelationMethod) -> Self {
        let mut gaps = Self { bits: present_bits(values), ..Self::default() };
        gaps.present = gaps.bits.iter().map(|byte| byte.count_ones()).sum();
        match method {
            CorrelationMethod::Pearson => {
                gaps.lanes = vec![[0.0; LANE]; values.len().div_ceil(LANE)];
                let unit = unit_for(values);
                for (lane, values) in gaps.lanes.iter_mut().zip(values.chunks(LANE)) {
                    for (place, value) in lane.iter_mut().zip(values) {
                        *place = if value.is_nan() { 0.0 } else { value * unit };
                    }
                }
            }
            CorrelationMethod::Spearman => {
                let mut flags = Vec::new();
                let mut ranks = vec![0; values.len().next_multiple_of(LANE)];
                flags_of(&gaps.bits, &mut flags);
                gaps.order = RankOrder::new(values);
                gaps.order.each_rank(&flags, gaps.present, |sample, rank| ranks[sample] = rank);
                gaps.ranks = ranks;
            }
        }
        gaps
    }

    /// The values and which of them are present, for Pearson.
    pub fn masked(&self) -> Masked<'_> {
        Masked { lanes: &self.lanes, bits: &self.bits }
    }
}

/// Writes a byte for every bit, lowest first.
pub(super) fn flags_of(bits: &[u8], flags: &mut Vec<u8>) {
    flags.clear();
    flags.extend(bits.iter().flat_map(|byte| std::array::from_fn::<u8, 8, _>(|i| byte >> i & 1)));
}

/// A bit for every value that is present, lowest first, zeros up to a multiple of 64.
fn present_bits(values: &[f64]) -> Vec<u8> {
    let mut bits = vec![0; values.len().div_ceil(64) * 8];
    for (index, value) in values.iter().enumerate() {
        bits[index / 8] |= u8::from(!value.is_nan()) << (index % 8);
    }
    bits
}
