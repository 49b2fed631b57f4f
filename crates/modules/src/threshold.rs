//! The workload `threshold`: what a network is like at each cut-off of |r| and at each soft power,
//! without writing its pairs.
//!
//! A pair is an edge at a cut-off if |r|, rounded to millionths as `correlate` has it, reaches it.
//! All cut-offs and powers come from one pass over blocks of the correlations
//! (`kernel/threshold/sweep.rs`), of which none is held. Cost: N^2 S for the correlations, N^2 for
//! each power; memory is the matrix twice, and some counts for each gene and cut-off.

mod random;
pub mod rounds;
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
use crate::kernel::product::block_counts;
use crate::kernel::threshold::edges::edges;
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
    write(request, &answer, &mut response)?;
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
    let plan = Plan::read(request, response)?;
    let resources = (request.threads, &*request.budget);
    let observer = make_observer(plan.input.used_genes())?;
    let flops = plan.flops();
    progress.expect(flops);
    let genes = plan.input.used_genes() as u64;
    let (sweep, states) = timed(response, "sweep", || {
        let expression = plan.input.expression()?;
        Ok((observed_sweep(&expression, &plan.grid, resources, &observer)?, 0, genes))
    })?;
    if let Some(phase) = response.phases.last_mut() {
        phase.flops = flops;
    }
    progress.advance(flops)?;
    let (params, input) = (&plan.params, &plan.input);
    let find_edges = |smallest| {
        let numbers = 0..block_counts(input.used_genes()).1;
        edges(&input.expression()?, params.measure(), smallest, numbers, resources)
    };
    let genes = input.used_genes();
    let random = random::search(request, params, genes, find_edges, (progress, &mut *response))?;
    Ok((plan.answered(sweep, random, response), observer, states))
}

/// Matrix of a run, and the grid of its sweep.
struct Plan<'b> {
    params: ThresholdParams,
    thresholds: Vec<u32>,
    input: ModulesInput<'b>,
    grid: SweepParams,
}

impl<'b> Plan<'b> {
    /// Reads the matrix.
    fn read(request: &'b Request, response: &mut Response) -> Result<Self> {
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
        let grid = SweepParams {
            measure: params.measure(),
            network: params.network,
            powers: TABLE_POWERS.to_vec(),
            cutoffs: thresholds.iter().map(|&threshold| rows::smallest_size(threshold)).collect(),
            counts_scores: false,
        };
        Ok(Self { params, thresholds, input, grid })
    }

    /// Floating-point operations of the correlations.
    fn flops(&self) -> u64 {
        let (genes, samples) = (self.input.used_genes(), self.input.used_samples());
        (genes * genes * samples) as u64
    }

    /// Makes the files of an answer, and counts what is in it.
    fn answered(
        self,
        sweep: Sweep,
        random: Option<RandomSearch<'b>>,
        response: &mut Response,
    ) -> Answer<'b> {
        let input = self.input;
        let (genes, samples) = (input.used_genes(), input.used_samples());
        let networks = self.thresholds.iter().zip(&sweep.cutoffs);
        let rows: Vec<ThresholdRow> = networks
            .map(|(&threshold, network)| ThresholdRow::new(threshold, *network, genes, samples))
            .collect();
        input.report(response);
        report(&rows, &sweep, response);
        let mut files = vec![
            (THRESHOLDS_FILE, thresholds_table(&rows)),
            tables::powers(&sweep.powers),
            tables::left_out(&input.left_out),
        ];
        files.extend(random.as_ref().map(RandomSearch::table));
        Answer { input, sweep, rows, random, files }
    }
}

fn write(request: &Request, answer: &Answer<'_>, response: &mut Response) -> Result<()> {
    timed(response, "write", || {
        let bytes = tables::write(&request.output, &answer.files)?;
        Ok(((), bytes, answer.rows.len() as u64))
    })
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
