//! Connected components of a stream of edges: a forest whose roots are the smallest members.
//!
//! Linking always puts the larger root below the smaller root, so the root of a finished tree is
//! the canonical label for any order of the edges. Memory is 4 bytes for each gene; edges are not
//! stored. Source: Tarjan's union-find with path halving.

/// Forest over genes counted from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnionFind {
    parent: Vec<u32>,
}

impl UnionFind {
    /// Joins the trees of two genes, counted from 0.
    #[inline]
    pub fn join(&mut self, a: u32, b: u32) {
        let top = a.max(b) as usize;
        if top >= self.parent.len() {
            self.grow(top + 1);
        }
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parent[a.max(b) as usize] = a.min(b);
        }
    }

    /// Returns the smallest member of the tree of a gene.
    #[inline]
    pub fn root(&mut self, mut gene: u32) -> u32 {
        loop {
            let parent = self.parent[gene as usize];
            if parent == gene {
                return gene;
            }
            let above = self.parent[parent as usize];
            self.parent[gene as usize] = above;
            gene = above;
        }
    }

    /// Adds the edges of another forest.
    pub fn merge(&mut self, other: &Self) {
        for (gene, &parent) in other.parent.iter().enumerate() {
            if parent as usize != gene {
                self.join(gene as u32, parent);
            }
        }
    }

    /// Returns the edges of the forest: (gene, its smallest member), for genes that are not the
    /// smallest.
    pub fn links(&mut self) -> Vec<(u32, u32)> {
        (0..self.parent.len() as u32)
            .map(|gene| (gene, self.root(gene)))
            .filter(|(gene, root)| gene != root)
            .collect()
    }

    /// Returns the label of each gene: the smallest member of its component.
    pub fn labels(mut self) -> Vec<u32> {
        (0..self.parent.len() as u32).map(|gene| self.root(gene)).collect()
    }

    #[cold]
    fn grow(&mut self, count: usize) {
        let from = self.parent.len() as u32;
        self.parent.extend(from..count as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_order_and_any_parts_give_the_smallest_members(
            edges in proptest::collection::vec((0u32..40, 0u32..40), 0..60),
            cut in 0usize..60,
        ) {
            let forest = |edges: &[(u32, u32)]| {
                let mut forest = UnionFind::default();
                edges.iter().for_each(|&(a, b)| forest.join(a, b));
                forest
            };
            let complete = forest(&edges);
            let (left, right) = edges.split_at(cut.min(edges.len()));
            let mut parts = forest(right);
            parts.merge(&forest(left));
            let labels = complete.labels();
            // An isolated gene at the end may be in only one of the forests.
            let padded = |mut labels: Vec<u32>| {
                labels.extend(labels.len() as u32..40);
                labels
            };
            let labels = padded(labels);
            prop_assert_eq!(&labels, &padded(parts.labels()));
            for &(a, b) in &edges {
                prop_assert_eq!(labels[a as usize], labels[b as usize]);
            }
            for (gene, &label) in labels.iter().enumerate() {
                prop_assert!(label as usize <= gene && labels[label as usize] == label);
            }
        }
    }
}
