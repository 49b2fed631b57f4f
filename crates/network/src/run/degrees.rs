//! `degrees`: in-, out- and total degree of each gene, and the number of genes with each degree.

use std::path::Path;

use cuesta_core::fixed::append_integer;
use cuesta_core::job::{Context, Response, timed};
use cuesta_core::progress::Progress;
use cuesta_core::{Error, Result};
use cuesta_input::kinc::block::Counts;
use cuesta_input::pair_matrix::Need;

use super::pairs::{Pairs, Visitor, total};
use crate::kernel::degrees::Degrees;
use crate::params::{DegreesParams, check_genes};

/// File with the degrees of each gene.
pub const DEGREES_FILE: &str = "degrees.tsv";
/// First line of the file.
pub const HEADER: &str = "gene\tin\tout\ttotal";
/// File with the number of genes with each degree.
pub const DISTRIBUTION_FILE: &str = "distribution.tsv";

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(context: &Context<'_>) -> Result<Response> {
    let params: DegreesParams = context.parameters()?;
    let filter = params.filter.check()?;
    check_genes(params.genes)?;
    let mut response = Response::default();
    let pairs = timed(&mut response, "open", || {
        Ok((Pairs::open(&context.request.inputs, &filter, Need::Edge)?, 0, 0))
    })?;
    let (degrees, counts) = timed(&mut response, "count", || {
        let (degrees, counts, bytes) =
            count(&pairs, params.genes, context.request.threads, context.progress)?;
        Ok(((degrees, counts), bytes, counts.rows_read))
    })?;
    finish(&context.request.output, params.genes, (degrees, counts), &mut response)?;
    Ok(response)
}

/// Counts the edges of each gene; returns the degrees, the rows and the bytes read.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn count(
    pairs: &Pairs,
    genes: Option<u32>,
    threads: usize,
    progress: &Progress,
) -> Result<(Degrees, Counts, u64)> {
    let visitor = Visitor {
        keep: &|state: &mut Degrees, _, row| {
            let (gene1, gene2, _) = row.place();
            check_gene(genes, gene1)?;
            state.add(gene1, gene2);
            Ok(())
        },
        flush: &|_, _, _| Ok(()),
        on_error: &|_| {},
    };
    let workers = pairs.visit(threads, progress, Degrees::default, &visitor)?;
    let (counts, bytes) = total(&workers);
    let mut degrees = Degrees::default();
    workers.iter().for_each(|worker| degrees.merge(&worker.state));
    Ok((degrees, counts, bytes))
}

/// Writes the answer and reports its counts.
///
/// # Errors
/// `System`.
pub fn finish(
    output: &Path,
    genes: Option<u32>,
    (mut degrees, counts): (Degrees, Counts),
    response: &mut Response,
) -> Result<()> {
    if let Some(genes) = genes {
        degrees.genes.resize(genes as usize, Default::default());
    }
    timed(response, "write", || {
        let bytes = write(output, &degrees)?;
        Ok(((), bytes, degrees.genes.len() as u64))
    })?;
    let connected = degrees.genes.iter().filter(|gene| gene.total() > 0).count();
    response.counts.insert("rows_read", counts.rows_read);
    response.counts.insert("edges", counts.rows_passed);
    response.counts.insert("genes", degrees.genes.len() as u64);
    response.counts.insert("genes_with_edges", connected as u64);
    let most = degrees.genes.iter().map(|gene| gene.total()).max();
    response.counts.insert("largest_degree", most.unwrap_or(0));
    Ok(())
}

/// Checks a gene number against `--genes`.
///
/// # Errors
/// A sentence continuing "line N of FILE ...".
pub fn check_gene(genes: Option<u32>, gene1: u32) -> std::result::Result<(), String> {
    match genes {
        Some(count) if gene1 > count => Err(format!(
            "has gene {gene1}, but --genes says there are {count}; give a larger number, or a \
                 file that names all"
        )),
        _ => Ok(()),
    }
}

/// Writes the answer files; returns their size in bytes.
///
/// # Errors
/// `System`.
pub fn write(output: &Path, degrees: &Degrees) -> Result<u64> {
    let mut text = format!("{HEADER}\n").into_bytes();
    for (index, gene) in degrees.genes.iter().enumerate() {
        let total = gene.total();
        append_line(&mut text, [index as u64 + 1, gene.inward, gene.outward, total]);
    }
    let mut table = b"degree\tin\tout\ttotal\n".to_vec();
    for (degree, [inward, outward, total]) in degrees.distribution() {
        append_line(&mut table, [degree, inward, outward, total]);
    }
    write_file(&output.join(DEGREES_FILE), &text)?;
    write_file(&output.join(DISTRIBUTION_FILE), &table)?;
    Ok((text.len() + table.len()) as u64)
}

/// Appends integers as a line, separated by tabs.
pub fn append_line<const N: usize>(out: &mut Vec<u8>, values: [u64; N]) {
    for (index, value) in values.into_iter().enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        append_integer(value, out);
    }
    out.push(b'\n');
}

/// Writes a complete file.
///
/// # Errors
/// `System`.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|cause| Error::system("answer", "writing", path, &cause))
}
