//! Check that bridges hide no branch: where a bridge goes on behind a long path of the graph, so
//! does each path that follows there, and nowhere else.

use std::collections::HashSet;

use super::error_lengths::{FAR_DEEPER, REAL_PART, covered_once};
use super::paths::turned;
use crate::kernel::kmer::{Base, Kmer, KmerMap, kmers};
use crate::kernel::placements::OVERLAP_MIN;
use crate::kernel::simplify::PathGraph;
use crate::pairs::{SolidKind, SolidSequences};

/// An end of a graph at which paths branch: its last bases, and the bases with which the paths go
/// on that could be lost.
struct Branch {
    last: Vec<Base>,
    following: HashSet<Base>,
    solid: HashSet<Base>,
}

/// Returns whether all paths that branch off at an end are solid for k-mers of `next` bases, if any
/// of them is by a bridge. Paths that are far less deep than the mean need not be.
pub fn are_retained(graph: &PathGraph<'_>, solid: &SolidSequences<'_>, next: usize) -> bool {
    let mut branches = branches(graph, next - 1);
    let mut by_last: KmerMap<u64, Vec<usize>> = KmerMap::default();
    for (number, Branch { last, .. }) in branches.iter().enumerate() {
        let kmer = u64::of(&last[last.len() - OVERLAP_MIN..], OVERLAP_MIN);
        by_last.entry(kmer).or_default().push(number);
    }
    if branches.is_empty() {
        return true;
    }
    let bridges = (0..solid.len()).filter(|&index| solid.facts(index).kind != SolidKind::Contig);
    for index in bridges {
        let forward = solid.codes(index).to_vec();
        for codes in [turned(&forward).collect(), forward] {
            for (place, kmer) in kmers::<u64>(&codes, OVERLAP_MIN).enumerate() {
                let (before, after) = codes.split_at(place + OVERLAP_MIN);
                for &number in by_last.get(&kmer).into_iter().flatten() {
                    let branch = &mut branches[number];
                    if before.ends_with(&branch.last) {
                        branch.solid.extend(after.first());
                    }
                }
            }
        }
    }
    branches
        .iter()
        .all(|Branch { following, solid, .. }| solid.is_empty() || following.is_subset(solid))
}

/// Returns the branches behind paths of at least `shared` bases.
fn branches(graph: &PathGraph<'_>, shared: usize) -> Vec<Branch> {
    let paths = 0..graph.paths.len();
    let counts = |path: usize| (graph.kmers(path) as u64, graph.paths.facts(path).count_sum);
    let (kmers, count_sum) =
        paths.clone().map(counts).fold((0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1));
    let mean = count_sum as f64 / kmers.max(1) as f64;
    let once = covered_once(graph.k as u64, paths.clone().map(counts)).unwrap_or(mean);
    let is_genome = |path: usize| {
        let ((kmers, _), depth) = (counts(path), graph.coverage(path));
        mean <= FAR_DEEPER * depth || kmers > graph.k as u64 && depth >= REAL_PART * once
    };
    let mut branches = Vec::new();
    for end in paths.flat_map(|path| [2 * path as u32, 2 * path as u32 + 1]) {
        let last = graph.last(end, shared);
        let after = graph.links.after(end);
        if after.len() < 2 || last.len() < shared {
            continue;
        }
        // A path that other ones lead to as well may never follow this one.
        let follows =
            |next: &&u32| graph.links.after(**next).len() == 1 && is_genome((**next / 2) as usize);
        let first = |next: &u32| graph.first(*next, graph.k)[graph.k - 1];
        let following = after.iter().filter(follows).map(first).collect();
        branches.push(Branch { last, following, solid: HashSet::new() });
    }
    branches
}
