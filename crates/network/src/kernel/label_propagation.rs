//! Synchronous label propagation: in each round, all genes at once take the label that most of
//! their edges lead to; a tie goes to the smallest label. The paper's `community-detection` (GraphX
//! `LabelPropagation`), with the tie made deterministic.
//!
//! Source: Raghavan, Albert, Kumara 2007. Cost O(edges) a round.

use super::graph::{Graph, smallest_members};

/// Returns the labels after at most `rounds` rounds, as smallest members, and the number of rounds.
pub fn labels(graph: &Graph, rounds: u32) -> (Vec<u32>, u32) {
    let mut labels: Vec<u32> = (0..graph.genes() as u32).collect();
    let mut next = labels.clone();
    let mut votes = vec![0u32; graph.genes()];
    for round in 0..rounds {
        for (gene, label) in next.iter_mut().enumerate() {
            let neighbours = graph.neighbours(gene).iter().copied();
            *label = winner(neighbours, &labels, &mut votes).unwrap_or(labels[gene]);
        }
        if next == labels {
            return (smallest_members(&labels), round);
        }
        std::mem::swap(&mut labels, &mut next);
    }
    (smallest_members(&labels), rounds)
}

/// Returns the most frequent label of `neighbours`, the smallest in a tie; `votes` has an element
/// for each label, all zero before and after the call.
pub fn winner(
    neighbours: impl Iterator<Item = u32> + Clone,
    labels: &[u32],
    votes: &mut [u32],
) -> Option<u32> {
    let mut best: Option<(u32, u32)> = None;
    for neighbour in neighbours.clone() {
        let label = labels[neighbour as usize];
        let count = &mut votes[label as usize];
        *count += 1;
        if best.is_none_or(|(most, least)| (*count, least) > (most, label)) {
            best = Some((*count, label));
        }
    }
    for neighbour in neighbours {
        votes[labels[neighbour as usize] as usize] = 0;
    }
    best.map(|(_, label)| label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Simplest implementation.
    fn reference(genes: usize, edges: &[(u32, u32)], rounds: u32) -> Vec<u32> {
        let mut labels: Vec<u32> = (0..genes as u32).collect();
        for _ in 0..rounds {
            let mut votes = vec![BTreeMap::<u32, u32>::new(); genes];
            for &(a, b) in edges {
                *votes[a as usize].entry(labels[b as usize]).or_default() += 1;
                *votes[b as usize].entry(labels[a as usize]).or_default() += 1;
            }
            for (label, votes) in labels.iter_mut().zip(&votes) {
                let most = votes.iter().max_by_key(|&(&l, &n)| (n, std::cmp::Reverse(l)));
                *label = most.map_or(*label, |(&l, _)| l);
            }
        }
        smallest_members(&labels)
    }

    proptest! {
        #[test]
        fn kernel_and_reference_agree(
            edges in proptest::collection::vec((0u32..12, 0u32..12), 0..40),
            rounds in 1u32..8,
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|(a, b)| a > b).collect();
            let graph = Graph::new(12, &edges);
            prop_assert_eq!(labels(&graph, rounds).0, reference(12, &edges, rounds));
        }
    }

    #[test]
    fn a_tie_is_won_by_the_smallest_label() {
        let labels_of_all = [5, 3, 9];
        let mut votes = vec![0; 10];
        let mut winner =
            |neighbours: &[u32]| winner(neighbours.iter().copied(), &labels_of_all, &mut votes);
        assert_eq!(winner(&[0, 1, 2]), Some(3));
        assert_eq!(winner(&[0, 2, 2, 1, 1]), Some(3));
        assert_eq!(winner(&[0, 2, 2]), Some(9));
        assert_eq!(winner(&[]), None);
        assert!(votes.iter().all(|&count| count == 0));
    }
}
