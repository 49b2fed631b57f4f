//! Equality of the kernel with the reference, and of its vector levels with each other.

use cuesta_core::random::Stream;
use cuesta_input::matrix::ExpressionMatrix;
use proptest::prelude::*;

use super::reference::score;
use super::*;

/// Computes all pairs by the kernel, in bands of `height` rows.
fn kernel(
    matrix: &ExpressionMatrix,
    params: &Params,
    height: usize,
    isa: Isa,
) -> (Vec<Match>, Counts) {
    let prepared = Prepared::with_isa(matrix, params, 2, isa).unwrap();
    let (mut out, mut scratch) = (Vec::new(), Scratch::default());
    let mut counts = Counts::default();
    for start in (0..matrix.genes.len()).step_by(height) {
        let rows = start..matrix.genes.len().min(start + height);
        counts += band(&prepared, rows, &mut scratch, &mut out);
    }
    (out, counts)
}

fn matrix(genes: usize, samples: usize, value: impl Fn(usize, usize) -> f64) -> ExpressionMatrix {
    ExpressionMatrix {
        genes: (0..genes).map(|gene| format!("g{gene}")).collect(),
        samples: (0..samples).map(|sample| format!("s{sample}")).collect(),
        values: (0..genes * samples).map(|i| value(i / samples, i % samples)).collect(),
        left_out: 0,
    }
}

/// Makes values that follow the previous gene or are random, with constants, ties and gaps.
fn mixed(genes: usize, samples: usize, seed: u64, gaps: u64) -> ExpressionMatrix {
    let stream = Stream::new(seed, 0);
    let common = Stream::new(seed, 1);
    matrix(genes, samples, |gene, sample| {
        let (g, s) = (gene as u64, sample as u64);
        let index = g * samples as u64 + s;
        let has_gaps = stream.below(1_000_000 + g, 3) == 0;
        if has_gaps && Stream::new(seed, 2).below(index, 100) < gaps {
            return f64::NAN;
        }
        match stream.below(2_000_000 + g, 8) {
            0 => 7.1,
            1 | 2 => stream.below(index, 3) as f64,
            3 => 1e9 + stream.normal(index),
            4 => 1e-300 * stream.normal(index),
            _ => {
                common.normal(s) * (if g % 2 == 0 { 1.0 } else { -1.0 })
                    + stream.normal(index) * 0.3
            }
        }
    })
}

const METHODS: [CorrelationMethod; 4] = [
    CorrelationMethod::Pearson,
    CorrelationMethod::Spearman,
    CorrelationMethod::Bicor { max_outliers: 1.0 },
    CorrelationMethod::Bicor { max_outliers: 0.1 },
];

fn params(method: CorrelationMethod, min_abs_score: f64, min_samples: usize) -> Params {
    Params { method, min_abs_score, min_samples }
}

fn assert_like_the_reference(matrix: &ExpressionMatrix, params: &Params, height: usize) {
    let (mut expected, expected_counts) = reference(matrix, params);
    let expected_count = expected.len();
    expected.retain(|pair| !is_open(matrix, params, pair));
    for isa in Isa::available() {
        let (mut matches, counts) = kernel(matrix, params, height, isa);
        matches.retain(|pair| !is_open(matrix, params, pair));
        assert_eq!(matches, expected, "{isa:?} {params:?}");
        if expected.len() == expected_count {
            assert_eq!(counts, expected_counts, "{isa:?} {params:?}");
        }
    }
}

/// Whether the score of a pair is so close to the middle between two millionths that the last bits
/// of a sum, which depend on the order of additions, decide its last digit.
fn is_open(matrix: &ExpressionMatrix, params: &Params, pair: &Match) -> bool {
    let [row1, row2] = [pair.gene1, pair.gene2].map(|gene| matrix.row(gene as usize - 1));
    let score = score(row1, row2, params).flatten().unwrap_or(0.0);
    ((score * 1e6).abs().fract() - 0.5).abs() < 1e-6
}

#[test]
fn the_kernel_equals_the_reference_at_edge_sizes() {
    for method in METHODS {
        for (genes, samples) in
            [(0, 5), (1, 5), (2, 1), (2, 2), (13, 7), (33, 8), (70, 64), (100, 65), (14, 1300)]
        {
            for (min_abs_score, gaps) in [(0.0, 0), (0.8, 0), (0.0, 20), (0.8, 20)] {
                let matrix = mixed(genes, samples, samples as u64, gaps);
                let params = params(method, min_abs_score, 2.max(samples / 2));
                assert_like_the_reference(&matrix, &params, 29);
            }
        }
    }
}

#[test]
fn bands_of_any_height_give_the_same_pairs() {
    let matrix = mixed(150, 30, 3, 10);
    for method in METHODS {
        let params = params(method, 0.5, 20);
        let expected = kernel(&matrix, &params, 150, Isa::best());
        for height in [1, 7, 12, 64] {
            assert_eq!(kernel(&matrix, &params, height, Isa::best()), expected);
        }
    }
}

#[test]
fn bands_cover_the_rows_once_and_in_order() {
    for (genes, count) in [(0, 1), (1, 4), (1000, 1), (1000, 16), (20_000, 40)] {
        let bands = bands(genes, count);
        assert!(bands.windows(2).all(|pair| pair[0].end == pair[1].start));
        assert_eq!(bands.last().map_or(0, |band| band.end), genes);
        assert!(bands.iter().all(|band| !band.is_empty()));
    }
}

#[test]
fn a_pair_at_the_threshold_is_selected_although_single_precision_puts_it_below() {
    // Scores of exactly 0.8: rows of unit norm with a product of 4/5.
    let values = [[1.0, 0.0, -1.0, 0.0], [4.0, 3.0, -4.0, -3.0]];
    let matrix = matrix(60, 4, |gene, sample| values[gene % 2][sample] * (gene + 1) as f64);
    for min_abs_score in [0.8, 0.800_000_1, 0.799_999_9] {
        let params = params(CorrelationMethod::Pearson, min_abs_score, 2);
        assert_like_the_reference(&matrix, &params, 60);
    }
    let selected =
        kernel(&matrix, &params(CorrelationMethod::Pearson, 0.8, 2), 60, Isa::best()).1.selected;
    assert_eq!(selected, 60 * 59 / 2);
}

#[test]
fn a_gene_that_varies_only_where_the_other_is_missing_has_no_score() {
    let (nan, c) = (f64::NAN, 0.1);
    let rows = [[c, c, c, c, c, 3.0, 4.0], [1.0, 2.0, 3.5, 4.0, 5.0, nan, nan]];
    let matrix = matrix(2, 7, |gene, sample| rows[gene][sample]);
    for method in METHODS {
        let params = params(method, 0.0, 2);
        assert_eq!(kernel(&matrix, &params, 2, Isa::best()).1.undefined, 1);
        assert_like_the_reference(&matrix, &params, 2);
    }
}

#[test]
fn a_huge_value_where_the_other_is_missing_costs_no_accuracy() {
    let (nan, stream) = (f64::NAN, Stream::new(1, 1));
    for huge in [1e15, 1e300] {
        let matrix = matrix(2, 40, |gene, sample| match (gene, sample) {
            (0, 3) => huge,
            (1, 3) => nan,
            _ => stream.normal((gene * 40 + sample) as u64) + stream.normal(sample as u64),
        });
        for method in METHODS {
            assert_like_the_reference(&matrix, &params(method, 0.0, 2), 2);
        }
    }
}

#[test]
fn an_outlier_counts_nothing_and_a_gene_of_mostly_equal_values_is_compared_as_by_pearson() {
    let stream = Stream::new(4, 4);
    let rows: Vec<Vec<f64>> = (0..3)
        .map(|gene| {
            let value = |sample: u64| stream.normal(sample) + 0.1 * stream.normal(99 + sample);
            let outlier = |sample: u64| if sample == 7 { 1e6 } else { value(sample) };
            let rare = |sample: u64| if sample < 9 { value(sample) } else { 0.0 };
            let all: [&dyn Fn(u64) -> f64; 3] = [&value, &outlier, &rare];
            (0..40).map(|sample| all[gene](sample)).collect()
        })
        .collect();
    let matrix = matrix(3, 40, |gene, sample| rows[gene][sample]);
    let of = |method| kernel(&matrix, &params(method, 0.0, 2), 3, Isa::best()).0;
    let [pearson, bicor] =
        [CorrelationMethod::Pearson, CorrelationMethod::Bicor { max_outliers: 1.0 }].map(of);
    assert!(pearson[0].micro < 500_000 && bicor[0].micro > 950_000, "{pearson:?} {bicor:?}");
    // Both columns of the last gene are Pearson's, so it is as near to the first as before.
    assert!((pearson[1].micro - bicor[1].micro).abs() < 100_000, "{pearson:?} {bicor:?}");
}

#[test]
fn parameters_out_of_range_are_refused() {
    let matrix = mixed(3, 4, 1, 0);
    for (params, expected) in [
        (params(CorrelationMethod::Pearson, 1.5, 2), "min-abs-score is 1.5"),
        (params(CorrelationMethod::Pearson, f64::NAN, 2), "min-abs-score is NaN"),
        (params(CorrelationMethod::Pearson, 0.5, 1), "min-samples is 1"),
        (params(CorrelationMethod::Bicor { max_outliers: 1.1 }, 0.5, 2), "max-p-outliers is 1.1"),
    ] {
        let error = Prepared::new(&matrix, &params, 1).unwrap_err();
        assert!(error.message().contains(expected), "{}", error.message());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_kernel_equals_the_reference_on_random_matrices(
        (genes, samples, seed) in (1usize..60, 1usize..40, any::<u64>()),
        (gaps, threshold) in (0u64..60, 0u32..10),
        (min_samples, height) in (2usize..12, 1usize..70),
        method in 0..METHODS.len(),
    ) {
        let method = METHODS[method];
        let params = params(method, f64::from(threshold) / 10.0, min_samples);
        assert_like_the_reference(&mixed(genes, samples, seed, gaps), &params, height);
    }
}
