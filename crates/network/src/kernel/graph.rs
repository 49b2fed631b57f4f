//! Multigraph in compressed rows: the sorted neighbours of each gene, repeated for parallel edges.

/// Adjacency lists of genes counted from 0; each edge is in the lists of both ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// `neighbours[starts[g]..starts[g + 1]]` belong to gene g.
    starts: Vec<usize>,
    neighbours: Vec<u32>,
}

impl Graph {
    /// Builds the graph of `genes` genes; the order of `edges` does not matter.
    pub fn new(genes: usize, edges: &[(u32, u32)]) -> Self {
        let mut starts = vec![0usize; genes + 1];
        for &(a, b) in edges {
            starts[a as usize + 1] += 1;
            starts[b as usize + 1] += 1;
        }
        for gene in 0..genes {
            starts[gene + 1] += starts[gene];
        }
        let mut next = starts.clone();
        let mut neighbours = vec![0u32; 2 * edges.len()];
        for &(a, b) in edges {
            for (from, to) in [(a, b), (b, a)] {
                neighbours[next[from as usize]] = to;
                next[from as usize] += 1;
            }
        }
        for gene in 0..genes {
            neighbours[starts[gene]..starts[gene + 1]].sort_unstable();
        }
        Self { starts, neighbours }
    }

    /// Returns the number of genes.
    pub fn genes(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the number of edges.
    pub fn edges(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// Returns the neighbours of a gene, ascending, repeated for parallel edges.
    #[inline]
    pub fn neighbours(&self, gene: usize) -> &[u32] {
        &self.neighbours[self.starts[gene]..self.starts[gene + 1]]
    }

    /// Returns the memory of [`Graph::new`] in bytes, in addition to its edges.
    pub fn size_bytes(genes: usize, edges: usize) -> u64 {
        (16 * genes + 8 * edges) as u64
    }
}

/// Replaces each label by the smallest gene that has it.
pub fn smallest_members(labels: &[u32]) -> Vec<u32> {
    let mut smallest = vec![u32::MAX; labels.len()];
    for (gene, &label) in labels.iter().enumerate() {
        let slot = &mut smallest[label as usize];
        *slot = (*slot).min(gene as u32);
    }
    labels.iter().map(|&label| smallest[label as usize]).collect()
}
