//! The workload `threshold`: what a network is like at each cut-off of |r| and at each soft power,
//! without writing its pairs.
//!
//! A pair is an edge at a cut-off if |r|, rounded to millionths as `correlate` has it, reaches it.
//! All cut-offs and powers come from one pass over blocks of the correlations
//! (`kernel/threshold/sweep.rs`), of which none is held. Cost: N^2 S for the correlations, N^2 for
//! each power; memory is the matrix twice, and some counts for each gene and cut-off.

mod random;
mod rows;
mod tally;
mod verify;

pub use random::RANDOM_MATRIX_FILE;
pub use rows::ThresholdRow;
pub use verify::verify;

use std::fmt::Write as _;

use cuesta_core::Result;
use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::progress::Progress;

use crate::input::{self, ModulesInput};
use crate::kernel::power::{TABLE_POWERS, estimate};
use crate::kernel::threshold::sweep::{
    BlindSweep, Sweep, SweepObserver, SweepParams, observed_sweep,
};
use crate::params::ThresholdParams;
use crate::stages::FIT;
use crate::tables::{self, File, number};
use random::RandomSearch;

/// Network at each cut-off.
pub const THRESHOLDS_FILE: &str = "thresholds.tsv";

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(request: &Request, progress: &Progress) -> Result<Response> {
    let mut response = Response::default();
    let answer = answer(request, progress, &mut response, |_| Ok(BlindSweep))?.0;
    timed(&mut response, "write", || {
        let bytes = tables::write(&request.output, &answer.files)?;
        Ok(((), bytes, answer.rows.len() as u64))
    })?;
    Ok(response)
}

/// Returns sentences on the layout of the single input, and on doubts about it.
///
/// # Errors
/// As [`input::recognised`].
pub fn recognised(request: &Request) -> Result<Vec<String>> {
    let params: ThresholdParams = parameters(&request.parameters)?;
    input::recognised(request, &params.matrix)
}

struct Answer<'b> {
    input: ModulesInput<'b>,
    sweep: Sweep,
    rows: Vec<ThresholdRow>,
    random: Option<RandomSearch<'b>>,
    files: Vec<File>,
}

/// Computes an answer while an observer, made for the number of genes, looks at the correlations.
fn answer<'b, O: SweepObserver>(
    request: &'b Request,
    progress: &Progress,
    response: &mut Response,
    make_observer: impl FnOnce(usize) -> Result<O>,
) -> Result<(Answer<'b>, O, Vec<O::State>)> {
    let params: ThresholdParams = parameters(&request.parameters)?;
    params.check()?;
    let thresholds = params.thresholds()?;
    let input = input::read(request, &params.matrix, response).map_err(|mut error| {
        // The reader of both workloads names the other one.
        if error.operation == input::OPERATION {
            error.operation = "threshold".to_owned();
        }
        error
    })?;
    let (genes, samples) = (input.used_genes(), input.used_samples());
    let observer = make_observer(genes)?;
    let flops = (genes * genes * samples) as u64;
    progress.expect(flops);
    let grid = SweepParams {
        measure: params.measure(),
        network: params.network,
        powers: TABLE_POWERS.to_vec(),
        cutoffs: thresholds.iter().map(|&threshold| rows::smallest_size(threshold)).collect(),
        counts_scores: false,
    };
    let (sweep, states) = timed(response, "sweep", || {
        let resources = (request.threads, &*request.budget);
        Ok((observed_sweep(&input.expression()?, &grid, resources, &observer)?, 0, genes as u64))
    })?;
    if let Some(phase) = response.phases.last_mut() {
        phase.flops = flops;
    }
    progress.advance(flops)?;
    let networks = thresholds.iter().zip(&sweep.cutoffs);
    let rows: Vec<ThresholdRow> = networks
        .map(|(&threshold, network)| ThresholdRow::new(threshold, *network, genes, samples))
        .collect();
    input.report(response);
    report(&rows, &sweep, response);
    let random = random::search(request, &params, &input, progress, response)?;
    let mut files = vec![
        (THRESHOLDS_FILE, thresholds_table(&rows)),
        tables::powers(&sweep.powers),
        tables::left_out(&input.left_out),
    ];
    files.extend(random.as_ref().map(RandomSearch::table));
    Ok((Answer { input, sweep, rows, random, files }, observer, states))
}

/// Counts the recommended cut-off, in millionths, and power; none where no fit is good.
fn report(rows: &[ThresholdRow], sweep: &Sweep, response: &mut Response) {
    response.counts.insert("cut_offs", rows.len() as u64);
    if let Some(row) = recommended(rows) {
        response.counts.insert("recommended_millionths", u64::from(row.threshold));
        response.counts.insert("edges", row.network.edges);
    }
    if let Some(power) = estimate(&sweep.powers, FIT) {
        response.counts.insert("recommended_power", u64::from(power));
    }
}

/// Returns the smallest cut-off whose network has a good fit to a power law, with few hubs.
pub fn recommended(rows: &[ThresholdRow]) -> Option<&ThresholdRow> {
    let is_good = |row: &&ThresholdRow| {
        let fit = row.network.fit;
        fit.r_squared > FIT && fit.slope < 0.0
    };
    rows.iter().find(is_good)
}

fn thresholds_table(rows: &[ThresholdRow]) -> String {
    let mut text = "threshold\tedges\tdensity\tgenes_with_edges\tcomponents\tlargest_component\t\
                    mean_connectivity\tmedian_connectivity\tmax_connectivity\tr_squared\tslope\tp\t\
                    fdr\n"
        .to_owned();
    for row in rows {
        let network = row.network;
        let edges = network.edges;
        let [genes, components, largest] =
            [network.genes, network.components, network.largest_component];
        let fit = network.fit;
        let values = [
            network.mean,
            network.median,
            network.largest,
            fit.r_squared,
            fit.slope,
            row.p,
            row.fdr,
        ];
        let threshold = f64::from(row.threshold) / 1e6;
        let density = number(row.density);
        let _ = writeln!(
            text,
            "{threshold}\t{edges}\t{density}\t{genes}\t{components}\t{largest}\t{}",
            values.map(number).join("\t")
        );
    }
    text
}
