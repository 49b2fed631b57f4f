//! Connected components of networks at ascending cut-offs.

use serde::{Deserialize, Serialize};

/// Forest of the genes of a network; a root is the smallest gene of its tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneForest {
    parents: Vec<u32>,
    trees: usize,
}

impl GeneForest {
    /// Creates a forest of single genes.
    pub fn new(genes: usize) -> Self {
        Self { parents: (0..genes as u32).collect(), trees: genes }
    }

    /// Number of trees.
    pub fn trees(&self) -> usize {
        self.trees
    }

    /// Returns the root of a gene.
    #[inline]
    pub fn root(&mut self, mut gene: u32) -> u32 {
        loop {
            let parent = self.parents[gene as usize];
            if parent == gene {
                return gene;
            }
            let above = self.parents[parent as usize];
            self.parents[gene as usize] = above;
            gene = above;
        }
    }

    /// Joins the trees of two genes; returns whether they were two.
    #[inline]
    pub fn join(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parents[a.max(b) as usize] = a.min(b);
            self.trees -= 1;
        }
        a != b
    }

    /// Adds the edges of another forest.
    pub fn merge(&mut self, other: &Self) {
        for (gene, &parent) in (0..).zip(&other.parents) {
            self.join(gene, parent);
        }
    }

    /// Returns the number of genes of each tree with two genes or more, in the order of roots.
    pub fn sizes(&mut self) -> Vec<usize> {
        let mut sizes = vec![0; self.parents.len()];
        for gene in 0..self.parents.len() as u32 {
            sizes[self.root(gene) as usize] += 1;
        }
        sizes.retain(|size| *size > 1);
        sizes
    }
}

/// Forests of the networks at all cut-offs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Forests(pub Vec<GeneForest>);

impl Forests {
    pub fn new(genes: usize, cutoffs: usize) -> Self {
        Self(vec![GeneForest::new(genes); cutoffs])
    }

    /// Adds an edge to the networks of the first `level` cut-offs. Genes that are connected at one
    /// are so at all smaller ones, so the largest decides first.
    #[inline]
    pub fn add(&mut self, level: usize, i: u32, j: u32) {
        for forest in self.0[..level].iter_mut().rev() {
            if forest.trees == 1 || !forest.join(i, j) {
                break;
            }
        }
    }
}
