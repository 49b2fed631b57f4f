//! Verifier of `communities`.

use std::path::Path;

use cuesta_core::digest::{Digest, Tag};
use cuesta_core::job::{Context, Verdict};
use cuesta_core::{Error, Result};
use cuesta_input::pair_matrix::Need;

use super::adjacency::{EdgeStore, WeightedStore};
use super::forest::Forest;
use super::names::Named;
use super::rows::{RowScan, announce};
use super::table::{TableFile, integers};
use super::wanted::Wanted;
use super::{graph, judge, leiden, louvain, propagation, refused, weighted_quality};
use crate::params::{
    CommunitiesParams, CommunityMethod, CommunityQuality, EdgeWeight, GraphFormat,
};
use crate::run::annotate::graph_file;
use crate::run::communities::COMMUNITIES_FILE;

/// Verifies `communities`. Each gene is present once, and each label is the smallest member of its
/// community. Components: each edge lies within a community, and the number of communities equals
/// the number of components of the edges, so each community is connected; nothing is left to
/// chance, in 8 bytes for each gene. Label propagation: the rounds are repeated, each gene sorting
/// the labels around it. Louvain and Leiden: the moves are repeated on flat arrays; of Leiden, the
/// labels alone prove that communities are connected, that no move gains and what the quality is.
/// All but components store the edges, on disk if memory is short.
///
/// # Errors
/// `Input` for an input that cannot be read; `System`; `Cancelled`.
pub fn communities(context: &Context<'_>) -> Result<Verdict> {
    let params: CommunitiesParams = context.parameters()?;
    let path = context.request.output.join(COMMUNITIES_FILE);
    announce(context.progress, context.request.inputs.iter().chain([&path]));
    let mut files = vec![COMMUNITIES_FILE];
    files.extend(graph_file(params.graph));
    let named = Named::of(context)?;
    let labels = match judge(&path, labels_of(context, &named, &path))? {
        Ok(labels) => labels,
        Err(wrong) => return Ok(refused(&wrong, method_of(params.method), &files)),
    };
    let check = match params.method {
        CommunityMethod::Components => components(context, &params, &labels)?,
        CommunityMethod::LabelPropagation | CommunityMethod::Louvain => {
            recomputed(context, &params, &labels)?
        }
        CommunityMethod::Leiden => weighted(context, &params, &labels)?,
    };
    let sizes = sizes_of(&labels);
    let mut digest = Digest::default();
    for (gene, &label) in (1u64..).zip(&labels) {
        let touched = match &check.touched {
            Some(touched) => touched[gene as usize - 1],
            None => sizes[label as usize] > 1,
        };
        if touched {
            digest.add(Tag::Community, &[gene, u64::from(label) + 1]);
        }
    }
    let wrong = "communities are not those of the edges that pass";
    let method = method_of(params.method);
    let mut verdict = Verdict::proven(digest, check.right, wrong, method).covers(&files);
    let genes = params.genes.unwrap_or(check.last_gene) as usize;
    verdict.require(labels.len() == genes, "genes are missing or too many");
    if let Some(flaw) = check.flaw {
        verdict.require(false, flaw);
    }
    if params.graph != GraphFormat::None {
        let rows = edges_of(context, &params);
        let expected = graph::Expected { rows: &rows, names: named.names(), labels: Some(&labels) };
        graph::judge(context, params.graph, &expected, &mut verdict)?;
    }
    if verdict.verified {
        let communities = sizes.iter().filter(|&&size| size > 1).count() as u64;
        verdict.counts.insert("communities", communities);
        let largest = sizes.iter().copied().filter(|&size| size > 1).max();
        verdict.counts.insert("largest_community", u64::from(largest.unwrap_or(0)));
        verdict.counts.extend(check.quality);
    }
    Ok(verdict)
}

fn method_of(method: CommunityMethod) -> &'static str {
    match method {
        CommunityMethod::Components => {
            "every byte of the input read by a reader of its own; every edge lies within a \
             community, and there are as many communities as the edges leave apart"
        }
        CommunityMethod::LabelPropagation => {
            "every byte of the input read by a reader of its own; label propagation again, with \
             sorted votes"
        }
        CommunityMethod::Louvain => {
            "every byte of the input read by a reader of its own; Louvain again, on flat arrays"
        }
        CommunityMethod::Leiden => {
            "every byte of the input read by a reader of its own; Leiden again, on flat arrays; \
             communities are connected, and no move of a gene and no union of two gains"
        }
    }
}

/// Result of comparing the labels with the edges.
struct LabelCheck {
    right: bool,
    /// Largest gene of an edge, from 1.
    last_gene: u32,
    /// Genes with an edge; if absent, the genes in communities of at least two genes.
    touched: Option<Vec<bool>>,
    /// Property that the communities lack.
    flaw: Option<&'static str>,
    /// Name of the quality as a count, and its value.
    quality: Option<(&'static str, u64)>,
}

impl LabelCheck {
    fn new(right: bool, last_gene: u32, touched: Option<Vec<bool>>) -> Self {
        Self { right, last_gene, touched, flaw: None, quality: None }
    }
}

/// Returns the labels of the answer, genes and labels from 0.
fn labels_of(context: &Context<'_>, named: &Named<'_>, path: &Path) -> Result<Vec<u32>> {
    let (threads, progress) = (context.request.threads, context.progress);
    let header = named.header(["gene\tcommunity", "gene\tcommunity\tname"]);
    let table = TableFile { path, header, threads, progress };
    let take = |_: &mut (), part: &mut (u64, Vec<u32>), line: &[u8]| {
        let [gene, community] = integers(named.strip::<1>(line)?)?;
        if part.1.is_empty() {
            part.0 = gene;
        }
        if gene != part.0 + part.1.len() as u64 {
            return Err(format!("has gene {gene}, which has no place there"));
        }
        if !(1..=gene).contains(&community) || gene > u64::from(u32::MAX) {
            return Err(format!("has community {community}, which is not its smallest member"));
        }
        part.1.push(community as u32 - 1);
        Ok(())
    };
    let (_, parts) = table.each(|| (), take)?;
    let mut labels = Vec::new();
    for (first, part) in parts {
        if !part.is_empty() && first != labels.len() as u64 + 1 {
            let text = format!("{} has gene {first} in the wrong place", path.display());
            return Err(Error::input("verify", text));
        }
        labels.extend(part);
    }
    let is_smallest_member = |&label: &u32| labels[label as usize] == label;
    match labels.iter().position(|label| !is_smallest_member(label)) {
        None => Ok(labels),
        Some(gene) => {
            let place = format!("gene {} of {}", gene + 1, path.display());
            let text = format!("{place} has a community that is not its smallest member");
            Err(Error::input("verify", text))
        }
    }
}

fn sizes_of(labels: &[u32]) -> Vec<u32> {
    let mut sizes = vec![0; labels.len()];
    labels.iter().for_each(|&label| sizes[label as usize] += 1);
    sizes
}

fn edges_of<'a>(context: &'a Context<'_>, params: &CommunitiesParams) -> RowScan<'a> {
    RowScan {
        paths: &context.request.inputs,
        wanted: Wanted::passing(&params.filter),
        need: Need::Edge,
        threads: context.request.threads,
        progress: context.progress,
    }
}

fn components(
    context: &Context<'_>,
    params: &CommunitiesParams,
    labels: &[u32],
) -> Result<LabelCheck> {
    let forest = Forest::new(labels.len());
    // Counts of edges that join two trees and of edges between communities, and the largest gene.
    let make = || (0usize, 0u64, 0u32);
    let states = edges_of(context, params).each(make, |(joined, apart, last), written| {
        let (gene1, gene2) = (written.row.gene1, written.row.gene2);
        *last = gene1.max(*last);
        if gene1 as usize <= labels.len() {
            let (a, b) = (gene1 - 1, gene2 - 1);
            *apart += u64::from(labels[a as usize] != labels[b as usize]);
            *joined += usize::from(forest.join(a, b));
        }
        Ok(())
    })?;
    let joined: usize = states.iter().map(|state| state.0).sum();
    let apart: u64 = states.iter().map(|state| state.1).sum();
    let communities = (0u32..).zip(labels).filter(|(gene, label)| gene == *label).count();
    let right = apart == 0 && communities + joined == labels.len();
    let last_gene = states.iter().map(|state| state.2).max().unwrap_or(0);
    Ok(LabelCheck::new(right, last_gene, None))
}

/// Computes the communities again.
fn recomputed(
    context: &Context<'_>,
    params: &CommunitiesParams,
    labels: &[u32],
) -> Result<LabelCheck> {
    let edges = EdgeStore::read(context, &edges_of(context, params))?;
    let last_gene = edges.last_gene();
    if last_gene as usize > labels.len() {
        return Ok(LabelCheck::new(false, last_gene, None));
    }
    let degrees = edges.degrees(labels.len())?;
    let touched = Some(degrees.iter().map(|&degree| degree > 0).collect());
    let expected = match params.method {
        CommunityMethod::Louvain => {
            let near = edges.neighbours(&degrees, 0..labels.len())?;
            drop((edges, degrees));
            louvain::labels(&near, context.progress)?
        }
        _ => propagation::labels(context, &edges, &degrees, params.iterations)?,
    };
    Ok(LabelCheck::new(expected == labels, last_gene, touched))
}

/// Computes the communities of the weighted network again, and their properties.
fn weighted(
    context: &Context<'_>,
    params: &CommunitiesParams,
    labels: &[u32],
) -> Result<LabelCheck> {
    let weight = |score: i32| match params.weights {
        EdgeWeight::Rows => 1,
        EdgeWeight::Score => score.unsigned_abs(),
    };
    let edges = WeightedStore::read(context, &edges_of(context, params), weight)?;
    let last_gene = edges.last_gene();
    if last_gene as usize > labels.len() {
        return Ok(LabelCheck::new(false, last_gene, None));
    }
    // Genes after the last edge are alone, and do not change the order of the others.
    let (mut arrays, mut touched) = edges.network(last_gene as usize)?;
    touched.resize(labels.len(), false);
    drop(edges);
    let factors = weighted_quality::Factors::of(params, arrays.masses.iter().sum());
    if params.quality == CommunityQuality::Cpm {
        arrays.masses.fill(1);
    }
    let network = arrays.level();
    let mut expected = leiden::labels(network, &factors, context.progress)?;
    expected.extend(last_gene..labels.len() as u32);
    let check = LabelCheck::new(expected == labels, last_gene, Some(touched));
    let labels = &labels[..last_gene as usize];
    let flaw = leiden::flaw(network, &factors, labels);
    Ok(LabelCheck {
        flaw,
        quality: Some(weighted_quality::quality(network, &factors, labels)),
        ..check
    })
}
