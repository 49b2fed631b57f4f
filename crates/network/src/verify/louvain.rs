//! Louvain method on flat arrays, as specified in `spec/workloads/communities`; the kernel stores a
//! list for each vertex and examines each neighbour, this module each community once.

use cuesta_core::Result;
use cuesta_core::progress::Progress;

use super::adjacency::NeighbourLists;

/// Maximum number of sweeps over the vertices of a level.
const SWEEPS_MAX: u32 = 100;

/// Network of communities, or of genes, whose edges all have weight 1.
struct Level<'a> {
    starts: &'a [usize],
    near: &'a [u32],
    /// Weights of the edges; empty if all are 1.
    weights: &'a [u64],
    /// Twice the weight of the edges within each vertex.
    inside: &'a [u64],
}

/// Arrays of a level.
#[derive(Default)]
struct Arrays {
    starts: Vec<usize>,
    near: Vec<u32>,
    weights: Vec<u64>,
    inside: Vec<u64>,
}

/// Sums by community, few of which are not 0.
struct Sums {
    values: Vec<u64>,
    touched: Vec<u32>,
}

/// Returns the smallest member of the community of each gene, from 0.
///
/// # Errors
/// `Cancelled`.
pub fn labels(genes: &NeighbourLists, progress: &Progress) -> Result<Vec<u32>> {
    let count = genes.starts.len() - 1;
    let mut labels: Vec<u32> = (0..count as u32).collect();
    let total = genes.list.len() as u64;
    let (starts, near, none) = (&genes.starts[..], &genes.list[..], vec![0; count]);
    let mut level = Level { starts, near, weights: &[], inside: &none };
    let mut arrays;
    while let Some(homes) = level.settle(total, progress)? {
        let (homes, communities) = numbered(&homes);
        labels.iter_mut().for_each(|label| *label = homes[*label as usize]);
        arrays = level.merged(&homes, communities);
        level = arrays.level();
    }
    Ok(connected_parts(genes, &labels))
}

impl Level<'_> {
    fn len(&self) -> usize {
        self.inside.len()
    }

    /// Returns the neighbours of a vertex and the weights of the edges to them.
    #[inline(always)]
    fn edges(&self, vertex: usize) -> impl Iterator<Item = (u32, u64)> {
        let range = self.starts[vertex]..self.starts[vertex + 1];
        range.map(|edge| (self.near[edge], self.weights.get(edge).copied().unwrap_or(1)))
    }

    /// Returns the community of each vertex after all moves that gain; `None` if no move gains.
    fn settle(&self, total: u64, progress: &Progress) -> Result<Option<Vec<u32>>> {
        let weight = |vertex: usize| -> u64 {
            self.inside[vertex] + self.edges(vertex).map(|(_, weight)| weight).sum::<u64>()
        };
        let degrees: Vec<u64> = (0..self.len()).map(weight).collect();
        let mut masses = degrees.clone();
        let mut homes: Vec<u32> = (0..self.len() as u32).collect();
        let mut sums = Sums::new(self.len());
        let mut any = false;
        for _ in 0..SWEEPS_MAX {
            progress.advance(0)?;
            let mut moved = false;
            for vertex in 0..self.len() {
                let (home, degree) = (homes[vertex], degrees[vertex]);
                self.edges(vertex).for_each(|(to, weight)| sums.add(homes[to as usize], weight));
                masses[home as usize] -= degree;
                let gain = |to: u32| {
                    i128::from(sums.values[to as usize]) * i128::from(total)
                        - i128::from(degree) * i128::from(masses[to as usize])
                };
                // Among the communities with the largest gain it stays in its own, else takes the
                // smallest.
                let rank = |&to: &u32| (gain(to), to == home, std::cmp::Reverse(to));
                let best = sums.touched.iter().copied().chain([home]).max_by_key(rank);
                homes[vertex] = best.unwrap_or(home);
                masses[homes[vertex] as usize] += degree;
                moved |= homes[vertex] != home;
                sums.clear();
            }
            any |= moved;
            if !moved {
                break;
            }
        }
        Ok(any.then_some(homes))
    }

    /// Returns the network whose vertices are communities.
    fn merged(&self, homes: &[u32], communities: usize) -> Arrays {
        let mut members: Vec<u32> = (0..self.len() as u32).collect();
        members.sort_by_key(|&vertex| homes[vertex as usize]);
        let mut sums = Sums::new(communities);
        let mut merged = Arrays { starts: vec![0], ..Arrays::default() };
        for same in members.chunk_by(|&a, &b| homes[a as usize] == homes[b as usize]) {
            let home = homes[same[0] as usize];
            let mut inside = 0;
            for &vertex in same {
                inside += self.inside[vertex as usize];
                for (to, weight) in self.edges(vertex as usize) {
                    match homes[to as usize] {
                        other if other == home => inside += weight,
                        other => sums.add(other, weight),
                    }
                }
            }
            merged.near.extend(&sums.touched);
            merged.weights.extend(sums.touched.iter().map(|&to| sums.values[to as usize]));
            merged.starts.push(merged.near.len());
            merged.inside.push(inside);
            sums.clear();
        }
        merged
    }
}

impl Arrays {
    fn level(&self) -> Level<'_> {
        let Self { starts, near, weights, inside } = self;
        Level { starts, near, weights, inside }
    }
}

impl Sums {
    fn new(count: usize) -> Self {
        Self { values: vec![0; count], touched: Vec::new() }
    }

    #[inline(always)]
    fn add(&mut self, to: u32, weight: u64) {
        let value = &mut self.values[to as usize];
        if *value == 0 {
            self.touched.push(to);
        }
        *value += weight;
    }

    fn clear(&mut self) {
        self.touched.drain(..).for_each(|to| self.values[to as usize] = 0);
    }
}

/// Numbers communities in the order of their first members; returns the numbers and their count.
fn numbered(homes: &[u32]) -> (Vec<u32>, usize) {
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

/// Returns the smallest gene that each gene reaches without leaving its community.
fn connected_parts(genes: &NeighbourLists, labels: &[u32]) -> Vec<u32> {
    let mut parts = vec![u32::MAX; labels.len()];
    let mut waiting = Vec::new();
    for first in 0..labels.len() {
        if parts[first] != u32::MAX {
            continue;
        }
        parts[first] = first as u32;
        waiting.push(first);
        while let Some(gene) = waiting.pop() {
            for &neighbour in genes.of(gene) {
                let neighbour = neighbour as usize;
                if parts[neighbour] == u32::MAX && labels[neighbour] == labels[gene] {
                    parts[neighbour] = first as u32;
                    waiting.push(neighbour);
                }
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::graph::Graph;
    use crate::kernel::louvain;
    use proptest::prelude::*;

    fn neighbours(count: usize, edges: &[(u32, u32)]) -> NeighbourLists {
        let mut lists = vec![Vec::new(); count];
        for &(a, b) in edges {
            lists[a as usize].push(b);
            lists[b as usize].push(a);
        }
        let mut starts = vec![0];
        starts.extend(lists.iter().scan(0, |sum, list| {
            *sum += list.len();
            Some(*sum)
        }));
        NeighbourLists { genes: 0..count, starts, list: lists.concat() }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn it_equals_the_kernel(
            edges in proptest::collection::vec((0u32..25, 0u32..25), 0..120),
            groups in 1u32..6,
        ) {
            // Mostly within groups, some parallel, so that each level has moves that gain.
            let edges: Vec<_> = edges
                .into_iter()
                .filter(|(a, b)| a > b && (a % groups == b % groups || (a + b) % 5 == 0))
                .collect();
            let expected = louvain::labels(&Graph::new(25, &edges));
            let communities = labels(&neighbours(25, &edges), &Progress::default()).unwrap();
            prop_assert_eq!(communities, expected);
        }
    }
}
