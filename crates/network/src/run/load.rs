//! `load`: from gene-pair text to the binary pair matrix.

use cuesta_core::job::{Context, Response, timed};
use cuesta_core::{Error, Result};
use cuesta_input::pair_matrix::{Masks, Need, RowBatch, Writer, WriterOptions};
use cuesta_input::{Filter, GeneNames};

use super::annotate::read_names;
use super::degrees::check_gene;
use super::pairs::{Pairs, SelectedRow, Visitor, total};
use crate::params::{LoadParams, check_genes};

/// Name of the answer folder.
pub const PAIRS_FOLDER: &str = "pairs.zarr";

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(context: &Context<'_>) -> Result<Response> {
    let params: LoadParams = context.parameters()?;
    check_genes(params.genes)?;
    let request = context.request;
    let mut response = Response::default();
    let pairs = timed(&mut response, "open", || {
        Ok((Pairs::open(&request.inputs, &Filter::EVERYTHING, Need::Row)?, 0, 0))
    })?;
    let names = read_names(context, &mut response)?;
    let names = names.as_ref().map(|names| &names.names);
    let options = options(context, (&params, names), &pairs)?;
    let _lease = context.budget.take(size_bytes(&options.gene_names), "the names of the genes")?;
    let writer = Writer::create(&request.output.join(PAIRS_FOLDER), options, context.budget)?;
    timed(&mut response, "read", || {
        let visitor = Visitor {
            keep: &|batch: &mut RowBatch, _, row| push((&params, names), batch, row),
            flush: &|batch, part, last| writer.push_part(part, batch, last),
            on_error: &|part| writer.fail_part(part),
        };
        let make = || writer.batch();
        let workers = pairs.visit(request.threads, context.progress, make, &visitor)?;
        let (counts, bytes) = total(&workers);
        Ok(((), bytes, counts.rows_read))
    })?;
    let written = timed(&mut response, "write", || {
        let written = writer.finish(context.progress)?;
        Ok((written, written.spilled_bytes, written.rows))
    })?;
    response.counts.insert("rows", written.rows);
    response.counts.insert("genes", u64::from(written.genes));
    response.counts.insert("spilled_bytes", written.spilled_bytes);
    Ok(response)
}

/// Returns the options of the matrix of a dataset.
///
/// # Errors
/// `Input` for a dataset that is already a matrix, and for a gene without a name.
pub fn options(
    context: &Context<'_>,
    (params, names): (&LoadParams, Option<&GeneNames>),
    pairs: &Pairs,
) -> Result<WriterOptions> {
    let request = context.request;
    let Some(shape) = pairs.shape() else {
        let text = format!("{} is a pair matrix already", request.inputs[0].display());
        return Err(Error::input("load", text));
    };
    Ok(WriterOptions {
        genes: params.genes.unwrap_or(0),
        gene_names: gene_names(names, params.genes)?,
        samples: shape.samples as u32,
        scores: shape.scores,
        masks: Masks::Stored,
        threads: request.threads,
        scratch: request.scratch.clone(),
        ..WriterOptions::default()
    })
}

/// Adds a row to a batch.
///
/// # Errors
/// A sentence on the fault of the line.
pub fn push(
    (params, names): (&LoadParams, Option<&GeneNames>),
    batch: &mut RowBatch,
    row: &SelectedRow<'_>,
) -> std::result::Result<(), String> {
    let SelectedRow::Line(hit) = row else { return Ok(()) };
    check_gene(params.genes, hit.gene1)?;
    if let Some(names) = names {
        check_name(names, hit.gene1)?;
    }
    batch.push(&hit.parse_but_mask()?.row())
}

/// Returns the names of the first genes of the matrix: `genes` names, or all names.
///
/// # Errors
/// `Input` for a gene without a name.
pub fn gene_names(names: Option<&GeneNames>, genes: Option<u32>) -> Result<Vec<String>> {
    let Some(names) = names else { return Ok(Vec::new()) };
    let genes = genes.unwrap_or(names.len() as u32);
    names.name(genes)?;
    Ok(names.iter().take(genes as usize).map(str::to_owned).collect())
}

/// Returns the memory of names while they are written, in bytes: each is copied once.
fn size_bytes(names: &[String]) -> u64 {
    let name_bytes = |name: &String| 2 * (name.len() + size_of::<String>()) as u64;
    names.iter().map(name_bytes).sum()
}

fn check_name(names: &GeneNames, gene1: u32) -> std::result::Result<(), String> {
    match names.get(gene1) {
        Some(_) => Ok(()),
        None => Err(format!("cannot be named: {}", names.missing_name_message(gene1))),
    }
}
