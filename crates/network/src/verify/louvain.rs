//! Louvain method on flat arrays, as specified in `spec/workloads/communities`; the kernel stores a
//! list for each vertex and examines each neighbour, this module each community once.

use cuesta_core::Result;
use cuesta_core::progress::Progress;

use super::adjacency::NeighbourLists;
use super::levels::{FlatNetwork, WeightSums, numbered};

/// Maximum number of sweeps over the vertices of a level.
const SWEEPS_MAX: u32 = 100;

/// Returns the smallest member of the community of each gene, from 0.
///
/// # Errors
/// `Cancelled`.
pub fn labels(genes: &NeighbourLists, progress: &Progress) -> Result<Vec<u32>> {
    let count = genes.starts.len() - 1;
    let mut labels: Vec<u32> = (0..count as u32).collect();
    let total = genes.list.len() as u64;
    let degrees: Vec<u64> = (0..count).map(|gene| genes.of(gene).len() as u64).collect();
    let (starts, near) = (&genes.starts[..], &genes.list[..]);
    let first = FlatNetwork { starts, near, weights: &[], masses: &degrees };
    let (mut level, mut arrays);
    level = first;
    while let Some(homes) = settle(level, total, progress)? {
        let (homes, communities) = numbered(&homes);
        labels.iter_mut().for_each(|label| *label = homes[*label as usize]);
        arrays = level.merged(&homes, communities);
        level = arrays.level();
    }
    Ok(first.connected_parts(&labels))
}

/// Returns the community of each vertex after all moves that gain; `None` if no move gains.
fn settle(level: FlatNetwork<'_>, total: u64, progress: &Progress) -> Result<Option<Vec<u32>>> {
    let degrees = level.masses;
    let mut masses = degrees.to_vec();
    let mut homes: Vec<u32> = (0..level.vertices() as u32).collect();
    let mut sums = WeightSums::new(level.vertices());
    let mut any = false;
    for _ in 0..SWEEPS_MAX {
        progress.advance(0)?;
        let mut moved = false;
        for vertex in 0..level.vertices() {
            let (home, degree) = (homes[vertex], degrees[vertex]);
            level.edges(vertex).for_each(|(to, weight)| sums.add(homes[to as usize], weight));
            masses[home as usize] -= degree;
            let gain = |to: u32| {
                i128::from(sums.of(to)) * i128::from(total)
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
