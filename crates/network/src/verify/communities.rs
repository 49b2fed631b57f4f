//! Verifier of `communities`.

use std::collections::BTreeMap;

use cuesta_core::Result;
use cuesta_core::digest::{Digest, Tag};
use cuesta_core::job::{Context, Verdict};

use super::answer::{each_line, integers};
use super::inputs::each_row;
use crate::kernel::graph::Graph;
use crate::kernel::union_find::Forest;
use crate::kernel::{label_propagation, louvain};
use crate::params::{CommunitiesParams, Method};
use crate::reference;
use crate::run::communities::{COMMUNITIES_FILE, tally};

/// Bytes an edge takes in the maps of the plain methods.
const PLAIN_EDGE_BYTES: u64 = 200;
/// Most edges the plain methods are given: beyond, they would take minutes.
const PLAIN_EDGES_MAX: usize = 4 << 20;

/// What one thread gathered from the inputs, read plainly; genes from 1.
#[derive(Default)]
struct Evidence {
    edges: Vec<(u32, u32)>,
    /// Components of the edges, counted from 0; made while there are more edges than can be kept.
    forest: Forest,
    rows: usize,
    last_gene: u32,
}

/// Verifies `communities`. Components: breadth-first search. Label propagation: the plain version.
/// Louvain: the same from plainly read edges, and every community is connected. Each label is the
/// smallest member. Where the edges are too many for the plain methods, the kernels run on plainly
/// read edges instead, and the method says so.
///
/// # Errors
/// `Input`, `System`, `Cancelled`.
pub fn communities(context: &Context<'_>) -> Result<Verdict> {
    let params: CommunitiesParams = context.parameters()?;
    let (evidence, plain) = gather(context, &params)?;
    let genes = params.genes.unwrap_or(evidence.last_gene);
    let labels = communities_answer(context)?;
    let expected = expected_labels(&evidence, plain, &params, genes);
    let mut digest = Digest::default();
    for &gene in expected.keys() {
        let label = labels.get(gene as usize - 1).copied().unwrap_or(u32::MAX);
        digest.add(Tag::Community, &[u64::from(gene), u64::from(label) + 1]);
    }
    let method = method_of(params.method, plain);
    let mut verdict = Verdict::new(digest, community_digest(&expected), method);
    let smallest = labels
        .iter()
        .enumerate()
        .all(|(gene, &label)| label as usize <= gene && labels.get(label as usize) == Some(&label));
    verdict.require(labels.len() == genes as usize, "genes are missing");
    verdict.require(smallest, "a label is not the smallest member of its community");
    if params.method == Method::Louvain && verdict.verified && plain {
        verdict.require(connected(&evidence.edges, &labels), "a community is not connected");
    }
    if verdict.verified {
        let (communities, _, largest) = tally(&labels);
        verdict.counts.insert("communities", communities);
        verdict.counts.insert("largest_community", largest);
    }
    Ok(verdict)
}

/// Reads the inputs; the second result tells whether the plain methods can be used.
fn gather(context: &Context<'_>, params: &CommunitiesParams) -> Result<(Evidence, bool)> {
    let request = context.request;
    let room = (context.budget.limit_bytes() / PLAIN_EDGE_BYTES) as usize;
    let most = room.min(PLAIN_EDGES_MAX) / request.threads;
    let all = params.method != Method::Components;
    let make = Evidence::default;
    let keep = |evidence: &mut Evidence, row: &reference::PlainRow| {
        if row.passing_score(&params.filter).is_none() {
            return;
        }
        let (gene1, gene2) = (row.numbers[0], row.numbers[1]);
        evidence.last_gene = evidence.last_gene.max(gene1);
        evidence.rows += 1;
        if all || evidence.edges.len() < most {
            evidence.edges.push((gene1, gene2));
        }
        if !all {
            evidence.forest.join(gene1 - 1, gene2 - 1);
        }
    };
    let parts = each_row(&request.inputs, request.threads, context.progress, make, keep)?;
    let plain = parts.iter().all(|part| part.rows <= most);
    let mut sum = Evidence::default();
    for part in parts {
        sum.edges.extend(part.edges);
        sum.forest.merge(&part.forest);
        sum.rows += part.rows;
        sum.last_gene = sum.last_gene.max(part.last_gene);
    }
    Ok((sum, plain))
}

/// The label of each gene that has an edge, both counted from 1.
fn expected_labels(
    evidence: &Evidence,
    plain: bool,
    params: &CommunitiesParams,
    genes: u32,
) -> BTreeMap<u32, u32> {
    let edges = &evidence.edges;
    let labels = match params.method {
        Method::Components if plain => return reference::components(edges.iter().copied()),
        Method::LabelPropagation if plain => {
            return reference::label_propagation(edges, params.iterations);
        }
        Method::Components => return grouped(&evidence.forest),
        Method::LabelPropagation => {
            label_propagation::labels(&graph_of(edges, genes), params.iterations).0
        }
        Method::Louvain => louvain::labels(&graph_of(edges, genes)),
    };
    let touched = reference::degrees(edges.iter().copied());
    touched.keys().map(|&gene| (gene, labels[gene as usize - 1] + 1)).collect()
}

fn graph_of(edges: &[(u32, u32)], genes: u32) -> Graph {
    let from_zero: Vec<_> = edges.iter().map(|&(a, b)| (a - 1, b - 1)).collect();
    Graph::new(genes as usize, &from_zero)
}

/// Genes of a forest that are not alone, with their smallest members.
fn grouped(forest: &Forest) -> BTreeMap<u32, u32> {
    let mut labels = BTreeMap::new();
    for (gene, root) in forest.clone().links() {
        labels.insert(gene + 1, root + 1);
        labels.insert(root + 1, root + 1);
    }
    labels
}

fn method_of(method: Method, plain: bool) -> &'static str {
    match (method, plain) {
        (Method::Components, true) => "breadth-first search over edges read by a plain reader",
        (Method::Components, false) => "union-find over edges read by a plain reader",
        (Method::LabelPropagation, true) => {
            "label propagation with maps over edges read by a plain reader"
        }
        (Method::LabelPropagation, false) => {
            "label propagation again over edges read by a plain reader"
        }
        (Method::Louvain, true) => {
            "Louvain again over edges read by a plain reader; each community is connected"
        }
        (Method::Louvain, false) => "Louvain again over edges read by a plain reader",
    }
}

fn connected(edges: &[(u32, u32)], labels: &[u32]) -> bool {
    let inside =
        edges.iter().copied().filter(|&(a, b)| labels[a as usize - 1] == labels[b as usize - 1]);
    let parts = reference::components(inside);
    parts.iter().all(|(&gene, &part)| labels[gene as usize - 1] == part - 1)
}

fn community_digest(labels: &BTreeMap<u32, u32>) -> Digest {
    let mut digest = Digest::default();
    for (&gene, &label) in labels {
        digest.add(Tag::Community, &[u64::from(gene), u64::from(label)]);
    }
    digest
}

fn communities_answer(context: &Context<'_>) -> Result<Vec<u32>> {
    let path = context.request.output.join(COMMUNITIES_FILE);
    let mut labels = Vec::new();
    each_line(&path, &["gene", "community"], |fields| {
        let [gene, community] = integers::<2>(fields)?;
        if gene as usize != labels.len() + 1 || community == 0 {
            return Err(format!("has gene {gene} community {community} out of place"));
        }
        labels.push(community as u32 - 1);
        Ok(())
    })?;
    Ok(labels)
}
