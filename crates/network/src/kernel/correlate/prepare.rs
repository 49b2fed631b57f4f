//! Preparation of an expression matrix for correlation.

use cuesta_core::fixed::Micro;
use cuesta_core::{Error, Result};
use cuesta_input::matrix::ExpressionMatrix;

use super::complete::Complete;
use super::gaps::{Gaps, ValueTraits};
use super::params::SAMPLES_MAX;
use super::share::share;
use super::simd::Isa;
use super::{CorrelationMethod, Params};

/// Matrix prepared for [`super::band`]. Shared by reference among threads.
#[derive(Debug)]
pub struct Prepared<'a> {
    pub(super) matrix: &'a ExpressionMatrix,
    pub(super) method: CorrelationMethod,
    pub(super) min_abs_micro: Micro,
    pub(super) min_samples: usize,
    pub(super) isa: Isa,
    /// Genes without missing values whose values are not all equal.
    pub(super) complete: Complete<'a>,
    /// Genes (0-based) without missing values whose values are all equal.
    pub(super) flat: Vec<u32>,
    /// Genes with missing values.
    pub(super) partial: Vec<u32>,
    /// Additional data for pairs with missing values; empty if no value is missing.
    pub(super) gaps: Gaps,
}

impl<'a> Prepared<'a> {
    /// Prepares `matrix` on `threads` threads, with the fastest available vector instructions.
    ///
    /// # Errors
    /// `Input` if a parameter is out of range or the matrix has too many samples.
    pub fn new(matrix: &'a ExpressionMatrix, params: &Params, threads: usize) -> Result<Self> {
        Self::with_isa(matrix, params, threads, Isa::best())
    }

    /// As [`Prepared::new`], with the given vector instructions; the answers are the same.
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
        check_samples(samples)?;
        let mut kinds = vec![ValueTraits::default(); matrix.genes.len()];
        share(&mut kinds, threads, |gene, kind| *kind = kind_of(matrix.row(gene)));
        let chosen = |wanted: fn(&ValueTraits) -> bool| -> Vec<u32> {
            (0..).zip(&kinds).filter(|(_, kind)| wanted(kind)).map(|(gene, _)| gene).collect()
        };
        let dense = chosen(|kind| !kind.missing && !kind.constant);
        let partial = chosen(|kind| kind.missing);
        let (method, min_abs_micro) = (params.method, params.min_abs_micro());
        // Scores of unrelated genes have a deviation of 1 / sqrt(samples). If more than a quarter
        // of them reach the threshold, a filter costs more than it saves.
        let all_pairs = params.min_abs_score.powi(2) * (samples as f64) < 1.3;
        let gaps = match partial.is_empty() {
            true => Gaps::default(),
            false => Gaps::new(matrix, &kinds, method, threads),
        };
        Ok(Self {
            matrix,
            method,
            min_abs_micro,
            min_samples: params.min_samples,
            isa,
            complete: Complete::new(matrix, dense, (method, isa), all_pairs, threads),
            flat: chosen(|kind| !kind.missing && kind.constant),
            partial,
            gaps,
        })
    }

    /// Returns the maximum memory of a prepared matrix, in bytes, without the matrix itself.
    pub fn size_bytes(genes: usize, samples: usize) -> u64 {
        let (genes, samples) = (genes as u64 + 32, samples as u64 + 64);
        // Eight for complete genes; for gaps, eight for values or sixteen for ranks and order.
        genes * samples * (8 + 16 + 1)
    }

    /// Number of genes.
    pub fn genes(&self) -> usize {
        self.matrix.genes.len()
    }

    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.matrix.samples.len()
    }
}

/// Refuses a matrix with more samples than sums of ranks are exact for.
///
/// # Errors
/// `Input`.
pub(super) fn check_samples(samples: usize) -> Result<()> {
    if samples > SAMPLES_MAX {
        let text = format!("the matrix has {samples} samples, at most {SAMPLES_MAX} can be");
        return Err(Error::input("correlate", text));
    }
    Ok(())
}

fn kind_of(values: &[f64]) -> ValueTraits {
    let (mut least, mut most, mut missing) = (f64::INFINITY, f64::NEG_INFINITY, false);
    for &value in values {
        missing |= value.is_nan();
        // Comparisons with NaN are false, so a missing value changes neither bound.
        least = if value < least { value } else { least };
        most = if value > most { value } else { most };
    }
    ValueTraits { missing, constant: least >= most }
}
