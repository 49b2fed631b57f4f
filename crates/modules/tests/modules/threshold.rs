//! Sweeps, significance and random matrices against their references.

use cuesta_core::budget::Budget;
use cuesta_core::random::Stream;
use cuesta_core::score_counts::p_value;
use cuesta_modules::kernel::expression::Expression;
use cuesta_modules::kernel::product::block_counts;
use cuesta_modules::kernel::threshold::akima::Akima;
use cuesta_modules::kernel::threshold::edges::{GeneLink, edges};
use cuesta_modules::kernel::threshold::eigenvalues::eigenvalues;
use cuesta_modules::kernel::threshold::random_matrix::{
    RandomMatrixParams, ScoredNetwork, random_matrix,
};
use cuesta_modules::kernel::threshold::sweep::{SweepParams, sweep};
use cuesta_modules::params::{Fallback, Measure, NetworkType};
use cuesta_modules::reference::eigenvectors;
use cuesta_modules::reference::threshold as reference;
use proptest::prelude::*;

const MEMORY: u64 = 4 << 30;

/// Genes in groups that share a profile; some values are missing, some genes constant.
fn genes(seed: u64, count: usize, samples: usize, missing: f64) -> Vec<f64> {
    let value = |gene: usize, sample: usize| {
        let place = (gene * samples + sample) as u64;
        if Stream::new(seed, 1).uniform(place) < missing {
            return f64::NAN;
        }
        if Stream::new(seed, 9).uniform(gene as u64) < missing / 2.0 {
            return 4.0;
        }
        let profile = Stream::new(seed, 10 + gene as u64 % 9).normal(sample as u64);
        profile + 0.7 * Stream::new(seed, 0).normal(place)
    };
    (0..count * samples).map(|place| value(place / samples, place % samples)).collect()
}

fn networks() -> impl Strategy<Value = NetworkType> {
    prop_oneof![
        Just(NetworkType::Unsigned),
        Just(NetworkType::Signed),
        Just(NetworkType::SignedHybrid)
    ]
}

fn measures() -> impl Strategy<Value = Measure> {
    let bicor = Measure::Bicor { max_outliers: 0.1, fallback: Fallback::Individual };
    prop_oneof![Just(Measure::Pearson), Just(bicor)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn sweeps_are_those_of_the_reference(
        (seed, missing) in (any::<u64>(), 0.0..0.3), count in 2_usize..40, samples in 3_usize..14,
        network in networks(), measure in measures(),
    ) {
        let budget = Budget::new(MEMORY);
        let values = genes(seed, count, samples, missing);
        let expression = Expression::new(&values, samples).unwrap();
        let rows: Vec<&[f64]> = values.chunks(samples).collect();
        let params = SweepParams {
            measure,
            network,
            powers: vec![1, 2, 5, 12, 30],
            cutoffs: vec![0.0, 0.123, 0.5, 0.75, 0.7501, 0.95],
            counts_scores: true,
        };
        let ours = sweep(&expression, &params, 1, &budget).unwrap();
        let r = reference::correlations(&rows, measure);
        for row in &ours.powers {
            let expected = reference::connectivity(&r, network, row.power);
            let largest = expected.iter().copied().fold(0.0, f64::max);
            prop_assert!((row.largest - largest).abs() <= 1e-10 * largest.max(1.0));
            let mean = expected.iter().sum::<f64>() / count as f64;
            prop_assert!((row.mean - mean).abs() <= 1e-10 * mean.max(1.0));
        }
        let pairs: Vec<(usize, usize)> = (0..count)
            .flat_map(|i| (i + 1..count).map(move |j| (i, j)))
            .filter(|&(i, j)| !r[i][j].is_nan())
            .collect();
        prop_assert_eq!(ours.pairs, pairs.len() as u64);
        let is_near = |cutoff: f64| {
            pairs.iter().any(|&(i, j)| (r[i][j].abs() - cutoff).abs() < 1e-12)
        };
        for row in ours.cutoffs.iter().filter(|row| !is_near(row.cutoff)) {
            let (degrees, components) = reference::network(&r, row.cutoff);
            prop_assert_eq!(row.edges as usize, degrees.iter().sum::<usize>() / 2);
            prop_assert_eq!(row.genes, degrees.iter().filter(|degree| **degree > 0).count());
            prop_assert_eq!(row.components, components.len());
            let sizes = components.iter().map(|component| component.len());
            prop_assert_eq!(row.largest_component, sizes.max().unwrap_or(0));
            prop_assert_eq!(row.largest as usize, degrees.iter().copied().max().unwrap());
        }
        let shared = |i: usize, j: usize| {
            rows[i].iter().zip(rows[j]).filter(|(x, y)| !x.is_nan() && !y.is_nan()).count()
        };
        let scores = ours.scores.as_ref().unwrap();
        let of_pairs: Vec<_> = pairs.iter().map(|&(i, j)| (r[i][j], shared(i, j))).collect();
        for rate in [0.01, 0.2] {
            let expected = reference::discoveries(&of_pairs, rate, scores.width());
            let critical = scores.critical(rate);
            prop_assert_eq!(critical.pairs as usize, expected);
            let kept = of_pairs.iter().filter(|(r, n)| {
                critical.correlations.get(n).is_some_and(|least| r.abs() >= least - 1e-12)
            });
            prop_assert_eq!(kept.count(), expected);
        }
    }

    #[test]
    fn eigenvalues_are_those_of_the_reference(
        seed: u64, size in 1_usize..30, blocks in 1_usize..4,
    ) {
        let draw = Stream::new(seed, 0);
        let entry = |i: usize, j: usize| {
            let (i, j) = (i.max(j), i.min(j));
            if i % blocks == j % blocks { draw.normal((i * 100 + j) as u64) } else { 0.0 }
        };
        let square: Vec<Vec<f64>> =
            (0..size).map(|i| (0..size).map(|j| entry(i, j)).collect()).collect();
        let ours = eigenvalues(square.concat(), size);
        let mut expected: Vec<f64> = eigenvectors(square).into_iter().map(|pair| pair.0).collect();
        expected.sort_by(f64::total_cmp);
        for (ours, expected) in ours.iter().zip(&expected) {
            prop_assert!((ours - expected).abs() < 1e-11, "{ours} for {expected}");
        }
    }

    #[test]
    fn curves_are_those_of_the_reference(
        steps in prop::collection::vec((0.01_f64..2.0, 0_u8..4), 5..12), part in 0.0..1.0,
    ) {
        let (mut x, mut y) = (vec![0.0], vec![0.0]);
        for (width, rise) in steps {
            x.push(x[x.len() - 1] + width);
            y.push(y[y.len() - 1] + f64::from(rise));
        }
        let curve = Akima::new(x.clone(), y.clone());
        for (knot, value) in x.iter().zip(&y) {
            prop_assert!((curve.at(*knot) - value).abs() < 1e-9);
        }
        let at = part * x[x.len() - 1];
        let expected = reference::akima(&x, &y, at);
        prop_assert!((curve.at(at) - expected).abs() < 1e-9 * expected.abs().max(1.0));
    }
}

#[test]
fn p_values_are_those_of_student() {
    // R: 2 * pt(-abs(r) * sqrt((n - 2) / (1 - r^2)), n - 2).
    for (r, n, expected) in [
        (0.5, 10, 0.141_113_281_25),
        (-0.9, 5, 0.037_386_073_468_498_63),
        (0.3, 64, 0.016_020_078_484_598_19),
        (0.99, 30, 2.304_085_772_340_062e-25),
    ] {
        let p = p_value(r, n);
        assert!((p - expected).abs() <= 1e-10 * expected, "{p} for {expected}");
    }
    assert_eq!(p_value(1.0, 10), 0.0);
    assert_eq!(p_value(0.0, 10), 1.0);
    assert_eq!(p_value(0.7, 2), 1.0);
}

fn all_edges(
    expression: &Expression<'_>,
    smallest: f64,
    threads: usize,
    budget: &Budget,
) -> Vec<GeneLink> {
    let blocks = 0..block_counts(expression.genes()).1;
    edges(expression, Measure::Pearson, smallest, blocks, (threads, budget)).unwrap().edges
}

#[test]
fn a_sweep_is_the_same_for_any_number_of_threads() {
    let budget = Budget::new(MEMORY);
    for missing in [0.0, 0.1] {
        let values = genes(3, 1700, 12, missing);
        let expression = Expression::new(&values, 12).unwrap();
        let params = SweepParams {
            measure: Measure::Pearson,
            network: NetworkType::Signed,
            powers: vec![1, 6, 12],
            cutoffs: (1..20).map(|step| f64::from(step) / 20.0).collect(),
            counts_scores: true,
        };
        let first = sweep(&expression, &params, 1, &budget).unwrap();
        let strong = all_edges(&expression, 0.9, 1, &budget);
        assert_eq!(strong.len() as u64, first.cutoffs[17].edges);
        for threads in [2, 5] {
            assert_eq!(sweep(&expression, &params, threads, &budget).unwrap(), first);
            assert_eq!(all_edges(&expression, 0.9, threads, &budget), strong);
        }
        assert_eq!(budget.free_bytes(), MEMORY);
    }
}

#[test]
fn random_matrices_are_those_of_the_reference() {
    let budget = Budget::new(MEMORY);
    let (count, samples) = (110, 14);
    let values = genes(8, count, samples, 0.0);
    let expression = Expression::new(&values, samples).unwrap();
    let rows: Vec<&[f64]> = values.chunks(samples).collect();
    let r = reference::correlations(&rows, Measure::Pearson);
    let all = all_edges(&expression, 0.6, 2, &budget);
    let params = RandomMatrixParams { start: 0.95, step: 0.05, ..RandomMatrixParams::default() };
    let network = ScoredNetwork { genes: count, edges: &all, smallest: 0.6 };
    let search = |params: &RandomMatrixParams, threads: usize| {
        random_matrix(&network, params, (threads, &budget), |_| Ok(())).unwrap()
    };
    let result = search(&params, 1);
    assert!(result.steps.len() >= 7);
    for step in &result.steps {
        let expected = reference::distinct_eigenvalues(&r, step.threshold);
        assert_eq!(step.eigenvalues, expected.len(), "{}", step.threshold);
        assert_eq!(step.chi.is_some(), expected.len() >= 50);
    }
    assert!(result.steps.iter().any(|step| step.chi.is_some()));
    assert_eq!(search(&params, 3), result);
    let larger = RandomMatrixParams { larger_genes_only: true, ..params };
    let fewer = search(&larger, 1);
    assert!(fewer.steps.iter().zip(&result.steps).all(|(a, b)| a.genes <= b.genes));
}

#[test]
fn grids_that_do_not_ascend_are_refused() {
    let budget = Budget::new(MEMORY);
    let values = genes(3, 5, 12, 0.0);
    let expression = Expression::new(&values, 12).unwrap();
    for (powers, cutoffs) in [(vec![2, 1], vec![]), (vec![31], vec![]), (vec![], vec![0.5, 0.2])] {
        let (measure, network) = (Measure::Pearson, NetworkType::Unsigned);
        let params = SweepParams { measure, network, powers, cutoffs, counts_scores: false };
        assert!(sweep(&expression, &params, 1, &budget).is_err());
    }
}
