//! Leiden method on flat arrays, as specified in `spec/workloads/communities`, and proofs of an
//! answer that need no repetition of the moves.

use std::cmp::Reverse;

use cuesta_core::Result;
use cuesta_core::progress::Progress;
use cuesta_core::random::Stream;

use super::levels::{FlatNetwork, WeightSums, numbered};
use super::weighted_quality::Factors;

/// Returns the smallest member of the community of each gene, from 0, of the first start whose
/// quality no other one exceeds.
///
/// # Errors
/// `Cancelled`.
pub fn labels(genes: FlatNetwork<'_>, factors: &Factors, progress: &Progress) -> Result<Vec<u32>> {
    let size = genes.vertices().max(genes.near.len() / 2);
    let starts = ((1 << 17) / size.max(1)).clamp(1, 10);
    let mut best: Option<(i128, Vec<u32>)> = None;
    for start in 0..starts as u64 {
        let labels = started(genes, factors, (start, progress))?;
        let gained = factors.twice_gained(genes, &labels);
        if best.as_ref().is_none_or(|(most, _)| gained > *most) {
            best = Some((gained, labels));
        }
    }
    Ok(best.map(|(_, labels)| labels).unwrap_or_default())
}

/// Returns the smallest member of the community of each gene after a start.
fn started(
    genes: FlatNetwork<'_>,
    factors: &Factors,
    (start, progress): (u64, &Progress),
) -> Result<Vec<u32>> {
    let mut homes: Vec<u32> = (0..genes.vertices() as u32).collect();
    for iteration in 0.. {
        let draws = Stream::new(start, iteration);
        let mut places: Vec<u32> = (0..genes.vertices() as u32).collect();
        let (mut level, mut arrays);
        level = genes;
        let mut any = false;
        let mut start = numbered(&homes).0;
        loop {
            progress.advance(0)?;
            let (settled, moved) =
                settle(level, factors, (start, visits(&draws, level.vertices())));
            any |= moved;
            let (settled, communities) = numbered(&settled);
            if communities == level.vertices() {
                homes = places.iter().map(|&place| settled[place as usize]).collect();
                break;
            }
            let mut members = vec![Vec::new(); communities];
            for vertex in visits(&draws, level.vertices()) {
                members[settled[vertex as usize] as usize].push(vertex);
            }
            let (parts, count) = numbered(&refined(level, factors, &members));
            start = vec![0; count];
            parts.iter().zip(&settled).for_each(|(&part, &home)| start[part as usize] = home);
            places.iter_mut().for_each(|place| *place = parts[*place as usize]);
            arrays = level.merged(&parts, count);
            level = arrays.level();
        }
        if !any {
            break;
        }
    }
    Ok(smallest_members(&homes))
}

/// Returns the vertices in the order in which an iteration visits them.
fn visits(draws: &Stream, vertices: usize) -> Vec<u32> {
    let mut visits: Vec<u32> = (0..vertices as u32).collect();
    for rest in (2..=vertices).rev() {
        let drawn = draws.below(rest as u64 - 1, rest as u64);
        visits.swap(rest - 1, drawn as usize);
    }
    visits
}

/// Returns the communities after all moves of vertices that wait in `queue`, and whether any moved.
fn settle(
    level: FlatNetwork<'_>,
    factors: &Factors,
    (mut homes, mut queue): (Vec<u32>, Vec<u32>),
) -> (Vec<u32>, bool) {
    let count = level.vertices();
    let (mut masses, mut members) = (vec![0; count], vec![0usize; count]);
    for (&home, &mass) in homes.iter().zip(level.masses) {
        masses[home as usize] += mass;
        members[home as usize] += 1;
    }
    let used = members.iter().rposition(|&members| members > 0).map_or(0, |last| last + 1);
    let mut empty: Vec<u32> = (used as u32..count as u32).rev().collect();
    // Vertices wait in `queue[next..]`.
    let mut waits = vec![true; count];
    let (mut next, mut any) = (0, false);
    let mut sums = WeightSums::new(count);
    while next < queue.len() {
        let vertex = queue[next] as usize;
        next += 1;
        if next >= count {
            queue.drain(..next);
            next = 0;
        }
        waits[vertex] = false;
        let (home, mass) = (homes[vertex], level.masses[vertex]);
        level.edges(vertex).for_each(|(to, weight)| sums.add(homes[to as usize], weight));
        masses[home as usize] -= mass;
        // Among the communities with the largest gain it stays in its own, else takes the smallest;
        // where all lose, it is on its own.
        let rank = |&to: &u32| {
            let gain = factors.of_union(sums.of(to), (mass, masses[to as usize]));
            (gain, to == home, Reverse(to))
        };
        let best = sums.touched.iter().chain([&home]).map(rank).max();
        let target = match best {
            Some((gain, _, _)) if gain < 0 => empty.pop(),
            Some((_, _, Reverse(to))) => Some(to),
            None => None,
        };
        let target = target.unwrap_or(home);
        sums.clear();
        masses[target as usize] += mass;
        if target != home {
            any = true;
            homes[vertex] = target;
            members[target as usize] += 1;
            members[home as usize] -= 1;
            if members[home as usize] == 0 {
                empty.push(home);
            }
            for (to, _) in level.edges(vertex).filter(|edge| homes[edge.0 as usize] != target) {
                if !std::mem::replace(&mut waits[to as usize], true) {
                    queue.push(to);
                }
            }
        }
    }
    (homes, any)
}

/// Returns the part of each vertex, community by community; a part is named by a member.
fn refined(level: FlatNetwork<'_>, factors: &Factors, communities: &[Vec<u32>]) -> Vec<u32> {
    let mut homes = vec![0; level.vertices()];
    for (home, members) in (0u32..).zip(communities) {
        members.iter().for_each(|&vertex| homes[vertex as usize] = home);
    }
    let mut parts: Vec<u32> = (0..level.vertices() as u32).collect();
    let mut sizes = vec![1u32; level.vertices()];
    let mut masses = level.masses.to_vec();
    let mut outside = vec![0; level.vertices()];
    let mut sums = WeightSums::new(level.vertices());
    for (home, members) in (0u32..).zip(communities) {
        let near = |vertex: u32| {
            level.edges(vertex as usize).filter(|edge| homes[edge.0 as usize] == home)
        };
        let total: u64 = members.iter().map(|&vertex| level.masses[vertex as usize]).sum();
        for &vertex in members {
            outside[vertex as usize] = near(vertex).map(|edge| edge.1).sum::<u64>();
        }
        for &vertex in members {
            let place = vertex as usize;
            let clings = |part: u32| {
                let mass = masses[part as usize];
                factors.of_union(outside[part as usize], (mass, total - mass)) >= 0
            };
            if parts[place] != vertex || sizes[place] != 1 || !clings(vertex) {
                continue;
            }
            near(vertex).for_each(|(to, weight)| sums.add(parts[to as usize], weight));
            let best = sums
                .touched
                .iter()
                .filter(|&&part| clings(part))
                .map(|&part| {
                    let both = (masses[place], masses[part as usize]);
                    (factors.of_union(sums.of(part), both), Reverse(part))
                })
                .max();
            if let Some((0.., Reverse(part))) = best {
                let to = part as usize;
                parts[place] = part;
                (sizes[place], sizes[to]) = (0, sizes[to] + 1);
                masses[to] += masses[place];
                outside[to] = outside[to] + outside[place] - 2 * sums.of(part);
            }
            sums.clear();
        }
    }
    parts
}

fn smallest_members(homes: &[u32]) -> Vec<u32> {
    let mut smallest = vec![0; homes.len()];
    // The smallest member of a community is assigned last.
    for (vertex, &home) in homes.iter().enumerate().rev() {
        smallest[home as usize] = vertex as u32;
    }
    homes.iter().map(|&home| smallest[home as usize]).collect()
}

/// Returns a sentence on what the communities lack: connected ones, which no gene leaves with a
/// gain, and of which no two gain together. Labels are the smallest members.
pub fn flaw(genes: FlatNetwork<'_>, factors: &Factors, labels: &[u32]) -> Option<&'static str> {
    if genes.connected_parts(labels) != labels {
        return Some("a community is not connected");
    }
    let (homes, communities) = numbered(labels);
    let merged = genes.merged(&homes, communities);
    let mut sums = WeightSums::new(communities);
    for (gene, (&home, &mass)) in homes.iter().zip(genes.masses).enumerate() {
        genes.edges(gene).for_each(|(to, weight)| sums.add(homes[to as usize], weight));
        let gain = |to: u32| {
            let all = merged.masses[to as usize];
            let rest = if to == home { all - mass } else { all };
            factors.of_union(sums.of(to), (mass, rest))
        };
        let stay = gain(home);
        if stay < 0 || sums.touched.iter().any(|&to| gain(to) > stay) {
            return Some("a gene would leave its community with a gain");
        }
        sums.clear();
    }
    let level = merged.level();
    let gains = |community: usize| {
        let mass = level.masses[community];
        let union = |(to, weight): (u32, u64)| {
            factors.of_union(weight, (mass, level.masses[to as usize])) > 0
        };
        level.edges(community).any(union)
    };
    (0..communities).any(gains).then_some("two communities would gain together")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::leiden;
    use crate::kernel::quality::Quality;
    use crate::kernel::weighted_graph::{WeightedEdge, WeightedGraph};
    use crate::params::{CommunitiesParams, CommunityMethod, CommunityQuality, EdgeWeight};
    use crate::verify::levels::NetworkArrays;
    use crate::verify::weighted_quality::quality;
    use proptest::prelude::*;

    const GENES: usize = 25;

    /// The network as this module stores it, from a matrix of weights.
    fn arrays(edges: &[WeightedEdge], kind: CommunityQuality) -> (NetworkArrays, u64) {
        let mut matrix = [[0u64; GENES]; GENES];
        for &(a, b, weight) in edges {
            matrix[a as usize][b as usize] += u64::from(weight);
            matrix[b as usize][a as usize] += u64::from(weight);
        }
        let mut arrays = NetworkArrays { starts: vec![0], ..NetworkArrays::default() };
        for row in &matrix {
            for (near, &weight) in (0u32..).zip(row).filter(|end| *end.1 > 0) {
                arrays.near.push(near);
                arrays.weights.push(weight);
            }
            arrays.starts.push(arrays.near.len());
            arrays.masses.push(row.iter().sum());
        }
        let total = arrays.masses.iter().sum();
        if kind == CommunityQuality::Cpm {
            arrays.masses.fill(1);
        }
        (arrays, total)
    }

    fn params() -> impl Strategy<Value = CommunitiesParams> {
        let kinds =
            proptest::sample::select(vec![CommunityQuality::Modularity, CommunityQuality::Cpm]);
        let weights = proptest::sample::select(vec![EdgeWeight::Rows, EdgeWeight::Score]);
        let both = (0.01f64..3.0, kinds, weights);
        both.prop_map(|(resolution, quality, weights)| CommunitiesParams {
            method: CommunityMethod::Leiden,
            quality,
            resolution,
            weights,
            ..CommunitiesParams::default()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn it_equals_the_kernel_whose_communities_are_connected_and_stable(
            edges in proptest::collection::vec((0u32..25, 0u32..25, 0u32..1_000_000), 0..150),
            groups in 1u32..6,
            params in params(),
        ) {
            // Mostly within groups, some parallel, so that each level has moves that gain.
            let edges: Vec<_> = edges
                .into_iter()
                .filter(|(a, b, _)| a > b && (a % groups == b % groups || (a + b) % 5 == 0))
                .map(|(a, b, weight)| match params.weights {
                    EdgeWeight::Rows => (a, b, 1),
                    EdgeWeight::Score => (a, b, weight),
                })
                .collect();
            let (arrays, total) = arrays(&edges, params.quality);
            let mut kernel = WeightedGraph::of_edges(GENES, &edges);
            if params.quality == CommunityQuality::Cpm {
                kernel = kernel.with_unit_masses();
            }
            let unit = params.weights.unit();
            let made = Quality::new(params.quality, params.resolution, (total, unit)).unwrap();
            let expected = leiden::labels(&kernel, &made);
            let factors = Factors::of(&params, total);
            let level = arrays.level();
            prop_assert_eq!(flaw(level, &factors, &expected), None);
            let again = labels(level, &factors, &Progress::default()).unwrap();
            prop_assert_eq!(&again, &expected);
            let millionths = made.millionths(&kernel, &expected);
            prop_assert_eq!(quality(level, &factors, &expected).1, millionths);
        }

        #[test]
        fn a_flaw_is_a_higher_quality_nearby(
            edges in proptest::collection::vec((0u32..25, 0u32..25, 1u32..9), 1..60),
            homes in proptest::collection::vec(0u32..4, GENES),
        ) {
            let edges: Vec<_> = edges.into_iter().filter(|(a, b, _)| a > b).collect();
            let params = CommunitiesParams::default();
            let (arrays, total) = arrays(&edges, params.quality);
            let (level, factors) = (arrays.level(), Factors::of(&params, total));
            let labels = level.connected_parts(&homes);
            let value = |labels: &[u32]| quality(level, &factors, labels).1;
            let mut near = Vec::new();
            for gene in 0..GENES {
                for home in 0..GENES as u32 {
                    let mut moved = labels.clone();
                    moved[gene] = home;
                    near.push(value(&moved));
                    let united = |&label: &u32| if label == labels[gene] { home } else { label };
                    near.push(value(&labels.iter().map(united).collect::<Vec<_>>()));
                }
            }
            let best = near.into_iter().max().unwrap_or(0);
            // A gain may be less than a millionth, and a quality below 0 is 0.
            if best > value(&labels) + 1 {
                prop_assert!(flaw(level, &factors, &labels).is_some());
            }
        }
    }

    #[test]
    fn communities_that_are_apart_or_would_gain_are_named() {
        let edges = [(1, 0, 1), (2, 1, 1), (2, 0, 1), (4, 3, 1), (5, 4, 1), (5, 3, 1), (3, 2, 1)];
        let params = CommunitiesParams::default();
        let (arrays, total) = arrays(&edges, params.quality);
        let (level, factors) = (arrays.level(), Factors::of(&params, total));
        let named = |start: [u32; 6]| {
            let labels: Vec<u32> = start.into_iter().chain(6..25).collect();
            flaw(level, &factors, &labels)
        };
        assert_eq!(named([0, 0, 0, 3, 3, 3]), None);
        assert_eq!(named([0, 0, 2, 2, 0, 2]), Some("a community is not connected"));
        let leaves = Some("a gene would leave its community with a gain");
        assert_eq!(named([0, 0, 2, 2, 2, 2]), leaves);
    }
}
