//! Rate of the topological overlap on a synthetic network, in GFLOP/s of N^3 operations: a multiply
//! and an add for each term of each pair above the diagonal.
//!
//! `cargo run --release -p cuesta-modules --example overlap_rate -- [GENES] [THREADS]`
//!
//! The ceiling is NumPy's product of `float64` matrices with as many threads, at 2 N^3 operations:
//! `OMP_NUM_THREADS=2 python -c "import numpy, time; ..."`. A rate from CPU time is that of a
//! machine without other load.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use cuesta_core::Result;
use cuesta_core::budget::Budget;
use cuesta_core::random::Stream;
use cuesta_modules::kernel::overlap::overlap;
use cuesta_modules::kernel::triangle::Triangle;
use cuesta_modules::params::OverlapParams;

/// Number of runs.
const RUNS: usize = 5;

/// Clock ticks per second in `/proc/self/stat`.
const TICKS_PER_S: f64 = 100.0;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: usize| -> usize {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (genes, threads) = (number(0, 4000), number(1, 2));
    let budget = Budget::new(1 << 40);
    let stream = Stream::new(1, 1);
    let pairs = (0..(genes * (genes - 1) / 2) as u64).map(|place| stream.uniform(place));
    let adjacency: Triangle<f64> = Triangle::from_pairs(genes, pairs, &budget)?;
    let operations = (genes as f64).powi(3);
    for _ in 0..RUNS {
        let (start, ticks) = (Instant::now(), cpu_s());
        let overlap: Triangle<f64> =
            overlap(&adjacency, OverlapParams::default(), threads, &budget)?;
        let (elapsed, cpu) = (start.elapsed().as_secs_f64(), cpu_s() - ticks);
        let (rate, cpu_rate) = (operations / elapsed / 1e9, operations / cpu / 1e9);
        let last = overlap.values().last().copied().unwrap_or_default();
        println!("{rate:.1} GFLOP/s, {cpu_rate:.1} a CPU second; {elapsed:.2} s, last {last:.6}");
    }
    Ok(())
}

fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split(' ').collect();
    let ticks = |index: usize| fields.get(index).and_then(|text| text.parse().ok()).unwrap_or(0.0);
    (ticks(12) + ticks(13)) / TICKS_PER_S
}
