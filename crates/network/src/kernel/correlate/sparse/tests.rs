//! The sparse kernel scores as the dense one does, to the last digit.

use std::ops::Range;

use cuesta_core::random::Stream;
use cuesta_input::matrix::ExpressionMatrix;
use proptest::prelude::*;

use super::super::{Counts, Match, Prepared, PreparedGenes, Scratch, bands};
use super::*;

fn all(
    prepared: &PreparedGenes<'_>,
    bands: impl IntoIterator<Item = Range<usize>>,
) -> (Vec<Match>, Counts) {
    let (mut matches, mut counts) = (Vec::new(), Counts::default());
    let mut scratch = Scratch::default();
    for rows in bands {
        counts += prepared.band(rows, &mut scratch, &mut matches);
    }
    (matches, counts)
}

/// Genes of all kinds by turns: sparse, ties, negative, nearly full, and nearly equal values.
fn matrix(genes: usize, samples: usize, seed: u64) -> ExpressionMatrix {
    let stream = Stream::new(seed, 0);
    let mut values = Vec::new();
    for gene in 0..genes {
        for sample in 0..samples {
            let index = (gene * samples + sample) as u64;
            let (uniform, normal) = (stream.uniform(3 * index), stream.normal(3 * index + 1));
            let shared = Stream::new(seed, 1).normal(((gene % 3) * samples + sample) as u64);
            let value = shared + 0.5 * normal;
            values.push(match gene % 9 {
                0 if uniform < 0.1 => value,
                1 if uniform < 0.3 => value.abs().ceil(),
                2 if uniform < 0.02 => 1.0,
                3 if uniform < 0.97 => value.exp(),
                4 => 1e6 + value,
                5 => 1e6 + (value * 1e-3).round(),
                6 if uniform < 0.5 => value * 1e-300,
                7 if uniform < 0.5 => value.round() * 1e300,
                8 if gene % 2 == 0 => 2.5,
                _ => 0.0,
            });
        }
    }
    ExpressionMatrix {
        genes: (0..genes).map(|gene| format!("g{gene}")).collect(),
        samples: (0..samples).map(|sample| format!("s{sample}")).collect(),
        values,
        left_out: 0,
    }
}

fn check(dense: &ExpressionMatrix, params: &Params) {
    let sparse = SparseMatrix::of(dense);
    let genes = dense.genes.len();
    let right = PreparedGenes::Dense(Prepared::new(dense, params, 1).unwrap());
    let right = all(&right, bands(genes, 1));
    for (threads, step) in [(1, genes.max(1)), (3, 7), (2, 64)] {
        let prepared = SparsePrepared::new(&sparse, params, threads).unwrap();
        let bands = (0..genes).step_by(step).map(|start| start..genes.min(start + step));
        let scored = all(&PreparedGenes::Sparse(prepared), bands);
        assert_eq!(scored.1, right.1, "{params:?}");
        assert!(scored.0 == right.0, "{params:?} {genes}");
    }
}

#[test]
fn scores_are_those_of_the_dense_kernel_for_genes_of_all_kinds() {
    for method in [CorrelationMethod::Pearson, CorrelationMethod::Spearman] {
        for (samples, min_abs_score) in [(5, 0.0), (33, 0.0), (1500, 0.2), (3000, 0.0)] {
            let dense = matrix(75, samples, samples as u64);
            check(&dense, &Params { method, min_abs_score, min_samples: 4 });
            check(&dense, &Params { method, min_abs_score, min_samples: 1000 });
        }
    }
}

proptest! {
    #[test]
    fn small_matrices_of_few_values_are_scored_alike(
        values in proptest::collection::vec(-2i8..3, 1..160),
        samples in 1usize..9,
    ) {
        let genes = values.len().div_ceil(samples);
        let value = |index: usize| f64::from(values.get(index).copied().unwrap_or(0).max(-1));
        let dense = ExpressionMatrix {
            genes: (0..genes).map(|gene| format!("g{gene}")).collect(),
            samples: (0..samples).map(|sample| format!("s{sample}")).collect(),
            values: (0..genes * samples).map(value).collect(),
            left_out: 0,
        };
        for method in [CorrelationMethod::Pearson, CorrelationMethod::Spearman] {
            check(&dense, &Params { method, min_abs_score: 0.0, min_samples: 2 });
        }
    }
}
