//! `communities` by the Leiden method, on a weighted network.

use cuesta_core::fixed::Micro;
use cuesta_core::job::{Context, Response, timed};
use cuesta_core::{Error, Result};
use cuesta_input::Filter;
use cuesta_input::kinc::block::Counts;
use cuesta_input::pair_matrix::Need;

use super::communities::edges;
use super::pairs::Pairs;
use crate::kernel::leiden;
use crate::kernel::quality::Quality;
use crate::kernel::weighted_graph::WeightedGraph;
use crate::params::{CommunitiesParams, CommunityQuality, EdgeWeight};

/// Returns the labels of the genes up to the last with an edge, from 0, and the rows read.
///
/// # Errors
/// `Input`, also if the network does not fit in memory; `System`; `Cancelled`.
pub fn run(
    context: &Context<'_>,
    params: &CommunitiesParams,
    filter: &Filter,
    response: &mut Response,
) -> Result<(Vec<u32>, Counts)> {
    let pairs = timed(response, "open", || {
        Ok((Pairs::open(&context.request.inputs, filter, Need::Edge)?, 0, 0))
    })?;
    let weights = params.weights;
    let edges = timed(response, "read", || {
        let edge = |(gene1, gene2), score| (gene1, gene2, weight_of(weights, score));
        let edges = edges(context, &pairs, params.genes, edge)?;
        let (bytes, rows) = (edges.bytes, edges.counts.rows_read);
        Ok((edges, bytes, rows))
    })?;
    let genes = edges.list.iter().map(|edge| edge.0 as usize + 1).max().unwrap_or(0);
    let (rows, counts) = (edges.list.len() as u64, edges.counts);
    let graph_bytes = leiden::size_bytes(genes, edges.list.len());
    let _lease = context.budget.take(graph_bytes, "the graph")?;
    let level = timed(response, "graph", || {
        let level = WeightedGraph::of_edges(genes, &edges.list);
        drop(edges);
        Ok((level, graph_bytes, rows))
    })?;
    let total = level.masses().iter().sum();
    let quality = Quality::new(params.quality, params.resolution, (total, weights.unit()));
    let quality = quality.ok_or_else(|| too_large(params))?;
    let (level, name) = match params.quality {
        CommunityQuality::Modularity => (level, "modularity_millionths"),
        CommunityQuality::Cpm => (level.with_unit_masses(), "cpm_millionths"),
    };
    let labels = timed(response, "leiden", || Ok((leiden::labels(&level, &quality), 0, rows)))?;
    response.counts.insert(name, quality.millionths(&level, &labels));
    Ok((labels, counts))
}

fn weight_of(weights: EdgeWeight, score: Micro) -> u32 {
    match weights {
        EdgeWeight::Rows => 1,
        EdgeWeight::Score => score.unsigned_abs(),
    }
}

fn too_large(params: &CommunitiesParams) -> Error {
    let text = format!(
        "the weights of the network at --resolution {} exceed integers of 128 bits; give a smaller \
         resolution, or --weights rows",
        params.resolution
    );
    Error::input("communities", text)
}
