//! Contigs continued over their ends, as far as the graph leaves no choice. Few reads have all of
//! the longer k-mers where contigs meet. Without continuations, branches that lack one would vanish
//! at the next size, and what remains would be joined as if there had never been a choice. Of very
//! deep reads, errors are many, and would remain at all sizes: paths that are far less deep than
//! the mean are not continued.

use std::collections::BTreeSet;

use cuesta_core::Result;

use super::{SolidFacts, SolidKind, SolidSequences};
use crate::kernel::glue::End;
use crate::kernel::kmer::Base;
use crate::kernel::libraries::Ends;
use crate::kernel::path_search::PathStep;
use crate::kernel::placements::Joint;
use crate::kernel::sequences::reverse_complement;
use crate::kernel::simplify::{OVERWHELMING, PathGraph, REAL_PART};
use crate::kernel::single_copy::GraphDepth;

/// Ratio of depths from which on a path is in more copies than another one: between one and two.
const CIRCLE_TIMES: f64 = 1.4;

/// Adds the continuations of all paths over their ends, for k-mers of `next` bases. A long path is
/// represented by its bases next to the end.
///
/// # Errors
/// `Input` when they do not fit in the budget.
pub(super) fn add(
    graph: &PathGraph<'_>,
    next: usize,
    solid: &mut SolidSequences<'_>,
) -> Result<()> {
    let shared = next - 1;
    let depth = graph.depth();
    let is_continued =
        |path: usize| !graph.paths.facts(path).circular && is_genome(graph, path, depth);
    let mut add = |parts: [&[Base]; 3]| {
        if parts.iter().map(|part| part.len()).sum::<usize>() < next {
            return Ok(());
        }
        let facts = SolidFacts { weight: 0, kind: SolidKind::Continuation };
        solid.push(facts, |all| parts.iter().for_each(|part| all.extend_from_slice(part)))
    };
    for path in (0..graph.paths.len()).filter(|&path| is_continued(path)) {
        let codes = graph.paths.codes(path);
        let after = |end: End| following(graph, end, next - graph.k);
        let (before, after) = (after(2 * path as End), after(2 * path as End + 1));
        let before: Vec<Base> = reverse_complement(&before).collect();
        if codes.len() <= 2 * shared {
            if !before.is_empty() || !after.is_empty() {
                add([&before, codes, &after])?;
            }
            continue;
        }
        if !before.is_empty() {
            add([&before, &codes[..shared], &[]])?;
        }
        if !after.is_empty() {
            add([&[], &codes[codes.len() - shared..], &after])?;
        }
    }
    Ok(())
}

/// Adds the continuations, for k-mers of `next` bases, of paths over those ends that bridges pass
/// by: they leave the only path that follows there for another one, and would look like the only
/// way into it. The copies of a tandem repeat would be one copy, or a circle. `weight` is that of
/// a path.
///
/// # Errors
/// `Input` when they do not fit in the budget.
pub(super) fn add_passed_by(
    graph: &PathGraph<'_>,
    next: usize,
    (bridges, weight): (&[(Ends, Vec<PathStep>)], impl Fn(usize) -> u16),
    solid: &mut SolidSequences<'_>,
) -> Result<()> {
    let crossed = crossed(graph, bridges);
    let depth = graph.depth();
    for end in 0..2 * graph.paths.len() as End {
        let path = (end / 2) as usize;
        let [entered] = *graph.links.after(end) else { continue };
        let is_passed_by = !crossed.contains(&(entered, end))
            && graph.links.after(entered).iter().any(|&other| crossed.contains(&(entered, other)));
        if !is_passed_by || !is_genome(graph, path, depth) {
            continue;
        }
        let beyond = following(graph, end, next - graph.k);
        let codes = [&graph.last(end, next - 1)[..], &beyond].concat();
        if beyond.len() < next - graph.k {
            continue;
        }
        let weight = weight(path).min(weight((entered / 2) as usize));
        let facts = SolidFacts { weight, kind: SolidKind::Continuation };
        solid.push(facts, |all| all.extend_from_slice(&codes))?;
    }
    Ok(())
}

/// Returns whether a bridge leaves a circle of the graph, which goes on around in place of the last
/// path of the bridge, from a path that is deeper than this one: copies of a tandem repeat, of
/// which only the last one goes on there. In either direction.
pub(super) fn leaves_circle(
    graph: &PathGraph<'_>,
    ((from, to), steps): &(Ends, Vec<PathStep>),
) -> bool {
    let is_deeper = |end: End, other: End| {
        let [deep, thin] = [end, other].map(|end| graph.coverage((end / 2) as usize));
        deep > CIRCLE_TIMES * thin
    };
    let between = &steps[..steps.len() - 1];
    let returns = |left: End, start: End| graph.links.after(left).contains(&(start ^ 1));
    is_deeper(*from, *to) && between.iter().any(|step| returns(step.entered ^ 1, *from))
        || is_deeper(*to, *from) && between.iter().any(|step| returns(step.entered, *to))
}

/// Returns whether a path is not far less deep than the mean, or is as deep as what the genome has
/// once and too long for an error.
fn is_genome(graph: &PathGraph<'_>, path: usize, depth: GraphDepth) -> bool {
    let coverage = graph.coverage(path);
    OVERWHELMING * coverage >= depth.mean
        || graph.kmers(path) > graph.k && coverage >= REAL_PART * depth.single
}

/// Returns the links that bridges go over, in both directions: the end that is left, and the end
/// that is entered.
fn crossed(graph: &PathGraph<'_>, bridges: &[(Ends, Vec<PathStep>)]) -> BTreeSet<Ends> {
    let mut crossed = BTreeSet::new();
    for ((from, _), steps) in bridges {
        let mut left = *from;
        for step in steps {
            if matches!(step.joint, Joint::Shared(bases) if bases + 1 == graph.k) {
                crossed.extend([(left, step.entered), (step.entered, left)]);
            }
            left = step.entered ^ 1;
        }
    }
    crossed
}

/// Returns the bases that follow a path left by `end`, at most `most`, as long as a single path
/// follows that was not visited before.
fn following(graph: &PathGraph<'_>, end: End, most: usize) -> Vec<Base> {
    let mut codes = Vec::new();
    let (mut left, mut visited) = (end, vec![end / 2]);
    while codes.len() < most
        && let [entered] = *graph.links.after(left)
        && !visited.contains(&(entered / 2))
    {
        let overlap = graph.k - 1;
        codes.extend_from_slice(&graph.first(entered, overlap + most - codes.len())[overlap..]);
        visited.push(entered / 2);
        left = entered ^ 1;
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sequences::{PathSummary, Paths};
    use cuesta_core::budget::Budget;
    use cuesta_core::random::Stream;

    const K: usize = 15;
    const NEXT: usize = 21;

    fn drawn(seed: u64, count: u64) -> Vec<Base> {
        let stream = Stream::new(seed, 0);
        (0..count).map(|place| (stream.bits(place) & 3) as Base).collect()
    }

    /// Returns the continuations of paths.
    fn continuations(paths: &[Vec<Base>]) -> Vec<Vec<Base>> {
        let budget = Budget::new(1 << 20);
        let mut all = Paths::new(&budget, "a test");
        for codes in paths {
            all.push(PathSummary::default(), |into| into.extend_from_slice(codes)).unwrap();
        }
        let graph = PathGraph::new::<u64>(all, K, &budget).unwrap();
        let mut solid = SolidSequences::new(&budget, "a test");
        add(&graph, NEXT, &mut solid).unwrap();
        (0..solid.len()).map(|index| solid.codes(index).to_vec()).collect()
    }

    #[test]
    fn a_contig_is_continued_into_a_single_path_and_not_into_two() {
        let repeat = drawn(1, 60);
        let [first, second, third] = [2, 3, 4].map(|seed| drawn(seed, 80));
        let into = |contig: &[Base]| [contig, &repeat[..K - 1]].concat();
        let out = [&repeat[60 - (K - 1)..], &third[..]].concat();
        // The repeat has two paths before and one after, as if the other one was lost.
        let results = continuations(&[into(&first), into(&second), repeat.clone(), out.clone()]);
        let window = NEXT - 1;
        let last = |contig: &[Base]| {
            let codes = [contig, &repeat[..NEXT - 1]].concat();
            codes[codes.len() - window - (NEXT - K)..].to_vec()
        };
        let onwards = [&repeat[60 - window..], &third[..NEXT - K]].concat();
        let before = [&repeat[60 - window..], &third[..NEXT - K]].concat();
        assert_eq!(results, [last(&first), last(&second), onwards, before]);
    }

    #[test]
    fn a_path_that_follows_itself_is_not_continued() {
        let unit = drawn(5, 30);
        let around = [&unit[..], &unit[..K - 1]].concat();
        let before = [&drawn(6, 50)[..], &unit[..K - 1]].concat();
        // The path around the unit follows itself, the other one ends in it.
        let results = continuations(&[around, before.clone()]);
        let codes = [&before[..], &unit[K - 1..NEXT - 1]].concat();
        assert_eq!(results, [codes[codes.len() - 2 * NEXT + K + 1..].to_vec()]);
    }
}
