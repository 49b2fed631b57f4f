//! Table of the pairs of `correlate` with p- and q-values, made of the answer of any engine.

use cuesta_core::fixed::{append_integer, append_text};
use cuesta_core::job::{Context, Response, timed};
use cuesta_core::score_counts::p_value;
use cuesta_core::{Error, Result};
use cuesta_runtime::atomic_file;
use cuesta_runtime::ordered::OrderedFile;

use super::edges::{Edge, EdgeSource};
use crate::kernel::differential::numeral;
use crate::params::CorrelateParams;
use crate::run::correlate::{Presence, TestedPairs, read};

/// First line of the table.
const HEADER: &str = "gene1\tgene2\tname1\tname2\tscore\tsamples\tp\tq";

/// Writes the table next to the pairs in the folder of the answer.
///
/// # Errors
/// `Input` for an answer of another matrix, or if memory is short; `System`; `Cancelled`.
pub fn write(
    context: &Context<'_>,
    params: &CorrelateParams,
    response: &mut Response,
) -> Result<()> {
    let matrix = read(context, params)?;
    let (samples, genes) = (matrix.samples().len() as u64, matrix.genes().len() as u64);
    let tested = timed(response, "test", || {
        let tested = TestedPairs::of(context, params, &matrix)?;
        let pairs = tested.counts.pairs();
        Ok((tested, 0, pairs))
    })?;
    if let Some(phase) = response.phases.last_mut() {
        phase.flops = samples * genes * genes.saturating_sub(1);
    }
    response.counts.insert("pairs_tested", tested.counts.pairs());
    timed(response, "write p-values", || {
        let least = params.kernel(matrix.samples().len()).min_abs_micro();
        let q_values = tested.counts.q_values(least.unsigned_abs() as usize);
        let presence = Presence::of(&matrix);
        let name_of = |gene: u32| matrix.genes().get(gene as usize - 1).ok_or_else(foreign);
        let append = |text: &mut Vec<u8>, _: u64, edge: Edge| {
            let names = [name_of(edge.gene1)?, name_of(edge.gene2)?];
            let common = presence.common(edge.gene1, edge.gene2) as usize;
            let q = q_values.of_millionths(edge.score, common);
            if q.is_nan() {
                return Err(foreign());
            }
            for gene in [edge.gene1, edge.gene2] {
                append_integer(u64::from(gene), text);
                text.push(b'\t');
            }
            for name in names {
                text.extend_from_slice(name.as_bytes());
                text.push(b'\t');
            }
            append_text(edge.score, text);
            let p = p_value(f64::from(edge.score) / 1e6, common);
            let numbers = format!("\t{common}\t{}\t{}\n", numeral(p), numeral(q));
            text.extend_from_slice(numbers.as_bytes());
            Ok(())
        };
        let path = context.request.output.join(super::EDGES_FILE);
        let bytes = atomic_file::write(&path, |partial| {
            let out = OrderedFile::create(partial)?;
            out.finish_task(0, &mut format!("{HEADER}\n").into_bytes())?;
            EdgeSource::of_correlate(context, params)?.to_text(&out, &[], append)?;
            out.close()
        })?;
        Ok(((), bytes, 0))
    })
}

fn foreign() -> Error {
    let text = "the answer has a pair that its matrix does not have; run the workload again";
    Error::input("correlate", text)
}
