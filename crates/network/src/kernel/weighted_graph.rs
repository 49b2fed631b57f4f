//! Networks whose vertices are genes or communities of a finer network, for Louvain and Leiden.

use super::graph::Graph;

/// Edge between two genes, from 0, and its weight.
pub type WeightedEdge = (u32, u32, u32);

/// Weighted network without loops.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WeightedGraph {
    /// `near[starts[v]..starts[v + 1]]` are the neighbours of vertex v, ascending.
    starts: Vec<usize>,
    near: Vec<u32>,
    /// Weights of the edges to `near`, none of them 0.
    weights: Vec<u64>,
    /// Mass of each vertex: the sum of those of its genes, in which a quality counts.
    masses: Vec<u64>,
}

impl WeightedGraph {
    /// Builds the network of genes, whose masses are their degrees; parallel edges add up.
    pub fn of_graph(graph: &Graph) -> Self {
        let mut network = Self { starts: vec![0], ..Self::default() };
        for gene in 0..graph.genes() {
            let neighbours = graph.neighbours(gene);
            let edges = neighbours.chunk_by(|a, b| a == b);
            network.close(edges.map(|same| (same[0], same.len() as u64)));
            network.masses.push(neighbours.len() as u64);
        }
        network
    }

    /// Builds the network of `genes` genes, whose masses are the sums of their weights. The order
    /// of `edges` does not matter, parallel edges add up, and an edge of weight 0 is none.
    pub fn of_edges(genes: usize, edges: &[WeightedEdge]) -> Self {
        let mut ends = vec![0usize; genes + 1];
        for &(a, b, _) in edges {
            ends[a as usize] += 1;
            ends[b as usize] += 1;
        }
        let mut sum = 0;
        for end in &mut ends {
            (*end, sum) = (sum, sum + *end);
        }
        let mut near = vec![(0u32, 0u32); sum];
        for &(a, b, weight) in edges {
            for (from, to) in [(a, b), (b, a)] {
                let next = &mut ends[from as usize];
                near[*next] = (to, weight);
                *next += 1;
            }
        }
        let mut network = Self { starts: vec![0], ..Self::default() };
        let mut start = 0;
        for &end in &ends[..genes] {
            let row = &mut near[start..end];
            row.sort_unstable();
            let sum = |same: &[(u32, u32)]| same.iter().map(|edge| u64::from(edge.1)).sum();
            network.masses.push(sum(row));
            network.close(row.chunk_by(|a, b| a.0 == b.0).map(|same| (same[0].0, sum(same))));
            start = end;
        }
        network
    }

    /// Adds the edges of the next vertex.
    fn close(&mut self, edges: impl Iterator<Item = (u32, u64)>) {
        for (neighbour, weight) in edges.filter(|edge| edge.1 > 0) {
            self.near.push(neighbour);
            self.weights.push(weight);
        }
        self.starts.push(self.near.len());
    }

    /// Returns the number of edges.
    pub fn edge_count(&self) -> usize {
        self.near.len() / 2
    }

    /// Returns the memory of [`WeightedGraph::of_edges`] in bytes, in addition to its edges.
    pub fn size_bytes(genes: usize, edges: usize) -> u64 {
        // The list that is sorted, and the network; both have two entries for an edge.
        (24 * genes + 2 * (8 + 12) * edges) as u64
    }

    /// Returns whether there is no vertex.
    pub fn is_empty(&self) -> bool {
        self.masses.is_empty()
    }

    /// Returns the number of vertices.
    pub fn len(&self) -> usize {
        self.masses.len()
    }

    /// Returns the mass of each vertex.
    pub fn masses(&self) -> &[u64] {
        &self.masses
    }

    /// Gives all vertices the mass 1.
    pub fn with_unit_masses(self) -> Self {
        Self { masses: vec![1; self.len()], ..self }
    }

    /// Returns the neighbours of a vertex, ascending, and the weights of the edges to them.
    #[inline]
    pub fn edges(&self, vertex: usize) -> impl Iterator<Item = (u32, u64)> {
        let range = self.starts[vertex]..self.starts[vertex + 1];
        self.near[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }

    /// Returns the network whose vertices are the `count` communities of this one.
    pub fn aggregate(&self, communities: &[u32], count: usize) -> Self {
        let mut ends = vec![0usize; count + 1];
        communities.iter().for_each(|&community| ends[community as usize] += 1);
        let mut sum = 0;
        for end in &mut ends {
            (*end, sum) = (sum, sum + *end);
        }
        let mut members = vec![0u32; self.len()];
        for (vertex, &community) in (0u32..).zip(communities) {
            members[ends[community as usize]] = vertex;
            ends[community as usize] += 1;
        }
        let mut network = Self { starts: vec![0], ..Self::default() };
        let mut sums = CommunitySums::new(count);
        let mut start = 0;
        for (home, &end) in (0u32..).zip(&ends[..count]) {
            for &vertex in &members[start..end] {
                for (neighbour, weight) in self.edges(vertex as usize) {
                    let community = communities[neighbour as usize];
                    if community != home {
                        sums.add(community, weight);
                    }
                }
            }
            sums.communities.sort_unstable();
            network.close(sums.communities.iter().map(|&to| (to, sums.to(to))));
            sums.clear();
            let mass = |&vertex: &u32| self.masses[vertex as usize];
            network.masses.push(members[start..end].iter().map(mass).sum());
            start = end;
        }
        network
    }
}

/// Weights from a vertex to communities, most of which are 0.
pub struct CommunitySums {
    values: Vec<u64>,
    communities: Vec<u32>,
}

impl CommunitySums {
    /// Creates sums of 0 for `count` communities.
    pub fn new(count: usize) -> Self {
        Self { values: vec![0; count], communities: Vec::new() }
    }

    /// Adds a weight, which is not 0.
    #[inline]
    pub fn add(&mut self, community: u32, weight: u64) {
        let value = &mut self.values[community as usize];
        if *value == 0 {
            self.communities.push(community);
        }
        *value += weight;
    }

    /// Returns the sum of a community.
    #[inline]
    pub fn to(&self, community: u32) -> u64 {
        self.values[community as usize]
    }

    /// Returns the communities whose sum is not 0.
    #[inline]
    pub fn communities(&self) -> &[u32] {
        &self.communities
    }

    /// Sets all sums to 0.
    #[inline]
    pub fn clear(&mut self) {
        for &community in &self.communities {
            self.values[community as usize] = 0;
        }
        self.communities.clear();
    }
}

/// Numbers the communities in the order of their first vertex; returns the numbers and their count.
pub fn renumber(communities: &[u32]) -> (Vec<u32>, usize) {
    let mut numbers = vec![u32::MAX; communities.len()];
    let mut count = 0;
    let renumbered = communities
        .iter()
        .map(|&community| {
            let slot = &mut numbers[community as usize];
            if *slot == u32::MAX {
                *slot = count;
                count += 1;
            }
            *slot
        })
        .collect();
    (renumbered, count as usize)
}
