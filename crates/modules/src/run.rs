//! Runs the workload `modules`: reads a matrix, computes its modules, and writes them.

use cuesta_core::Result;
use cuesta_core::job::{Request, Response, parameters, timed};
use cuesta_core::progress::Progress;
use cuesta_core::statistics::{q_values, student_p_value};

use crate::input::{self, ModulesInput};
use crate::kernel::membership::memberships;
use crate::params::{Measure, ModulesParams};
use crate::stages::{self, Blind, Job, Observer, Outcome};
use crate::tables::{self, Association, File};
use crate::traits::{self, Traits};

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(request: &Request, progress: &Progress) -> Result<Response> {
    let mut response = Response::default();
    let answer = answer(request, progress, &mut response, &mut Blind)?;
    timed(&mut response, "write", || {
        let bytes = tables::write(&request.output, &answer.files)?;
        Ok(((), bytes, answer.input.genes.len() as u64))
    })?;
    Ok(response)
}

/// Returns sentences on the layout of the single input, and on doubts about it.
///
/// # Errors
/// As [`input::recognised`].
pub fn recognised(request: &Request) -> Result<Vec<String>> {
    let params: ModulesParams = parameters(&request.parameters)?;
    input::recognised(request, &params.matrix)
}

/// Answer with its input.
pub struct Answer<'b> {
    /// Genes and samples.
    pub input: ModulesInput<'b>,
    /// Modules.
    pub outcome: Outcome,
    /// Traits of the samples that are used.
    pub traits: Option<Traits>,
    /// Correlations of eigengenes and traits.
    pub associations: Vec<Association>,
    /// Files.
    pub files: Vec<File>,
}

/// Computes an answer, and counts it.
///
/// # Errors
/// `Input`, `System`, `Cancelled`; those of the observer.
pub fn answer<'b>(
    request: &'b Request,
    progress: &Progress,
    response: &mut Response,
    observer: &mut impl Observer,
) -> Result<Answer<'b>> {
    let params: ModulesParams = parameters(&request.parameters)?;
    params.check()?;
    let input = input::read(request, &params.matrix, response)?;
    let traits = read_traits(request, &params, &input)?;
    let mut job = Job { request, progress, response };
    let settings = (&params, input.samples.len());
    let outcome = stages::modules(&input.expression()?, settings, &mut job, observer)?;
    let associations = match &traits {
        Some(traits) => associations(&outcome, traits),
        None => Vec::new(),
    };
    let mut files = tables::of_modules(&input, &outcome);
    let mut left_out = input.left_out.clone();
    if !outcome.powers.is_empty() {
        files.push(tables::powers(&outcome.powers));
    }
    if let Some(traits) = &traits {
        files.push(tables::traits(&traits.names, &associations));
        left_out.extend(traits.left_out.iter().cloned());
    }
    files.push(tables::left_out(&left_out));
    input.report(response);
    report(&outcome, response);
    Ok(Answer { input, outcome, traits, associations, files })
}

fn report(outcome: &Outcome, response: &mut Response) {
    let labels = &outcome.modules.labels;
    let size = |label: u32| labels.iter().filter(|it| **it == label).count() as u64;
    response.counts.insert("modules", outcome.modules.eigengenes.len() as u64);
    response.counts.insert("genes_in_modules", labels.len() as u64 - size(0));
    response.counts.insert("largest_module", size(1));
    response.counts.insert("power", u64::from(outcome.power));
    let of_cut = outcome.cut.iter().max().copied().unwrap_or(0);
    response.counts.insert("branches", u64::from(of_cut));
}

/// Reads the traits over the used samples, if there are any.
fn read_traits(
    request: &Request,
    params: &ModulesParams,
    input: &ModulesInput,
) -> Result<Option<Traits>> {
    let Some(path) = &params.traits else { return Ok(None) };
    let mut traits = traits::read(path.as_ref(), &input.samples, &params.matrix, &request.budget)?;
    for values in &mut traits.values {
        let mut used = input.is_used.iter();
        values.retain(|_| *used.next().unwrap_or(&false));
    }
    Ok(Some(traits))
}

/// Correlates each eigengene with each trait, by Pearson over the samples that have the trait.
fn associations(outcome: &Outcome, traits: &Traits) -> Vec<Association> {
    let modules = &outcome.modules.eigengenes;
    let of_traits: Vec<Vec<f64>> =
        traits.values.iter().map(|values| memberships(values, modules, Measure::Pearson)).collect();
    let mut rows = Vec::with_capacity(modules.len() * of_traits.len());
    for (place, module) in modules.iter().enumerate() {
        for (trait_number, values) in traits.values.iter().enumerate() {
            let n = values.iter().filter(|value| !value.is_nan()).count();
            let r = of_traits[trait_number][place];
            let p = student_p_value(r, n);
            rows.push(Association { module: module.label, trait_number, r, p, q: f64::NAN, n });
        }
    }
    let p_values: Vec<f64> = rows.iter().map(|row| row.p).collect();
    for (row, q) in rows.iter_mut().zip(q_values(&p_values)) {
        row.q = q;
    }
    rows
}
