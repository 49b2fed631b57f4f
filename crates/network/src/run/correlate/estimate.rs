//! Estimate of the size of an answer of `correlate` before it is written.

use std::path::Path;

use cuesta_core::budget::human;
use cuesta_core::fixed;
use cuesta_core::random::Stream;
use cuesta_core::{Error, Result};
use cuesta_input::generate::clusters::pairs_of;
use cuesta_input::matrix::GeneMatrix;
use cuesta_runtime::scratch;

use crate::kernel::correlate::{PreparedGenes, Scratch, SparsePrepared, score};
use crate::params::{CorrelateParams, Format};

/// Pairs that are scored to estimate the fraction that reaches the threshold.
const SAMPLED: u64 = 2000;
/// Genes whose pairs are scored for that in a sparse matrix.
const SAMPLED_GENES: u64 = 64;
/// Size below which answers are not estimated.
const LEAST_BYTES: u64 = 64 << 20;
/// Bytes of a line of text without the numbers of its genes and its mask.
const LINE_BYTES: u64 = 28;
/// Maximum number of bytes of a pair in a pair matrix.
const PAIR_BYTES: u64 = 4;
/// Bytes of a line of p- and q-values without the numbers and names of its genes.
const TESTED_LINE_BYTES: u64 = 44;
/// Largest number of pairs that are tested: pairs of equal score are counted in 32 bits.
const TESTED_MAX: u64 = u32::MAX as u64;

/// Refuses an answer that exceeds the free disk space of `output`, or more pairs than are tested.
///
/// # Errors
/// `Input` naming the size, the free space, and the options that reduce the size; `System`.
pub fn check_space(output: &Path, matrix: &GeneMatrix, params: &CorrelateParams) -> Result<()> {
    let pairs = pairs_of(matrix.genes().len() as u32);
    if params.p_values && pairs > TESTED_MAX {
        let text = format!(
            "--p-values tests at most {TESTED_MAX} pairs, {} genes have {pairs}; \
             give --top-variable 90000, or leave it out",
            matrix.genes().len()
        );
        return Err(Error::input("correlate", text));
    }
    let size_bytes = size_bytes(matrix, params);
    let free_bytes = scratch::free_bytes(output)?;
    if size_bytes <= free_bytes {
        return Ok(());
    }
    let smaller = match params.format {
        Format::Text => "a higher --min-abs-score, or --format pairs (4 bytes a pair)",
        Format::Pairs => "--format text with a higher --min-abs-score",
    };
    let text = format!(
        "the answer has about {} for {} genes, {} has {} free; give {smaller}, or another --output",
        human(size_bytes),
        matrix.genes().len(),
        output.display(),
        human(free_bytes)
    );
    Err(Error::input("correlate", text))
}

/// Returns the approximate size of the answer in bytes; inexact below `LEAST_BYTES`.
fn size_bytes(matrix: &GeneMatrix, params: &CorrelateParams) -> u64 {
    let genes = matrix.genes().len() as u64;
    let pairs = pairs_of(genes as u32);
    let digits = u64::from(genes.max(1).ilog10());
    let names: u64 = matrix.genes().iter().map(|name| name.len() as u64 + 1).sum();
    let tested = TESTED_LINE_BYTES + 2 * (digits + names / genes.max(1));
    let tested = if params.p_values { tested } else { 0 };
    let text = LINE_BYTES + 2 * digits + matrix.samples().len() as u64;
    // Bytes of all pairs in a pair matrix, and of each pair that is kept.
    let (fixed_bytes, line) = match params.format {
        Format::Text => (0, text + tested),
        Format::Pairs => (PAIR_BYTES * pairs, tested),
    };
    if line == 0 {
        return fixed_bytes;
    }
    let all_bytes = line.saturating_mul(params.top.unwrap_or(u64::MAX).min(pairs));
    if all_bytes < LEAST_BYTES {
        return fixed_bytes + all_bytes;
    }
    fixed_bytes + (all_bytes as f64 * passing(matrix, params)) as u64
}

/// Returns the approximate fraction of the pairs that reach the threshold.
fn passing(matrix: &GeneMatrix, params: &CorrelateParams) -> f64 {
    let kernel = params.kernel(matrix.samples().len());
    let (stream, genes) = (Stream::new(0, 0), matrix.genes().len() as u64);
    match matrix {
        GeneMatrix::Dense(matrix) => {
            let passing = (0..SAMPLED).filter(|&draw| {
                let gene1 = stream.below(2 * draw, genes);
                let gene2 = (gene1 + 1 + stream.below(2 * draw + 1, genes - 1)) % genes;
                let scored = score(matrix.row(gene1 as usize), matrix.row(gene2 as usize), &kernel);
                let micro = scored.flatten().and_then(fixed::from_f64);
                micro.is_some_and(|micro| micro.abs() >= kernel.min_abs_micro())
            });
            passing.count() as f64 / SAMPLED as f64
        }
        GeneMatrix::Sparse(matrix) => {
            let mut chosen = vec![false; genes as usize];
            (0..SAMPLED_GENES).for_each(|draw| chosen[stream.below(draw, genes) as usize] = true);
            let some = matrix.clone_of(&chosen);
            let Ok(prepared) = SparsePrepared::new(&some, &kernel, 1) else { return 1.0 };
            let (mut scratch, mut matches) = (Scratch::default(), Vec::new());
            let prepared = PreparedGenes::Sparse(prepared);
            let counts = prepared.band(0..some.genes.len(), &mut scratch, &mut matches);
            counts.selected as f64 / counts.pairs.max(1) as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use cuesta_input::matrix::ExpressionMatrix;

    use super::*;

    #[test]
    fn sizes_are_those_of_text_and_pairs_above_the_threshold() {
        let (genes, samples) = (2000, 60);
        let stream = Stream::new(3, 0);
        let matrix = GeneMatrix::Dense(ExpressionMatrix {
            genes: (0..genes).map(|gene| format!("g{gene}")).collect(),
            samples: (0..samples).map(|sample| format!("s{sample}")).collect(),
            values: (0..genes * samples).map(|index| stream.normal(index as u64)).collect(),
            left_out: 0,
        });
        let of = |format, min_abs_score| {
            size_bytes(&matrix, &CorrelateParams { format, min_abs_score, ..Default::default() })
        };
        assert_eq!(of(Format::Pairs, 0.0), 4 * 1999 * 1000);
        let all = of(Format::Text, 0.0);
        assert!((90 * 1_999_000..100 * 1_999_000).contains(&all), "{all}");
        assert!(of(Format::Text, 0.3) < all / 20);
    }
}
