//! Contigs that scaffolds join without a gap, as paths of a new graph.

use std::collections::BTreeSet;

use cuesta_core::Result;
use cuesta_core::budget::Budget;

use super::scaffolds::{Part, Scaffold, Scaffolds, Seam};
use crate::kernel::glue::{self, End};
use crate::kernel::kmer::{Base, with_kmer};
use crate::kernel::sequences::{self, PathSummary, Paths};
use crate::kernel::simplify::PathGraph;

/// Returns the graph in which contigs that follow each other in a scaffold without a gap are one
/// path, and the scaffolds of its paths, which have gaps only. A path inside a joined one remains
/// where other paths of the graph need it.
///
/// # Errors
/// `Input` when the graph does not fit in the budget.
pub fn joined<'a>(
    graph: PathGraph<'a>,
    scaffolds: Option<Scaffolds>,
    budget: &'a Budget,
) -> Result<(PathGraph<'a>, Option<Scaffolds>)> {
    let Some(scaffolds) = scaffolds else { return Ok((graph, None)) };
    let chains: Vec<Vec<Scaffold>> = scaffolds.chains.iter().map(pieces).collect();
    let joints: Vec<&Scaffold> = chains.iter().flatten().filter(|piece| is_joint(piece)).collect();
    if joints.is_empty() {
        return Ok((graph, Some(scaffolds)));
    }
    let remaining = remaining(&graph, &chains);
    let mut paths = Paths::new(budget, "the contigs");
    let mut turned = Vec::new();
    for piece in &joints {
        let (codes, facts) = spelled(&graph, piece);
        let mut form = codes.clone();
        if !facts.circular {
            sequences::orient(&mut form);
        }
        turned.push(form != codes);
        paths.push(facts, |all| all.extend_from_slice(&form))?;
    }
    for &path in &remaining {
        let codes = graph.paths.codes(path);
        paths.push(*graph.paths.facts(path), |all| all.extend_from_slice(codes))?;
    }
    let order = paths.order(graph.k);
    let mut numbers = vec![0; order.len()];
    order.iter().enumerate().for_each(|(number, &path)| numbers[path] = number);
    let mut joint = 0;
    let mut entered = |piece: &Scaffold| {
        let first = piece.parts[0].entered;
        let (path, side) = if is_joint(piece) {
            joint += 1;
            (joint - 1, End::from(turned[joint - 1]))
        } else {
            let place = remaining.partition_point(|&path| path < (first / 2) as usize);
            (joints.len() + place, first % 2)
        };
        2 * numbers[path] as End + side
    };
    let mut scaffolds = Scaffolds { chains: Vec::new(), libraries: scaffolds.libraries };
    for chain in &chains {
        let part = |piece: &Scaffold| Part {
            entered: entered(piece),
            joined: piece.parts[0].joined.clone(),
            is_between: false,
        };
        let parts: Vec<Part> = chain.iter().map(part).collect();
        if parts.len() > 1 {
            scaffolds.chains.push(Scaffold { parts, circular: false, closing: None });
        }
    }
    let (k, paths) = (graph.k, paths.sorted(graph.k, budget)?);
    drop(graph);
    Ok((with_kmer!(k, K => PathGraph::new::<K>(paths, k, budget))?, Some(scaffolds)))
}

/// Returns the pieces of a scaffold between gaps.
fn pieces(scaffold: &Scaffold) -> Vec<Scaffold> {
    let Scaffold { parts, circular, closing } = scaffold;
    let is_contiguous = |_: &Part, next: &Part| !matches!(next.joined, Some(Seam::Gap(_)));
    parts
        .chunk_by(is_contiguous)
        .map(|parts| Scaffold {
            parts: parts.to_vec(),
            circular: *circular,
            closing: closing.clone(),
        })
        .collect()
}

/// Returns whether a piece is other than a path of the graph: several, or one that is a circle.
fn is_joint(piece: &Scaffold) -> bool {
    piece.parts.len() > 1 || piece.circular
}

/// Returns the paths that remain, ascending: those that are not in a joined piece, and those
/// between two contigs of one that are also between others.
fn remaining(graph: &PathGraph<'_>, chains: &[Vec<Scaffold>]) -> Vec<usize> {
    let (mut joined, mut between, mut open) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    let pieces = || chains.iter().flatten();
    for piece in pieces().filter(|piece| is_joint(piece)) {
        for part in &piece.parts {
            let paths = if part.is_between { &mut between } else { &mut joined };
            paths.insert((part.entered / 2) as usize);
        }
        if let ([first, .., last], false) = (&piece.parts[..], piece.circular) {
            open.extend([first.entered, last.entered ^ 1]);
        }
    }
    let is_apart = |path: &usize| !joined.contains(path) && !between.contains(path);
    let mut remaining: BTreeSet<usize> = (0..graph.paths.len()).filter(is_apart).collect();
    let alone = pieces().filter(|piece| !is_joint(piece));
    remaining.extend(alone.map(|piece| (piece.parts[0].entered / 2) as usize));
    open.extend(remaining.iter().flat_map(|&path| [2 * path as End, 2 * path as End + 1]));
    while let Some(end) = open.pop() {
        for &entered in graph.links.after(end) {
            let path = (entered / 2) as usize;
            if between.contains(&path) && remaining.insert(path) {
                open.extend([entered, entered ^ 1]);
            }
        }
    }
    remaining.into_iter().collect()
}

/// Returns the bases of a piece as those of a path, and its summary: its k-mers are counted as
/// often as those of its parts, on average.
fn spelled(graph: &PathGraph<'_>, piece: &Scaffold) -> (Vec<Base>, PathSummary) {
    let mut codes = piece.spelled(graph);
    if piece.circular {
        glue::repeat_first(&mut codes, graph.k);
    }
    let paths = || piece.parts.iter().map(|part| (part.entered / 2) as usize);
    let counts: u64 = paths().map(|path| graph.paths.facts(path).count_sum).sum();
    let kmers: usize = paths().map(|path| graph.kmers(path)).sum();
    let all = u128::from(counts) * (codes.len() + 1 - graph.k) as u128 / kmers.max(1) as u128;
    let count_sum = u64::try_from(all).unwrap_or(u64::MAX);
    (codes, PathSummary { count_sum, circular: piece.circular, ..PathSummary::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::placements::Joint;
    use cuesta_core::random::Stream;

    const K: usize = 15;

    /// Returns random bases, by `seed`.
    fn drawn(seed: u64, count: u64) -> Vec<Base> {
        let stream = Stream::new(seed, 0);
        (0..count).map(|place| (stream.bits(place) & 3) as Base).collect()
    }

    /// Returns a graph of a repeat and of contigs that end in it or begin with it, in turn, and the
    /// end by which each path is entered on the strand of the repeat, which comes first.
    fn around_a_repeat(budget: &Budget, contigs: u64) -> (PathGraph<'_>, Vec<End>) {
        let repeat = drawn(1, 40);
        let mut all = vec![repeat.clone()];
        for seed in 0..contigs {
            let bases = drawn(seed + 2, 100 + seed);
            all.push(match seed % 2 {
                0 => [&bases[..], &repeat[..K - 1]].concat(),
                _ => [&repeat[repeat.len() + 1 - K..], &bases[..]].concat(),
            });
        }
        let mut paths = Paths::new(budget, "a test");
        for codes in &all {
            let mut form = codes.clone();
            sequences::orient(&mut form);
            let count_sum = 10 * (form.len() + 1 - K) as u64;
            let facts = PathSummary { count_sum, ..PathSummary::default() };
            paths.push(facts, |into| into.extend_from_slice(&form)).unwrap();
        }
        let sorted = paths.sorted(K, budget).unwrap();
        let entered = |codes: &Vec<Base>| {
            let turned: Vec<Base> = sequences::reverse_complement(codes).collect();
            let place = (0..sorted.len()).find(|&path| {
                sorted.codes(path) == &codes[..] || sorted.codes(path) == &turned[..]
            });
            let path = place.unwrap();
            2 * path as End + End::from(sorted.codes(path) != &codes[..])
        };
        let ends = all.iter().map(entered).collect();
        (PathGraph::new::<u64>(sorted, K, budget).unwrap(), ends)
    }

    /// Returns the scaffold of these paths, each after the other by a link, or a gap.
    fn scaffold(ends: &[End], gaps: &[usize]) -> Scaffold {
        let joined = |place: usize| match place {
            0 => None,
            _ if gaps.contains(&place) => Some(Seam::Gap(25)),
            _ => Some(Seam::Joint(Joint::Shared(K - 1))),
        };
        // The repeat is in no other place than between two contigs.
        let part = |(place, &entered): (usize, &End)| Part {
            entered,
            joined: joined(place),
            is_between: place == 1 && !gaps.contains(&1),
        };
        let parts = ends.iter().enumerate().map(part).collect();
        Scaffold { parts, circular: false, closing: None }
    }

    fn joined_lengths(contigs: u64, order: &[usize], gaps: &[usize]) -> (Vec<usize>, Scaffolds) {
        let budget = Budget::new(1 << 20);
        let (graph, ends) = around_a_repeat(&budget, contigs);
        let ends: Vec<End> = order.iter().map(|&path| ends[path]).collect();
        let chains = vec![scaffold(&ends, gaps)];
        let before = chains[0].spelled(&graph);
        let scaffolds = Some(Scaffolds { chains, libraries: Vec::new() });
        let (graph, scaffolds) = joined(graph, scaffolds, &budget).unwrap();
        let scaffolds = scaffolds.unwrap();
        for chain in &scaffolds.chains {
            let after = chain.spelled(&graph);
            // A gap is no base, so its code has no complement.
            let turned = before.iter().rev().map(|&base| if base > 3 { base } else { 3 - base });
            assert!(after == before || after.iter().copied().eq(turned));
        }
        for path in 0..graph.paths.len() {
            assert_eq!(graph.coverage(path), 10.0);
        }
        let lengths = (0..graph.paths.len()).map(|path| graph.paths.codes(path).len());
        (lengths.collect(), scaffolds)
    }

    #[test]
    fn contigs_around_a_repeat_are_joined_and_the_repeat_remains_where_paths_need_it() {
        // 114 bases, 40, and 115, which share 14 bases twice.
        let (lengths, scaffolds) = joined_lengths(2, &[1, 0, 2], &[]);
        assert_eq!((lengths, scaffolds.chains.len()), (vec![241], 0));
        let (lengths, scaffolds) = joined_lengths(4, &[1, 0, 2], &[]);
        assert_eq!((lengths, scaffolds.chains.len()), (vec![241, 117, 116, 40], 0));
    }

    #[test]
    fn scaffolds_retain_their_gaps_alone() {
        let (lengths, scaffolds) = joined_lengths(4, &[1, 0, 2, 3], &[3]);
        assert_eq!((lengths, scaffolds.chains.len()), (vec![241, 117, 116, 40], 1));
        assert!(matches!(scaffolds.chains[0].parts[1].joined, Some(Seam::Gap(25))));
        let (lengths, scaffolds) = joined_lengths(2, &[1, 2], &[1]);
        assert_eq!((lengths, scaffolds.chains.len()), (vec![115, 114, 40], 1));
    }
}
