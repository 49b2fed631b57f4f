//! Louvain community detection, deterministic: genes are visited in the order of their numbers,
//! gains are compared as integers, and a tie goes to the smallest community.
//!
//! Modularity Q = sum over communities of (2 L_c M - D_c^2 / 2) / (2 M^2) with M edges in total,
//! L_c edges inside and D_c the sum of degrees. Source: Blondel et al. 2008. Cost O(edges) for each
//! sweep.

use super::graph::Graph;
use super::union_find::UnionFind;
use super::weighted_graph::{CommunitySums, WeightedGraph, renumber};

/// Maximum number of sweeps over the vertices of a level.
const SWEEPS_MAX: u32 = 100;

/// Returns the community of each gene as its smallest member.
pub fn labels(graph: &Graph) -> Vec<u32> {
    let mut labels: Vec<u32> = (0..graph.genes() as u32).collect();
    let mut level = WeightedGraph::of_graph(graph);
    let total = 2 * graph.edges() as u64;
    loop {
        let (communities, moved) = settle(&level, total);
        if !moved {
            return connected_parts(graph, &labels);
        }
        let (communities, count) = renumber(&communities);
        for label in &mut labels {
            *label = communities[*label as usize];
        }
        level = level.aggregate(&communities, count);
    }
}

/// Splits communities that moves have disconnected; modularity only rises. Each part is labelled by
/// its smallest member.
fn connected_parts(graph: &Graph, labels: &[u32]) -> Vec<u32> {
    let mut forest = UnionFind::default();
    for gene in 0..graph.genes() {
        forest.join(gene as u32, gene as u32);
        for &neighbour in graph.neighbours(gene) {
            if labels[neighbour as usize] == labels[gene] {
                forest.join(gene as u32, neighbour);
            }
        }
    }
    forest.labels()
}

/// Returns the modularity of a partition.
pub fn modularity(graph: &Graph, labels: &[u32]) -> f64 {
    let total = 2.0 * graph.edges() as f64;
    if graph.edges() == 0 {
        return 0.0;
    }
    let mut inside = vec![0u64; labels.len()];
    let mut degree = vec![0u64; labels.len()];
    for gene in 0..graph.genes() {
        let label = labels[gene] as usize;
        let neighbours = graph.neighbours(gene);
        degree[label] += neighbours.len() as u64;
        let same = |&&near: &&u32| labels[near as usize] == labels[gene];
        inside[label] += neighbours.iter().filter(same).count() as u64;
    }
    inside
        .iter()
        .zip(&degree)
        .map(|(&l, &d)| l as f64 / total - (d as f64 / total) * (d as f64 / total))
        .sum()
}

/// Moves vertices between communities until no move gains; returns whether any vertex moved.
fn settle(level: &WeightedGraph, total: u64) -> (Vec<u32>, bool) {
    let count = level.len();
    let degrees = level.masses();
    let mut community: Vec<u32> = (0..count as u32).collect();
    let mut masses = degrees.to_vec();
    let mut sums = CommunitySums::new(count);
    let mut any = false;
    for _ in 0..SWEEPS_MAX {
        let mut moved = false;
        for vertex in 0..count {
            for (neighbour, weight) in level.edges(vertex) {
                sums.add(community[neighbour as usize], weight);
            }
            let home = community[vertex];
            masses[home as usize] -= degrees[vertex];
            let gain = |c: u32| -> i128 {
                let (to, mass) = (i128::from(sums.to(c)), i128::from(masses[c as usize]));
                to * i128::from(total) - i128::from(degrees[vertex]) * mass
            };
            let mut best = (gain(home), home);
            for &c in sums.communities() {
                let value = gain(c);
                if value > best.0 || (value == best.0 && c < best.1 && best.1 != home) {
                    best = (value, c);
                }
            }
            masses[best.1 as usize] += degrees[vertex];
            moved |= best.1 != home;
            sums.clear();
            community[vertex] = best.1;
        }
        any |= moved;
        if !moved {
            break;
        }
    }
    (community, any)
}

#[cfg(test)]
mod tests {
    use super::super::graph::smallest_members;
    use super::*;
    use cuesta_core::random::Stream;

    /// Two cliques of five joined by one edge.
    #[test]
    fn two_cliques_are_two_communities() {
        let mut edges = vec![(5, 0)];
        for base in [0u32, 5] {
            for a in 0..5 {
                for b in 0..a {
                    edges.push((base + a, base + b));
                }
            }
        }
        let graph = Graph::new(10, &edges);
        let communities = labels(&graph);
        assert_eq!(communities, [0, 0, 0, 0, 0, 5, 5, 5, 5, 5]);
        let expected = 2.0 * (20.0 / 42.0 - 0.25);
        assert!((modularity(&graph, &communities) - expected).abs() < 1e-12);
    }

    #[test]
    fn planted_communities_are_detected() {
        let stream = Stream::new(5, 0);
        let mut edges = Vec::new();
        for a in 0..200u32 {
            for b in 0..a {
                let odds = if a % 4 == b % 4 { 0.3 } else { 0.01 };
                if stream.uniform(u64::from(a) * 200 + u64::from(b)) < odds {
                    edges.push((a, b));
                }
            }
        }
        let graph = Graph::new(200, &edges);
        let communities = labels(&graph);
        let planted: Vec<u32> = (0..200).map(|gene| gene % 4).collect();
        assert_eq!(communities, smallest_members(&planted));
        assert!(modularity(&graph, &communities) > 0.6);
    }

    #[test]
    fn genes_without_edges_stay_alone() {
        let graph = Graph::new(3, &[]);
        assert_eq!(labels(&graph), [0, 1, 2]);
        assert!(modularity(&graph, &[0, 1, 2]).abs() < f64::EPSILON);
    }
}
