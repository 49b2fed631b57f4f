//! Scores of the edges of a list, to find those that are there twice.

use std::hash::{BuildHasher, RandomState};

use cuesta_core::fixed::Micro;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::limits::{CLUSTERS_MAX, GENES_MAX};

/// Line of an edge of an earlier list.
pub const EARLIER_LIST: usize = 0;

const GENE_BITS: u32 = 24;
const CLUSTER_BITS: u32 = 16;
const _: () = assert!(GENES_MAX < 1 << GENE_BITS && CLUSTERS_MAX <= 1 << CLUSTER_BITS);

/// Scores by the genes and the cluster of an edge.
#[derive(Default)]
pub struct EdgeScores {
    edges: HashTable<ScoredEdge>,
    hashes: RandomState,
}

/// Score of an edge, and its line, or [`EARLIER_LIST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScoredEdge {
    /// Both genes and the cluster.
    key: u64,
    /// Score.
    pub score: Micro,
    /// Line.
    pub line: usize,
}

impl EdgeScores {
    /// Adds the score of two genes and a cluster, or returns what is there already.
    pub fn insert(
        &mut self,
        (gene1, gene2, cluster): (u32, u32, u32),
        score: Micro,
        line: usize,
    ) -> Option<ScoredEdge> {
        let genes = u64::from(gene1) << GENE_BITS | u64::from(gene2);
        // Clusters count from 1.
        let key = genes << CLUSTER_BITS | u64::from(cluster - 1);
        let hashes = &self.hashes;
        let place = self.edges.entry(
            hashes.hash_one(key),
            |edge| edge.key == key,
            |edge| hashes.hash_one(edge.key),
        );
        match place {
            Entry::Occupied(found) => Some(*found.get()),
            Entry::Vacant(place) => {
                place.insert(ScoredEdge { key, score, line });
                None
            }
        }
    }

    /// Returns the number of edges.
    pub fn len(&self) -> usize {
        self.edges.len()
    }
}
