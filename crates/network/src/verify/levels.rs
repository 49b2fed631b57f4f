//! Networks of genes or of communities on flat arrays, for the verifiers of Louvain and Leiden.

/// Network of communities, or of genes.
#[derive(Clone, Copy)]
pub struct FlatNetwork<'a> {
    /// `near[starts[v]..starts[v + 1]]` are the neighbours of vertex v.
    pub starts: &'a [usize],
    /// Neighbours of all vertices.
    pub near: &'a [u32],
    /// Weights of the edges to `near`; empty if all are 1.
    pub weights: &'a [u64],
    /// Sum of degrees, or number of genes, of each vertex.
    pub masses: &'a [u64],
}

/// Arrays of a level.
#[derive(Default)]
pub struct NetworkArrays {
    /// As of [`FlatNetwork`].
    pub starts: Vec<usize>,
    /// As of [`FlatNetwork`].
    pub near: Vec<u32>,
    /// As of [`FlatNetwork`].
    pub weights: Vec<u64>,
    /// As of [`FlatNetwork`].
    pub masses: Vec<u64>,
}

impl NetworkArrays {
    /// Returns the level of the arrays.
    pub fn level(&self) -> FlatNetwork<'_> {
        let Self { starts, near, weights, masses } = self;
        FlatNetwork { starts, near, weights, masses }
    }
}

impl FlatNetwork<'_> {
    /// Returns the number of vertices.
    pub fn vertices(&self) -> usize {
        self.masses.len()
    }

    /// Returns the neighbours of a vertex and the weights of the edges to them.
    #[inline(always)]
    pub fn edges(&self, vertex: usize) -> impl Iterator<Item = (u32, u64)> {
        let range = self.starts[vertex]..self.starts[vertex + 1];
        range.map(|edge| (self.near[edge], self.weights.get(edge).copied().unwrap_or(1)))
    }

    /// Returns the network whose vertices are communities, neighbours ascending.
    pub fn merged(&self, homes: &[u32], communities: usize) -> NetworkArrays {
        let mut members: Vec<u32> = (0..self.vertices() as u32).collect();
        members.sort_by_key(|&vertex| homes[vertex as usize]);
        let mut sums = WeightSums::new(communities);
        let mut merged = NetworkArrays { starts: vec![0], ..NetworkArrays::default() };
        for same in members.chunk_by(|&a, &b| homes[a as usize] == homes[b as usize]) {
            let home = homes[same[0] as usize];
            for &vertex in same {
                for (to, weight) in self.edges(vertex as usize) {
                    if homes[to as usize] != home {
                        sums.add(homes[to as usize], weight);
                    }
                }
            }
            sums.touched.sort_unstable();
            merged.near.extend(&sums.touched);
            merged.weights.extend(sums.touched.iter().map(|&to| sums.of(to)));
            merged.starts.push(merged.near.len());
            merged.masses.push(same.iter().map(|&vertex| self.masses[vertex as usize]).sum());
            sums.clear();
        }
        merged
    }

    /// Returns the smallest vertex that each vertex reaches without leaving its community.
    pub fn connected_parts(&self, labels: &[u32]) -> Vec<u32> {
        let mut parts = vec![u32::MAX; labels.len()];
        let mut waiting = Vec::new();
        for first in 0..labels.len() {
            if parts[first] != u32::MAX {
                continue;
            }
            parts[first] = first as u32;
            waiting.push(first);
            while let Some(vertex) = waiting.pop() {
                for (neighbour, _) in self.edges(vertex) {
                    let neighbour = neighbour as usize;
                    if parts[neighbour] == u32::MAX && labels[neighbour] == labels[vertex] {
                        parts[neighbour] = first as u32;
                        waiting.push(neighbour);
                    }
                }
            }
        }
        parts
    }
}

/// WeightSums by community, few of which are not 0.
pub struct WeightSums {
    values: Vec<u64>,
    /// Communities whose sum is not 0.
    pub touched: Vec<u32>,
}

impl WeightSums {
    /// Creates sums of 0 for `count` communities.
    pub fn new(count: usize) -> Self {
        Self { values: vec![0; count], touched: Vec::new() }
    }

    /// Returns the sum of a community.
    #[inline(always)]
    pub fn of(&self, to: u32) -> u64 {
        self.values[to as usize]
    }

    /// Adds a weight, which is not 0.
    #[inline(always)]
    pub fn add(&mut self, to: u32, weight: u64) {
        let value = &mut self.values[to as usize];
        if *value == 0 {
            self.touched.push(to);
        }
        *value += weight;
    }

    /// Sets all sums to 0.
    pub fn clear(&mut self) {
        self.touched.drain(..).for_each(|to| self.values[to as usize] = 0);
    }
}

/// Numbers communities in the order of their first members; returns the numbers and their count.
pub fn numbered(homes: &[u32]) -> (Vec<u32>, usize) {
    let mut numbers = vec![None; homes.len()];
    let mut count = 0;
    let number = |&home: &u32| {
        *numbers[home as usize].get_or_insert_with(|| {
            count += 1;
            count - 1
        })
    };
    let numbered = homes.iter().map(number).collect();
    (numbered, count as usize)
}
