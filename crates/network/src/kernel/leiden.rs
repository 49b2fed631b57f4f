//! Leiden community detection, deterministic: each iteration visits vertices in an order that
//! depends on its number and that of its start alone, gains are compared as integers, and a tie
//! goes to the smallest community.
//!
//! An iteration moves vertices, refines the communities from single vertices, makes the refined
//! communities the vertices of the next level, and starts there from the communities before their
//! refinement. Iterations end when no vertex of any level moves: then communities are connected, no
//! move of a gene gains, and neither does a union of two communities. In the order of their numbers
//! vertices reach poor optima where neighbours have near numbers, as in lattices. Source: Traag,
//! Waltman and van Eck 2019, with the best gain in place of a random one in the refinement. Cost
//! O(edges) for each pass over a level.

use std::borrow::Cow;
use std::collections::VecDeque;

use cuesta_core::random::Stream;

use super::graph::smallest_members;
use super::quality::Quality;
use super::weighted_graph::{CommunitySums, WeightedGraph, renumber};

/// Most starts.
const STARTS_MAX: usize = 10;
/// Edges, or genes where those are more, of all starts together; beyond it there is a single one.
const STARTED: usize = 1 << 17;

/// Returns the memory of [`labels`] and its level of genes in bytes, in addition to the edges.
pub fn size_bytes(genes: usize, edges: usize) -> u64 {
    // The next level may be nearly as large as that of the genes.
    2 * WeightedGraph::size_bytes(genes, edges) + 80 * genes as u64
}

/// Returns the community of each gene as its smallest member: of several starts, the first of
/// those with the best quality.
pub fn labels(genes: &WeightedGraph, quality: &Quality) -> Vec<u32> {
    let first = started(genes, quality, 0);
    let mut best = (quality.value(genes, &first), first);
    for start in 1..starts(genes.edge_count().max(genes.len())) {
        let labels = started(genes, quality, start);
        let value = quality.value(genes, &labels);
        if value > best.0 {
            best = (value, labels);
        }
    }
    smallest_members(&best.1)
}

/// Returns the number of starts in a network of `size` edges or genes: small ones take little time,
/// and of few genes a single one in another community is some percent of the quality.
fn starts(size: usize) -> u64 {
    (STARTED / size.max(1)).clamp(1, STARTS_MAX) as u64
}

/// Returns the communities after the iterations of a start.
fn started(genes: &WeightedGraph, quality: &Quality, start: u64) -> Vec<u32> {
    let mut labels: Vec<u32> = (0..genes.len() as u32).collect();
    let mut moved = true;
    let mut iteration = 0;
    while moved {
        let draws = Stream::new(start, iteration);
        (labels, moved) = Iteration { quality, draws }.run(genes, &labels);
        iteration += 1;
    }
    labels
}

/// Iteration, with the draws of its orders.
struct Iteration<'a> {
    quality: &'a Quality,
    draws: Stream,
}

impl Iteration<'_> {
    /// Moves, refines and aggregates until no level is left; returns the communities and whether
    /// any vertex moved.
    fn run(&self, genes: &WeightedGraph, labels: &[u32]) -> (Vec<u32>, bool) {
        let (mut communities, _) = renumber(labels);
        let mut vertices: Vec<u32> = (0..genes.len() as u32).collect();
        let mut level = Cow::Borrowed(genes);
        let mut any = false;
        loop {
            any |= self.settle(&level, &mut communities);
            let (numbered, count) = renumber(&communities);
            if count == level.len() {
                let labels = vertices.iter().map(|&vertex| numbered[vertex as usize]).collect();
                return (labels, any);
            }
            let (groups, count) = renumber(&self.refine(&level, &numbered));
            communities = vec![0; count];
            for (&group, &community) in groups.iter().zip(&numbered) {
                communities[group as usize] = community;
            }
            for vertex in &mut vertices {
                *vertex = groups[*vertex as usize];
            }
            level = Cow::Owned(level.aggregate(&groups, count));
        }
    }

    /// Moves vertices between communities until the queue is empty; returns whether any moved.
    fn settle(&self, level: &WeightedGraph, communities: &mut [u32]) -> bool {
        let count = level.len();
        let mut masses = vec![0u64; count];
        let mut sizes = vec![0u32; count];
        for (vertex, &community) in communities.iter().enumerate() {
            masses[community as usize] += level.masses()[vertex];
            sizes[community as usize] += 1;
        }
        let mut vacant: Vec<u32> =
            (0..count as u32).rev().filter(|&c| sizes[c as usize] == 0).collect();
        let mut queue = VecDeque::from(self.order(count));
        let mut waiting = vec![true; count];
        let mut sums = CommunitySums::new(count);
        let mut any = false;
        while let Some(vertex) = queue.pop_front() {
            let (vertex, home) = (vertex as usize, communities[vertex as usize]);
            waiting[vertex] = false;
            let mass = level.masses()[vertex];
            for (neighbour, weight) in level.edges(vertex) {
                sums.add(communities[neighbour as usize], weight);
            }
            masses[home as usize] -= mass;
            let gain = |c: u32| self.quality.gain(sums.to(c), mass, masses[c as usize]);
            let mut best = (gain(home), home);
            for &c in sums.communities() {
                let value = gain(c);
                if value > best.0 || (value == best.0 && c < best.1 && best.1 != home) {
                    best = (value, c);
                }
            }
            sums.clear();
            // A vertex with a loss has a companion, so that a community is vacant.
            let target = if best.0 < 0 { vacant.pop().unwrap_or(home) } else { best.1 };
            masses[target as usize] += mass;
            if target == home {
                continue;
            }
            any = true;
            communities[vertex] = target;
            sizes[target as usize] += 1;
            sizes[home as usize] -= 1;
            if sizes[home as usize] == 0 {
                vacant.push(home);
            }
            for (neighbour, _) in level.edges(vertex) {
                if communities[neighbour as usize] != target && !waiting[neighbour as usize] {
                    waiting[neighbour as usize] = true;
                    queue.push_back(neighbour);
                }
            }
        }
        any
    }

    /// Divides each community into connected parts: single vertices that join one another. Returns
    /// the part of each vertex.
    fn refine(&self, level: &WeightedGraph, communities: &[u32]) -> Vec<u32> {
        let count = level.len();
        let mut totals = vec![0u64; count];
        for (&community, &mass) in communities.iter().zip(level.masses()) {
            totals[community as usize] += mass;
        }
        let mut parts: Vec<u32> = (0..count as u32).collect();
        let mut masses = level.masses().to_vec();
        // Weight from each part to the rest of its community.
        let mut outward: Vec<u64> = (0..count)
            .map(|vertex| {
                let within =
                    |edge: &(u32, u64)| communities[edge.0 as usize] == communities[vertex];
                level.edges(vertex).filter(within).map(|edge| edge.1).sum()
            })
            .collect();
        let mut single = vec![true; count];
        let mut sums = CommunitySums::new(count);
        for vertex in self.order(count) {
            let vertex = vertex as usize;
            let home = communities[vertex];
            let total = totals[home as usize];
            let is_well_connected = |part: u32, masses: &[u64], outward: &[u64]| {
                let (mass, outward) = (masses[part as usize], outward[part as usize]);
                self.quality.gain(outward, mass, total - mass) >= 0
            };
            if !single[vertex] || !is_well_connected(vertex as u32, &masses, &outward) {
                continue;
            }
            for (neighbour, weight) in level.edges(vertex) {
                if communities[neighbour as usize] == home {
                    sums.add(parts[neighbour as usize], weight);
                }
            }
            let mass = masses[vertex];
            let mut best: Option<(i128, u32)> = None;
            for &part in sums.communities() {
                let value = self.quality.gain(sums.to(part), mass, masses[part as usize]);
                let better = match best {
                    None => value >= 0,
                    Some((most, first)) => value > most || (value == most && part < first),
                };
                if better && is_well_connected(part, &masses, &outward) {
                    best = Some((value, part));
                }
            }
            if let Some((_, part)) = best {
                let weight = sums.to(part);
                parts[vertex] = part;
                masses[part as usize] += mass;
                outward[part as usize] += outward[vertex];
                outward[part as usize] -= 2 * weight;
                single[vertex] = false;
                single[part as usize] = false;
            }
            sums.clear();
        }
        parts
    }

    /// Returns the vertices of a level in the order in which they are visited.
    fn order(&self, count: usize) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count as u32).collect();
        for last in (1..count).rev() {
            order.swap(last, self.draws.below(last as u64, last as u64 + 1) as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::quality::CommunityQuality;
    use crate::kernel::weighted_graph::WeightedEdge;
    use proptest::prelude::*;

    fn network(
        genes: usize,
        edges: &[WeightedEdge],
        kind: CommunityQuality,
    ) -> (WeightedGraph, Quality) {
        let level = WeightedGraph::of_edges(genes, edges);
        let total = level.masses().iter().sum();
        let quality = Quality::new(kind, 1.0, (total, 2)).unwrap();
        match kind {
            CommunityQuality::Modularity => (level, quality),
            CommunityQuality::Cpm => (level.with_unit_masses(), quality),
        }
    }

    /// A ring of cliques of 5, the modularity of which has its largest value for pairs of cliques,
    /// and the constant Potts model for the cliques (Traag et al. 2011).
    #[test]
    fn modularity_joins_cliques_that_the_constant_potts_model_keeps_apart() {
        let mut edges = Vec::new();
        for clique in 0..30u32 {
            let first = 5 * clique;
            edges.push((first, (first + 146) % 150, 3));
            edges.extend((0..5).flat_map(|a| (0..a).map(move |b| (first + a, first + b, 3))));
        }
        for (kind, genes) in [(CommunityQuality::Modularity, 10), (CommunityQuality::Cpm, 5)] {
            let (level, quality) = network(150, &edges, kind);
            let labels = labels(&level, &quality);
            let mut sizes = vec![0; 150];
            labels.iter().for_each(|&label| sizes[label as usize] += 1);
            let largest = sizes.iter().max().copied();
            assert_eq!(largest, Some(genes), "{kind:?} {labels:?}");
        }
    }

    #[test]
    fn genes_without_edges_or_with_weights_of_0_stay_alone() {
        let (level, quality) = network(3, &[(1, 0, 0)], CommunityQuality::Modularity);
        assert_eq!(labels(&level, &quality), [0, 1, 2]);
        assert_eq!(quality.millionths(&level, &[0, 1, 2]), 0);
        let (level, quality) = network(0, &[], CommunityQuality::Cpm);
        assert!(labels(&level, &quality).is_empty());
    }

    proptest! {
        #[test]
        fn orders_of_edges_and_divided_weights_change_nothing(
            edges in proptest::collection::vec((0u32..20, 0u32..20, 1u32..9), 1..80),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|edge| edge.0 != edge.1).collect();
            let turned = edges.iter().rev().flat_map(|&(a, b, w)| [(b, a, 1), (a, b, w - 1)]);
            let turned: Vec<_> = turned.collect();
            for kind in [CommunityQuality::Modularity, CommunityQuality::Cpm] {
                let (level, quality) = network(20, &edges, kind);
                let (again, _) = network(20, &turned, kind);
                prop_assert_eq!(&level, &again);
                let communities = labels(&level, &quality);
                // Not worse than single genes.
                let single: Vec<u32> = (0..20).collect();
                let at_first = quality.millionths(&level, &single);
                prop_assert!(quality.millionths(&level, &communities) >= at_first);
            }
        }
    }
}
