//! Second count of the pairs of a sweep, by other methods than the sweep's.
//!
//! Degrees come from |r| in whole millionths; components from a spanning forest of the strongest
//! edges (Kruskal's, of a bounded number of edges at a time); and the correlations themselves from
//! a random vector x: with unit columns U, the sum of r_ij x_j over j is U_i (U' x), so that no
//! wrong correlation of complete data stays hidden (Freivalds 1977).

use cuesta_core::Result;
use cuesta_core::budget::{Budget, Lease};
use cuesta_core::random::Stream;

use crate::kernel::threshold::sweep::SweepObserver;
use crate::threshold::rows::millionths;

/// Edges that a thread gathers before it makes a forest of them.
const EDGES_MAX: usize = 1 << 20;

/// Edge of a network, by the number of cut-offs that it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LevelEdge {
    level: u32,
    genes: [u32; 2],
}

/// Observer that counts the pairs of a sweep.
pub(super) struct PairTally<'t> {
    thresholds: &'t [u32],
    /// Random number of each gene, 1 or -1.
    signs: Vec<f64>,
    _lease: Lease<'t>,
}

/// Counts of a thread.
pub(super) struct Counts {
    levels: usize,
    /// By gene, pairs that reach each number of cut-offs, from 0.
    counts: Vec<u32>,
    edges: Vec<LevelEdge>,
    /// Sum of each gene's correlations, each with the random number of its partner.
    pub signed_sums: Vec<f64>,
    /// Number of pairs without a correlation.
    pub undefined: u64,
}

impl<'t> PairTally<'t> {
    /// Prepares the counts of so many genes on so many threads.
    ///
    /// # Errors
    /// `Input` when the budget has too little left.
    pub fn new(
        thresholds: &'t [u32],
        (genes, seed): (usize, u64),
        (threads, budget): (usize, &'t Budget),
    ) -> Result<Self> {
        let of_forest = 2 * size_of::<LevelEdge>() * (EDGES_MAX + 2 * genes);
        let of_thread = 4 * genes * (thresholds.len() + 1) + 8 * genes + of_forest;
        let lease = budget.take((threads * of_thread) as u64, "the second count of pairs")?;
        let stream = Stream::new(seed, genes as u64);
        let sign = |gene| if stream.below(gene, 2) == 0 { 1.0 } else { -1.0 };
        Ok(Self { thresholds, signs: (0..genes as u64).map(sign).collect(), _lease: lease })
    }

    /// Random number of each gene.
    pub fn signs(&self) -> &[f64] {
        &self.signs
    }
}

impl SweepObserver for PairTally<'_> {
    type State = Counts;

    fn state(&self) -> Counts {
        let (genes, levels) = (self.signs.len(), self.thresholds.len() + 1);
        Counts {
            levels,
            counts: vec![0; genes * levels],
            edges: Vec::new(),
            signed_sums: vec![0.0; genes],
            undefined: 0,
        }
    }

    fn row(&self, state: &mut Counts, i: usize, first: usize, correlations: &[f64]) {
        let levels = state.levels;
        let mut sum = 0.0;
        for (j, &r) in (first..).zip(correlations) {
            let Some(size) = millionths(r) else {
                state.undefined += 1;
                continue;
            };
            sum += r * self.signs[j];
            state.signed_sums[j] += r * self.signs[i];
            let level = self.thresholds.partition_point(|threshold| *threshold <= size);
            state.counts[i * levels + level] += 1;
            state.counts[j * levels + level] += 1;
            if level > 0 {
                let edge = LevelEdge { level: level as u32, genes: [i as u32, j as u32] };
                state.edges.push(edge);
            }
        }
        state.signed_sums[i] += sum;
        if state.edges.len() > EDGES_MAX {
            state.reduce();
        }
    }
}

impl Counts {
    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, count)| *sum += count);
        self.signed_sums.iter_mut().zip(other.signed_sums).for_each(|(sum, value)| *sum += value);
        self.undefined += other.undefined;
        self.edges.extend(other.edges);
    }

    /// Reduces the edges to a forest of the strongest ones: at each cut-off, the same genes are
    /// connected.
    pub fn reduce(&mut self) {
        let genes = self.signed_sums.len();
        let mut starts = vec![0; self.levels + 1];
        self.edges.iter().for_each(|edge| starts[edge.level as usize] += 1);
        let mut place = 0;
        for start in starts.iter_mut().rev() {
            place += std::mem::replace(start, place);
        }
        let mut sorted = vec![LevelEdge { level: 0, genes: [0; 2] }; self.edges.len()];
        for edge in &self.edges {
            sorted[starts[edge.level as usize]] = *edge;
            starts[edge.level as usize] += 1;
        }
        let mut parents: Vec<u32> = (0..genes as u32).collect();
        let mut sizes = vec![1_u32; genes];
        let root = |parents: &mut [u32], mut gene: u32| {
            while parents[gene as usize] != gene {
                parents[gene as usize] = parents[parents[gene as usize] as usize];
                gene = parents[gene as usize];
            }
            gene
        };
        self.edges.clear();
        for edge in sorted {
            let [a, b] = edge.genes.map(|gene| root(&mut parents, gene));
            if a == b {
                continue;
            }
            let (small, large) =
                if sizes[a as usize] < sizes[b as usize] { (a, b) } else { (b, a) };
            parents[small as usize] = large;
            sizes[large as usize] += sizes[small as usize];
            self.edges.push(edge);
            if self.edges.len() + 1 == genes {
                break;
            }
        }
    }

    /// Returns the degree of a gene at the cut-off of a number, from 0.
    pub fn degree(&self, gene: usize, cutoff: usize) -> f64 {
        let counts = &self.counts[gene * self.levels..][..self.levels];
        counts[cutoff + 1..].iter().map(|count| f64::from(*count)).sum()
    }

    /// Returns the degree of each gene at the cut-off of a number, from 0.
    pub fn degrees(&self, cutoff: usize) -> Vec<f64> {
        (0..self.signed_sums.len()).map(|gene| self.degree(gene, cutoff)).collect()
    }

    /// Returns the number of components with an edge at a cut-off, and the genes of the largest: by
    /// a search from gene to gene along the edges of the forest.
    pub fn components(&self, cutoff: usize) -> (usize, usize) {
        let genes = self.signed_sums.len();
        let mut neighbours = vec![Vec::new(); genes];
        for edge in self.edges.iter().filter(|edge| edge.level as usize > cutoff) {
            let [a, b] = edge.genes;
            neighbours[a as usize].push(b);
            neighbours[b as usize].push(a);
        }
        let (mut components, mut largest) = (0, 0);
        let mut is_visited = vec![false; genes];
        for first in 0..genes {
            if is_visited[first] || neighbours[first].is_empty() {
                continue;
            }
            let (mut waiting, mut size) = (vec![first], 0);
            is_visited[first] = true;
            while let Some(gene) = waiting.pop() {
                size += 1;
                for &other in &neighbours[gene] {
                    if !std::mem::replace(&mut is_visited[other as usize], true) {
                        waiting.push(other as usize);
                    }
                }
            }
            components += 1;
            largest = largest.max(size);
        }
        (components, largest)
    }
}
