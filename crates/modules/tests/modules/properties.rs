//! Kernels against their references on random input, and at any number of threads.

use std::collections::BTreeSet;

use cuesta_core::budget::Budget;
use cuesta_core::random::Stream;
use cuesta_modules::kernel::adjacency::{SoftNetwork, soften};
use cuesta_modules::kernel::correlate::correlations;
use cuesta_modules::kernel::cut::cut_tree;
use cuesta_modules::kernel::eigengene::{eigengene, eigengenes};
use cuesta_modules::kernel::expression::{Expression, good_parts};
use cuesta_modules::kernel::labels::{by_size, colour};
use cuesta_modules::kernel::linkage::{Tree, average_linkage};
use cuesta_modules::kernel::merge::refine;
use cuesta_modules::kernel::overlap::overlap;
use cuesta_modules::kernel::power::{estimate, table};
use cuesta_modules::kernel::triangle::Triangle;
use cuesta_modules::params::{
    CutParams, Denominator, Fallback, Measure, NetworkType, OverlapParams, OverlapType,
    RefineParams,
};
use cuesta_modules::reference;
use proptest::prelude::*;

const MEMORY: u64 = 1 << 30;

/// Random genes: some follow a profile, some are constant, some values are missing or equal.
fn genes(seed: u64, genes: usize, samples: usize, spoilt: f64) -> Vec<f64> {
    let stream = Stream::new(seed, 0);
    let value = |gene: usize, sample: usize| {
        let place = (gene * samples + sample) as u64;
        let kind = Stream::new(seed, 1).uniform(place);
        if kind < spoilt / 2.0 {
            return f64::NAN;
        }
        let profile = Stream::new(seed, 2 + gene as u64 % 3).normal(sample as u64);
        let value = profile + 0.5 * stream.normal(place);
        let constant = Stream::new(seed, 9).uniform(gene as u64) < spoilt / 4.0;
        if constant {
            0.1
        } else if kind < 2.0 * spoilt {
            value.round()
        } else {
            value
        }
    };
    (0..genes * samples).map(|place| value(place / samples, place % samples)).collect()
}

fn measures() -> impl Strategy<Value = Measure> {
    let bicor = |(max_outliers, none): (f64, bool)| {
        let fallback = if none { Fallback::None } else { Fallback::Individual };
        Measure::Bicor { max_outliers, fallback }
    };
    prop_oneof![
        Just(Measure::Pearson),
        (prop_oneof![Just(1.0), Just(0.0), 0.0..0.5], any::<bool>()).prop_map(bicor),
    ]
}

fn overlap_params() -> impl Strategy<Value = OverlapParams> {
    let kinds = [OverlapType::Unsigned, OverlapType::Signed, OverlapType::SignedNowick];
    let kinds = prop::sample::select(kinds.to_vec());
    let denominators = prop::sample::select(vec![Denominator::Min, Denominator::Mean]);
    (kinds, denominators, any::<bool>()).prop_map(|(kind, denominator, separate)| OverlapParams {
        kind,
        denominator,
        separate,
    })
}

fn cut_params() -> impl Strategy<Value = CutParams> {
    let flags = (any::<bool>(), any::<bool>());
    (1_usize..12, 0.2..1.0, flags).prop_map(|(min_cluster_size, scatter, flags)| CutParams {
        min_cluster_size,
        max_core_scatter: Some(scatter),
        min_gap: Some(0.75 * (1.0 - scatter)),
        pam_stage: flags.0,
        respect_small_clusters: flags.1,
        ..CutParams::default()
    })
}

fn square(triangle: &Triangle<'_, f64>) -> reference::Square {
    let count = triangle.count();
    let value = |i: usize, j: usize| if i == j { 0.0 } else { triangle.get(i, j) };
    (0..count).map(|i| (0..count).map(|j| value(i, j)).collect()).collect()
}

/// Distances of random genes, rounded so that some are equal.
fn distances<'b>(seed: u64, count: usize, digits: i32, budget: &'b Budget) -> Triangle<'b, f64> {
    let values = genes(seed, count, 12, 0.0);
    let expression = Expression::new(&values, 12).unwrap();
    let mut distances = correlations(&expression, Measure::Pearson, 1, budget).unwrap();
    let scale = 10_f64.powi(digits);
    distances.map(1, |r: f64| ((1.0 - r.abs()) * scale).round() / scale).unwrap();
    distances
}

/// Checks the tree of random genes whose distances have so many digits.
fn check_tree(seed: u64, count: usize, digits: i32) {
    let budget = Budget::new(MEMORY);
    let mut distances = distances(seed, count, digits, &budget);
    let mut expected = reference::average_linkage(square(&distances));
    expected.sort_by(|a, b| a.2.total_cmp(&b.2));
    let tree = average_linkage(&mut distances).unwrap();
    assert_eq!(&tree.heights, &expected.iter().map(|merge| merge.2).collect::<Vec<_>>());
    let mut clusters: Vec<BTreeSet<usize>> = Vec::new();
    // Clusters of the genes that a merge names, at its place among the heights.
    let mut clusters_of_genes: Vec<_> = (0..count).map(|gene| BTreeSet::from([gene])).collect();
    for (merge, expected) in tree.merges.iter().zip(&expected) {
        let genes = |node: i32| match usize::try_from(node) {
            Ok(cluster) => clusters[cluster - 1].clone(),
            Err(_) => BTreeSet::from([node.unsigned_abs() as usize - 1]),
        };
        let parts = BTreeSet::from(merge.map(genes));
        let named = [expected.0, expected.1].map(|gene| clusters_of_genes[gene].clone());
        assert_eq!(&parts, &BTreeSet::from(named));
        let joined: BTreeSet<usize> = parts.into_iter().flatten().collect();
        joined.iter().for_each(|&gene| clusters_of_genes[gene].clone_from(&joined));
        clusters.push(joined);
    }
    let mut order = tree.order.clone();
    order.sort_unstable();
    assert_eq!(order, (1..=count as u32).collect::<Vec<_>>());
}

/// The last digit of a mean may put a merge below one of its parts.
#[test]
fn a_tree_with_a_merge_below_its_part_is_that_of_the_reference() {
    check_tree(15_224_055_755_167_582_782, 63, 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn correlations_are_those_of_the_reference(
        seed: u64, count in 2_usize..30, samples in 1_usize..20, spoilt in 0.0..0.5,
        measure in measures(),
    ) {
        let budget = Budget::new(MEMORY);
        let values = genes(seed, count, samples, spoilt);
        let expression = Expression::new(&values, samples).unwrap();
        let single: Triangle<f64> = correlations(&expression, measure, 1, &budget).unwrap();
        let threads: Triangle<f64> = correlations(&expression, measure, 3, &budget).unwrap();
        for i in 0..count {
            for j in i + 1..count {
                let (value, expected) = (
                    single.get(i, j),
                    reference::correlation(expression.row(i), expression.row(j), measure),
                );
                prop_assert!(
                    value.is_nan() && expected.is_nan() || (value - expected).abs() < 1e-12,
                    "{value} for {expected} at {i}, {j}"
                );
                prop_assert_eq!(value.to_bits(), threads.get(i, j).to_bits());
            }
        }
    }

    #[test]
    fn adjacencies_are_those_of_the_reference(r in -1.0..1.0, power in 1_u32..31) {
        for kind in [NetworkType::Unsigned, NetworkType::Signed, NetworkType::SignedHybrid] {
            let network = SoftNetwork { network: kind, power, keeps_sign: false };
            let expected = reference::adjacency(kind, power, r);
            prop_assert!((network.adjacency(r) - expected).abs() <= 1e-14 * expected);
            let network = SoftNetwork { keeps_sign: true, ..network };
            prop_assert_eq!(network.adjacency(r) < 0.0, kind == NetworkType::Unsigned && r < 0.0);
        }
    }

    #[test]
    fn overlaps_are_those_of_the_reference(
        seed: u64, count in 1_usize..60, power in 1_u32..12, params in overlap_params(),
    ) {
        let budget = Budget::new(MEMORY);
        let values = genes(seed, count, 9, 0.1);
        let expression = Expression::new(&values, 9).unwrap();
        let mut adjacency: Triangle<f64> =
            correlations(&expression, Measure::Pearson, 1, &budget).unwrap();
        let keeps_sign = params.kind != OverlapType::Unsigned;
        let network = SoftNetwork { network: NetworkType::Unsigned, power, keeps_sign };
        soften(&mut adjacency, network, 2).unwrap();
        let expected = reference::overlap(&square(&adjacency), params);
        for threads in [1, 3] {
            let ours: Triangle<f64> = overlap(&adjacency, params, threads, &budget).unwrap();
            prop_assert_eq!(&square(&ours), &expected);
        }
    }

    #[test]
    fn trees_are_those_of_the_reference(seed: u64, count in 1_usize..70, digits in 1..12) {
        check_tree(seed, count, digits);
    }

    #[test]
    fn cuts_are_those_of_the_reference(
        seed: u64, count in 2_usize..90, digits in 2..12, base in cut_params(), cut in 0.3..1.1,
    ) {
        let budget = Budget::new(MEMORY);
        let distances = distances(seed, count, digits, &budget);
        let pairs = distances.values().iter().copied();
        let mut work = Triangle::<f64>::from_pairs(count, pairs, &budget).unwrap();
        let tree = average_linkage(&mut work).unwrap();
        let highest = tree.heights[tree.heights.len() - 1];
        let params = CutParams { cut_height: (cut < 1.0).then_some(cut * highest), ..base };
        let expected = reference::cut_tree(&tree, &square(&distances), &params);
        prop_assert_eq!(cut_tree(&tree, &distances, &params).unwrap(), expected);
    }

    #[test]
    fn labels_are_those_of_the_reference(labels in prop::collection::vec(0_u32..9, 0..40)) {
        prop_assert_eq!(by_size(&labels), reference::by_size(&labels));
    }

    #[test]
    fn eigengenes_are_first_eigenvectors_of_the_reference(
        seed: u64, count in 1_usize..25, samples in 2_usize..20,
    ) {
        let values = genes(seed, count, samples, 0.0);
        let rows: Vec<&[f64]> = values.chunks(samples).collect();
        let (vector, explained) = eigengene(&rows).unwrap();
        let scores: Vec<Vec<f64>> = rows.iter().map(|row| {
            let mean = row.iter().sum::<f64>() / samples as f64;
            let squares: f64 = row.iter().map(|x| (x - mean).powi(2)).sum();
            row.iter().map(|x| (x - mean) / squares.sqrt()).collect()
        }).collect();
        let gram: reference::Square = (0..samples).map(|i| {
            (0..samples).map(|j| scores.iter().map(|row| row[i] * row[j]).sum()).collect()
        }).collect();
        let mut all = reference::eigenvectors(gram);
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        prop_assert!((explained - all[0].0 / count as f64).abs() < 1e-12);
        let along: f64 = vector.iter().zip(&all[0].1).map(|(a, b)| a * b).sum();
        let gap = (all[0].0 - all[1].0) / all[0].0;
        prop_assert!(1.0 - along.abs() < 1e-12 / gap, "{along} at gap {gap}");
        let values = scores.iter().flatten().zip(vector.iter().cycle());
        let sign: f64 = values.map(|(a, b)| a * b).sum();
        prop_assert!(sign > -1e-9);
    }
}

/// Modules of genes from end to end with defaults, for `min_size`.
fn modules(values: &[f64], samples: usize, min_size: usize, threads: usize) -> (Tree, Vec<u32>) {
    let budget = Budget::new(MEMORY);
    let expression = Expression::new(values, samples).unwrap();
    let mut r: Triangle<f64> =
        correlations(&expression, Measure::Pearson, threads, &budget).unwrap();
    let rows = table(&r, NetworkType::Signed, &[1, 6, 20], 2).unwrap();
    estimate(&rows, 0.85);
    let network = SoftNetwork { network: NetworkType::Signed, power: 6, keeps_sign: false };
    soften(&mut r, network, threads).unwrap();
    let mut distances: Triangle<f64> =
        overlap(&r, OverlapParams::default(), threads, &budget).unwrap();
    distances.map(threads, |overlap| 1.0 - overlap).unwrap();
    let copy = distances.values().to_vec();
    let tree = average_linkage(&mut distances).unwrap();
    let distances: Triangle<f64> =
        Triangle::from_pairs(expression.genes(), copy.into_iter(), &budget).unwrap();
    let cut = CutParams { min_cluster_size: min_size, ..CutParams::default() };
    let labels = cut_tree(&tree, &distances, &cut).unwrap();
    let params = RefineParams { min_module_size: min_size, ..RefineParams::default() };
    let modules = refine(&expression, &labels, &params, threads, &budget).unwrap();
    for module in &modules.eigengenes {
        assert!(module.values.iter().all(|value| value.is_finite()));
        assert!(module.variance_explained.is_finite());
    }
    (tree, modules.labels)
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let values = genes(7, 150, 15, 0.02);
    let first = modules(&values, 15, 10, 1);
    assert!(*first.1.iter().max().unwrap() >= 2);
    for threads in [2, 5] {
        assert_eq!(modules(&values, 15, 10, threads), first);
    }
}

#[test]
fn odd_input_makes_no_module_and_no_panic() {
    let constant = vec![3.0; 40 * 8];
    assert_eq!(modules(&constant, 8, 5, 2).1, [0; 40]);
    assert_eq!(modules(&[f64::NAN; 30], 3, 5, 2).1, [0; 10]);
    assert_eq!(modules(&[1.0], 1, 20, 1).1, [0]);
    assert_eq!(modules(&[1.0, 2.0, 3.0, 1.0], 2, 1, 1).1.len(), 2);
    let noise: Vec<f64> = (0..50 * 8).map(|i| Stream::new(3, 3).normal(i)).collect();
    assert_eq!(modules(&noise, 8, 30, 2).1, [0; 50]);
    for seed in 0..20 {
        let labels = modules(&genes(seed, 40, 8, 0.3), 8, 5, 2).1;
        assert_eq!(labels.len(), 40);
    }
}

#[test]
fn no_gene_is_an_error_in_a_line() {
    let budget = Budget::new(MEMORY);
    let expression = Expression::new(&[], 8).unwrap();
    let mut none: Triangle<f64> = correlations(&expression, Measure::Pearson, 2, &budget).unwrap();
    assert!(average_linkage(&mut none).unwrap_err().message().contains("no gene"));
    assert!(good_parts(&expression).is_err());
    let error = eigengenes(&Expression::new(&[1.0; 8], 8).unwrap(), &[1], 1).unwrap_err();
    assert_eq!(error.message(), "modules: module 1 has no gene that varies");
    let values = [1.0, f64::NAN, 2.0, f64::NAN, f64::NAN, 5.0, f64::NAN, 1.0];
    let expression = Expression::new(&values, 4).unwrap();
    let mut apart: Triangle<f64> = correlations(&expression, Measure::Pearson, 2, &budget).unwrap();
    assert!(apart.get(0, 1).is_nan());
    assert!(average_linkage(&mut apart).unwrap_err().message().contains("is missing"));
}

#[test]
fn memory_that_does_not_suffice_is_an_error() {
    let budget = Budget::new(10_000);
    let values = genes(1, 100, 10, 0.0);
    let expression = Expression::new(&values, 10).unwrap();
    let error =
        correlations::<f64>(&expression, Measure::Pearson, 1, &budget).map(drop).unwrap_err();
    assert!(error.message().contains("raise --memory"), "{error}");
    assert_eq!(budget.free_bytes(), 10_000);
}

#[test]
fn more_modules_than_colours_have_distinct_names() {
    assert_eq!(colour(0), "grey");
    assert_eq!(colour(1), "turquoise");
    assert_eq!(colour(435), "gold1");
    assert_eq!(colour(436), "turquoise.1");
    assert_eq!(colour(470), "sienna3.1");
    assert_eq!(colour(900), "steelblue.2");
    let names: std::collections::BTreeSet<String> = (0..2000).map(colour).collect();
    assert_eq!(names.len(), 2000);
}

#[test]
fn labels_go_by_size_then_by_number() {
    assert_eq!(by_size(&[5, 5, 0, 2, 2, 9, 9, 9]), [3, 3, 0, 2, 2, 1, 1, 1]);
    assert_eq!(by_size(&[]), Vec::<u32>::new());
}
