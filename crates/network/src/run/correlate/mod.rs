//! `correlate`: from an expression matrix to the gene pairs whose score reaches a threshold.

pub mod estimate;
mod job;
mod mask;
pub mod strongest;
mod tested;

use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use cuesta_core::budget::human;
use cuesta_core::fixed::Micro;
use cuesta_core::job::{Context, Request, Response, parameters, timed};
use cuesta_core::{Error, Result};
use cuesta_input::generate::clusters::pairs_of;
use cuesta_input::matrix::{self, GeneFilter, GeneMatrix};
use cuesta_input::names::{GENES_FILE, write_table};
use cuesta_input::pair_matrix::{
    Masks, MatrixPiece, PieceMaker, Walker, WriterOptions, pack_flags,
};
use cuesta_runtime::parallel::lock;

use job::{PairJob, PairSource};
pub use mask::{Mask, Presence, row_of};
pub use tested::TestedPairs;

use crate::kernel::correlate::{Counts, PreparedGenes};
use crate::params::{CorrelateParams, Correlation};

const OPERATION: &str = "correlate";

/// Minimum number of bands for each thread, so that threads end together.
const BANDS_PER_THREAD: usize = 16;
/// Memory of a selected pair, in the kernel and outside it.
const MATCH_BYTES: u64 = 32;

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(context: &Context<'_>) -> Result<Response> {
    let params: CorrelateParams = context.parameters()?;
    let mut response = Response::default();
    let matrix = parse(context, &params, &mut response)?;
    let (genes, samples) = (matrix.genes().len(), matrix.samples().len());
    params.check()?;
    estimate::check_space(&context.request.output, &matrix, &params)?;
    let _lease = context.budget.take(memory_bytes(&matrix), "the matrix made ready")?;
    let prepared = timed(&mut response, "prepare", || {
        Ok((PreparedGenes::new(&matrix, &params.kernel(samples), context.request.threads)?, 0, 0))
    })?;
    let _strongest = strongest::reserve(context, &params, genes)?;
    let bands = bands_in(context, &matrix)?;
    let job = PairJob { context, matrix: &matrix, pairs: PairSource::Computed(&prepared), bands };
    let (counts, bytes) = timed(&mut response, "multiply", || {
        let (counts, bytes) = match params.strongest_count(genes) {
            Some(count) => {
                let (counts, strongest) = job.strongest(count)?;
                let pairs = &strongest.into_pairs();
                let (_, bytes) =
                    PairJob { pairs: PairSource::Listed(pairs), ..job }.write(&params)?;
                (Counts { selected: pairs.len() as u64, ..counts }, bytes)
            }
            None => job.write(&params)?,
        };
        Ok(((counts, bytes), bytes, counts.pairs))
    })?;
    if let Some(phase) = response.phases.last_mut() {
        phase.flops = flops(&matrix);
    }
    report((genes, samples), counts, bytes, &mut response);
    Ok(response)
}

/// Reports the counts of the answer to a matrix with these numbers of genes and samples.
pub fn report(
    (genes, samples): (usize, usize),
    counts: Counts,
    bytes: u64,
    response: &mut Response,
) {
    response.counts.insert("genes", genes as u64);
    response.counts.insert("samples", samples as u64);
    response.counts.insert("pairs", counts.pairs);
    response.counts.insert("rows_kept", counts.selected);
    response.counts.insert("pairs_undefined", counts.undefined);
    response.counts.insert("pairs_too_few_samples", counts.too_few_samples);
    response.counts.insert("answer_bytes", bytes);
}

/// Reads the single input as a matrix of the genes that are used, in a separate phase; counts what
/// it leaves out or doubts.
///
/// # Errors
/// `Input`, `System`.
pub fn parse(
    context: &Context<'_>,
    params: &CorrelateParams,
    response: &mut Response,
) -> Result<GeneMatrix> {
    let matrix = timed(response, "parse", || {
        let matrix = read_all(context, params)?;
        let bytes = std::fs::metadata(&context.request.inputs[0]).map_or(0, |file| file.len());
        let rows = matrix.genes().len() as u64;
        Ok((matrix, bytes, rows))
    })?;
    let genes_read = matrix.genes().len() as u64;
    response.counts.extend(matrix.doubts(params.genes.log2));
    let matrix = params.genes.apply_to(matrix, OPERATION)?;
    let min_samples = params.min_samples_of(matrix.samples().len());
    response.counts.insert("min_samples", min_samples as u64);
    if params.genes != GeneFilter::default() {
        response.counts.insert("genes_read", genes_read);
    }
    Ok(matrix)
}

/// Writes the names of the genes next to pairs in text.
///
/// # Errors
/// `System`.
pub fn write_genes(context: &Context<'_>, matrix: &GeneMatrix) -> Result<()> {
    let genes = matrix.genes().iter().map(String::as_str);
    write_table(&context.request.output.join(GENES_FILE), genes).map(|_| ())
}

/// Writes the pairs whose first gene, from 0, is in `rows` to a text file; returns its size in
/// bytes.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn write_rows(
    context: &Context<'_>,
    params: &CorrelateParams,
    rows: &Range<usize>,
    path: &Path,
) -> Result<(Counts, u64)> {
    on_rows(context, params, |job| job.within(rows).to_text(path))
}

/// Writes the pairs of `ranks`, complete chunks, as a piece of a pair matrix. The counts are those
/// of the rows whose first pair is in the piece.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn write_piece(
    context: &Context<'_>,
    params: &CorrelateParams,
    ranks: &Range<u64>,
    maker: &PieceMaker,
) -> Result<(Counts, MatrixPiece)> {
    let piece = Mutex::new(maker.bands(context.budget)?);
    let row_of = |rank| Walker::default().genes_of(rank).0 as usize - 1;
    let (first, end) = (row_of(ranks.start), row_of(ranks.end - 1) + 1);
    let push = |from: u64, scores: &[Micro], common: Option<&[u32]>| {
        let start = ranks.start.max(from);
        let places = start - from..ranks.end.min(from + scores.len() as u64) - from;
        let places = places.start as usize..places.end as usize;
        let common = common.map(|common| &common[places.clone()]);
        lock(&piece).push(start, &scores[places.clone()], common)
    };
    let counts = on_rows(context, params, |job| {
        // A row that began in the previous chunk is counted there.
        let first_counted = if rank_of_row(first) < ranks.start { first + 1 } else { first };
        job.within(&(first..first_counted)).to_bands(&push)?;
        job.within(&(first_counted..end)).to_bands(&push)
    })?;
    let piece = piece.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok((counts, piece.finish()?))
}

/// Runs `write` on bands of the single input.
fn on_rows<T>(
    context: &Context<'_>,
    params: &CorrelateParams,
    write: impl FnOnce(&PairJob<'_>) -> Result<T>,
) -> Result<T> {
    let matrix = &read(context, params)?;
    let _lease = context.budget.take(memory_bytes(matrix), "the matrix made ready")?;
    let kernel = params.kernel(matrix.samples().len());
    let prepared = &PreparedGenes::new(matrix, &kernel, context.request.threads)?;
    let _strongest = strongest::reserve(context, params, matrix.genes().len())?;
    let bands = bands_in(context, matrix)?;
    write(&PairJob { context, matrix, pairs: PairSource::Computed(prepared), bands })
}

/// Returns sentences on the layout of the single input, and on doubts about it.
///
/// # Errors
/// As [`read`], as far as the first lines show.
pub fn recognised(request: &Request) -> Result<Vec<String>> {
    let params: CorrelateParams = parameters(&request.parameters)?;
    let path = &request.inputs[0];
    let options = params.reading(1, request.budget.limit_bytes());
    matrix::describe(path, &options, params.transpose)
}

/// Reads the single input as a matrix of the genes that are used.
///
/// # Errors
/// `Input`, `System`.
pub fn read(context: &Context<'_>, params: &CorrelateParams) -> Result<GeneMatrix> {
    params.genes.apply_to(read_all(context, params)?, OPERATION)
}

fn read_all(context: &Context<'_>, params: &CorrelateParams) -> Result<GeneMatrix> {
    let [path] = context.request.inputs.as_slice() else {
        let text = format!("takes one matrix, {} inputs given", context.request.inputs.len());
        return Err(Error::input(OPERATION, text));
    };
    let options = params.reading(context.request.threads, context.budget.limit_bytes());
    let matrix = GeneMatrix::read(path, &options)?;
    match params.method {
        Correlation::Pearson | Correlation::Spearman => Ok(matrix),
        Correlation::Bicor => {
            let _values = context.budget.take(dense_bytes(&matrix), "the matrix with its zeros")?;
            Ok(GeneMatrix::Dense(matrix.into_dense()))
        }
    }
}

/// Returns the floating-point operations that the products of all pairs of a matrix take: two for
/// each sample, or for each nonzero of the second gene.
pub fn flops(matrix: &GeneMatrix) -> u64 {
    let genes = matrix.genes().len() as u64;
    match matrix {
        GeneMatrix::Dense(_) => 2 * matrix.samples().len() as u64 * pairs_of(genes as u32),
        GeneMatrix::Sparse(sparse) => {
            let nonzeros = |gene: u64| sparse.row(gene as usize).values.len() as u64;
            2 * (0..genes).map(|gene| nonzeros(gene) * (genes - 1 - gene)).sum::<u64>()
        }
    }
}

fn memory_bytes(matrix: &GeneMatrix) -> u64 {
    matrix.size_bytes() + PreparedGenes::size_bytes(matrix)
}

/// Memory of the values of a matrix with its zeros, in bytes, if it has not got them.
fn dense_bytes(matrix: &GeneMatrix) -> u64 {
    let GeneMatrix::Sparse(sparse) = matrix else { return 0 };
    8 * (sparse.genes.len() as u64).saturating_mul(sparse.samples.len() as u64)
}

/// Chooses bands so small that the pairs of all threads fit into half of the free memory.
fn bands_in(context: &Context<'_>, matrix: &GeneMatrix) -> Result<Vec<Range<usize>>> {
    let threads = context.request.threads;
    let pairs_max = context.budget.free_bytes() / 2 / MATCH_BYTES / threads as u64;
    let count = pairs_of(matrix.genes().len() as u32) / pairs_max.max(1) + 1;
    let bands = PreparedGenes::bands(matrix, (count as usize).max(BANDS_PER_THREAD * threads));
    let largest = bands.iter().map(pairs_in).max().unwrap_or(0);
    if largest > pairs_max {
        let need = human(2 * MATCH_BYTES * threads as u64 * largest);
        let text = format!("a band of pairs needs {need} more; raise --memory");
        return Err(Error::input("memory", text));
    }
    Ok(bands)
}

/// Returns the number of pairs whose first gene is in a band.
pub fn pairs_in(rows: &Range<usize>) -> u64 {
    rank_of_row(rows.end) - rank_of_row(rows.start)
}

/// Returns the triangular rank of the first pair of a row, counted from 0.
fn rank_of_row(row: usize) -> u64 {
    pairs_of(row as u32)
}

/// Returns the options of the pair matrix of a matrix.
pub fn pairs_options(context: &Context<'_>, matrix: &GeneMatrix) -> WriterOptions {
    let (genes, samples) = (matrix.genes().len(), matrix.samples().len());
    let none = vec![false; samples];
    let bits = (0..genes).flat_map(|gene| {
        let flags = matrix.missing(gene);
        pack_flags(if flags.is_empty() { &none } else { &flags })
    });
    WriterOptions {
        genes: genes as u32,
        samples: samples as u32,
        scores: 1,
        masks: Masks::Genes(bits.collect()),
        gene_names: matrix.genes().to_vec(),
        sample_names: matrix.samples().to_vec(),
        threads: context.request.threads,
        scratch: context.request.scratch.clone(),
        ..WriterOptions::default()
    }
}

/// Returns the size of all files of a folder, in bytes.
pub fn folder_bytes(path: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => folder_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.flatten().map(size).sum()
}
