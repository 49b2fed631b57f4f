//! `communities`: groups of densely connected genes, labelled by their smallest member.

use std::path::Path;
use std::sync::Mutex;

use cuesta_core::Result;
use cuesta_core::budget::Lease;
use cuesta_core::fixed::Micro;
use cuesta_core::job::{Context, Response, timed};
use cuesta_core::progress::Progress;
use cuesta_input::Filter;
use cuesta_input::kinc::block::Counts;
use cuesta_input::pair_matrix::Need;
use cuesta_runtime::parallel::lock;

use super::degrees::{append_line, check_gene, write_file};
use super::leiden;
use super::pairs::{Pairs, Visitor, total};
use crate::kernel::graph::Graph;
use crate::kernel::label_propagation;
use crate::kernel::louvain;
use crate::kernel::union_find::UnionFind;
use crate::params::{CommunitiesParams, CommunityMethod};

/// Name of the answer file.
pub const COMMUNITIES_FILE: &str = "communities.tsv";
/// First line of the answer file.
pub const HEADER: &str = "gene\tcommunity";

/// Runs the workload.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn run(context: &Context<'_>) -> Result<Response> {
    let params: CommunitiesParams = context.parameters()?;
    let filter = params.filter.check()?;
    params.check()?;
    let mut response = Response::default();
    let (labels, counts) = match params.method {
        CommunityMethod::Components => components(context, &params, &filter, &mut response)?,
        CommunityMethod::Leiden => leiden::run(context, &params, &filter, &mut response)?,
        _ => on_graph(context, &params, &filter, &mut response)?,
    };
    finish(&context.request.output, params.genes, (labels, counts), &mut response)?;
    Ok(response)
}

/// Writes the answer and reports its counts; `labels` count genes from 0.
///
/// # Errors
/// `System`.
pub fn finish(
    output: &Path,
    genes: Option<u32>,
    (mut labels, counts): (Vec<u32>, Counts),
    response: &mut Response,
) -> Result<()> {
    pad(&mut labels, genes);
    timed(response, "write", || {
        let bytes = write(output, &labels)?;
        Ok(((), bytes, labels.len() as u64))
    })?;
    let (communities, grouped, largest) = tally(&labels);
    response.counts.insert("rows_read", counts.rows_read);
    response.counts.insert("edges", counts.rows_passed);
    response.counts.insert("genes", labels.len() as u64);
    response.counts.insert("genes_grouped", grouped);
    response.counts.insert("communities", communities);
    response.counts.insert("largest_community", largest);
    Ok(())
}

fn components(
    context: &Context<'_>,
    params: &CommunitiesParams,
    filter: &Filter,
    response: &mut Response,
) -> Result<(Vec<u32>, Counts)> {
    let pairs = timed(response, "open", || {
        Ok((Pairs::open(&context.request.inputs, filter, Need::Edge)?, 0, 0))
    })?;
    timed(response, "components", || {
        let (forest, counts, bytes) =
            forest(&pairs, params.genes, context.request.threads, context.progress)?;
        Ok(((forest.labels(), counts), bytes, counts.rows_read))
    })
}

/// Joins the genes of each edge; returns the forest, the rows and the bytes read.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn forest(
    pairs: &Pairs,
    genes: Option<u32>,
    threads: usize,
    progress: &Progress,
) -> Result<(UnionFind, Counts, u64)> {
    let visitor = Visitor {
        keep: &|state: &mut UnionFind, _, row| {
            let (gene1, gene2, _) = row.place();
            check_gene(genes, gene1)?;
            state.join(gene1 - 1, gene2 - 1);
            Ok(())
        },
        flush: &|_, _, _| Ok(()),
        on_error: &|_| {},
    };
    let workers = pairs.visit(threads, progress, UnionFind::default, &visitor)?;
    let (counts, bytes) = total(&workers);
    let mut forest = UnionFind::default();
    workers.iter().for_each(|worker| forest.merge(&worker.state));
    Ok((forest, counts, bytes))
}

fn on_graph(
    context: &Context<'_>,
    params: &CommunitiesParams,
    filter: &Filter,
    response: &mut Response,
) -> Result<(Vec<u32>, Counts)> {
    let pairs = timed(response, "open", || {
        Ok((Pairs::open(&context.request.inputs, filter, Need::Edge)?, 0, 0))
    })?;
    let edges = timed(response, "read", || {
        let edges = edges(context, &pairs, params.genes, |genes, _| genes)?;
        let (bytes, rows) = (edges.bytes, edges.counts.rows_read);
        Ok((edges, bytes, rows))
    })?;
    let genes = edges.list.iter().map(|edge| edge.0 as usize + 1).max().unwrap_or(0);
    let graph_bytes = Graph::size_bytes(genes, edges.list.len());
    let _lease = context.budget.take(graph_bytes, "the graph")?;
    let rows = edges.list.len() as u64;
    let graph =
        timed(response, "graph", || Ok((Graph::new(genes, &edges.list), graph_bytes, rows)))?;
    let name =
        if params.method == CommunityMethod::Louvain { "louvain" } else { "label-propagation" };
    let (labels, rounds) = timed(response, name, || {
        let labels = match params.method {
            CommunityMethod::Louvain => (louvain::labels(&graph), 0),
            _ => label_propagation::labels(&graph, params.iterations),
        };
        Ok((labels, 0, rows))
    })?;
    if params.method == CommunityMethod::Louvain {
        let modularity = louvain::modularity(&graph, &labels).max(0.0);
        response.counts.insert("modularity_millionths", (modularity * 1e6).round() as u64);
    } else {
        response.counts.insert("rounds", u64::from(rounds));
    }
    Ok((labels, edges.counts))
}

/// All edges that pass the filter, with genes from 0.
pub struct EdgeList<'a, E> {
    /// The edges, in no particular order.
    pub list: Vec<E>,
    /// Rows read and selected.
    pub counts: Counts,
    /// Bytes read.
    pub bytes: u64,
    _leases: Vec<Lease<'a>>,
}

/// Reads edges under the memory budget; `make` makes one of its genes, from 0, and its score.
///
/// # Errors
/// `Input`, also if they do not fit in memory; `System`; `Cancelled`.
pub fn edges<'a, E: Copy + Send>(
    context: &Context<'a>,
    pairs: &Pairs,
    genes: Option<u32>,
    make: impl Fn((u32, u32), Micro) -> E + Sync,
) -> Result<EdgeList<'a, E>> {
    let lists = Mutex::new(Vec::new());
    let visitor = Visitor {
        keep: &|state: &mut Vec<E>, _, row| {
            let (gene1, gene2, _) = row.place();
            check_gene(genes, gene1)?;
            state.push(make((gene1 - 1, gene2 - 1), row.score()));
            Ok(())
        },
        flush: &|state, _, last| {
            if last {
                // Two copies: one in the list of the thread, one in the common list.
                let size_bytes = 2 * size_of_val(state.as_slice()) as u64;
                let lease = context.budget.take(size_bytes, "the edges")?;
                lock(&lists).push((lease, std::mem::take(state)));
            }
            Ok(())
        },
        on_error: &|_| {},
    };
    let workers = pairs.visit(context.request.threads, context.progress, Vec::new, &visitor)?;
    let (counts, bytes) = total(&workers);
    let lists = lists.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let (leases, lists): (Vec<_>, Vec<_>) = lists.into_iter().unzip();
    Ok(EdgeList { list: lists.concat(), counts, bytes, _leases: leases })
}

fn pad(labels: &mut Vec<u32>, genes: Option<u32>) {
    let genes = genes.unwrap_or(0).max(labels.len() as u32);
    labels.extend(labels.len() as u32..genes);
}

/// Returns the number of communities of at least two genes, of genes in them, and the size of the
/// largest.
pub fn tally(labels: &[u32]) -> (u64, u64, u64) {
    let mut sizes = vec![0u64; labels.len()];
    for &label in labels {
        sizes[label as usize] += 1;
    }
    let real = || sizes.iter().copied().filter(|&size| size > 1);
    (real().count() as u64, real().sum(), real().max().unwrap_or(0))
}

/// Writes the answer file; `labels` count genes from 0. Returns its size in bytes.
///
/// # Errors
/// `System`.
pub fn write(output: &Path, labels: &[u32]) -> Result<u64> {
    let mut text = format!("{HEADER}\n").into_bytes();
    for (gene, &label) in labels.iter().enumerate() {
        append_line(&mut text, [gene as u64 + 1, u64::from(label) + 1]);
    }
    write_file(&output.join(COMMUNITIES_FILE), &text)?;
    Ok(text.len() as u64)
}
