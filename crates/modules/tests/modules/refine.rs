//! Steps after the cut against their references, and the complete way at any number of threads.

use cuesta_core::budget::Budget;
use cuesta_core::random::Stream;
use cuesta_modules::kernel::blockwise::blockwise_modules;
use cuesta_modules::kernel::eigengene::eigengenes;
use cuesta_modules::kernel::expression::Expression;
use cuesta_modules::kernel::impute::imputed;
use cuesta_modules::kernel::labels::by_size;
use cuesta_modules::kernel::membership::{filter, reassign};
use cuesta_modules::kernel::merge::merge_by;
use cuesta_modules::kernel::scale_free::fit;
use cuesta_modules::kernel::triangle::Similarity32;
use cuesta_modules::params::{
    BlockwiseParams, Fallback, Measure, NetworkType, RefineParams, Suppressed,
};
use cuesta_modules::reference::refine as reference;
use proptest::prelude::*;

const MEMORY: u64 = 1 << 30;
const SAMPLES: usize = 14;

/// Genes that follow one of four profiles, two of which are alike; some values are missing.
fn genes(seed: u64, count: usize, missing: f64) -> Vec<f64> {
    let normal = |stream: u64, place: usize| Stream::new(seed, stream).normal(place as u64);
    let value = |gene: usize, sample: usize| {
        let place = gene * SAMPLES + sample;
        if Stream::new(seed, 20).uniform(place as u64) < missing {
            return f64::NAN;
        }
        let kind = gene as u64 % 4;
        let profile = normal(if kind == 3 { 2 } else { kind }, sample);
        let other = if kind == 3 { 0.4 * normal(3, sample) } else { 0.0 };
        profile + other + 0.6 * normal(10, place)
    };
    (0..count * SAMPLES).map(|place| value(place / SAMPLES, place % SAMPLES)).collect()
}

/// Labels 1 to 4 after the profiles; some wrong, some 0, and 2 is no module if `gap`.
fn labels(seed: u64, count: usize, gap: bool) -> Vec<u32> {
    let draw = Stream::new(seed, 30);
    let label = |gene: u64| match draw.below(gene, 10) {
        0 => 0,
        1 => draw.below(gene + 1000, 5) as u32,
        _ => gene as u32 % 4 + 1,
    };
    (0..count as u64).map(label).map(|label| if gap && label == 2 { 0 } else { label }).collect()
}

fn refine_params() -> impl Strategy<Value = RefineParams> {
    let networks = prop_oneof![Just(NetworkType::Unsigned), Just(NetworkType::Signed)];
    let bicor = Measure::Bicor { max_outliers: 1.0, fallback: Fallback::Individual };
    let measures = prop_oneof![Just(Measure::Pearson), Just(bicor)];
    (networks, measures, 1_usize..12, 0.3..0.9, -6..0, any::<bool>()).prop_map(
        |(network, measure, min_module_size, least, digits, reassign_by_column)| RefineParams {
            network,
            measure,
            min_module_size,
            min_core_membership: least,
            min_membership: least - 0.2,
            reassign_threshold: 10_f64.powi(digits),
            reassign_by_column,
            ..RefineParams::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn imputed_values_are_those_of_the_reference(
        seed: u64, count in 2_usize..40, part in 0.0..0.6,
    ) {
        let values = genes(seed, count, part);
        let rows: Vec<&[f64]> = values.chunks(SAMPLES).collect();
        let (ours, theirs) = (imputed(&rows), reference::imputed(&rows));
        for (ours, expected) in ours.iter().flatten().zip(theirs.iter().flatten()) {
            prop_assert!((ours - expected).abs() < 1e-12);
        }
    }

    #[test]
    fn filtered_and_reassigned_labels_are_those_of_the_reference(
        seed: u64, count in 12_usize..60, missing in 0.0..0.1, gap: bool, params in refine_params(),
    ) {
        let values = genes(seed, count, missing);
        let expression = Expression::new(&values, SAMPLES).unwrap();
        let rows: Vec<&[f64]> = values.chunks(SAMPLES).collect();
        let before = labels(seed, count, gap);
        let modules = eigengenes(&expression, &before, 2).unwrap();
        let pairs: Vec<_> = modules.iter().map(|m| (m.label, m.values.clone())).collect();
        let mut ours = before.clone();
        filter(&expression, &mut ours, &modules, &params);
        prop_assert_eq!(&ours, &reference::filter(&rows, &before, &pairs, &params));
        let mut moved = before.clone();
        reassign(&expression, &mut moved, &modules, &params);
        prop_assert_eq!(&moved, &reference::reassign(&rows, &before, &pairs, &params));
    }

    #[test]
    fn merged_modules_are_those_of_the_reference(
        seed: u64, count in 12_usize..60, height in 0.05..1.2, params in refine_params(),
    ) {
        let budget = Budget::new(MEMORY);
        let values = genes(seed, count, 0.0);
        let expression = Expression::new(&values, SAMPLES).unwrap();
        let rows: Vec<&[f64]> = values.chunks(SAMPLES).collect();
        let before = labels(seed, count, false);
        let closeness = (params.measure, height);
        let ours = by_size(&merge_by(&expression, &before, closeness, 2, &budget).unwrap());
        let expected = reference::merged(&rows, &before, params.measure, height);
        let same = |labels: &[u32], i: usize, j: usize| labels[i] == labels[j];
        for i in 0..count {
            prop_assert_eq!(ours[i] == 0, expected[i] == 0);
            for j in 0..count {
                prop_assert_eq!(same(&ours, i, j), same(&expected, i, j));
            }
        }
    }

    #[test]
    fn fits_are_those_of_the_reference(
        degrees in prop::collection::vec(0.1_f64..90.0, 12..80), whole: bool,
    ) {
        let degrees: Vec<f64> =
            degrees.into_iter().map(|k| if whole { k.round() } else { k }).collect();
        let low = degrees.iter().copied().fold(f64::INFINITY, f64::min);
        let high = degrees.iter().copied().fold(0.0, f64::max);
        // On an edge of bins, rounding decides.
        let on_edge = |k: f64| {
            let place = (k - low) / ((high - low) / 10.0);
            (place - place.round()).abs() < 1e-9 && k != low && k != high
        };
        prop_assume!(high > low && !degrees.iter().any(|k| on_edge(*k)));
        let ours = fit(&degrees, 10);
        let (r_squared, slope) = reference::power_fit(&degrees, 10);
        prop_assert!((ours.r_squared - r_squared).abs() < 1e-9);
        prop_assert!((ours.slope - slope).abs() < 1e-8 * slope.abs().max(1.0));
    }
}

#[test]
fn modules_are_the_same_for_any_number_of_threads_and_in_32_bits() {
    let budget = Budget::new(MEMORY);
    let values = genes(5, 160, 0.02);
    let expression = Expression::new(&values, SAMPLES).unwrap();
    let params = BlockwiseParams { min_module_size: Some(8), ..BlockwiseParams::default() };
    let modules =
        |threads| blockwise_modules::<f64, f64>(&expression, &params, threads, &budget).unwrap();
    let first = modules(1);
    assert!(*first.labels.iter().max().unwrap() >= 2);
    for threads in [2, 5] {
        assert_eq!(modules(threads), first);
    }
    let small = blockwise_modules::<f32, Similarity32>(&expression, &params, 2, &budget).unwrap();
    assert_eq!(small.labels, first.labels);
    assert_eq!(budget.free_bytes(), MEMORY);
}

#[test]
fn blocks_have_trees_of_their_own_and_share_modules() {
    let budget = Budget::new(MEMORY);
    let mut values = genes(5, 160, 0.0);
    values[..SAMPLES].fill(1.5);
    let expression = Expression::new(&values, SAMPLES).unwrap();
    let blocks = (0..160).map(|gene| u32::from(gene >= 80) + 3).collect();
    let base = BlockwiseParams { min_module_size: Some(8), ..BlockwiseParams::default() };
    let params = BlockwiseParams { blocks: Some(blocks), ..base.clone() };
    let modules = blockwise_modules::<f64, f64>(&expression, &params, 2, &budget).unwrap();
    let sizes: Vec<usize> = modules.blocks.iter().map(|block| block.genes.len()).collect();
    assert_eq!(sizes, [79, 80]);
    assert!(!modules.good.genes[0]);
    assert_eq!(modules.labels[0], 0);
    // Genes of a profile are in both blocks, and their modules are merged.
    let of_profile = |block: usize| modules.labels[1 + 80 * block];
    assert!(of_profile(0) > 0 && of_profile(0) == of_profile(1));
    let wrong = BlockwiseParams { blocks: Some(vec![1; 3]), ..base.clone() };
    let error = blockwise_modules::<f64, f64>(&expression, &wrong, 2, &budget).unwrap_err();
    assert_eq!(error.message(), "modules: 3 blocks are named for 160 genes");
    let suppressed = Suppressed { zero_adjacencies: true, negative: true };
    let params = BlockwiseParams { suppressed, ..base.clone() };
    let same = blockwise_modules::<f64, f64>(&expression, &params, 2, &budget).unwrap();
    let plain = blockwise_modules::<f64, f64>(&expression, &base, 2, &budget).unwrap();
    assert_eq!(same.labels, plain.labels);
}
