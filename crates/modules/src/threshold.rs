//! The workload `threshold`: what a network is like at each cut-off of |r| and at each soft power,
//! without writing its pairs.
//!
//! A pair is an edge at a cut-off if |r|, rounded to millionths as `correlate` has it, reaches it.
//! Cost: N^2 S for the correlations, N^2 for each power; memory is a triangle of pairs.

mod network;

pub use network::{ThresholdRow, sweep};

use std::fmt::Write as _;

use cuesta_core::digest::{Digest, Tag};
use cuesta_core::job::{Request, Response, Verdict, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result, budget::human};

use crate::input::{self, ModulesInput};
use crate::kernel::correlate::correlations;
use crate::kernel::power::{PowerRow, TABLE_POWERS, estimate, table};
use crate::params::{NetworkType, ThresholdParams};
use crate::reference;
use crate::stages::{FIT, Pairs};
use crate::tables::{self, File, number};
use crate::verify::definitions as plain;

/// Network at each cut-off.
pub const THRESHOLDS_FILE: &str = "thresholds.tsv";

const TAG: Tag = Tag::Named(*b"threshol");
const METHOD: &str = "correlations, degrees and components from their definitions, and the \
                      distribution of Student by its finite series";
/// Genes up to which all cut-offs and powers are verified; beyond, one in sixteen.
const ALL_GENES: usize = 400;
const TOLERANCE: f64 = 1e-9;

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(request: &Request, progress: &Progress) -> Result<Response> {
    let mut response = Response::default();
    let answer = answer(request, progress, &mut response)?;
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
    pairs: Pairs<'b>,
    rows: Vec<ThresholdRow>,
    powers: Vec<PowerRow>,
    files: Vec<File>,
}

fn answer<'b>(
    request: &'b Request,
    progress: &Progress,
    response: &mut Response,
) -> Result<Answer<'b>> {
    let params: ThresholdParams = parameters(&request.parameters)?;
    params.check()?;
    let thresholds = params.thresholds()?;
    let input = input::read(request, &params.matrix, response)?;
    let genes = input.used_genes();
    check_memory(genes, request)?;
    let amount = (genes * genes) as u64;
    progress.expect(3 * amount);
    let pairs: Pairs<'b> = timed(response, "correlate", || {
        let expression = input.expression()?;
        let threads = request.threads;
        Ok((correlations(&expression, params.measure(), threads, &request.budget)?, 0, amount))
    })?;
    progress.advance(amount)?;
    let samples = input.used_samples();
    let rows =
        timed(response, "cut-offs", || Ok((sweep(&pairs, &thresholds, samples), 0, amount)))?;
    progress.advance(amount)?;
    let powers = timed(response, "powers", || {
        Ok((table(&pairs, params.network, &TABLE_POWERS)?, 0, amount))
    })?;
    progress.advance(amount)?;
    input.report(response);
    report(&rows, &powers, response);
    let files = vec![
        (THRESHOLDS_FILE, thresholds_table(&rows)),
        tables::powers(&powers),
        tables::left_out(&input.left_out),
    ];
    Ok(Answer { input, pairs, rows, powers, files })
}

fn check_memory(genes: usize, request: &Request) -> Result<()> {
    let need_bytes = (4 * genes * genes.saturating_sub(1)) as u64;
    if need_bytes <= request.budget.free_bytes() {
        return Ok(());
    }
    let (need, free) = (human(need_bytes), human(request.budget.free_bytes()));
    let text = format!(
        "the pairs of {genes} genes need {need}, {free} are left; raise --memory, or keep fewer \
         genes with --top-variable"
    );
    Err(Error::input("memory", text))
}

/// Counts the recommended cut-off, in millionths, and power; none where no fit is good.
fn report(rows: &[ThresholdRow], powers: &[PowerRow], response: &mut Response) {
    response.counts.insert("cut_offs", rows.len() as u64);
    if let Some(row) = recommended(rows) {
        response.counts.insert("recommended_millionths", u64::from(row.threshold));
        response.counts.insert("edges", row.edges);
    }
    if let Some(power) = estimate(powers, FIT) {
        response.counts.insert("recommended_power", u64::from(power));
    }
}

/// Returns the smallest cut-off whose network has a good fit to a power law, with few hubs.
pub fn recommended(rows: &[ThresholdRow]) -> Option<&ThresholdRow> {
    rows.iter().find(|row| row.r_squared > FIT && row.slope < 0.0)
}

fn thresholds_table(rows: &[ThresholdRow]) -> String {
    let mut text = "threshold\tedges\tdensity\tgenes_with_edges\tcomponents\tlargest_component\t\
                    mean_connectivity\tmedian_connectivity\tmax_connectivity\tr_squared\tslope\tp\t\
                    fdr\n"
        .to_owned();
    for row in rows {
        let counts = [row.edges, row.genes_with_edges, row.components, row.largest_component];
        let [edges, genes, components, largest] = counts;
        let values =
            [row.mean, row.median, row.max as f64, row.r_squared, row.slope, row.p, row.fdr];
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

/// Verifies the answer in `request.output`: the tables are made again, held against definitions,
/// and compared with those of the answer byte for byte.
///
/// # Errors
/// `Input` when the inputs cannot be read; `System`; `Cancelled`.
pub fn verify(request: &Request, progress: &Progress) -> Result<Verdict> {
    let params: ThresholdParams = parameters(&request.parameters)?;
    let mut response = Response::default();
    let answer = answer(request, progress, &mut response)?;
    let expected = tables::digest(TAG, &answer.files);
    let difference = tables::first_difference(&request.output, &answer.files)?;
    let actual = if difference.is_none() { expected } else { Digest::default() };
    let names: Vec<&'static str> = answer.files.iter().map(|(name, _)| *name).collect();
    let mut verdict = Verdict::new(actual, expected, METHOD).covers(&names);
    if let Some(name) = difference {
        verdict.require(false, &format!("{name} is not that of the matrix"));
    }
    if let Some(fault) = fault(&answer, &params)? {
        verdict.require(false, &fault);
    }
    verdict.counts.insert("cut_offs", answer.rows.len() as u64);
    Ok(verdict)
}

/// Returns the fault of a sweep, if it has one.
fn fault(answer: &Answer<'_>, params: &ThresholdParams) -> Result<Option<String>> {
    let expression = answer.input.expression()?;
    let (genes, measure) = (expression.genes(), params.measure());
    for i in 0..genes {
        // All partners of a few genes, the next ones of many.
        let last = if genes <= ALL_GENES { genes } else { genes.min(i + 3) };
        for j in i + 1..last {
            let r = reference::correlation(expression.row(i), expression.row(j), measure);
            if !is_near(r, answer.pairs.get(i, j)) {
                return Ok(Some(format!("the correlation of genes {} and {}", i + 1, j + 1)));
            }
        }
    }
    let is_checked = |place: usize| genes <= ALL_GENES || place.is_multiple_of(16);
    for (place, row) in answer.rows.iter().enumerate().filter(|(place, _)| is_checked(*place)) {
        if !network::is_right(&answer.pairs, row, answer.input.used_samples()) {
            return Ok(Some(format!("cut-off number {}", place + 1)));
        }
    }
    for (_, row) in answer.powers.iter().enumerate().filter(|(place, _)| is_checked(*place)) {
        if !is_right_power(&answer.pairs, params.network, row) {
            return Ok(Some(format!("the fit of power {}", row.power)));
        }
    }
    Ok(None)
}

fn is_right_power(pairs: &Pairs<'_>, network: NetworkType, row: &PowerRow) -> bool {
    let k = plain::connectivity(pairs, network, row.power);
    let (r_squared, slope) = plain::fit(&k);
    is_near(plain::mean(&k), row.mean)
        && is_near(k.iter().copied().fold(0.0, f64::max), row.largest)
        && (is_near(r_squared, row.fit.r_squared) || r_squared.is_nan())
        && (is_near(slope, row.fit.slope) || slope.is_nan())
}

/// Whether two figures are the same, or both missing.
pub(crate) fn is_near(a: f64, b: f64) -> bool {
    a.is_nan() && b.is_nan() || (a - b).abs() <= TOLERANCE * (1.0 + a.abs())
}
