//! Rate of the `correlate` kernel on a synthetic matrix, including preparation, filter and the
//! computation of the scores, in GFLOP/s of 2 S n (n - 1) / 2.
//!
//! `cargo run --release -p cuesta-network --example correlate_rate -- GENES SAMPLES MIN_ABS_SCORE
//! [MISSING] [METHOD] [SLOWER]`
//!
//! SLOWER 1 uses the second fastest vector instructions of the processor, and so on. The CPU time
//! of a run, divided by the number of threads, is its time on a machine without other load.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::time::Instant;

use cuesta_core::Result;
use cuesta_input::generate::matrix::{Params as Make, matrix};
use cuesta_network::kernel::correlate::{
    CorrelationMethod, Counts, Isa, Params, Prepared, Scratch, band, bands,
};
use cuesta_runtime::parallel;

/// Minimum number of runs, and seconds after which no further run begins.
const RUNS_MIN: usize = 7;
const SECONDS: f64 = 3.0;

/// Clock ticks per second in `/proc/self/stat`.
const TICKS_PER_S: f64 = 100.0;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: f64| -> f64 {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
    let make = Make {
        output: PathBuf::new(),
        genes: number(0, 6830.0) as u32,
        samples: number(1, 64.0) as usize,
        modules: 20,
        missing: number(3, 0.0),
        seed: 1,
        threads,
    };
    let spearman = arguments.get(4).is_some_and(|text| text == "spearman");
    let method = if spearman { CorrelationMethod::Spearman } else { CorrelationMethod::Pearson };
    let params = Params { method, min_abs_score: number(2, 0.8), min_samples: 30 };
    let matrix = matrix(&make)?;
    let available = Isa::available();
    let isa = available[available.len().saturating_sub(1 + number(5, 0.0) as usize)];
    let mut seconds = Vec::new();
    let mut total = Counts::default();
    let (begin, cpu_begin) = (Instant::now(), cpu_s());
    while seconds.len() < RUNS_MIN || begin.elapsed().as_secs_f64() < SECONDS {
        let start = Instant::now();
        let prepared = Prepared::with_isa(&matrix, &params, threads, isa)?;
        total = count(&prepared, threads)?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    let cpu = (cpu_s() - cpu_begin) / seconds.len() as f64 / threads as f64;
    seconds.sort_by(f64::total_cmp);
    let genes = f64::from(make.genes);
    let operations = make.samples as f64 * genes * (genes - 1.0);
    println!("{isa:?}, {threads} threads, {total:?}");
    for (name, seconds) in
        [("best", seconds[0]), ("median", seconds[seconds.len() / 2]), ("CPU / threads", cpu)]
    {
        println!("{name}: {seconds:.4} s, {:.1} GFLOP/s", operations / seconds / 1e9);
    }
    Ok(())
}

fn count(prepared: &Prepared, threads: usize) -> Result<Counts> {
    let bands = bands(prepared.genes(), 16 * threads);
    let worker = || (Scratch::default(), Vec::new(), Counts::default());
    let work = |(scratch, out, counts): &mut (Scratch, Vec<_>, Counts), task: usize| {
        out.clear();
        *counts += band(prepared, bands[task].clone(), scratch, out);
        Ok(())
    };
    let workers = parallel::run(threads, bands.len(), worker, work, |_| {})?;
    Ok(workers.into_iter().fold(Counts::default(), |mut sum, worker| {
        sum += worker.2;
        sum
    }))
}

/// Returns the CPU seconds of this process, or 0 if the system does not report them.
fn cpu_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name.split_whitespace().skip(11).take(2);
    ticks.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS_PER_S
}
