//! Check that no scaffold goes over copies of a tandem repeat whose number neither reads nor pairs
//! tell.

use std::collections::{BTreeSet, HashMap, HashSet};

use cuesta_core::Result;
use cuesta_core::job::Context;

use super::error_lengths::{REAL_PART, covered_once};
use crate::kernel::depth::Depth;
use crate::kernel::kmer::Base;
use crate::kernel::libraries::Ends;
use crate::kernel::path_search;
use crate::kernel::placements::{Joint, Placements};
use crate::kernel::simplify::PathGraph;
use crate::pairs::scaffolds::{self, Scaffold, Scaffolds, Seam};
use crate::params::Profile;

/// Bases that do not follow one another twice by chance.
const BASES_MIN: usize = 31;

/// Returns the scaffolds of a graph, and whether all their joints are certain.
///
/// # Errors
/// As for [`scaffolds::find`].
pub fn checked(
    context: &Context<'_>,
    graph: &PathGraph<'_>,
    placements: Placements,
    options: (Profile, Depth, &BTreeSet<u32>),
) -> Result<(Option<Scaffolds>, bool)> {
    let by_reads: HashSet<Ends> =
        path_search::spanned(graph, &placements.spans).into_iter().map(|(ends, _)| ends).collect();
    let result = scaffolds::find(context, graph, placements, options)?;
    let chains = result.iter().flat_map(|scaffolds| &scaffolds.chains);
    let are_certain = chains
        .flat_map(|chain| {
            [
                !enters_twice(chain),
                has_certain_joints(graph, chain, &by_reads),
                !chain.circular || is_closed(graph, chain),
            ]
        })
        .all(|is_certain| is_certain);
    Ok((result, are_certain))
}

/// Returns whether no path beside a circle, with a part of the depth of what the genome has once,
/// leads to a contig of it: such a circle is one copy of a tandem repeat.
fn is_closed(graph: &PathGraph<'_>, chain: &Scaffold) -> bool {
    let counts = |path: usize| (graph.kmers(path) as u64, graph.paths.facts(path).count_sum);
    let paths = 0..graph.paths.len();
    let once = covered_once(graph.k as u64, paths.clone().map(counts)).unwrap_or(0.0);
    let parts: HashMap<u32, bool> =
        chain.parts.iter().map(|part| (part.entered / 2, !part.is_between)).collect();
    let leads_in = |path: usize| {
        let ends = [2 * path as u32, 2 * path as u32 + 1];
        let mut entered = ends.into_iter().flat_map(|end| graph.links.after(end));
        graph.coverage(path) >= REAL_PART * once
            && entered.any(|end| parts.get(&(end / 2)) == Some(&true))
    };
    !paths.filter(|&path| !parts.contains_key(&(path as u32))).any(leads_in)
}

/// Returns whether a chain enters a path twice between two of its contigs.
fn enters_twice(chain: &Scaffold) -> bool {
    let mut entered = HashSet::new();
    chain.parts.iter().any(|part| {
        let is_again = !entered.insert(part.entered);
        if !part.is_between {
            entered.clear();
            entered.insert(part.entered);
        }
        is_again
    })
}

/// Returns whether no joint of a chain is an overlap that fits at another length too, unless reads
/// go over it.
fn has_certain_joints(graph: &PathGraph<'_>, chain: &Scaffold, by_reads: &HashSet<Ends>) -> bool {
    let inside = chain.parts.windows(2).map(|parts| {
        let joint = match &parts[1].joined {
            Some(Seam::Joint(joint)) => Some(joint),
            _ => None,
        };
        (parts[0].entered ^ 1, parts[1].entered, joint)
    });
    let around = match &chain.parts[..] {
        [first, .., last] => Some((last.entered ^ 1, first.entered)),
        [only] => Some((only.entered ^ 1, only.entered)),
        [] => None,
    };
    let closing = around.map(|(left, entered)| (left, entered, chain.closing.as_ref()));
    inside.chain(closing).all(|(left, entered, joint)| match joint {
        Some(&Joint::Shared(bases)) if bases + 1 < graph.k => {
            by_reads.contains(&(left.min(entered), left.max(entered)))
                || fits_once(&graph.first(entered, bases))
        }
        _ => true,
    })
}

/// Returns whether an overlap does not begin as it ends, in half of its bases or [`BASES_MIN`].
fn fits_once(overlap: &[Base]) -> bool {
    // The longest beginning of the overlap that each of its beginnings ends in.
    let mut longest = vec![0; overlap.len()];
    for place in 1..overlap.len() {
        let mut bases: usize = longest[place - 1];
        while bases > 0 && overlap[bases] != overlap[place] {
            bases = longest[bases - 1];
        }
        longest[place] = bases + usize::from(overlap[bases] == overlap[place]);
    }
    longest.last().is_none_or(|&bases| bases < BASES_MIN && 2 * bases < overlap.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::path_search::repeats_itself;
    use crate::pairs::scaffolds::Part;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_overlap_fits_once_unless_it_repeats_itself(
            unit in prop::collection::vec(0u8..4, 1..60),
            bases in 31usize..120,
            changed in prop::option::of(0usize..120),
        ) {
            let mut overlap: Vec<Base> = unit.iter().copied().cycle().take(bases).collect();
            if let Some(place) = changed {
                overlap[place % bases] ^= 1;
            }
            prop_assert_eq!(fits_once(&overlap), !repeats_itself(&overlap));
        }
    }

    #[test]
    fn a_chain_may_come_back_to_a_path_only_behind_a_contig() {
        let chain = |ends: &[(u32, bool)]| {
            let part =
                |&(entered, is_between): &(u32, bool)| Part { entered, joined: None, is_between };
            let parts = ends.iter().map(part).collect();
            Scaffold { parts, circular: false, closing: None }
        };
        let of_two = [(0, false), (4, true), (2, false), (4, true), (6, false)];
        assert!(!enters_twice(&chain(&of_two)));
        assert!(!enters_twice(&chain(&[(0, false), (4, true), (5, true), (2, false)])));
        assert!(enters_twice(&chain(&[(0, false), (4, true), (6, true), (4, true), (2, false)])));
        assert!(enters_twice(&chain(&[(0, false), (4, true), (0, true), (2, false)])));
    }
}
