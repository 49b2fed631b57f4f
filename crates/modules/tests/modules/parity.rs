//! Each stage against R on R's own input of the stage.

use crate::common::{Fixture, assert_near, fixtures, network};
use cuesta_core::budget::Budget;
use cuesta_modules::kernel::adjacency::{SoftNetwork, soften};
use cuesta_modules::kernel::correlate::correlations;
use cuesta_modules::kernel::cut::cut_tree;
use cuesta_modules::kernel::eigengene::eigengenes;
use cuesta_modules::kernel::expression::{Expression, good_parts};
use cuesta_modules::kernel::labels::by_size_with;
use cuesta_modules::kernel::linkage::{Tree, average_linkage};
use cuesta_modules::kernel::membership::memberships;
use cuesta_modules::kernel::merge::{eigengene_tree, merge_close, refine};
use cuesta_modules::kernel::overlap::overlap;
use cuesta_modules::kernel::power::{estimate, table};
use cuesta_modules::kernel::triangle::Triangle;
use cuesta_modules::params::{
    CutParams, Denominator, Fallback, Measure, OverlapParams, OverlapType, RefineParams, TieOrder,
};

const MEMORY: u64 = 1 << 30;

/// Genes and samples that R keeps.
fn good_values(fixture: &Fixture) -> (Vec<f64>, usize) {
    let genes = fixture.labels("good/genes");
    let samples = fixture.labels("good/samples");
    let rows = fixture.values.chunks(fixture.samples).zip(genes).filter(|(_, good)| *good == 1);
    let chosen = |row: &[f64]| -> Vec<f64> {
        row.iter().zip(&samples).filter(|(_, good)| **good == 1).map(|(x, _)| *x).collect()
    };
    (rows.flat_map(|(row, _)| chosen(row)).collect(), samples.iter().sum::<u32>() as usize)
}

#[test]
fn correlations_are_those_of_r() {
    let budget = Budget::new(MEMORY);
    for fixture in fixtures() {
        let expression = Expression::new(&fixture.values, fixture.samples).unwrap();
        let check = |measure, stage: &str| {
            let ours: Triangle<f64> = correlations(&expression, measure, 2, &budget).unwrap();
            let name = format!("{} {stage}", fixture.name);
            assert_near(ours.values(), &fixture.stages[stage], 1e-12, &name);
        };
        check(Measure::Pearson, "r");
        for (fallback, name) in
            [(Fallback::Individual, "individual"), (Fallback::All, "all"), (Fallback::None, "none")]
        {
            for max_outliers in [1.0, 0.1] {
                let measure = Measure::Bicor { max_outliers, fallback };
                check(measure, &format!("bicor/{max_outliers}/{name}"));
            }
        }
    }
}

#[test]
fn good_genes_and_samples_are_those_of_r() {
    for fixture in fixtures() {
        let expression = Expression::new(&fixture.values, fixture.samples).unwrap();
        let good = good_parts(&expression).unwrap();
        let numbers =
            |flags: &[bool]| flags.iter().map(|flag| u32::from(*flag)).collect::<Vec<_>>();
        assert_eq!(numbers(&good.genes), fixture.labels("good/genes"), "{}", fixture.name);
        assert_eq!(numbers(&good.samples), fixture.labels("good/samples"), "{}", fixture.name);
    }
}

#[test]
fn adjacencies_and_overlaps_are_those_of_r() {
    let budget = Budget::new(MEMORY);
    for fixture in fixtures() {
        let (values, samples) = good_values(&fixture);
        let expression = Expression::new(&values, samples).unwrap();
        let adjacency = |network, keeps_sign| {
            let mut triangle: Triangle<f64> =
                correlations(&expression, Measure::Pearson, 1, &budget).unwrap();
            let network = SoftNetwork { network, power: fixture.power, keeps_sign };
            soften(&mut triangle, network, 2).unwrap();
            triangle
        };
        for (name, expected) in fixture.below("adjacency/") {
            assert_near(adjacency(network(name), false).values(), expected, 1e-12, name);
        }
        for (name, expected) in fixture.below("overlap/") {
            let parts: Vec<&str> = name.split('/').collect();
            let keeps_sign = parts[0] == "sign kept" && !parts[1].starts_with("unsigned");
            let soft = if parts[0] == "sign kept" { "unsigned" } else { parts[0] };
            let kind = match parts[1].trim_end_matches(" 2") {
                "unsigned" => OverlapType::Unsigned,
                "signed" => OverlapType::Signed,
                _ => OverlapType::SignedNowick,
            };
            let denominator = if parts[2] == "min" { Denominator::Min } else { Denominator::Mean };
            let params = OverlapParams { kind, denominator, separate: parts[1].ends_with(" 2") };
            let adjacency = adjacency(network(soft), keeps_sign);
            let ours: Triangle<f64> = overlap(&adjacency, params, 2, &budget).unwrap();
            assert_near(ours.values(), expected, 1e-12, &format!("{} {name}", fixture.name));
        }
    }
}

#[test]
fn tables_of_powers_are_those_of_r() {
    let budget = Budget::new(MEMORY);
    let powers: Vec<u32> = (1..=20).collect();
    for fixture in fixtures() {
        let (values, samples) = good_values(&fixture);
        let expression = Expression::new(&values, samples).unwrap();
        let r: Triangle<f64> = correlations(&expression, Measure::Pearson, 2, &budget).unwrap();
        for name in ["unsigned", "signed", "signed hybrid"] {
            let rows = table(&r, network(name), &powers, 2).unwrap();
            let check =
                |column: &str, value: fn(&cuesta_modules::kernel::power::PowerRow) -> f64| {
                    let ours: Vec<f64> = rows.iter().map(value).collect();
                    let stage = format!("power/{name}/{column}");
                    assert_near(
                        &ours,
                        &fixture.stages[&stage],
                        1e-9,
                        &format!("{} {stage}", fixture.name),
                    );
                };
            check("SFT.R.sq", |row| row.fit.r_squared);
            check("slope", |row| row.fit.slope);
            check("truncated.R.sq", |row| row.fit.truncated_r_squared);
            check("mean.k.", |row| row.mean);
            check("median.k.", |row| row.median);
            check("max.k.", |row| row.largest);
            let chosen = estimate(&rows, 0.85).map_or(f64::NAN, f64::from);
            let stage = format!("power/{name}/estimate");
            assert_near(&[chosen], &fixture.stages[&stage], 0.0, &stage);
        }
    }
}

/// Distances of a tree of a fixture, and R's tree.
fn tree<'b>(fixture: &Fixture, digits: u32, budget: &'b Budget) -> (Triangle<'b, f64>, Tree) {
    let stage = |name: &str| &fixture.stages[&format!("tree/{digits}/{name}")];
    let counts = stage("distances");
    let count = stage("order").len();
    let scale = f64::from(10_u32.pow(digits));
    let pairs = counts.iter().map(|distance| distance / scale);
    let distances = Triangle::from_pairs(count, pairs, budget).unwrap();
    let merges = stage("merge").as_chunks().0;
    let merges = merges.iter().map(|merge: &[f64; 2]| merge.map(|node| node as i32)).collect();
    let order = stage("order").iter().map(|leaf| *leaf as u32).collect();
    (distances, Tree { merges, heights: stage("height").clone(), order })
}

#[test]
fn trees_are_those_of_r() {
    let budget = Budget::new(MEMORY);
    for fixture in fixtures() {
        for digits in [2, 4] {
            let (mut distances, expected) = tree(&fixture, digits, &budget);
            let ours = average_linkage(&mut distances).unwrap();
            assert_eq!(ours.merges, expected.merges, "{} {digits}", fixture.name);
            assert_eq!(ours.order, expected.order, "{} {digits}", fixture.name);
            assert_eq!(ours.heights, expected.heights, "{} {digits}", fixture.name);
        }
    }
}

fn cut_params(fixture: &Fixture, name: &str, heights: &[f64]) -> CutParams {
    let (min_cluster_size, deep_split) = (fixture.min_size, 2.0);
    let base = CutParams { min_cluster_size, deep_split, ..CutParams::default() };
    match name {
        "fraction" => CutParams { deep_split: 2.5, ..base },
        "low" => {
            let place = (0.6 * heights.len() as f64).floor() as usize;
            CutParams { cut_height: Some(heights[place - 1]), ..base }
        }
        "high" => CutParams { cut_height: Some(2.0 * heights[heights.len() - 1]), ..base },
        "near" => CutParams { max_pam_distance: Some(0.0), ..base },
        "genes alone" => CutParams { respect_small_clusters: false, ..base },
        "tight" => CutParams { max_core_scatter: Some(0.5), min_gap: Some(0.1), ..base },
        "odd" => CutParams { min_cluster_size: 7, deep_split: 3.0, ..base },
        _ => {
            let numbers: Vec<usize> =
                name.split(' ').skip(1).map(|word| word.parse().unwrap()).collect();
            CutParams {
                deep_split: numbers[0] as f64,
                pam_stage: numbers[1] == 1,
                pam_respects_dendro: numbers[2] == 1,
                min_cluster_size: numbers[3],
                ..base
            }
        }
    }
}

#[test]
fn cuts_are_those_of_r() {
    let budget = Budget::new(MEMORY);
    let mut cuts = 0;
    for fixture in fixtures() {
        for digits in [2, 4] {
            let (distances, tree) = tree(&fixture, digits, &budget);
            for (name, _) in fixture.below(&format!("tree/{digits}/cut/")) {
                let stage = format!("tree/{digits}/cut/{name}");
                let params = cut_params(&fixture, name, &tree.heights);
                let ours = cut_tree(&tree, &distances, &params).unwrap();
                assert_eq!(ours, fixture.labels(&stage), "{} {stage}", fixture.name);
                cuts += 1;
            }
        }
    }
    assert!(cuts >= 94, "{cuts}");
}

#[test]
fn eigengenes_and_memberships_are_those_of_r() {
    for fixture in fixtures().iter().filter(|it| it.stages.contains_key("eigengenes/labels")) {
        let (values, samples) = good_values(fixture);
        let expression = Expression::new(&values, samples).unwrap();
        let labels = fixture.labels("eigengenes/labels");
        let ours = eigengenes(&expression, &labels, 2).unwrap();
        let flat: Vec<f64> = ours.iter().flat_map(|module| module.values.clone()).collect();
        let name = &fixture.name;
        let tolerance = if values.iter().any(|x| x.is_nan()) { 1e-9 } else { 1e-10 };
        assert_near(&flat, &fixture.stages["eigengenes/values"], tolerance, name);
        let explained: Vec<f64> = ours.iter().map(|module| module.variance_explained).collect();
        assert_near(&explained, &fixture.stages["eigengenes/explained"], 1e-9, name);
        let of_genes: Vec<f64> = (0..expression.genes())
            .flat_map(|gene| memberships(expression.row(gene), &ours, Measure::Pearson))
            .collect();
        assert_near(&of_genes, &fixture.stages["eigengenes/membership"], 1e-9, name);
    }
}

#[test]
fn merged_modules_are_those_of_r() {
    let budget = Budget::new(MEMORY);
    for fixture in fixtures().iter().filter(|it| it.stages.contains_key("eigengenes/labels")) {
        let (values, samples) = good_values(fixture);
        let expression = Expression::new(&values, samples).unwrap();
        let labels = fixture.labels("eigengenes/labels");
        for (prefix, ties) in [("merged/", TieOrder::Number), ("merged colours/", TieOrder::Colour)]
        {
            for (height, expected) in fixture.below(prefix) {
                let height = height.parse().unwrap();
                let merged = merge_close(&expression, &labels, height, 2, &budget).unwrap();
                let ours = by_size_with(&merged, ties);
                let expected: Vec<u32> = expected.iter().map(|label| *label as u32).collect();
                assert_eq!(ours, expected, "{} {prefix}{height}", fixture.name);
            }
        }
    }
}

#[test]
fn modules_are_those_of_r_from_end_to_end() {
    let budget = Budget::new(MEMORY);
    for fixture in fixtures() {
        let (values, samples) = good_values(&fixture);
        let expression = Expression::new(&values, samples).unwrap();
        let names: Vec<&str> = fixture
            .below("modules/")
            .filter_map(|(name, _)| name.strip_suffix("/labels"))
            .collect();
        for name in names {
            let parts: Vec<&str> = name.split('/').collect();
            let measure = match parts[1] {
                "pearson" => Measure::Pearson,
                _ => Measure::Bicor { max_outliers: 1.0, fallback: Fallback::Individual },
            };
            let network = network(parts[0]);
            let mut r: Triangle<f64> = correlations(&expression, measure, 2, &budget).unwrap();
            let soft = SoftNetwork { network, power: fixture.power, keeps_sign: true };
            soften(&mut r, soft, 2).unwrap();
            let params = OverlapParams::default();
            let mut distances: Triangle<f64> = overlap(&r, params, 2, &budget).unwrap();
            distances.map(2, |overlap| 1.0 - overlap).unwrap();
            let mut work = Triangle::<f64>::from_pairs(
                distances.count(),
                distances.values().iter().copied(),
                &budget,
            )
            .unwrap();
            let tree = average_linkage(&mut work).unwrap();
            let stage = |end: &str| format!("modules/{name}/{end}");
            let what = format!("{} {name}", fixture.name);
            assert_near(&tree.heights, &fixture.stages[&stage("height")], 1e-11, &what);
            let min_cluster_size = fixture.min_size.min(expression.genes() / 2);
            let cut = CutParams {
                cut_height: Some(0.995),
                min_cluster_size,
                deep_split: 3.0,
                pam_respects_dendro: false,
                ..CutParams::default()
            };
            let cut = cut_tree(&tree, &distances, &cut).unwrap();
            let refine_params = RefineParams {
                measure,
                network,
                min_module_size: min_cluster_size,
                reassign_by_column: true,
                merge_height: parts[2].parse().unwrap(),
                ..RefineParams::default()
            };
            let ours = refine(&expression, &cut, &refine_params, 2, &budget).unwrap();
            assert_eq!(ours.unmerged, fixture.labels(&stage("unmerged")), "{what}");
            assert_eq!(ours.labels, fixture.labels(&stage("labels")), "{what}");
            if ours.eigengenes.len() > 1 {
                let order = eigengene_tree(&ours.eigengenes, &budget).unwrap().order;
                let columns = fixture.labels(&stage("columns"));
                let modules: Vec<u32> = columns.into_iter().filter(|label| *label != 0).collect();
                assert_eq!(order, modules, "{what}");
            }
        }
    }
}
