//! Rate of the `correlate` kernel on a synthetic matrix, preparation, filter and the computation in
//! double precision included, in GFLOP/s of 2 S n (n - 1) / 2.
//!
//! `cargo run --release --example correlate_rate -- GENES SAMPLES MIN_ABS_SCORE [MISSING] [METHOD] [SLOWER]`
//!
//! SLOWER 1 takes the second fastest vector instructions of the processor, and so on.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::time::Instant;

use cuesta_core::Result;
use cuesta_input::generate::matrix::{Params as Make, matrix};
use cuesta_input::parallel;
use cuesta_network::kernel::correlate::{
    Counts, Isa, Method, Params, Prepared, Scratch, band, bands,
};

/// Runs of which the fastest and the median are shown.
const RUNS: usize = 9;

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
    let method = if spearman { Method::Spearman } else { Method::Pearson };
    let params = Params { method, min_abs_score: number(2, 0.8), min_samples: 30 };
    let matrix = matrix(&make)?;
    let genes = f64::from(make.genes);
    let operations = make.samples as f64 * genes * (genes - 1.0);
    let slower = number(5, 0.0) as usize;
    for isa in Isa::available().into_iter().rev().skip(slower).take(1) {
        let mut seconds = Vec::new();
        let mut total = Counts::default();
        let mut prepared_s = 0.0;
        for _ in 0..RUNS {
            let start = Instant::now();
            let prepared = Prepared::with_isa(&matrix, &params, threads, isa)?;
            prepared_s = start.elapsed().as_secs_f64();
            total = count(&prepared, threads)?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        seconds.sort_by(f64::total_cmp);
        let (best, median) = (seconds[0], seconds[RUNS / 2]);
        println!(
            "{isa:?}: best {best:.4} s, median {median:.4} s, {:.1} GFLOP/s best, {:.1} median, \
             preparation {prepared_s:.4} s, {total:?}",
            operations / best / 1e9,
            operations / median / 1e9,
        );
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
