//! Time and rate of each stage of modules on synthetic genes.
//!
//! `cargo run --release -p cuesta-modules --example rates -- [GENES] [SAMPLES] [THREADS] [STAGES]`
//!
//! `STAGES` are the words `ceiling`, `correlations`, `missing`, `sweep`, `modules` and `small`,
//! with commas; all but `small`, which stores 32 bits, by default. Rates count a multiplication and
//! an addition for each term of each pair above the diagonal. The ceiling is the same kernel on a
//! block in the first cache, on one thread. A rate from CPU time is that of a machine without other
//! load.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::random::Stream;
use cuesta_modules::kernel::adjacency::{SoftNetwork, soften};
use cuesta_modules::kernel::correlate::correlations;
use cuesta_modules::kernel::cut::cut_tree;
use cuesta_modules::kernel::expression::Expression;
use cuesta_modules::kernel::linkage::average_linkage;
use cuesta_modules::kernel::merge::refine;
use cuesta_modules::kernel::overlap::distances;
use cuesta_modules::kernel::power::TABLE_POWERS;
use cuesta_modules::kernel::product::hot_block;
use cuesta_modules::kernel::threshold::sweep::{SweepParams, sweep};
use cuesta_modules::kernel::triangle::{Similarity32, StoredNumber, Triangle};
use cuesta_modules::params::{BlockwiseParams, Measure, NetworkType};

/// Clock ticks per second in `/proc/self/stat`.
const TICKS_PER_S: f64 = 100.0;

/// Repetitions of the product of a block.
const REPEATS: usize = 100_000;

/// Profiles of the genes.
const PROFILES: u64 = 40;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: usize| -> usize {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (genes, samples, threads) = (number(0, 4000), number(1, 500), number(2, 2));
    let all = "ceiling,correlations,missing,sweep,modules";
    let stages = arguments.get(3).map_or(all, String::as_str);
    let budget = Budget::new(1 << 40);
    let values = values(genes, samples, 0.0);
    let expression = Expression::new(&values, samples)?;
    let operations = (genes as f64).powi(2) * samples as f64;
    for stage in stages.split(',') {
        match stage {
            "ceiling" => {
                let operations = hot_block(1).0 * REPEATS as f64;
                let (_, sum) = timed("ceiling", operations, || Ok(hot_block(REPEATS)))?;
                println!("sum {sum}");
            }
            "correlations" => {
                let r: Triangle<f64> = timed("correlations", operations, || {
                    correlations(&expression, Measure::Pearson, threads, &budget)
                })?;
                drop(r);
            }
            "missing" => {
                let values = self::values(genes, samples, 0.01);
                let expression = Expression::new(&values, samples)?;
                let r: Triangle<f64> = timed("correlations, 1 % missing", operations, || {
                    correlations(&expression, Measure::Pearson, threads, &budget)
                })?;
                drop(r);
            }
            "sweep" => {
                let params = SweepParams {
                    measure: Measure::Pearson,
                    network: NetworkType::Signed,
                    powers: TABLE_POWERS.to_vec(),
                    cutoffs: (10..100).map(|step| f64::from(step) / 100.0).collect(),
                    counts_scores: true,
                };
                timed("sweep", operations, || sweep(&expression, &params, threads, &budget))?;
            }
            "small" => modules::<f32, Similarity32>(&expression, threads, &budget)?,
            _ => modules::<f64, f64>(&expression, threads, &budget)?,
        }
        println!("peak memory {:.2} GiB", peak_gib());
    }
    Ok(())
}

fn modules<A: StoredNumber, D: StoredNumber>(
    expression: &Expression,
    threads: usize,
    budget: &Budget,
) -> Result<()> {
    let genes = expression.genes() as f64;
    let operations = genes * genes * expression.samples() as f64;
    let params = BlockwiseParams::default();
    let mut adjacency: Triangle<A> = timed("correlations", operations, || {
        correlations(expression, params.measure, threads, budget)
    })?;
    let soft = SoftNetwork { network: params.network, power: params.power, keeps_sign: true };
    timed("adjacency", 0.0, || soften(&mut adjacency, soft, threads))?;
    let distances: Triangle<D> = timed("overlap", genes.powi(3), || {
        distances(&adjacency, (params.overlap, params.suppressed), threads, budget)
    })?;
    drop(adjacency);
    let mut work = distances.copy(budget, "the distances of clusters")?;
    let tree = timed("linkage", 0.0, || average_linkage(&mut work))?;
    drop(work);
    let labels = timed("cut", 0.0, || cut_tree(&tree, &distances, &params.cut))?;
    drop(distances);
    let modules =
        timed("refine", 0.0, || refine(expression, &labels, &params.refine, threads, budget))?;
    println!("{} modules", modules.eigengenes.len());
    Ok(())
}

fn timed<R>(stage: &str, operations: f64, work: impl FnOnce() -> Result<R>) -> Result<R> {
    let (start, ticks) = (Instant::now(), cpu_s());
    let result = work()?;
    let (elapsed, cpu) = (start.elapsed().as_secs_f64(), cpu_s() - ticks);
    let (rate, cpu_rate) = (operations / elapsed / 1e9, operations / cpu / 1e9);
    println!("{stage}: {elapsed:.2} s, {cpu:.2} CPU s, {rate:.1} GFLOP/s, {cpu_rate:.1} a CPU s");
    Ok(result)
}

/// Genes that follow a profile to some part, and miss some values.
fn values(genes: usize, samples: usize, missing: f64) -> Vec<f64> {
    let profiles: Vec<Vec<f64>> = (0..PROFILES)
        .map(|i| (0..samples as u64).map(|sample| Stream::new(2, i).normal(sample)).collect())
        .collect();
    let (noise, holes, draw) = (Stream::new(1, 1), Stream::new(1, 2), Stream::new(1, 3));
    let value = |place: usize| {
        let (gene, sample) = (place / samples, place % samples);
        if missing > 0.0 && holes.uniform(place as u64) < missing {
            return f64::NAN;
        }
        let profile = &profiles[draw.below(gene as u64, PROFILES) as usize];
        1.5 * draw.uniform((genes + gene) as u64) * profile[sample] + noise.normal(place as u64)
    };
    (0..genes * samples).map(value).collect()
}

fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let ticks = |index: usize| fields.get(index).and_then(|text| text.parse().ok()).unwrap_or(0.0);
    (ticks(12) + ticks(13)) / TICKS_PER_S
}

fn peak_gib() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    let kib = line.split_whitespace().nth(1).and_then(|text| text.parse::<f64>().ok());
    kib.unwrap_or(0.0) / f64::from(1 << 20)
}
