//! Contigs continued over their ends, as far as the graph leaves no choice. Few reads have all of
//! the longer k-mers where contigs meet. Without continuations, branches that lack one would vanish
//! at the next size, and what remains would be joined as if there had never been a choice. Of very
//! deep reads, errors are many, and would remain at all sizes: paths that are far less deep than
//! the mean are not continued.

use cuesta_core::Result;

use super::{SolidFacts, SolidKind, SolidSequences};
use crate::kernel::glue::End;
use crate::kernel::kmer::Base;
use crate::kernel::sequences::reverse_complement;
use crate::kernel::simplify::{OVERWHELMING, PathGraph};

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
    let mean = graph.mean_coverage();
    let is_continued = |path: usize| {
        !graph.paths.facts(path).circular && OVERWHELMING * graph.coverage(path) >= mean
    };
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
