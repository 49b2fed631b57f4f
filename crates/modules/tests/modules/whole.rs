//! `blockwiseModules` and `pickSoftThreshold` of R from the matrix to the end.
//!
//! `MODULES_FIXTURES=FOLDER cargo test -p cuesta-modules --test whole -- --nocapture` compares
//! large inputs that `tools/modules_oracle.py --whole` has prepared, and prints the figures.

use crate::common::{Fixture, assert_near, fixtures, network};
use cuesta_core::budget::Budget;
use cuesta_modules::kernel::blockwise::{BlockwiseModules, blockwise_modules};
use cuesta_modules::kernel::correlate::correlations;
use cuesta_modules::kernel::expression::Expression;
use cuesta_modules::kernel::merge::eigengene_tree;
use cuesta_modules::kernel::power::{TABLE_POWERS, estimate, table};
use cuesta_modules::kernel::triangle::Triangle;
use cuesta_modules::params::{
    BlockwiseParams, CutParams, Fallback, Measure, NetworkType, RefineParams,
};

const MEMORY: u64 = 16 << 30;

/// Adjusted Rand index of two labellings.
fn agreement(a: &[u32], b: &[u32]) -> f64 {
    let pairs = |counts: &mut dyn Iterator<Item = usize>| -> f64 {
        counts.map(|n| (n * n.saturating_sub(1) / 2) as f64).sum()
    };
    let size = |labels: &[u32]| labels.iter().max().map_or(0, |most| *most as usize + 1);
    let (rows, columns) = (size(a), size(b));
    let mut cells = vec![0_usize; rows * columns];
    a.iter().zip(b).for_each(|(&i, &j)| cells[i as usize * columns + j as usize] += 1);
    let both = pairs(&mut cells.iter().copied());
    let of_a = pairs(&mut cells.chunks(columns).map(|row| row.iter().sum()));
    let of_b = pairs(&mut (0..columns).map(|j| cells.iter().skip(j).step_by(columns).sum()));
    let all = pairs(&mut std::iter::once(a.len()));
    let expected = of_a * of_b / all;
    let most = (of_a + of_b) / 2.0;
    if most == expected { 1.0 } else { (both - expected) / (most - expected) }
}

fn params(name: &str, fixture: &Fixture) -> BlockwiseParams {
    let parts: Vec<&str> = name.split('/').collect();
    let measure = match parts[0] {
        "pearson" => Measure::Pearson,
        _ => Measure::Bicor { max_outliers: 1.0, fallback: Fallback::Individual },
    };
    let base = BlockwiseParams::default();
    BlockwiseParams {
        measure,
        network: network(parts[1]),
        power: parts[2].parse().unwrap(),
        min_module_size: Some(parts[3].parse().unwrap()),
        cut: CutParams { deep_split: parts[4].parse().unwrap(), ..base.cut },
        refine: RefineParams {
            reassign_by_column: true,
            p_value_samples: Some(fixture.samples),
            ..base.refine
        },
        ..base
    }
}

/// Smallest size of the correlations of our eigengenes with those of R of the same label.
fn eigengenes_agree(fixture: &Fixture, name: &str, ours: &BlockwiseModules) -> f64 {
    let columns = fixture.stages.get(&format!("whole/{name}/columns"));
    let columns = columns.cloned().unwrap_or_default();
    let mut least = 1.0_f64;
    for (place, label) in columns.iter().enumerate().filter(|(_, label)| **label > 0.0) {
        let all = &fixture.stages[&format!("whole/{name}/eigengenes")];
        let theirs = &all[place * fixture.samples..][..fixture.samples];
        let module = &ours.eigengenes[*label as usize - 1];
        let both = module.values.iter().zip(theirs).filter(|(x, _)| !x.is_nan());
        least = least.min(both.map(|(x, y)| x * y).sum::<f64>().abs());
    }
    least
}

#[test]
fn modules_of_a_whole_matrix_are_those_of_r() {
    let budget = Budget::new(MEMORY);
    let mut compared = 0;
    for fixture in fixtures() {
        let expression = Expression::new(&fixture.values, fixture.samples).unwrap();
        let names: Vec<&str> =
            fixture.below("whole/").filter_map(|(name, _)| name.strip_suffix("/labels")).collect();
        for name in names {
            let params = params(name, &fixture);
            let ours = blockwise_modules::<f64, f64>(&expression, &params, 2, &budget).unwrap();
            let (labels, unmerged) = (
                fixture.labels(&format!("whole/{name}/labels")),
                fixture.labels(&format!("whole/{name}/unmerged")),
            );
            let count = |labels: &[u32]| labels.iter().copied().max().unwrap_or(0);
            let (rand, before) =
                (agreement(&ours.labels, &labels), agreement(&ours.unmerged, &unmerged));
            let what = format!("{} {name}", fixture.name);
            let (here, there) = (count(&ours.labels), count(&labels));
            if let Some(heights) = fixture.stages.get(&format!("whole/{name}/height")) {
                assert_near(&ours.blocks[0].tree.heights, heights, 1e-10, &what);
            }
            let different = ours.labels.iter().zip(&labels).filter(|(a, b)| a != b).count();
            let least = if here == there { eigengenes_agree(&fixture, name, &ours) } else { 0.0 };
            println!(
                "{what}: modules {here} {there}, Rand {rand:.6}, before merging {before:.6}, \
                 other labels {different}, eigengenes {least:.10}"
            );
            assert_eq!(here, there, "{what}");
            assert!(rand >= 0.99 && before >= 0.99, "{what}: {rand}, {before}");
            assert!(least >= 0.9999, "{what}: {least}");
            if here > 1 && labels == ours.labels {
                let order = eigengene_tree(&ours_complete(&ours), &budget).unwrap().order;
                let columns = fixture.labels(&format!("whole/{name}/columns"));
                let columns: Vec<u32> = columns.into_iter().filter(|label| *label > 0).collect();
                assert_eq!(order, columns, "{what}");
            }
            compared += 1;
        }
    }
    println!("{compared} compared");
}

/// Eigengenes over the good samples.
fn ours_complete(ours: &BlockwiseModules) -> Vec<cuesta_modules::kernel::eigengene::Eigengene> {
    let mut modules = ours.eigengenes.clone();
    modules.iter_mut().for_each(|module| module.values.retain(|value| !value.is_nan()));
    modules
}

#[test]
fn tables_of_powers_of_a_whole_matrix_are_those_of_r() {
    let budget = Budget::new(MEMORY);
    for fixture in fixtures() {
        let expression = Expression::new(&fixture.values, fixture.samples).unwrap();
        let r: Triangle<f64> = correlations(&expression, Measure::Pearson, 2, &budget).unwrap();
        for (name, kind) in [
            ("unsigned", NetworkType::Unsigned),
            ("signed", NetworkType::Signed),
            ("signed hybrid", NetworkType::SignedHybrid),
        ] {
            let stage = |column: &str| fixture.stages.get(&format!("whole power/{name}/{column}"));
            let Some(fits) = stage("SFT.R.sq") else { continue };
            let rows = table(&r, kind, &TABLE_POWERS, 2).unwrap();
            let what = format!("{} {name}", fixture.name);
            let check = |column: &str, ours: Vec<f64>| {
                assert_near(&ours, stage(column).unwrap(), 1e-9, &format!("{what} {column}"));
            };
            check("slope", rows.iter().map(|row| row.fit.slope).collect());
            check("truncated.R.sq", rows.iter().map(|row| row.fit.truncated_r_squared).collect());
            let sizes: Vec<f64> = rows.iter().map(|row| row.mean).collect();
            let largest = sizes[0];
            assert_near(&sizes, stage("mean.k.").unwrap(), 1e-9 * largest.max(1.0), &what);
            check("SFT.R.sq", rows.iter().map(|row| row.fit.r_squared).collect());
            let chosen = estimate(&rows, 0.85).map_or(f64::NAN, f64::from);
            assert_near(&[chosen], stage("estimate").unwrap(), 0.0, &what);
            let most = rows.iter().zip(fits).map(|(a, b)| (a.fit.r_squared - b).abs());
            println!("{what}: fit indices within {:.1e}", most.fold(0.0, f64::max));
        }
    }
}
